/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_PROGRAM_H
#define PEAL_ABI_PROGRAM_H

#include <peal/device/platform.h>

/*
 * What a kernel source says of itself to the host. The only layout of this
 * folder that holds pointers: it never leaves the process.
 */

struct peal_kernel_params;

/** A handler as the host sees it; made by PEAL_PROGRAM. */
struct peal_handler_info {
	const char *name;
	uint32_t state_bytes; /* of an actor's state */
	uint16_t ports; /* it may emit to ports 0 .. ports-1 */
	uint16_t emits; /* at most so many messages per port and input */
	uint16_t tells; /* at most so many mailbox messages per input */
	uint16_t hooks; /* 1: it runs for its actors' begin and end, too */
	uint32_t input_bytes; /* payload it takes; 0: any length */
	uint32_t output_bytes; /* payload it emits; 0: any length */
};

/**
 * The host image: one lane of one worker runs it to its end. Returns 0 when the
 * worker is done, 1 when its epoch ended and it wants to be called again.
 */
typedef int (*peal_host_entry_fn)(const struct peal_kernel_params *params,
				  uint32_t worker, uint32_t lane);

/** What a device image is, for whoever loads it. */
enum peal_image_kind {
	PEAL_IMAGE_CUBIN = 1, /* ELF for one kind of NVIDIA device */
	PEAL_IMAGE_PTX = 2, /* text that the CUDA driver compiles */
	PEAL_IMAGE_HSACO = 3 /* ELF for one kind of AMD device */
};

/** A program source compiled for one target; embedded by peal_add_program. */
struct peal_image {
	const char *target; /* "sm_90", "compute_75", "gfx90a" */
	uint32_t kind; /* enum peal_image_kind */
	uint32_t reserved;
	const unsigned char *begin, *end; /* its bytes */
};

/* Those of the source that includes this, where its build has made some. */
#ifdef PEAL_IMAGES
PEAL_EXTERN_C const struct peal_image PEAL_IMAGES[];
#else
#define PEAL_IMAGES 0
#endif

/** A text that compilers at run time may need; embedded by peal_add_program. */
struct peal_source_file {
	const char *name; /* as an #include spells it; the source's own path */
	const char *begin, *end; /* a zero byte follows */
};

/* That of the source that includes this, likewise. */
#ifdef PEAL_SOURCES
PEAL_EXTERN_C const struct peal_source_file PEAL_SOURCES[];
#else
#define PEAL_SOURCES 0
#endif

/**
 * A set of handlers compiled together for every backend. A kernel source makes
 * it with PEAL_PROGRAM(name, ...) as `peal_program_<name>`; static storage,
 * never changed.
 */
struct peal_program {
	uint32_t size; /* sizeof(struct peal_program) */
	uint32_t n_handlers;
	const char *name;
	const struct peal_handler_info *handlers;
	peal_host_entry_fn host_entry; /* any number of lanes */
	peal_host_entry_fn host_entry_single; /* one lane; NULL: use the other */
	const struct peal_image *images; /* up to one without a target; or NULL */
	/* The source, then its headers but those of the dialect, up to one
	 * without a name; or NULL */
	const struct peal_source_file *sources;
	uint32_t uses; /* mask of enum peal_uses */
	uint32_t reserved;
};

/** What the kernels of a program can have beside links and mailboxes. */
enum peal_uses {
	PEAL_USES_POOL_PLACES = 1 /* its source defined PEAL_USES_POOLS */
};

/** Declares a program that another source defines. Host only. */
#define PEAL_DECLARE_PROGRAM(program)                                          \
	PEAL_EXTERN_C const struct peal_program peal_program_##program

#endif
