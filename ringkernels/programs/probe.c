/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/abi/probe.h>
#include <peal/abi/program.h>
#include <peal/device/impl/base/host_support.h>
#include <peal/device/impl/queue/slot.h>

#include "ringkernels/no_loop_program.h"

/*
 * The two kernels of the probe: a writer and a reader on two devices. The
 * kernels test whether the writer's stores reach the reader's memory. The
 * kernels are no resident loop: each worker does its job and returns. A job
 * ends at its time limit at the latest. The first lane leads; all lanes write
 * and check the pattern.
 *
 * Slots are written and read by the functions of links (impl/queue/slot.h),
 * with the policy of the pair's links.
 */

/*
 * Polls of a waiter before it sleeps, about 5 us. The waiter does not yield: on
 * a busy machine a yield costs a whole time slice. A thread that wakes from
 * sleep runs soon.
 */
#define SPINS 256

struct probe {
	const struct peal_probe_params *params;
	struct peal_probe_words *words;
	uint64_t *ping, *pong, *pattern, *scratch;
	uint8_t *ring, *pressed;
	uint64_t began;
	uint32_t lane, lanes;
};

/* ---- waiting ------------------------------------------------------------- */

static PEAL_DEV PEAL_INLINE void meet(const struct probe *p)
{
#if PEAL_ON_HOST
	if (p->lanes > 1)
		peal_host_sync_lanes();
#else
	(void)p;
	peal_hw_sync();
#endif
}

static PEAL_DEV PEAL_INLINE void idle(const struct probe *p)
{
#if PEAL_ON_HOST
	struct peal_bell *bell = (struct peal_bell *)(uintptr_t)p->params->bell;

	if (bell->steps < SPINS) {
		bell->steps++;
		peal_pause();
	} else if (bell->steps == SPINS) {
		/* The caller polls once more before the sleep. */
		bell->steps++;
		peal_host_announce(bell);
	} else {
		peal_host_sleep(bell, 1000);
		bell->steps = SPINS;
	}
#else
	(void)p;
	peal_pause();
#endif
}

/* Resets the bell after a successful wait: the next wait polls first. */
static PEAL_DEV PEAL_INLINE void awake(const struct probe *p)
{
#if PEAL_ON_HOST
	peal_bell_reset((struct peal_bell *)(uintptr_t)p->params->bell);
#else
	(void)p;
#endif
}

/* Rings the partner's bell, after a store that the partner waits for. */
static PEAL_DEV PEAL_INLINE void notify(const struct probe *p)
{
#if PEAL_ON_HOST
	peal_bell_ring(p->params->partner_bell);
#else
	(void)p;
#endif
}

/* Returns 1 if the caller should check the clock. */
static PEAL_DEV PEAL_INLINE int is_turn(const struct probe *p, uint32_t *turn)
{
#if PEAL_ON_HOST
	if (((struct peal_bell *)(uintptr_t)p->params->bell)->steps >= SPINS)
		return 1;
#else
	(void)p;
#endif
	return (++*turn & 15) == 0;
}

/*
 * After this time a job may read host memory. The read is slow, and a shorter
 * job would measure it.
 */
#define LONG_NS 50000000u

/* Returns 1 if the time limit has passed or the partner kernel has failed. */
static PEAL_DEV PEAL_INLINE int is_late(const struct probe *p)
{
	uint64_t ns = peal_clock_ns() - p->began;

	return ns > p->params->limit_ns ||
	       (ns > LONG_NS && peal_load_relaxed_sys(&p->words->alone));
}

/*
 * Waits until a word is at least `least`. Returns the word, or 0 if it is late.
 */
static PEAL_DEV uint64_t await(const struct probe *p, const uint64_t *word,
			       uint64_t least)
{
	uint32_t turn = 0;
	uint64_t v;

	for (;;) {
		v = peal_load_acquire_sys(word);
		if (v >= least) {
			awake(p);
			return v;
		}
		if (is_turn(p, &turn) && is_late(p))
			return 0;
		idle(p);
	}
}

/* ---- stamps -------------------------------------------------------------- */

