/* SPDX-License-Identifier: Apache-2.0 */
/* The host's time is always between the bounds that devices know of it. Their
 * clocks are hours away from the host's clock, faster and slower. */
#include "runtime/kernel/clock.h"
#include "runtime/deadline_fixture.h"

/* ---- bounds from simulated contacts -------------------------------------- */

/* Returns the device's clock at host time `host`, rounded down to `step` ns.
 * The clock is `ahead` ns ahead and `ppm` too fast. */
static uint64_t device_at(uint64_t host, uint64_t ahead, int64_t ppm,
			  uint64_t step)
{
	uint64_t ns =
		host + ahead + (uint64_t)((int64_t)(host / 1000) * ppm / 1000);

	return ns / step * step;
}

/* Returns 1 if `host` is between the bounds for device time `device`. */
static int is_between(const struct peal_clock *c, uint64_t host,
		      uint64_t device)
{
	uint64_t uncertainty;
	uint64_t is = peal_clock_to_host(c, device, &uncertainty);
	int64_t off = (int64_t)(is - host);

	return (uint64_t)(off < 0 ? -off : off) <= uncertainty;
}

/* Learns from n contacts with delays of 0 to 50 ms per step. The bounds hold
 * after each contact and 100 s later. */
static void learn(uint64_t ahead, int64_t ppm, uint64_t step, uint32_t n)
{
	struct peali_clock clock;
	struct peali_clock_contact in;
	unsigned long long state = 3;
	uint64_t host = 5000 * (uint64_t)SECOND, at, later;
	uint64_t best = UINT64_MAX;
	uint32_t i;

	peali_clock_init(&clock);
	in.step = step;
	for (i = 0; i < n; i++) {
		in.seen = host;
		host += test_random(&state) % (50 * MS) * (i % 3 != 0);
		in.first = device_at(host, ahead, ppm, step);
		host += test_random(&state) % (50 * MS) * (i % 5 != 0);
		in.latest = device_at(host, ahead, ppm, step);
		host += test_random(&state) % (50 * MS) * (i % 7 != 0);
		in.now = host;
		peali_clock_learn(&clock, &in);
		at = device_at(host, ahead, ppm, step);
		CHECK(is_between(&clock.bounds, host, at));
		host += step - 1; /* the clock lags by most of a step */
		at = device_at(host, ahead, ppm, step);
		CHECK(is_between(&clock.bounds, host, at));
		later = host + 100 * (uint64_t)SECOND;
		at = device_at(later, ahead, ppm, step);
		CHECK(is_between(&clock.bounds, later, at));
		if (clock.bounds.high - clock.bounds.low < best)
			best = clock.bounds.high - clock.bounds.low;
	}
	/* the bounds get close, too */
	CHECK(best < (uint64_t)MS + 2 * step);
	peali_clock_fini(&clock);
}

PEAL_TEST(clock_bounds_hold_for_fast_slow_and_coarse_clocks)
{
	learn(0, 0, 1, 3000);
	learn(7200 * (uint64_t)SECOND, 900, 1, 3000);
	learn(0 - 86400 * (uint64_t)SECOND, -900, 1, 3000);
	learn(1ULL << 62, 400, 1000, 3000);
	learn(0 - (1ULL << 60), -400, 1, 3000);
	learn(0, 200, (uint64_t)MS, 3000);
}

PEAL_TEST(stepped_clock_is_learned_again)
{
	struct peali_clock clock;
	struct peali_clock_contact in = { .step = 1 };
	uint64_t host = 100 * (uint64_t)SECOND, ahead = 0;
	uint32_t i;

	peali_clock_init(&clock);
	for (i = 0; i < 40; i++) {
		if (i % 10 == 0) /* set forward or back */
			ahead = i % 20 ? 0 : 3600 * (uint64_t)SECOND;
		in.seen = host;
		in.first = in.latest = host + 1000 + ahead;
		in.now = host + 2000;
		peali_clock_learn(&clock, &in);
		CHECK(is_between(&clock.bounds, host + 2000,
				 host + 2000 + ahead));
		if (i % 10 > 1)
			CHECK(clock.bounds.high - clock.bounds.low <
			      (uint64_t)MS);
		host += 20 * MS;
	}
	peali_clock_fini(&clock);
}

/* ---- devices ------------------------------------------------------------- */

struct post {
	struct peal_kernel *k;
	struct peal_endpoint *in, *out;
};

static struct post open_post(struct peal_runtime *rt, int device)
{
	struct post p = { fixture_kernel(rt, device, 2), harness_endpoint(rt),
			  harness_endpoint(rt) };

