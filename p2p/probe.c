/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts and measurements of pairs: see probe.h. Results come from the pair's
 * description, from the cache, or from a trial with the probe's two kernels.
 */
#include "p2p/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "p2p/peer_internal.h"
#include "p2p/probe_cache.h"
#include "p2p/probe_setup.h"
#include "p2p/probe_subprocess.h"
#include "p2p/probe_verify.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/device/devices.h"

#define CALL "peal_topology_pair"

#define LIMIT_NS PEALI_PROBE_LIMIT_NS

/*
 * A pair is slow if host memory is faster by more than this factor. Emulated
 * devices have one kind of memory. Differences there are noise from other
 * processes.
 */
#define SLOW_FACTOR 2
#define SLOW_FACTOR_EMULATED 4
#define SLOW_TRIES 10

/* ---- measuring ----------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Returns the one-way latency in ns, the median of the batches; 0: not
 * measured.
 */
static uint64_t latency(struct peali_probe_setup *setup,
			struct peali_probe_routes ways)
{
	uint64_t ns[PEAL_PROBE_BATCHES];
	size_t n;

	if (peali_probe_setup_run(setup, PEAL_PROBE_LATENCY, ways, LIMIT_NS) <
	    0)
		return 0;
	memcpy(ns, setup->words->batch_ns, sizeof(ns));
	/* Skip the batches that the time limit cut off. */
	for (n = 0; n < PEAL_PROBE_BATCHES && ns[n]; n++)
		;
	if (!n)
		return 0;
	qsort(ns, n, sizeof(ns[0]), compare);
	return ns[n / 2] / (2 * PEALI_SETUP_BATCH);
}

/* Returns the bytes per second of the best round; 0: not measured. */
static uint64_t bandwidth(struct peali_probe_setup *setup,
			  struct peali_probe_routes ways)
{
	uint64_t best = 0, ns, i;

	if (peali_probe_setup_run(setup, PEAL_PROBE_BANDWIDTH, ways, LIMIT_NS) <
	    0)
		return 0;
	for (i = 0; i < setup->words->rounds; i++) {
		ns = setup->words->round_ns[i];
		if (ns && (!best || ns < best))
			best = ns;
	}
	return best ? (uint64_t)((double)PEALI_SETUP_PATTERN_BYTES * 1e9 /
				 (double)best) :
		      0;
}

/* Returns the baseline of a link kind; NULL: the table is full. */
static struct peali_reference *reference_of(struct peali_peers *peers,
					    struct peali_backend *backend,
					    const char *kind)
{
	struct peali_reference *reference;
	int i;

	for (i = 0; i < peers->n_references; i++) {
		reference = &peers->reference[i];
		if (reference->backend == backend &&
		    !strcmp(reference->kind, kind))
			return reference;
	}
	if (i == PEALI_REFERENCES)
		return NULL;
	reference = &peers->reference[peers->n_references++];
	reference->backend = backend;
	snprintf(reference->kind, sizeof(reference->kind), "%s", kind);
	return reference;
}

static int is_slower(const struct peali_probe_setup *setup, uint64_t pair,
		     uint64_t host)
{
	return pair <
	       host / (setup->emulated ? SLOW_FACTOR_EMULATED : SLOW_FACTOR);
}

/*
 * Returns 1 if the pair is slower than host memory in every attempt. From the
 * second attempt on, both are measured one after the other. A load on the
 * machine then slows both.
 */
static int is_slow(struct peali_probe_setup *setup,
		   struct peali_probe_routes ways, struct peal_pair_info *info)
{
	struct peali_probe_routes by_host = { 1, 0 };
	struct peali_reference *reference =
		reference_of(setup->peers, setup->backend, info->kind);
	uint64_t host, pair = info->bandwidth_bytes_per_s;
	int i;

	if (reference && !reference->bytes_per_s)
		reference->bytes_per_s = bandwidth(setup, by_host);
	host = reference ? reference->bytes_per_s : bandwidth(setup, by_host);
	for (i = 1; is_slower(setup, pair, host) && i < SLOW_TRIES; i++) {
		host = bandwidth(setup, by_host);
		pair = bandwidth(setup, ways);
		if (info->bandwidth_bytes_per_s < pair)
			info->bandwidth_bytes_per_s = pair;
	}
	if (!is_slower(setup, pair, host))
		return 0;
	snprintf(info->reason, sizeof(info->reason),
		 "slow: %llu MB/s, through host memory %llu MB/s",
		 (unsigned long long)info->bandwidth_bytes_per_s / 1000000,
		 (unsigned long long)host / 1000000);
	return 1;
}

