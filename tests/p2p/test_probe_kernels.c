/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include <peal/abi/probe.h>
#include <peal/device/impl/base/host_support.h>
#include <peal/device/impl/queue/slot.h>
#include "p2p/probe_setup.h"
#include "machine.h"
#include "runtime/runtime.h"

/*
 * Shows that the kernels of the probe find each error. Each of the two kernels
 * runs against a counterpart with one error. The reader must count exactly this
 * error.
 */

extern const struct peal_program peal_program_peal_probe;

#define MESSAGES (2u * PEAL_PROBE_SLOTS)
#define PATTERN_WORDS 512u
#define CHANGES 32u

static struct {
	uint8_t area[PEAL_PROBE_AREA_BYTES(8 * PATTERN_WORDS)]
		__attribute__((aligned(4096)));
	struct peal_probe_words words __attribute__((aligned(128)));
	struct peal_bell bell[2] __attribute__((aligned(128)));
	uint64_t scratch[2][16];
} m;

static struct peal_probe_params params[2];
static uint32_t policy = PEAL_POLICY_SEQUENCE;
static uint32_t atom_policy = PEAL_POLICY_ATOM8;

static void set_up(enum peal_probe_job job, uint64_t limit_ns)
{
	int role;

	memset(&m, 0, sizeof(m));
	memset(params, 0, sizeof(params));
	for (role = 0; role < 2; role++) {
		m.bell[role].max_sleep_us = 1000;
		params[role].magic = PEAL_PROBE_MAGIC;
		params[role].job = (uint32_t)job;
		params[role].role = (uint32_t)role;
		params[role].area = (uintptr_t)m.area;
		params[role].words = (uintptr_t)&m.words;
		params[role].pong = (uintptr_t)&m.words.pong;
		params[role].scratch = (uintptr_t)m.scratch[role];
		params[role].bell = (uintptr_t)&m.bell[role];
		params[role].partner_bell = (uintptr_t)&m.bell[!role];
		params[role].seed = 99;
		params[role].pattern_bytes = 8 * PATTERN_WORDS;
		params[role].limit_ns = limit_ns;
		params[role].visible_limit_ns = 20000000;
		params[role].n_messages = MESSAGES;
		params[role].batch = 16;
		params[role].lanes = 1;
		params[role].policy = policy;
		params[role].atom_policy = (uint16_t)atom_policy;
		params[role].n_changes = CHANGES;
	}
}

static void *run_kernel(void *argument)
{
	const struct peal_probe_params *p = argument;

	CHECK_EQ(peal_program_peal_probe.host_entry_single(
			 (const struct peal_kernel_params *)argument, 0, 0),
		 0);
	CHECK_EQ(p->role ? m.words.reader_done : m.words.writer_done, 1);
	return NULL;
}

/* ---- a writer that errs -------------------------------------------------- */

enum error {
	RIGHT,
	WRONG_WORD,
	WRONG_LENGTH,
	NO_SLOT,
	WRONG_PATTERN,
	NO_END,
	TORN
};

static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15ULL;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void send_to(uint64_t place, uint64_t number, uint32_t kind,
		    enum error error)
{
	uint8_t *slot = m.area + PEAL_PROBE_RING_OFFSET +
			place % PEAL_PROBE_SLOTS * PEAL_PROBE_SLOT_BYTES;
	uint64_t content[PEAL_PROBE_STAMP_WORDS] = { number };
	uint32_t i,
		length = peal_slot_content_max(policy, PEAL_PROBE_SLOT_BYTES);
	uint32_t lap = (uint32_t)(number / PEAL_PROBE_SLOTS) + 1;

	for (i = 1; i < length / 8; i++)
		content[i] = mix(params[0].seed ^ (number << 8 | i));
	if (error == WRONG_WORD)
		content[length / 8 - 1] ^= 1;
	if (error == WRONG_LENGTH)
		length--;
	if (policy == PEAL_POLICY_SEQUENCE)
		memcpy(slot + 8, content, sizeof(content));
	if (error != NO_SLOT && policy == PEAL_POLICY_SEQUENCE)
		peal_slot_publish(slot, lap, kind, length);
	else if (error != NO_SLOT)
		peal_slot_pack(policy, slot, lap, kind,
			       (const uint8_t *)content, length, 0, 1);
	peal_store_release_sys(&m.words.published, number + 1);
	peal_bell_ring((uintptr_t)&m.bell[1]);
}