	fixture_from(rt, p.in, 0, fixture_mark(rt, p.k, 1, p.out));
	return p;
}

/* Sends one message. Checks the bounds of the worker and those of the host
 * against the host's time before and after. */
static struct deadline_report check_post(struct post *p)
{
	struct deadline_order o = { .number = 1 };
	struct deadline_report r;
	uint64_t before, after, is, uncertainty;
	struct peal_clock c;

	before = peal_clock_host_ns();
	fixture_send(p->in, 0, 0, 0, 0, o);
	r = fixture_report(p->out);
	after = peal_clock_host_ns();
	CHECK(r.low <= after);
	CHECK(r.high >= before);
	CHECK(r.common + r.uncertainty >= before);
	CHECK(r.common <= after + r.uncertainty);
	CHECK_OK(peal_kernel_clock(p->k, &c));
	is = peal_clock_to_host(&c, r.device_ns, &uncertainty);
	CHECK(is + uncertainty >= before);
	CHECK(is <= after + uncertainty);
	is = peal_clock_to_device(&c, is, NULL) - r.device_ns + 2;
	CHECK(is <= 4);
	return r;
}

PEAL_TEST(host_clock_lies_within_worker_bounds)
{
	struct peal_runtime *rt = fixture_open("");
	struct post p[2] = { open_post(rt, 0), open_post(rt, 1) };
	struct deadline_report r[2];
	struct peal_kernel *k[2] = { p[0].k, p[1].k };
	int64_t apart;
	uint32_t i;

	for (i = 0; i < 200; i++) {
		r[i % 2] = check_post(&p[i % 2]);
		identity_sleep_us(i % 50 ? 200 : 100000); /* workers sleep */
	}
	for (i = 0; i < 2; i++) {
		struct peal_clock c;

		CHECK_OK(peal_kernel_clock(p[i].k, &c));
		printf("    device %u: %lld s off, known to %.3f ms\n", i,
		       (long long)(int64_t)(c.low) / SECOND,
		       (double)(c.high - c.low) / 2e6);
		CHECK((int64_t)(c.high - c.low) >= 0);
	}
	/* emulated clocks must be far away, real GPUs have their own clocks */
	apart = (int64_t)(r[0].device_ns - r[0].common);
	if (!getenv("PEAL_TEST_GPU"))
		CHECK(apart > 1000 * SECOND || apart < -1000 * SECOND);
	fixture_close(rt, k, 2);
}

/* The bounds are renewed while workers are idle or suspended. */
PEAL_TEST(clock_bounds_stay_fresh)
{
	struct peal_runtime *rt = fixture_open("");
	struct post p = open_post(rt, 0);
	struct peal_clock first, c;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		CHECK_OK(peal_kernel_clock(p.k, &first));
		EVENTUALLY(!peal_kernel_clock(p.k, &c) &&
			   c.at - first.at > 300 * (uint64_t)MS);
		if (i == 0)
			CHECK_OK(peal_kernel_suspend(p.k, MAX_WAIT));
	}
	CHECK_OK(peal_kernel_resume(p.k));
	check_post(&p);
	CHECK_FAILS(peal_kernel_clock(NULL, &c), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_kernel_clock(p.k, NULL), PEAL_EINVAL, "NULL");
	fixture_close(rt, &p.k, 1);
}

PEAL_TEST(invalid_emulated_clock_settings_are_refused)
{
	static const char *const bad[] = {
		"x",   "0",	  "0:",	  "0:1:",    "0:1:501",	   "0:1:-501",
		"2:1", "0:1;1:1", "-1:1", "0:1:1:1", "0:100000001"
	};
	struct peal_runtime *rt = NULL;
	uint32_t i;

	HOST_CASE("the setting is of emulated devices");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		test_set_machine("2", "");
		setenv("PEAL_HOST_CLOCKS", bad[i], 1);
		CHECK_FAILS(peal_runtime_open(NULL, &rt), PEAL_EINVAL,
			    "'PEAL_HOST_CLOCKS': is wrong at column");
		CHECK(!rt);
	}
	unsetenv("PEAL_HOST_CLOCKS");
}

PEAL_TEST_MAIN(fixture_program = &peal_program_deadlines;
	       RUN(clock_bounds_hold_for_fast_slow_and_coarse_clocks);
	       RUN(stepped_clock_is_learned_again);
	       RUN(host_clock_lies_within_worker_bounds); fixture_lanes = 32;
	       RUN(host_clock_lies_within_worker_bounds);
	       RUN(clock_bounds_stay_fresh);
	       RUN(invalid_emulated_clock_settings_are_refused);)
