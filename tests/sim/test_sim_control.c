/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that each accepted message of a stream is delivered once and in order,
 * or counted as left. Kernels are suspended, resumed, launched again by epochs,
 * drained and stopped at any moment.
 */
#include "sim/seeds.h"

#define MESSAGES 60
#define KERNELS 2

/* A stream from the host by two actors to the host. */
struct stream {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k[KERNELS];
	struct peal_link *link[KERNELS + 1];
	unsigned long long random;
	uint64_t messages; /* to send */
	uint64_t sent, received;
	int send_result;
};

static uint32_t draw(struct stream *s, uint32_t n)
{
	return (uint32_t)(test_random(&s->random) >> 32) % n;
}

static void begin(struct stream *s, uint64_t random, const char *links)
{
	struct peal_link_options o = { .capacity = 0 };
	struct peal_kernel_options k = { .workers = 1 };
	uint64_t actor[KERNELS];
	int i;

	memset(s, 0, sizeof(*s));
	s->random = random;
	s->messages = 1 + draw(s, MESSAGES);
	s->rt = harness_open(KERNELS, links);
	seeds_report_stalls(s->rt);
	s->e = harness_endpoint(s->rt);
	for (i = 0; i < KERNELS; i++) {
		k.workers = 1 + draw(s, 2);
		k.lanes = draw(s, 4) ? 1 : 3;
		k.epoch_ns = draw(s, 2) ? 0 : 20000 + draw(s, 100000);
		s->k[i] = harness_launch_with(s->rt, i, k);
		actor[i] = harness_spawn(s->k[i], "echo", -1);
	}
	o.capacity = 1u << draw(s, 5);
	s->link[0] = harness_from(s->rt, s->e, 0, actor[0], o);
	s->link[1] = harness_link(s->rt, actor[0], 0, actor[1], o);
	s->link[2] = harness_to(s->rt, actor[1], s->e, o);
}

/* Sends all messages, or those accepted before a kernel has stopped. */
static void *send_all(void *argument)
{
	struct stream *s = (struct stream *)argument;
	struct relay_message m;
	uint64_t i;

	for (i = 0; i < s->messages && !s->send_result; i++) {
		harness_fill(&m, sizeof(m), 1, i);
		s->send_result = peal_send(s->e, 0, (uint16_t)i, &m, sizeof(m),
					   MAX_WAIT, NULL);
		s->sent += !s->send_result;
	}
	return NULL;
}

/* Receives in order, up to the error that ends the stream. */
static int receive_all(struct stream *s)
{
	struct relay_message m;
	struct peal_received r;
	int result;

	for (;;) {
		result = peal_receive(s->e, &m, sizeof(m), &r, MAX_WAIT);
		if (result < 0)
			return result;
		CHECK_EQ(m.sequence, s->received);
		CHECK(harness_intact(&m, sizeof(m), 1, s->received));
		s->received++;
	}
}

static void *receive_in_thread(void *argument)
{
	struct stream *s = (struct stream *)argument;
	int result = receive_all(s);

	CHECK(result == PEAL_EEND || result == PEAL_ESTOPPED);
	return NULL;
}

/* Suspends and resumes a kernel. A suspended kernel must do nothing. */
static void disturb(struct stream *s)
{
	struct peal_kernel_info before, after;
	struct peal_kernel *k = s->k[draw(s, KERNELS)];
	uint32_t n = draw(s, 5);

	while (n--) {
		if (draw(s, 2)) /* else directly after the resume */
			identity_sleep_us(draw(s, 50));
		CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
		CHECK_OK(peal_kernel_info(k, &before));
		identity_sleep_us(draw(s, 50));
		CHECK_OK(peal_kernel_info(k, &after));
		CHECK_EQ(after.handled, before.handled);
		CHECK_EQ(after.emitted, before.emitted);
		CHECK_OK(peal_kernel_resume(k));
	}
}

/* ---- drain --------------------------------------------------------------- */

static void drain(uint64_t random)
{
	pthread_t sender, receiver;
	struct stream s;
	int i;

	begin(&s, random, random & 1 ? "0-1:nvlink" : "0-1:none");
	CHECK(!pthread_create(&sender, NULL, send_all, &s));
	CHECK(!pthread_create(&receiver, NULL, receive_in_thread, &s));
	disturb(&s);
	for (i = 0; i < KERNELS; i++) /* some before all was sent */
		if (draw(&s, 2))
			peal_kernel_drain(s.k[i], 0);
	CHECK(!pthread_join(sender, NULL));
	CHECK_OK(peal_send_end(s.e, 0, MAX_WAIT));
	for (i = KERNELS; i-- > 0;)
		CHECK_OK(peal_kernel_drain(s.k[KERNELS - 1 - i], MAX_WAIT));
	CHECK(!pthread_join(receiver, NULL));
	CHECK_EQ(s.sent, s.messages);
	CHECK_EQ(s.received, s.messages);
	for (i = 0; i <= KERNELS; i++)
		harness_delivered(s.link[i], s.messages);
	harness_conserved(s.rt);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* ---- stop ---------------------------------------------------------------- */

static void stop(uint64_t random)
{
	struct peal_link_info info;
	pthread_t sender, receiver;
	uint64_t left = 0;
	struct stream s;
	uint32_t first;
	int i;

	begin(&s, random, random & 1 ? "0-1:nvlink" : "0-1:none");
	CHECK(!pthread_create(&sender, NULL, send_all, &s));
	CHECK(!pthread_create(&receiver, NULL, receive_in_thread, &s));
	disturb(&s);
	identity_sleep_us(draw(&s, 200));
	first = draw(&s, KERNELS);
	CHECK_OK(peal_kernel_stop(s.k[first], MAX_WAIT));
	identity_sleep_us(draw(&s, 100));
	CHECK_OK(peal_kernel_stop(s.k[1 - first], MAX_WAIT));
	CHECK(!pthread_join(sender, NULL));
	CHECK(!pthread_join(receiver, NULL));
	CHECK(!s.send_result || s.send_result == PEAL_ESTOPPED);
	harness_conserved(s.rt);
	for (i = 0; i <= KERNELS; i++) {
		info = harness_info(s.link[i]);
		CHECK(harness_holds(&info));
		/* closed: sent to a kernel that had just stopped */
		CHECK_EQ(info.dead[PEAL_REASON_STOPPED] +
				 info.dead[PEAL_REASON_CLOSED],
			 harness_dead(&info));
		left += harness_dead(&info);
	}
	CHECK_EQ(harness_info(s.link[0]).accepted, s.sent);
	CHECK_EQ(harness_info(s.link[KERNELS]).delivered, s.received);
	CHECK_EQ(s.received + left, s.sent); /* none twice, none lost */
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

static const struct seeds_scenario drains = { .name = "drains",
					      .run = drain,
					      .least = 1000 };
static const struct seeds_scenario stops = { .name = "stops",
					     .run = stop,
					     .least = 1000 };

PEAL_TEST(drained_kernel_has_handled_all_messages)
{
	seeds_run(&drains);
}

PEAL_TEST(stopped_kernel_counts_unhandled_messages)
{
	seeds_run(&stops);
}

PEAL_TEST_MAIN(RUN(drained_kernel_has_handled_all_messages);
	       RUN(stopped_kernel_counts_unhandled_messages);)
