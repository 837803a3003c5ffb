/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of copies: see copy_stats.h. */
#include "p2p/copy_stats.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/device/backend.h"

const char *peal_copy_kind_name(uint32_t way)
{
	static const char *const names[PEAL_COPY_KINDS] = {
		"local", "devices", "staged", "from host", "to host", "host",
	};

	return way < PEAL_COPY_KINDS ? names[way] : "?";
}

int peali_copy_stats_open(struct peali_copy_stats *stats, int n_devices)
{
	size_t n = (size_t)n_devices + 1;

	stats->pair = calloc(n * n, sizeof(*stats->pair));
	if (!stats->pair)
		return PEAL_ENOMEM;
	stats->n_devices = n_devices;
	pthread_mutex_init(&stats->lock, NULL);
	return 0;
}

void peali_copy_stats_close(struct peali_copy_stats *stats)
{
	if (!stats->pair)
		return;
	pthread_mutex_destroy(&stats->lock);
	free(stats->pair);
	stats->pair = NULL;
}

static struct peali_copy_stats_pair *pair_of(struct peali_copy_stats *stats,
					     int from, int to)
{
	size_t n = (size_t)stats->n_devices + 1;

	return &stats->pair[(size_t)(from + 1) * n + (size_t)(to + 1)];
}

static void add(struct peal_copy_counts *to,
		const struct peal_copy_counts *more)
{
	to->copies += more->copies;
	to->bytes += more->bytes;
	to->ns += more->ns;
	to->failed += more->failed;
}

void peali_copy_stats_add(struct peali_copy_stats *stats,
			  const struct peali_copy_stats_entry *c)
{
	struct peali_copy_stats_pair *pair = pair_of(stats, c->from, c->to);
	struct peal_copy_counts more = { c->copies, c->bytes, c->ns,
					 c->failed };

	pthread_mutex_lock(&stats->lock);
	add(c->staged ? &pair->staged : &pair->direct, &more);
	pthread_mutex_unlock(&stats->lock);
}

void peali_copy_stats_add_wait(struct peali_copy_stats *stats, uint64_t ns)
{
	pthread_mutex_lock(&stats->lock);
	stats->waits.waits++;
	stats->waits.ns += ns;
	pthread_mutex_unlock(&stats->lock);
}

int peali_copy_stats_warn_once(struct peali_copy_stats *stats, int from, int to)
{
	struct peali_copy_stats_pair *pair = pair_of(stats, from, to);
	int first;

	pthread_mutex_lock(&stats->lock);
	first = !pair->warned;
	pair->warned = 1;
	pthread_mutex_unlock(&stats->lock);
	return first;
}

/* ---- reading ------------------------------------------------------------- */

static enum peal_copy_kind way_of(int from, int to, int staged)
{
	if (to == PEALI_HOST)
		return from == PEALI_HOST ? PEAL_COPY_HOST : PEAL_COPY_TO_HOST;
	if (from == PEALI_HOST)
		return PEAL_COPY_FROM_HOST;
	if (to == from)
		return PEAL_COPY_LOCAL;
	return staged ? PEAL_COPY_STAGED : PEAL_COPY_DEVICES;
}

void peali_copy_stats_read(struct peali_copy_stats *stats,
			   struct peali_copy_stats_place *out,
			   struct peal_copy_counts copies[PEAL_COPY_KINDS],
			   struct peal_wait_counts *waits)
{
	int n = stats->n_devices, from, to, staged;

	memset(out, 0, ((size_t)n + 1) * sizeof(*out));
	memset(copies, 0, PEAL_COPY_KINDS * sizeof(*copies));
	pthread_mutex_lock(&stats->lock);
	for (from = PEALI_HOST; from < n; from++)
		for (to = PEALI_HOST; to < n; to++)
			for (staged = 0; staged < 2; staged++) {
				const struct peali_copy_stats_pair *pair =
					pair_of(stats, from, to);
				const struct peal_copy_counts *c =
					staged ? &pair->staged : &pair->direct;
				int way = (int)way_of(from, to, staged);

				add(&copies[way], c);
				add(&out[from < 0 ? n : from].read[way], c);
				add(&out[to < 0 ? n : to].written[way], c);
			}
	*waits = stats->waits;
	pthread_mutex_unlock(&stats->lock);
}

void peali_copy_stats_read_pair(struct peali_copy_stats *stats, int from,
				int to, struct peal_transfer_counts *out)
{
	const struct peali_copy_stats_pair *pair = pair_of(stats, from, to);

	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&stats->lock);
	out->copies = pair->direct.copies + pair->staged.copies;
	out->bytes = pair->direct.bytes + pair->staged.bytes;
	out->staged_bytes = pair->staged.bytes;
	out->nanoseconds = pair->direct.ns + pair->staged.ns;
	out->warnings = pair->warned;
	pthread_mutex_unlock(&stats->lock);
}