static void send(uint64_t number, uint32_t kind, enum error error)
{
	send_to(number, number, kind, error);
}

static uint32_t atom_word(uint32_t tag, uint32_t k)
{
	return (uint32_t)(mix(params[0].seed ^ tag) >> 8 * k);
}

/* Overwrites the atoms of the slot. Each eighth tag comes with old words. */
static void press(enum error error, uint32_t tag)
{
	uint8_t *slot = m.area + PEAL_PROBE_PRESSURE_OFFSET;
	uint32_t each = peali_atom_payload(atom_policy), i, k, word[3];
	uint32_t of = error == TORN && tag % 8 == 0 ? tag - 1 : tag;

	for (i = 0; i < PEAL_PROBE_SLOT_BYTES / (each + 4); i++) {
		for (k = 0; k < 3; k++)
			word[k] = atom_word(of, k);
		peali_atom_write(atom_policy, slot, i, tag,
				 (const uint8_t *)word, each);
	}
}

static void write_pressure(enum error error)
{
	uint64_t credit;
	uint32_t tag = 0;

	do {
		credit = peal_load_acquire_sys(&m.words.credit);
		if (credit == MESSAGES + 1)
			press(error, ++tag);
	} while (credit != PEAL_PROBE_GAVE_UP);
}

static void write_with(enum error error, uint64_t at)
{
	uint64_t *pattern =
		(uint64_t *)(void *)(m.area + PEAL_PROBE_PATTERN_OFFSET);
	uint64_t i;

	for (i = 0; i < MESSAGES; i++) {
		while (i >= PEAL_PROBE_SLOTS &&
		       peal_load_acquire_sys(&m.words.credit) <
			       i + 1 - PEAL_PROBE_SLOTS)
			usleep(10);
		if (peal_load_acquire_sys(&m.words.credit) ==
		    PEAL_PROBE_GAVE_UP)
			return;
		send(i, PEAL_KIND_DATA, i == at ? error : RIGHT);
	}
	for (i = 0; i < PATTERN_WORDS; i++)
		pattern[i] = mix(params[0].seed + i);
	if (error == WRONG_PATTERN)
		pattern[at] ^= (uint64_t)1 << 63;
	while (peal_load_acquire_sys(&m.words.credit) <
	       MESSAGES + 1 - PEAL_PROBE_SLOTS)
		usleep(10);
	send(MESSAGES, PEAL_KIND_END, error == NO_END ? NO_SLOT : RIGHT);
	write_pressure(error);
}

static void read_against(enum error error, uint64_t at)
{
	pthread_t reader;

	set_up(PEAL_PROBE_VERIFY, 20000000000u);
	CHECK(!pthread_create(&reader, NULL, run_kernel, &params[1]));
	write_with(error, at);
	pthread_join(reader, NULL);
	CHECK_EQ(m.words.late, 0);
}

PEAL_TEST(correct_writer_is_counted_correctly)
{
	read_against(RIGHT, 0);
	CHECK_EQ(m.words.seen, MESSAGES + 1);
	CHECK_EQ(m.words.wrong + m.words.missing + m.words.pattern_wrong, 0);
	CHECK_EQ(m.words.pattern_words, PATTERN_WORDS);
	CHECK_EQ(m.words.torn, 0);
	CHECK(m.words.atoms >= CHANGES);
}

PEAL_TEST(each_policy_is_read_as_by_a_link)
{
	static const uint32_t policies[] = {
		PEAL_POLICY_ATOM8,
#if PEAL_HAVE_ATOM16
		PEAL_POLICY_ATOM16
#endif
	};
	size_t i;

	for (i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		policy = atom_policy = policies[i];
		read_against(RIGHT, 0);
		CHECK_EQ(m.words.seen, MESSAGES + 1);
		CHECK_EQ(m.words.wrong + m.words.torn, 0);
		CHECK_EQ(m.words.pattern_words, PATTERN_WORDS);
		read_against(WRONG_WORD, 777);
		CHECK_EQ(m.words.wrong, 1);
		read_against(WRONG_LENGTH, 0);
		CHECK_EQ(m.words.wrong, 1);
		read_against(NO_SLOT, 300);
		CHECK_EQ(m.words.seen, 300);
	}
	policy = PEAL_POLICY_SEQUENCE;
	atom_policy = PEAL_POLICY_ATOM8;
}

