/* SPDX-License-Identifier: Apache-2.0 */
/* PEAL_LOG=1 names each actor that fails, with counts. Levels 2 and 3 add
 * decisions and all else. */

#include <peal/dead_letter.h>

#include <peal/abi/failure_log.h>
#include "runtime/harness.h"
#include "runtime/hooks.h"
#include "runtime/supervised.h"

PEAL_DECLARE_PROGRAM(supervised);
PEAL_DECLARE_PROGRAM(hooks);

static FILE *file;
static int kept;

/* level: PEAL_LOG; NULL: not set. */
static void log_begin(const char *level)
{
	file = tmpfile();
	kept = dup(STDERR_FILENO);
	CHECK(file && kept >= 0);
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	unsetenv("PEAL_LOG");
	if (level)
		setenv("PEAL_LOG", level, 1);
}

/* Returns the log so far. */
static const char *logged(void)
{
	static char text[65536];
	ssize_t n;

	fflush(stderr);
	n = pread(fileno(file), text, sizeof(text) - 1, 0);
	text[n < 0 ? 0 : n] = 0;
	return text;
}

/* Ends the log and returns it. */
static const char *log_end(void)
{
	const char *text = logged();

	dup2(kept, STDERR_FILENO);
	unsetenv("PEAL_LOG");
	close(kept);
	fclose(file);
	return text;
}

/* Returns the number of lines with this text. */
static int lines_with(const char *text, const char *part)
{
	int n = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		n++;
	}
	return n;
}

static struct peal_kernel *launch(struct peal_runtime *rt,
				  const struct peal_program *program)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 2,
					 .name = "watched",
					 .max_inputs = 64,
					 .max_supervisors = 1 };
	struct peal_kernel *k = NULL;

	CHECK_OK(peal_kernel_launch(rt, 0, program, &o, &k));
	return k;
}

/* Spawns an actor with a link at a port of the endpoint. */
static uint64_t spawn(struct peal_runtime *rt, struct peal_kernel *k,
		      struct peal_endpoint *e, uint32_t port,
		      struct peal_actor_options o)
{
	const struct peal_link_options none = { .capacity = 0 };
	uint64_t at;

	o.size = sizeof(o);
	CHECK_OK(peal_actor_spawn(k, "supervised", &o, &at));
	harness_from(rt, e, port, at, none);
	harness_to(rt, at, e, none);
	return at;
}

static void fail(struct peal_endpoint *e, uint32_t port, uint32_t times)
{
	uint64_t zero = 0;

	while (times--)
		CHECK_OK(peal_send(e, port, SUPERVISED_FAIL, &zero,
				   sizeof(zero), MAX_WAIT, NULL));
}

PEAL_TEST(failure_words_keep_the_sign_of_an_error)
{
	const int error[][2] = {
		{ -71, -71 }, { 5, 5 }, { 100000, 0x7fff }, { -100000, -0x8000 }
	};
	uint64_t word;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		word = PEAL_FAILURE(7, PEAL_FAILED_INIT, error[i][0]);
		CHECK_EQ(PEAL_FAILURE_ERROR(word), error[i][1]);
		CHECK_EQ(PEAL_FAILURE_ACTOR(word), 7);
		CHECK_EQ(PEAL_FAILURE_KIND(word), PEAL_FAILED_INIT);
	}
}

PEAL_TEST(first_failure_of_each_actor_is_logged_with_counts)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = launch(rt, &peal_program_supervised);
	struct peal_endpoint *e = harness_endpoint(rt);
	const char *text;

	spawn(rt, k, e, 0, (struct peal_actor_options){ .name = "till" });
	spawn(rt, k, e, 1, (struct peal_actor_options){ .worker = 2 });
	log_begin("1");
	fail(e, 0, 1);
	EVENTUALLY(strstr(logged(), "'till'"));
	fail(e, 0, 6);
	fail(e, 1, 1);
	EVENTUALLY(strstr(logged(), "actor 1 of kernel"));
	CHECK_OK(peal_runtime_shutdown(rt));
	text = log_end();
	CHECK_CONTAINS(text, "actor 0 'till' of kernel 'watched', handler "
			     "'supervised': its handler has failed, first "
			     "with error -71, times: 1\n");
	CHECK_EQ(lines_with(text, "'till'"),
		 2); /* the last line has the rest */
	CHECK_CONTAINS(text, "times: 6\n");
	CHECK_EQ(lines_with(text, "actor 1 of kernel"), 1);
}

PEAL_TEST(failed_init_is_logged)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 1,
					 .name = "watched",
					 .mailbox.slots = 64 };
	const uint32_t init[3] = { 1, 0, HOOKS_FAILS_INIT };
	struct peal_actor_options guest = { .size = sizeof(guest),
					    .init = init,
					    .init_bytes = sizeof(init) };
	struct peal_kernel *k = NULL;
	uint64_t at;

	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_hooks, &o, &k));
	log_begin("1");
	CHECK_OK(peal_actor_spawn(k, "guest", &guest, &at));
	EVENTUALLY(strstr(logged(), "handler 'guest': its init hook has "
				    "failed, first with error -71"));
	CHECK_OK(peal_runtime_shutdown(rt));
	log_end();
}

