/* SPDX-License-Identifier: Apache-2.0 */
/* labels: double */
/*
 * Makes every driver call fail once, at each point of the scenario or at many
 * (see next_point). The error text names the call, or the result is right
 * without the call. Nothing crashes, hangs or stays allocated with the driver.
 */
#include "fault/sweep.h"
#include "fault/sweep_slice.h"

/* A way to run the scenario. The first way that calls a symbol sweeps it. */
struct way {
	const char *name, *backends, *devices, *split, *lack, *faults;
};

static const struct way cuda_ways[] = {
	{ "base", "cuda", "2", "1", "", "" },
	{ "plain memory, plain launch", "cuda", "2", "1",
	  "cuMemCreate,cuLaunchCooperativeKernel", "" },
	{ "parts", "cuda", "1", "2", "", "" },
	{ "no room", "cuda", "2", "1", "", "cuMemCreate:2:2" },
};

static const struct way hip_ways[] = {
	{ "base", "hip", "2", "1", "", "" },
	{ "coarse memory", "hip", "2", "1", "", "hipExtMallocWithFlags:1:0" },
	{ "no room", "hip", "2", "1", "", "hipExtMallocWithFlags:2:2" },
	{ "beside CUDA's", "cuda,hip", "1", "1", "", "" },
};
#define N_WAYS 4

#if PEAL_ASAN || PEAL_TSAN
#define SWEEP_DENSE 8
#define SWEEP_STEP 19
#else
#define SWEEP_DENSE 24
#define SWEEP_STEP 7
#endif

static const struct way *way_at(int i)
{
	return sweep_is_hip ? &hip_ways[i] : &cuda_ways[i];
}

static int is_in(const char *symbol, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(*list, symbol))
			return 1;
	return 0;
}

/* Symbols that no way calls. */
static const char *const never[] = {
	"hipDriverGetVersion",
	"cuMemHostRegister", /* CUDA comes first and allocates the memory */
	"cuMemHostUnregister",
	NULL,
};

/* Symbols that release a resource. If they fail, the resource may stay. */
static const char *const givers[] = {
	"cuMemFree",
	"cuMemFreeHost",
	"cuMemHostUnregister",
	"cuMemAddressFree",
	"cuMemRelease",
	"cuMemUnmap",
	"cuStreamDestroy",
	"cuModuleUnload",
	"cuDevicePrimaryCtxRelease",
	"cuGreenCtxDestroy",
	"cuGraphDestroy",
	"cuGraphExecDestroy",
	"hipFree",
	"hipHostFree",
	"hipHostUnregister",
	"hipStreamDestroy",
	"hipModuleUnload",
	"hipGraphDestroy",
	"hipGraphExecDestroy",
	NULL,
};

/* Symbols that enter a device. If they fail, a resource may stay. */
static const char *const enterers[] = {
	"cuCtxPushCurrent",
	"hipGetDevice",
	"hipSetDevice",
	NULL,
};

/* Symbols that describe another error. The text need not name them. */
static const char *const asides[] = {
	"cuMemGetInfo", "hipMemGetInfo", "cuGetErrorName", "hipDrvGetErrorName",
	NULL,
};

static void take_way(const struct way *way, const char *fault)
{
	char faults[160];

	setenv("PEAL_BACKENDS", way->backends, 1);
	setenv("PEAL_GPU_SPLIT", way->split, 1);
	setenv("PEAL_DOUBLE_LACK", way->lack, 1);
	setenv("PEAL_DOUBLE_DEVICES", way->devices, 1);
	snprintf(faults, sizeof(faults), "%s%s%s", way->faults,
		 *way->faults && *fault ? "," : "", fault);
	setenv("PEAL_DOUBLE_FAIL", faults, 1);
}

