/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that a bank loses no money and makes none. Accounts of two devices pass
 * money on to each other, by mailboxes and by links. Meanwhile accounts fail,
 * restart and migrate between workers. Links between the devices are handed
 * over, and kernels are suspended.
 *
 * - At the end each leg of each transfer was done once, or is a dead letter.
 * - The balances, the money of dead letters and the losses of restarts sum to
 *   the initial amount.
 * - A restarted account has its initial balance. Its record outside of the
 *   state has the old balance. The difference is the loss of the restart.
 * - If an account fails on a leg, the money is in the leg's dead letter. This
 *   is also true if the supervisor has given the account up. It is not true
 *   if the account fails after it has done everything.
 * - Senders use the first number of an account, even after migrations. Legs
 *   from one account to another arrive in order on each way.
 */

#include <peal/memory.h>
#include <peal/migration.h>
#include <peal/peer.h>
#include <peal/supervisor.h>
#include "sim/bank.h"
#include "sim/seeds.h"

PEAL_DECLARE_PROGRAM(bank);

#define HAND_OVERS 4
#define SUSPENSIONS 3
#define MOVES 10 /* migrations of a device's accounts, at most */
#define LETTERS 256 /* more than there are legs */

PEAL_STATIC_ASSERT(LETTERS > 2 + BANK_TRANSFERS * BANK_LEGS, "none is lost");

struct letter {
	struct peal_dead_letter about;
	struct bank_leg leg;
};

struct branch {
	struct peal_kernel *k;
	struct peal_supervisor *supervisor;
	uint64_t book; /* address */
	uint32_t workers, strategy, given_up;
	uint64_t letters, failures; /* dead letters; those of handlers */
	uint64_t clerk[BANK_WORKERS];
	uint64_t actor[BANK_OF_EACH]; /* first addresses of the accounts */
	uint64_t newest[BANK_OF_EACH];
	uint32_t at[BANK_OF_EACH]; /* their workers */
	uint32_t moves;
	/* by actor number: 1 + the account that had this number; 0: none */
	uint8_t lived[BANK_WORKERS + BANK_OF_EACH + MOVES + 1];
	/* per letter: the actor number that it names, the account of its leg */
	uint32_t mourned[BANK_TRANSFERS * BANK_LEGS + 2];
	uint8_t mourner[BANK_TRANSFERS * BANK_LEGS + 2];
	struct peal_link *remote[BANK_WORKERS];
};

struct bank {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct branch branch[BANK_DEVICES];
	unsigned long long random;
	uint32_t transfers, fails;
	uint32_t over; /* transfers that have ended */
	uint32_t legs[BANK_TRANSFERS]; /* of each transfer */
	uint8_t dead[BANK_TRANSFERS][BANK_LEGS]; /* letters of legs not done */
	uint8_t refused[BANK_TRANSFERS];
	uint64_t dead_money;
	uint64_t balance[BANK_ACCOUNTS];
	uint8_t closed[BANK_ACCOUNTS];
	struct bank_book book; /* sum of both devices' books */
};

static uint32_t draw(struct bank *b, uint32_t n)
{
	return (uint32_t)(test_random(&b->random) >> 32) % n;
}

/* ---- setup --------------------------------------------------------------- */

