/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's peer state, and counted access of ordered pairs: see peer.h. */
#include "p2p/peer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "p2p/copy_exec.h"
#include "p2p/copy_stats.h"
#include "p2p/peer_internal.h"
#include "p2p/probe.h"
#include "p2p/probe_cache.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/devices.h"
#include "runtime/runtime.h"

/* ---- create and destroy -------------------------------------------------- */

int peali_peers_create(struct peali_devices *devices, struct peali_peers **out)
{
	size_t n = (size_t)devices->n;
	struct peali_peers *peers = calloc(1, sizeof(*peers));

	if (peers) {
		peers->devices = devices;
		peers->owner = peali_owner_self();
		peers->pair = calloc(n * n, sizeof(*peers->pair));
	}
	if (!peers || !peers->pair ||
	    peali_copy_stats_open(&peers->stats, devices->n) ||
	    peali_lines_open(peers) < 0) {
		if (peers) {
			peali_copy_stats_close(&peers->stats);
			free(peers->pair);
		}
		free(peers);
		return peali_fail(PEAL_ENOMEM, "peal_runtime_open",
				  "no memory for the %zu pairs of %zu devices",
				  n * n, n);
	}
	pthread_mutex_init(&peers->lock, NULL);
	pthread_mutex_init(&peers->probe_lock, NULL);
	*out = peers;
	return 0;
}

/*
 * Finds the first pair with a use of that kind. Returns 1 if there is one. The
 * caller holds peers->lock.
 */
static int find_use(struct peali_peers *peers, enum peali_use use,
		    int *from_out, int *to_out)
{
	int n = peers->devices->n, from, to;

	for (from = 0; from < n; from++) {
		for (to = 0; to < n; to++) {
			if (!peali_pair_of(peers, from, to)->n_uses[use])
				continue;
			*from_out = from;
			*to_out = to;
			return 1;
		}
	}
	return 0;
}

struct text {
	char *at;
	size_t bytes; /* free bytes at `at` */
};

__attribute__((format(printf, 2, 3))) static void
append(struct text *text, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(text->at, text->bytes, format, arguments);
	va_end(arguments);
	if (n < 0 || (size_t)n >= text->bytes)
		n = text->bytes ? (int)text->bytes - 1 : 0;
	text->at += n;
	text->bytes -= (size_t)n;
}

/*
 * Lists the remaining uses, each after a comma. The caller holds peers->lock.
 */
static void list_left(struct peali_peers *peers, char *out, size_t bytes)
{
	struct text text = { out, bytes };
	int from, to;

	out[0] = '\0';
	if (peers->n_records > peers->n_buffers)
		append(&text, ", %zu allocation%s (peal_memory_free)",
		       peers->n_records - peers->n_buffers,
		       peali_s(peers->n_records - peers->n_buffers));
	if (peers->n_copies)
		append(&text, ", copies: %u (peal_copy_destroy)",
		       peers->n_copies);
	if (peers->n_running)
		append(&text, ", copies in progress: %u", peers->n_running);
	if (peers->n_mappings)
		append(&text,
		       ", %zu mapping%s, one of device %d -> device %d "
		       "(peal_peer_unmap)",
		       peers->n_mappings, peali_s(peers->n_mappings),
		       peers->mapping[0].remote, peers->mapping[0].owner);
	if (find_use(peers, PEALI_USE_CALLER, &from, &to))
		append(&text,
		       ", access of device %d -> device %d "
		       "(peal_peer_disable)",
		       from, to);
	if (find_use(peers, PEALI_USE_LINK, &from, &to))
		append(&text, ", access of a link of device %d -> device %d",
		       from, to);
	if (find_use(peers, PEALI_USE_PROBE, &from, &to))
		append(&text, ", the probe of device %d -> device %d", from,
		       to);
}

int peali_peers_check_idle(struct peali_peers *peers)
{
	char left[240];

	pthread_mutex_lock(&peers->lock);
	list_left(peers, left, sizeof(left));
	pthread_mutex_unlock(&peers->lock);
	if (!left[0])
		return 0;
	return peali_fail(PEAL_EBUSY, "peal_runtime_close",
			  "runtime still has %s", left + 2);
}

struct peali_copy_stats *peali_peers_copy_stats(struct peali_peers *peers)
{
	return &peers->stats;
}

int peali_peers_destroy(struct peali_peers *peers)
{
	int r;

	if (!peers)
		return 0;
	r = peali_peers_check_idle(peers);
	if (r < 0)
		return r;
	peali_lines_close(peers);
	peali_staging_close(peers);
	peali_probe_cache_close(&peers->cache);
	peali_copy_stats_close(&peers->stats);
	pthread_mutex_destroy(&peers->probe_lock);
	pthread_mutex_destroy(&peers->lock);
	free(peers->mapping);
	free(peers->record);
	free(peers->pair);
	free(peers);
	return 0;
}

