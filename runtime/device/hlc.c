/* SPDX-License-Identifier: Apache-2.0 */
/* Hybrid logical clocks of the host. */
#include <peal/hlc.h>

#include <peal/device/hlc.h>
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/runtime.h"

_Static_assert(PEAL_HLC_COUNT_BITS == 16 && PEAL_HLC_UNIT_BITS == 12 &&
		       PEAL_HLC_DRIFT_NS == 1000000000ULL,
	       "as peal/device/hlc.h has it");

/*
 * Returns the next word of a clock, which is larger than `least`. Threads that
 * call it at the same time get different words.
 */
static uint64_t next(struct peal_hlc *clock, uint64_t least, uint64_t ns)
{
	uint64_t last, word;

	do {
		last = peal_load_relaxed_dev(&clock->word);
		word = peali_hlc_next(last > least ? last : least, ns);
	} while (!peal_cas_relaxed_dev(&clock->word, last, word));
	return word;
}

uint64_t peal_hlc_now(struct peal_hlc *clock)
{
	return next(clock, 0, peali_now_ns());
}

int peal_hlc_merge(struct peal_hlc *clock, uint64_t received,
		   uint64_t *word_out)
{
	uint64_t ns = peali_now_ns(), word;

	if (!clock)
		return peali_refuse_null("peal_hlc_merge", "clock");
	if (peali_hlc_is_ahead(received, ns))
		return PEALI_REFUSE(
			PEAL_EINVAL, "peal_hlc_merge", .object = "argument",
			.name = "received",
			.problem = PEALI_PRINT(
				"is a timestamp of %#llx, ahead of the "
				"clock of the host",
				(unsigned long long)received),
			.value = PEALI_PRINT(
				"%llu ms",
				(unsigned long long)(peal_hlc_ns(received) -
						     ns) /
					1000000),
			.allowed = PEALI_PRINT("0..%llu ms",
					       PEAL_HLC_DRIFT_NS / 1000000),
			.remedy = "set the clocks of the hosts");
	word = next(clock, received, ns);
	if (word_out)
		*word_out = word;
	return 0;
}

uint64_t peal_hlc_ns(uint64_t word)
{
	return word >> PEAL_HLC_COUNT_BITS << PEAL_HLC_UNIT_BITS;
}