static uint32_t power_of_two(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static void make_supervisor(struct bank *b, struct branch *of)
{
	struct peal_supervisor_options s = { .size = sizeof(s) };

	s.strategy = of->strategy = draw(b, 3);
	s.max_restarts = draw(b, 2) ? 3 : PEAL_RESTARTS_MAX;
	CHECK_OK(peal_supervisor_create(of->k, &s, &of->supervisor));
}

/* Makes the clerks. The accounts of a worker send by the ports of its clerk. */
static void make_clerks(struct bank *b, uint32_t device)
{
	struct branch *of = &b->branch[device];
	struct peal_actor_options o = { .size = sizeof(o) };
	struct peal_link_options l = { .capacity = 64 };
	uint32_t i;

	for (i = 0; i < BANK_WORKERS; i++) {
		o.worker = 1 + i % of->workers;
		CHECK_OK(peal_actor_spawn(of->k, "account", &o, &of->clerk[i]));
		if (i < of->workers)
			harness_to(b->rt, of->clerk[i], b->e, l);
	}
}

static void make_accounts(struct bank *b, uint32_t device)
{
	struct branch *of = &b->branch[device];
	struct bank_account init = { .balance = BANK_INITIAL };
	struct peal_actor_options o = { .size = sizeof(o),
					.init = &init,
					.init_bytes = sizeof(init),
					.supervisor = of->supervisor };
	struct peal_link_options l = { .capacity = 0 };
	uint32_t i;

	init.book = of->book;
	for (i = 0; i < BANK_OF_EACH; i++) {
		of->at[i] = i % of->workers;
		init.number = device * BANK_OF_EACH + i;
		o.worker = 1 + of->at[i];
		o.share_ports_with = of->clerk[of->at[i]];
		CHECK_OK(peal_actor_spawn(of->k, "account", &o, &of->actor[i]));
		CHECK_EQ((uint32_t)of->actor[i], BANK_NUMBER(i));
		of->newest[i] = of->actor[i];
		of->lived[BANK_NUMBER(i)] = (uint8_t)(1 + i);
	}
	l.capacity = 1u << draw(b, 5);
	harness_from(b->rt, b->e, device, of->actor[0], l);
	l.size = sizeof(l);
	l.capacity = LETTERS;
	l.message_bytes = sizeof(struct letter);
	CHECK_OK(peal_dead_letter_connect(of->k, peal_endpoint_address(b->e),
					  &l));
}

/*
 * Makes free entries behind the accounts, for their migrations. A supervised
 * actor has the entry behind these. So a scan for the members of the supervisor
 * passes each entry that an account ever has.
 */
static void make_space(struct bank *b, struct branch *of)
{
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = 1,
					.share_ports_with = of->clerk[0] };
	uint64_t guest[MOVES], last = 0;

	CHECK_OK(peal_actor_spawn_many(of->k, "account", &o, MOVES, guest));
	o.supervisor = of->supervisor;
	CHECK_OK(peal_actor_spawn(of->k, "account", &o, &last));
	CHECK_OK(peal_actor_retire_many(b->rt, guest, MOVES));
	CHECK((uint32_t)last > (uint32_t)guest[MOVES - 1]);
}

/* Makes a kernel with mailbox slots for all messages that can be in flight, so
 * that no sender waits. */
static void make_branch(struct bank *b, uint32_t device)
{
	static const uint32_t lanes[8] = { 1, 1, 1, 1, 1, 1, 3, 32 };
	struct peal_kernel_options o = {
		.size = sizeof(o),
		.max_supervisors = 1,
		.max_actors = BANK_WORKERS + BANK_OF_EACH + MOVES + 1
	};
	struct branch *of = &b->branch[device];

	o.workers = of->workers = 1 + draw(b, BANK_WORKERS);
	o.lanes = lanes[draw(b, 8)];
	o.mailbox.slots = power_of_two(8 + 2 * b->transfers);
	CHECK_OK(peal_kernel_launch(b->rt, (int)device, &peal_program_bank, &o,
				    &of->k));
	CHECK_OK(peal_memory_alloc(b->rt, (int)device, sizeof(b->book),
				   &of->book));
	make_supervisor(b, of);
	make_clerks(b, device);
	make_accounts(b, device);
	make_space(b, of);
}

static void begin(struct bank *b, uint64_t random)
{
	struct peal_link_options l = { .capacity = 0 };
	static const uint32_t fails[4] = { 0, 1, 2, 5 };
	struct branch *of;
	uint32_t i, worker;

	memset(b, 0, sizeof(*b));
	b->random = random;
	b->transfers = 1 + draw(b, BANK_TRANSFERS);
	b->fails = fails[draw(b, 4)];
	b->rt = harness_open(BANK_DEVICES, "0-1:nvlink");
	seeds_report_stalls(b->rt);
	b->e = harness_endpoint(b->rt);
	for (i = 0; i < BANK_DEVICES; i++)
		make_branch(b, i);
	l.capacity = power_of_two(b->transfers);
	for (i = 0; i < BANK_DEVICES; i++) {
		of = &b->branch[i];
		for (worker = 0; worker < of->workers; worker++)
			of->remote[worker] = harness_link(
				b->rt, of->clerk[worker], BANK_REMOTE,
				b->branch[!i].actor[draw(b, BANK_OF_EACH)], l);
	}
}

