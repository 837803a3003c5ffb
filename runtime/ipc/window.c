/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of a process group: device memory that the peers map when they meet.
 *
 * If two devices see each other's window, a link between them uses both. The
 * ring lies in the receiver's window, the credit in the sender's. The devices
 * write there directly and the host copies nothing.
 *
 * Two processes use a part of a window. The part is free again when both have
 * released the link. It is also free when the peer and all its kernels have
 * ended.
 */
#include <poll.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "p2p/probe.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/wait.h"
#include "runtime/device/range_alloc.h"
#include "runtime/ipc/process_group.h"

#define CALL "peal_process_group_join"
#define LOOK_MS 20 /* ms of one wait for a record */

/* ---- own windows --------------------------------------------------------- */

static int open_one(struct peal_process_group *set, int device, uint64_t bytes)
{
	const struct peali_device *d = &set->rt->devices.device[device];
	struct peali_shared *s = &set->windows[device];
	char name[24];
	int result;

	s->bytes = bytes;
	result = d->backend->ops->window_open(d->backend, d->local, &s->bytes,
					      &s->window, &s->fd);
	if (result)
		return result;
	s->backend = d->backend;
	snprintf(name, sizeof(name), "window of device %d", device);
	result = peali_suballoc_open(&s->space, name, 0, s->bytes);
	if (!result) {
		set->n_windows++;
		return 0;
	}
	close(s->fd);
	s->backend->ops->window_close(s->backend, s->window);
	s->backend = NULL;
	return result;
}

void peali_windows_open(struct peal_process_group *set)
{
	const struct peali_devices *devices = &set->rt->devices;
	uint64_t bytes = 0;
	int i;

	strcpy(set->why_no_window,
	       "it is of the host backend, or has no descriptors");
	if (peali_env_number(PEALI_ENV_PROCESS_MEMORY, &bytes) || !bytes ||
	    set->plan.ranks == 1) {
		strcpy(set->why_no_window, "PEAL_PROCESS_MEMORY is 0");
		return;
	}
	set->windows = calloc(PEALI_WINDOWS_MAX, sizeof(*set->windows));
	for (i = 0; set->windows && i < devices->n && i < PEALI_WINDOWS_MAX;
	     i++) {
		if (!devices->device[i].backend->ops->window_open ||
		    !open_one(set, i, bytes))
			continue;
		if (peal_last_error()->code == PEAL_EBUSY)
			strcpy(set->why_no_window,
			       "a kernel was running when its process joined");
		else if (peal_last_error()->code != PEAL_ENOTSUP)
			strcpy(set->why_no_window,
			       "its driver gave no memory for a window");
		peali_log(2, "device %d has no window: %s", i,
			  peal_last_error()->text);
	}
}

/* ---- windows of peers ---------------------------------------------------- */

static int ended(const struct peali_peer *p)
{
	return peali_fail(PEAL_EDIED, CALL,
			  "rank %u (pid %d) has ended before all ranks had "
			  "connected",
			  p->rank, p->member.pid);
}

/* Sends the next own window, from device *at on, to a peer. */
static int send_one(struct peal_process_group *set, struct peali_peer *p,
		    int *at, uint64_t deadline)
{
	struct peali_record r = peali_record(PEALI_RECORD_WINDOW);
	const struct peali_shared *s;
	struct peal_device_info info;
	int result;

	while (!set->windows[*at].backend)
		++*at;
	s = &set->windows[*at];
	r.window_device = 1 + (uint32_t)*at;
	r.window_bytes = s->bytes;
	snprintf(r.name, sizeof(r.name), "%s", s->backend->ops->name);
	if (!peal_device_info(set->rt, *at, &info))
		snprintf(r.text, sizeof(r.text), "%s", info.uuid);
	++*at;
	do { /* the number of descriptors in flight is limited */
		result = peali_peer_send(p, &r, s->fd);
	} while (result == PEAL_ETIMEDOUT && !peali_late(deadline));
	if (result == PEAL_EPIPE)
		return ended(p);
	if (result == PEAL_ETIMEDOUT)
		return peali_fail(result, CALL,
				  "rank %u (pid %d) does not accept the "
				  "windows of this process",
				  p->rank, p->member.pid);
	return result;
}