/* Measures latency and bandwidth of a verified pair. */
static int measure(struct peali_peers *peers, int way_back,
		   struct peal_pair_info *info)
{
	struct peali_probe_routes ways = { 0, 0 }, by_host = { 0, 0 };
	struct peali_probe_setup setup;
	int r = peali_probe_setup_open(
		peers, info->from, info->to,
		PEALI_SETUP_HOST | (way_back ? PEALI_SETUP_PONG : 0), &setup);

	if (r == PEAL_ENOMEM)
		return r;
	if (r < 0) {
		peali_probe_set_faulted(info);
		return 0;
	}
	ways.pong_in_peer = setup.held_back;
	info->latency_ns = latency(&setup, ways);
	if (!info->latency_ns && ways.pong_in_peer)
		info->latency_ns = latency(&setup, by_host);
	info->bandwidth_bytes_per_s = bandwidth(&setup, ways);
	if (info->bandwidth_bytes_per_s && is_slow(&setup, ways, info)) {
		info->verdict = PEAL_VERDICT_SLOW;
		info->cached = 0;
	}
	peali_probe_setup_close(&setup);
	return 0;
}

/* ---- one pair ------------------------------------------------------------ */

/*
 * Describes a pair without a trial. Returns 1 if the description is the
 * verdict.
 */
static int describe(struct peali_peers *peers, struct peal_pair_info *info)
{
	const struct peali_device *a = &peers->devices->device[info->from];
	const struct peali_device *b = &peers->devices->device[info->to];
	struct peali_peer_info peer;

	snprintf(info->kind, sizeof(info->kind), "none");
	info->verdict = PEAL_VERDICT_NO_ACCESS;
	if (info->from == info->to) {
		snprintf(info->kind, sizeof(info->kind), "self");
		info->verdict = PEAL_VERDICT_OK;
		info->atomics = 1;
		info->policies =
			peali_devices_policies(peers->devices, info->from);
		snprintf(info->reason, sizeof(info->reason), "one device");
		return 1;
	}
	if (a->backend != b->backend) {
		snprintf(info->reason, sizeof(info->reason),
			 "the devices are of two backends, %s and %s",
			 a->backend->ops->name, b->backend->ops->name);
		return 1;
	}
	memset(&peer, 0, sizeof(peer));
	if (a->backend->ops->peer_info(a->backend, a->local, b->local, &peer) <
	    0) {
		peali_probe_set_faulted(info);
		return 1;
	}
	snprintf(info->kind, sizeof(info->kind), "%s", peer.kind);
	info->atomics = peer.atomics;
	if (peer.can_access)
		return 0;
	snprintf(info->reason, sizeof(info->reason),
		 "device %d has no access to the memory of device %d",
		 info->from, info->to);
	return 1;
}

/** A cache key with storage for its texts. */
struct key_texts {
	struct peal_device_info from, to;
	struct peali_fact fact[32];
	struct peali_probe_cache_key key;
};

/* Returns the driver's version; "" if the backend has none. */
static const char *driver_of(const struct peali_device *device,
			     struct key_texts *texts)
{
	const int most = (int)(sizeof(texts->fact) / sizeof(texts->fact[0]));
	const struct peali_backend_ops *ops = device->backend->ops;
	int n = ops->facts(device->backend, device->local, texts->fact, most);
	int i;

	for (i = 0; i < n; i++)
		if (!strcmp(texts->fact[i].name, "version"))
			return texts->fact[i].value;
	return "";
}

/*
 * Fills a cache key. Returns 0 if both devices have a UUID, which is the same
 * in all processes. Else returns -1.
 */
