/* SPDX-License-Identifier: Apache-2.0 */
/* labels: quick */
/*
 * Makes every call of libc fail once, on each path and at many points of it.
 * The error text names the cause, or the result is right without the call.
 * Nothing crashes or hangs. No memory, mapping, file, thread or descriptor is
 * left after the end of the runtime.
 */
#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <jansson.h>

#include "fault/libc/scenario.h"
#include "fault/libc/shim.h"
#include "fault/sweep_child.h"
#include "fault/sweep_slice.h"

#define SLOTS (SWEEP_CHILDREN + (int)SCENARIO_WAYS)

/* ---- a child ------------------------------------------------------------- */

static struct libc_run *runs; /* of each child, and of each way */
static struct libc_run *run; /* of this child */
static const struct libc_run *whole; /* of the present way, without a fault */
static const struct scenario_way *way;
static struct sweep_result *peers, *own_peer; /* results of the other ranks */

static int count_entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Returns the number of threads that stay longer than a moment. */
static int count_threads(int expected)
{
	uint64_t until = harness_now_ns() + 5 * SECOND;
	int n;

	do
		n = count_entries("/proc/self/task");
	while (n > expected && harness_now_ns() < until);
	return n;
}

static void leave(int number, const char *of)
{
	size_t used = strlen(sweep->left_text);

	sweep->left++;
	snprintf(sweep->left_text + used, sizeof(sweep->left_text) - used,
		 "%d of %s; ", number, of);
}

/* Compares the objects of each path with those of the run without a fault. */
static void compare_objects(void)
{
	const struct libc_path *p, *before;
	int i;

	for (i = 0; whole && i < run->n_paths; i++) {
		p = &run->paths[i];
		before = libc_path_find(whole, p->id);
		if (p->live > (before ? before->live : 0))
			leave(p->live, libc_call_name(p->call));
	}
}

static void use_runtime(void (*use)(struct peal_runtime *rt))
{
	struct peal_runtime *rt = NULL;

	if (!STEP(peal_runtime_open(NULL, &rt)))
		return;
	use(rt);
	if (way->shuts_down || !STEP(peal_runtime_close(rt)))
		STEP(peal_runtime_shutdown(rt));
}

/* Runs the other rank, without a fault. */
static pid_t start_peer(struct procs *c)
{
	pid_t peer;

	procs_prepare(c, 2);
	procs_board = c->board;
	procs_environment(c, way->rank);
	peer = fork();
	CHECK(peer >= 0);
	if (peer)
		return peer;
	alarm(SWEEP_ALARM_S);
	sweep = own_peer;
	procs_environment(c, 1 - way->rank);
	use_runtime(way->peer);
	_exit(0);
}

/* Returns 1 if the fault hits the removal of the rendezvous file, which then
 * stays. */
static int removes_file(void)
{
	const struct libc_path *p = libc_path_find(run, run->fault_id);
	Dl_info symbol;
	int i;

	for (i = 0; p && i < LIBC_DEPTH; i++)
		if (p->functions[i] && dladdr(p->functions[i], &symbol) &&
		    symbol.dli_sname &&
		    !strcmp(symbol.dli_sname, "peali_rendezvous_end"))
			return 1;
	return 0;
}

/* The other rank cannot end if this process has never been a rank. */
static void end_peer(struct procs *c, pid_t peer)
{
	char command[64];
	int status = 0;

	if (sweep->failed && !own_peer->failed)
		kill(peer, SIGKILL);
	CHECK_EQ(waitpid(peer, &status, 0), peer);
	if (!sweep->failed && status)
		leave(status, "the other rank's status");
	if (!sweep->failed && !own_peer->failed && rmdir(c->folder) &&
	    !removes_file())
		leave(1, "the rendezvous file");
	snprintf(command, sizeof(command), "rm -rf '%s'", c->folder);
	CHECK(!system(command));
}

static void scenario(void)
{
	int descriptors, threads;
	struct procs c;
	pid_t peer = 0;

	setenv("PEAL_HOST_LINKS", way->links, 1);
	if (way->peer)
		peer = start_peer(&c);
	descriptors = count_entries("/proc/self/fd");
	threads = count_entries("/proc/self/task");
	libc_shim_use(run, __builtin_return_address(0));
	use_runtime(way->use);
	libc_shim_use(NULL, NULL);
	if (peer)
		end_peer(&c, peer);
	compare_objects();
	threads = count_threads(threads) - threads;
	if (threads)
		leave(threads, "the threads");
	descriptors = count_entries("/proc/self/fd") - descriptors;
	if (descriptors)
		leave(descriptors, "the descriptors");
	sweep->done = 1;
}