/* splitmix64's output function: https://prng.di.unimi.it/splitmix64.c */
static PEAL_DEV PEAL_INLINE uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15ULL;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static PEAL_DEV PEAL_INLINE uint64_t stamp_word(uint64_t seed, uint64_t number,
						uint32_t index)
{
	return index ? mix(seed ^ (number << 8 | index)) : number;
}

static PEAL_DEV PEAL_INLINE uint8_t *slot_of(const struct probe *p,
					     uint64_t number)
{
	return p->ring +
	       (number & (PEAL_PROBE_SLOTS - 1)) * PEAL_PROBE_SLOT_BYTES;
}

static PEAL_DEV PEAL_INLINE uint32_t lap_of(uint64_t number)
{
	return (uint32_t)(number / PEAL_PROBE_SLOTS) + 1;
}

/* Returns the words of a stamp: as many as the content of a slot has. */
static PEAL_DEV PEAL_INLINE uint32_t stamp_words(const struct probe *p)
{
	return peal_slot_content_max(p->params->policy, PEAL_PROBE_SLOT_BYTES) /
	       8;
}

static PEAL_DEV void send_stamp(const struct probe *p, uint64_t number,
				uint32_t kind)
{
	uint64_t stage[PEAL_PROBE_STAMP_WORDS];
	uint32_t policy = p->params->policy, n = stamp_words(p), i;
	int is_sequence = policy == PEAL_POLICY_SEQUENCE;
	uint8_t *slot = slot_of(p, number);
	uint64_t *content = is_sequence ? (uint64_t *)(void *)(slot + 8) :
					  stage;

	for (i = 0; i < n; i++)
		content[i] = stamp_word(p->params->seed, number, i);
	if (is_sequence)
		peal_slot_publish(slot, lap_of(number), kind, 8 * n);
	else
		peal_slot_pack(policy, slot, lap_of(number), kind,
			       (const uint8_t *)(const void *)stage, 8 * n, 0,
			       1);
}

/* Reads a slot, if it holds the lap. Atoms are unpacked into the stage. */
static PEAL_DEV int read_slot(const struct probe *p, uint8_t *slot,
			      uint32_t lap,
			      uint64_t stage[PEAL_PROBE_STAMP_WORDS],
			      struct peal_slot_view *view)
{
	uint32_t policy = p->params->policy;

	if (policy == PEAL_POLICY_SEQUENCE)
		return peal_slot_peek(slot, lap, view);
	return peal_slot_unpack(policy, slot, lap, (uint8_t *)(void *)stage,
				peal_slot_content_max(policy,
						      PEAL_PROBE_SLOT_BYTES) /
					peali_atom_payload(policy),
				view);
}

static PEAL_DEV int is_right(const struct probe *p, uint64_t number,
			     uint32_t kind, const struct peal_slot_view *view)
{
	const uint64_t *content = (const uint64_t *)(const void *)view->content;
	uint32_t n = stamp_words(p), i;

	if (view->kind != kind || view->length != 8 * n)
		return 0;
	for (i = 0; i < n; i++) {
		if (content[i] != stamp_word(p->params->seed, number, i))
			return 0;
	}
	return 1;
}

/*
 * Returns slots to the writer. The release orders the reader's loads before the
 * credit; the writer's await acquires the credit.
 */
static PEAL_DEV void give_credit(const struct probe *p, uint64_t credit)
{
	peal_store_release_sys(&p->words->credit, credit);
	notify(p);
}

/* ---- pressure ------------------------------------------------------------ */

/*
 * The writer overwrites one slot again and again, and does not wait. The
 * reader loads its atoms all the time. The content of an atom follows from its
 * tag. So an atom with parts of two stores shows.
 */

static PEAL_DEV PEAL_INLINE uint32_t pressed_atoms(const struct probe *p)
{
	return PEAL_PROBE_SLOT_BYTES /
	       (peali_atom_payload(p->params->atom_policy) + 4);
}

/* Returns word k of the atom with this tag. */
static PEAL_DEV PEAL_INLINE uint32_t atom_word(const struct probe *p,
					       uint32_t tag, uint32_t k)
{
	return (uint32_t)(mix(p->params->seed ^ tag) >> 8 * k);
}

