/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a batch handler: each lane of a worker handles a message of its own. The
 * host sends trades to an account, which returns each trade with its value. The
 * handler is in programs/trades.c.
 *
 * The kernel is suspended while the host sends a block of trades. So the worker
 * finds full batches afterwards. Real senders are other actors.
 *
 * Prints the number of trades, and of the handler's runs for them.
 *
 *	27_batches [BLOCKS=100] [LANES=32]
 */
#include "example.h"
#include "trades.h"

PEAL_DECLARE_PROGRAM(trades);

#define BLOCK 64 /* trades */

/* The trade of a number. */
static struct trade trade_of(uint64_t number)
{
	struct trade t = { .price = 100 + number % 7,
			   .shares = 1 + number % 5 };

	return t;
}

/* Sends a block of trades, then receives their values. Returns their sum. */
static uint64_t trade_block(struct peal_kernel *kernel,
			    struct peal_endpoint *host, uint64_t first)
{
	struct peal_received received;
	uint64_t i, sum = 0;
	struct trade t;

	check(peal_kernel_suspend(kernel, SECOND * 10), "suspend the kernel");
	for (i = first; i < first + BLOCK; i++) {
		t = trade_of(i);
		check(peal_send(host, 0, 0, &t, sizeof(t), SECOND, NULL),
		      "send");
	}
	check(peal_kernel_resume(kernel), "resume the kernel");
	for (i = first; i < first + BLOCK; i++) {
		check(peal_receive(host, &t, sizeof(t), &received, SECOND * 10),
		      "receive");
		expect(t.price == trade_of(i).price, "the order of trades");
		expect(t.value == t.price * t.shares, "the value of a trade");
		sum += t.value;
	}
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t blocks = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
	const struct peal_kernel_options options = {
		.size = sizeof(options),
		.lanes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 32
	};
	struct peal_runtime *runtime = open_runtime(1);
	struct peal_kernel *kernel =
		launch_as(runtime, 0, &peal_program_trades, &options);
	uint64_t account = spawn(kernel, "book"), sum = 0, i;
	struct peal_endpoint *host;
	struct trades total;

	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	link_up(runtime, "host to device", peal_endpoint_address(host), 0,
		account, sizeof(struct trade));
	link_up(runtime, "device to host", account, 0,
		peal_endpoint_address(host), sizeof(struct trade));
	for (i = 0; i < blocks; i++)
		sum += trade_block(kernel, host, i * BLOCK);
	check(peal_kernel_suspend(kernel, SECOND * 10), "suspend the kernel");
	check(peal_actor_state(runtime, account, &total, sizeof(total)),
	      "read the account");
	check(peal_kernel_resume(kernel), "resume the kernel");
	expect(total.trades == blocks * BLOCK, "the number of trades");
	expect(total.value == sum, "the value of all trades");
	printf("%llu trades in %llu runs of the handler\n",
	       (unsigned long long)total.trades,
	       (unsigned long long)total.batches);
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
