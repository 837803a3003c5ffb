/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_COMMUNICATOR_FIXTURE_H
#define PEAL_TESTS_COMMUNICATOR_FIXTURE_H

/*
 * A communicator, and memory of its members. The fixture computes the expected
 * result of a collective. It follows the text of peal/communicator.h, one
 * element at a time.
 */

#include <math.h>

#include <peal/communicator.h>
#include <peal/memory.h>
#include <peal/peer.h>

#include "runtime/both_lanes.h"

#define GUARD 64 /* bytes behind an output, which must not change */
#define BLANK 0xa5

/* Arguments of one collective. */
struct act {
	uint32_t kind, element, reduction, root, algorithm;
	uint64_t count;
	int in_place;
};

struct fixture {
	struct peal_runtime *rt;
	struct peal_comm *g;
	struct peal_comm_info info;
	int processes; /* 1: only the member `own` is in this process */
	uint32_t own;
	uint32_t n;
	uint64_t bytes; /* of each of a member's two buffers */
	uint64_t in[PEAL_COMM_MAX], out[PEAL_COMM_MAX];
	/* host copies: inputs, the output of a member, its expected output */
	uint8_t *given[PEAL_COMM_MAX], *got, *due;
	uint64_t turn; /* seed of the next values */
};

static inline int fixture_has(const struct fixture *s, uint32_t rank)
{
	return !s->processes || rank == s->own;
}

/* Allocates the buffers for a communicator that exists. */
static inline void fixture_furnish(struct fixture *s, uint64_t bytes)
{
	uint32_t i;

	s->bytes = bytes + 8 * s->n + GUARD; /* parts can be rounded up */
	s->got = malloc(s->bytes);
	s->due = malloc(s->bytes);
	CHECK(s->got && s->due);
	CHECK_OK(peal_comm_info(s->g, &s->info));
	CHECK_EQ(s->info.members, s->n);
	for (i = 0; i < s->n; i++) {
		int device = s->info.device[i];

		s->given[i] = malloc(s->bytes);
		CHECK(s->given[i]);
		if (!fixture_has(s, i))
			continue;
		CHECK_OK(peal_memory_alloc(s->rt, device, s->bytes, &s->in[i]));
		CHECK_OK(
			peal_memory_alloc(s->rt, device, s->bytes, &s->out[i]));
	}
}

static inline void fixture_open(struct fixture *s, uint32_t n,
				const char *links, uint64_t bytes,
				struct peal_comm_options o)
{
	int devices[PEAL_COMM_MAX];
	uint32_t i;

	memset(s, 0, sizeof(*s));
	s->rt = harness_open((int)n, links);
	s->n = n;
	for (i = 0; i < n; i++) /* rank and device number differ */
		devices[i] = (int)((i + 1) % n);
	o.size = sizeof(o);
	o.lanes = lanes;
	CHECK_OK(peal_comm_create(s->rt, devices, n, &o, &s->g));
	fixture_furnish(s, bytes);
	for (i = 0; i < n; i++)
		CHECK_EQ(s->info.device[i], devices[i]);
}

static inline void fixture_free_host(struct fixture *s)
{
	uint32_t i;

	for (i = 0; i < s->n; i++)
		free(s->given[i]);
	free(s->got);
	free(s->due);
}

static inline void fixture_close(struct fixture *s)
{
	uint32_t i;

	CHECK_OK(peal_comm_destroy(s->g));
	for (i = 0; i < s->n; i++) {
		if (!fixture_has(s, i))
			continue;
		CHECK_OK(peal_memory_free(s->rt, s->info.device[i], s->in[i]));
		CHECK_OK(peal_memory_free(s->rt, s->info.device[i], s->out[i]));
	}
	fixture_free_host(s);
	if (!s->processes)
		CHECK_OK(peal_runtime_close(s->rt));
}

/* ---- elements ------------------------------------------------------------ */

static inline int act_is_half(const struct act *a)
{
	return a->element == PEAL_F16 || a->element == PEAL_BF16;
}

static inline uint64_t act_bytes(const struct act *a)
{
	if (act_is_half(a))
		return 2;
	return a->element == PEAL_I32 || a->element == PEAL_F32 ? 4 : 8;
}

static inline uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* Returns the value of a finite f16 or bf16, by the definition of IEEE 754. */
static inline double half_value(int is_f16, uint16_t bits)
{
	int digits = is_f16 ? 10 : 7, least = is_f16 ? -14 : -126;
	int size = bits & 0x7fff, exponent = size >> digits;
	int fraction = size & ((1 << digits) - 1);
	double x = exponent ? ldexp((1 << digits) + fraction, exponent - 1) :
			      fraction;

	return ldexp(bits & 0x8000 ? -x : x, least - digits);
}