void peali_peers_clear(struct peali_peers *peers)
{
	enum peali_use uses[] = { PEALI_USE_CALLER, PEALI_USE_LINK,
				  PEALI_USE_BUFFER };
	int from, to;
	size_t i;

	peali_copies_clear(peers);
	pthread_mutex_lock(&peers->lock);
	peali_mappings_clear(peers);
	for (i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
		while (find_use(peers, uses[i], &from, &to))
			peali_pair_give(peers, from, to, uses[i]);
	}
	peali_allocations_clear(peers);
	pthread_mutex_unlock(&peers->lock);
}

uint32_t peali_peers_n_memories(struct peali_peers *peers)
{
	uint32_t n;

	pthread_mutex_lock(&peers->lock);
	n = (uint32_t)(peers->n_records - peers->n_buffers);
	pthread_mutex_unlock(&peers->lock);
	return n;
}

struct peali_peers *peali_peers_of(struct peal_runtime *runtime,
				   const char *call)
{
	if (!runtime) {
		peali_refuse_null(call, "runtime");
		return NULL;
	}
	return peali_forked(&runtime->owner, call) ? NULL : runtime->peers;
}

/* ---- counted access ------------------------------------------------------ */

static int check_pair(struct peali_peers *peers, int from, int to,
		      const char *call)
{
	int r = peali_devices_check(peers->devices, from, call);

	return r < 0 ? r : peali_devices_check(peers->devices, to, call);
}

/* Queries the backend. Devices of two backends have no access. */
static int ask(struct peali_peers *peers, int from, int to,
	       struct peali_peer_info *out)
{
	const struct peali_device *a = &peers->devices->device[from];
	const struct peali_device *b = &peers->devices->device[to];

	memset(out, 0, sizeof(*out));
	out->kind = "none";
	if (a->backend != b->backend)
		return 0;
	return a->backend->ops->peer_info(a->backend, a->local, b->local, out);
}

static uint32_t n_uses(const struct peali_pair *pair)
{
	uint32_t n = 0;
	int i;

	for (i = 0; i < PEALI_N_USES; i++)
		n += pair->n_uses[i];
	return n;
}

static int enable(struct peali_peers *peers, int from, int to, const char *call)
{
	const struct peali_device *a = &peers->devices->device[from];
	const struct peali_device *b = &peers->devices->device[to];
	struct peali_peer_info info;
	int r = ask(peers, from, to, &info);

	if (r < 0)
		return r;
	if (!info.can_access)
		return peali_fail(PEAL_ENOPEER, call,
				  "device %d -> device %d: no peer access "
				  "(link kind %s); copy by peal_peer_copy or "
				  "connect by another route",
				  from, to, info.kind);
	r = a->backend->ops->peer_enable(a->backend, a->local, b->local);
	return r == PEAL_EALREADY ? 0 : peali_fail_in(r, call);
}

static int refuse_same(int device, const char *call)
{
	return PEALI_REFUSE(
		PEAL_EINVAL, call,
		.object = PEALI_PRINT("device %d -> device %d", device, device),
		.problem = "is a device and itself",
		.value = PEALI_PRINT("%d", device), .allowed = "another device",
		.remedy = "use its own memory without peer access");
}

int peali_pair_check(struct peali_peers *peers, int from, int to,
		     const char *call)
{
	int r = check_pair(peers, from, to, call);

	return !r && from == to ? refuse_same(to, call) : r;
}

int peali_pair_take(struct peali_peers *peers, int from, int to,
		    enum peali_use use, const char *call)
{
	struct peali_pair *pair = peali_pair_of(peers, from, to);
	int r = 0;

	if (from == to)
		return refuse_same(to, call);
	if (!n_uses(pair))
		r = enable(peers, from, to, call);
	if (!r)
		pair->n_uses[use]++;
	return r;
}

void peali_pair_give(struct peali_peers *peers, int from, int to,
		     enum peali_use use)
{
	struct peali_pair *pair = peali_pair_of(peers, from, to);
	const struct peali_device *a = &peers->devices->device[from];
	const struct peali_device *b = &peers->devices->device[to];
	int r;

	if (!pair->n_uses[use] || --pair->n_uses[use] || n_uses(pair))
		return;
	r = a->backend->ops->peer_disable(a->backend, a->local, b->local);
	/* The access then stays. The next enable gets PEAL_EALREADY. */
	if (r < 0)
		peali_log(1, "device %d -> device %d stays enabled: %s", from,
			  to, peal_last_error()->text);
}

int peali_peer_hold(struct peali_peers *peers, int from, int to)
{
	const char *call = "peal_connect";
	int r = check_pair(peers, from, to, call);

	if (r < 0)
		return r;
	pthread_mutex_lock(&peers->lock);
	r = peali_pair_take(peers, from, to, PEALI_USE_LINK, call);
	pthread_mutex_unlock(&peers->lock);
	return r;
}

void peali_peer_release(struct peali_peers *peers, int from, int to)
{
	pthread_mutex_lock(&peers->lock);
	peali_pair_give(peers, from, to, PEALI_USE_LINK);
	pthread_mutex_unlock(&peers->lock);
}