/* Returns the backend with that name, or NULL. */
static struct peali_backend *backend_of(const struct peali_devices *devices,
					const char *name)
{
	int i;

	for (i = 0; i < devices->n; i++)
		if (!strcmp(devices->device[i].backend->ops->name, name))
			return devices->device[i].backend;
	return NULL;
}

/* Returns the device of this process with that UUID, or -1. */
static int device_of(struct peal_runtime *rt, const char *uuid)
{
	struct peal_device_info info;
	int i;

	for (i = 0; i < rt->devices.n && *uuid; i++)
		if (!peal_device_info(rt, i, &info) && !strcmp(info.uuid, uuid))
			return i;
	return -1;
}

/*
 * Finds the devices here that see a peer's window. The driver must map the
 * window for the device. A probe must confirm peer access between the device
 * and the window's device, in both directions and with all policies. So this
 * process must have the window's device, too.
 */
static void find_viewers(struct peal_runtime *rt, struct peali_shared *s,
			 const char *uuid)
{
	int i, home = device_of(rt, uuid);
	struct peal_pair_info pair;

	for (i = 0; i < rt->devices.n && i < 64 && home >= 0; i++) {
		const struct peali_device *d = &rt->devices.device[i];

		if (d->backend != s->backend ||
		    !s->backend->ops->window_view(s->backend, d->local,
						  s->window))
			continue;
		if (i == home ||
		    (!peali_probe_verify(rt->peers, i, home, &pair) &&
		     pair.route == PEAL_ROUTE_PEER &&
		     pair.policies == peali_devices_policies(&rt->devices, i)))
			s->viewers |= 1ULL << i;
	}
}

/*
 * Maps one window of a peer if possible. Returns NULL, or the text of an error
 * in the record.
 */
static const char *take_one(struct peali_peer *p, const struct peali_record *r,
			    int fd)
{
	struct peali_backend *b = backend_of(&p->set->rt->devices, r->name);
	struct peali_shared *s;
	char uuid[40];

	if (r->type != PEALI_RECORD_WINDOW || !r->window_bytes ||
	    r->window_device - 1 >= PEALI_WINDOWS_MAX)
		return "sent an invalid window";
	if (!p->windows)
		p->windows = calloc(PEALI_WINDOWS_MAX, sizeof(*p->windows));
	if (!p->windows)
		return NULL;
	s = &p->windows[r->window_device - 1];
	if (s->bytes)
		return "sent a window twice";
	s->bytes = r->window_bytes;
	/* fd is -1 if this process has no free descriptor */
	if (!b || !b->ops->window_map || fd < 0)
		return NULL;
	if (b->ops->window_map(b, fd, s->bytes, &s->window)) {
		peali_log(2, "window of rank %u, device %u: %s", p->rank,
			  r->window_device - 1, peal_last_error()->text);
		return NULL;
	}
	s->backend = b;
	peali_record_text(r, uuid, sizeof(uuid));
	find_viewers(p->set->rt, s, uuid);
	return NULL;
}

/* Waits for the next window of a peer. */
static int await_one(struct peali_peer *p, uint64_t deadline)
{
	struct pollfd look = { .fd = p->fd, .events = POLLIN };
	struct peali_record r;
	const char *wrong = NULL;
	int fd = -1, result = 0;

	while (!result) {
		poll(&look, 1, LOOK_MS);
		result = peali_record_receive(p->fd, &r, &fd, &wrong);
		if (!result && peali_late(deadline))
			return peali_fail(PEAL_ETIMEDOUT, CALL,
					  "rank %u (pid %d) does not send its "
					  "windows in time",
					  p->rank, p->member.pid);
	}
	if (result < 0 && errno != ECONNRESET)
		return peali_fail_system(errno, CALL,
					 "cannot read a window of rank %u",
					 p->rank);
	if (result < 0)
		return ended(p);
	if (!wrong)
		wrong = take_one(p, &r, fd);
	if (fd >= 0)
		close(fd);
	return wrong ? peali_fail(PEAL_EPROTO, CALL, "rank %u (pid %d) %s",
				  p->rank, p->member.pid, wrong) :
		       0;
}