/* Returns the fault of a run that came to its end; "": none. */
static const char *judge(const struct way *way, size_t i, int nth)
{
	const char *symbol = sweep_call(i)->symbol;
	int closing = nth > sweep->calls_before_close[i];

	if (sweep->wrong)
		return "wrong data";
	if (sweep->untold)
		return "there is no text";
	if (sweep->failed && !strstr(sweep->text, symbol) &&
	    !is_in(symbol, asides))
		return "the text does not name the call";
	if (sweep->left && !is_in(symbol, givers) &&
	    !(closing && is_in(symbol, enterers)))
		return "something is left with the driver";
	if (!sweep->failed && *way->faults && strstr(way->name, "no room"))
		return "a fault of the way itself does not show";
	return "";
}

/* The run of the present way without a fault. */
static struct sweep_result without_fault;

struct tally {
	int points, failures, bad;
	int most; /* most calls of a run so far */
	int ordinal; /* of the next point, selects its slice */
	char text[256];
};

/* Counts a run that came to its end. Returns 0 if it did not reach the call. */
static int count_point(const struct way *way, size_t i, int nth,
		       struct tally *tally)
{
	const char *what;

	if (sweep->calls[i] > tally->most)
		tally->most = sweep->calls[i];
	if (sweep->calls[i] < nth)
		return 0;
	tally->points++;
	tally->failures += sweep->failed > 0;
	if (sweep->failed && !*tally->text)
		memcpy(tally->text, sweep->text, sizeof(tally->text));
	what = judge(way, i, nth);
	if (!*what)
		return 1;
	tally->bad++;
	fprintf(stderr, "%s (%s): %s: %d failed, at %s: %s; left: %s\n",
		sweep->fault, way->name, what, sweep->failed, sweep->step,
		sweep->text, sweep->left_text);
	return 1;
}

/*
 * Returns the point behind the nth. The sweep takes all of the first points and
 * all of the closing, else each SWEEP_STEP-th. A symbol with so many calls has
 * few callers in the backend. PEAL_SWEEP_STEP=1 takes all points.
 */
static int next_point(int nth, size_t i)
{
	const char *step = getenv("PEAL_SWEEP_STEP");
	int closing = without_fault.calls_before_close[i];
	int next = nth + (step && atoi(step) > 0 ? atoi(step) : SWEEP_STEP);

	if (nth < SWEEP_DENSE ||
	    (nth >= closing && nth < without_fault.calls[i]))
		return nth + 1;
	return nth < closing && next > closing ? closing : next;
}

/* Returns the slice's next point from *nth on that a run may reach; 0: none. */
static int take_point(size_t i, int *nth, struct tally *tally)
{
	int point = 0;

	while (!point && *nth <= tally->most) {
		if (is_in_slice(tally->ordinal++))
			point = *nth;
		*nth = next_point(*nth, i);
	}
	return point;
}

/* Adds the points of slice K/N of a symbol with so many calls to taken[]. Returns
 * the number of points. */
static int take_points(int k, int n, int calls, int *taken)
{
	struct tally tally = { .most = calls, .ordinal = 3 };
	int nth = 1, point, points = 0;

	slice.k = k;
	slice.n = n;
	for (; (point = take_point(0, &nth, &tally)); points++)
		taken[point]++;
	return points;
}

PEAL_TEST(slices_share_all_points)
{
	enum { CALLS = 100 };
	int whole[CALLS + 1] = { 0 }, shared[CALLS + 1];
	int k, n, all, point;

	without_fault.calls[0] = CALLS;
	without_fault.calls_before_close[0] = CALLS - 10;
	all = take_points(1, 1, CALLS, whole);
	CHECK(whole[1] && whole[CALLS]);
	for (n = 2; n <= 10; n++) {
		memset(shared, 0, sizeof(shared));
		for (k = 1; k <= n; k++)
			CHECK(take_points(k, n, CALLS, shared) >= all / n);
		for (point = 0; point <= CALLS; point++)
			CHECK_EQ(shared[point], whole[point]);
	}
	slice.k = slice.n = 1;
}

/* Runs up to SWEEP_CHILDREN points from *nth on. Returns 0 if the last was not
 * reached, or if there is none. */
static int run_points(const struct way *way, size_t i, int error, int *nth,
		      struct tally *tally)
{
	int c, n, reached, at[SWEEP_CHILDREN];
	char fault[96];

