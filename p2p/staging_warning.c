/* SPDX-License-Identifier: Apache-2.0 */
#include "p2p/staging_warning.h"

#include <stdlib.h>
#include <string.h>

#include "p2p/copy_stats.h"
#include "p2p/peer_internal.h"
#include "runtime/base/log.h"
#include "runtime/base/owner.h"
#include "runtime/device/backend.h"
#include "runtime/device/devices.h"

/** An ordered pair that has a line in the log of this process. */
struct named_pair {
	const char *backend[2];
	int local[2];
};

/* All runtimes of the process share the list. A child of fork has its own list. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct named_pair *named;
static size_t n_named;
static uint64_t owner;

static struct named_pair name_of(const struct peali_peers *peers, int from,
				 int to)
{
	const struct peali_device *a = &peers->devices->device[from];
	const struct peali_device *b = &peers->devices->device[to];
	struct named_pair pair = { { a->backend->ops->name,
				     b->backend->ops->name },
				   { a->local, b->local } };

	return pair;
}

static int is_named(const struct named_pair *pair)
{
	const struct named_pair *p;

	for (p = named; p < named + n_named; p++)
		if (p->local[0] == pair->local[0] &&
		    p->local[1] == pair->local[1] &&
		    !strcmp(p->backend[0], pair->backend[0]) &&
		    !strcmp(p->backend[1], pair->backend[1]))
			return 1;
	return 0;
}

/* Returns 1 on the first call of the process `caller` for a pair. Without memory
 * for the list it returns 1 again. */
static int name_once(struct named_pair pair, uint64_t caller)
{
	struct named_pair *grown;
	int first;

	peali_static_lock(&lock);
	if (owner != caller)
		n_named = 0;
	owner = caller;
	first = !is_named(&pair);
	grown = first ? realloc(named, (n_named + 1) * sizeof(*named)) : NULL;
	if (grown) {
		named = grown;
		named[n_named++] = pair;
	}
	pthread_mutex_unlock(&lock);
	return first;
}

int peali_staging_is_new(struct peali_peers *peers, int from, int to)
{
	return from != to && from != PEALI_HOST && to != PEALI_HOST &&
	       peali_copy_stats_warn_once(&peers->stats, from, to) &&
	       peali_warnings_wanted() &&
	       name_once(name_of(peers, from, to), peers->owner.number);
}

void peali_warn_staging(int from, int to, const char *what, const char *why)
{
	peali_warn("device %d -> device %d: %s, which is slower (%s); run peal "
		   "topo, or hide this by PEAL_LOG=0",
		   from, to, what, why);
}
