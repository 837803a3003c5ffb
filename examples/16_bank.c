/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows failures and supervisors. Accounts of two branches pay each other by
 * messages, and their handler fails now and then. A branch is a kernel, with a
 * device of its own if there are two. A supervisor restarts the account, which
 * reads its balance from a ledger. The failed message reaches the host as a dead
 * letter, and the host sends it again. No money is lost. The handler is in
 * programs/bank.c.
 *
 * Prints the routes, the number of restarts and the total of all balances.
 */
#include <peal/dead_letter.h>
#include <peal/device/kernel.h>
#include <peal/memory.h>
#include <peal/supervisor.h>

#include "bank.h"
#include "example.h"

PEAL_DECLARE_PROGRAM(bank);

#define EACH 500 /* accounts of a branch */
#define ALL (2 * EACH)
#define INITIAL 100 /* balance of a new account */
#define TRANSFERS 20000
#define AT_A_TIME 32 /* transfers in flight; every queue has slots for them */

static struct peal_runtime *runtime;
static struct peal_endpoint *host;
static struct peal_kernel *kernel[2];
static struct peal_supervisor *supervisor[2];
static uint64_t account[ALL]; /* addresses; the first half is of branch 0 */
/* balances, in host memory that all devices can access */
static uint64_t *ledger;

/*
 * Launches the kernel of a branch and spawns its accounts. They send by the
 * ports of the first account. The supervisor gives up only after more than 30
 * failures within a microsecond.
 */
static void open_branch(int branch)
{
	const struct peal_kernel_options k = { .size = sizeof(k),
					       .max_actors = EACH,
					       .max_supervisors = 1,
					       .mailbox.slots = 128 };
	const struct peal_supervisor_options s = { .size = sizeof(s),
						   .max_restarts = 30,
						   .period_ns = 1000 };
	uint64_t at = peal_endpoint_address(host);
	uint64_t *mine = account + branch * EACH;
	struct account_state init = { 0 };
	struct peal_actor_options o = { .size = sizeof(o),
					.init = &init,
					.init_bytes = sizeof(init) };

	kernel[branch] = launch_as(runtime, device_of_part(runtime, branch),
				   &peal_program_bank, &k);
	/* The host's endpoint receives the dead letters of the kernel. */
	check(peal_dead_letter_connect(kernel[branch], at, NULL),
	      "take letters");
	check(peal_supervisor_create(kernel[branch], &s, &o.supervisor),
	      "make a supervisor");
	supervisor[branch] = o.supervisor;
	for (int i = 0; i < EACH; i++) {
		ledger[branch * EACH + i] = INITIAL;
		init.ledger = (uint64_t)(uintptr_t)&ledger[branch * EACH + i];
		o.share_ports_with = i ? mine[0] : 0;
		check(peal_actor_spawn(kernel[branch], "client", &o, &mine[i]),
		      "spawn an account");
	}
	link_up(runtime, "to accounts", at, (uint32_t)branch, mine[0], 0);
	link_up(runtime, "receipts", mine[0], PORT_HOST, at, 0);
}

/*
 * Sends a transfer to an account by the port of its branch. Each sending has a
 * new random number, so a repeated transfer usually succeeds.
 */
static void transfer(uint64_t to, struct transfer t)
{
	t.luck = (uint32_t)rand();
	check(peal_send_to(host, to >> 32 != account[0] >> 32, to,
			   transfer_number, &t, sizeof(t), 10 * SECOND, NULL),
	      "send a transfer");
}

/* Makes all transfers. Returns how many messages were sent again. */
static uint64_t transfer_all(void)
{
	struct transfer t = { 0 };
	struct peal_received got;
	uint64_t again = 0;
	struct letter l;

	for (int out = 0, over = 0; over < TRANSFERS;) {
		/* Start transfers between random accounts. */
		for (; out < AT_A_TIME && out + over < TRANSFERS; out++) {
			t.from = account[rand() % ALL];
			t.to = account[rand() % ALL];
			t.amount = 1 + (uint64_t)rand() % INITIAL;
			transfer(t.from, t);
		}
		/* Receive the end of a transfer or a dead letter. */
		check(peal_receive(host, &l, sizeof(l), &got, 10 * SECOND),
		      "receive");
		if (got.dead_letter) {
			transfer(l.about.to, l.transfer);
			again++;
		} else {
			expect(got.type == receipt_number, "what came");
			over++;
			out--;
		}
	}
	return again;
}

int main(void)
{
	uint64_t at, again, restarted = 0, total = 0;
	struct peal_supervisor_info info;

	runtime = open_runtime(2);
	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	check(peal_memory_alloc(runtime, PEAL_HOST_MEMORY, ALL * 8, &at),
	      "take memory");
	ledger = (uint64_t *)(uintptr_t)at;
	open_branch(0);
	open_branch(1);
	link_up(runtime, "branch 0 to 1", account[0], PORT_REMOTE,
		account[EACH], 0);
	link_up(runtime, "branch 1 to 0", account[EACH], PORT_REMOTE,
		account[0], 0);

	again = transfer_all();
	for (int i = 0; i < 2; i++) {
		check(peal_kernel_stop(kernel[i], 10 * SECOND), "stop");
		check(peal_supervisor_info(supervisor[i], &info), "ask");
		restarted += info.restarted;
	}
	for (int i = 0; i < ALL; i++)
		total += ledger[i];
	printf("accounts have begun anew %d times; total: %d, at first: %d\n",
	       (int)restarted, (int)total, ALL * INITIAL);
	expect(again > 0 && restarted == again, "how often they have failed");
	expect(total == ALL * INITIAL, "the total");
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
