/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events: creation, placement of their cells, waiting, elapsed time. An event
 * has one cell for the host and one for each device that reads it.
 */
#include "runtime/collective/event.h"

#include <peal/event.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/device/event.h>
#include "p2p/peer.h"
#include "p2p/probe.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/backend.h"
#include "runtime/device/devices.h"
#include "runtime/kernel/counters.h"
#include "runtime/runtime.h"

#define CALL "peal_event_create"

struct peal_event *peali_event_next(struct peal_event *e)
{
	return e->next;
}

/* ---- memory -------------------------------------------------------------- */

/*
 * Makes the cell that a watcher polls. It is in the watcher's memory if the
 * recorder can write there, else in host memory.
 */
static int make_cell(struct peal_event *e, struct peali_watcher *w)
{
	struct peali_peers *peers = e->rt->peers;
	struct peal_pair_info pair;
	int result = peali_probe_verify(peers, e->device, w->device, &pair);

	if (!result && pair.route == PEAL_ROUTE_PEER) {
		result = peali_peer_hold(peers, e->device, w->device);
		if (result)
			return result;
		w->holds = 1;
	}
	result = peali_block_alloc(e->rt, w->holds ? w->device : PEALI_HOST,
				   sizeof(struct peal_event_cell), &w->block);
	if (result)
		return result;
	if (peali_block_view(e->rt, e->device, &w->block) &&
	    peali_block_view(e->rt, w->device, &w->block))
		return 0;
	return peali_fail(PEAL_ENOPEER, CALL,
			  "devices %d and %d have no memory in common; name "
			  "watchers of one backend",
			  e->device, w->device);
}

static int make_record(struct peal_event *e)
{
	struct peal_event_record r;
	uint32_t i;
	int result = peali_block_alloc(e->rt, PEALI_HOST, sizeof(*e->cell),
				       &e->host);

	if (!result)
		result = peali_block_alloc(e->rt, e->device, sizeof(r),
					   &e->record);
	if (result)
		return result;
	e->cell = (struct peal_event_cell *)(uintptr_t)peali_block_view(
		e->rt, PEALI_HOST, &e->host);
	memset(&r, 0, sizeof(r));
	r.cell[0] = peali_block_view(e->rt, e->device, &e->host);
	r.cell[1] = peali_block_view(e->rt, e->device, &e->record);
	for (i = 0; i < e->n; i++)
		r.cell[2 + i] = peali_block_view(e->rt, e->device,
						 &e->watchers[i].block);
	r.n_cells = 2 + e->n;
	return peali_block_write(e->rt, &e->record, 0, &r, sizeof(r));
}

/* Makes the only cell of an event that the host records. It is in host memory,
 * so that the host's stores are atomic for all devices. */
static int make_host_cell(struct peal_event *e, int device)
{
	uint32_t i;
	int result = peali_block_alloc(e->rt, PEALI_HOST, sizeof(*e->cell),
				       &e->host);

	for (i = 0; i <= e->n && !result; i++) {
		int reader = i < e->n ? e->watchers[i].device : device;

		if (!peali_block_view(e->rt, reader, &e->host))
			result = peali_fail(PEAL_ENOPEER, CALL,
					    "device %d cannot read host memory",
					    reader);
	}
	if (!result)
		e->cell = (struct peal_event_cell *)(uintptr_t)peali_block_view(
			e->rt, PEALI_HOST, &e->host);
	return result;
}

static void free_event(struct peal_event *e)
{
	uint32_t i;

	for (i = 0; i < e->n; i++) {
		peali_block_free(e->rt, &e->watchers[i].block);
		if (e->watchers[i].holds)
			peali_peer_release(e->rt->peers, e->device,
					   e->watchers[i].device);
	}
	peali_block_free(e->rt, &e->record);
	peali_block_free(e->rt, &e->host);
	free(e->watchers);
	free(e);
}

/* ---- create, destroy ----------------------------------------------------- */

static int check_devices(struct peal_runtime *rt, int device,
			 const int *watchers, uint32_t n)
{
	uint32_t i, j;
	int result = peali_devices_check(&rt->devices, device, CALL);

	if (!result && n >= PEAL_EVENT_DEVICES_MAX)
		return peali_refuse_range(CALL, "argument", "n", n, 0,
					  PEAL_EVENT_DEVICES_MAX - 1);
	for (i = 0; i < n && !result; i++) {
		result = peali_devices_check(&rt->devices, watchers[i], CALL);
		for (j = 0; j < i && watchers[j] != watchers[i]; j++)
			;
		if (!result && (j < i || watchers[i] == device))
			return PEALI_REFUSE(PEAL_EINVAL, CALL,
					    .object = PEALI_PRINT("device %d",
								  watchers[i]),
					    .problem = "is listed twice",
					    .value = "2 times", .allowed = "1",
					    .remedy = "list it once");
	}
	return result;
}

