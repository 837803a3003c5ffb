/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_REJECT_TABLE_H
#define PEAL_RUNTIME_REJECT_TABLE_H

/*
 * Reject tables (struct peal_reject_table): a worker reports there that a
 * request of the host gets no reply (include/peal/abi/limit.h). A requester
 * has one table while it is open. The next requester then reuses the table. The
 * memory stays until the runtime closes, because a worker may write to it late.
 */

#include "runtime/device/memory_block.h"
#include "runtime/runtime.h"

struct peali_reject_table {
	struct peali_block block; /* host memory */
	struct peal_reject_table *words; /* host view of the table */
	/* The receiving endpoint's. It stays, as a worker may ring it late. */
	struct peal_bell *bell;
	uint32_t number; /* 1 + index in `reject_tables` */
	uint32_t places; /* requests that fit */
	int used; /* 1: a requester has the table; guarded by rt->lock */
	uint64_t n_ids; /* requests of all requesters so far: numbers continue
			 * from here, so that no number repeats */
	/* for the thread that receives for the requester: */
	uint64_t latest; /* words->latest at the start of the latest scan */
	uint32_t at; /* next place of the scan; `places`: no scan */
	uint64_t *seen; /* per place: the word that was reported last */
};

/*
 * Takes a free table with at least `places` places, or makes one. Sets *out to
 * NULL if no table fits and PEAL_REJECT_TABLES_MAX tables exist: the requester
 * then gets no refusals. The caller holds rt->lock. Returns 0 or PEAL_ENOMEM.
 */
int peali_reject_table_take(struct peal_runtime *rt, uint32_t places,
			    struct peali_reject_table **out);
/* Releases a table for the next requester. NULL: does nothing. */
void peali_reject_table_give(struct peali_reject_table *table);
/* Publishes all tables to a new kernel. The caller holds rt->lock. */
void peali_reject_tables_show(struct peal_kernel *kernel);
/* Frees all tables; no worker may run any more. */
void peali_reject_tables_clear(struct peal_runtime *rt);
/*
 * Looks for the next report in the endpoint's table. Returns 1 with the report
 * in endpoint->refused, or 0. The next call keeps the report. One thread at a
 * time, also for peali_reject_table_receive.
 */
int peali_reject_table_look(struct peal_endpoint *endpoint);
/* Turns that report into a message of `input`, in endpoint->message. */
void peali_reject_table_receive(struct peal_endpoint *endpoint, uint32_t input);

#endif
