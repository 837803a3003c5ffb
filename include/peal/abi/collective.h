/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_COLLECTIVE_H
#define PEAL_ABI_COLLECTIVE_H

#include <peal/device/platform.h>

/*
 * Collectives: the data that the host shares with the members of a
 * communicator. A member is a resident actor of one device.
 *
 * The elements are divided into one part per member, and parts into slices.
 * The algorithms (ringkernels/programs/collective.c):
 *
 * - ring: each slice goes from member to member, with the reduction so far. It
 *   goes around once, or almost twice for an all-reduce.
 * - exchange: each member sends one message to each other member.
 * - tree: messages go up to the root, then down again.
 *
 * Exchange and tree are for data that fits one message.
 */

/** The most members of a communicator. */
#define PEAL_COMM_MAX 64

/** The most bytes of data in a message of an exchange or a tree. */
#define PEAL_EXCHANGE_BYTES 4096

/** Slices of a part that a member begins at once. A link of the ring holds four
 * times as many (see ringkernels/programs/collective.c). */
#define PEAL_RING_WINDOW 4

/**
 * Kinds of collectives. Elements of `in` and `out`:
 *
 *	whole	all `count` elements
 *	part	the elements of one member, by peal_part
 *	parts	a part from each member, in order of ranks
 */
enum peal_collective_kind {
	PEAL_ALL_REDUCE = 1, /* in: whole; out: whole, reduced */
	PEAL_REDUCE = 2, /* in: whole; out: whole, at the root alone */
	PEAL_REDUCE_SCATTER = 3, /* in: whole; out: part */
	PEAL_BROADCAST = 4, /* in: whole, of the root alone; out: whole */
	PEAL_ALL_GATHER = 5, /* in: part; out: whole */
	PEAL_GATHER = 6, /* in: part; out: whole, at the root alone */
	PEAL_SCATTER = 7, /* in: whole, of the root alone; out: part */
	PEAL_COMM_BARRIER = 8, /* no elements; ends once all have begun */
	/* in: whole; out: parts. Each member gets its part of each `in`. So all
	 * parts in `out` have one length. */
	PEAL_ALL_TO_ALL = 9,
	PEAL_COLLECTIVE_KINDS = 10
};

enum peal_element {
	PEAL_I32 = 1,
	PEAL_I64 = 2,
	PEAL_F32 = 3,
	PEAL_F64 = 4,
	PEAL_F16 = 5, /* see peal/abi/float16.h */
	PEAL_BF16 = 6, /* as PEAL_F16 */
	PEAL_ELEMENTS = 7
};

/** How two elements, an earlier and a later one, are reduced to one. */
enum peal_reduction {
	PEAL_SUM = 1, /* of integers modulo 2^32 or 2^64 */
	PEAL_PROD = 2, /* of integers modulo 2^32 or 2^64 */
	PEAL_MIN = 3, /* later < earlier ? later : earlier */
	PEAL_MAX = 4, /* later > earlier ? later : earlier */
	PEAL_AVERAGE = 5, /* sum / members; of integers rounded toward 0 */
	PEAL_REDUCTIONS = 6
};

/** Algorithms of a collective. */
enum peal_algorithm {
	PEAL_ALGORITHM_DEFAULT = 0, /* selected by the size */
	PEAL_ALGORITHM_RING = 1,
	PEAL_ALGORITHM_EXCHANGE = 2,
	PEAL_ALGORITHM_TREE = 3, /* for kinds without parts */
	PEAL_ALGORITHMS = 4
};

/* Return 1 if a kind reduces, or if a member's `in` or `out` is a part. */
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

/* Returns 1 if the tree supports the kind. */
static PEAL_HD PEAL_INLINE int peali_kind_has_tree(uint32_t kind)
{
	return kind == PEAL_ALL_REDUCE || kind == PEAL_REDUCE ||
	       kind == PEAL_BROADCAST || kind == PEAL_COMM_BARRIER;
}

/** Returns the bytes of an element: 2, 4 or 8. */
static PEAL_HD PEAL_INLINE uint32_t peal_element_bytes(uint32_t element)
{
	if (element == PEAL_F16 || element == PEAL_BF16)
		return 2;
	return element == PEAL_I32 || element == PEAL_F32 ? 4 : 8;
}

