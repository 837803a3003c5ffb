/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows each numeric setting and option at its ends. The least value works.
 * The largest value works, or the device has no memory for it. The value
 * beyond an end is refused, and the text names the setting and that end.
 */
#include <stddef.h>

#include <peal/queue.h>
#include "runtime/base/error.h"
#include "runtime/harness.h"

enum object { SETTING, RUNTIME, KERNEL, LINK, ENDPOINT, QUEUE };

struct row {
	enum object of;
	const char *name;
	uint64_t low, high;
	const char *text; /* of an end in the refusal; NULL: the number */
	size_t offset, bytes; /* of the option */
};

#define ROW(of, type, field, low, high)                                        \
	{                                                                      \
		of, #field, low, high, NULL, offsetof(struct type, field),     \
			sizeof(((struct type *)0)->field)                      \
	}
#define OF_KERNEL(field, low, high)                                            \
	ROW(KERNEL, peal_kernel_options, field, low, high)

/* A low of 0 means the default, and a high of UINT64_MAX has no end. */
static const struct row rows[] = {
	{ SETTING, "PEAL_HOST_DEVICES", 1, 64, NULL, 0, 0 },
	{ SETTING, "PEAL_HOST_MEMORY", 4 << 20, 1ULL << 40, "4M..1T bytes", 0,
	  0 },
	{ SETTING, "PEAL_GPU_MEMORY", 8 << 20, 1ULL << 40, "8M..1T bytes", 0,
	  0 },
	{ SETTING, "PEAL_PINNED_MEMORY", 16 << 20, 1ULL << 40, "16M..1T bytes",
	  0, 0 },
	{ SETTING, "PEAL_PROCESS_MEMORY", 0, 1ULL << 40, "0..1T bytes", 0, 0 },
	{ SETTING, "PEAL_GPU_SPLIT", 1, 8, NULL, 0, 0 },
	{ SETTING, "PEAL_LEASE_MS", 100, 3600000, NULL, 0, 0 },
	{ SETTING, "PEAL_CONTROL_TIMEOUT_MS", 100, 3600000, NULL, 0, 0 },
	{ SETTING, "PEAL_RANK", 0, 63, NULL, 0, 0 },
	{ SETTING, "PEAL_RANKS", 1, 64, NULL, 0, 0 },
	ROW(RUNTIME, peal_runtime_options, lease_ns, 100000000, UINT64_MAX),
	OF_KERNEL(workers, 1, 65535),
	OF_KERNEL(lanes, 1, 1024),
	OF_KERNEL(max_actors, 1, 1 << 24),
	OF_KERNEL(max_inputs, 1, 4096),
	OF_KERNEL(max_ports, 1, 4096),
	OF_KERNEL(max_barriers, 1, 256),
	OF_KERNEL(max_pools, 1, 64),
	OF_KERNEL(max_supervisors, 0, 65535),
	OF_KERNEL(max_timers, 0, 1 << 20),
	OF_KERNEL(max_asks, 0, 65535),
	OF_KERNEL(max_monitors, 0, 1 << 20),
	OF_KERNEL(drain_when_inputs_end, 0, 1),
	OF_KERNEL(mailbox.max_limits, 0, 8191),
	OF_KERNEL(mailbox.priority, 0, 1),
	OF_KERNEL(mailbox.message_bytes, 0, 4080),
	{ KERNEL, "spawn.max_actors", 0, (1 << 24) - 64, NULL,
	  offsetof(struct peal_kernel_options, spawn.max_actors), 4 },
	OF_KERNEL(arena_bytes, 1, 1ULL << 40),
	OF_KERNEL(lease_ns, 100000000, UINT64_MAX),
	OF_KERNEL(epoch_ns, 0, UINT64_MAX),
	OF_KERNEL(budget.max_steps, 0, UINT64_MAX),
	OF_KERNEL(budget.max_ns, 0, UINT64_MAX),
	ROW(LINK, peal_link_options, capacity, 1, 1 << 20),
	ROW(LINK, peal_link_options, message_bytes, 0, 256 << 20),
	/* a slot of 16 does not hold the message, and its slab needs 32 */
	{ LINK, "slot_bytes", 32, 4096, "16",
	  offsetof(struct peal_link_options, slot_bytes), 4 },
	ROW(LINK, peal_link_options, slab_bytes, 0, 1ULL << 40),
	ROW(ENDPOINT, peal_endpoint_options, max_ports, 1, 4096),
	ROW(ENDPOINT, peal_endpoint_options, max_inputs, 1, 4096),
	ROW(QUEUE, peal_queue_options, max_producers, 1, 64),
	ROW(QUEUE, peal_queue_options, max_consumers, 1, 64),
	ROW(QUEUE, peal_queue_options, capacity, 1, 1 << 20),
	ROW(QUEUE, peal_queue_options, message_bytes, 0, 256 << 20),
};

/* ---- one message with a setting or option -------------------------------- */

static void set(void *options, const struct row *row, uint64_t value)
{
	uint8_t *field = (uint8_t *)options + row->offset;

	if (row->bytes == sizeof(uint32_t))
		*(uint32_t *)(void *)field = (uint32_t)value;
	else
		*(uint64_t *)(void *)field = value;
}

