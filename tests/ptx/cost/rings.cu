/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings as one writes them in CUDA without Peal. The kernels put or take n
 * messages for each lane. Each kernel adds the messages of lane 0 to *done.
 *
 *	ticket	an atomic add takes a ticket, a turn word publishes the slot
 *	cas	compare-and-swap claims a slot if its turn word fits
 *	flag	one producer, one consumer, a flag and fences per slot
 *	broker	broker queue (Kerbl et al., ICS 2018): a count admits, tickets
 *		order. One lane of a warp adds for all its lanes.
 */
#include "rings.h"

#define DEV static __device__ __forceinline__

struct m16 {
	uint4 part[1];
};
struct m64 {
	uint4 part[4];
};

DEV uint64_t look(const uint64_t *word)
{
	return *(const volatile uint64_t *)word;
}

DEV void set(uint64_t *word, uint64_t value)
{
	*(volatile uint64_t *)word = value;
}

DEV uint64_t add(uint64_t *word, uint64_t n)
{
	return atomicAdd((unsigned long long *)word, (unsigned long long)n);
}

DEV struct ring_slot *slot_of(struct ring *r, uint64_t number)
{
	return &r->slots[number % RING_SLOTS];
}

DEV uint64_t free_turn(uint64_t number)
{
	return 2 * (number / RING_SLOTS);
}

/* Writes a message to a free slot and publishes it. */
template <typename M>
DEV void fill(struct ring_slot *slot, uint64_t turn, const M *item)
{
	*(M *)slot->payload = *item;
	__threadfence();
	set(&slot->turn, turn + 1);
}

/* Reads a message from a full slot and frees the slot. */
template <typename M>
DEV void drain(struct ring_slot *slot, uint64_t turn, M *item)
{
	__threadfence();
	*item = *(const M *)slot->payload;
	__threadfence();
	set(&slot->turn, turn + 2);
}

DEV void await(const struct ring_slot *slot, uint64_t turn)
{
	while (look(&slot->turn) != turn)
		;
}

/* ---- ticket -------------------------------------------------------------- */

template <typename M> DEV int ticket_put(struct ring *r, const M *item)
{
	uint64_t number = add(&r->tail, 1);
	struct ring_slot *slot = slot_of(r, number);

	await(slot, free_turn(number));
	fill(slot, free_turn(number), item);
	return 1;
}

template <typename M> DEV int ticket_take(struct ring *r, M *item)
{
	uint64_t number = add(&r->head, 1);
	struct ring_slot *slot = slot_of(r, number);

	await(slot, free_turn(number) + 1);
	drain(slot, free_turn(number), item);
	return 1;
}

/* ---- compare-and-swap ---------------------------------------------------- */

/* Claims the number at `next`. Its slot must have that turn. Returns 0 if the
 * ring is full or empty. */
DEV int claim(struct ring *r, uint64_t *next, uint64_t ahead,
	      uint64_t *number_out)
{
	uint64_t number = look(next), turn, old;

	for (;;) {
		turn = look(&slot_of(r, number)->turn);
		if (turn == free_turn(number) + ahead) {
			old = atomicCAS((unsigned long long *)next, number,
					number + 1);
			if (old == number)
				break;
			number = old;
		} else if (turn < free_turn(number) + ahead) {
			return 0;
		} else {
			number = look(next);
		}
	}
	*number_out = number;
	return 1;
}

template <typename M> DEV int cas_put(struct ring *r, const M *item)
{
	uint64_t number;

	if (!claim(r, &r->tail, 0, &number))
		return 0;
	fill(slot_of(r, number), free_turn(number), item);
	return 1;
}

template <typename M> DEV int cas_take(struct ring *r, M *item)
{
	uint64_t number;

	if (!claim(r, &r->head, 1, &number))
		return 0;
	drain(slot_of(r, number), free_turn(number), item);
	return 1;
}

/* ---- flag and fence ------------------------------------------------------ */

