/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows timers. Actors on a device (peers) send a beat every 5 ms. A watcher
 * reports a peer that was silent for 50 ms, and a peer that beats again. The
 * host only starts and stops peers. The handlers are in programs/heartbeat.c.
 *
 * Prints the routes, each report, and the kernel's counts of timers.
 */
#include <peal/device/kernel.h>
#include <peal/typed_endpoint.h>

#include "heartbeat.h"
#include "example.h"

PEAL_DECLARE_PROGRAM(heartbeat);
PEAL_TYPED_ENDPOINT(begin)
PEAL_TYPED_ENDPOINT(report)

#define PERIOD_NS 5000000

static struct peal_endpoint *host;
static uint64_t watcher;

/* Tells a peer to beat with this period. 0: the peer becomes silent. */
static void beat(uint32_t peer, uint64_t period_ns)
{
	const struct begin b = { period_ns, (uint32_t)watcher, peer };

	check(peal_send(host, peer, begin_number, &b, sizeof(b), 10 * SECOND,
			NULL),
	      "tell a peer");
}

/*
 * Receives the next report. It must be about one of the peers in the bit set
 * `peers`, with this value of `silent`.
 */
static void await(uint32_t peers, uint32_t silent)
{
	struct peal_received got;
	struct report r;

	check(peal_receive(host, &r, sizeof(r), &got, 10 * SECOND), "receive");
	expect(report_received(&got) != NULL, "the report's type");
	printf("peer %u %s\n", r.peer, r.silent ? "is silent" : "is there");
	expect(peers >> r.peer & 1 && r.silent == silent, "the report");
}

/*
 * Launches a kernel with the watcher and the peers. Each peer needs two timers:
 * the period of its beats, and the watcher's timeout for it.
 */
static struct peal_kernel *start(struct peal_runtime *runtime)
{
	const struct peal_kernel_options options = {
		.size = sizeof(options),
		.mailbox.slots = 64,
		.max_timers = 2 * PEERS,
	};
	struct peal_kernel *kernel;

	check(peal_kernel_launch(runtime, 0, &peal_program_heartbeat, &options,
				 &kernel),
	      "launch a kernel");
	watcher = spawn(kernel, "watcher");
	link_up(runtime, "watcher to host", watcher, 0,
		peal_endpoint_address(host), sizeof(struct report));
	for (uint32_t i = 0; i < PEERS; i++)
		check(peal_connect(runtime, peal_endpoint_address(host), i,
				   spawn(kernel, "peer"), NULL, NULL),
		      "connect");
	return kernel;
}

int main(void)
{
	struct peal_runtime *runtime = open_runtime(1);
	struct peal_kernel_info info;
	struct peal_kernel *kernel;

	check(peal_endpoint_create(runtime, NULL, &host), "an endpoint");
	kernel = start(runtime);
	/* All peers start to beat. */
	for (uint32_t i = 0; i < PEERS; i++)
		beat(i, PERIOD_NS);
	for (uint32_t i = 0; i < PEERS; i++)
		await((1 << PEERS) - 1, 0);
	/*
	 * Peer 1 becomes silent. The other peers continue, so no other report
	 * arrives.
	 */
	beat(1, 0);
	await(1 << 1, 1);
	/* Peer 1 beats again. */
	beat(1, PERIOD_NS);
	await(1 << 1, 0);

	/*
	 * End all inputs. The kernel then ends the periodic timers. The
	 * watcher's timeouts run out.
	 */
	for (uint32_t i = 0; i < PEERS; i++)
		check(peal_send_end(host, i, 10 * SECOND), "end");
	check(peal_kernel_drain(kernel, 10 * SECOND), "drain");
	check(peal_kernel_info(kernel, &info), "read the kernel");
	printf("%llu beats; of %llu timers %llu fired, %llu were cancelled\n",
	       (unsigned long long)info.timers.ticks,
	       (unsigned long long)info.timers.set,
	       (unsigned long long)info.timers.fired,
	       (unsigned long long)info.timers.cancelled);
	expect(info.timers.drained == PEERS, "the beats that the end ended");
	expect(info.timers.waiting == 0 &&
		       info.timers.set == info.timers.fired +
						  info.timers.cancelled +
						  info.timers.drained,
	       "what became of the timers");
	expect(info.mailbox_sends == info.mailbox_done &&
		       info.mailbox_dead == 0,
	       "the mail");
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
