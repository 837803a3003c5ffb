/* SPDX-License-Identifier: Apache-2.0 */
/* Gives names to actors, pools, endpoints and topics, and finds them. */
#include <peal/name.h>

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/name_table.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/topic.h"
#include "runtime/runtime.h"

/*
 * Returns whether an actor, pool, endpoint or topic has the address. The caller
 * holds the runtime's lock.
 */
static int is_somebodys(struct peal_runtime *rt, uint64_t address)
{
	struct peal_kernel *k = NULL;

	return peali_endpoint_of(rt, address) || peali_kernel_of(rt, address) ||
	       peali_pool_at(rt, address, &k) ||
	       peali_topic_of(rt, address, "peal_name_set");
}

static int set(struct peal_runtime *rt, uint64_t address, const char *name)
{
	const char *call = "peal_name_set";
	char old[PEAL_NAME_BYTES];
	uint64_t next;
	int result = peali_name_check(rt, name, call);

	if (result)
		return result;
	if (!is_somebodys(rt, address))
		return peali_refuse_address(call, "address", address,
					    "actor, pool, endpoint or topic");
	if (peali_name_of(rt, address, old))
		return peali_fail(PEAL_EEXIST, call,
				  "the address %#llx has the name '%s'; call "
				  "peal_name_clear first",
				  (unsigned long long)address, old);
	address = peali_address_first(rt, address);
	result = peali_name_give(rt, address, name, call);
	while (!result && (next = peali_address_next(rt, address))) {
		peali_name_follow(rt, address, next);
		address = next;
	}
	return result;
}

int peal_name_set(struct peal_runtime *rt, uint64_t address, const char *name)
{
	int result;

	if (!rt || !name)
		return peali_refuse_null("peal_name_set", "runtime or name");
	if (peali_foreign(&rt->owner, "peal_name_set"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&rt->lock);
	result = set(rt, address, name);
	pthread_mutex_unlock(&rt->lock);
	return result;
}

static int refuse_unknown(const char *call, const char *name,
			  const char *remedy)
{
	return PEALI_REFUSE(PEAL_ENOENT, call, .object = "name", .name = name,
			    .problem = "is of no address", .value = name,
			    .allowed = "names in use", .remedy = remedy);
}

int peal_name_find(struct peal_runtime *rt, const char *name,
		   uint64_t *address_out)
{
	if (!rt || !name || !address_out)
		return peali_refuse_null("peal_name_find",
					 "runtime, name or address_out");
	if (peali_foreign(&rt->owner, "peal_name_find"))
		return PEAL_EFORKED;
	return peali_name_find(rt, name, address_out) ?
		       0 :
		       refuse_unknown("peal_name_find", name,
				      "call peal_name_set first");
}

int peal_name_of(struct peal_runtime *rt, uint64_t address,
		 char name_out[PEAL_NAME_BYTES])
{
	if (!rt || !name_out)
		return peali_refuse_null("peal_name_of", "runtime or name_out");
	if (peali_foreign(&rt->owner, "peal_name_of"))
		return PEAL_EFORKED;
	return peali_name_of(rt, address, name_out) ?
		       0 :
		       PEALI_REFUSE(PEAL_ENOENT, "peal_name_of",
				    .object = "argument", .name = "address",
				    .problem = "has no name",
				    .value = PEALI_PRINT(
					    "%#llx",
					    (unsigned long long)address),
				    .allowed = "addresses with a name",
				    .remedy = "call peal_name_set first");
}

int peal_name_clear(struct peal_runtime *rt, const char *name)
{
	int found;

	if (!rt || !name)
		return peali_refuse_null("peal_name_clear", "runtime or name");
	if (peali_foreign(&rt->owner, "peal_name_clear"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&rt->lock);
	found = peali_name_clear(rt, name);
	pthread_mutex_unlock(&rt->lock);
	return found ? 0 :
		       refuse_unknown("peal_name_clear", name,
				      "pass a name in use");
}
