/* SPDX-License-Identifier: Apache-2.0 */
/* Takes and compares the snapshots of a stall diagnosis. */
#include "runtime/observe/stall_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/wait.h"
#include "runtime/kernel/kernel.h"
#include "runtime/link/link.h"

void peali_looks_free(struct peali_looks *l)
{
	free(l->workers);
	free(l->links);
	memset(l, 0, sizeof(*l));
}

static void look_at_worker(struct peal_kernel *k, uint32_t i,
			   struct peali_worker_look *out)
{
	const struct peal_worker_status *s = &k->status[i];

	memset(out, 0, sizeof(*out));
	out->kernel = k;
	out->id = k->id;
	out->worker = i;
	out->phase = peal_load_acquire_sys(&s->phase);
	out->heartbeat = peal_load_relaxed_sys(&s->heartbeat);
	out->handled = peal_load_relaxed_sys(&s->handled);
	peali_inflight_read(k, i, &out->inflight);
	out->blocked = peal_load_relaxed_sys(&s->blocked);
}

int peali_looks_take(struct peal_runtime *rt, struct peali_looks *l)
{
	struct peal_kernel *k;
	struct peal_link *link;
	uint32_t i;

	memset(l, 0, sizeof(*l));
	for (k = rt->kernels; k; k = k->next)
		l->n_workers += k->params.n_workers;
	for (link = rt->links; link; link = link->next)
		l->n_links++;
	l->workers = calloc(l->n_workers + 1u, sizeof(*l->workers));
	l->links = calloc(l->n_links + 1u, sizeof(*l->links));
	if (!l->workers || !l->links) {
		peali_looks_free(l);
		return PEAL_ENOMEM;
	}
	l->n_workers = l->n_links = 0;
	for (k = rt->kernels; k; k = k->next)
		for (i = 0; i < k->params.n_workers; i++)
			look_at_worker(k, i, &l->workers[l->n_workers++]);
	for (link = rt->links; link; link = link->next) {
		l->links[l->n_links].link = link;
		peal_link_info(link, &l->links[l->n_links++].info);
	}
	return 0;
}

/* Returns the ns since a worker's last heartbeat. */
static uint64_t silence(const struct peali_worker_look *w)
{
	return peali_now_ns() -
	       atomic_load(&w->kernel->workers[w->worker].beat_moved_ns);
}

/* Lists of both snapshots are newest first. So objects in both have one
 * order. */
void peali_looks_compare(const struct peali_looks *before,
			 struct peali_looks *now)
{
	uint32_t i, j;

	for (i = j = 0; i < now->n_workers; i++) {
		struct peali_worker_look *w = &now->workers[i];
		const struct peali_worker_look *b = before->workers;

		while (j < before->n_workers &&
		       (b[j].kernel != w->kernel || b[j].id != w->id ||
			b[j].worker != w->worker))
			j++;
		if (j == before->n_workers) { /* a new worker: rewind */
			j = 0;
			continue;
		}
		w->still = b[j].phase == w->phase &&
			   b[j].handled == w->handled &&
			   b[j].blocked == w->blocked;
		/*
		 * A worker with a moving beat is in no handler, even if
		 * `inflight` names one. A worker that handles another message
		 * now is not stalled by its handler.
		 */
		if (b[j].heartbeat == w->heartbeat)
			w->silent_ns = silence(w);
		if (b[j].heartbeat != w->heartbeat ||
		    b[j].inflight.word != w->inflight.word ||
		    b[j].inflight.message != w->inflight.message)
			w->inflight.word = 0;
	}
	for (i = j = 0; i < now->n_links; i++) {
		struct peali_link_look *l = &now->links[i];
		const struct peali_link_look *b = before->links;

		while (j < before->n_links && b[j].info.id > l->info.id)
			j++;
		l->still = j < before->n_links && b[j].info.id == l->info.id &&
			   b[j].info.undelivered_first ==
				   l->info.undelivered_first;
	}
}
