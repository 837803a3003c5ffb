/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_PROGRAM_H
#define PEAL_PROGRAM_H

#include <stdint.h>

#include <peal/abi/program.h>
#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

/**
 * Makes a program known to a runtime by its name.
 *
 * @param runtime an open runtime.
 * @param program a program with static storage; not copied.
 * @return 0; PEAL_EEXIST another program has the name; PEAL_EALREADY it is
 *         known; PEAL_EPROGRAM the struct is of another version or has no
 *         handler; PEAL_EINVAL. Thread-safe.
 */
int peal_program_add(struct peal_runtime *runtime,
		     const struct peal_program *program);

/**
 * Loads a program from a file and makes it known to a runtime by its name.
 *
 * The file is a shared object with one program, made by
 * peal_add_program(name MODULE SOURCES ...): host code, device images and text.
 * The system's loader trusts what it loads, so all that can be is checked
 * before: that the file is whole and as it was built (by the SHA-256 at its
 * end, which finds damage but is no signature: load only what you trust as your
 * own code), is for this kind of processor, and exports one program, of these
 * headers. Its host code needs functions of libpeal: a process that links
 * libpeal.a has to export them (CMake: ENABLE_EXPORTS; else -rdynamic).
 *
 * A device image alone (.cubin, .ptx, .hsaco) is not taken: it says nothing of
 * its handlers, and a program without host code cannot run on every device.
 *
 * @param runtime     an open runtime.
 * @param path        of the file, absolute or relative to the working
 *                    directory. It is read anew: neither LD_LIBRARY_PATH nor
 *                    the loader's other places count.
 * @param program_out the program, valid until the runtime is closed.
 * @return 0; PEAL_ENOENT no such file; PEAL_EIO it cannot be read or is no
 *         regular file; PEAL_EPROGRAM it is damaged, cut off, for another
 *         processor, of other headers, has no program, has several (the text
 *         names them), or cannot be loaded; PEAL_EEXIST another program has
 *         the name; PEAL_EALREADY this runtime has loaded the file;
 *         PEAL_ENOMEM; PEAL_EINVAL a NULL pointer. Blocking; thread-safe.
 */
int peal_program_load_file(struct peal_runtime *runtime, const char *path,
			   const struct peal_program **program_out);

/**
 * Finds a program by name: the built-in ones and those that were added.
 *
 * @param runtime an open runtime.
 * @param name    its name.
 * @return the program, or NULL with the names there are in peal_last_error().
 *         Thread-safe.
 */
const struct peal_program *peal_program_find(struct peal_runtime *runtime,
					     const char *name);

/**
 * The number of a handler in its program.
 *
 * @param program a program.
 * @param handler its handler's name.
 * @return the number; PEAL_ENOENT no such handler (the text lists those there
 *         are); PEAL_EINVAL a NULL pointer. Thread-safe, wait-free.
 */
int peal_program_handler(const struct peal_program *program,
			 const char *handler);

/** A program that a runtime knows. */
struct peal_program_info {
	const char *name; /* static */
	uint32_t handlers;
	uint32_t images; /* the host's is one of them */
};

/**
 * What programs a runtime knows.
 *
 * @param runtime  an open runtime.
 * @param index    from 0 on, in the order in which they became known.
 * @param info_out filled on success.
 * @return 0; PEAL_ENOENT there are not so many; PEAL_EINVAL a NULL pointer.
 *         Thread-safe.
 */
int peal_program_info(struct peal_runtime *runtime, int index,
		      struct peal_program_info *info_out);

/** One image of a program: what a kind of device runs. */
struct peal_image_info {
	const char *target; /* "host", "compute_75", "sm_90", "gfx90a"; static */
	const char *kind; /* "host", "ptx", "cubin" or "hsaco"; static */
	uint64_t bytes; /* of the image; 0 for the host's, which is linked */
};

/**
 * The images of a program: the host's first, then those that the build made.
 *
 * @param program  a program.
 * @param index    from 0 on.
 * @param info_out filled on success.
 * @return 0; PEAL_ENOENT there are not so many; PEAL_EPROGRAM the program was
 *         compiled with other headers; PEAL_EINVAL a NULL pointer. Thread-safe,
 *         wait-free.
 */
int peal_image_info(const struct peal_program *program, int index,
		    struct peal_image_info *info_out);

/**
 * Compiles a program's source for a target now, so that no launch has to.
 *
 * A launch on a device for which the build has made no image does the same by
 * itself. The source is part of the program (PEAL_EMBED_SOURCES); the compiler
 * is NVRTC or hipRTC, whichever can be loaded. The result is kept as long as
 * the process, and as a file in PEAL_CACHE_DIR/images, where the next process
 * finds it. No device is needed.
 *
 * @param runtime  an open runtime.
 * @param program  a program; the runtime need not know it.
 * @param target   "sm_90" for a cubin, "compute_75" for PTX, "gfx90a" for a
 *                 code object. A compiler that makes no cubins makes PTX.
 * @param info_out filled on success with what came of it.
 * @return 0; PEAL_EPROGRAM the program has no source in it or was compiled with
 *         other headers, the target is none, no compiler was found (the text
 *         names those looked for), it does not compile (the text has the first
 *         lines of the compiler's log, PEAL_LOG=1 prints all), or what it made
 *         is damaged; PEAL_ENOMEM; PEAL_EINVAL a NULL pointer. Blocking, for
 *         seconds; thread-safe, one compilation at a time.
 */
int peal_program_compile(struct peal_runtime *runtime,
			 const struct peal_program *program, const char *target,
			 struct peal_image_info *info_out);

#ifdef __cplusplus
}
#endif
#endif
