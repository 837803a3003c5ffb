/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress quick */
/*
 * Streams through kernels of 1 and 32 lanes, for several message sizes.
 * Messages pass over links between devices, or from three workers into the
 * mailbox of a fourth worker. The receiving endpoint checks every word.
 */
#include "queues/stress.h"
#include "runtime/harness.h"

#define SENDERS 3
#define MESSAGES IDENTITY_COUNT(3000)

struct stream {
	struct peal_runtime *rt;
	struct peal_endpoint *endpoint, *from[SENDERS];
	struct peal_kernel *kernel[2];
	struct peal_link *link[SENDERS + 2];
	uint32_t n_kernels, n_links, n_senders;
	uint64_t bytes, messages; /* per message; per sender */
	unsigned long long seed;
	int doubles; /* 1: one message replaces the next */
};

struct sender {
	struct stream *s;
	uint32_t index;
};

/* Creates an endpoint that receives, and one for each sender thread. */
static void make_endpoints(struct stream *s)
{
	uint32_t i;

	s->endpoint = harness_endpoint(s->rt);
	for (i = 0; i < SENDERS; i++)
		s->from[i] = harness_endpoint(s->rt);
}

static void add(struct stream *s, struct peal_link *link)
{
	s->link[s->n_links++] = link;
}

/* endpoint -> device 0 -> device 1 -> endpoint */
static void build_links(struct stream *s, uint32_t lanes,
			struct peal_link_options o)
{
	struct peal_kernel_options k = { .lanes = lanes,
					 .drain_when_inputs_end = 1 };
	uint64_t actor[2];
	uint32_t i;

	for (i = 0; i < 2; i++) {
		s->kernel[i] = harness_launch_with(s->rt, (int)i, k);
		actor[i] = harness_spawn(s->kernel[i], "echo", 0);
	}
	s->n_kernels = 2;
	s->n_senders = 1;
	add(s, harness_from(s->rt, s->from[0], 0, actor[0], o));
	add(s, harness_link(s->rt, actor[0], 0, actor[1], o));
	add(s, harness_to(s->rt, actor[1], s->endpoint, o));
}

/* endpoints -> `forward` on three workers -> mailbox of `echo` -> endpoint */
static void build_mailbox(struct stream *s, uint32_t lanes,
			  struct peal_link_options o)
{
	struct peal_kernel_options k = {
		.workers = SENDERS + 1,
		.lanes = lanes,
		.mailbox.slots = o.capacity < 8 ? 8 : o.capacity,
		.mailbox.message_bytes = (uint32_t)o.message_bytes,
		.mailbox.policy = o.policy,
		.drain_when_inputs_end = 1
	};
	uint64_t actor;
	uint32_t i;

	s->kernel[0] = harness_launch_with(s->rt, 0, k);
	s->n_kernels = 1;
	s->n_senders = SENDERS;
	actor = harness_spawn(s->kernel[0], "echo", SENDERS);
	CHECK_EQ((uint32_t)actor, 0);
	add(s, harness_to(s->rt, actor, s->endpoint, o));
	for (i = 0; i < SENDERS; i++) {
		actor = harness_spawn(s->kernel[0], "forward", (int)i);
		add(s, harness_from(s->rt, s->from[i], 0, actor, o));
	}
}

static void *send_all(void *argument)
{
	struct sender *sender = argument;
	struct stream *s = sender->s;
	struct peal_endpoint *e = s->from[sender->index];
	unsigned long long random = s->seed + sender->index;
	uint64_t i, sequence;
	void *place;

	for (i = 0; i < s->messages; i++) {
		sequence = s->doubles && i == s->messages / 2 ? i - 1 : i;
		stress_pause(&random);
		CHECK_OK(peal_send_reserve(e, 0, s->bytes, MAX_WAIT, &place));
		stress_fill(place, s->bytes, sender->index, sequence);
		CHECK_OK(peal_send_commit(e, 0, (uint16_t)sequence));
	}
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	return NULL;
}

static int receive_all(struct stream *s)
{
	unsigned long long random = s->seed + 77;
	uint64_t next[SENDERS] = { 0 }, n;
	struct peal_received r;
	int sound = 1;

	for (n = 0; n < s->n_senders * s->messages; n++) {
		CHECK_OK(peal_receive_peek(s->endpoint, &r, MAX_WAIT));
		stress_pause(&random);
		sound &= r.length == s->bytes &&
			 stress_check(r.data, r.length, next, s->n_senders);
		CHECK_OK(peal_receive_release(s->endpoint));
	}
	CHECK_EQ(peal_receive_peek(s->endpoint, &r, MAX_WAIT), PEAL_EEND);
	return sound;
}

/* Sends and receives at the same time, then destroys everything. Returns 1 if
 * all messages were intact and in order. */