/*
 * Exchanges windows with a peer, one each in turn. So few descriptors are in
 * flight.
 */
static int swap_with(struct peal_process_group *set, struct peali_peer *p,
		     uint64_t deadline)
{
	uint32_t i;
	int at = 0, result = 0;

	for (i = 0; (i < set->n_windows || i < p->n_windows) && !result; i++) {
		if (i < set->n_windows)
			result = send_one(set, p, &at, deadline);
		if (!result && i < p->n_windows)
			result = await_one(p, deadline);
	}
	return result;
}

/* Works in rounds. In each round a process has another partner, or none. */
int peali_windows_swap(struct peal_process_group *set, uint64_t deadline)
{
	uint32_t n = set->plan.ranks, round, i;
	int result = 0;

	for (round = 0; round < n && !result; round++) {
		uint32_t rank = (round + n - set->plan.rank) % n;

		if (rank != set->plan.rank)
			result = swap_with(set, &set->peers[rank], deadline);
	}
	for (i = 0; set->windows && i < PEALI_WINDOWS_MAX; i++)
		if (set->windows[i].backend) {
			close(set->windows[i].fd); /* all peers have it */
			set->windows[i].fd = -1;
		}
	return result;
}

static void close_all(struct peali_shared *all)
{
	int i;

	for (i = 0; all && i < PEALI_WINDOWS_MAX; i++) {
		if (!all[i].backend)
			continue;
		peali_suballoc_close(&all[i].space);
		all[i].backend->ops->window_close(all[i].backend,
						  all[i].window);
	}
	free(all);
}

void peali_windows_close(struct peal_process_group *set)
{
	struct peali_orphan *orphan;
	uint32_t rank, i;

	while ((orphan = set->orphans)) {
		set->orphans = orphan->next;
		free(orphan);
	}
	for (i = 0; set->windows && i < PEALI_WINDOWS_MAX; i++)
		if (set->windows[i].backend && set->windows[i].fd >= 0)
			close(set->windows[i].fd);
	close_all(set->windows);
	set->windows = NULL;
	for (rank = 0; rank < set->plan.ranks; rank++) {
		close_all(set->peers[rank].windows);
		set->peers[rank].windows = NULL;
	}
}

/* ---- views --------------------------------------------------------------- */

/* Returns the address at which a device here sees a peer's window, or 0. */
static uint64_t view(const struct peali_peer *p, uint32_t index, int viewer)
{
	const struct peali_devices *devices = &p->set->rt->devices;
	const struct peali_shared *s;

	if (!p->windows || index >= PEALI_WINDOWS_MAX || viewer < 0)
		return 0;
	s = &p->windows[index];
	if (!s->backend || viewer >= 64 || !(s->viewers >> viewer & 1))
		return 0;
	return s->backend->ops->window_view(
		s->backend, devices->device[viewer].local, s->window);
}

uint64_t peali_windows_seen(const struct peali_peer *p, int device)
{
	uint64_t seen = 0;
	uint32_t i;

	for (i = 0; i < PEALI_WINDOWS_MAX; i++)
		if (view(p, i, device))
			seen |= 1ULL << i;
	return seen;
}

uint64_t peali_window_remote(const struct peali_peer *p, uint32_t device,
			     int viewer, uint64_t offset, uint64_t bytes)
{
	uint64_t at = view(p, device - 1, viewer);

	if (!at || offset % PEAL_SHARED_LINE ||
	    offset > p->windows[device - 1].bytes ||
	    bytes > p->windows[device - 1].bytes - offset)
		return 0;
	return at + offset;
}

