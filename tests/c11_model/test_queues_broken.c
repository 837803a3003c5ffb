/* SPDX-License-Identifier: Apache-2.0 */
#include "c11_model/instances.h"
#include "peal_test.h"

/* Shows that the checker finds the planted fault of each faulty queue, and that
 * each counterexample replays. */

PEAL_TEST(each_planted_fault_has_a_counterexample_that_replays)
{
	const struct model_instance *instance;
	struct model_search search = { 0 };
	struct model_result r;
	uint32_t i, bad = 0;

	for (i = 0; (instance = broken_number(i)); i++) {
		model_run(instance, &search, &r);
		if (!r.failed)
			printf("    %s: NOT CAUGHT\n", instance->name);
		if (!r.failed || !instance_explain(instance, &search, &r))
			bad++;
	}
	CHECK(i > 10);
	CHECK_EQ(bad, 0);
}

INSTANCE_MAIN(RUN(each_planted_fault_has_a_counterexample_that_replays);)