PEAL_TEST(torn_atoms_under_pressure_are_counted)
{
	read_against(TORN, 0);
	CHECK(m.words.torn > 0 && m.words.torn < m.words.atoms);
	CHECK_EQ(m.words.wrong + m.words.missing + m.words.pattern_wrong, 0);
#if PEAL_HAVE_ATOM16
	atom_policy = PEAL_POLICY_ATOM16;
	read_against(TORN, 0);
	CHECK(m.words.torn > 0 && m.words.torn < m.words.atoms);
	atom_policy = PEAL_POLICY_ATOM8;
#endif
}

/* The writer presses until the reader has seen enough, and each atom is whole.
 * On a machine that tears stores of 16 bytes, some are not. */
static void both_kernels(uint16_t tears)
{
	pthread_t reader;

	set_up(PEAL_PROBE_VERIFY, 20000000000u);
	params[0].tears = tears;
	CHECK(!pthread_create(&reader, NULL, run_kernel, &params[1]));
	run_kernel(&params[0]);
	pthread_join(reader, NULL);
	CHECK_EQ(m.words.late, 0);
	CHECK_EQ(m.words.wrong + m.words.missing + m.words.pattern_wrong, 0);
	CHECK(m.words.atoms >= CHANGES);
}

PEAL_TEST(split_stores_tear_only_atoms_of_16_bytes)
{
	both_kernels(1);
	CHECK_EQ(m.words.torn, 0);
#if PEAL_HAVE_ATOM16
	policy = atom_policy = PEAL_POLICY_ATOM16;
	both_kernels(0);
	CHECK_EQ(m.words.torn, 0);
	both_kernels(1);
	CHECK(m.words.torn > 0);
	policy = PEAL_POLICY_SEQUENCE;
	atom_policy = PEAL_POLICY_ATOM8;
#endif
}

PEAL_TEST(wrong_bit_in_a_message_is_detected)
{
	read_against(WRONG_WORD, 777);
	CHECK_EQ(m.words.wrong, 1);
	CHECK_EQ(m.words.missing + m.words.pattern_wrong, 0);
	read_against(WRONG_LENGTH, MESSAGES - 1);
	CHECK_EQ(m.words.wrong, 1);
}

PEAL_TEST(wrong_bit_in_the_pattern_is_detected)
{
	read_against(WRONG_PATTERN, PATTERN_WORDS - 1);
	CHECK_EQ(m.words.pattern_wrong, 1);
	CHECK_EQ(m.words.wrong + m.words.missing, 0);
	CHECK_EQ(m.words.pattern_words, PATTERN_WORDS);
}

PEAL_TEST(missing_message_ends_the_wait)
{
	read_against(NO_SLOT, 300);
	CHECK_EQ(m.words.seen, 300);
	CHECK_EQ(m.words.missing, MESSAGES + 1 - 300);
	CHECK_EQ(m.words.pattern_words, 0);
	CHECK_EQ(m.words.credit, PEAL_PROBE_GAVE_UP);
	read_against(NO_END, 0);
	CHECK_EQ(m.words.seen, MESSAGES);
	CHECK_EQ(m.words.missing, 1);
}

/*
 * A machine that swaps neighbouring pages: no message is in its slot, and the
 * first slot is empty.
 */
PEAL_TEST(misplaced_messages_count_as_wrong)
{
	const uint64_t page = 4096 / PEAL_PROBE_SLOT_BYTES;
	pthread_t reader;
	uint64_t i;

	set_up(PEAL_PROBE_VERIFY, 20000000000u);
	CHECK(!pthread_create(&reader, NULL, run_kernel, &params[1]));
	for (i = 0; i < PEAL_PROBE_SLOTS; i++) {
		/* Odd pages change places with the even one behind them. */
		uint64_t odd = i / page % 2;
		uint64_t to = odd ? i + page : i - page;
		int lost = i < page || i >= PEAL_PROBE_SLOTS - page;

		send_to(lost ? i : to, i, PEAL_KIND_DATA,
			lost ? NO_SLOT : RIGHT);
	}
	pthread_join(reader, NULL);
	CHECK_EQ(m.words.late, 0);
	CHECK(m.words.missing);
	CHECK(m.words.wrong);
}

