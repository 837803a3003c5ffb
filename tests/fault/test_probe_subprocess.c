/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast double */
/* Shows that another process probes pairs of GPUs. The runtime survives a crash
 * and a hang of this process. */
#include "runtime/harness.h"

#include <sys/stat.h>

#include <peal/topology.h>
#include "p2p/probe_subprocess.h"

static char script[96];

/* Replaces the peal command by a shell script. */
static void command_is(const char *text)
{
	FILE *file;

	snprintf(script, sizeof(script), "%s/command", harness_cache);
	file = fopen(script, "w");
	CHECK(file);
	fprintf(file, "#!/bin/sh\n%s\n", text);
	CHECK(!fclose(file));
	CHECK(!chmod(script, 0755));
	setenv("PEAL_COMMAND", script, 1);
}

static struct peal_runtime *open_gpus(void)
{
	setenv("PEAL_BACKENDS", "hip", 1);
	setenv("PEAL_DOUBLE_DEVICES", "2", 1);
	return harness_open(2, "");
}

static void forget(void)
{
	char command[160];

	snprintf(command, sizeof(command), "rm -f '%s/probe.json'",
		 harness_cache);
	CHECK(!system(command));
}

/* Returns the pair's info after the first launch, and the route of a link. */
static struct peal_pair_info after_launch(struct peal_runtime *rt,
					  uint32_t *route_out)
{
	struct peal_kernel *a = harness_launch(rt, 0);
	struct peal_kernel *b = harness_launch(rt, 1);
	struct peal_link_options o = { .capacity = 4 };
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_pair_info info;
	uint64_t from = harness_spawn(a, "echo", 0);
	uint64_t to = harness_spawn(b, "echo", 0);
	struct peal_link *link;

	harness_from(rt, e, 0, from, o);
	link = harness_link(rt, from, 0, to, o);
	harness_to(rt, to, e, o);
	harness_send(e, 0, 1, 0, 4);
	harness_receive(e, 1, 0, 4);
	*route_out = harness_info(link).route;
	CHECK_OK(peal_topology_pair(rt, 0, 1, &info));
	CHECK_OK(peal_runtime_shutdown(rt));
	return info;
}

PEAL_TEST(command_probes_pair_and_result_is_used)
{
	struct peal_pair_info info;
	char text[400];
	uint32_t route;

	/* counts how often it is called, then does its work */
	snprintf(text, sizeof(text), "echo . >>'%s/calls'\nexec '%s' \"$@\"",
		 harness_cache, getenv("PEAL"));
	command_is(text);
	info = after_launch(open_gpus(), &route);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(route, PEAL_ROUTE_PEER);
	CHECK_EQ(info.cached, 1);
	/* a second runtime needs no second process */
	info = after_launch(open_gpus(), &route);
	CHECK_EQ(route, PEAL_ROUTE_PEER);
	snprintf(text, sizeof(text), "test \"$(wc -l <'%s/calls')\" = 1",
		 harness_cache);
	CHECK(!system(text));
}

PEAL_TEST(crashing_pair_is_not_probed_in_process)
{
	struct peal_pair_info info;
	uint32_t route;

	forget();
	command_is("kill -SEGV $$");
	info = after_launch(open_gpus(), &route);
	CHECK_EQ(info.verdict, PEAL_VERDICT_FAULTED);
	CHECK_CONTAINS(info.reason, "signal 11");
	CHECK_EQ(route, PEAL_ROUTE_MAPPED_HOST);
	/* a process that cannot open the devices gives no result for pairs */
	command_is("exit 1");
	info = after_launch(open_gpus(), &route);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(route, PEAL_ROUTE_PEER);
}

PEAL_TEST(hung_probe_subprocess_is_killed)
{
	uint64_t began = harness_now_ns(), usual = peali_probe_subprocess_ms;
	struct peal_pair_info info;
	uint32_t route;

	forget();
	command_is("exec sleep 1000");
	peali_probe_subprocess_ms = 100;
	info = after_launch(open_gpus(), &route);
	peali_probe_subprocess_ms = usual;
	CHECK_EQ(info.verdict, PEAL_VERDICT_FAULTED);
	CHECK_CONTAINS(info.reason, "did not end");
	CHECK_EQ(route, PEAL_ROUTE_MAPPED_HOST);
	CHECK(harness_now_ns() - began < 40 * (uint64_t)SECOND);
}

PEAL_TEST(missing_command_probes_pairs_in_process)
{
	struct peal_pair_info info;
	uint32_t route;

	forget();
	setenv("PEAL_COMMAND", "/nonexistent/peal", 1);
	info = after_launch(open_gpus(), &route);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(route, PEAL_ROUTE_PEER);
}

/* The path of the build is wrong if an install has changed the prefix. */
PEAL_TEST(without_a_setting_the_command_is_found_in_the_path)
{
	char found[4096], path[200];

	unsetenv("PEAL_COMMAND");
	setenv("PATH", "relative:/nonexistent:", 1);
	if (peali_probe_command(found, sizeof(found))) {
		printf("skipped: %s is installed\n", found);
		return;
	}
	command_is("exit 0");
	unsetenv("PEAL_COMMAND");
	snprintf(path, sizeof(path), "%s/peal", harness_cache);
	CHECK(!rename(script, path));
	setenv("PATH", harness_cache, 1);
	CHECK(peali_probe_command(found, sizeof(found)));
	CHECK(!strcmp(found, path));
	/* a setting excludes all other places */
	setenv("PEAL_COMMAND", "/nonexistent/peal", 1);
	CHECK(!peali_probe_command(found, sizeof(found)));
}

PEAL_TEST_MAIN(CHECK_OK(peal_runtime_close(harness_open(1, "")));
	       RUN(command_probes_pair_and_result_is_used);
	       RUN(crashing_pair_is_not_probed_in_process);
	       RUN(hung_probe_subprocess_is_killed);
	       RUN(missing_command_probes_pairs_in_process);
	       RUN(without_a_setting_the_command_is_found_in_the_path);)
