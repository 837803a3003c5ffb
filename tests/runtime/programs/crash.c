/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers and a task that end the process of their worker, on emulated devices only. */
#include <peal/device/task.h>

#include "../crash.h"

#if PEAL_ON_HOST
#include <stdlib.h>
#include <unistd.h>

static uint64_t global;

/* Writes below the stack's end in the end. */
static uint64_t deep(volatile uint64_t *above)
{
	volatile uint64_t here[512];

	here[0] = *above + 1;
	if (!here[0])
		return 0;
	return deep(here) + here[0];
}

static int do_order(struct peal_worker *w, struct crash_order order)
{
	switch (order.how) {
	case CRASH_WRITE:
		*(volatile uint64_t *)(uintptr_t)order.address = 1;
		break;
	case CRASH_ABORT:
		abort();
	case CRASH_EXIT:
		exit(3);
	case CRASH_STACK:
		order.address = deep(&order.address);
		break;
	case CRASH_COUNT:
		order.address = global++;
		break;
	default:
		order.address = (uint64_t)getpid();
	}
	return peal_emit(w, 0, 0, &order, sizeof(order), 0);
}
#else
static PEAL_DEV int do_order(struct peal_worker *w, struct crash_order order)
{
	(void)w;
	(void)order;
	return 0;
}
#endif

static PEAL_DEV int crash(struct peal_worker *w)
{
	return do_order(w, *(const struct crash_order *)peal_data(w));
}

/* Obeys the order in its parameters on the device of rank 1. */
PEAL_TASK(crash_second)
{
	const struct crash_order *order =
		(const struct crash_order *)peal_task_parameters(w);

	if (peal_task(w)->rank == 1)
		*(volatile uint64_t *)(uintptr_t)order->address = 1;
	return 0;
}

#define HANDLERS(X)                                                            \
	X(crash, 0, PEAL_EMITS(1, 1))                                          \
	X(crash_second, 0, PEAL_TASKS)
PEAL_PROGRAM(crash, HANDLERS);
