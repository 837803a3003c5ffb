/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress quick */
#include "c11_model/instances.h"
#include "peal_test.h"

/*
 * Shows that no execution of an instance breaks the queues' promises. Each
 * message arrives once, in order and whole. There is no data race and no
 * endless wait.
 */

static uint64_t hold(const struct model_instance *instance, uint32_t number,
		     struct model_result *r)
{
	struct model_search search = { .number = number };

	model_run(instance, &search, r);
	printf("    %-50s %10llu %9llu %9llu %6.2f\n", instance->name,
	       (unsigned long long)r->executions, (unsigned long long)r->asleep,
	       (unsigned long long)r->unfair, r->seconds);
	fflush(stdout);
	if (r->failed)
		instance_explain(instance, &search, r);
	else if (!r->executions)
		printf("    ^ nothing was explored\n");
	return r->failed || !r->executions;
}

static void hold_all(const struct model_instance *(*number)(uint32_t i))
{
	const struct model_instance *instance;
	uint64_t executions = 0, bad = 0;
	struct model_result r;
	double seconds = 0;
	uint32_t i;

	printf("    %-50s %10s %9s %9s %6s\n", "instance", "executions",
	       "asleep", "unfair", "s");
	for (i = 0; (instance = number(i)); i++) {
		bad += hold(instance, i, &r);
		executions += r.executions;
		seconds += r.seconds;
	}
	printf("    %u instances, %llu executions, all of them, %.1f s\n", i,
	       (unsigned long long)executions, seconds);
	CHECK_EQ(bad, 0);
}

PEAL_TEST(all_executions_of_all_instances_are_sound)
{
	hold_all(instance_number);
}

PEAL_TEST(all_executions_of_deep_instances_are_sound)
{
	if (getenv("PEAL_TEST_QUICK"))
		test_leave_out("tier 2 has these");
	hold_all(deep_number);
}

INSTANCE_MAIN(RUN(all_executions_of_all_instances_are_sound);
	      RUN(all_executions_of_deep_instances_are_sound);)