/* ---- concurrent actions -------------------------------------------------- */

static void order(struct bank *b, uint32_t account, uint16_t type,
		  const struct bank_leg *leg)
{
	uint32_t device = account / BANK_OF_EACH;

	CHECK_OK(peal_send_to(b->e, device,
			      b->branch[device].actor[account % BANK_OF_EACH],
			      type, leg, sizeof(*leg), MAX_WAIT, NULL));
}

static void *order_all(void *argument)
{
	struct bank *b = (struct bank *)argument;
	struct bank_leg leg;
	uint32_t i;

	memset(&leg, 0, sizeof(leg));
	leg.fails = b->fails;
	leg.fault = (uint32_t)peali_sim_planted;
	leg.from = BANK_CUSTOMER;
	for (i = 0; i < b->transfers; i++) {
		leg.id = i;
		leg.order = 1 + i;
		leg.legs = b->legs[i] = 2 + draw(b, BANK_LEGS - 1);
		leg.amount = 1 + draw(b, BANK_INITIAL);
		leg.random = test_random(&b->random);
		order(b, bank_owner(&leg), BANK_LEG, &leg);
	}
	return NULL;
}

/* Moves links between the devices to other routes. */
static void *hand_over_all(void *argument)
{
	static const enum peal_route routes[] = { PEAL_ROUTE_PEER,
						  PEAL_ROUTE_MAPPED_HOST,
						  PEAL_ROUTE_STAGED };
	struct bank *b = (struct bank *)argument;
	uint32_t n = draw(b, HAND_OVERS + 1);
	enum peal_route to;
	struct peal_link *link;
	struct branch *from;

	while (n--) {
		from = &b->branch[draw(b, BANK_DEVICES)];
		link = from->remote[draw(b, from->workers)];
		to = routes[draw(b, 3)];
		while (to == (enum peal_route)harness_info(link).route)
			to = routes[draw(b, 3)];
		identity_sleep_us(draw(b, 60));
		CHECK_OK(peal_link_set_route(link, to, MAX_WAIT));
	}
	return NULL;
}

/* Migrates an account to another worker, by its first or newest address. */
static void move_one(struct bank *b, struct branch *of)
{
	struct peal_migration_options o = { .size = sizeof(o) };
	uint32_t i = draw(b, BANK_OF_EACH);
	uint64_t address = draw(b, 2) ? of->actor[i] : of->newest[i];

	of->at[i] = (of->at[i] + 1 + draw(b, of->workers - 1)) % of->workers;
	if (draw(b, 2))
		o.worker = 1 + of->at[i];
	o.share_ports_with = of->clerk[of->at[i]];
	CHECK_OK(peal_actor_migrate(b->rt, address, &o, &of->newest[i]));
	CHECK((of->newest[i] ^ of->actor[i]) >> 32 == 0);
	of->lived[PEAL_ACTOR_INDEX(of->newest[i])] = (uint8_t)(1 + i);
	of->moves++;
}

static void *move_all(void *argument)
{
	struct bank *b = (struct bank *)argument;
	uint32_t n = draw(b, 2 * MOVES + 1);
	struct branch *of;

	while (n--) {
		of = &b->branch[draw(b, BANK_DEVICES)];
		identity_sleep_us(draw(b, 20));
		if (of->workers > 1 && of->moves < MOVES)
			move_one(b, of);
	}
	return NULL;
}

static void *suspend_all(void *argument)
{
	struct bank *b = (struct bank *)argument;
	uint32_t n = draw(b, SUSPENSIONS + 1);
	struct peal_kernel *k;

	while (n--) {
		k = b->branch[draw(b, BANK_DEVICES)].k;
		identity_sleep_us(draw(b, 60));
		CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
		identity_sleep_us(draw(b, 40));
		CHECK_OK(peal_kernel_resume(k));
	}
	return NULL;
}

