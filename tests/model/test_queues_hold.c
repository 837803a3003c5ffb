/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress */
#include "model/instances.h"
#include "peal_test.h"

/*
 * Every execution of every instance keeps what the queues promise: each message
 * once, in order, whole, no data race, no wait without end.
 */

PEAL_TEST(all_executions_of_all_instances_are_sound)
{
	const struct model_instance *instance;
	struct model_search search = { 0 };
	struct model_result r;
	uint64_t executions = 0, bad = 0;
	double seconds = 0;

	printf("    %-50s %10s %9s %9s %6s\n", "instance", "executions",
	       "asleep", "unfair", "s");
	for (; (instance = instance_number(search.number)); search.number++) {
		model_run(instance, &search, &r);
		printf("    %-50s %10llu %9llu %9llu %6.2f\n", instance->name,
		       (unsigned long long)r.executions,
		       (unsigned long long)r.asleep,
		       (unsigned long long)r.unfair, r.seconds);
		fflush(stdout);
		executions += r.executions;
		seconds += r.seconds;
		if (r.failed) {
			instance_explain(instance, &search, &r);
			bad++;
		} else if (!r.executions) {
			printf("    ^ nothing was explored\n");
			bad++;
		}
	}
	printf("    %u instances, %llu executions, all of them, %.1f s\n",
	       search.number, (unsigned long long)executions, seconds);
	CHECK_EQ(bad, 0);
}

INSTANCE_MAIN(RUN(all_executions_of_all_instances_are_sound);)