template <typename M> DEV int flag_put(struct ring *r, const M *item)
{
	struct ring_slot *slot = slot_of(r, r->tail);
	uint64_t turn = free_turn(r->tail);

	if (look(&slot->turn) != turn)
		return 0;
	fill(slot, turn, item);
	r->tail++;
	return 1;
}

template <typename M> DEV int flag_take(struct ring *r, M *item)
{
	struct ring_slot *slot = slot_of(r, r->head);
	uint64_t turn = free_turn(r->head);

	if (look(&slot->turn) != turn + 1)
		return 0;
	drain(slot, turn, item);
	r->head++;
	return 1;
}

/* ---- broker queue -------------------------------------------------------- */

DEV int is_leader(void)
{
	return threadIdx.x % 32 == 0;
}

/* A block is one lane or a warp. All lanes call the functions below together. */
DEV uint32_t n_lanes(void)
{
	return blockDim.x == 1 ? 1 : 32;
}

DEV uint64_t from_leader(uint64_t value)
{
	return __shfl_sync(n_lanes() == 1 ? 1 : 0xffffffff, value, 0);
}

/* The leader takes tickets for all lanes. Returns the lane's ticket. */
DEV uint64_t take_tickets(uint64_t *word)
{
	uint64_t first = 0;

	if (is_leader())
		first = add(word, n_lanes());
	return from_leader(first) + threadIdx.x % 32;
}

/* The leader adds a message of each lane to the count. Returns 0 if the ring is
 * full. */
DEV int admit_put(struct ring *r)
{
	uint64_t n = n_lanes(), fits = 0;

	if (is_leader() && look(&r->count) + n <= RING_SLOTS) {
		fits = add(&r->count, n) + n <= RING_SLOTS;
		if (!fits)
			add(&r->count, 0 - n);
	}
	return (int)from_leader(fits);
}

/* The leader takes a message for each lane off the count. Returns 0 if the ring
 * has too few. */
DEV int admit_take(struct ring *r)
{
	int64_t n = n_lanes();
	uint64_t fits = 0;

	if (is_leader() && (int64_t)look(&r->count) >= n) {
		fits = (int64_t)add(&r->count, (uint64_t)-n) >= n;
		if (!fits)
			add(&r->count, (uint64_t)n);
	}
	return (int)from_leader(fits);
}

template <typename M> DEV int broker_put(struct ring *r, const M *item)
{
	uint64_t number;

	if (!admit_put(r))
		return 0;
	number = take_tickets(&r->tail);
	await(slot_of(r, number), free_turn(number));
	fill(slot_of(r, number), free_turn(number), item);
	return 1;
}

template <typename M> DEV int broker_take(struct ring *r, M *item)
{
	uint64_t number;

	if (!admit_take(r))
		return 0;
	number = take_tickets(&r->head);
	await(slot_of(r, number), free_turn(number) + 1);
	drain(slot_of(r, number), free_turn(number), item);
	return 1;
}

/* ---- kernels ------------------------------------------------------------- */

#define KERNEL(name, m, bytes)                                                 \
	extern "C" __global__ void name##_##bytes(struct ring *r, void *end,   \
						  m *items, uint64_t n,        \
						  uint64_t *done)              \
	{                                                                      \
		uint64_t i = 0;                                                \
                                                                               \
		(void)end;                                                     \
		while (i < n && name(r, items + i * blockDim.x + threadIdx.x)) \
			i++;                                                   \
		if (!threadIdx.x)                                              \
			*done += i;                                            \
	}
#define KERNELS(name)                                                          \
	KERNEL(name##_put, m16, 16)                                            \
	KERNEL(name##_take, m16, 16)                                           \
	KERNEL(name##_put, m64, 64)                                            \
	KERNEL(name##_take, m64, 64)

KERNELS(ticket)
KERNELS(cas)
KERNELS(flag)
KERNELS(broker)