/* ---- messages to the host ------------------------------------------------ */

/* Reads a dead letter. A leg that was not done carries its amount, unless it is
 * the first leg. */
static void read_letter(struct bank *b, const struct peal_received *r,
			const struct letter *l)
{
	const struct bank_leg *leg = &l->leg;
	int device = r->from == peal_dead_letter_address(b->branch[1].k);
	struct branch *of = &b->branch[device];

	CHECK_EQ(r->from, peal_dead_letter_address(of->k));
	CHECK_EQ(l->about.type, BANK_LEG);
	CHECK_EQ(r->length, sizeof(*l));
	CHECK(leg->id < b->transfers && leg->leg < b->legs[leg->id]);
	CHECK_EQ(bank_owner(leg) / BANK_OF_EACH, device);
	CHECK_EQ(l->about.to >> 32, of->actor[0] >> 32);
	of->mourned[of->letters] = (uint32_t)l->about.to;
	of->mourner[of->letters] = (uint8_t)(bank_owner(leg) % BANK_OF_EACH);
	of->letters++;
	if (l->about.reason == PEAL_REASON_HANDLER) {
		of->failures++;
		CHECK(bank_failure(leg) != BANK_NEVER);
		if (bank_failure(leg) == BANK_AFTER)
			return;
	} else {
		CHECK_EQ(l->about.reason, PEAL_REASON_DOWN);
	}
	b->dead[leg->id][leg->leg]++;
	b->dead_money += leg->leg ? leg->amount : 0;
	b->over++;
}

static void read_over(struct bank *b, const struct bank_over *o)
{
	CHECK(o->id < b->transfers);
	CHECK_EQ(o->leg, o->refused ? 0 : b->legs[o->id] - 1);
	b->refused[o->id] = (uint8_t)o->refused;
	b->over++;
}

static void read_balance(struct bank *b, const struct bank_balance *o)
{
	CHECK(o->account < BANK_ACCOUNTS && !b->closed[o->account]);
	b->closed[o->account] = 1;
	b->balance[o->account] = o->balance;
}

/* Reads the next message; returns its type, 0 for a letter, or an error. */
static int read_next(struct bank *b, int64_t timeout_ns)
{
	union {
		struct letter letter;
		struct bank_over over;
		struct bank_balance balance;
	} in;
	struct peal_received r;
	int result = peal_receive(b->e, &in, sizeof(in), &r, timeout_ns);

	if (result)
		return result;
	if (r.dead_letter) {
		read_letter(b, &r, &in.letter);
		return 0;
	}
	if (r.type == BANK_OVER)
		read_over(b, &in.over);
	else if (r.type == BANK_BALANCE)
		read_balance(b, &in.balance);
	return r.type;
}

/* ---- the end ------------------------------------------------------------- */

/* Waits until all handlers have returned, and supervisors know all failures. */
static void settle(struct bank *b)
{
	uint32_t i;

	for (i = 0; i < BANK_DEVICES; i++) {
		CHECK_OK(peal_kernel_suspend(b->branch[i].k, MAX_WAIT));
		CHECK_OK(peal_kernel_resume(b->branch[i].k));
	}
}

/* Asks each account for its balance. Its letters are written before it
 * answers. */
static void close_accounts(struct bank *b)
{
	struct peal_supervisor_info info;
	uint32_t i, closed = 0;
	struct bank_leg none;
	int result;

	settle(b);
	for (i = 0; i < BANK_DEVICES; i++) {
		CHECK_OK(peal_supervisor_info(b->branch[i].supervisor, &info));
		b->branch[i].given_up = info.exhausted;
		if (info.exhausted)
			CHECK_OK(peal_supervisor_restart(
				b->branch[i].supervisor));
	}
	memset(&none, 0, sizeof(none));
	for (i = 0; i < BANK_ACCOUNTS; i++)
		order(b, i, BANK_CLOSE, &none);
	while (closed < BANK_ACCOUNTS) {
		result = read_next(b, MAX_WAIT);
		CHECK(result >= 0);
		closed += result == BANK_BALANCE;
	}
	do
		result = read_next(b, 0);
	while (result >= 0);
	CHECK_EQ(result, PEAL_EAGAIN);
}

