/* SPDX-License-Identifier: Apache-2.0 */
/* Shows that host and handlers exchange messages of PEAL_TYPED_MESSAGE. */
#include <peal/typed_endpoint.h>

#include "runtime/harness.h"
#include "runtime/messages.h"

PEAL_DECLARE_PROGRAM(messages);
PEAL_TYPED_ENDPOINT(question)
PEAL_TYPED_ENDPOINT(answer)

struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *e;
	struct peal_link *to;
	uint32_t other; /* index of the second actor, which has a link to e */
};

/* Opens a kernel with two actors that reply, one per worker. */
static struct fixture open_fixture(uint32_t lanes)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 2,
					 .lanes = lanes,
					 .mailbox.slots = 64 };
	struct peal_link_options many = { .capacity = 64 };
	struct fixture s = { .rt = harness_open(1, "") };
	uint64_t actor[2];
	int i;

	s.e = harness_endpoint(s.rt);
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_messages, &o, &s.k));
	for (i = 0; i < 2; i++) {
		actor[i] = harness_spawn(s.k, "reply", i);
		harness_to(s.rt, actor[i], s.e, many);
	}
	s.to = harness_from(s.rt, s.e, 0, actor[0], many);
	s.other = 1;
	return s;
}

static void is_answered(struct fixture *s, uint64_t number)
{
	struct peal_received r;
	const struct answer *a;

	CHECK_OK(peal_receive_peek(s->e, &r, MAX_WAIT));
	CHECK(!question_received(&r));
	a = answer_received(&r);
	CHECK(a);
	CHECK_EQ(a->number, number);
	CHECK_EQ(a->twice, 2 * number);
	r.length--;
	CHECK(!answer_received(&r));
	CHECK_OK(peal_receive_release(s->e));
}

static void answers(uint32_t lanes)
{
	struct fixture s = open_fixture(lanes);
	struct question q = { 0 }, *place;

	for (q.number = 1; q.number <= 30; q.number++) {
		q.ways = (uint32_t)(q.number % 3);
		q.ask = s.other;
		if (q.number % 2) {
			CHECK_OK(question_send(s.e, 0, &q, MAX_WAIT, NULL));
		} else {
			CHECK_OK(question_send_reserve(s.e, 0, MAX_WAIT,
						       &place));
			*place = q;
			CHECK_OK(question_send_commit(s.e, 0));
		}
		is_answered(&s, q.number);
	}
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(typed_questions_are_answered)
{
	answers(1);
	answers(32);
}

static uint64_t refused(struct fixture *s)
{
	return harness_info(s->to).dead[PEAL_REASON_HANDLER];
}

PEAL_TEST(wrong_type_number_or_length_is_refused)
{
	struct fixture s = open_fixture(1);
	struct question q[2] = { { 1, 0, 0 }, { 2, 0, 0 } };
	struct answer a = { 9, 18 };

	CHECK_OK(peal_send(s.e, 0, 8, q, sizeof(*q), MAX_WAIT, NULL));
	EVENTUALLY(refused(&s) == 1);
	CHECK_OK(peal_send(s.e, 0, 7, q, sizeof(*q) - 8, MAX_WAIT, NULL));
	EVENTUALLY(refused(&s) == 2);
	CHECK_OK(peal_send(s.e, 0, 7, q, 2 * sizeof(*q), MAX_WAIT, NULL));
	EVENTUALLY(refused(&s) == 3);
	CHECK_OK(answer_send(s.e, 0, &a, MAX_WAIT, NULL));
	is_answered(&s, 9);
	CHECK_OK(peal_send(s.e, 0, 7, q, sizeof(*q), MAX_WAIT, NULL));
	is_answered(&s, 1);
	CHECK_EQ(refused(&s), 3);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST_MAIN(RUN(typed_questions_are_answered);
	       RUN(wrong_type_number_or_length_is_refused);)