static int make_key(struct peali_peers *peers,
		    const struct peal_pair_info *info, struct key_texts *texts)
{
	const struct peali_device *a = &peers->devices->device[info->from];
	const struct peali_device *b = &peers->devices->device[info->to];
	const struct peali_backend_ops *ops = a->backend->ops;
	int r;

	memset(texts, 0, sizeof(*texts));
	r = ops->device_info(a->backend, a->local, &texts->from);
	if (!r)
		r = ops->device_info(b->backend, b->local, &texts->to);
	texts->key.backend = ops->name;
	texts->key.from = texts->from.uuid;
	texts->key.to = texts->to.uuid;
	texts->key.kind = info->kind;
	texts->key.driver = driver_of(a, texts);
	texts->key.topology = "";
	if (!r && texts->from.emulated)
		r = peali_env_text(PEALI_ENV_HOST_LINKS, &texts->key.topology);
	return !r && texts->from.uuid[0] && texts->to.uuid[0] ? 0 : -1;
}

static int is_verified(enum peal_verdict verdict)
{
	return verdict == PEAL_VERDICT_OK || verdict == PEAL_VERDICT_SLOW;
}

/* Records the state of a pair in memory. The caller holds probe_lock. */
static void note(struct peali_peers *peers, const struct peal_pair_info *info,
		 enum peali_probed probed)
{
	struct peali_pair *pair = peali_pair_of(peers, info->from, info->to);

	pthread_mutex_lock(&peers->lock);
	pair->info = *info;
	pair->probed = probed;
	pthread_mutex_unlock(&peers->lock);
}

/*
 * Records the state of a pair in memory and on disk. A faulted pair is not
 * written: the failure may be temporary.
 */
static void keep(struct peali_peers *peers, const struct peal_pair_info *info,
		 enum peali_probed probed)
{
	struct key_texts texts;

	note(peers, info, probed);
	if (info->verdict != PEAL_VERDICT_FAULTED &&
	    !make_key(peers, info, &texts))
		peali_probe_cache_store(&peers->cache, &texts.key, info,
					probed == PEALI_PROBED_COMPLETE);
}

/* Returns 1 if the probe has found that 16-byte stores arrive torn. */
static int has_torn_stores(struct peali_peers *peers,
			   const struct peal_pair_info *info)
{
	uint32_t known = peali_devices_policies(peers->devices, info->from);

	return is_verified(info->verdict) &&
	       (known & ~info->policies & 1u << PEAL_POLICY_ATOM16);
}

static void log_torn_stores(struct peali_peers *peers,
			    const struct peal_pair_info *info)
{
	if (has_torn_stores(peers, info))
		peali_log(1,
			  "device %d -> device %d: 16-byte stores arrive torn; "
			  "links by peer access use %s",
			  info->from, info->to,
			  info->policies ? "no 16-byte atoms" :
					   "another route");
}

/*
 * Records a verification. A broken pair is complete, because nothing is
 * measured.
 */
static void keep_verified(struct peali_peers *peers,
			  const struct peal_pair_info *info)
{
	log_torn_stores(peers, info);
	keep(peers, info,
	     info->verdict == PEAL_VERDICT_OK ? PEALI_PROBED_VERDICT :
						PEALI_PROBED_COMPLETE);
}

/*
 * Returns 1 if a pair's verdict is known without a trial. The sources are
 * earlier calls, the description and the disk. The caller holds probe_lock.
 */
static int recall(struct peali_peers *peers, int from, int to, int how,
		  struct peal_pair_info *info)
{
	struct peali_pair *pair = peali_pair_of(peers, from, to);
	struct key_texts texts;
	int measured;

	*info = pair->info;
	if (pair->probed != PEALI_PROBED_NONE)
		return 1;
	memset(info, 0, sizeof(*info));
	info->from = from;
	info->to = to;
	if (describe(peers, info)) {
		note(peers, info, PEALI_PROBED_COMPLETE);
		return 1;
	}
	if (how != PEALI_PROBE_CACHE || make_key(peers, info, &texts) ||
	    !peali_probe_cache_find(&peers->cache, &texts.key, info, &measured))
		return 0;
	info->cached = 1;
	log_torn_stores(peers, info);
	note(peers, info,
	     measured ? PEALI_PROBED_COMPLETE : PEALI_PROBED_VERDICT);
	return 1;
}

/*
 * Determines the verdict of a pair. If the pair is good, also determines the
 * verdict of the way back. The caller holds probe_lock.
 */
