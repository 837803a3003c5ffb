/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "c11_model/engine.h"

/*
 * Checks plain accesses. The instances are compiled with -fsanitize=thread, and
 * this file replaces the sanitizer's library. The compiler calls __tsan_read4
 * and similar functions at each access.
 *
 * Each byte has the clocks of its last accesses. Two accesses are a data race
 * if one writes and neither happens before the other. So a plain load may
 * simply read the memory. If an older value were possible, there would be a
 * race.
 *
 * Source: Flanagan, Freund, "FastTrack: efficient and precise dynamic race
 * detection", PLDI 2009.
 */

/* Of one byte. */
struct shadow {
	uint32_t run; /* execution of this data; another one: no accesses */
	uint32_t threads; /* bit per thread that has accessed the byte */
	uint32_t clock[4][MODEL_THREADS]; /* by enum access; 0: none */
};

static struct shadow shadows[MEMORY_BYTES];

/* [kind][other]: 1 if each `other` access must have happened before. */
static const uint8_t conflicts[4][4] = {
	[PLAIN_READ] = { [PLAIN_WRITE] = 1, [ATOMIC_STORE] = 1 },
	[PLAIN_WRITE] = { 1, 1, 1, 1 },
	[ATOMIC_LOAD] = { [PLAIN_WRITE] = 1 },
	[ATOMIC_STORE] = { [PLAIN_READ] = 1, [PLAIN_WRITE] = 1 },
};

static const char *const access_names[] = { "plain read", "plain write",
					    "atomic load", "atomic store" };

int64_t memory_at(const void *p)
{
	uintptr_t at = (uintptr_t)p - (uintptr_t)model_arena;

	/* gaps and the unused end count as memory: check_byte reports them */
	return at < sizeof(model_arena) ? (int64_t)at : -1;
}

static void race(enum access kind, enum access other, uint32_t thread,
		 uint32_t at)
{
	char name[64];

	model_fail("data race on %s: %s by thread %u, %s by thread %u",
		   memory_name(at, name, sizeof(name)), access_names[other],
		   thread, access_names[kind], engine.running->self);
}

/* Fails if the access races with one of another thread. */
static void check_order(enum access kind, uint32_t at)
{
	const struct thread *t = engine.running;
	const struct shadow *s = &shadows[at];
	uint32_t i, k;

	for (k = 0; k < 4; k++)
		for (i = 0; conflicts[kind][k] && i < MODEL_THREADS; i++)
			if (i != t->self && s->clock[k][i] > t->now.clock[i])
				race(kind, (enum access)k, i, at);
}

static void check_byte(enum access kind, uint32_t at)
{
	const struct thread *t = engine.running;
	struct shadow *s = &shadows[at];
	char name[64];

	if (s->run != engine.run) {
		if (!engine.owned[at])
			model_fail("%s of %s, out of bounds",
				   access_names[kind],
				   memory_name(at, name, sizeof(name)));
		memset(s, 0, sizeof(*s));
		s->run = engine.run;
	}
	s->threads |= 1u << t->self;
	if (s->threads & ~(1u << t->self))
		check_order(kind, at);
	s->clock[kind][t->self] = t->now.clock[t->self];
}

void access_check(enum access kind, uint32_t at, uint32_t bytes, void *pc)
{
	uint8_t mark = (uint8_t)(1u << engine.running->self);
	uint32_t i;

	if (kind == PLAIN_WRITE)
		mark |= TOUCHED_WRITTEN;
	for (i = 0; engine.search->replay && i < bytes; i++)
		engine.touched[at + i] |= mark;
	if (kind == PLAIN_READ || kind == PLAIN_WRITE)
		trace_plain(kind, at, bytes, pc);
	for (i = 0; i < bytes; i++)
		check_byte(kind, at + i);
}

static void plain(enum access kind, const void *p, size_t bytes, void *pc)
{
	int64_t at = engine.running ? memory_at(p) : -1;

	if (at >= 0 && bytes)
		access_check(kind, (uint32_t)at, (uint32_t)bytes, pc);
}

/* ---- functions that the compiler calls ----------------------------------- */

#define ACCESS(name, bytes)                                                    \
	void __tsan_read##name(void *p);                                       \
	void __tsan_read##name(void *p)                                        \
	{                                                                      \
		plain(PLAIN_READ, p, bytes, __builtin_return_address(0));      \
	}                                                                      \
	void __tsan_write##name(void *p);                                      \
	void __tsan_write##name(void *p)                                       \
	{                                                                      \
		plain(PLAIN_WRITE, p, bytes, __builtin_return_address(0));     \
	}
#define UNALIGNED(name, bytes)                                                 \
	void __tsan_unaligned_read##name(void *p);                             \
	void __tsan_unaligned_read##name(void *p)                              \
	{                                                                      \
		plain(PLAIN_READ, p, bytes, __builtin_return_address(0));      \
	}                                                                      \
	void __tsan_unaligned_write##name(void *p);                            \
	void __tsan_unaligned_write##name(void *p)                             \
	{                                                                      \
		plain(PLAIN_WRITE, p, bytes, __builtin_return_address(0));     \
	}
ACCESS(1, 1)
ACCESS(2, 2)
ACCESS(4, 4)
ACCESS(8, 8)
ACCESS(16, 16)
UNALIGNED(2, 2)
UNALIGNED(4, 4)
UNALIGNED(8, 8)
UNALIGNED(16, 16)

void __tsan_read_range(void *p, size_t bytes);
void __tsan_read_range(void *p, size_t bytes)
{
	plain(PLAIN_READ, p, bytes, __builtin_return_address(0));
}

void __tsan_write_range(void *p, size_t bytes);
void __tsan_write_range(void *p, size_t bytes)
{
	plain(PLAIN_WRITE, p, bytes, __builtin_return_address(0));
}

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc)
{
	(void)pc;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

/* ---- copies, which the compiler does not instrument ---------------------- */

void *model_memcpy(void *to, const void *from, size_t bytes)
{
	plain(PLAIN_READ, from, bytes, __builtin_return_address(0));
	plain(PLAIN_WRITE, to, bytes, __builtin_return_address(0));
	return memcpy(to, from, bytes);
}

void *model_memset(void *to, int value, size_t bytes)
{
	plain(PLAIN_WRITE, to, bytes, __builtin_return_address(0));
	return memset(to, value, bytes);
}
