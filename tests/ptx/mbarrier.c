/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"
#include "check.h"

#include <string.h>

/*
 * mbarriers: objects of 64 bits in shared memory. A phase ends when no arrival
 * is pending and all announced bytes have arrived (PTX ISA 8.0, "mbarrier").
 *
 * bits 0 .. 19 pending arrivals, 20 .. 39 arrivals of a phase, 40 .. 61 bytes
 * that are announced and have not arrived, 62 valid, 63 parity of the phase.
 * A state is a copy of the object before an arrival.
 */

#define COUNT_BITS 20
#define COUNT_MAX ((1u << COUNT_BITS) - 1)
#define BYTES_BITS 22
#define BYTES_MAX ((int32_t)COUNT_MAX)

struct mbarrier {
	uint32_t pending, count;
	int32_t bytes;
	int valid, parity;
};

static struct mbarrier unpack(uint64_t word)
{
	uint32_t bytes = (uint32_t)(word >> 2 * COUNT_BITS) &
			 ((1u << BYTES_BITS) - 1);
	uint32_t unused = 32 - BYTES_BITS;

	return (struct mbarrier){
		.pending = (uint32_t)word & COUNT_MAX,
		.count = (uint32_t)(word >> COUNT_BITS) & COUNT_MAX,
		.bytes = (int32_t)(bytes << unused) >> unused,
		.valid = (int)(word >> 62 & 1),
		.parity = (int)(word >> 63),
	};
}

static uint64_t pack(const struct mbarrier *m)
{
	uint64_t bytes = (uint32_t)m->bytes & ((1u << BYTES_BITS) - 1);

	return m->pending | (uint64_t)m->count << COUNT_BITS |
	       bytes << 2 * COUNT_BITS | (uint64_t)m->valid << 62 |
	       (uint64_t)m->parity << 63;
}

static void end_phase(struct mbarrier *m)
{
	if (m->pending || m->bytes)
		return;
	m->parity ^= 1;
	m->pending = m->count;
}

/* ---- changes: each returns NULL, or a text: a wrong use ------------------- */

static const char *announce(struct mbarrier *m, int64_t bytes)
{
	int64_t sum = m->bytes + bytes;

	if (sum > BYTES_MAX || sum < -BYTES_MAX)
		return "more than 1048575 bytes of an mbarrier are announced";
	m->bytes = (int32_t)sum;
	return NULL;
}

static int is_drop(enum ptx_mbarrier operation)
{
	return operation >= PTX_MBARRIER_DROP &&
	       operation <= PTX_MBARRIER_DROP_NO_COMPLETE;
}

static int expects(enum ptx_mbarrier operation)
{
	return operation == PTX_MBARRIER_ARRIVE_EXPECT ||
	       operation == PTX_MBARRIER_DROP_EXPECT;
}

static int must_not_complete(enum ptx_mbarrier operation)
{
	return operation == PTX_MBARRIER_ARRIVE_NO_COMPLETE ||
	       operation == PTX_MBARRIER_DROP_NO_COMPLETE;
}

/* `value` is a number of bytes if the arrival expects bytes, else of arrivals. */
static const char *arrive(struct mbarrier *m, enum ptx_mbarrier operation,
			  uint32_t value)
{
	uint32_t n = expects(operation) ? 1 : value;
	const char *wrong = expects(operation) ? announce(m, value) : NULL;

	if (wrong)
		return wrong;
	if (!n || n > m->pending)
		return "more arrivals at an mbarrier than are pending";
	m->pending -= n;
	if (is_drop(operation))
		m->count -= n;
	if (must_not_complete(operation) && !m->pending && !m->bytes)
		return "an arrival with .noComplete ends the phase";
	end_phase(m);
	return NULL;
}

