/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_LINK_LINK_H
#define PEALI_LINK_LINK_H

#include "queues/ring.h"
#include "runtime/device/memory_block.h"
#include "runtime/kernel/busy_times.h"
#include "runtime/kernel/record.h"
#include "runtime/link/endpoint_ref.h"
#include "runtime/runtime.h"

/* Links. */

struct peali_remote_link;
struct peali_ring_spec;
struct peali_staged_path;

/** A ring and its memory. */
struct peali_segment {
	struct peali_block ring, credit, stage_producer, stage_consumer;
	uint32_t mirror; /* 1: a mirror follows the receiver's stage */
	/* PEAL_CLUSTER_PLACE of the slots, and the space that has them. 0: they
	 * are in the ring. */
	uint32_t cluster_place;
	struct peali_suballoc *cluster;
};

/** The memory of a route: one segment, or two with the stager between. */
struct peali_route_path {
	enum peal_route route;
	uint32_t n_segments;
	int held; /* 1: peer access is held in both directions */
	struct peali_segment segment[2];
	struct peali_staged_path *staged;
};

struct peal_link {
	struct peal_runtime *rt;
	struct peal_link *next;
	uint64_t id;
	struct peali_link_end from, to;
	uint32_t from_port; /* as in peal_connect */
	struct peali_ring_spec spec; /* of the sender's ring */
	struct peali_ring_spec last_spec; /* of the receiver's ring; equal,
					   * unless the ends share no policy */
	struct peali_block counts_block;
	struct peal_link_counts *counts; /* the host's view */
	struct peali_remote_link
		*remote; /* the end in another process; NULL: none */
	/*
	 * The current route, and the old one during a hand-over (else its
	 * n_segments is 0). Writers hold rt->lock and path_lock, so readers
	 * need only one of both locks.
	 */
	pthread_mutex_t path_lock;
	struct peali_route_path path, old;
	char why[160];
	uint32_t require, forbid;
	uint32_t added_bytes; /* of spec.message_bytes, which Peal adds */
	uint32_t priority; /* enum peal_priority */
	uint64_t n_handovers; /* hand-overs begun */
	_Atomic uint64_t staged; /* copied on former paths */
	_Atomic int staged_error; /* why the stager stopped; 0 */
	/* 1: that end is gone, and the other end knows it. */
	_Atomic int sender_gone, receiver_gone;
	struct peali_progress progress; /* messages delivered or dead */
	_Atomic uint64_t done_seen; /* of these: most that peal_link_info has
				     * reported */
	struct peali_residence residence;
};

/* Return the sender's view of the first segment and the receiver's view of the
 * last. */
struct peal_link_view
peali_link_sender_view(const struct peal_link *link,
		       const struct peali_route_path *path);
struct peal_link_view
peali_link_receiver_view(const struct peal_link *link,
			 const struct peali_route_path *path);
/*
 * Steps of making a link. peali_link_taker returns the receiving handler, or
 * NULL. peali_link_check_types compares declared sizes. peali_link_enlist adds
 * the link to the runtime's list, or frees it after an error.
 */
struct peal_link *peali_link_new(struct peal_runtime *rt);
void peali_link_free(struct peal_link *link);
const struct peal_handler_info *peali_link_taker(const struct peal_link *link);
int peali_link_check_types(const struct peal_link *link, const char *call);
int peali_link_attach_input(struct peal_link *link, const char *call);
int peali_link_attach_port(struct peal_link *link, const char *call);
int peali_link_enlist(struct peal_link *link, int result);
/* Works as peal_connect. Peal adds `added` of the link's message_bytes, and the
 * texts of refusals exclude them. */
int peali_connect(struct peal_runtime *rt, uint64_t from, uint32_t port,
		  uint64_t to, const struct peal_link_options *options,
		  uint32_t added, struct peal_link **link_out);
/* Frees a path. Both ends must have left it. */
void peali_route_path_free(struct peal_link *link,
			   struct peali_route_path *path);
int peali_route_path_make(struct peal_link *link, enum peal_route route,
			  struct peali_route_path *out, const char *call);

/* Returns the bell of an end, for the other end to ring. */
uint64_t peali_link_end_bell(const struct peali_link_end *end, int receiving);

/* Makes a link with the ends and the spec of `like`, at any free input. The
 * caller holds rt->lock. */
int peali_link_make(const struct peal_link *like, struct peal_link **link_out,
		    const char *call);
/* peal_link_destroy for callers that hold rt->lock. */
int peali_link_take_down(struct peal_link *link, const char *call);

/* Returns the bytes of a link on all devices. */
uint64_t peali_link_memory(const struct peal_link *link);
/* Closes broken links for their senders. The caller holds rt->lock. */
void peali_links_close_broken(struct peal_runtime *rt);
/* Returns 1 if an end of a link cannot ring the bell of the other end. */
int peali_link_silent(const struct peal_link *link);
/* Tells neighbours that a kernel has ended. The caller holds rt->lock. */
void peali_links_reap(struct peal_kernel *kernel);

#endif
