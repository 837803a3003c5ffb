/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_EVENT_H
#define PEAL_ABI_EVENT_H

#include <peal/device/platform.h>

/*
 * An event: a count of records, made by a worker. Each device of the event has
 * a cell in its own memory, if the recorder can write there. Otherwise the cell
 * is in host memory. The host has a cell, too. Each reader polls its own cell.
 */

/** The most devices of an event, with the recorder's device. */
#define PEAL_EVENT_DEVICES_MAX 64

/** A reader's copy of the count; only writer: the recorder. */
struct peal_event_cell {
	uint64_t count; /* number of records; written last */
	uint64_t begun; /* number of records; written first */
	/* time of the latest record, only in the host's cell */
	uint64_t device_ns; /* by the clock of the recorder's device */
	uint64_t host_ns; /* by the host's clock; 0: not known */
	uint64_t uncertainty_ns; /* error bound of host_ns, +/- ns */
	uint64_t reserved[11];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_event_cell) == PEAL_SHARED_LINE,
		   "a cell is a line");

/** An event, in the memory of the recorder's device. The host fills it in. Then
 * the only writer is the recorder. */
struct peal_event_record {
	struct peal_event_cell own; /* cell of the recorder's device */
	uint64_t count; /* number of records */
	uint64_t n_cells;
	/* addresses of the cells, as the recorder's device sees them: of the
	 * host, of its own device, of the others */
	uint64_t cell[PEAL_EVENT_DEVICES_MAX + 1];
	uint64_t reserved;
};

#endif
