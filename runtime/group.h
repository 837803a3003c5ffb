/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_GROUP_H
#define PEALI_GROUP_H

#include <peal/group.h>
#include <peal/process.h>
#include "runtime/runtime.h"

/*
 * The inside of a group, for group.c, which makes it, process_group.c, which makes
 * one of processes, and collective.c, which uses them. One thread at a time does, but
 * for peal_group_info.
 */

/** A member, by its place in the ring. */
struct peali_group_member {
	int device; /* -1: in another process */
	uint32_t rank;
	uint32_t process; /* its rank in the set, of a group of processes */
	struct peal_kernel *kernel; /* NULL: in another process */
	struct peal_link *next; /* of channel 0, to the next place */
	struct peal_link *exchange; /* to its exchange, if that is in another
				     * process */
	uint64_t done; /* channels that have ended the collective in hand, a bit
			* each; what goes not by the ring is channel 0 */
	/* what the collective in hand keeps allocated */
	struct peali_range in, out;
};

struct peal_group {
	struct peal_runtime *rt;
	struct peal_group *next; /* of the runtime's; its lock guards the list */
	struct peal_processes *set; /* NULL: all members are in this process */
	char name[PEAL_PROCESS_NAME]; /* of a group of processes */
	uint32_t own; /* of a group of processes: the place of this one */
	uint32_t n_offered; /* of its actors' offers, while it is made */
	uint64_t ranks; /* of a group of processes: who they are, hashed */
	uint32_t n, channels, lanes;
	uint64_t slice_bytes;
	struct peali_group_member
		*members; /* n; their kernels are NULL if it is 1 */
	uint32_t place_of[PEAL_GROUP_MAX]; /* by rank */
	struct peal_endpoint *host;
	struct peali_area plan_area;
	struct peal_collective_plan *plan; /* host view; NULL if n is 1 */
	struct peal_link **links;
	uint32_t n_links, max_links;
	uint64_t link_bytes;
	uint32_t waits_for; /* reports that are to come; 0: nothing goes on */
	uint32_t algorithm; /* of the collective in hand */
	char why[200]; /* a process that is gone, in words */
	int differs; /* of it: another process is called for something else */
	_Atomic uint64_t ended; /* collectives */
};

/* Whether a member is in this process. */
static inline int peali_group_is_here(const struct peal_group *g,
				      uint32_t place)
{
	return !g->set || place == g->own;
}

/* The endpoint's port to a member's ring of a channel; of channel g->channels to its
 * exchange. */
static inline uint32_t peali_group_port(const struct peal_group *g,
					uint32_t place, uint32_t channel)
{
	return place * (g->channels + 1) + channel;
}

#define PEALI_CHANNELS_MAX 64

/* ---- making one ------------------------------------------------------------------ */

/* One without kernels, on the runtime's list once it is done; NULL: an error. */
struct peal_group *peali_group_new(struct peal_runtime *rt, uint32_t n,
				   const struct peal_group_options *options,
				   const char *call);
/* Its plan, endpoint and room for links, then the kernels of members here. */
int peali_group_launch(struct peal_group *group, const char *call);
/* An actor of a member here, of channel g->channels its exchange; it tells `next`, if
 * that is not 0, that a ring begins. */
int peali_group_spawn(struct peal_group *group, uint32_t place,
		      uint32_t channel, uint64_t next, uint64_t *address_out);
/* Its port to the host; the exchange's, or without a set all, have one from there. */
int peali_group_connect_host(struct peal_group *group, uint32_t place,
			     uint32_t channel, uint64_t actor);
/* Options of a link for so many messages of so many bytes. */
struct peal_link_options peali_group_link(uint32_t capacity, uint64_t bytes);
/* Another link of it. */
void peali_group_own(struct peal_group *group, struct peal_link *link);
/* It is made: 0; or what there is goes, and the error stays. */
int peali_group_made(struct peal_group *group, int result, const char *call,
		     struct peal_group **group_out);

/* Bytes of a message of the ring, and of one of an exchange. */
static inline uint64_t peali_ring_message_bytes(const struct peal_group *g)
{
	return sizeof(struct peal_member_head) + g->slice_bytes;
}

#define PEALI_EXCHANGE_MESSAGE_BYTES                                           \
	(sizeof(struct peal_member_head) + PEAL_EXCHANGE_BYTES)
#define PEALI_RING_SLOTS (4 * PEAL_RING_WINDOW)

/* ---- of processes ---------------------------------------------------------------- */

/* The set's first group; NULL: there is none. The runtime's lock is held. */
const struct peal_group *peali_group_of_set(const struct peal_runtime *rt,
					    const struct peal_processes *set);
/* Whether a member in another process can go on with what is in hand; an error names
 * the one that cannot. 0 for a group without any. */
int peali_group_check_processes(struct peal_group *group, const char *call);
/* Who is called for something else, and what that is: PEAL_EINVAL. */
int peali_group_differs(const struct peal_group *group, const char *call);
/* Before its links go: waits until what it has sent is taken, or tells the others that
 * it leaves in the middle. */
void peali_group_take_leave(struct peal_group *group, uint64_t deadline);
/* Takes down what others have connected to it. */
int peali_group_close_links(struct peal_group *group);

/* ---- using it -------------------------------------------------------------------- */

/* Whether a member was called for what is in hand. */
int peali_group_was_called(const struct peal_group *group, uint32_t place);
/* Lets go of the memory of a collective that is over. */
void peali_collective_let_go(struct peal_group *group);

#endif
