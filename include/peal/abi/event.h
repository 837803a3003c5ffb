/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_EVENT_H
#define PEAL_ABI_EVENT_H

#include <peal/device/platform.h>

/*
 * An event: how often a worker has said that it has come so far. Each device that
 * wants to know has a cell in its own memory, if the recorder can write there, else
 * in host memory; the host has one, too. Nobody reads across.
 */

/** The most devices that an event can be for, its recorder's among them. */
#define PEAL_EVENT_DEVICES_MAX 64

/** What a device, or the host, looks at; only writer: who records. */
struct peal_event_cell {
	uint64_t count; /* times that it was recorded; written last */
	uint64_t begun; /* the same, written first */
	/* of the latest one; in the host's cell alone */
	uint64_t device_ns; /* the clock of the recorder's device */
	uint64_t common_ns; /* the host's, within uncertainty_ns; 0: the worker
			     * did not know it */
	uint64_t uncertainty_ns;
	uint64_t reserved[11];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_event_cell) == PEAL_SHARED_LINE,
		   "a cell is a line");

/** In the memory of the recorder's device; only writer: who records, but for the
 * cell, which is its device's own, and what the host wrote at first. */
struct peal_event_record {
	struct peal_event_cell own;
	uint64_t count; /* times that it was recorded */
	uint64_t n_cells;
	/* as the recorder's device sees them: the host's, its own, and the
	 * others' */
	uint64_t cell[PEAL_EVENT_DEVICES_MAX + 1];
	uint64_t reserved;
};

#endif