#if PEAL_ON_HOST && PEAL_HAVE_ATOM16
/*
 * Stores an atom as a machine that splits stores of 16 bytes. A reader that
 * sleeps wakes between the parts, else it would see only whole atoms on a busy
 * machine.
 */
static void store_in_parts(const struct probe *p, uint64_t *at,
			   const uint32_t word[4])
{
	uint32_t i;

	peal_atom8_store(at + 1, (uint64_t)word[3] << 32 | word[2]);
	notify(p);
	for (i = 0; i < 64; i++)
		peal_pause();
	peal_atom8_store(at, (uint64_t)word[1] << 32 | word[0]);
}
#endif

static PEAL_DEV void press_atom(const struct probe *p, uint32_t index,
				uint32_t tag)
{
	uint32_t policy = p->params->atom_policy;
	uint32_t word[4], k;

	for (k = 0; k < 3; k++)
		word[k] = atom_word(p, tag, k);
	word[3] = tag;
#if PEAL_ON_HOST && PEAL_HAVE_ATOM16
	if (p->params->tears && policy == PEAL_POLICY_ATOM16) {
		store_in_parts(p, (uint64_t *)(void *)p->pressed + 2 * index,
			       word);
		return;
	}
#endif
	peali_atom_write(policy, p->pressed, index, tag,
			 (const uint8_t *)(const void *)word,
			 peali_atom_payload(policy));
}

/* A reader may need the core of this writer. On a GPU the writer never waits. */
static PEAL_DEV PEAL_INLINE void leave_core(const struct probe *p)
{
#if PEAL_ON_HOST
	idle(p);
#else
	(void)p;
#endif
}

static PEAL_DEV void write_pressure(const struct probe *p)
{
	uint64_t end = (uint64_t)p->params->n_messages + 1;
	uint32_t atoms = pressed_atoms(p), number = 0, i;

	/* The reader is at the slot, or has given up. */
	if (!await(p, &p->words->credit, end))
		return;
	while (peal_load_relaxed_sys(&p->words->credit) == end && !is_late(p)) {
		do {
			number++;
			for (i = 0; i < atoms; i++)
				press_atom(p, i, number);
		} while (number % PEAL_PROBE_OVERWRITES);
		notify(p);
		leave_core(p);
	}
}

/* Loads each atom once. Returns the tag of the first, and counts torn ones. */
static PEAL_DEV uint32_t load_pressed(const struct probe *p, uint64_t *torn)
{
	uint32_t policy = p->params->atom_policy, atoms = pressed_atoms(p);
	uint32_t n = peali_atom_payload(policy) / 4, first = 0, word[3], i, k;

	for (i = 0; i < atoms; i++) {
		uint32_t tag = peali_atom_read(policy, p->pressed, i, word);
		uint32_t odd = 0;

		for (k = 0; k < n; k++)
			odd |= word[k] ^ (tag ? atom_word(p, tag, k) : 0);
		*torn += odd != 0;
		if (!i)
			first = tag;
	}
	return first;
}

static PEAL_DEV void read_pressure(const struct probe *p)
{
	uint32_t last = 0, changes = 0, turn = 0, tag;
	uint64_t loads = 0, torn = 0;

	give_credit(p, (uint64_t)p->params->n_messages + 1);
	while (changes < p->params->n_changes) {
		tag = load_pressed(p, &torn);
		loads += pressed_atoms(p);
		if (tag != last) {
			last = tag;
			changes++;
			awake(p);
			continue;
		}
		if (is_turn(p, &turn) && is_late(p))
			break;
		notify(p); /* a writer that sleeps overwrites again */
		idle(p);
	}
	if (!changes)
		peal_store_relaxed_sys(&p->words->late, 1);
	peal_store_relaxed_sys(&p->words->atoms, loads);
	peal_store_relaxed_sys(&p->words->torn, torn);
	give_credit(p, PEAL_PROBE_GAVE_UP);
}

/* ---- verify -------------------------------------------------------------- */