int peali_peer_can_access(struct peali_peers *peers, int from, int to)
{
	struct peali_peer_info info;
	int r = check_pair(peers, from, to, "peal_peer_can_access");

	if (r < 0)
		return r;
	if (from == to)
		return 0;
	r = ask(peers, from, to, &info);
	return r < 0 ? r : info.can_access != 0;
}

int peali_peer_enable(struct peali_peers *peers, int from, int to)
{
	const char *call = "peal_peer_enable";
	int r = check_pair(peers, from, to, call);

	if (r < 0)
		return r;
	pthread_mutex_lock(&peers->lock);
	r = peali_pair_take(peers, from, to, PEALI_USE_CALLER, call);
	pthread_mutex_unlock(&peers->lock);
	return r;
}

/* The caller holds peers->lock. */
static int disable(struct peali_peers *peers, int from, int to,
		   const char *call)
{
	struct peali_pair *pair = peali_pair_of(peers, from, to);
	uint32_t n_links = pair->n_uses[PEALI_USE_LINK];
	uint32_t n_maps =
		pair->n_uses[PEALI_USE_MAP] + pair->n_uses[PEALI_USE_BUFFER];

	if (!pair->n_uses[PEALI_USE_CALLER])
		return peali_fail(PEAL_EINVAL, call,
				  "device %d -> device %d: not enabled by "
				  "peal_peer_enable, or disabled already",
				  from, to);
	if (pair->n_uses[PEALI_USE_CALLER] == 1 && n_links + n_maps)
		return peali_fail(PEAL_EBUSY, call,
				  "device %d -> device %d: %u link%s and %u "
				  "mapping%s use the access; destroy them "
				  "first",
				  from, to, n_links, peali_s(n_links), n_maps,
				  peali_s(n_maps));
	peali_pair_give(peers, from, to, PEALI_USE_CALLER);
	return 0;
}

int peali_peer_disable(struct peali_peers *peers, int from, int to)
{
	const char *call = "peal_peer_disable";
	int r = check_pair(peers, from, to, call);

	if (r < 0)
		return r;
	pthread_mutex_lock(&peers->lock);
	r = disable(peers, from, to, call);
	pthread_mutex_unlock(&peers->lock);
	return r;
}

/* ---- public -------------------------------------------------------------- */

int peal_peer_can_access(struct peal_runtime *runtime, int from, int to)
{
	struct peali_peers *peers =
		peali_peers_of(runtime, "peal_peer_can_access");

	return peers ? peali_peer_can_access(peers, from, to) :
		       peal_last_error()->code;
}

/* Makes a change of a pair, after the pending changes of its device. */
static int change_pair(struct peal_runtime *runtime, int from, int to,
		       int64_t timeout_ns,
		       int (*change)(struct peali_peers *, int, int),
		       const char *call)
{
	struct peali_peers *peers = peali_peers_of(runtime, call);
	int r;

	if (!peers)
		return peal_last_error()->code;
	r = peali_pair_check(peers, from, to, call);
	if (!r)
		r = peali_changes_await(peers, from, timeout_ns, call);
	return r < 0 ? r : change(peers, from, to);
}

int peal_peer_enable(struct peal_runtime *runtime, int from, int to,
		     int64_t timeout_ns)
{
	return change_pair(runtime, from, to, timeout_ns, peali_peer_enable,
			   "peal_peer_enable");
}

int peal_peer_disable(struct peal_runtime *runtime, int from, int to,
		      int64_t timeout_ns)
{
	return change_pair(runtime, from, to, timeout_ns, peali_peer_disable,
			   "peal_peer_disable");
}

int peal_peer_capability(struct peal_runtime *runtime, int from, int to,
			 struct peal_peer_capability *capability_out)
{
	const char *call = "peal_peer_capability";
	struct peali_peers *peers = peali_peers_of(runtime, call);
	struct peal_peer_capability c;
	struct peal_pair_info info;
	int r;

	if (!peers)
		return peal_last_error()->code;
	if (!capability_out)
		return peali_refuse_null(call, "capability_out");
	r = check_pair(peers, from, to, call);
	if (!r)
		r = peali_probe_pair(peers, from, to, &info);
	if (r < 0)
		return r;
	memset(&c, 0, sizeof(c));
	c.supported = peali_peer_can_access(peers, from, to) == 1;
	pthread_mutex_lock(&peers->lock);
	c.enabled = n_uses(peali_pair_of(peers, from, to)) >
		    peali_pair_of(peers, from, to)->n_uses[PEALI_USE_PROBE];
	pthread_mutex_unlock(&peers->lock);
	memcpy(c.kind, info.kind, sizeof(c.kind));
	c.atomics = info.atomics;
	c.verdict = info.verdict;
	c.latency_ns = info.latency_ns;
	c.bandwidth_bytes_per_s = info.bandwidth_bytes_per_s;
	*capability_out = c;
	return 0;
}
