/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows requests and replies. An account lives on a device, and host threads
 * send requests that move money. Each thread waits for its own reply. The
 * account refuses a request that exceeds its balance. Then one thread sends
 * many requests before it waits. The handler is in programs/account.c.
 *
 * Prints the balance after the deposits, the text of the refusal, and the
 * balance after the withdrawals.
 */
#include <inttypes.h>
#include <pthread.h>

#include <peal/device/kernel.h>
#include <peal/request.h>
#include <peal/typed_endpoint.h>

#include "account.h"
#include "example.h"

PEAL_DECLARE_PROGRAM(account);
PEAL_TYPED_ENDPOINT(balance)

#define THREADS 4
#define EACH 500
#define AT_A_TIME 32

/* Sends a request and waits for the reply. Returns the balance, or an error. */
static int64_t move(struct peal_requester *requester, int64_t amount)
{
	const struct movement m = { amount };
	struct balance b;
	struct peal_received reply;
	int result = peal_request(requester, movement_number, &m, sizeof(m), &b,
				  sizeof(b), &reply, 10 * SECOND);

	if (result)
		return result;
	expect(balance_received(&reply) != NULL, "the reply's type");
	return b.amount;
}

/* Runs in each thread. */
static void *pay_in(void *requester)
{
	for (int i = 0; i < EACH; i++)
		check(move(requester, 1) > 0 ? 0 : -1, "pay in");
	return NULL;
}

/* Sends AT_A_TIME requests before it waits for the first reply. */
static void pay_out(struct peal_requester *requester, int64_t before)
{
	const struct movement m = { -1 };
	uint64_t out[AT_A_TIME];
	struct balance b;

	for (int i = 0; i < AT_A_TIME; i++)
		check(peal_request_start(requester, movement_number, &m,
					 sizeof(m), 10 * SECOND, &out[i]),
		      "begin a request");
	for (int i = 0; i < AT_A_TIME; i++) {
		check(peal_request_wait(requester, out[i], &b, sizeof(b), NULL,
					10 * SECOND),
		      "wait for a reply");
		expect(b.amount == before - 1 - i, "the balance on the way");
	}
}

int main(void)
{
	struct peal_runtime *runtime = open_runtime(1);
	struct peal_kernel *kernel = launch(runtime, 0, &peal_program_account);
	uint64_t actor = spawn(kernel, "account");
	struct peal_requester *requester;
	pthread_t threads[THREADS];
	int64_t all;

	check(peal_requester_create(runtime, actor, NULL, &requester),
	      "open a requester");
	check(peal_requester_listen(requester, actor, 0), "listen");

	/* Several threads may use one requester at the same time. */
	for (int i = 0; i < THREADS; i++)
		expect(!pthread_create(&threads[i], NULL, pay_in, requester),
		       "a thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	all = move(requester, 0);
	printf("%d threads have paid in %" PRId64 "\n", THREADS, all);
	expect(all == THREADS * EACH, "the balance");

	/*
	 * A withdrawal of more than the balance. The handler refuses it with
	 * PEAL_ENOSPC.
	 */
	expect(move(requester, -all - 1) == PEAL_ENOSPC, "the refusal");
	printf("more than that: %s\n", peal_last_error()->text);
	pay_out(requester, all);
	printf("%d requests at a time: %" PRId64 " left\n", AT_A_TIME,
	       move(requester, 0));
	expect(move(requester, 0) == all - AT_A_TIME, "what is left");

	check(peal_requester_destroy(requester), "close the requester");
	check(peal_kernel_stop(kernel, 10 * SECOND), "stop the kernel");
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
