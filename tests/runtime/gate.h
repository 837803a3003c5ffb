/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_GATE_H
#define PEAL_TESTS_GATE_H

#include <peal/device/kernel.h>

#if PEAL_ON_HOST && !PEAL_SIM
#include <threads.h>
#endif

/* Pauses between two reads of a word that the test sets. On the host the thread
 * sleeps, so that other threads get its core. */
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
