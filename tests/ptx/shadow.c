/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/*
 * Which bits of device memory are undefined: nothing has written them. A page
 * of the device has an entry in a tree of three levels. All devices of the
 * process share the tree. Threads of blocks read it without a lock.
 */

#define PAGE 4096u
#define LEVEL_BITS 12
#define LEVEL (1u << LEVEL_BITS)

typedef _Atomic uintptr_t entry;

/* Entries of pages. Another value is the address of PAGE bytes with one bit for
 * each bit of the page, 1 for undefined. */
#define UNTRACKED 0
#define UNDEFINED 1
#define DEFINED 2

static entry root[LEVEL];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t spare; /* list of unused bits: each begins with the next one */

/* Returns the table below an entry. Creates it if `create`. */
static entry *below(entry *e, int create)
{
	uintptr_t table = atomic_load_explicit(e, memory_order_acquire);

	if (!table && create) {
		table = (uintptr_t)calloc(LEVEL, sizeof(entry));
		atomic_store_explicit(e, table, memory_order_release);
	}
	return (entry *)table;
}

/* Returns the entry of an address's page, or NULL. The caller that creates
 * holds `lock`. */
static entry *find(uint64_t address, int create)
{
	uint64_t page = address / PAGE;
	entry *table;

	if (page >> 3 * LEVEL_BITS)
		return NULL;
	table = below(&root[page >> 2 * LEVEL_BITS], create);
	if (table)
		table = below(&table[page >> LEVEL_BITS & (LEVEL - 1)], create);
	return table ? &table[page & (LEVEL - 1)] : NULL;
}

/* The caller holds `lock`. */
static uint8_t *take_spare(void)
{
	uint8_t *bits = (uint8_t *)spare;

	if (!bits)
		return malloc(PAGE);
	memcpy(&spare, bits, sizeof(spare));
	return bits;
}

/* A thread may still read the bits, so they are not freed. */
static void put_spare(uintptr_t bits)
{
	memcpy((uint8_t *)bits, &spare, sizeof(spare));
	spare = bits;
}

/* Returns the entry's bits, which may not exist yet, or NULL. */
static _Atomic uint8_t *bits_of(entry *e)
{
	uintptr_t value;
	uint8_t *bits;

	pthread_mutex_lock(&lock);
	value = atomic_load(e);
	if (value == UNDEFINED || value == DEFINED) {
		bits = take_spare();
		if (bits)
			memset(bits, value == UNDEFINED ? 0xff : 0, PAGE);
		value = (uintptr_t)bits;
		if (bits)
			atomic_store(e, value);
	}
	pthread_mutex_unlock(&lock);
	return (_Atomic uint8_t *)value;
}

/* Gives the entries of whole pages another value. */
static void set_pages(uint64_t address, uint64_t bytes, uintptr_t value,
		      int create)
{
	uint64_t at = (address + PAGE - 1) / PAGE * PAGE;
	uint64_t end = (address + bytes) / PAGE * PAGE;
	uintptr_t before;
	entry *e;

	pthread_mutex_lock(&lock);
	for (; at < end; at += PAGE) {
		e = find(at, create);
		before = e ? atomic_load(e) : UNTRACKED;
		if (!e || (!create && before == UNTRACKED))
			continue;
		atomic_store(e, value);
		if (before > DEFINED)
			put_spare(before);
	}
	pthread_mutex_unlock(&lock);
}

void ptx_memory_track(uint64_t address, uint64_t bytes)
{
	set_pages(address, bytes, UNDEFINED, 1);
}

void ptx_memory_untrack(uint64_t address, uint64_t bytes)
{
	set_pages(address, bytes, UNTRACKED, 0);
}

void ptx_shadow_put(uint64_t address, uint32_t n, const uint8_t *undefined)
{
	entry *e = find(address, 0);
	uintptr_t value = e ? atomic_load(e) : UNTRACKED;
	_Atomic uint8_t *bits;
	uint8_t any = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		any |= undefined[i];
	if (value == UNTRACKED || (value == DEFINED && !any))
		return;
	bits = bits_of(e);
	for (i = 0; bits && i < n; i++)
		atomic_store(&bits[address % PAGE + i], undefined[i]);
}

void ptx_shadow_get(uint64_t address, uint32_t n, uint8_t *undefined)
{
	entry *e = find(address, 0);
	uintptr_t value = e ? atomic_load(e) : UNTRACKED;
	_Atomic uint8_t *bits = (_Atomic uint8_t *)value;
	uint32_t i;

	if (value <= DEFINED) {
		memset(undefined, value == UNDEFINED ? 0xff : 0, n);
		return;
	}
	for (i = 0; i < n; i++)
		undefined[i] = atomic_load(&bits[address % PAGE + i]);
}

/* Calls ptx_shadow_put() for each page that the bytes are in. `from` is 0 for defined
 * bytes, or the address that has their bits. */
static void put_pages(uint64_t to, uint64_t from, uint64_t bytes)
{
	uint8_t undefined[PAGE] = { 0 };
	uint32_t n;

	for (; bytes; bytes -= n, to += n, from += from ? n : 0) {
		n = PAGE - (uint32_t)(to % PAGE);
		if (from && n > PAGE - from % PAGE)
			n = PAGE - (uint32_t)(from % PAGE);
		n = n < bytes ? n : (uint32_t)bytes;
		if (from)
			ptx_shadow_get(from, n, undefined);
		ptx_shadow_put(to, n, undefined);
	}
}

void ptx_memory_written(uint64_t address, uint64_t bytes)
{
	uint64_t begin = (address + PAGE - 1) / PAGE * PAGE;
	uint64_t end = (address + bytes) / PAGE * PAGE;

	if (begin >= end) {
		put_pages(address, 0, bytes);
		return;
	}
	put_pages(address, 0, begin - address);
	set_pages(begin, end - begin, DEFINED, 0);
	put_pages(end, 0, address + bytes - end);
}

void ptx_memory_copied(uint64_t to, uint64_t from, uint64_t bytes)
{
	put_pages(to, from, bytes);
}
