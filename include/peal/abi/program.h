/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_PROGRAM_H
#define PEAL_ABI_PROGRAM_H

#include <peal/device/platform.h>

/*
 * The description of a program for the host. Only this header of the folder has
 * pointers: a description never leaves its process.
 */

struct peal_kernel_params;

/** Flag in `tells` of a handler: it tells all actors of its kernel, too. This
 * takes one further message for each worker. */
#define PEAL_TO_ALL 0x8000

/** Bits of the field `kind` of a handler. */
#define PEAL_HANDLER_HOOKS 1 /* it has init and exit hooks */
#define PEAL_HANDLER_BATCH 2 /* it handles a message per lane: batch.h */
#define PEAL_HANDLER_SHARED 4 /* and several messages of an actor at once */

/** A description of a handler, made by PEAL_PROGRAM. */
struct peal_handler_info {
	const char *name;
	uint32_t state_bytes; /* of an actor's state */
	uint16_t ports; /* number of ports, from 0 on */
	uint16_t emits; /* most messages per port for one message */
	uint16_t tells; /* most mailbox messages for one message; PEAL_TO_ALL */
	uint16_t kind; /* PEAL_HANDLER_... */
	uint32_t input_bytes; /* payload that it takes; 0: any length */
	uint32_t output_bytes; /* payload that it emits; 0: any length */
};

/**
 * The host image. Each lane of each worker calls it. Returns 0 if the worker
 * has ended, 1 at the end of an epoch: call it again.
 */
typedef int (*peal_host_entry_fn)(const struct peal_kernel_params *params,
				  uint32_t worker, uint32_t lane);

/** Kinds of device images. */
enum peal_image_kind {
	PEAL_IMAGE_CUBIN = 1, /* ELF for one kind of NVIDIA device */
	PEAL_IMAGE_PTX = 2, /* PTX text, compiled by the CUDA driver */
	PEAL_IMAGE_HSACO = 3 /* ELF for one kind of AMD device */
};

/** A program source compiled for one target; embedded by peal_add_program. */
struct peal_image {
	const char *target; /* "sm_90", "compute_75", "gfx90a" */
	uint32_t kind; /* enum peal_image_kind */
	uint32_t reserved;
	const unsigned char *begin, *end; /* its bytes */
};

/* The images of the including source, if its build makes some. */
#ifdef PEAL_IMAGES
PEAL_EXTERN_C const struct peal_image PEAL_IMAGES[];
#else
#define PEAL_IMAGES 0
#endif

/** A source text for compilers at run time; embedded by peal_add_program. */
struct peal_source_file {
	const char *name; /* as in #include; of the source itself: its path */
	const char *begin, *end; /* a zero byte follows */
};

/* The source texts of the including source, if its build makes some. */
#ifdef PEAL_SOURCES
PEAL_EXTERN_C const struct peal_source_file PEAL_SOURCES[];
#else
#define PEAL_SOURCES 0
#endif

/**
 * A program: a set of handlers, compiled for all backends. PEAL_PROGRAM(name,
 * ...) defines it as the constant `peal_program_<name>`.
 */
struct peal_program {
	uint32_t size; /* sizeof(struct peal_program) */
	uint32_t n_handlers;
	const char *name;
	const struct peal_handler_info *handlers;
	peal_host_entry_fn host_entry; /* any number of lanes */
	peal_host_entry_fn host_entry_single; /* one lane; NULL: host_entry */
	const struct peal_image *images; /* the last has no target; or NULL */
	/* The source, then its headers without Peal's own; the last entry has
	 * no name. NULL: none */
	const struct peal_source_file *sources;
	uint32_t uses; /* PEAL_USES of its source, see device/features.h */
	uint32_t reserved;
};

/** Declares a program that another source defines. Host only. */
#define PEAL_DECLARE_PROGRAM(program)                                          \
	PEAL_EXTERN_C const struct peal_program peal_program_##program

#endif