PEAL_TEST(exhausted_supervisor_is_logged)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = launch(rt, &peal_program_supervised);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_supervisor_options o = { .size = sizeof(o),
					     .max_restarts = 1,
					     .period_ns = 3600 * SECOND };
	struct peal_supervisor *s = NULL;

	CHECK_OK(peal_supervisor_create(k, &o, &s));
	spawn(rt, k, e, 0, (struct peal_actor_options){ .worker = 1 });
	spawn(rt, k, e, 1,
	      (struct peal_actor_options){ .supervisor = s, .name = "till" });
	log_begin("1");
	fail(e, 1, 2);
	EVENTUALLY(strstr(logged(), "supervisor 0 of kernel 'watched' has "
				    "given up after error -71 of actor 1 "
				    "'till', times: 1; "));
	CHECK_OK(peal_runtime_shutdown(rt));
	log_end();
}

/* Four slots take three letters, and no thread reads them. */
PEAL_TEST(lost_dead_letters_are_logged)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = launch(rt, &peal_program_supervised);
	struct peal_endpoint *e = harness_endpoint(rt);
	const struct peal_link_options four = { .size = sizeof(four),
						.capacity = 4 };

	spawn(rt, k, e, 0, (struct peal_actor_options){ .worker = 1 });
	CHECK_OK(peal_dead_letter_connect(k, peal_endpoint_address(e), &four));
	log_begin("1");
	fail(e, 0, 20);
	EVENTUALLY(strstr(logged(), "a dead letter about a message to it is "
				    "lost, first with no free slot"));
	CHECK_OK(peal_runtime_shutdown(rt));
	log_end();
}

#define MANY 100

/* More actors fail than a second has lines for. */
/* A kernel with `n` actors of equal handlers on its first workers. */
static struct peal_kernel *watched(struct peal_runtime *rt,
				   struct peal_endpoint *e, uint32_t workers,
				   uint32_t n, uint64_t *at)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 2,
					 .max_actors = 128,
					 .name = "watched" };
	const struct peal_link_options none = { .capacity = 0 };
	struct peal_kernel *k = NULL;
	uint32_t i;

	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_supervised, &o, &k));
	for (i = 0; i < n; i++)
		CHECK_OK(peal_actor_spawn(
			k, "supervised",
			&(struct peal_actor_options){
				.size = sizeof(struct peal_actor_options),
				.worker = 1 + i % workers,
				.share_ports_with =
					i >= workers ? at[i % workers] : 0 },
			&at[i]));
	for (i = 0; i < workers; i++) {
		harness_from(rt, e, i, at[i], none);
		harness_to(rt, at[i], e, none);
	}
	return k;
}

/* Lets each actor fail once, one after another. */
static void fail_each(struct peal_endpoint *e, uint32_t workers, uint32_t n,
		      const uint64_t *at)
{
	const uint64_t zero = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		CHECK_OK(peal_send_to(e, i % workers, at[i], SUPERVISED_FAIL,
				      &zero, sizeof(zero), MAX_WAIT, NULL));
}

/* Returns the sum of the numbers behind a word in a text. */
static unsigned long sum_behind(const char *text, const char *word)
{
	unsigned long sum = 0;

	while ((text = strstr(text, word))) {
		text += strlen(word);
		sum += strtoul(text, NULL, 10);
	}
	return sum;
}

/* A kernel logs at most 20 failures in a second. The rest is in a number. */
PEAL_TEST(log_of_failures_is_rate_limited)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel_info info;
	uint64_t at[MANY], began;
	struct peal_kernel *k = watched(rt, e, 2, MANY, at);
	unsigned long listed, left;
	const char *text;

	log_begin("1");
	began = harness_now_ns();
	fail_each(e, 2, MANY, at);
	EVENTUALLY(!peal_kernel_info(k, &info) && info.failed == MANY);
	CHECK_OK(peal_runtime_shutdown(rt));
	text = log_end();
	listed = (unsigned long)lines_with(text, "its handler has failed");
	left = sum_behind(text, "kernel 'watched': ");
	CHECK_EQ(listed + left, MANY);
	CHECK(listed >= 20);
	/* a second that began before, and the one of the end, have lines, too */
	CHECK(listed <= 20 * (3 + (harness_now_ns() - began) / SECOND));
}

/* The worker has space for the failures of 31 actors. */
PEAL_TEST(log_counts_each_failure_of_many_actors)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel_info info;
	uint64_t at[100];
	struct peal_kernel *k = watched(rt, e, 1, 100, at);
	const char *text;
	int i;

	log_begin("1");
	for (i = 0; i < 3; i++)
		fail_each(e, 1, 100, at);
	EVENTUALLY(!peal_kernel_info(k, &info) && info.failed == 300);
	CHECK_OK(peal_runtime_shutdown(rt));
	text = log_end();
	CHECK_EQ(sum_behind(text, "times: ") +
			 sum_behind(text, "kernel 'watched': "),
		 300);
}

