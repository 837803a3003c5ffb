/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_PROGRAM_H
#define PEAL_PROGRAM_H

/*
 * Programs: sets of handlers that kernels run, compiled for several targets.
 *
 * A runtime knows programs by name. peal_program_add registers a program that
 * is linked into the process. peal_program_load_file registers one from a file.
 * peal_program_find then returns the program for peal_kernel_launch. The info
 * functions list programs and their images.
 *
 *	peal_program_load_file(runtime, "work.so", &program);
 *	handler = peal_program_handler(program, "work");
 *	peal_kernel_launch(runtime, device, program, NULL, &kernel);
 */

#include <stdint.h>

#include <peal/abi/program.h>
#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_runtime;

/**
 * Registers a program in a runtime under the program's name.
 *
 * Thread-safe.
 *
 * @param runtime an open runtime.
 * @param program a program with static storage. The runtime keeps the pointer.
 * @return 0, or a negative error code:
 * @retval PEAL_EEXIST  another program of the runtime has the same name.
 * @retval PEAL_EALREADY  the runtime knows this program already.
 * @retval PEAL_EPROGRAM  the program was compiled with other headers, or it has
 *     no handler, too many handlers or no host image.
 * @retval PEAL_ENOMEM  there is not enough memory.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_program_add(struct peal_runtime *runtime,
		     const struct peal_program *program);

/**
 * Loads a program from a file and registers it in a runtime under its name.
 *
 * The file is a shared object with one program: host code, device images and
 * source text. The CMake function peal_add_program(name MODULE SOURCES ...)
 * builds such files. The call rejects a lone device image (.cubin, .ptx,
 * .hsaco). A lone image describes no handlers and has no host code.
 *
 * The call checks the file before the system's loader runs any of its code:
 * - The SHA-256 at the file's end matches: the file is complete and undamaged.
 * - The file is a shared object for this processor.
 * - The file exports exactly one program, compiled with these headers.
 *
 * The SHA-256 is no signature. Load only files that you trust as your own code.
 *
 * The host code calls functions of libpeal. A process that links libpeal.a must
 * export them: ENABLE_EXPORTS in CMake, otherwise -rdynamic.
 *
 * Thread-safe. Blocks while it reads and loads the file.
 *
 * @param runtime an open runtime.
 * @param path the file, absolute or relative to the working directory. The call
 *     searches no other directory, also none of LD_LIBRARY_PATH.
 * @param program_out receives the program, which is valid until the runtime is
 *     closed.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no such file.
 * @retval PEAL_EIO  the file cannot be read, or it is not a regular file.
 * @retval PEAL_EPROGRAM  the file is damaged, truncated, or built for another
 *     processor or with other headers. Or the file exports no program, or
 *     several; the error text names these. Or the system's loader rejects the
 *     file.
 * @retval PEAL_EEXIST  another program of the runtime has the same name.
 * @retval PEAL_EALREADY  the runtime has loaded this file already.
 * @retval PEAL_ENOMEM  there is not enough memory.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_program_load_file(struct peal_runtime *runtime, const char *path,
			   const struct peal_program **program_out);

/**
 * Finds a program of a runtime by its name.
 *
 * The call searches built-in and registered programs.
 *
 * Thread-safe.
 *
 * @param runtime an open runtime.
 * @param name the program's name.
 * @return the program. NULL if there is none, or if an argument is NULL. If
 *     there is none, the text of peal_last_error() lists known programs.
 */
const struct peal_program *peal_program_find(struct peal_runtime *runtime,
					     const char *name);

/**
 * Finds the number of a handler in its program.
 *
 * Thread-safe and wait-free.
 *
 * @param program a program.
 * @param handler the handler's name.
 * @return the number, 0 or more, or a negative error code:
 * @retval PEAL_ENOENT  there is no such handler. The error text lists the
 *     handlers of the program.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_program_handler(const struct peal_program *program,
			 const char *handler);

/** A program that a runtime knows. */
struct peal_program_info {
	const char *name; /* static string */
	uint32_t handlers; /* number of handlers */
	uint32_t images; /* number of images, with the host image */
};

/**
 * Reads the properties of one program of a runtime.
 *
 * Thread-safe.
 *
 * @param runtime an open runtime.
 * @param index the number of the program, from 0. Built-in programs come
 *     first. The others follow in the order of their registration.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no program with this index.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_program_info(struct peal_runtime *runtime, int index,
		      struct peal_program_info *info_out);

/** An image of a program: its code for one target. */
struct peal_image_info {
	/* Static strings. Targets: "host", "compute_75", "sm_90", "gfx90a". */
	const char *target;
	const char *kind; /* "host", "ptx", "cubin" or "hsaco" */
	uint64_t bytes; /* size of the image; 0 for the linked host image */
};

/**
 * Reads the properties of one image of a program.
 *
 * Images that peal_program_compile has made are not among them.
 *
 * Thread-safe and wait-free.
 *
 * @param program a program.
 * @param index the number of the image, from 0. Image 0 is the host image. The
 *     device images of the build follow.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no image with this index.
 * @retval PEAL_EPROGRAM  as peal_program_add.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_image_info(const struct peal_program *program, int index,
		    struct peal_image_info *info_out);

/**
 * Compiles a program's source for a target ahead of the first launch.
 *
 * Without this call, peal_kernel_launch compiles the source itself if no image
 * of the build fits the device. The program must contain its source
 * (PEAL_EMBED_SOURCES). The compiler is NVRTC or hipRTC, which the call loads.
 * No device is needed.
 *
 * The library keeps the image until the process ends. The library also writes
 * the image to PEAL_CACHE_DIR/images, for later processes.
 *
 * Thread-safe. Blocks for seconds, or while another thread compiles.
 *
 * @param runtime an open runtime.
 * @param program a program. The runtime need not know it.
 * @param target "sm_90" for a cubin, "compute_75" for PTX, "gfx90a" for a code
 *     object. A compiler without cubin support makes PTX instead.
 * @param info_out filled on success with the properties of the image.
 * @return 0, or a negative error code:
 * @retval PEAL_EPROGRAM  the program has no source, was compiled with other
 *     headers, or does not compile. Or the target is unknown, or the compiler's
 *     output is damaged. Or no compiler was found; the error text then lists
 *     the library files that the call tried. After a failed compilation the
 *     text has the first lines of the compiler's log. PEAL_LOG=1 prints the
 *     whole log.
 * @retval PEAL_ENOMEM  there is not enough memory.
 * @retval PEAL_EINVAL  an argument is NULL.
 */
int peal_program_compile(struct peal_runtime *runtime,
			 const struct peal_program *program, const char *target,
			 struct peal_image_info *info_out);

PEAL_END_C
#endif