	for (n = 0; n < SWEEP_CHILDREN; n++) {
		at[n] = take_point(i, nth, tally);
		if (!at[n])
			break;
		snprintf(fault, sizeof(fault), "%s:%d:%d",
			 sweep_call(i)->symbol, error, at[n]);
		take_way(way, fault);
		sweep_start(n);
	}
	slice.tried += n;
	reached = n > 0;
	for (c = 0; c < n; c++) {
		if (sweep_survived(c))
			reached = count_point(way, i, at[c], tally);
		else
			tally->bad++;
	}
	return reached;
}

/* Chooses the errors of a symbol. Allocations also get "out of memory". A query
 * of a stream gets the error of a kernel. */
static void choose_errors(const char *symbol, int errors[2])
{
	errors[0] = strstr(symbol, "StreamQuery") ? 719 : 999;
	errors[1] = strstr(symbol, "Alloc") || strstr(symbol, "Malloc") ||
				    strstr(symbol, "Create") ?
			    2 :
			    0;
}

static int sweep_symbol(const struct way *way, size_t i, int calls)
{
	const char *symbol = sweep_call(i)->symbol;
	struct tally tally;
	int errors[2], e, nth, bad = 0;

	choose_errors(symbol, errors);
	for (e = 0; e < 2 && errors[e]; e++) {
		memset(&tally, 0, sizeof(tally));
		tally.most = calls;
		tally.ordinal = (int)i + e;
		nth = 1;
		while (tally.bad < 5 &&
		       run_points(way, i, errors[e], &nth, &tally))
			;
		bad += tally.bad;
		printf("%-44s %3d calls, %d: %3d points, %3d errors: %s\n",
		       symbol, calls, errors[e], tally.points, tally.failures,
		       *tally.text ? tally.text : "(none: right without it)");
	}
	return bad;
}

PEAL_TEST(each_failing_driver_call_is_survived)
{
	static int swept[SWEEP_CALLS];
	int calls[SWEEP_CALLS], w, bad = 0;
	const char *only = getenv("PEAL_SWEEP");
	size_t i;

	for (w = 0; w < N_WAYS; w++) {
		take_way(way_at(w), "");
		sweep_start(0);
		CHECK(sweep_survived(0));
		CHECK(!sweep->wrong && !sweep->left);
		if (!strstr(way_at(w)->name, "no room") && sweep->failed) {
			fprintf(stderr, "%s: %s: %s\n", way_at(w)->name,
				sweep->step, sweep->text);
			exit(1);
		}
		memcpy(calls, sweep->calls, sizeof(calls));
		without_fault = *sweep;
		printf("%s\n", way_at(w)->name);
		for (i = 0; i < SWEEP_CALLS; i++) {
			if (!calls[i] || swept[i])
				continue;
			swept[i] = 1;
			if (!only || strstr(sweep_call(i)->symbol, only))
				bad += sweep_symbol(way_at(w), i, calls[i]);
		}
	}
	for (i = 0; i < SWEEP_CALLS; i++)
		if (*sweep_call(i)->symbol && !swept[i] &&
		    !is_in(sweep_call(i)->symbol, never)) {
			fprintf(stderr, "%s is never called\n",
				sweep_call(i)->symbol);
			bad++;
		}
	CHECK_EQ(bad, 0);
	printf("%d points tried\n", slice.tried);
	CHECK(only || slice.tried); /* an empty slice shows nothing */
}

int main(int argc, char **argv)
{
	const char *vendor = getenv("PEAL_BACKENDS");
	int peal_cases_ = 0;

	if (!vendor || (strcmp(vendor, "cuda") != 0 && strcmp(vendor, "hip")))
		SKIP("PEAL_BACKENDS names no driver double");
	if (PEAL_TSAN) /* threads left behind by failed calls would count */
		SKIP("ThreadSanitizer reports threads of kernels that died");
	RUN(slices_share_all_points);
	take_slice();
	sweep_begin(vendor);
	RUN(each_failing_driver_call_is_survived);
	printf("%d cases passed\n", peal_cases_);
	return peal_cases_ ? 0 : 1;
}