/* ---- the parent ---------------------------------------------------------- */

struct point {
	const struct libc_path *path;
	int nth;
};

/* The paths on which a way has swept, and counts of points. */
static struct {
	const struct libc_path *paths[8 * LIBC_PATHS];
	int n;
	int ordinal; /* of the next point, selects its slice */
	int tried, failures, missed, bad;
} swept;

/* Functions by which two paths differ, innermost first. */
static int depth(void)
{
	return PEAL_ASAN ? 2 : getenv("PEAL_TEST_QUICK") ? 3 : LIBC_DEPTH;
}

static int is_swept(const struct libc_path *p)
{
	const size_t bytes = (size_t)depth() * sizeof(p->functions[0]);
	int i;

	for (i = 0; i < swept.n; i++)
		if (swept.paths[i]->call == p->call &&
		    !memcmp(swept.paths[i]->functions, p->functions, bytes))
			return 1;
	return 0;
}

static void print_path(const struct libc_path *p)
{
	int depth = 0;

	while (depth < LIBC_DEPTH && p->functions[depth])
		depth++;
	fflush(stderr);
	backtrace_symbols_fd(p->functions, depth, 2);
}

/* Returns 1 if a text names the failed call or its error. */
static int names_cause(const char *text, int call)
{
	int error = libc_call_error(call);

	return strstr(text, libc_call_name(call)) ||
	       strstr(text, "fault_libc") || /* dlopen */
	       (error && strstr(text, strerror(error))) ||
	       (error == ENOMEM && strstr(text, "memory"));
}

/* Returns the fault of a run that came to its end; "": none. An error that this
 * process reports to the other rank is an error of the other rank. A process
 * that asks for stalls does not know why the thread peal-stall does not answer. */
static const char *judge(const struct libc_path *p,
			 const struct sweep_result *peer)
{
	if (sweep->wrong || peer->wrong)
		return "wrong data";
	if (sweep->untold)
		return "there is no text";
	if (sweep->failed && !names_cause(sweep->text, p->call) &&
	    !names_cause(peer->text, p->call) &&
	    strcmp(p->thread, "peal-stall") != 0)
		return "the text does not name the cause";
	if (sweep->left)
		return "something is left";
	return "";
}

static void start_point(int slot, const struct point *point)
{
	char fault[128];

	own_peer = &peers[slot];
	memset(own_peer, 0, sizeof(*own_peer));
	run = &runs[slot];
	memset(run, 0, sizeof(*run));
	run->fault_id = point ? point->path->id : 0;
	run->fault_nth = point ? point->nth : 0;
	snprintf(fault, sizeof(fault), "%s, %s, call %d of %d", way->name,
		 point ? libc_call_name(point->path->call) : "no fault",
		 run->fault_nth, point ? point->path->count : 0);
	sweep_fork(slot, fault, scenario);
}

static void end_point(int slot, const struct point *point)
{
	int survived = sweep_survived(slot);
	const char *fault = survived ? judge(point->path, &peers[slot]) :
				       "no end";

	swept.tried++;
	swept.missed += survived && !runs[slot].fault_reached;
	swept.failures += sweep->failed > 0;
	if (!*fault)
		return;
	swept.bad++;
	fprintf(stderr, "%s: %s: %d failed, at %s: %s; left: %s\n",
		sweep->fault, fault, sweep->failed, sweep->step, sweep->text,
		sweep->left_text);
	if (peers[slot].failed)
		fprintf(stderr, "    other rank, at %s: %s\n", peers[slot].step,
			peers[slot].text);
	print_path(point->path);
}

static void run_points(const struct point *points, int n)
{
	int i;

	for (i = 0; i < n; i++)
		start_point(i, &points[i]);
	for (i = 0; i < n; i++)
		end_point(i, &points[i]);
}

/* Returns the point behind the nth: first each, then fewer. A short sweep takes
 * the first point of each path. */
static int next_point(int nth, int calls)
{
	return depth() < LIBC_DEPTH ? calls + 1 : nth + 1 + nth / 4;
}

/* Tries the points of a path that are in the slice. Fills points[] first. */
static void sweep_path(const struct libc_path *p,
		       struct point points[SWEEP_CHILDREN], int *n)
{
	int nth;

