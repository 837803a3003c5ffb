/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_COLLECTIVE_H
#define PEAL_ABI_COLLECTIVE_H

#include <peal/device/platform.h>

/*
 * Collectives: what the host and the members of a group, resident actors of one
 * device each, agree on.
 *
 * The elements are cut into a part for each member, and parts into slices. By the
 * *ring* each slice goes from member to member, around once or, for an all-reduce,
 * almost twice, and with it what was made of it so far; by the *exchange*, for
 * what fits one message, each member sends to each other one at once; by the *tree*,
 * for the same, up to the root and down again.
 */

/** The most members of a group. */
#define PEAL_GROUP_MAX 16

/** The most bytes of a message of an exchange, or a tree. */
#define PEAL_EXCHANGE_BYTES 4096

/** Slices of a part that a member begins at once; a link of the ring has room for four
 * times as many (ringkernels/programs/collective.c says why). */
#define PEAL_RING_WINDOW 4

/** What a group does together. `whole` are `count` elements; `part` those of one
 * member, as peal_part has it. */
enum peal_collective_kind {
	PEAL_ALL_REDUCE = 1, /* in: whole; out: whole, of all members' */
	PEAL_REDUCE = 2, /* in: whole; out: whole, at the root alone */
	PEAL_REDUCE_SCATTER = 3, /* in: whole; out: part */
	PEAL_BROADCAST = 4, /* in: whole, of the root alone; out: whole */
	PEAL_ALL_GATHER = 5, /* in: part; out: whole */
	PEAL_GATHER = 6, /* in: part; out: whole, at the root alone */
	PEAL_SCATTER = 7, /* in: whole, of the root alone; out: part */
	PEAL_GROUP_BARRIER = 8, /* nothing; all have come */
	PEAL_COLLECTIVE_KINDS = 9
};

enum peal_element {
	PEAL_I32 = 1,
	PEAL_I64 = 2,
	PEAL_F32 = 3,
	PEAL_F64 = 4,
	PEAL_ELEMENTS = 5
};

/** What two elements, the earlier and the later one, become. */
enum peal_reduction {
	PEAL_SUM = 1, /* of integers modulo 2^32 or 2^64 */
	PEAL_PROD = 2, /* likewise */
	PEAL_MIN = 3, /* later < earlier ? later : earlier */
	PEAL_MAX = 4, /* later > earlier ? later : earlier */
	PEAL_REDUCTIONS = 5
};

/** How a collective is done. */
enum peal_algorithm {
	PEAL_ALGORITHM_DEFAULT = 0, /* by its size */
	PEAL_ALGORITHM_RING = 1,
	PEAL_ALGORITHM_EXCHANGE = 2,
	PEAL_ALGORITHM_TREE = 3, /* of what has no parts */
	PEAL_ALGORITHMS = 4
};

/* Whether a kind reduces; and whether a member's `in`, or `out`, is a part. */
static PEAL_HD PEAL_INLINE int peali_kind_reduces(uint32_t kind)
{
	return kind == PEAL_ALL_REDUCE || kind == PEAL_REDUCE ||
	       kind == PEAL_REDUCE_SCATTER;
}

static PEAL_HD PEAL_INLINE int peali_kind_takes_parts(uint32_t kind)
{
	return kind == PEAL_ALL_GATHER || kind == PEAL_GATHER;
}

static PEAL_HD PEAL_INLINE int peali_kind_gives_parts(uint32_t kind)
{
	return kind == PEAL_REDUCE_SCATTER || kind == PEAL_SCATTER;
}

/* Whether it can go by a tree. */
static PEAL_HD PEAL_INLINE int peali_kind_has_tree(uint32_t kind)
{
	return kind == PEAL_ALL_REDUCE || kind == PEAL_REDUCE ||
	       kind == PEAL_BROADCAST || kind == PEAL_GROUP_BARRIER;
}

/** Bytes of an element. */
static PEAL_HD PEAL_INLINE uint32_t peal_element_bytes(uint32_t element)
{
	return element == PEAL_I32 || element == PEAL_F32 ? 4 : 8;
}

