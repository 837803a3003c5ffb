/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_COLLECTIVE_EVENT_H
#define PEALI_COLLECTIVE_EVENT_H

#include <peal/event.h>
#include "runtime/device/memory_block.h"
#include "runtime/runtime.h"

/*
 * Events:
 *
 *	event.c		makes and destroys events, waits for records
 *	event_order.c	records and awaits of the host
 */

/** A device that reads an event, other than the recorder's. */
struct peali_watcher {
	int device;
	int holds; /* 1: holds the recorder's access to its memory */
	struct peali_block block; /* its cell; none if the host records */
};

struct peal_event {
	struct peal_runtime *rt;
	struct peal_event *next; /* runtime's list, under rt->lock */
	char name[48];
	int device; /* the recorder's */
	uint32_t by_host; /* 1: the host records; all read the host's cell */
	uint32_t n; /* watchers */
	struct peali_watcher *watchers;
	struct peali_block record; /* struct peal_event_record, on the device;
				    * none if the host records */
	struct peali_block host; /* the host's cell */
	struct peal_event_cell *cell; /* host view of `host` */
};

struct peal_event *peali_event_next(struct peal_event *event);

/* ---- event_order.c ------------------------------------------------------- */

/* Makes the queue of the host's orders. Returns 0 or PEAL_ENOMEM. */
int peali_event_orders_open(struct peal_runtime *rt);
/* Ends the thread, and forgets all orders. They take no effect, so gates stay
 * closed. Does nothing without a queue. */
void peali_event_orders_close(struct peal_runtime *rt);
/* Returns the number of orders of an event that have not taken effect. */
uint32_t peali_event_orders_left(const struct peal_event *event);

#endif