static int make(struct peal_event *e, const int *watchers, uint32_t n)
{
	int result = 0;
	uint32_t i;

	e->watchers = calloc(n ? n : 1, sizeof(*e->watchers));
	if (!e->watchers)
		return peali_fail(PEAL_ENOMEM, CALL, "no memory for an event");
	for (i = 0; i < n && !result; i++) {
		e->watchers[i].device = watchers[i];
		e->n++;
		if (!e->by_host)
			result = make_cell(e, &e->watchers[i]);
	}
	if (result)
		return result;
	return e->by_host ? make_host_cell(e, e->device) : make_record(e);
}

int peal_event_create(struct peal_runtime *rt, int device, const int *watchers,
		      uint32_t n, const struct peal_event_options *options,
		      struct peal_event **event_out)
{
	struct peal_event_options o;
	struct peal_event *e;
	int result;

	if (!rt || (n && !watchers) || !event_out)
		return peali_refuse_null(CALL,
					 "runtime, watchers or event_out");
	if (peali_foreign(&rt->owner, CALL))
		return PEAL_EFORKED;
	result = peali_options_copy(&o, sizeof(o), options, CALL);
	if (!result && o.by_host > 1)
		result = peali_refuse_option(CALL, "by_host", o.by_host, 0, 1);
	if (!result)
		result = check_devices(rt, device, watchers, n);
	if (result)
		return peali_fail_in(result, "peal_event_create");
	e = calloc(1, sizeof(*e));
	if (!e)
		return peali_fail(PEAL_ENOMEM, CALL, "no memory for an event");
	e->rt = rt;
	e->device = device;
	e->by_host = o.by_host;
	peali_text_fit(e->name, sizeof(e->name), o.name ? o.name : "event");
	result = make(e, watchers, n);
	if (result) {
		struct peal_error_info failed = *peal_last_error();

		free_event(e);
		return peali_fail(result, CALL, "%s", failed.text);
	}
	pthread_mutex_lock(&rt->lock);
	e->next = rt->events;
	rt->events = e;
	pthread_mutex_unlock(&rt->lock);
	*event_out = e;
	return 0;
}

int peal_event_destroy(struct peal_event *e)
{
	struct peal_event **at;
	uint32_t left;

	if (!e)
		return 0;
	if (peali_foreign(&e->rt->owner, "peal_event_destroy"))
		return PEAL_EFORKED;
	left = peali_event_orders_left(e);
	if (left)
		return peali_fail(PEAL_EBUSY, "peal_event_destroy",
				  "event '%s' has %u pending order%s of the "
				  "host; call peal_event_cancel first",
				  e->name, left, peali_s(left));
	pthread_mutex_lock(&e->rt->lock);
	for (at = &e->rt->events; *at && *at != e; at = &(*at)->next)
		;
	if (*at)
		*at = e->next;
	pthread_mutex_unlock(&e->rt->lock);
	free_event(e);
	return 0;
}

/* ---- address, wait, info ------------------------------------------------- */

int peal_event_address(const struct peal_event *e, int device,
		       uint64_t *address_out)
{
	char text[128] = "";
	size_t at = 0;
	uint32_t i;

	if (!e || !address_out)
		return peali_refuse_null("peal_event_address",
					 "event or address_out");
	if (peali_foreign(&e->rt->owner, "peal_event_address"))
		return PEAL_EFORKED;
	if (device == e->device) {
		*address_out = peali_block_view(
			e->rt, device, e->by_host ? &e->host : &e->record);
		return 0;
	}
	for (i = 0; i < e->n; i++) {
		if (e->watchers[i].device == device) {
			*address_out = peali_block_view(
				e->rt, device,
				e->by_host ? &e->host : &e->watchers[i].block);
			return 0;
		}
		if (at < sizeof(text))
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       ", %d", e->watchers[i].device);
	}
	return PEALI_REFUSE(PEAL_ENODEV, "peal_event_address",
			    .object = "event", .name = e->name,
			    .problem = "is not for the device",
			    .value = PEALI_PRINT("%d", device),
			    .allowed = PEALI_PRINT("%d%s", e->device, text),
			    .remedy = "name the device in peal_event_create");
}

