/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_REQUESTER_H
#define PEAL_RUNTIME_REQUESTER_H

/*
 * What a requester is: requester.c makes and ends it, request.c asks and waits.
 * `lock` guards all of it but its endpoint, of which whoever has set `sending`
 * sends, and whoever has set `receiving` receives, for all threads; they hold
 * the lock when they set it and not while they work.
 */

#include "runtime/runtime.h"

enum request_state { FREE, ASKED, ANSWERED };

struct request {
	uint64_t id; /* number of its message */
	enum request_state state;
	int error; /* 0, or what it was refused with */
	struct peal_received reply; /* once it is answered */
	void *kept; /* the reply's payload, if it was not put into buffer */
	uint64_t kept_room;
	int waited; /* 1: a thread waits, for whom these are */
	void *buffer;
	uint64_t room;
};

struct peal_requester {
	struct peal_runtime *rt;
	struct peal_requester *next; /* of the runtime's */
	char name[48];
	struct peal_endpoint *endpoint;
	struct peali_board *board; /* where requests end that nobody answers;
				    * NULL: there are too many requesters */
	struct peal_link **links; /* the requests', then those of replies */
	uint32_t n_links, max_links;
	uint32_t n_requests;
	uint64_t message_bytes, reply_bytes;
	uint32_t deadlines; /* 1: that of the caller goes with the request */
	pthread_mutex_t lock;
	pthread_cond_t change; /* of anything that a thread waits for */
	int sending, receiving; /* 1: a thread does */
	uint32_t inside; /* threads that have begun and not come back */
	uint64_t n_ids;
	uint32_t n_free, *free; /* indices of requests */
	struct request *requests;
	struct peal_requester_info info;
};

#endif