/* Returns the nearest f16 or bf16. nearbyint rounds ties to even. */
static inline uint16_t half_nearest(int is_f16, double x)
{
	int digits = is_f16 ? 10 : 7, least = is_f16 ? -14 : -126;
	int exponent = least, units;
	double size = fabs(x);

	if (size >= ldexp(1, least))
		exponent = ilogb(size);
	units = (int)nearbyint(ldexp(size, digits - exponent));
	units += (exponent - least) << digits;
	if (units > (is_f16 ? 0x7c00 : 0x7f80)) /* infinity */
		units = is_f16 ? 0x7c00 : 0x7f80;
	return (uint16_t)(units | (signbit(x) ? 0x8000 : 0));
}

/* Writes n pseudo-random elements. Sums of the floats depend on the order. */
static inline void act_fill(const struct act *a, uint8_t *to, uint64_t n,
			    uint64_t seed)
{
	uint64_t i, x;

	for (i = 0; i < n; i++) {
		uint16_t h;
		float f;
		double d;

		x = mix(seed + i);
		f = (float)(int32_t)x * 1e-9f;
		d = (double)(int64_t)x * 1e-19;
		switch (a->element) {
		case PEAL_F32:
			memcpy(to + 4 * i, &f, 4);
			break;
		case PEAL_F64:
			memcpy(to + 8 * i, &d, 8);
			break;
		case PEAL_F16:
		case PEAL_BF16:
			h = half_nearest(a->element == PEAL_F16, f);
			memcpy(to + 2 * i, &h, 2);
			break;
		default:
			memcpy(to + act_bytes(a) * i, &x, act_bytes(a));
		}
	}
}

/* `divisor` is not 1 in the last step of an average alone. */
#define COMBINE(type, sum, product)                                            \
	do {                                                                   \
		type a_, b_;                                                   \
		memcpy(&a_, so_far, sizeof(a_));                               \
		memcpy(&b_, next, sizeof(b_));                                 \
		if (a->reduction == PEAL_SUM)                                  \
			a_ = (type)(sum);                                      \
		else if (a->reduction == PEAL_AVERAGE)                         \
			a_ = (type)((type)(sum) / (type)divisor);              \
		else if (a->reduction == PEAL_PROD)                            \
			a_ = (type)(product);                                  \
		else if (a->reduction == PEAL_MIN ? b_ < a_ : b_ > a_)         \
			a_ = b_;                                               \
		memcpy(so_far, &a_, sizeof(a_));                               \
	} while (0)

/* A step of f16 or bf16 computes in f32 and rounds once more. */
static inline void combine_half(const struct act *a, uint8_t *to,
				const uint8_t *from, uint32_t divisor)
{
	int is_f16 = a->element == PEAL_F16;
	uint8_t so_far[4], next[4];
	uint16_t bits;
	float x;

	memcpy(&bits, to, 2);
	x = (float)half_value(is_f16, bits);
	memcpy(so_far, &x, 4);
	memcpy(&bits, from, 2);
	x = (float)half_value(is_f16, bits);
	memcpy(next, &x, 4);
	COMBINE(float, a_ + b_, a_ * b_);
	memcpy(&x, so_far, 4);
	bits = half_nearest(is_f16, x);
	memcpy(to, &bits, 2);
}

static inline void combine(const struct act *a, uint8_t *so_far,
			   const uint8_t *next, uint32_t divisor)
{
	switch (a->element) {
	case PEAL_I32:
		COMBINE(int32_t, (uint32_t)a_ + (uint32_t)b_,
			(uint32_t)a_ * (uint32_t)b_);
		break;
	case PEAL_I64:
		COMBINE(int64_t, (uint64_t)a_ + (uint64_t)b_,
			(uint64_t)a_ * (uint64_t)b_);
		break;
	case PEAL_F32:
		COMBINE(float, a_ + b_, a_ * b_);
		break;
	case PEAL_F16:
	case PEAL_BF16:
		combine_half(a, so_far, next, divisor);
		break;
	default:
		COMBINE(double, a_ + b_, a_ * b_);
	}
}

/* ---- expected results ---------------------------------------------------- */

/* Returns the rank that owns an element. The parts are consecutive. The first
 * parts may have one element more. */
static inline uint32_t owner_of(uint64_t count, uint32_t n, uint64_t i)
{
	uint64_t small = count / n, larger = count % n;

	if (i < larger * (small + 1))
		return (uint32_t)(i / (small + 1));
	return (uint32_t)(larger + (i - larger * (small + 1)) / small);
}

/* Returns the first element of a part: the sum of the parts before it. */
static inline uint64_t part_first(uint64_t count, uint32_t n, uint32_t rank)
{
	uint64_t first = 0;
	uint32_t i;

	for (i = 0; i < rank; i++)
		first += (count - first + (n - i) - 1) / (n - i);
	return first;
}