PEAL_TEST(each_kernel_alone_ends_by_its_limit)
{
	int job, role;

	for (job = PEAL_PROBE_VERIFY; job <= PEAL_PROBE_BANDWIDTH; job++) {
		for (role = 0; role < 2; role++) {
			set_up((enum peal_probe_job)job, 50000000);
			run_kernel(&params[role]);
			CHECK_EQ(m.words.pattern_words, 0);
			CHECK_EQ(m.words.round_trips + m.words.rounds, 0);
			if (role == 1 && job == PEAL_PROBE_VERIFY)
				CHECK_EQ(m.words.late, 1);
		}
	}
}

PEAL_TEST(foreign_parameters_are_ignored)
{
	set_up(PEAL_PROBE_VERIFY, 1000000000);
	params[1].magic++;
	CHECK_EQ(peal_program_peal_probe.host_entry_single(
			 (const void *)&params[1], 0, 0),
		 0);
	CHECK_EQ(m.words.reader_done, 0);
}

/* ---- on devices ---------------------------------------------------------- */

static void check_words(const struct peali_probe_setup *setup,
			const struct peal_probe_words *words)
{
	uint64_t pattern = setup->emulated ? 1 << 16 : 1 << 20;

	CHECK_EQ(words->missing + words->wrong + words->pattern_wrong, 0);
	CHECK_EQ(words->late, 0);
	CHECK_EQ(words->writer_done + words->reader_done, 2);
	CHECK(words->seen > 10000);
	CHECK_EQ(words->pattern_words * 8, pattern);
	CHECK(words->atoms >= CHANGES);
	CHECK_EQ(words->torn, 0);
}

PEAL_TEST(lane_count_does_not_change_probe_result)
{
	struct peali_probe_routes ways = { 0, 1 };
	struct peal_runtime *rt = machine_open("2", "");
	struct peali_probe_setup setup;
	int i;

	CHECK_OK(peali_probe_setup_open(rt->peers, 0, 1,
					PEALI_SETUP_PONG | PEALI_SETUP_HOST |
						PEALI_SETUP_BOTH,
					&setup));
	CHECK_EQ(setup.held_back, 1);
	setup.lanes = 7;
	CHECK_OK(peali_probe_setup_run(&setup, PEAL_PROBE_VERIFY, ways,
				       20000000000u));
	check_words(&setup, setup.words);
	check_words(&setup, setup.words_back);
	CHECK_OK(peali_probe_setup_run(&setup, PEAL_PROBE_LATENCY, ways,
				       20000000000u));
	CHECK_EQ(setup.words->round_trips,
		 PEAL_PROBE_BATCHES * PEALI_SETUP_BATCH);
	CHECK(setup.words->round_trips >= 2000);
	CHECK_EQ(setup.words->pong, 0);
	CHECK_OK(peali_probe_setup_run(&setup, PEAL_PROBE_BANDWIDTH, ways,
				       20000000000u));
	CHECK_EQ(setup.words->rounds, PEAL_PROBE_ROUNDS);
	for (i = 0; i < PEAL_PROBE_ROUNDS; i++)
		CHECK(setup.words->round_ns[i]);
	/* a run does not count the results of an earlier run */
	CHECK_OK(peali_probe_setup_run(&setup, PEAL_PROBE_VERIFY, ways,
				       20000000000u));
	check_words(&setup, setup.words);
	check_words(&setup, setup.words_back);
	peali_probe_setup_close(&setup);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST_MAIN(machine_begin(); RUN(correct_writer_is_counted_correctly);
	       RUN(each_policy_is_read_as_by_a_link);
	       RUN(torn_atoms_under_pressure_are_counted);
	       RUN(split_stores_tear_only_atoms_of_16_bytes);
	       RUN(wrong_bit_in_a_message_is_detected);
	       RUN(wrong_bit_in_the_pattern_is_detected);
	       RUN(missing_message_ends_the_wait);
	       RUN(misplaced_messages_count_as_wrong);
	       RUN(each_kernel_alone_ends_by_its_limit);
	       RUN(foreign_parameters_are_ignored);
	       RUN(lane_count_does_not_change_probe_result);)