/*
 * Sends all stamps except the END mark. Returns 1, or 0 if the reader gave up
 * or the job is late.
 */
static PEAL_DEV int send_stamps(const struct probe *p)
{
	uint64_t credit = 0, i;

	for (i = 0; i < p->params->n_messages; i++) {
		if (i >= PEAL_PROBE_SLOTS && credit < i + 1 - PEAL_PROBE_SLOTS)
			credit = await(p, &p->words->credit,
				       i + 1 - PEAL_PROBE_SLOTS);
		if (i >= PEAL_PROBE_SLOTS && !credit)
			return 0;
		if (credit == PEAL_PROBE_GAVE_UP)
			return 0;
		send_stamp(p, i, PEAL_KIND_DATA);
		/*
		 * Report the progress: the reader then knows that the ring is
		 * full.
		 */
		if ((i + 1) % PEAL_PROBE_CREDIT_EVERY == 0) {
			peal_store_release_sys(&p->words->published, i + 1);
			notify(p);
		}
	}
	return 1;
}

static PEAL_DEV void write_verify(const struct probe *p)
{
	uint64_t n = p->params->pattern_bytes / 8, i;
	uint64_t last = p->params->n_messages;
	int fine = 0;

	if (!p->lane)
		fine = send_stamps(p);
	meet(p);
	for (i = p->lane; i < n; i += p->lanes)
		p->pattern[i] = mix(p->params->seed + i);
	meet(p);
	if (!fine)
		return;
	/* The ring may still be full: the mark waits like any other slot. */
	if (!await(p, &p->words->credit, last + 1 - PEAL_PROBE_SLOTS))
		return;
	/* The pattern, as a link does for its slab. */
	if (p->params->policy != PEAL_POLICY_SEQUENCE)
		peal_fence_release_sys();
	send_stamp(p, last, PEAL_KIND_END);
	peal_store_release_sys(&p->words->published, last + 1);
	notify(p);
	write_pressure(p);
}

/*
 * Returns 1 if slot `number` is lost. The writer continues until the ring is
 * full, whatever the reader sees. From then on, the slot has patience_ns to
 * become visible.
 */
static PEAL_DEV int is_lost(const struct probe *p, uint64_t number,
			    uint64_t credit, uint64_t *full_since)
{
	uint64_t last = p->params->n_messages;
	uint64_t most = credit + PEAL_PROBE_SLOTS;
	uint64_t now = peal_clock_ns();

	if (number == last)
		most = last + 1;
	else if (most > last)
		most = last;
	if (is_late(p)) {
		peal_store_relaxed_sys(&p->words->late, 1);
		return 1;
	}
	if (peal_load_acquire_sys(&p->words->published) < most)
		return 0;
	if (!*full_since)
		*full_since = now;
	return now - *full_since > p->params->visible_limit_ns;
}

static PEAL_DEV int receive_stamp(const struct probe *p, uint64_t number,
				  uint64_t credit,
				  uint64_t stage[PEAL_PROBE_STAMP_WORDS],
				  struct peal_slot_view *view)
{
	uint64_t full_since = 0;
	uint32_t turn = 0;

	while (!read_slot(p, slot_of(p, number), lap_of(number), stage, view)) {
		if (is_turn(p, &turn) &&
		    is_lost(p, number, credit, &full_since))
			return 0;
		idle(p);
	}
	awake(p);
	return 1;
}

/* Returns the lap of the message in a slot; 0: the slot is empty. */
static PEAL_DEV PEAL_INLINE uint32_t lap_in(const struct probe *p,
					    const uint8_t *slot)
{
	uint32_t word[3];

	if (p->params->policy == PEAL_POLICY_SEQUENCE)
		return (uint32_t)(peal_load_acquire_sys((
					  const uint64_t *)(const void *)slot) >>
				  48);
	return peali_atom_read(p->params->policy, slot, 0, word) >> 16;
}

/*
 * Counts slots that hold the message of another slot: missing messages that
 * went to the wrong place. The ring is full, and the writer waits.
 */
