/* SPDX-License-Identifier: Apache-2.0 */
/* Impossible hand-overs fail with a clear text. Hand-overs of links with full
 * rings wait, and lose no message. */
#include "runtime/harness.h"

#define CAPACITY 4

/* An endpoint, an echo kernel on device 0, and a receiving kernel. */
struct pair {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *first, *second;
	uint64_t a, b;
	struct peal_link *in, *link, *out;
};

static void open_pair(struct pair *p, const char *links, int to, uint32_t route)
{
	struct peal_link_options small = { .capacity = CAPACITY };
	struct peal_link_options o = { .capacity = CAPACITY, .require = route };

	p->rt = harness_open(2, links);
	p->e = harness_endpoint(p->rt);
	p->first = harness_launch(p->rt, 0);
	p->second = harness_launch(p->rt, to);
	p->a = harness_spawn(p->first, "echo", 0);
	p->b = harness_spawn(p->second, "echo", 0);
	p->in = harness_from(p->rt, p->e, 0, p->a, small);
	p->link = harness_link(p->rt, p->a, 0, p->b, o);
	p->out = harness_to(p->rt, p->b, p->e, small);
}

static void close_pair(struct pair *p, uint64_t count)
{
	struct peal_received r;
	char buffer[64];

	CHECK_OK(peal_send_end(p->e, 0, MAX_WAIT));
	CHECK_EQ(peal_receive(p->e, buffer, sizeof(buffer), &r, MAX_WAIT),
		 PEAL_EEND);
	CHECK_OK(peal_kernel_wait(p->first, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(p->second, MAX_WAIT));
	harness_delivered(p->in, count);
	harness_delivered(p->link, count);
	harness_delivered(p->out, count);
	CHECK_OK(peal_runtime_shutdown(p->rt));
}

PEAL_TEST(handover_errors_name_link_and_pair)
{
	struct pair p;

	open_pair(&p, "0-1:none", 1, 0);
	CHECK_FAILS(peal_link_set_route(NULL, PEAL_ROUTE_PEER, 0), PEAL_EINVAL,
		    "link");
	CHECK_FAILS(peal_link_set_route(p.link, PEAL_ROUTE_NONE, 0),
		    PEAL_EINVAL, "route");
	CHECK_FAILS(peal_link_set_route(p.link,
					(enum peal_route)(PEAL_ROUTE_PEER |
							  PEAL_ROUTE_STAGED),
					0),
		    PEAL_EINVAL, "0xa");
	CHECK_FAILS(peal_link_set_route(p.link, (enum peal_route)16, 0),
		    PEAL_EINVAL, "0x10");
	CHECK_FAILS(peal_link_set_route(p.link, PEAL_ROUTE_MAPPED_HOST, 0),
		    PEAL_EALREADY, "mapped-host");
	CHECK_FAILS(peal_link_set_route(p.link, PEAL_ROUTE_PEER, 0),
		    PEAL_ENOPEER,
		    "argument 'route': has no route from device 0 to "
		    "device 1, as ");
	CHECK_FAILS(peal_link_set_route(p.link, PEAL_ROUTE_LOCAL, 0),
		    PEAL_ENOPEER, "local");
	CHECK_FAILS(peal_link_set_route(p.in, PEAL_ROUTE_LOCAL, 0),
		    PEAL_ENOPEER, "as one end is the host");
	harness_send(p.e, 0, 1, 0, 3);
	harness_receive(p.e, 1, 0, 3);
	close_pair(&p, 3);
}

PEAL_TEST(handover_of_ended_link_returns_estopped)
{
	struct pair p;

	open_pair(&p, "", 1, PEAL_ROUTE_PEER);
	CHECK_OK(peal_kernel_stop(p.second, MAX_WAIT));
	CHECK_FAILS(peal_link_set_route(p.link, PEAL_ROUTE_STAGED, 0),
		    PEAL_ESTOPPED, "receiver");
	CHECK_OK(peal_kernel_stop(p.first, MAX_WAIT));
	CHECK_FAILS(peal_link_set_route(p.link, PEAL_ROUTE_STAGED, 0),
		    PEAL_ESTOPPED, "sender");
	harness_conserved(p.rt);
	CHECK_OK(peal_runtime_shutdown(p.rt));
}

/* Suspends the receiver and fills the link. Returns the messages sent. */
static uint64_t fill(struct pair *p)
{
	uint64_t n = 0, all;
	struct relay_message m;

	CHECK_OK(peal_kernel_suspend(p->second, MAX_WAIT));
	for (;;) {
		harness_fill(&m, sizeof(m), 1, n);
		if (peal_send(p->e, 0, (uint16_t)n, &m, sizeof(m), 200 * MS,
			      NULL))
			break;
		n++;
	}
	all = harness_info(p->link).accepted;
	CHECK(all < n); /* the link has not accepted all messages */
	return n;
}

PEAL_TEST(handover_of_full_ring_waits_and_completes)
{
	static const uint32_t from[] = { PEAL_ROUTE_PEER, PEAL_ROUTE_STAGED };
	struct pair p;
	uint64_t n;
	int i;

	for (i = 0; i < 2; i++) {
		enum peal_route to = (enum peal_route)from[1 - i];

		open_pair(&p, "", 1, from[i]);
		n = fill(&p);
		CHECK_FAILS(peal_link_set_route(p.link, to, 50 * MS),
			    PEAL_ETIMEDOUT, "link 2");
		CHECK_FAILS(peal_link_set_route(p.link, PEAL_ROUTE_MAPPED_HOST,
						0),
			    PEAL_EBUSY, "link 2");
		CHECK_OK(peal_kernel_resume(p.second));
		harness_receive(p.e, 1, 0, n);
		EVENTUALLY(harness_info(p.link).handovers == 1);
		CHECK_EQ(harness_info(p.link).route, to);
		CHECK_OK(peal_link_set_route(p.link, PEAL_ROUTE_MAPPED_HOST,
					     MAX_WAIT));
		harness_send(p.e, 0, 1, n, 10);
		harness_receive(p.e, 1, n, 10);
		close_pair(&p, n + 10);
	}
}

struct waiting {
	struct pair *p;
	_Atomic int result;
};

static void *switch_for_ever(void *argument)
{
	struct waiting *w = argument;

	atomic_store(&w->result,
		     peal_link_set_route(w->p->link, PEAL_ROUTE_STAGED, -1));
	return NULL;
}

PEAL_TEST(endless_handover_wait_ends_with_its_sender)
{
	struct waiting w;
	struct pair p;
	pthread_t thread;

	open_pair(&p, "", 1, PEAL_ROUTE_PEER);
	fill(&p);
	w.p = &p;
	atomic_store(&w.result, 1);
	CHECK(!pthread_create(&thread, NULL, switch_for_ever, &w));
	identity_sleep_us(100000);
	CHECK_EQ(atomic_load(&w.result), 1);
	CHECK_OK(peal_kernel_stop(p.first, MAX_WAIT));
	EVENTUALLY(atomic_load(&w.result) != 1);
	CHECK_EQ(atomic_load(&w.result), PEAL_ESTOPPED);
	CHECK(!pthread_join(thread, NULL));
	CHECK_OK(peal_kernel_resume(p.second));
	harness_receive(p.e, 1, 0, CAPACITY);
	CHECK_OK(peal_kernel_wait(p.second, MAX_WAIT));
	harness_delivered(p.link, CAPACITY);
	harness_conserved(p.rt);
	CHECK_OK(peal_runtime_shutdown(p.rt));
}

/* The sender's SEAL waits for a free slot. In a freed ring it would overwrite
 * other memory. */
PEAL_TEST(unsealed_ring_outlives_its_receiver)
{
	struct waiting w;
	struct pair p;
	pthread_t thread;
	uint64_t one, both;

	open_pair(&p, "", 1, PEAL_ROUTE_PEER);
	one = harness_info(p.link).memory_bytes;
	fill(&p);
	w.p = &p;
	atomic_store(&w.result, 1);
	CHECK(!pthread_create(&thread, NULL, switch_for_ever, &w));
	EVENTUALLY(harness_info(p.link).route == PEAL_ROUTE_STAGED);
	both = harness_info(p.link).memory_bytes;
	CHECK(both > one);
	CHECK_EQ(atomic_load(&w.result), 1);
	CHECK_OK(peal_kernel_stop(p.second, MAX_WAIT));
	EVENTUALLY(atomic_load(&w.result) != 1);
	CHECK_EQ(atomic_load(&w.result), PEAL_ESTOPPED);
	CHECK(!pthread_join(thread, NULL));
	CHECK_EQ(harness_info(p.link).memory_bytes, both);
	CHECK_OK(peal_kernel_stop(p.first, MAX_WAIT));
	harness_conserved(p.rt);
	CHECK_OK(peal_runtime_shutdown(p.rt));
}

PEAL_TEST(sender_stop_during_handover_loses_no_message)
{
	struct peal_link_info info;
	struct peal_received r;
	uint64_t all;
	struct pair p;
	char buffer[64];

	/* messages in the staged rings, and later ones in the new ring */
	open_pair(&p, "", 1, PEAL_ROUTE_STAGED);
	CHECK_OK(peal_kernel_suspend(p.second, MAX_WAIT));
	harness_send(p.e, 0, 1, 0, CAPACITY + 2);
	EVENTUALLY(harness_info(p.link).accepted == CAPACITY + 2);
	CHECK_EQ(peal_link_set_route(p.link, PEAL_ROUTE_PEER, 0),
		 PEAL_ETIMEDOUT);
	harness_send(p.e, 0, 1, CAPACITY + 2, 2);
	EVENTUALLY(harness_info(p.link).accepted == CAPACITY + 4);
	CHECK_OK(peal_kernel_stop(p.first, MAX_WAIT));
	identity_sleep_us(100000); /* until the receiver knows of it */
	CHECK_OK(peal_kernel_resume(p.second));
	all = CAPACITY + 4;
	harness_receive(p.e, 1, 0, all);
	CHECK_EQ(peal_receive(p.e, buffer, sizeof(buffer), &r, MAX_WAIT),
		 PEAL_EEND);
	CHECK_OK(peal_kernel_wait(p.second, MAX_WAIT));
	info = harness_info(p.link);
	CHECK(harness_holds(&info));
	CHECK_EQ(info.delivered, all);
	CHECK_OK(peal_runtime_shutdown(p.rt));
}

PEAL_TEST_MAIN(RUN(handover_errors_name_link_and_pair);
	       RUN(handover_of_ended_link_returns_estopped);
	       RUN(handover_of_full_ring_waits_and_completes);
	       RUN(endless_handover_wait_ends_with_its_sender);
	       RUN(unsealed_ring_outlives_its_receiver);
	       RUN(sender_stop_during_handover_loses_no_message);)
