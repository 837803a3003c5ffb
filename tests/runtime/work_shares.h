/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_WORK_SHARES_H
#define PEAL_TESTS_WORK_SHARES_H

#include <peal/device/work_consumer.h>

/* Interface of programs/work_shares.c and the test of shares. Device dialect. */

#define WS_TYPE 7
#define WS_IDLE_NS 20000

struct ws_task {
	uint64_t number, check;
};

static PEAL_HD inline uint64_t ws_check(uint64_t number)
{
	return (number + 1) * 0x9e3779b97f4a7c15ULL;
}

/** First bytes of a taker's state. */
struct ws_init {
	uint64_t queue;
	uint64_t seen; /* uint64_t for each task, in host memory */
	uint64_t done; /* uint64_t of the taker, in host memory */
	uint64_t n_tasks;
	uint64_t task_ns; /* of one task */
	uint32_t consumer;
	uint32_t reserved;
};

struct ws_taker {
	struct ws_init init;
	struct peal_work_consumer end;
	uint64_t done, damaged, wait_ns;
	uint32_t ready, more;
};

struct ws_filler {
	uint64_t queue; /* written by the host */
	uint64_t put; /* by the host: address of a uint64_t, tasks in the queue */
	struct peal_work_producer end;
	uint64_t next;
	uint32_t ready, reserved;
};

#endif