static PEAL_DEV uint64_t count_strays(const struct probe *p)
{
	uint64_t stage[PEAL_PROBE_STAMP_WORDS] = { 0 }, n = 0, i, number;
	struct peal_slot_view view;
	uint32_t lap;
	uint8_t *slot;

	for (i = 0; i < PEAL_PROBE_SLOTS; i++) {
		slot = slot_of(p, i);
		lap = lap_in(p, slot);
		if (!lap || !read_slot(p, slot, lap, stage, &view))
			continue;
		number = *(const uint64_t *)(const void *)view.content;
		n += number % PEAL_PROBE_SLOTS != i;
	}
	return n;
}

/* Returns 1 if the END mark was seen. */
static PEAL_DEV int receive_stamps(const struct probe *p)
{
	uint64_t last = p->params->n_messages, wrong = 0, credit = 0, i;
	uint64_t stage[PEAL_PROBE_STAMP_WORDS];
	struct peal_slot_view view;

	for (i = 0; i <= last; i++) {
		if (!receive_stamp(p, i, credit, stage, &view))
			break;
		wrong += !is_right(
			p, i, i < last ? PEAL_KIND_DATA : PEAL_KIND_END, &view);
		if ((i + 1) % PEAL_PROBE_CREDIT_EVERY == 0) {
			credit = i + 1;
			give_credit(p, credit);
		}
	}
	if (i <= last && !peal_load_relaxed_sys(&p->words->late))
		wrong += count_strays(p);
	peal_store_relaxed_sys(&p->words->seen, i);
	peal_store_relaxed_sys(&p->words->wrong, wrong);
	peal_store_relaxed_sys(&p->words->missing, last + 1 - i);
	if (i <= last) {
		give_credit(p, PEAL_PROBE_GAVE_UP);
		return 0;
	}
	/* The pattern is in place, as the slab of a link. */
	if (p->params->policy != PEAL_POLICY_SEQUENCE)
		peal_fence_acquire_sys();
	return 1;
}

static PEAL_DEV void read_verify(const struct probe *p)
{
	uint64_t n = p->params->pattern_bytes / 8, wrong = 0, i;

	if (!p->lane)
		peal_store_relaxed_dev(&p->scratch[0],
				       (uint64_t)receive_stamps(p));
	meet(p);
	if (!peal_load_relaxed_dev(&p->scratch[0]))
		return;
	for (i = p->lane; i < n; i += p->lanes)
		wrong += p->pattern[i] != mix(p->params->seed + i);
	peal_add_relaxed_dev(&p->scratch[1], wrong);
	meet(p);
	if (p->lane)
		return;
	peal_store_relaxed_sys(&p->words->pattern_words, n);
	wrong = peal_load_relaxed_dev(&p->scratch[1]);
	peal_store_relaxed_sys(&p->words->pattern_wrong, wrong);
	if (wrong)
		give_credit(p, PEAL_PROBE_GAVE_UP);
	else
		read_pressure(p);
}

/* ---- latency ------------------------------------------------------------- */

static PEAL_DEV void write_latency(const struct probe *p)
{
	uint64_t number = 0, start;
	uint32_t b, i;

	if (p->lane)
		return;
	for (b = 0; b < PEAL_PROBE_BATCHES; b++) {
		start = peal_clock_ns();
		for (i = 0; i < p->params->batch; i++) {
			peal_store_release_sys(p->ping, ++number);
			notify(p);
			if (!await(p, p->pong, number)) {
				peal_store_release_sys(p->ping,
						       PEAL_PROBE_GAVE_UP);
				notify(p);
				return;
			}
		}
		peal_store_relaxed_sys(&p->words->batch_ns[b],
				       peal_clock_ns() - start);
		peal_store_relaxed_sys(&p->words->round_trips, number);
	}
}

static PEAL_DEV void read_latency(const struct probe *p)
{
	uint64_t last = (uint64_t)p->params->batch * PEAL_PROBE_BATCHES;
	uint64_t number = 0;

	if (p->lane)
		return;
	while (number < last) {
		number = await(p, p->ping, number + 1);
		if (!number || number == PEAL_PROBE_GAVE_UP)
			return;
		peal_store_release_sys(p->pong, number);
		notify(p);
	}
}