static inline int act_reduces(const struct act *a)
{
	return a->kind == PEAL_ALL_REDUCE || a->kind == PEAL_REDUCE ||
	       a->kind == PEAL_REDUCE_SCATTER;
}

static inline int act_exchanges(const struct fixture *s, const struct act *a)
{
	uint64_t most = a->count;

	if (a->kind == PEAL_REDUCE_SCATTER || a->kind == PEAL_ALL_GATHER ||
	    a->kind == PEAL_GATHER || a->kind == PEAL_SCATTER ||
	    a->kind == PEAL_ALL_TO_ALL)
		most = (most + s->n - 1) / s->n;
	return a->algorithm == PEAL_ALGORITHM_EXCHANGE ||
	       (!a->algorithm && most * act_bytes(a) <= PEAL_EXCHANGE_BYTES);
}

/* Reduces one element over a member and the members below it in the tree. The
 * member is v places behind the root in the ring. */
static inline void reduced_by_tree(const struct fixture *s, const struct act *a,
				   uint64_t i, uint32_t root, uint32_t v,
				   uint8_t *to)
{
	uint64_t e = act_bytes(a);
	uint8_t below[8];
	uint32_t step, last;

	memcpy(to, s->given[s->info.ring[(root + v) % s->n]] + i * e, e);
	for (step = 1; v % (2 * step) == 0 && v + step < s->n; step *= 2) {
		reduced_by_tree(s, a, i, root, v + step, below);
		last = !v && 2 * step >= s->n;
		combine(a, to, below, last ? s->n : 1);
	}
}

/* Reduces one element in the order that peal/communicator.h promises. */
static inline void reduced(const struct fixture *s, const struct act *a,
			   uint64_t i, uint8_t *to)
{
	uint64_t e = act_bytes(a);
	uint32_t owner = a->kind == PEAL_REDUCE ? a->root :
						  owner_of(a->count, s->n, i);
	uint32_t place = 0, k, rank;

	while (s->info.ring[place] != owner)
		place++;
	if (a->algorithm == PEAL_ALGORITHM_TREE) {
		reduced_by_tree(s, a, i, a->kind == PEAL_REDUCE ? place : 0, 0,
				to);
		return;
	}
	for (k = 0; k < s->n; k++) {
		rank = act_exchanges(s, a) ?
			       k :
			       s->info.ring[(place + 1 + k) % s->n];
		if (k)
			combine(a, to, s->given[rank] + i * e,
				k + 1 == s->n ? s->n : 1);
		else
			memcpy(to, s->given[rank] + i * e, e);
	}
}

/* A member uses nothing of a buffer, one part, the whole buffer, or a part of
 * each member. */
enum { NOTHING, PART, WHOLE, PARTS };

static inline int in_is(const struct act *a, uint32_t rank)
{
	if (a->kind == PEAL_ALL_GATHER || a->kind == PEAL_GATHER)
		return PART;
	if (a->kind == PEAL_BROADCAST || a->kind == PEAL_SCATTER)
		return rank == a->root ? WHOLE : NOTHING;
	return WHOLE;
}

static inline int out_is(const struct act *a, uint32_t rank)
{
	if (a->kind == PEAL_REDUCE_SCATTER || a->kind == PEAL_SCATTER)
		return PART;
	if (a->kind == PEAL_REDUCE || a->kind == PEAL_GATHER)
		return rank == a->root ? WHOLE : NOTHING;
	return a->kind == PEAL_ALL_TO_ALL ? PARTS : WHOLE;
}

static inline uint64_t span(const struct fixture *s, const struct act *a,
			    uint32_t rank, int is, uint64_t *first_out)
{
	uint64_t first = part_first(a->count, s->n, rank);
	uint64_t n = part_first(a->count, s->n, rank + 1) - first;

	*first_out = is == PART ? first : 0;
	if (is == NOTHING)
		return 0;
	if (is == PARTS)
		return n * s->n;
	return is == WHOLE ? a->count : n;
}

/* Returns an element of a collective without reduction, for a rank. It comes
 * from the root, from the owner of the element, or from each member in turn. */
static inline const uint8_t *
element(const struct fixture *s, const struct act *a, uint32_t rank, uint64_t i)
{
	uint64_t e = act_bytes(a), first, n;
	uint32_t owner;

	if (a->kind == PEAL_ALL_TO_ALL) {
		n = span(s, a, rank, PART, &first);
		return s->given[i / n] + (first + i % n) * e;
	}
	if (a->kind == PEAL_BROADCAST || a->kind == PEAL_SCATTER)
		return s->given[a->root] + i * e;
	owner = owner_of(a->count, s->n, i);
	return s->given[owner] + (i - part_first(a->count, s->n, owner)) * e;
}