/* ---- parts --------------------------------------------------------------- */

int peali_has_window(const struct peal_process_group *set, int device)
{
	return set->windows && device >= 0 && device < PEALI_WINDOWS_MAX &&
	       set->windows[device].backend;
}

uint64_t peali_part_word(const struct peal_process_group *set,
			 const struct peali_part *part)
{
	const struct peali_shared *s = &set->windows[part->device];
	uint64_t word = 0;

	if (s->backend->ops->window_read(s->backend, s->window, part->offset,
					 &word, sizeof(word)))
		return 0;
	return word;
}

int peali_part_take(struct peal_process_group *set, int device, uint64_t bytes,
		    struct peali_part *out)
{
	struct peali_shared *s;
	struct peali_piece piece;
	int result;

	memset(out, 0, sizeof(*out));
	if (!peali_has_window(set, device))
		return peali_fail(PEAL_ENOTSUP, CALL, "%s", set->why_no_window);
	s = &set->windows[device];
	pthread_mutex_lock(&set->lock);
	result = peali_suballoc_take(&s->space, bytes, &piece);
	pthread_mutex_unlock(&set->lock);
	if (result)
		return result;
	out->device = device;
	out->offset = piece.offset;
	out->bytes = bytes;
	if (piece.fresh > piece.offset)
		result = s->backend->ops->window_wipe(
			s->backend, s->window, piece.offset,
			piece.fresh - piece.offset);
	if (result) {
		pthread_mutex_lock(&set->lock);
		peali_part_give(set, out);
		pthread_mutex_unlock(&set->lock);
	}
	return result;
}

void peali_part_give(struct peal_process_group *set, struct peali_part *part)
{
	struct peali_piece piece;

	if (part->bytes)
		peali_suballoc_give(&set->windows[part->device].space,
				    part->offset, &piece);
	part->bytes = 0;
}

uint64_t peali_part_address(const struct peal_process_group *set,
			    const struct peali_part *part)
{
	const struct peali_shared *s = &set->windows[part->device];

	return s->backend->ops->window_view(
		       s->backend, set->rt->devices.device[part->device].local,
		       s->window) +
	       part->offset;
}

void peali_part_abandon(struct peali_peer *p, uint64_t number, int sends,
			struct peali_part *part)
{
	struct peal_process_group *set = p->set;
	struct peali_orphan *orphan;

	if (!part->bytes)
		return;
	if (p->over) {
		peali_part_give(set, part);
	} else if ((orphan = calloc(1, sizeof(*orphan)))) {
		orphan->rank = p->rank;
		orphan->number = number;
		orphan->sends = sends;
		orphan->part = *part;
		orphan->next = set->orphans;
		set->orphans = orphan;
	} /* else the part stays in use until the process leaves the group */
	part->bytes = 0;
}

/* Frees the orphans of one link of a peer, or of all its links (number 0). */
static void give_orphans(struct peali_peer *p, uint64_t number, int sends)
{
	struct peali_orphan **at = &p->set->orphans, *orphan;

	while ((orphan = *at)) {
		if (orphan->rank != p->rank ||
		    (number &&
		     (orphan->number != number || orphan->sends != sends))) {
			at = &orphan->next;
			continue;
		}
		*at = orphan->next;
		peali_part_give(p->set, &orphan->part);
		free(orphan);
	}
}

void peali_part_freed(struct peali_peer *p, uint64_t number, int sends)
{
	struct peali_remote_link *remote;

	for (remote = p->links; remote; remote = remote->next)
		if (remote->number == number && remote->sends == sends)
			remote->freed = 1;
	if (number)
		give_orphans(p, number, sends);
}

void peali_parts_freed(struct peali_peer *p)
{
	p->over = 1;
	give_orphans(p, 0, 0);
}
