/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HAND_H
#define PEALI_HAND_H

#include "runtime/runtime.h"

/* What a worker has in hand: which handler runs, of whom, on which message, and
 * for how long at least. The caller of all of it has the runtime's lock. */

struct peali_hand {
	uint64_t word; /* PEAL_HAND; 0: nothing */
	uint64_t address; /* of the actor */
	const char *handler; /* its name */
	uint64_t link; /* id of the link that brought it; 0: none did */
	const char *topic; /* that did; NULL: none */
	int pool; /* 1: it is a pool's; with none of these the mailbox's */
	uint64_t message; /* its number in the link or among those of the topic
			   * that the actor got, in the mailbox or pool the low
			   * bits of that */
	uint64_t since_ns; /* it is in hand for so long, or longer */
};

/* 0: it has nothing in hand. */
int peali_hand_read(struct peal_kernel *kernel, uint32_t worker,
		    struct peali_hand *out);
/* "is in handler 'x' of actor 3, on message 7 of link 2, of type 1, for 20 ms so
 * far" */
void peali_hand_text(const struct peali_hand *hand, struct peal_kernel *kernel,
		     char text[256]);
/* The watchdog looks at what all workers have in hand, and how far links and
 * topics have come; so often is how well it is known since when. */
void peali_hands_watch(struct peal_runtime *rt, uint64_t now);

#endif
