/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of the probe's trials: see probe_verify.h. */
#include "p2p/probe_verify.h"

#include <stdio.h>

#include "p2p/probe_setup.h"
#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/device/backend.h"

/*
 * The second attempt has a long limit: threads may share a core so that the
 * first attempt has no result.
 */
#define LIMIT_NS PEALI_PROBE_LIMIT_NS
#define LONG_LIMIT_NS 3000000000u

void peali_probe_set_faulted(struct peal_pair_info *info)
{
	info->verdict = PEAL_VERDICT_FAULTED;
	snprintf(info->reason, sizeof(info->reason), "the probe failed: %s",
		 PEALI_CUT(130, peal_last_error()->text));
}

/* Returns the policies that both devices of a set-up know, as a mask. */
static uint32_t known_policies(const struct peali_probe_setup *setup)
{
	return setup->backend->ops->policies(setup->backend);
}

/* Returns 1 if 16-byte stores arrive torn and nothing else is wrong. */
static int is_torn(const struct peali_probe_setup *setup,
		   const struct peal_probe_words *w)
{
	return setup->atom_policy == PEAL_POLICY_ATOM16 && !w->late &&
	       !w->missing && w->pattern_words && !w->pattern_wrong &&
	       (w->torn || (w->wrong && setup->policy == PEAL_POLICY_ATOM16));
}

static void set_wrong(const struct peal_probe_words *w,
		      struct peal_pair_info *info)
{
	unsigned long long all = w->seen + w->missing;
	/* a message in the slot of another one counts twice */
	unsigned long long wrong = w->wrong < all ? w->wrong : all;

	info->verdict = PEAL_VERDICT_WRONG_DATA;
	if (w->torn && !w->wrong && !w->pattern_wrong)
		snprintf(info->reason, sizeof(info->reason),
			 "%llu of %llu atoms of 8 bytes are torn",
			 (unsigned long long)w->torn,
			 (unsigned long long)w->atoms);
	else
		snprintf(info->reason, sizeof(info->reason),
			 "wrong data in %llu of %llu messages and %llu of %llu "
			 "words of a pattern",
			 wrong, all, (unsigned long long)w->pattern_wrong,
			 (unsigned long long)w->pattern_words);
}

/* Sets the verdict ok. `setup` has the policies of the verification. */
static void set_ok(const struct peali_probe_setup *setup,
		   const struct peal_probe_words *w,
		   struct peal_pair_info *info)
{
	info->verdict = PEAL_VERDICT_OK;
	info->policies = known_policies(setup);
	if (setup->atom_policy != PEAL_POLICY_ATOM16)
		info->policies &= ~(1u << PEAL_POLICY_ATOM16);
	snprintf(info->reason, sizeof(info->reason),
		 "verified: %llu messages and %llu KiB arrived unchanged%s",
		 (unsigned long long)w->seen,
		 (unsigned long long)w->pattern_words * 8 / 1024,
		 info->policies == known_policies(setup) ?
			 "" :
			 "; 16-byte stores arrive torn");
}

static void judge(const struct peali_probe_setup *setup,
		  const struct peal_probe_words *w, struct peal_pair_info *info)
{
	if (w->missing && !w->wrong) {
		info->verdict = PEAL_VERDICT_NEVER_VISIBLE;
		snprintf(info->reason, sizeof(info->reason),
			 "of %llu messages written, %llu became visible",
			 (unsigned long long)(w->seen + w->missing),
			 (unsigned long long)w->seen);
	} else if (w->wrong || w->pattern_wrong || !w->pattern_words ||
		   w->torn) {
		set_wrong(w, info);
	} else {
		set_ok(setup, w, info);
	}
}

static void set_late(struct peal_pair_info *info)
{
	info->verdict = PEAL_VERDICT_FAULTED;
	snprintf(info->reason, sizeof(info->reason),
		 "the probe's two kernels did not run together for %u s",
		 LONG_LIMIT_NS / 1000000000u);
}

/* Runs a verification of one direction. A late one runs again, for longer. */
static int run_one(struct peali_probe_setup *setup)
{
	struct peali_probe_routes ways = { 0, 0 };
	int r = peali_probe_setup_run(setup, PEAL_PROBE_VERIFY, ways, LIMIT_NS);

	if (!r && setup->words->late)
		r = peali_probe_setup_run(setup, PEAL_PROBE_VERIFY, ways,
					  LONG_LIMIT_NS);
	return r;
}

int peali_verify_one(struct peali_peers *peers, struct peal_pair_info *info)
{
	struct peali_probe_setup setup;
	int r = peali_probe_setup_open(peers, info->from, info->to, 0, &setup);

	if (r == PEAL_ENOMEM)
		return r;
	if (r < 0) {
		peali_probe_set_faulted(info);
		return 0;
	}
	r = run_one(&setup);
	if (!r && is_torn(&setup, setup.words)) {
		peali_probe_setup_narrow(&setup);
		r = run_one(&setup);
	}
	if (r < 0)
		peali_probe_set_faulted(info);
	else if (setup.words->late)
		set_late(info);
	else
		judge(&setup, setup.words, info);
	peali_probe_setup_close(&setup);
	return 0;
}

/** A direction of a common launch. */
struct direction {
	struct peal_pair_info *info;
	const struct peal_probe_words *words;
	int judged, torn;
};

/* Judges a direction, apart from a late or torn one. */
static void look_at(const struct peali_probe_setup *setup, struct direction *d)
{
	if (d->words->late)
		return;
	d->torn = is_torn(setup, d->words);
	d->judged = !d->torn;
	if (d->judged)
		judge(setup, d->words, d->info);
}

/*
 * Runs both directions at the same time, and judges them. Runs them again with
 * atoms of 8 bytes if one is torn. Both give the load, and the torn one gets its
 * verdict. Returns 0 or an error.
 */
static int run_both(struct peali_probe_setup *setup, struct direction d[2])
{
	struct peali_probe_routes ways = { 0, 0 };
	int r = peali_probe_setup_run(setup, PEAL_PROBE_VERIFY, ways, LIMIT_NS);
	int way;

	if (r < 0)
		return r;
	look_at(setup, &d[0]);
	look_at(setup, &d[1]);
	if (!d[0].torn && !d[1].torn)
		return 0;
	peali_probe_setup_narrow(setup);
	r = peali_probe_setup_run(setup, PEAL_PROBE_VERIFY, ways, LIMIT_NS);
	for (way = 0; way < 2 && !r; way++)
		if (d[way].torn)
			look_at(setup, &d[way]);
	return r;
}

int peali_verify_both(struct peali_peers *peers, struct peal_pair_info *there,
		      struct peal_pair_info *back)
{
	struct direction d[2] = { { .info = there }, { .info = back } };
	struct peali_probe_setup setup;
	int way, hung, r = 0;

	if (peali_probe_setup_open(peers, there->from, there->to,
				   PEALI_SETUP_BOTH, &setup) < 0) {
		/* One of the two may still be fine. */
		r = peali_verify_one(peers, there);
		return r < 0 ? r : peali_verify_one(peers, back);
	}
	d[0].words = setup.words;
	d[1].words = setup.words_back;
	/* One direction may work without the other, and needs fewer workers. */
	run_both(&setup, d);
	hung = setup.hung;
	for (way = 0; way < 2 && hung; way++)
		if (!d[way].judged)
			peali_probe_set_faulted(d[way].info);
	peali_probe_setup_close(&setup);
	for (way = 0; way < 2 && !hung && r >= 0; way++)
		if (!d[way].judged)
			r = peali_verify_one(peers, d[way].info);
	return r;
}