int peal_event_wait(struct peal_event *e, uint64_t count, int64_t timeout_ns)
{
	PEAL_ALIGNED(PEAL_SHARED_LINE) struct peal_bell bell = { 0 };
	struct peali_bell_wait wait;
	int result = 0;

	if (!e)
		return peali_refuse_null("peal_event_wait", "event");
	if (peali_forked(&e->rt->owner, "peal_event_wait"))
		return PEAL_EFORKED;
	peali_bell_wait_begin(&wait, &bell, 1, timeout_ns); /* never rung */
	while (peal_event_count((uintptr_t)e->cell) < count && !result)
		result = peali_bell_wait_turn(&wait);
	peali_counters_wait_end(e->rt, PEAL_WAIT_EVENT, &wait);
	if (result && peal_event_count((uintptr_t)e->cell) >= count)
		result = 0; /* recorded after the last check of the loop */
	if (result != PEAL_ETIMEDOUT)
		return result;
	return peali_fail(
		result, "peal_event_wait",
		"event '%s' was recorded %llu time%s, not %llu, in %lld ns",
		e->name,
		(unsigned long long)peal_event_count((uintptr_t)e->cell),
		peali_s(peal_event_count((uintptr_t)e->cell)),
		(unsigned long long)count, (long long)timeout_ns);
}

/*
 * Reads the words of the latest record. Returns PEAL_EAGAIN if a newer record
 * has begun meanwhile.
 */
static int read_cell(const struct peal_event_cell *c,
		     struct peal_event_info *out)
{
	out->count = peal_event_count((uintptr_t)c);
	/* A27: pair with R27 in peali_event_write. */
	out->device_ns = peal_load_acquire_sys(&c->device_ns);
	out->host_ns = peal_load_acquire_sys(&c->host_ns);
	out->uncertainty_ns = peal_load_acquire_sys(&c->uncertainty_ns);
	return peal_load_relaxed_sys(&c->begun) == out->count ? 0 : PEAL_EAGAIN;
}

#define LOOKS 1000

int peal_event_info(const struct peal_event *e,
		    struct peal_event_info *info_out)
{
	struct peal_event_info info;
	uint32_t i, looks = 0;

	if (!e || !info_out)
		return peali_refuse_null("peal_event_info",
					 "event or info_out");
	if (peali_foreign(&e->rt->owner, "peal_event_info"))
		return PEAL_EFORKED;
	memset(&info, 0, sizeof(info));
	memcpy(info.name, e->name, sizeof(info.name));
	info.device = e->device;
	info.watchers = e->n;
	info.by_host = e->by_host;
	for (i = 0; i < e->n; i++)
		info.in_host_memory += e->by_host ||
				       e->watchers[i].block.owner == PEALI_HOST;
	while (read_cell(e->cell, &info)) {
		if (++looks == LOOKS)
			return peali_fail(PEAL_EAGAIN, "peal_event_info",
					  "event '%s' is recorded too often "
					  "for a consistent copy; call again",
					  e->name);
		peal_pause();
	}
	*info_out = info;
	return 0;
}

int peal_event_elapsed(const struct peal_event_info *earlier,
		       const struct peal_event_info *later, int64_t *ns_out,
		       uint64_t *uncertainty_out)
{
	const char *call = "peal_event_elapsed";
	uint64_t uncertainty = 0;
	int64_t ns;

	if (!earlier || !later || !ns_out)
		return peali_refuse_null(call, "earlier, later or ns_out");
	if (!earlier->count || !later->count)
		return peali_fail(PEAL_EAGAIN, call,
				  "event '%s' was never recorded",
				  earlier->count ? later->name : earlier->name);
	ns = (int64_t)(later->device_ns - earlier->device_ns);
	if (earlier->device != later->device ||
	    earlier->by_host != later->by_host) {
		if (!earlier->host_ns || !later->host_ns)
			return peali_fail(PEAL_EAGAIN, call,
					  "event '%s' was recorded before "
					  "its worker knew the clock of the "
					  "host; record it again",
					  earlier->host_ns ? later->name :
							     earlier->name);
		ns = (int64_t)(later->host_ns - earlier->host_ns);
		uncertainty = later->uncertainty_ns + earlier->uncertainty_ns;
	}
	*ns_out = ns;
	if (uncertainty_out)
		*uncertainty_out = uncertainty;
	return 0;
}