/**
 * Returns the part of the i-th of n members.
 *
 * A part has count / n elements. The first count % n parts have one more.
 *
 * @param count  number of all elements.
 * @param n      number of parts, 1 or more.
 * @param i      0..n - 1.
 * @param length receives the number of elements in the part, which may be 0.
 * @return the index of the part's first element.
 */
static PEAL_HD PEAL_INLINE uint64_t peal_part(uint64_t count, uint32_t n,
					      uint32_t i, uint64_t *length)
{
	uint64_t more = count % n;

	*length = count / n + (i < more);
	return i * (count / n) + (i < more ? i : more);
}

/** A call: the collective that a process asks of its member. In a communicator
 * of several processes, all calls of one collective must be equal. */
struct peal_member_call {
	uint64_t sequence; /* number of the collective, 32 bits, from 1; 0: no
			    * call yet */
	uint64_t count; /* elements */
	uint64_t slice; /* elements of a slice */
	uint64_t ranks; /* hash of all members' ranks in the process group */
	uint32_t kind;
	uint32_t element;
	uint32_t reduction;
	uint32_t root; /* place of the root */
	uint32_t algorithm;
	uint32_t channels;
};

/**
 * The plan of a collective, in host memory that the members of a process map.
 *
 * Only writer: the host, before it sends a BEGIN to any member. So a member
 * also knows the plan if a message of another member arrives first. A
 * communicator has one collective at a time. It is over for a member when no
 * more messages come to this member.
 *
 * With several processes, each process has its own plan. The members first
 * exchange their calls:
 *
 * 1. Each member sends its call to all other members.
 * 2. It continues once it has all calls, and only if all are equal.
 *
 * So a member that gets data knows the plan. No member is more than one call
 * ahead of another member.
 */
struct peal_collective_plan {
	uint32_t sequence; /* number of the collective, from 1 */
	uint32_t kind; /* enum peal_collective_kind */
	uint32_t element; /* enum peal_element */
	uint32_t reduction; /* enum peal_reduction; 0: no reduction */
	uint64_t count; /* elements */
	uint64_t slice; /* elements of a slice */
	uint32_t members;
	uint32_t channels; /* slice s goes by channel s % channels */
	uint32_t root; /* place of the root in the ring */
	uint32_t algorithm; /* enum peal_algorithm, not DEFAULT */
	uint32_t processes; /* 1: members of several processes */
	uint32_t reserved;
	uint64_t ranks; /* as in struct peal_member_call */
	/* by place in the ring */
	uint32_t rank[PEAL_COMM_MAX];
	uint64_t in[PEAL_COMM_MAX]; /* address for the member's device */
	uint64_t out[PEAL_COMM_MAX];
	/* Calls of the members. First index: lowest bit of `sequence`. Only
	 * writer: the process's exchange, `sequence` last. */
	struct peal_member_call called[2][PEAL_COMM_MAX];
};

/** First bytes of the state of an actor of the communicator. */
struct peal_member_init {
	uint64_t plan; /* address of the plan, for the device */
	uint32_t place; /* in the ring */
	uint32_t channel;
	uint32_t members;
	/* With several processes: the actor that gets BEGIN from this actor,
	 * of the first or the next channel. */
	uint32_t next;
	uint32_t has_next; /* 1: `next` is valid */
	uint32_t processes; /* 1: members of several processes */
};

/** Types of messages. */
enum peal_member_message {
	/*
	 * From the host, without payload. With several processes: to the
	 * exchange, which starts the ring's first channel; each channel then
	 * starts the next channel.
	 */
	PEAL_MEMBER_BEGIN = 1,
	PEAL_MEMBER_DATA = 2, /* a struct peal_member_head, then elements */
	PEAL_MEMBER_DONE = 3, /* member to host: a struct peal_member_done */
	PEAL_MEMBER_CALLED = 4 /* a struct peal_member_head, then a struct
				* peal_member_call */
};

struct peal_member_head {
	uint32_t sequence;
	uint32_t owner; /* ring: place of the member that owns the part; else
			 * place of the sender */
	uint32_t slice; /* ring: index in that part */
	uint32_t hop; /* ring: number of the hop, from 1; tree: 1 up, 2 down;
		       * exchange: 0 */
};

struct peal_member_done {
	uint32_t sequence;
	uint32_t place;
	uint32_t channel;
	int32_t error; /* 0: success; PEAL_EINVAL: another member's call
			* differs; else the error that ended it */
};

#endif