static int verify_pair(struct peali_peers *peers, int from, int to, int how)
{
	struct peal_pair_info there, back;
	int known = recall(peers, from, to, how, &there), known_back, r = 0;

	if (from == to || (known && !is_verified(there.verdict)))
		return 0;
	known_back = recall(peers, to, from, how, &back);
	if (!known && !known_back)
		r = peali_verify_both(peers, &there, &back);
	else if (!known)
		r = peali_verify_one(peers, &there);
	else if (!known_back)
		r = peali_verify_one(peers, &back);
	if (r < 0)
		return r;
	if (!known)
		keep_verified(peers, &there);
	if (!known_back)
		keep_verified(peers, &back);
	return 0;
}

/*
 * Determines verdict and measurements of a pair. The caller holds probe_lock.
 */
static int complete(struct peali_peers *peers, int from, int to, int how)
{
	struct peali_pair *pair = peali_pair_of(peers, from, to);
	struct peal_pair_info info;
	int r = verify_pair(peers, from, to, how);

	if (r < 0 || pair->probed != PEALI_PROBED_VERDICT)
		return r;
	info = pair->info;
	r = measure(peers,
		    is_verified(peali_pair_of(peers, to, from)->info.verdict),
		    &info);
	if (!r)
		keep(peers, &info, PEALI_PROBED_COMPLETE);
	return r;
}

/* ---- lookup -------------------------------------------------------------- */

static void set_route(struct peali_peers *peers, struct peal_pair_info *info)
{
	const struct peal_pair_info *back =
		&peali_pair_of(peers, info->to, info->from)->info;
	int one = peali_devices_same_backend(peers->devices, info->from,
					     info->to);

	info->route = one ? PEAL_ROUTE_MAPPED_HOST : PEAL_ROUTE_STAGED;
	if (info->from == info->to)
		info->route = PEAL_ROUTE_LOCAL;
	else if (info->verdict == PEAL_VERDICT_OK && !info->policies)
		snprintf(info->reason, sizeof(info->reason),
			 "16-byte stores arrive torn, and programs for these "
			 "devices use no other atoms");
	else if (info->verdict == PEAL_VERDICT_OK && is_verified(back->verdict))
		info->route = PEAL_ROUTE_PEER;
	else if (info->verdict == PEAL_VERDICT_OK)
		snprintf(info->reason, sizeof(info->reason),
			 "device %d -> device %d, the path of credits: %s",
			 info->to, info->from,
			 peal_verdict_name(back->verdict));
}

/* Returns 1 and fills *out if the pair is known to the level `least`. */
static int look_up(struct peali_peers *peers, int from, int to,
		   enum peali_probed least, struct peal_pair_info *out)
{
	struct peali_pair *pair = peali_pair_of(peers, from, to);
	struct peali_pair *back = peali_pair_of(peers, to, from);
	int known;

	pthread_mutex_lock(&peers->lock);
	known = pair->probed >= least && (!is_verified(pair->info.verdict) ||
					  back->probed != PEALI_PROBED_NONE);
	if (known) {
		*out = pair->info;
		set_route(peers, out);
	}
	pthread_mutex_unlock(&peers->lock);
	return known;
}

/* Reports a pair as unknown (PEAL_PROBE=off), without a trial or a record. */
static void leave_unknown(struct peali_peers *peers, int from, int to,
			  struct peal_pair_info *out)
{
	memset(out, 0, sizeof(*out));
	out->from = from;
	out->to = to;
	if (!describe(peers, out)) {
		out->verdict = PEAL_VERDICT_UNKNOWN;
		snprintf(out->reason, sizeof(out->reason),
			 "PEAL_PROBE is off, so no access is verified");
	}
	pthread_mutex_lock(&peers->lock);
	set_route(peers, out);
	pthread_mutex_unlock(&peers->lock);
}

/* Probes a pair up to the level `least`. */
static int find_out(struct peali_peers *peers, int from, int to, int how,
		    enum peali_probed least, struct peal_pair_info *out)
{
	const struct peal_error_info before = *peal_last_error();
	int r;

