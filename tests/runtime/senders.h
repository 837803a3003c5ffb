/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SENDERS_H
#define PEAL_TESTS_SENDERS_H

#include <peal/device/platform.h>

/* Messages of programs/senders.c and its tests. */

enum senders_type {
	SENDERS_ORDER = 1, /* struct senders_query: a client sends it on */
	SENDERS_QUERY, /* struct senders_query: a server replies */
	SENDERS_RELEASE, /* the server replies to the query that it keeps */
	SENDERS_REPLY, /* struct senders_reply, from a server to a client */
	SENDERS_REPORT /* struct senders_reply, from an actor to the host */
};

/** Bits of `how`. */
enum senders_how {
	SENDERS_NAMED = 1, /* the client sets the option with_sender */
	SENDERS_HIGH = 2, /* the client sets high priority */
	SENDERS_TIMED = 4, /* the client sets a deadline that never passes */
	SENDERS_LATER = 8, /* the client sets a delay */
	SENDERS_KEEP = 16, /* the server keeps the query */
	SENDERS_REFUSE = 32, /* the server replies with the error PEAL_EIO */
	SENDERS_OPTIONS = 64, /* the server replies with a deadline */
	SENDERS_FAIL = 128 /* the handler of `mute` fails */
};

struct senders_query {
	uint64_t id; /* unique in a test */
	uint32_t to; /* number of the actor to tell */
	uint32_t how; /* enum senders_how */
	uint32_t next; /* 1 + number of the server to forward to; 0: none */
	uint32_t unused;
};

struct senders_reply {
	uint64_t id; /* of the query */
	uint32_t server; /* number of the actor that replied */
	uint32_t client; /* number of the actor that got the reply; 0: none */
	uint32_t sender; /* peal_sender in the server */
	uint32_t port; /* peal_sender_port in the server */
	int32_t result; /* of the call that failed; 0: none */
	uint32_t bytes; /* peal_length in the server */
};

#endif