/* Reads the book of a device: the lines of its accounts, and its legs. */
static void read_book(struct bank *b, uint32_t device)
{
	struct bank_book book;
	uint32_t i, leg;

	CHECK_OK(peal_peer_copy(b->rt, PEAL_HOST_MEMORY,
				(uint64_t)(uintptr_t)&book, (int)device,
				b->branch[device].book, sizeof(book)));
	for (i = 0; i < BANK_ACCOUNTS; i++) {
		if (i / BANK_OF_EACH == device)
			b->book.line[i] = book.line[i];
		else
			CHECK_EQ(book.line[i].lives, 0);
	}
	for (i = 0; i < BANK_TRANSFERS; i++)
		for (leg = 0; leg < BANK_LEGS; leg++)
			b->book.done[i][leg] += book.done[i][leg];
	b->book.disorder += book.disorder;
}

/* Checks that each due leg was done or is dead, once, and no other leg. */
static void check_legs(const struct bank *b)
{
	uint64_t expected;
	uint32_t i, leg;

	for (i = 0; i < b->transfers; i++) {
		expected = 1;
		for (leg = 0; leg < BANK_LEGS; leg++) {
			expected -= !leg && b->refused[i];
			expected = leg < b->legs[i] ? expected : 0;
			CHECK_EQ(b->book.done[i][leg] + b->dead[i][leg],
				 expected);
			expected = b->book.done[i][leg];
		}
	}
}

static void check_money(const struct bank *b)
{
	uint64_t sum = b->dead_money;
	uint32_t i;

	for (i = 0; i < BANK_ACCOUNTS; i++) {
		CHECK_EQ(b->balance[i], b->book.line[i].balance);
		CHECK_EQ(b->book.line[i].spoilt, 0);
		sum += b->balance[i] + b->book.line[i].forfeited;
	}
	CHECK_EQ(sum, BANK_ACCOUNTS * BANK_INITIAL);
	CHECK_EQ(b->book.disorder, 0);
}

/* Checks that each letter names a number that the account of its leg had. */
static void check_mourned(const struct branch *of)
{
	uint32_t index;
	uint64_t i;

	for (i = 0; i < of->letters; i++) {
		index = PEAL_ACTOR_INDEX(of->mourned[i]);
		CHECK(index < sizeof(of->lived));
		CHECK_EQ(of->lived[index], 1 + of->mourner[i]);
	}
}

/* Checks that all accounts restart together. They do so once per counted
 * failure, or less often, but at least once. */
static void check_all_began(const struct bank_line *line,
			    const struct peal_supervisor_info *s)
{
	uint32_t i;

	for (i = 0; i < BANK_OF_EACH; i++)
		CHECK(line[i].lives <= 1 + s->failures);
	CHECK(s->restarted <= BANK_OF_EACH * s->failures);
	CHECK(s->restarted >= BANK_OF_EACH * (s->failures != 0));
}

/* Checks that failed accounts have restarted, with the accounts that the
 * strategy names. */
static void check_branch(const struct bank *b, uint32_t device)
{
	const struct branch *of = &b->branch[device];
	const struct bank_line *line =
		&b->book.line[(size_t)device * BANK_OF_EACH];
	struct peal_supervisor_info s;
	struct peal_kernel_info k;
	uint64_t lives = 0;
	uint32_t i;

	for (i = 0; i < BANK_OF_EACH; i++) {
		CHECK(line[i].lives);
		lives += line[i].lives;
	}
	CHECK_OK(peal_kernel_info(of->k, &k));
	CHECK_EQ(k.failed, of->failures);
	CHECK_EQ(k.mailbox_sends, k.mailbox_done);
	CHECK_OK(peal_supervisor_info(of->supervisor, &s));
	CHECK(!s.exhausted);
	CHECK(s.failures <= k.failed);
	CHECK(lives <= BANK_OF_EACH + s.restarted);
	check_mourned(of);
	if (of->strategy == PEAL_ONE_FOR_ALL && !of->given_up)
		check_all_began(line, &s);
	if (of->strategy != PEAL_ONE_FOR_ONE || of->given_up)
		return;
	CHECK_EQ(s.restarted, k.failed);
	CHECK_EQ(lives, BANK_OF_EACH + k.failed);
}