static int run(struct stream *s)
{
	struct sender senders[SENDERS];
	pthread_t threads[SENDERS];
	struct peal_kernel_info info;
	uint32_t i;
	int sound;

	for (i = 0; i < s->n_senders; i++) {
		senders[i].s = s;
		senders[i].index = i;
		CHECK(!pthread_create(&threads[i], NULL, send_all,
				      &senders[i]));
	}
	sound = receive_all(s);
	for (i = 0; i < s->n_senders; i++)
		CHECK(!pthread_join(threads[i], NULL));
	for (i = 0; i < s->n_kernels; i++) {
		CHECK_OK(peal_kernel_wait(s->kernel[i], MAX_WAIT));
		CHECK_OK(peal_kernel_info(s->kernel[i], &info));
		CHECK_EQ(info.mailbox_done, info.mailbox_sends);
		CHECK_EQ(info.mailbox_dead, 0);
		CHECK_EQ(info.failed, 0);
	}
	harness_conserved(s->rt);
	for (i = 0; i < s->n_links; i++)
		CHECK_OK(peal_link_destroy(s->link[i]));
	for (i = 0; i < s->n_kernels; i++)
		CHECK_OK(peal_kernel_destroy(s->kernel[i]));
	for (i = 0; i < SENDERS; i++)
		CHECK_OK(peal_endpoint_destroy(s->from[i]));
	CHECK_OK(peal_endpoint_destroy(s->endpoint));
	return sound;
}

/* Limits a message size to the largest mailbox slot of the policy. */
static uint64_t mail_bytes(uint64_t bytes, uint32_t policy)
{
	uint64_t most = policy == PEAL_POLICY_ATOM8  ? 1016 :
			policy == PEAL_POLICY_ATOM16 ? 3064 :
						       4080;

	return bytes < most ? bytes : most;
}

/* Runs one round. Its number selects the policy and the capacity. */
static void one(struct peal_runtime *rt, int mailbox, uint32_t lanes,
		uint64_t bytes, uint64_t round)
{
	static const uint32_t capacities[] = { 1, 2, 256 };
	struct stream s = { .rt = rt, .bytes = bytes, .seed = 4400 + round };
	struct peal_link_options o = {
		.capacity = capacities[round % 3],
		.policy = harness_policy(rt, 1 + (uint32_t)(round / 3 % 3))
	};

	if (mailbox && !o.policy)
		s.bytes = mail_bytes(bytes, PEAL_POLICY_ATOM8);
	else if (mailbox)
		s.bytes = mail_bytes(bytes, o.policy);
	o.message_bytes = s.bytes;
	s.messages = stress_count(MESSAGES, s.bytes, o.capacity);
	make_endpoints(&s);
	if (mailbox)
		build_mailbox(&s, lanes, o);
	else
		build_links(&s, lanes, o);
	CHECK(run(&s));
	stress_verified += s.n_senders * s.messages;
}

static void all(int mailbox, uint32_t lanes, uint64_t bytes)
{
	struct peal_runtime *rt = harness_open(2, "");
	struct stress_clock clock = stress_begin(3);
	uint64_t round;

	while (stress_next(&clock, &round))
		one(rt, mailbox, lanes, bytes, round);
	CHECK_OK(peal_runtime_close(rt));
}

/* A case for each kind, lanes and size: name(mailbox, lanes, bytes). */
#define STREAMS(X)                                                             \
	X(links_of_8_bytes_and_1_lane_conserve, 0, 1, 8)                       \
	X(links_of_48_bytes_and_1_lane_conserve, 0, 1, 48)                     \
	X(links_of_64_bytes_and_1_lane_conserve, 0, 1, 64)                     \
	X(links_of_256_bytes_and_1_lane_conserve, 0, 1, 256)                   \
	X(links_of_a_page_and_1_lane_conserve, 0, 1, 4096)                     \
	X(links_of_8_bytes_and_32_lanes_conserve, 0, 32, 8)                    \
	X(links_of_48_bytes_and_32_lanes_conserve, 0, 32, 48)                  \
	X(links_of_64_bytes_and_32_lanes_conserve, 0, 32, 64)                  \
	X(links_of_256_bytes_and_32_lanes_conserve, 0, 32, 256)                \
	X(links_of_a_page_and_32_lanes_conserve, 0, 32, 4096)                  \
	X(mailboxes_of_8_bytes_and_1_lane_conserve, 1, 1, 8)                   \
	X(mailboxes_of_48_bytes_and_1_lane_conserve, 1, 1, 48)                 \
	X(mailboxes_of_64_bytes_and_1_lane_conserve, 1, 1, 64)                 \
	X(mailboxes_of_256_bytes_and_1_lane_conserve, 1, 1, 256)               \
	X(mailboxes_of_the_largest_slots_and_1_lane_conserve, 1, 1, 4096)      \
	X(mailboxes_of_8_bytes_and_32_lanes_conserve, 1, 32, 8)                \
	X(mailboxes_of_48_bytes_and_32_lanes_conserve, 1, 32, 48)              \
	X(mailboxes_of_64_bytes_and_32_lanes_conserve, 1, 32, 64)              \
	X(mailboxes_of_256_bytes_and_32_lanes_conserve, 1, 32, 256)            \
	X(mailboxes_of_the_largest_slots_and_32_lanes_conserve, 1, 32, 4096)

STREAMS(STRESS_TEST)

/* Negative control: the counters agree, the messages do not. */
PEAL_TEST(substituted_message_is_caught)
{
	struct peal_link_options o = { .capacity = 64, .message_bytes = 48 };
	struct stream s = { .rt = harness_open(2, ""),
			    .bytes = 48,
			    .messages = 100,
			    .doubles = 1 };

	make_endpoints(&s);
	build_links(&s, 32, o);
	CHECK(!run(&s));
	CHECK_OK(peal_runtime_close(s.rt));
}

PEAL_TEST_MAIN(STREAMS(STRESS_RUN) RUN(substituted_message_is_caught);
	       stress_print_total();)