	pthread_mutex_lock(&peers->probe_lock);
	if (least == PEALI_PROBED_COMPLETE)
		r = complete(peers, from, to, how);
	else
		r = verify_pair(peers, from, to, how);
	pthread_mutex_unlock(&peers->probe_lock);
	if (r < 0)
		return r;
	if (!look_up(peers, from, to, least, out))
		return peali_fail(PEAL_EDRIVER, CALL,
				  "device %d -> device %d: the probe did not "
				  "end",
				  from, to);
	/* A failed probe is a verdict, not an error: restore the error. */
	peali_fail_driver(before.code, before.driver_code, before.call, "%s",
			  before.text);
	return 0;
}

static int answer(struct peali_peers *peers, int from, int to,
		  enum peali_probed least, struct peal_pair_info *out)
{
	int r = peali_devices_check(peers->devices, from, CALL);
	int how;

	if (!r)
		r = peali_devices_check(peers->devices, to, CALL);
	if (r < 0)
		return r;
	if (look_up(peers, from, to, least, out))
		return 0;
	r = peali_env_choice(PEALI_ENV_PROBE, &how);
	if (r < 0)
		return r;
	if (how == PEALI_PROBE_OFF) {
		leave_unknown(peers, from, to, out);
		return 0;
	}
	return find_out(peers, from, to, how, least, out);
}

int peali_probe_verify(struct peali_peers *peers, int from, int to,
		       struct peal_pair_info *out)
{
	return answer(peers, from, to, PEALI_PROBED_VERDICT, out);
}

int peali_probe_pair(struct peali_peers *peers, int from, int to,
		     struct peal_pair_info *out)
{
	return answer(peers, from, to, PEALI_PROBED_COMPLETE, out);
}

/* ---- all pairs of a backend ---------------------------------------------- */

/*
 * Returns the number of unknown pairs, after a look in the cache. The caller
 * holds probe_lock.
 */
static int count_unknown(struct peali_peers *peers,
			 const struct peali_backend *backend, int how)
{
	const struct peali_device *device = peers->devices->device;
	struct peal_pair_info info;
	int from, to, n = 0;

	for (from = 0; from < peers->devices->n; from++)
		for (to = 0; to < peers->devices->n; to++)
			if (from != to && device[from].backend == backend &&
			    device[to].backend == backend)
				n += !recall(peers, from, to, how, &info);
	return n;
}

/*
 * Marks all unknown pairs as faulted, because the child process that tried them
 * crashed or hung. The caller holds probe_lock.
 */
static void condemn(struct peali_peers *peers,
		    const struct peali_backend *backend, const char *why)
{
	const struct peali_device *device = peers->devices->device;
	struct peal_pair_info info;
	int from, to;

	for (from = 0; from < peers->devices->n; from++)
		for (to = 0; to < peers->devices->n; to++) {
			if (from == to || device[from].backend != backend ||
			    device[to].backend != backend ||
			    recall(peers, from, to, PEALI_PROBE_CACHE, &info))
				continue;
			info.verdict = PEAL_VERDICT_FAULTED;
			snprintf(info.reason, sizeof(info.reason), "%s", why);
			note(peers, &info, PEALI_PROBED_COMPLETE);
		}
}

void peali_probe_backend(struct peali_peers *peers,
			 struct peali_backend *backend)
{
	const struct peali_device *device = peers->devices->device;
	struct peal_pair_info info;
	char why[160] = "";
	int how, a, b, n, r;

	if (peali_env_choice(PEALI_ENV_PROBE, &how) < 0 ||
	    how == PEALI_PROBE_OFF)
		return;
	pthread_mutex_lock(&peers->probe_lock);
	n = count_unknown(peers, backend, how);
	if (n) {
		r = peali_probe_in_subprocess(backend->ops->name, n, why,
					      sizeof(why));
		peali_probe_cache_close(&peers->cache); /* forces a new read */
		if (!r)
			count_unknown(peers, backend, PEALI_PROBE_CACHE);
		else if (r == PEAL_EIO)
			condemn(peers, backend, why);
	}
	pthread_mutex_unlock(&peers->probe_lock);
	for (a = 0; a < peers->devices->n; a++)
		for (b = 0; b < a; b++)
			if (device[a].backend == backend &&
			    device[b].backend == backend)
				peali_probe_verify(peers, a, b, &info);
}

void peali_probes_hold(struct peali_peers *peers)
{
	pthread_mutex_lock(&peers->probe_lock);
}

void peali_probes_release(struct peali_peers *peers)
{
	pthread_mutex_unlock(&peers->probe_lock);
}
