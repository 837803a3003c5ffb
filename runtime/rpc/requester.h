/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_REQUESTER_H
#define PEAL_RUNTIME_REQUESTER_H

#include <peal/request.h>

/*
 * The requester. requester.c creates and closes it. request.c sends requests
 * and receives replies.
 *
 * `lock` guards everything but the endpoint. One thread at a time sends by the
 * endpoint, and one thread at a time receives. A thread that sends without
 * `lock` sets `sending` under `lock` first. A thread that receives without
 * `lock` sets `receiving` in the same way. With `lock` held, a thread may send
 * while `sending` is 0 and receive while `receiving` is 0.
 */

#include "runtime/runtime.h"

enum request_state { FREE, ASKED, ANSWERED };

struct request {
	uint64_t id; /* the number in its message */
	enum request_state state;
	int error; /* of the reply: a refusal, or PEAL_ENOMEM; 0: none */
	int detail; /* result of the handler that failed, or error of its reply;
		     * 0: not known */
	struct peal_received reply; /* valid in state ANSWERED */
	void *kept; /* payload of a reply that is not in `buffer` */
	uint64_t kept_capacity; /* bytes allocated at `kept` */
	int waited; /* 1: a thread waits; both fields below are set */
	void *buffer;
	uint64_t buffer_bytes; /* bytes at `buffer` */
};

struct peal_requester {
	struct peal_runtime *rt;
	struct peal_requester *next; /* in the runtime's list */
	char name[48];
	struct peal_endpoint *endpoint;
	/* reject table (reject_table.h): workers report dropped requests there;
	 * NULL: no table was left */
	struct peali_reject_table *reject_table;
	struct peal_link **links; /* the request link, then the reply links */
	uint32_t n_links, max_links;
	uint32_t n_requests; /* as option max_outstanding */
	uint64_t message_bytes, reply_bytes;
	uint32_t deadlines; /* 1: a request carries the deadline of its call */
	pthread_mutex_t lock;
	pthread_cond_t change; /* a thread has to look again */
	int sending, receiving; /* 1: a thread does so */
	uint32_t inside; /* threads in a call that sends or waits */
	uint64_t n_ids; /* numbers given so far, also by earlier users of the
			 * table */
	uint32_t n_free, *free; /* stack of free indices of `requests` */
	struct request *requests;
	struct peal_requester_info info;
};

uint32_t peali_requesters_count(const struct peal_runtime *rt);
/* Frees all requesters. Their links and endpoints are gone. */
void peali_requesters_clear(struct peal_runtime *rt);

#endif
