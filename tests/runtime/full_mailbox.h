/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_FULL_MAILBOX_H
#define PEAL_TESTS_FULL_MAILBOX_H

#include <peal/device/platform.h>

/* Message types and states of programs/full_mailbox.c, cross_traffic.c and
 * tests. */

#define ROW_QUESTION 1
#define ROW_ANSWER 2
#define ROW_END 0xffffffffu
#define ROW_SHED 4

struct row_actor {
	uint32_t next; /* next actor of the row or ROW_END; else
			* the number of actors */
	uint32_t reserved;
	uint64_t seen; /* messages, which are numbered from 0 */
	uint64_t misordered;
};

#endif