PEAL_TEST(levels_add_decisions_and_all_else)
{
	int level;

	for (level = 1; level <= 3; level++) {
		char number[2] = { (char)('0' + level), 0 };
		struct peal_runtime *rt = harness_open(1, "");
		struct peal_endpoint *e = harness_endpoint(rt);
		struct peal_kernel *k;
		const char *text;
		uint64_t at;

		log_begin(number);
		k = launch(rt, &peal_program_supervised);
		spawn(rt, k, e, 0, (struct peal_actor_options){ .worker = 1 });
		at = harness_spawn(k, "supervised", 1);
		CHECK_OK(peal_actor_retire(rt, at));
		CHECK_OK(peal_runtime_shutdown(rt));
		text = log_end();
		CHECK_EQ(lines_with(text, "kernel 'watched' of program "
					  "'supervised' runs on device 0"),
			 level >= 2);
		CHECK_EQ(lines_with(text, "route mapped-host: "),
			 level >= 2 ? 2 : 0);
		CHECK_EQ(lines_with(text, "actors are retired: 1, "),
			 level >= 2);
		CHECK_EQ(lines_with(text, "kernel 'watched' has ended: "
					  "stopped"),
			 level >= 2);
		CHECK_EQ(lines_with(text, "has new actors of handler "
					  "'supervised': 1"),
			 level >= 3 ? 2 : 0);
	}
}

/* Returns the log of two links from a device to the next one. */
static const char *log_of_links(struct peal_runtime *rt, int from,
				struct peal_link_options link,
				const char *level)
{
	struct peal_kernel_options o = { .size = sizeof(o), .max_actors = 2 };
	struct peal_kernel *k[2];
	uint64_t a[2], to;
	int i;

	link.size = sizeof(link);
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_kernel_launch(
			rt, from + i, &peal_program_supervised, &o, &k[i]));
	for (i = 0; i < 2; i++)
		a[i] = harness_spawn(k[0], "supervised", 0);
	to = harness_spawn(k[1], "supervised", 0);
	log_begin(level);
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_connect(rt, a[i], 0, to, &link, NULL));
	CHECK_OK(peal_runtime_shutdown(rt));
	return log_end();
}

#define STAGED "links are staged through the host, which is slower ("
#define MAPPED "links use rings in mapped host memory, which is slower ("

PEAL_TEST(pair_without_a_direct_path_is_warned_of_once)
{
	const struct peal_link_options staged = { .require =
							  PEAL_ROUTE_STAGED };
	const struct peal_link_options peer = { .require = PEAL_ROUTE_PEER };
	const char *part = "device 0 -> device 1: " STAGED;

	CHECK_EQ(lines_with(log_of_links(harness_open(2, ""), 0, peer, NULL),
			    "slower"),
		 0);
	CHECK_EQ(lines_with(log_of_links(harness_open(2, ""), 0, staged, "0"),
			    "slower"),
		 0);
	CHECK_EQ(lines_with(log_of_links(harness_open(2, ""), 0, staged, NULL),
			    part),
		 1);
	/* another runtime of the process does not repeat the line */
	CHECK_EQ(lines_with(log_of_links(harness_open(2, ""), 0, staged, "1"),
			    part),
		 0);
}

PEAL_TEST(warning_names_the_cause)
{
	static const struct {
		const char *links, *text;
		struct peal_link_options o;
	} cases[] = {
		{ "1-2:none",
		  MAPPED "device 1 has no access to the memory of device 2)",
		  { 0 } },
		{ "2>3:nvlink!lost", MAPPED "of ", { 0 } },
		{ "",
		  MAPPED "the options exclude the peer route)",
		  { .forbid = PEAL_ROUTE_PEER } },
		{ "",
		  STAGED "option 'require' demands the route)",
		  { .require = PEAL_ROUTE_STAGED } },
		{ "",
		  MAPPED "PEAL_PROBE is off, so no access is verified)",
		  { 0 } },
	};
	const int n = (int)(sizeof(cases) / sizeof(cases[0]));
	char part[160];
	const char *text;
	int i;

	HOST_CASE("only emulated devices have this many pairs and faults");
	for (i = 0; i < n; i++) {
		if (i == n - 1)
			setenv("PEAL_PROBE", "off", 1);
		text = log_of_links(harness_open(n + 2, cases[i].links), i + 1,
				    cases[i].o, NULL);
		snprintf(part, sizeof(part), "device %d -> device %d: %s",
			 i + 1, i + 2, cases[i].text);
		CHECK_CONTAINS(text, part);
		CHECK_EQ(lines_with(text, "slower"), 1);
	}
	unsetenv("PEAL_PROBE");
}

PEAL_TEST_MAIN(RUN(failure_words_keep_the_sign_of_an_error);
	       RUN(first_failure_of_each_actor_is_logged_with_counts);
	       RUN(failed_init_is_logged); RUN(exhausted_supervisor_is_logged);
	       RUN(lost_dead_letters_are_logged);
	       RUN(log_of_failures_is_rate_limited);
	       RUN(log_counts_each_failure_of_many_actors);
	       RUN(levels_add_decisions_and_all_else);
	       RUN(pair_without_a_direct_path_is_warned_of_once);
	       RUN(warning_names_the_cause);)
