/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of copies: see ledger.h. */
#include "p2p/copy_stats.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/device/backend.h"

const char *peal_copy_way_name(uint32_t way)
{
	static const char *const names[PEAL_COPY_WAYS] = {
		"local", "devices", "staged", "from host", "to host", "host",
	};

	return way < PEAL_COPY_WAYS ? names[way] : "?";
}

int peali_ledger_open(struct peali_ledger *ledger, int n_devices)
{
	size_t n = (size_t)n_devices + 1;

	ledger->pair = calloc(n * n, sizeof(*ledger->pair));
	if (!ledger->pair)
		return PEAL_ENOMEM;
	ledger->n_devices = n_devices;
	pthread_mutex_init(&ledger->lock, NULL);
	return 0;
}

void peali_ledger_close(struct peali_ledger *ledger)
{
	if (!ledger->pair)
		return;
	pthread_mutex_destroy(&ledger->lock);
	free(ledger->pair);
	ledger->pair = NULL;
}

static struct peali_ledger_pair *pair_of(struct peali_ledger *ledger, int from,
					 int to)
{
	size_t n = (size_t)ledger->n_devices + 1;

	return &ledger->pair[(size_t)(from + 1) * n + (size_t)(to + 1)];
}

static void add(struct peal_copy_counts *to,
		const struct peal_copy_counts *more)
{
	to->copies += more->copies;
	to->bytes += more->bytes;
	to->ns += more->ns;
	to->failed += more->failed;
}

void peali_ledger_enter(struct peali_ledger *ledger,
			const struct peali_ledger_copy *c)
{
	struct peali_ledger_pair *pair = pair_of(ledger, c->from, c->to);
	struct peal_copy_counts more = { c->copies, c->bytes, c->ns,
					 c->failed };

	pthread_mutex_lock(&ledger->lock);
	add(c->staged ? &pair->staged : &pair->direct, &more);
	pthread_mutex_unlock(&ledger->lock);
}

void peali_ledger_waited(struct peali_ledger *ledger, uint64_t ns)
{
	pthread_mutex_lock(&ledger->lock);
	ledger->waits.waits++;
	ledger->waits.ns += ns;
	pthread_mutex_unlock(&ledger->lock);
}

int peali_ledger_warns(struct peali_ledger *ledger, int from, int to)
{
	struct peali_ledger_pair *pair = pair_of(ledger, from, to);
	int first;

	pthread_mutex_lock(&ledger->lock);
	first = !pair->warned;
	pair->warned = 1;
	pthread_mutex_unlock(&ledger->lock);
	return first;
}

/* ---- reading ------------------------------------------------------------- */

static enum peal_copy_way way_of(int from, int to, int staged)
{
	if (to == PEALI_HOST)
		return from == PEALI_HOST ? PEAL_COPY_HOST : PEAL_COPY_TO_HOST;
	if (from == PEALI_HOST)
		return PEAL_COPY_FROM_HOST;
	if (to == from)
		return PEAL_COPY_LOCAL;
	return staged ? PEAL_COPY_STAGED : PEAL_COPY_DEVICES;
}

void peali_ledger_read(struct peali_ledger *ledger,
		       struct peali_ledger_place *out,
		       struct peal_copy_counts copies[PEAL_COPY_WAYS],
		       struct peal_wait_counts *waits)
{
	int n = ledger->n_devices, from, to, staged;

	memset(out, 0, ((size_t)n + 1) * sizeof(*out));
	memset(copies, 0, PEAL_COPY_WAYS * sizeof(*copies));
	pthread_mutex_lock(&ledger->lock);
	for (from = PEALI_HOST; from < n; from++)
		for (to = PEALI_HOST; to < n; to++)
			for (staged = 0; staged < 2; staged++) {
				const struct peali_ledger_pair *pair =
					pair_of(ledger, from, to);
				const struct peal_copy_counts *c =
					staged ? &pair->staged : &pair->direct;
				int way = (int)way_of(from, to, staged);

				add(&copies[way], c);
				add(&out[from < 0 ? n : from].read[way], c);
				add(&out[to < 0 ? n : to].written[way], c);
			}
	*waits = ledger->waits;
	pthread_mutex_unlock(&ledger->lock);
}

void peali_ledger_read_pair(struct peali_ledger *ledger, int from, int to,
			    struct peal_transfer_counts *out)
{
	const struct peali_ledger_pair *pair = pair_of(ledger, from, to);

	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&ledger->lock);
	out->copies = pair->direct.copies + pair->staged.copies;
	out->bytes = pair->direct.bytes + pair->staged.bytes;
	out->staged_bytes = pair->staged.bytes;
	out->nanoseconds = pair->direct.ns + pair->staged.ns;
	out->warnings = pair->warned;
	pthread_mutex_unlock(&ledger->lock);
}