static const char *change(struct mbarrier *m, enum ptx_mbarrier operation,
			  uint32_t value)
{
	const char *wrong;

	if (!m->valid)
		return "no mbarrier is at this address";
	if (operation == PTX_MBARRIER_INVAL) {
		memset(m, 0, sizeof(*m));
		return NULL;
	}
	if (operation == PTX_MBARRIER_EXPECT)
		return announce(m, value);
	if (operation != PTX_MBARRIER_COMPLETE)
		return arrive(m, operation, value);
	wrong = announce(m, -(int64_t)value);
	if (!wrong)
		end_phase(m);
	return wrong;
}

/* Changes an mbarrier atomically. Sets the word before the change. */
static const char *update(uint64_t *at, enum ptx_mbarrier operation,
			  uint32_t value, uint64_t *before)
{
	uint64_t old = PTX_GET(uint64_t, at);
	struct mbarrier m;
	const char *wrong;

	do {
		m = unpack(old);
		wrong = change(&m, operation, value);
	} while (!wrong && !atomic_compare_exchange_strong(
				   (_Atomic uint64_t *)at, &old, pack(&m)));
	*before = old;
	return wrong;
}

const char *ptx_mbarrier_complete(uint64_t *mbarrier, uint32_t bytes)
{
	uint64_t before;

	return update(mbarrier, PTX_MBARRIER_COMPLETE, bytes, &before);
}

/* ---- instructions -------------------------------------------------------- */

uint64_t *ptx_mbarrier_at(struct ptx_lane *lane,
			  const struct ptx_instruction *in, uint64_t address,
			  enum ptx_space space)
{
	uint64_t *at = ptx_memory_span(lane, in, space, address, 8, 8, 1);

	if (!at || ptx_is_shared(lane, (uintptr_t)at))
		return at;
	ptx_fault(lane, in, PTX_FAULT_BOUNDS, address,
		  "an mbarrier at %#llx is not in shared memory",
		  (unsigned long long)address);
	return NULL;
}

/* Returns the text of a wrong use, or NULL. */
static const char *init(uint64_t *at, uint32_t count)
{
	struct mbarrier m = { .pending = count, .count = count, .valid = 1 };

	if (!count || count > COUNT_MAX)
		return "the count of an mbarrier is not in 1 .. 1048575";
	PTX_PUT(uint64_t, at, pack(&m));
	return NULL;
}

/* Tests if a phase has ended: the phase of a state, or of a parity. */
static const char *test(const uint64_t *at, int parity, uint64_t *done)
{
	struct mbarrier m = unpack(PTX_GET(uint64_t, at));

	if (!m.valid)
		return "no mbarrier is at this address";
	*done = m.parity != parity;
	return NULL;
}

static const char *execute(struct ptx_lane *lane,
			   const struct ptx_instruction *in, uint64_t *at)
{
	uint64_t *r = lane->registers, unused;
	uint64_t *result = in->d == PTX_NO_SLOT ? &unused : &r[in->d];

	switch ((enum ptx_mbarrier)in->mode) {
	case PTX_MBARRIER_INIT:
		return init(at, (uint32_t)r[in->b]);
	case PTX_MBARRIER_TEST:
		return test(at, unpack(r[in->b]).parity, result);
	case PTX_MBARRIER_PARITY:
		return test(at, (int)(r[in->b] & 1), result);
	default:
		return update(at, (enum ptx_mbarrier)in->mode,
			      (uint32_t)r[in->b], result);
	}
}

int ptx_mbarrier(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	uint64_t *r = lane->registers, *at, address;
	const char *wrong;

	if (in->mode == PTX_MBARRIER_PENDING) {
		r[in->d] = unpack(r[in->b]).pending;
		return 1;
	}
	address = r[in->a] + (uint64_t)in->offset;
	at = ptx_mbarrier_at(lane, in, address, (enum ptx_space)in->space);
	if (!at)
		return 0;
	wrong = execute(lane, in, at);
	if (!wrong && ptx_is_phase_test(in) && !r[in->d])
		lane->state = PTX_SLEEPS; /* others run first */
	if (!wrong)
		ptx_order_mbarrier(lane, in, at);
	if (wrong)
		ptx_fault(lane, in, PTX_FAULT_BARRIER, address, "%s (%#llx)",
			  wrong, (unsigned long long)address);
	return !wrong;
}
