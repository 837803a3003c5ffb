/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_GATE_H
#define PEAL_TESTS_GATE_H

#include <peal/device/kernel.h>

#if PEAL_ON_HOST && !PEAL_SIM
#include <threads.h>
#endif

/* Between two looks of a handler at a word that the test sets: a thread of the host
 * leaves its core to others. */
static PEAL_DEV void gate_pause(void)
{
#if PEAL_ON_HOST && !PEAL_SIM
	const struct timespec nap = { 0, 50000 };

	thrd_sleep(&nap, NULL);
#else
	peal_pause();
#endif
}

#endif