/* Writes the expected output of a member, with its guard bytes, to `due`. */
static inline void make_due(struct fixture *s, const struct act *a,
			    uint32_t rank)
{
	uint64_t e = act_bytes(a), first,
		 n = span(s, a, rank, out_is(a, rank), &first), i;

	for (i = 0; i < n; i++) {
		if (act_reduces(a))
			reduced(s, a, first + i, s->due + i * e);
		else
			memcpy(s->due + i * e, element(s, a, rank, first + i),
			       e);
	}
	memset(s->due + n * e, BLANK, GUARD);
}

/* ---- runs ---------------------------------------------------------------- */

/* Returns the addresses of all buffers. In place, a member has one buffer. */
static inline void place_buffers(const struct fixture *s, const struct act *a,
				 uint64_t *in, uint64_t *out)
{
	uint64_t e = act_bytes(a), first, rank;

	for (rank = 0; rank < s->n; rank++) {
		in[rank] = s->in[rank];
		out[rank] = s->out[rank];
		if (!a->in_place)
			continue;
		first = part_first(a->count, s->n, (uint32_t)rank);
		in[rank] = out[rank];
		if (in_is(a, (uint32_t)rank) == PART)
			in[rank] += first * e;
		else if (out_is(a, (uint32_t)rank) == PART &&
			 in_is(a, (uint32_t)rank) == WHOLE)
			out[rank] += first * e;
	}
}

static inline void fixture_copy(const struct fixture *s, uint32_t rank,
				int to_host, uint64_t address, void *host,
				uint64_t bytes)
{
	int d = s->info.device[rank];
	uint64_t h = (uint64_t)(uintptr_t)host;

	if (to_host)
		CHECK_OK(peal_peer_copy(s->rt, PEAL_HOST_MEMORY, h, d, address,
					bytes));
	else
		CHECK_OK(peal_peer_copy(s->rt, d, address, PEAL_HOST_MEMORY, h,
					bytes));
}

static inline struct peal_collective
act_asks(const struct act *a, const uint64_t *in, const uint64_t *out)
{
	struct peal_collective c = { .size = sizeof(c),
				     .kind = a->kind,
				     .element = a->element,
				     .reduction = a->reduction,
				     .count = a->count,
				     .root = a->root,
				     .algorithm = a->algorithm,
				     .in = in,
				     .out = out };

	return c;
}

/* Gives all members new values and runs the collective. */
static inline void fixture_do(struct fixture *s, const struct act *a,
			      uint64_t *out)
{
	uint64_t in[PEAL_COMM_MAX], first, n, e = act_bytes(a);
	struct peal_collective c;
	uint32_t i;

	place_buffers(s, a, in, out);
	c = act_asks(a, in, out);
	memset(s->got, BLANK, s->bytes);
	for (i = 0; i < s->n; i++)
		if (fixture_has(s, i))
			fixture_copy(s, i, 0, s->out[i], s->got, s->bytes);
	for (i = 0; i < s->n; i++) {
		n = span(s, a, i, in_is(a, i), &first);
		act_fill(a, s->given[i], n, ++s->turn << 32);
		if (fixture_has(s, i))
			fixture_copy(s, i, 0, in[i], s->given[i], n * e);
	}
	CHECK_OK(peal_collective_run(s->g, &c, MAX_WAIT));
}

/* Runs the collective and checks every byte of the members' outputs. */
static inline void fixture_check(struct fixture *s, struct act a)
{
	uint64_t out[PEAL_COMM_MAX], first, n, e = act_bytes(&a);
	uint32_t i;

	fixture_do(s, &a, out);
	for (i = 0; i < s->n; i++) {
		if (!fixture_has(s, i))
			continue;
		/* equal for all members: all-reduce, broadcast */
		if (!i || s->processes ||
		    (a.kind != PEAL_ALL_REDUCE && a.kind != PEAL_BROADCAST))
			make_due(s, &a, i);
		n = span(s, &a, i, out_is(&a, i), &first) * e;
		/* in place, the input may lie behind the output */
		fixture_copy(s, i, 1, out[i], s->got,
			     n + (a.in_place ? 0 : GUARD));
		if (memcmp(s->got, s->due, n + (a.in_place ? 0 : GUARD)))
			fprintf(stderr,
				"kind %u element %u reduction %u root %u "
				"algorithm %u count %llu in place %d: rank "
				"%u of %u\n",
				a.kind, a.element, a.reduction, a.root,
				a.algorithm, (unsigned long long)a.count,
				a.in_place, i, s->n);
		CHECK(!memcmp(s->got, s->due, n + (a.in_place ? 0 : GUARD)));
	}
}

#endif