/* Checks that each message counted as dead has come as a letter. */
static void check_letters(const struct bank *b)
{
	uint64_t letters = 0, dead = 0;
	struct peal_link *links[64];
	struct peal_link_info info;
	struct peal_kernel_info k;
	int n = peal_link_list(b->rt, links, 64), i;

	CHECK(n > 0 && n <= 64);
	for (i = 0; i < n; i++) {
		info = harness_info(links[i]);
		CHECK_EQ(info.dead_letters_dropped, 0);
		dead += harness_dead(&info);
	}
	for (i = 0; i < BANK_DEVICES; i++) {
		CHECK_OK(peal_kernel_info(b->branch[i].k, &k));
		dead += k.mailbox_dead;
		letters += b->branch[i].letters;
	}
	CHECK_EQ(letters, dead);
}

static void end(struct bank *b)
{
	uint32_t i;

	close_accounts(b);
	CHECK_EQ(b->over, b->transfers);
	for (i = 0; i < BANK_DEVICES; i++)
		CHECK_OK(peal_kernel_stop(b->branch[i].k, MAX_WAIT));
	harness_conserved(b->rt);
	check_letters(b);
	for (i = 0; i < BANK_DEVICES; i++)
		read_book(b, i);
	check_legs(b);
	check_money(b);
	for (i = 0; i < BANK_DEVICES; i++)
		check_branch(b, i);
	CHECK_OK(peal_runtime_shutdown(b->rt));
}

static void bank(uint64_t random)
{
	void *(*const run[4])(void *) = { order_all, hand_over_all, suspend_all,
					  move_all };
	pthread_t thread[4];
	struct bank b;
	uint32_t i;

	begin(&b, random);
	for (i = 0; i < 4; i++)
		CHECK(!pthread_create(&thread[i], NULL, run[i], &b));
	while (b.over < b.transfers)
		CHECK(read_next(&b, MAX_WAIT) >= 0);
	for (i = 0; i < 4; i++)
		CHECK(!pthread_join(thread[i], NULL));
	end(&b);
}

static const struct seeds_scenario banks = { .name = "bank",
					     .run = bank,
					     .least = 500 };

PEAL_TEST(restarting_accounts_conserve_money)
{
	seeds_run(&banks);
}

PEAL_TEST(duplicated_deposit_is_caught)
{
	seeds_find(&banks, BANK_TWICE);
}

PEAL_TEST(unreported_restart_loss_is_caught)
{
	seeds_find(&banks, BANK_FORGETS);
}

PEAL_TEST(money_dropped_by_failure_is_caught)
{
	seeds_find(&banks, BANK_DROPS);
}

PEAL_TEST(receiver_ahead_of_the_seal_is_caught)
{
	seeds_find(&banks, PEALI_FAULT_EARLY_FOLLOW);
}

PEAL_TEST(torn_mailbox_ticket_is_caught)
{
	seeds_find(&banks, PEALI_FAULT_TORN_TICKET);
}

PEAL_TEST(message_forwarded_twice_to_account_is_caught)
{
	seeds_find(&banks, PEALI_FAULT_REDIRECT_TWICE);
}

PEAL_TEST_MAIN(RUN(restarting_accounts_conserve_money);
	       RUN(duplicated_deposit_is_caught);
	       RUN(unreported_restart_loss_is_caught);
	       RUN(money_dropped_by_failure_is_caught);
	       RUN(receiver_ahead_of_the_seal_is_caught);
	       RUN(torn_mailbox_ticket_is_caught);
	       RUN(message_forwarded_twice_to_account_is_caught);)
