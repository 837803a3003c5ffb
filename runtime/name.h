/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_NAME_H
#define PEALI_NAME_H

#include <pthread.h>
#include <stdint.h>

#include <peal/name.h>

/*
 * The names of a runtime's addresses. Changed with the runtime's lock and this
 * one held, so that either will do to read; who finds a name waits for nobody who
 * holds the former for long.
 */

struct peal_runtime;

struct peali_names {
	pthread_mutex_t lock;
	void *by_name, *by_address; /* trees of tsearch(3) */
	uint32_t n;
};

void peali_names_init(struct peali_names *names);
void peali_names_clear(struct peali_names *names);
/* 0 if a name can be given; PEAL_EINVAL, PEAL_EEXIST. The runtime's lock is
 * held, as it is for what follows. */
int peali_name_check(struct peal_runtime *rt, const char *name,
		     const char *call);
/* Gives a name that was checked to an address that has none; PEAL_ENOMEM. */
int peali_name_give(struct peal_runtime *rt, uint64_t address, const char *name,
		    const char *call);
/* Who has an address has one more, by which its name, if it has one, is found from
 * now on; without memory it is found by the ones before. */
void peali_name_follow(struct peal_runtime *rt, uint64_t from, uint64_t to);
/* " 'name'", for texts; "" if the address has none. Without the runtime's lock
 * or with it. */
const char *peali_name_text(struct peal_runtime *rt, uint64_t address,
			    char text[PEAL_NAME_BYTES + 3]);
/* The address is gone, and all of who had it: its name, if it has one, is free. */
void peali_name_forget(struct peal_runtime *rt, uint64_t address);
/* The same for all addresses of a kernel. */
void peali_name_forget_kernel(struct peal_runtime *rt, uint64_t address);

#endif