/**
 * The part of the i-th of n members: a block of count / n elements, and one more
 * for each of the first count % n.
 *
 * @param count  elements in all.
 * @param n      parts, 1 or more.
 * @param i      0 .. n - 1.
 * @param length how many there are, may be 0.
 * @return the first one's index.
 */
static PEAL_HD PEAL_INLINE uint64_t peal_part(uint64_t count, uint32_t n,
					      uint32_t i, uint64_t *length)
{
	uint64_t more = count % n;

	*length = count / n + (i < more);
	return i * (count / n) + (i < more ? i : more);
}

/**
 * What a member of a group of processes is called for, which has to be the same in
 * all of them.
 */
struct peal_member_call {
	uint64_t sequence; /* of the group's, its 32 bits, from 1; 0: none was
			    * called yet */
	uint64_t count;
	uint64_t slice; /* elements */
	uint64_t ranks; /* of all members in their set, hashed */
	uint32_t kind;
	uint32_t element;
	uint32_t reduction;
	uint32_t root; /* its place */
	uint32_t algorithm;
	uint32_t channels;
};

/**
 * A collective, in host memory that all members map, of a group of processes those
 * of one process; only writer: the host, before it tells any of them. Members that
 * hear of it by a message of another one first know it as well. There is one at a
 * time in a group, which is over for a member when nothing more comes to it.
 *
 * Of a group of processes each has a plan of its own. Before anything else is sent
 * each member says to all others what it is called for; none goes on before it has
 * heard that of all, and it is the same. So whoever gets data knows the plan, and no
 * member is more than one call ahead of another one.
 */
struct peal_collective_plan {
	uint32_t sequence; /* of the group's, from 1 */
	uint32_t kind; /* enum peal_collective_kind */
	uint32_t element; /* enum peal_element */
	uint32_t reduction; /* enum peal_reduction; 0: it reduces nothing */
	uint64_t count; /* elements */
	uint64_t slice; /* elements of a slice */
	uint32_t members;
	uint32_t channels; /* slice s goes by channel s modulo so many */
	uint32_t root; /* its place in the ring */
	uint32_t algorithm; /* enum peal_algorithm, not its default */
	uint32_t processes; /* 1: a group of processes */
	uint32_t reserved;
	uint64_t ranks; /* as peal_member_call has them */
	/* by place in the ring */
	uint32_t rank[PEAL_GROUP_MAX];
	uint64_t in[PEAL_GROUP_MAX]; /* as its device sees it */
	uint64_t out[PEAL_GROUP_MAX];
	/* What each member was called for, by the lowest bit of its number; only
	 * writer: the process's exchange, the number last. */
	struct peal_member_call called[2][PEAL_GROUP_MAX];
};

/** What an actor of the group begins with. */
struct peal_member_init {
	uint64_t plan; /* its address, as the device sees it */
	uint32_t place; /* in the ring */
	uint32_t channel;
	uint32_t members;
	/* of a group of processes: whom it tells that a ring begins, an actor of
	 * the next channel */
	uint32_t next;
	uint32_t has_next;
	uint32_t processes; /* 1: it is such a group */
};

/** Types of messages. */
enum peal_member_message {
	PEAL_MEMBER_BEGIN = 1, /* host to member, without payload; of a group of
				* processes to its exchange, and from there on
				* from one channel of the ring to the next */
	PEAL_MEMBER_DATA = 2, /* a struct peal_member_head, then elements */
	PEAL_MEMBER_DONE = 3, /* member to host: a struct peal_member_done */
	PEAL_MEMBER_CALLED = 4 /* a struct peal_member_head, then a struct
				* peal_member_call */
};

struct peal_member_head {
	uint32_t sequence;
	uint32_t owner; /* place of the member whose part it is; of who has sent
			 * it, if not by the ring */
	uint32_t slice; /* of that part */
	uint32_t hop; /* members that it has come to, this one too; by a tree 1
		       * on its way up, 2 down; by an exchange 0 */
};

struct peal_member_done {
	uint32_t sequence;
	uint32_t place;
	uint32_t channel;
	int32_t error; /* 0; PEAL_EINVAL: another one is called for something
			* else; else why the member cannot go on */
};

#endif
