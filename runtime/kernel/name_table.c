/* SPDX-License-Identifier: Apache-2.0 */
/* The table of names of addresses. See name_table.h. */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/name.h>
#include "runtime/kernel/name_table.h"

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/kernel.h"
#include "runtime/runtime.h"

/* An address with a name: an element of the tree by_address. */
struct known {
	uint64_t address;
	struct named *as;
	struct known *former; /* the actor's former address, or NULL */
};

/* A name: an element of the tree by_name. */
struct named {
	struct known *newest;
	char name[PEAL_NAME_BYTES];
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name,
		      ((const struct named *)b)->name);
}

static int by_number(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_address(const void *a, const void *b)
{
	return by_number(((const struct known *)a)->address,
			 ((const struct known *)b)->address);
}

/* Compares the kernels of two addresses. */
static int by_kernel(const void *a, const void *b)
{
	return by_number(((const struct known *)a)->address >> 32,
			 ((const struct known *)b)->address >> 32);
}

/*
 * Returns the element that tfind has found, or NULL. tfind returns the address
 * of the tree's own pointer.
 */
static void *found(void *const *at)
{
	return at ? *at : NULL;
}

static struct named *with_name(const struct peali_names *names,
			       const char *name)
{
	struct named key = { .newest = NULL };

	if (strlen(name) >= sizeof(key.name))
		return NULL;
	strcpy(key.name, name);
	return found(tfind(&key, &names->by_name, by_name));
}

static struct named *with_address(const struct peali_names *names,
				  uint64_t address)
{
	const struct known key = { .address = address };
	const struct known *k =
		found(tfind(&key, &names->by_address, by_address));

	return k ? k->as : NULL;
}

/* ---- the table ----------------------------------------------------------- */

void peali_names_init(struct peali_names *names)
{
	pthread_mutex_init(&names->lock, NULL);
}

/* Removes a name and its addresses from both trees and frees them. */
static void drop(struct peali_names *names, struct named *e)
{
	struct known *known;

	tdelete(e, &names->by_name, by_name);
	while ((known = e->newest)) {
		e->newest = known->former;
		tdelete(known, &names->by_address, by_address);
		free(known);
	}
	names->n--;
	free(e);
}

/*
 * Adds an address to a name as the newest one. Returns 0, or -1 if there is no
 * memory.
 */
static int know(struct peali_names *names, struct named *e, uint64_t address)
{
	struct known *known = calloc(1, sizeof(*known));

	if (!known)
		return -1;
	known->address = address;
	known->as = e;
	known->former = e->newest;
	if (!tsearch(known, &names->by_address, by_address)) {
		free(known);
		return -1;
	}
	e->newest = known;
	return 0;
}

void peali_names_clear(struct peali_names *names)
{
	while (names->by_name)
		drop(names, *(struct named **)names->by_name);
	pthread_mutex_destroy(&names->lock);
}

static void forget(struct peali_names *names, struct named *e)
{
	pthread_mutex_lock(&names->lock);
	drop(names, e);
	pthread_mutex_unlock(&names->lock);
}

/*
 * Returns whether the address was of an actor that a handler has made and that
 * has ended. The workers do not tell the host about such an end.
 */
static int was_spawned(struct peal_runtime *rt, uint64_t address)
{
	const struct peal_kernel *k = rt->kernels;

	while (k && (k->params.address ^ address) >> 32)
		k = k->next;
	return k && peali_is_spawned(k, address) &&
	       !peali_kernel_of(rt, address);
}

int peali_name_check(struct peal_runtime *rt, const char *name,
		     const char *call)
{
	struct named *e;

	if (!*name || strlen(name) >= PEAL_NAME_BYTES)
		return peali_refuse_name(call, name, PEAL_NAME_BYTES - 1);
	e = with_name(&rt->names, name);
	if (e && was_spawned(rt, e->newest->address)) {
		forget(&rt->names, e);
		e = NULL;
	}
	if (e)
		return peali_fail(PEAL_EEXIST, call,
				  "the address %#llx has the name '%s'",
				  (unsigned long long)e->newest->address, name);
	return 0;
}

int peali_name_give(struct peal_runtime *rt, uint64_t address, const char *name,
		    const char *call)
{
	struct peali_names *names = &rt->names;
	struct named *e = calloc(1, sizeof(*e));
	int given = 0;

	if (e) {
		strcpy(e->name, name);
		pthread_mutex_lock(&names->lock);
		given = tsearch(e, &names->by_name, by_name) &&
			!know(names, e, address);
		names->n++;
		if (!given)
			drop(names, e);
		pthread_mutex_unlock(&names->lock);
	}
	return given ? 0 :
		       peali_fail(PEAL_ENOMEM, call, "no memory for a name");
}

void peali_name_follow(struct peal_runtime *rt, uint64_t from, uint64_t to)
{
	struct named *e;

	pthread_mutex_lock(&rt->names.lock);
	e = with_address(&rt->names, from);
	if (e)
		know(&rt->names, e, to);
	pthread_mutex_unlock(&rt->names.lock);
}

const char *peali_name_text(struct peal_runtime *rt, uint64_t address,
			    char text[PEAL_NAME_BYTES + 3])
{
	const struct named *e;

	pthread_mutex_lock(&rt->names.lock);
	e = with_address(&rt->names, address);
	snprintf(text, PEAL_NAME_BYTES + 3, e ? " '%s'" : "%s",
		 e ? e->name : "");
	pthread_mutex_unlock(&rt->names.lock);
	return text;
}

void peali_name_forget(struct peal_runtime *rt, uint64_t address)
{
	struct named *e = rt->names.n ? with_address(&rt->names, address) :
					NULL;

	if (e)
		forget(&rt->names, e);
}

void peali_name_forget_kernel(struct peal_runtime *rt, uint64_t address)
{
	const struct known key = { .address = address };
	const struct known *k;

	while ((k = found(tfind(&key, &rt->names.by_address, by_kernel))))
		forget(&rt->names, k->as);
}

/* ---- for the public calls ------------------------------------------------ */

int peali_name_find(struct peal_runtime *rt, const char *name,
		    uint64_t *address_out)
{
	const struct named *e;

	pthread_mutex_lock(&rt->names.lock);
	e = with_name(&rt->names, name);
	if (e)
		*address_out = e->newest->address;
	pthread_mutex_unlock(&rt->names.lock);
	return e != NULL;
}

int peali_name_of(struct peal_runtime *rt, uint64_t address,
		  char name_out[PEAL_NAME_BYTES])
{
	const struct named *e;

	pthread_mutex_lock(&rt->names.lock);
	e = with_address(&rt->names, address);
	if (e)
		memcpy(name_out, e->name, sizeof(e->name));
	pthread_mutex_unlock(&rt->names.lock);
	return e != NULL;
}

int peali_name_clear(struct peal_runtime *rt, const char *name)
{
	struct named *e = with_name(&rt->names, name);

	if (e)
		forget(&rt->names, e);
	return e != NULL;
}
