/* SPDX-License-Identifier: Apache-2.0 */
/* Messages from the host to an actor and back: see bench/host_round_trip.h. */
#include "bench/host_round_trip.h"

#include "bench/report.h"

#define BUDGET_NS 10000000
#define SAMPLES 1000 /* maximum */
#define WARM 20

int peali_host_trip_open(struct peali_host_trip *t, int kernel)
{
	const struct peal_link_options back = {
		.size = sizeof(back),
		.message_bytes = t->bytes,
	};
	uint64_t seed = peali_bench_seed();
	uint64_t bounce = peali_fixture_spawn(t->fixture, kernel, "bounce", 0);

	for (uint32_t i = 0; i < PEALI_BENCH_WORDS; i++)
		t->base[i] = peali_bench_word(seed, i);
	t->port =
		bounce ? peali_fixture_from_host(t->fixture, bounce, t->bytes) :
			 -1;
	if (t->port < 0)
		return -1;
	t->link = peali_fixture_connect(t->fixture, bounce, 0,
					peal_endpoint_address(t->fixture->host),
					&back);
	return t->link < 0 ? -1 : 0;
}

static int send_one(struct peali_host_trip *t, uint64_t number)
{
	const struct peali_bench_share share = { t->bytes / 8, 0, 1 };
	void *place;

	if (peal_send_reserve(t->fixture->host, (uint32_t)t->port, t->bytes,
			      PEALI_FIXTURE_WAIT_NS, &place) < 0)
		return -peali_say_error("send a message");
	peali_bench_fill(place, t->base, number, share);
	if (peal_send_commit(t->fixture->host, (uint32_t)t->port,
			     PEALI_BENCH_DATA) < 0)
		return -peali_say_error("send a message");
	return 0;
}

static int take_one(struct peali_host_trip *t, uint64_t number)
{
	const struct peali_bench_share share = { t->bytes / 8, 0, 1 };
	struct peal_received got;
	uint64_t wrong = 1;

	if (peal_receive_peek(t->fixture->host, &got, PEALI_FIXTURE_WAIT_NS) <
	    0)
		return -peali_say_error("take an answer");
	if (got.length == t->bytes)
		wrong = peali_bench_check(got.data, t->base, number,
					  ~UINT64_C(0), share);
	peal_receive_release(t->fixture->host);
	if (!wrong)
		return 0;
	peali_say("answer %llu of a round trip is wrong",
		  (unsigned long long)number);
	return -1;
}

double peali_host_trip_once(void *trip)
{
	struct peali_host_trip *t = trip;
	uint64_t began = peali_bench_now_ns();
	int failed = 0;

	for (uint32_t i = 0; i < t->batch && !failed; i++)
		failed = send_one(t, t->next + i);
	for (uint32_t i = 0; i < t->batch && !failed; i++)
		failed = take_one(t, t->next + i);
	t->next += t->batch;
	return failed ? -1 : (double)(peali_bench_now_ns() - began) / t->batch;
}

int peali_host_trip_samples(double (*once)(void *context), void *context,
			    struct peali_samples *samples)
{
	uint64_t until = peali_bench_now_ns() + BUDGET_NS;

	for (int i = 0; i < WARM + SAMPLES; i++) {
		double ns = once(context);

		if (ns < 0)
			return -1;
		if (i >= WARM)
			peali_samples_add(samples, ns);
		if (i > WARM && peali_bench_now_ns() > until)
			break;
	}
	return 0;
}