	for (nth = 1; nth <= p->count; nth = next_point(nth, p->count)) {
		if (!is_in_slice(swept.ordinal++))
			continue;
		points[(*n)++] = (struct point){ p, nth };
		if (*n < SWEEP_CHILDREN)
			continue;
		run_points(points, *n);
		*n = 0;
	}
}

static void sweep_way(const char *only)
{
	struct point points[SWEEP_CHILDREN];
	const struct libc_path *p;
	int i, n = 0;

	for (i = 0; i < whole->n_paths; i++) {
		p = &whole->paths[i];
		if (is_swept(p))
			continue;
		if (!only || strstr(libc_call_name(p->call), only))
			sweep_path(p, points, &n);
		swept.paths[swept.n++] = p;
	}
	run_points(points, n);
}

/* Runs a way without a fault. */
static void take_way(size_t number)
{
	const int slot = SWEEP_CHILDREN + (int)number;

	way = &scenario_ways[number];
	whole = NULL;
	start_point(slot, NULL);
	CHECK(sweep_survived(slot));
	if (sweep->failed || sweep->wrong || sweep->left) {
		fprintf(stderr, "%s: %s: %s; left: %s\n", sweep->fault,
			sweep->step, sweep->text, sweep->left_text);
		exit(1);
	}
	whole = &runs[slot];
	CHECK(!whole->n_lost);
}

/* Runs a point with the log on. `text` gets what the processes write. */
static void run_logged(const struct point *point, char *text, size_t bytes)
{
	FILE *log = tmpfile();
	int usual = dup(2);

	CHECK(log && usual >= 0 && dup2(fileno(log), 2) == 2);
	setenv("PEAL_LOG", "1", 1);
	start_point(0, point);
	CHECK(sweep_survived(0));
	setenv("PEAL_LOG", "0", 1);
	CHECK(dup2(usual, 2) == 2);
	close(usual);
	rewind(log);
	text[fread(text, 1, bytes - 1, log)] = 0;
	fclose(log);
}

/* The reader thread needs memory to pass a request on to the job thread. */
PEAL_TEST(record_without_memory_is_counted_and_logged)
{
	struct point point = { NULL, 1 };
	char text[4096];
	int i;

	take_way(SCENARIO_RANK_0);
	for (i = 0; i < whole->n_paths; i++)
		if (!strcmp(whole->paths[i].thread, "peal-processes") &&
		    !strcmp(libc_call_name(whole->paths[i].call), "calloc"))
			point.path = &whole->paths[i];
	CHECK(point.path);
	run_logged(&point, text, sizeof(text));
	CHECK(runs[0].fault_reached);
	CHECK_EQ(sweep->lost, 1);
	CHECK_CONTAINS(text, "misses a record: this process has no memory");
	CHECK_CONTAINS(sweep->text, "no memory for it");
}

PEAL_TEST(each_failing_libc_call_is_survived)
{
	const char *only = getenv("PEAL_SWEEP");
	size_t w;
	int before;

	for (w = 0; w < SCENARIO_WAYS; w++) {
		before = swept.tried;
		take_way(w);
		sweep_way(only);
		printf("%-16s %4d paths, %5d points\n", way->name,
		       whole->n_paths, swept.tried - before);
	}
	printf("%d points tried, %d errors, %d not reached\n", swept.tried,
	       swept.failures, swept.missed);
	CHECK_EQ(swept.bad, 0);
	CHECK(swept.tried);
}

int main(int argc, char **argv)
{
	int peal_cases_ = 0;

	if (PEAL_TSAN)
		SKIP("ThreadSanitizer reports threads of failed launches");
	take_slice();
	runs = sweep_share(SLOTS * sizeof(*runs));
	peers = sweep_share(SLOTS * sizeof(*peers));
	sweep_prepare(SLOTS);
	setenv("PEAL_PROBE", "fresh", 1); /* each run probes the pair */
	setenv("PEAL_BACKENDS", "host",
	       1); /* CTest offers driver doubles, too */
	setenv("PEAL_HOST_MEMORY", "64M", 1);
	setenv("PEAL_HOST_DEVICES", "2", 1);
	json_set_alloc_funcs(malloc, free); /* jansson's calls, too */
	RUN(record_without_memory_is_counted_and_logged);
	RUN(each_failing_libc_call_is_survived);
	printf("%d cases passed\n", peal_cases_);
	return peal_cases_ ? 0 : 1;
}