/* Sends one message to an actor and back. Returns 0 or the first error. */
static int send_one(struct peal_runtime *rt, struct peal_kernel_options *ko,
		    struct peal_endpoint_options *eo,
		    struct peal_link_options *lo)
{
	struct peal_endpoint *e = NULL;
	struct peal_kernel *k = NULL;
	struct peal_received got;
	struct peal_link *link;
	uint64_t actor, self;
	uint8_t bytes[24];
	int r = peal_endpoint_create(rt, eo, &e);

	if (!r)
		r = peal_kernel_launch(rt, 0, &peal_program_relay, ko, &k);
	if (!r)
		r = peal_actor_spawn(k, "echo", NULL, &actor);
	if (r)
		return r;
	self = peal_endpoint_address(e);
	r = peal_connect(rt, self, 0, actor, lo, &link);
	if (!r)
		r = peal_connect(rt, actor, 0, self, lo, &link);
	if (r)
		return r;
	harness_fill(bytes, sizeof(bytes), 1, 2);
	r = peal_send(e, 0, 0, bytes, sizeof(bytes), MAX_WAIT, NULL);
	if (!r)
		r = peal_receive(e, bytes, sizeof(bytes), &got, MAX_WAIT);
	if (!r)
		CHECK(harness_intact(bytes, sizeof(bytes), 1, 2));
	return r;
}

static int use_queue(struct peal_queue_options *o)
{
	struct peal_queue *q;
	int r = peal_queue_create(o, &q);

	if (r)
		return r;
	return peal_queue_destroy(q);
}

/* Returns 0 or the first error. Its text stays the last one. */
static int try_value(const struct row *row, uint64_t value)
{
	struct peal_runtime_options ro = { .size = sizeof(ro) };
	struct peal_kernel_options ko = { .size = sizeof(ko) };
	struct peal_endpoint_options eo = { .size = sizeof(eo) };
	struct peal_link_options lo = { .size = sizeof(lo) };
	struct peal_queue_options qo = { .size = sizeof(qo) };
	void *const options[] = { NULL, &ro, &ko, &lo, &eo, &qo };
	struct peal_error_info error;
	struct peal_runtime *rt;
	char number[32];
	int r;

	snprintf(number, sizeof(number), "%llu", (unsigned long long)value);
	if (row->of == SETTING)
		setenv(row->name, number, 1);
	else
		set(options[row->of], row, value);
	ko.mailbox.slots = row->of == KERNEL && value ? 1024 : 0;
	/* one slot is for links, and slots of 256 MiB are many pages */
	if (row->of == QUEUE && (value == 1 || value == 256 << 20))
		qo.kind = PEAL_QUEUE_LINK;
	if (row->of == QUEUE && value == 256 << 20)
		qo.capacity = 1;
	if (row->of == QUEUE)
		return use_queue(&qo);
	r = peal_runtime_open(&ro, &rt);
	if (r)
		return r;
	r = send_one(rt, &ko, &eo, &lo);
	error = *peal_last_error();
	CHECK_OK(peal_runtime_shutdown(rt));
	return r ? peali_fail(r, error.call, "%s", error.text) : 0;
}

static void check_end(const struct row *row, uint64_t value, int is_high)
{
	int r = try_value(row, value);

	if (r && !(is_high && (r == PEAL_ENOMEM || r == PEAL_ENOSPC))) {
		fprintf(stderr, "%s = %llu: %s: %s\n", row->name,
			(unsigned long long)value, peal_error_name(r),
			peal_last_error()->text);
		exit(1);
	}
	CHECK(!r || strlen(peal_last_error()->text) > 10);
}

static void check_beyond(const struct row *row, uint64_t value, uint64_t end)
{
	char number[32];
	int r = try_value(row, value);

	snprintf(number, sizeof(number), "%llu", (unsigned long long)end);
	if (r != PEAL_EINVAL ||
	    !strstr(peal_last_error()->text,
		    strrchr(row->name, '.') ? strrchr(row->name, '.') + 1 :
					      row->name) ||
	    !strstr(peal_last_error()->text, row->text ? row->text : number)) {
		fprintf(stderr, "%s = %llu: %s: %s\n", row->name,
			(unsigned long long)value, peal_error_name(r),
			r ? peal_last_error()->text : "");
		exit(1);
	}
}

static void check_row(const struct row *row)
{
	check_end(row, row->low, 0);
	check_end(row, row->high, 1);
	if (row->low > (row->of == SETTING ? 0 : 1))
		check_beyond(row, row->low - 1, row->low);
	if (row->high < (row->bytes == 4 ? UINT32_MAX : UINT64_MAX))
		check_beyond(row, row->high + 1, row->high);
}

PEAL_TEST(every_number_works_at_its_ends_and_is_refused_beyond)
{
	size_t i;

	HOST_CASE("a GPU has other limits and takes its heaps at once");
	harness_make_cache();
	test_set_machine("2", "");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* small, so that the largest tables do not fill the machine */
		setenv("PEAL_HOST_MEMORY", "64M", 1);
		setenv("PEAL_HOST_DEVICES", "2", 1);
		/* long: a sanitizer makes 1,024 lanes slow to start */
		setenv("PEAL_CONTROL_TIMEOUT_MS", "30000", 1);
		check_row(&rows[i]);
		if (rows[i].of == SETTING)
			unsetenv(rows[i].name);
	}
}

PEAL_TEST_MAIN(RUN(every_number_works_at_its_ends_and_is_refused_beyond);)
