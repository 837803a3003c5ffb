/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_DEVICE_SYNC_H
#define PEALI_DEVICE_SYNC_H

#include <stdint.h>

struct peal_runtime;

/** Successive looks at a device, until it has no work. */
struct peali_idle_look {
	struct peal_runtime *rt;
	int device; /* a device's index, or PEAL_ALL_DEVICES */
	/* The look ignores work with these submission numbers and higher ones.
	 * It also ignores messages behind gates with higher numbers. */
	uint64_t before, gate;
	int in_order; /* 1: all its counts become visible in order */
	/* of the latest look: */
	uint64_t done, given; /* messages */
	uint32_t n_done, n_given; /* kernels, links and subscribers in each
				   * sum */
	char busy[160]; /* text: the first object with work */
	/* of a device without such an order: */
	uint64_t since; /* first look with the sums of now, ns; 0: none */
	uint64_t quiet; /* value of these equal sums */
};

/* Begins with all work of a device. A successful look is of a moment after this
 * call. */
void peali_idle_begin(struct peali_idle_look *look, struct peal_runtime *rt,
		      int device);
/* As peali_idle_begin, but ignores work that is submitted later, if it waits for a
 * later gate or is no message. */
void peali_idle_begin_behind(struct peali_idle_look *look,
			     struct peal_runtime *rt, int device);
/* Takes one look. Returns 1 if the device had no work at a moment of it, as for
 * peal_device_sync, else 0. The caller does not hold rt->lock. */
int peali_idle_look(struct peali_idle_look *look);

#endif
