/* SPDX-License-Identifier: Apache-2.0 */
/* The actors of forwarders of topics: each sends every message on. */
#define PEAL_USES PEAL_USE_TOPICS
#include <peal/device/deadline.h>
#include <peal/device/kernel.h>

static PEAL_DEV int relay(struct peal_worker *w)
{
	struct peal_send_options options = PEAL_SEND_OPTIONS;

	options.deadline = peal_deadline_current(w);
	return peal_emit(w, 0, peal_type(w), peal_data(w), peal_length(w),
			 &options);
}

#define HANDLERS(X) X(relay, 0, PEAL_EMITS(1, 1))
PEAL_PROGRAM(peal_relay, HANDLERS);