/* ---- bandwidth ----------------------------------------------------------- */

static PEAL_DEV void write_bandwidth(const struct probe *p)
{
	uint64_t n = p->params->pattern_bytes / 8, start = 0, i;
	uint32_t r;
	int fine = 1;

	for (r = 0; r < PEAL_PROBE_ROUNDS; r++) {
		meet(p);
		if (!p->lane)
			start = peal_clock_ns();
		for (i = p->lane; i < n; i += p->lanes)
			p->pattern[i] = p->params->seed + r + i;
		meet(p);
		if (p->lane || !fine)
			continue;
		peal_store_release_sys(p->ping, r + 1);
		notify(p);
		fine = await(p, p->pong, r + 1) != 0;
		if (!fine)
			continue;
		peal_store_relaxed_sys(&p->words->round_ns[r],
				       peal_clock_ns() - start);
		peal_store_relaxed_sys(&p->words->rounds, r + 1);
	}
}

static PEAL_DEV void read_bandwidth(const struct probe *p)
{
	uint32_t r;

	if (p->lane)
		return;
	for (r = 0; r < PEAL_PROBE_ROUNDS; r++) {
		if (!await(p, p->ping, r + 1))
			return;
		peal_store_release_sys(p->pong, r + 1);
		notify(p);
	}
}

/* ---- entry --------------------------------------------------------------- */

static PEAL_DEV void probe_init(struct probe *p,
				const struct peal_probe_params *params,
				uint32_t lane)
{
	uint8_t *area = (uint8_t *)(uintptr_t)params->area;

	p->params = params;
	p->words = (struct peal_probe_words *)(uintptr_t)params->words;
	p->ping = (uint64_t *)(void *)(area + PEAL_PROBE_PING_OFFSET);
	p->pressed = area + PEAL_PROBE_PRESSURE_OFFSET;
	p->ring = area + PEAL_PROBE_RING_OFFSET;
	p->pattern = (uint64_t *)(void *)(area + PEAL_PROBE_PATTERN_OFFSET);
	p->pong = (uint64_t *)(uintptr_t)params->pong;
	p->scratch = (uint64_t *)(uintptr_t)params->scratch;
	p->began = peal_clock_ns();
	p->lane = PEAL_SINGLE_LANE ? 0 : lane;
	p->lanes = PEAL_SINGLE_LANE ? 1 : params->lanes;
}

static PEAL_DEV void run_writer(const struct probe *p)
{
	if (p->params->job == PEAL_PROBE_VERIFY)
		write_verify(p);
	else if (p->params->job == PEAL_PROBE_LATENCY)
		write_latency(p);
	else if (p->params->job == PEAL_PROBE_BANDWIDTH)
		write_bandwidth(p);
	if (!p->lane)
		peal_store_release_sys(&p->words->writer_done, 1);
}

static PEAL_DEV void run_reader(const struct probe *p)
{
	if (p->params->job == PEAL_PROBE_VERIFY)
		read_verify(p);
	else if (p->params->job == PEAL_PROBE_LATENCY)
		read_latency(p);
	else if (p->params->job == PEAL_PROBE_BANDWIDTH)
		read_bandwidth(p);
	if (!p->lane)
		peal_store_release_sys(&p->words->reader_done, 1);
}

static PEAL_DEV int run(const struct peal_kernel_params *raw, uint32_t worker,
			uint32_t lane)
{
	const struct peal_probe_params *params =
		(const struct peal_probe_params *)(const void *)raw;
	struct probe p;

	for (; worker && params && params->magic == PEAL_PROBE_MAGIC; worker--)
		params = (const struct peal_probe_params *)(uintptr_t)
				 params->next;
	if (!params || params->magic != PEAL_PROBE_MAGIC)
		return 0;
	probe_init(&p, params, lane);
	if (params->role == PEAL_PROBE_WRITER)
		run_writer(&p);
	else
		run_reader(&p);
	return 0;
}

PEALI_NO_LOOP_PROGRAM(peal_probe);
