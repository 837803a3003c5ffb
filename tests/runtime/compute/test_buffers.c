/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers keep their data, and devices and the host access them. Wrong options
 * and ranges fail with a clear text. Limits hold. The close reports leaked
 * buffers.
 */

#include <peal/buffer.h>
#include <peal/memory.h>
#include <peal/peer.h>
#include "runtime/harness.h"

#define MIB ((uint64_t)1 << 20)

static struct peal_runtime *rt;

static void open_machine(int devices, const char *links)
{
	setenv("PEAL_HOST_MEMORY", "64M", 1);
	setenv("PEAL_GPU_MEMORY", "64M", 1);
	setenv("PEAL_PINNED_MEMORY", "64M", 1);
	rt = harness_open(devices, links);
}

static struct peal_buffer *make(uint32_t kind, int device, uint64_t bytes)
{
	const struct peal_buffer_options o = {
		.size = sizeof(o),
		.kind = kind,
		.device = device,
		.bytes = bytes,
		.name = "tested",
	};
	struct peal_buffer *b = NULL;

	CHECK_OK(peal_buffer_create(rt, &o, &b));
	return b;
}

static uint8_t pattern(uint64_t i, unsigned seed)
{
	return (uint8_t)((i + seed) * 2654435761u >> 11);
}

static void write_pattern(struct peal_range to, unsigned seed)
{
	uint8_t *p = malloc(to.bytes);
	uint64_t i;

	CHECK(p);
	for (i = 0; i < to.bytes; i++)
		p[i] = pattern(i, seed);
	CHECK_OK(peal_buffer_write(to, p));
	free(p);
}

static int holds(struct peal_range from, unsigned seed)
{
	uint8_t *p = malloc(from.bytes);
	uint64_t i;

	CHECK(p);
	CHECK_OK(peal_buffer_read(from, p));
	for (i = 0; i < from.bytes && p[i] == pattern(i, seed); i++)
		;
	free(p);
	return i == from.bytes;
}

PEAL_TEST(buffer_of_each_kind_keeps_its_bytes)
{
	static const uint32_t kinds[] = { PEAL_BUFFER_DEVICE,
					  PEAL_BUFFER_PINNED,
					  PEAL_BUFFER_UNIFIED };
	struct peal_runtime_info info;
	struct peal_buffer_info b_info;
	struct peal_buffer *b;
	uint64_t zero[16];
	size_t i;

	open_machine(2, "");
	for (i = 0; i < 3; i++) {
		int device = kinds[i] == PEAL_BUFFER_DEVICE;

		b = make(kinds[i], device, 3 * MIB);
		CHECK_OK(peal_buffer_info(b, &b_info));
		CHECK_EQ(b_info.kind, kinds[i]);
		CHECK_EQ(b_info.device, device ? 1 : PEAL_HOST_MEMORY);
		CHECK_EQ(b_info.bytes, 3 * MIB);
		CHECK_EQ(b_info.views, kinds[i] == PEAL_BUFFER_UNIFIED ? 2 : 1);
		CHECK_EQ(b_info.view_bytes * b_info.views, 3 * MIB);
		CHECK(!strcmp(b_info.name, "tested"));
		write_pattern(peal_buffer_full_range(b), 7);
		CHECK(holds(peal_buffer_full_range(b), 7));
		CHECK_OK(peal_runtime_info(rt, &info));
		CHECK_EQ(info.n_buffers, 1);
		CHECK_EQ(info.n_memories, 0);
		CHECK_OK(peal_buffer_destroy(b));
		b = make(kinds[i], device, 128); /* reused memory is zeroed */
		CHECK_OK(peal_buffer_read(peal_buffer_full_range(b), zero));
		CHECK(!zero[0] && !memcmp(zero, zero + 1, 120));
		CHECK_OK(peal_buffer_destroy(b));
	}
	CHECK_OK(peal_buffer_destroy(NULL));
	CHECK_OK(peal_runtime_close(rt));
}

/* Checks that the viewer's address of a range leads to the buffer's data. */
static void check_seen(struct peal_range range, int viewer)
{
	uint64_t address, there[8], here[8];

	CHECK_OK(peal_buffer_address(range, viewer, &address));
	if (viewer == PEAL_HOST_MEMORY) {
		memcpy(there, (void *)(uintptr_t)address, sizeof(there));
	} else {
		uint64_t copy;

		CHECK_OK(peal_memory_alloc(rt, PEAL_HOST_MEMORY, 64, &copy));
		CHECK_OK(peal_peer_copy(rt, PEAL_HOST_MEMORY, copy, viewer,
					address, 64));
		memcpy(there, (void *)(uintptr_t)copy, sizeof(there));
		CHECK_OK(peal_memory_free(rt, PEAL_HOST_MEMORY, copy));
	}
	range.bytes = sizeof(here);
	CHECK_OK(peal_buffer_read(range, here));
	CHECK(!memcmp(there, here, sizeof(here)));
}

PEAL_TEST(host_buffer_views_are_contiguous_for_all_devices)
{
	struct peal_buffer *b;
	struct peal_range view;
	uint32_t i;
	int viewer;

	open_machine(3, "*:none");
	b = make(PEAL_BUFFER_UNIFIED, 0, 3 * 4096);
	write_pattern(peal_buffer_full_range(b), 3);
	for (i = 0; i < 3; i++) {
		CHECK_OK(peal_buffer_view(b, i, &view));
		CHECK_EQ(view.offset, 4096 * i);
		CHECK_EQ(view.bytes, 4096);
		for (viewer = PEAL_HOST_MEMORY; viewer < 3; viewer++)
			check_seen(view, viewer);
		write_pattern(view, 100 + i);
	}
	for (i = 0; i < 3; i++) {
		CHECK_OK(peal_buffer_view(b, i, &view));
		CHECK(holds(view, 100 + i));
	}
	CHECK_FAILS(peal_buffer_view(b, 3, &view), PEAL_EINVAL,
		    "has no such view (3, allowed 0..2)");
	CHECK_OK(peal_buffer_destroy(b));
	b = make(PEAL_BUFFER_PINNED, 0, 4096);
	CHECK_OK(peal_buffer_view(b, 0, &view));
	CHECK_EQ(view.bytes, 4096);
	CHECK_FAILS(peal_buffer_view(b, 1, &view), PEAL_EINVAL,
		    "has no such view (1, allowed 0)");
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(peer_maps_device_buffer_until_destroy)
{
	struct peal_peer_capability pair;
	struct peal_buffer_info info;
	struct peal_buffer *b;
	uint64_t first, second;

	open_machine(3, "0-1:nvlink,0-2:none,1-2:nvlink");
	b = make(PEAL_BUFFER_DEVICE, 0, MIB);
	CHECK_OK(peal_buffer_address(peal_buffer_full_range(b), 0, &first));
	CHECK_OK(peal_buffer_info(b, &info));
	CHECK_EQ(info.n_peers, 0);
	CHECK_OK(peal_buffer_address(peal_buffer_full_range(b), 1, &first));
	CHECK_OK(peal_buffer_address(peal_buffer_full_range(b), 1, &second));
	CHECK_EQ(first, second);
	CHECK_OK(peal_buffer_info(b, &info));
	CHECK_EQ(info.n_peers, 1);
	CHECK_OK(peal_peer_capability(rt, 1, 0, &pair));
	CHECK(pair.enabled);
	CHECK_OK(peal_peer_enable(rt, 1, 0, -1));
	CHECK_EQ(peal_peer_disable(rt, 1, 0, -1), PEAL_EBUSY);
	CHECK_FAILS(peal_buffer_address(peal_buffer_full_range(b), 2, &first),
		    PEAL_ENOPEER, "device 2 -> device 0");
	CHECK_FAILS(peal_buffer_address(peal_buffer_full_range(b), -1, &first),
		    PEAL_EFAULT, "memory of device 0");
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_peer_disable(rt, 1, 0, -1));
	CHECK_OK(peal_peer_capability(rt, 1, 0, &pair));
	CHECK(!pair.enabled);
	CHECK_OK(peal_runtime_close(rt));
}

/* Device 1 has its own address of the buffer. On emulated devices the host can
 * use this address. */
PEAL_TEST(peer_address_maps_the_same_memory)
{
	struct peal_buffer *b;
	struct peal_range part;
	uint64_t address;

	HOST_CASE("the address of another device is read by the host here");
	open_machine(2, "");
	b = make(PEAL_BUFFER_DEVICE, 0, MIB);
	write_pattern(peal_buffer_full_range(b), 5);
	CHECK_OK(peal_buffer_range(b, 4096, 4096, &part));
	CHECK_OK(peal_buffer_address(part, 1, &address));
	CHECK_EQ(*(uint8_t *)(uintptr_t)address, pattern(4096, 5));
	*(uint8_t *)(uintptr_t)address ^= 0xff;
	CHECK_OK(peal_buffer_range(b, 0, 4096, &part));
	CHECK(holds(part, 5));
	CHECK(!holds(peal_buffer_full_range(b), 5));
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(ranges_beyond_the_buffer_are_refused)
{
	struct peal_range r, part, none = { NULL, 0, 8 };
	struct peal_buffer *b;
	uint64_t word = 1, address;

	open_machine(1, "");
	b = make(PEAL_BUFFER_DEVICE, 0, 1000);
	CHECK_OK(peal_buffer_range(b, 992, 8, &r));
	CHECK_OK(peal_buffer_write(r, &word));
	CHECK_OK(peal_range_slice(r, 7, 1, &part));
	CHECK_EQ(part.offset, 999);
	CHECK_FAILS(peal_range_slice(r, 8, 1, &part), PEAL_EFAULT,
		    "range: is beyond its source (1 byte at offset 8, "
		    "allowed 0..8)");
	CHECK_FAILS(peal_range_slice(r, 0, 0, &part), PEAL_EINVAL, "0 bytes");
	CHECK_FAILS(peal_range_slice(none, 0, 1, &part), PEAL_EINVAL,
		    "no buffer");
	CHECK_EQ(peal_range_slice(r, 0, 1, NULL), PEAL_EINVAL);
	CHECK_FAILS(
		peal_buffer_range(b, 993, 8, &r), PEAL_EFAULT,
		"is beyond the buffer (8 bytes at offset 993, allowed 0..1000)");
	CHECK_EQ(peal_buffer_range(b, 1001, 1, &r), PEAL_EFAULT);
	CHECK_EQ(peal_buffer_range(b, 8, UINT64_MAX - 4, &r), PEAL_EFAULT);
	CHECK_EQ(peal_buffer_range(b, UINT64_MAX, 8, &r), PEAL_EFAULT);
	CHECK_FAILS(peal_buffer_range(b, 0, 0, &r), PEAL_EINVAL, "0 bytes");
	CHECK_EQ(peal_buffer_range(NULL, 0, 1, &r), PEAL_EINVAL);
	CHECK_EQ(peal_buffer_range(b, 0, 1, NULL), PEAL_EINVAL);
	/* A range is a plain value: each call checks it again. */
	CHECK_EQ(r.offset, 992);
	r.bytes = 9;
	CHECK_FAILS(peal_buffer_write(r, &word), PEAL_EFAULT,
		    "allowed 0..1000");
	CHECK_EQ(peal_buffer_read(r, &word), PEAL_EFAULT);
	CHECK_EQ(peal_buffer_fill(r, NULL, 1), PEAL_EFAULT);
	CHECK_EQ(peal_buffer_address(r, 0, &address), PEAL_EFAULT);
	CHECK_EQ(peal_range_slice(r, 0, 1, &part), PEAL_EFAULT);
	r = peal_buffer_full_range(NULL);
	CHECK_FAILS(peal_buffer_write(r, &word), PEAL_EINVAL, "no buffer");
	CHECK_EQ(peal_buffer_read(r, &word), PEAL_EINVAL);
	r = peal_buffer_full_range(b);
	CHECK_EQ(r.bytes, 1000);
	CHECK_EQ(peal_buffer_write(r, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_buffer_read(r, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_buffer_address(r, 0, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_buffer_address(r, 1, &address), PEAL_ENODEV);
	CHECK_EQ(peal_buffer_view(NULL, 0, &r), PEAL_EINVAL);
	CHECK_EQ(peal_buffer_view(b, 0, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_buffer_info(b, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_buffer_info(NULL, NULL), PEAL_EINVAL);
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(pattern_fills_only_its_range)
{
	const uint64_t count = 100003;
	const uint32_t value[3] = { 1, 0xdeadbeef, 77 };
	struct peal_buffer *b;
	struct peal_range r;
	uint32_t *p = malloc(12 * (count + 2));
	uint64_t i;

	CHECK(p);
	open_machine(1, "");
	b = make(PEAL_BUFFER_DEVICE, 0, 12 * (count + 2));
	write_pattern(peal_buffer_full_range(b), 9);
	CHECK_OK(peal_buffer_range(b, 12, 12 * count, &r));
	CHECK_OK(peal_buffer_fill(r, value, 12));
	CHECK_OK(peal_buffer_read(peal_buffer_full_range(b), p));
	for (i = 0; i < 12; i++) {
		CHECK_EQ(((uint8_t *)p)[i], pattern(i, 9));
		CHECK_EQ(((uint8_t *)p)[12 * (count + 1) + i],
			 pattern(12 * (count + 1) + i, 9));
	}
	for (i = 0; i < 3 * count; i++)
		CHECK_EQ(p[3 + i], value[i % 3]);
	CHECK_OK(peal_buffer_fill(r, NULL, 4));
	CHECK_OK(peal_buffer_read(r, p));
	for (i = 0; i < 3 * count; i++)
		CHECK_EQ(p[i], 0);
	CHECK_FAILS(peal_buffer_fill(r, value, 0), PEAL_EINVAL,
		    "'pattern_bytes': is out of range (0, allowed 1..4096)");
	CHECK_FAILS(peal_buffer_fill(r, value, 4097), PEAL_EINVAL,
		    "); use 4096");
	CHECK_FAILS(peal_buffer_fill(r, value, 11), PEAL_EINVAL,
		    "allowed multiples of 11); use ");
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
	free(p);
}

PEAL_TEST(invalid_buffer_options_are_named)
{
	struct peal_buffer_options o = { .size = sizeof(o), .bytes = 64 };
	const struct peal_buffer_options good = o;
	struct peal_buffer_info info;
	struct peal_buffer *b = NULL;

	open_machine(2, "");
	CHECK_FAILS(peal_buffer_create(NULL, &o, &b), PEAL_EINVAL, "runtime");
	CHECK_EQ(peal_buffer_create(rt, &o, NULL), PEAL_EINVAL);
	CHECK_FAILS(peal_buffer_create(rt, NULL, &b), PEAL_EINVAL,
		    "'bytes': is out of range (0, allowed 1 or more)");
	o.size = 3;
	CHECK_EQ(peal_buffer_create(rt, &o, &b), PEAL_EINVAL);
	o = good;
	o.bytes = 0;
	CHECK_FAILS(peal_buffer_create(rt, &o, &b), PEAL_EINVAL,
		    "'bytes': is out of range (0, allowed 1 or more)");
	o = good;
	o.kind = 4;
	CHECK_FAILS(peal_buffer_create(rt, &o, &b), PEAL_EINVAL,
		    "'kind': is out of range (4, allowed 0..3)");
	o = good;
	o.device = 2;
	CHECK_FAILS(peal_buffer_create(rt, &o, &b), PEAL_ENODEV,
		    "device 2: does not exist (2, ");
	o.device = PEAL_HOST_MEMORY;
	CHECK_EQ(peal_buffer_create(rt, &o, &b), PEAL_ENODEV);
	o = good;
	o.views = 2;
	CHECK_FAILS(peal_buffer_create(rt, &o, &b), PEAL_EINVAL,
		    "'views': is only for unified buffers (2, allowed 0)");
	o.kind = PEAL_BUFFER_PINNED;
	CHECK_EQ(peal_buffer_create(rt, &o, &b), PEAL_EINVAL);
	o.kind = PEAL_BUFFER_UNIFIED;
	o.device = 1;
	CHECK_FAILS(peal_buffer_create(rt, &o, &b), PEAL_EINVAL,
		    "'device': is only for buffers on a device (1");
	o.device = 0;
	o.views = 3;
	CHECK_FAILS(peal_buffer_create(rt, &o, &b), PEAL_EINVAL,
		    "'bytes': must be a multiple of 3 (");
	o.views = 65;
	CHECK_FAILS(peal_buffer_create(rt, &o, &b), PEAL_EINVAL,
		    "'views': is out of range (65, allowed 0..64)");
	o = good;
	CHECK(!b);
	o.name = "a name of thirty-two characters!";
	CHECK_OK(peal_buffer_create(rt, &o, &b));
	CHECK_OK(peal_buffer_info(b, &info));
	CHECK_EQ(strlen(info.name), sizeof(info.name) - 1);
	CHECK_CONTAINS(info.name, "...");
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
}

/* A limit counts the buffers of its device, and no other memory. */
PEAL_TEST(memory_limit_covers_all_buffers_of_a_device)
{
	const struct peal_buffer_options o = { .size = sizeof(o),
					       .bytes = 3 * MIB };
	struct peal_memory_info info;
	struct peal_buffer *a, *b, *c = NULL;
	uint64_t memory;

	open_machine(2, "");
	CHECK_OK(peal_memory_limit(rt, 0, 4 * MIB));
	CHECK_OK(peal_memory_info(rt, 0, &info));
	CHECK_EQ(info.limit_bytes, 4 * MIB);
	CHECK_EQ(info.largest_buffer_bytes, 4 * MIB);
	a = make(PEAL_BUFFER_DEVICE, 0, 2 * MIB);
	CHECK_FAILS(peal_buffer_create(rt, &o, &c), PEAL_ENOSPC,
		    "3145728 bytes on device 0: buffers have a limit of "
		    "4194304 and use 2097152");
	CHECK_CONTAINS(peal_last_error()->text, "device 1");
	CHECK_CONTAINS(peal_last_error()->text, "the host");
	CHECK(!c);
	CHECK_OK(peal_memory_info(rt, 0, &info));
	CHECK_EQ(info.buffer_bytes, 2 * MIB);
	CHECK_EQ(info.n_buffers, 1);
	CHECK_EQ(info.largest_buffer_bytes, 2 * MIB);
	b = make(PEAL_BUFFER_DEVICE, 0, 2 * MIB); /* exactly the rest */
	CHECK_OK(peal_memory_alloc(rt, 0, MIB, &memory)); /* no buffer */
	CHECK_OK(peal_memory_free(rt, 0, memory));
	CHECK_OK(peal_memory_limit(rt, 0, MIB)); /* buffers stay */
	CHECK_OK(peal_memory_info(rt, 0, &info));
	CHECK_EQ(info.largest_buffer_bytes, 0);
	CHECK_OK(peal_buffer_destroy(a));
	CHECK_EQ(peal_buffer_create(rt, &o, &c), PEAL_ENOSPC);
	CHECK_OK(peal_memory_limit(rt, 0, 0));
	CHECK_OK(peal_buffer_create(rt, &o, &c));
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_buffer_destroy(c));
	CHECK_OK(peal_memory_limit(rt, PEAL_HOST_MEMORY, MIB));
	CHECK_OK(peal_memory_info(rt, PEAL_HOST_MEMORY, &info));
	CHECK_EQ(info.largest_buffer_bytes, MIB);
	CHECK_OK(peal_memory_info(rt, 0, &info));
	CHECK_EQ(info.buffer_bytes, 0);
	CHECK_EQ(peal_memory_limit(rt, 2, MIB), PEAL_ENODEV);
	CHECK_EQ(peal_memory_limit(NULL, 0, MIB), PEAL_EINVAL);
	CHECK_EQ(peal_memory_info(rt, 2, &info), PEAL_ENODEV);
	CHECK_EQ(peal_memory_info(rt, 0, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_memory_info(NULL, 0, &info), PEAL_EINVAL);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(out_of_memory_names_free_bytes_and_other_devices)
{
	struct peal_buffer_options o = { .size = sizeof(o), .bytes = 50 * MIB };
	struct peal_memory_info info;
	struct peal_buffer *a, *b, *c = NULL, *d;
	char text[64];

	open_machine(3, "");
	a = make(PEAL_BUFFER_DEVICE, 0, 40 * MIB);
	b = make(PEAL_BUFFER_DEVICE, 1, 40 * MIB);
	CHECK_OK(peal_memory_info(rt, 0, &info));
	CHECK_EQ(info.total_bytes, 64 * MIB);
	CHECK_EQ(info.free_bytes, 24 * MIB);
	CHECK_EQ(info.largest_bytes, 24 * MIB);
	CHECK_EQ(info.largest_buffer_bytes, 24 * MIB);
	CHECK_FAILS(peal_buffer_create(rt, &o, &c), PEAL_ENOMEM,
		    "52428800 bytes on device 0: 25165824 are free, the "
		    "largest piece has 25165824; it fits on: ");
	CHECK_CONTAINS(peal_last_error()->call, "peal_buffer_create");
	CHECK_CONTAINS(peal_last_error()->text, "the host ");
	CHECK_CONTAINS(peal_last_error()->text, "device 2 67108864");
	CHECK(!strstr(peal_last_error()->text, "device 1"));
	CHECK_OK(peal_memory_info(rt, PEAL_HOST_MEMORY, &info));
	snprintf(text, sizeof(text), "the host %llu",
		 (unsigned long long)info.largest_buffer_bytes);
	CHECK_CONTAINS(peal_last_error()->text, text);
	/* The limit of device 2 counts, too. */
	CHECK_OK(peal_memory_limit(rt, 2, MIB));
	CHECK_EQ(peal_buffer_create(rt, &o, &c), PEAL_ENOMEM);
	CHECK(!strstr(peal_last_error()->text, "device 2"));
	o.bytes = (uint64_t)1 << 62;
	CHECK_FAILS(peal_buffer_create(rt, &o, &c), PEAL_ENOMEM, "on: none");
	o.bytes = UINT64_MAX;
	CHECK_EQ(peal_buffer_create(rt, &o, &c), PEAL_ENOMEM);
	o.kind = PEAL_BUFFER_PINNED;
	CHECK_FAILS(peal_buffer_create(rt, &o, &c), PEAL_ENOMEM, "on the host");
	/* The failed calls have taken no memory. */
	d = make(PEAL_BUFFER_DEVICE, 0, 24 * MIB);
	CHECK_OK(peal_buffer_destroy(d));
	CHECK_OK(peal_buffer_destroy(a));
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(fragmented_memory_reports_its_largest_block)
{
	struct peal_memory_info info;
	struct peal_buffer *b[4];
	int i;

	open_machine(1, "");
	for (i = 0; i < 4; i++)
		b[i] = make(PEAL_BUFFER_DEVICE, 0, 16 * MIB);
	CHECK_OK(peal_buffer_destroy(b[0]));
	CHECK_OK(peal_buffer_destroy(b[2]));
	CHECK_OK(peal_memory_info(rt, 0, &info));
	CHECK_EQ(info.free_bytes, 32 * MIB);
	CHECK_EQ(info.largest_bytes, 16 * MIB);
	CHECK_EQ(info.largest_buffer_bytes, 16 * MIB);
	CHECK_OK(peal_buffer_destroy(b[1]));
	CHECK_OK(peal_buffer_destroy(b[3]));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(buffer_memory_is_freed_only_with_the_buffer)
{
	struct peal_buffer *b;
	uint64_t address, mapped;

	open_machine(2, "");
	b = make(PEAL_BUFFER_DEVICE, 1, 4096);
	CHECK_OK(peal_buffer_address(peal_buffer_full_range(b), 1, &address));
	CHECK_FAILS(peal_memory_free(rt, 1, address), PEAL_EFAULT,
		    "peal_buffer_destroy");
	CHECK_OK(peal_peer_map(rt, 1, address, 0, 4096, -1, &mapped));
	CHECK_FAILS(peal_buffer_destroy(b), PEAL_EBUSY, "1 mapping");
	CHECK_CONTAINS(peal_last_error()->call, "peal_buffer_destroy");
	/* The mapping belongs to the caller: a close does not remove it. */
	CHECK_EQ(peal_runtime_close(rt), PEAL_EBUSY);
	CHECK_OK(peal_peer_unmap(rt, 0, mapped, -1));
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(leaked_memory_is_freed_and_named_at_close)
{
	struct peal_leak_report report;
	struct peal_buffer *b, *kept;
	uint64_t address, memory;
	int i;

	open_machine(2, "");
	CHECK_OK(peal_memory_alloc(rt, 0, 64, &memory));
	kept = make(PEAL_BUFFER_DEVICE, 0, 64);
	for (i = 0; i < PEAL_LEAKS_LISTED + 2; i++) {
		char name[16];
		const struct peal_buffer_options o = {
			.size = sizeof(o),
			.kind = i % 2 ? PEAL_BUFFER_PINNED : PEAL_BUFFER_DEVICE,
			.device = i % 2 ? 0 : 1,
			.bytes = 1000 + (uint64_t)i,
			.name = name,
		};

		snprintf(name, sizeof(name), "left %d", i);
		CHECK_OK(peal_buffer_create(rt, &o, &b));
		if (i == 0) /* mapped by another device */
			CHECK_OK(peal_buffer_address(peal_buffer_full_range(b),
						     0, &address));
	}
	CHECK_OK(peal_buffer_destroy(kept));
	memset(&report, 0xee, sizeof(report));
	/* An allocation keeps the runtime open, and no buffer is freed. */
	CHECK_FAILS(peal_runtime_close_report(rt, &report), PEAL_EBUSY,
		    "1 allocation");
	CHECK_EQ(report.n_buffers, 0xeeeeeeeeu);
	CHECK_OK(peal_buffer_fill(peal_buffer_full_range(b), "x", 1));
	CHECK_OK(peal_memory_free(rt, 0, memory));
	CHECK_EQ(peal_runtime_close_report(rt, NULL), PEAL_EINVAL);
	CHECK_OK(peal_runtime_close_report(rt, &report));
	CHECK_EQ(report.n_buffers, PEAL_LEAKS_LISTED + 2);
	CHECK_EQ(report.bytes, 10 * 1000 + 45);
	CHECK_EQ(report.n_listed, PEAL_LEAKS_LISTED);
	for (i = 0; i < PEAL_LEAKS_LISTED; i++) {
		char name[16];

		snprintf(name, sizeof(name), "left %d", i);
		CHECK(!strcmp(report.listed[i].name, name));
		CHECK_EQ(report.listed[i].device, i % 2 ? PEAL_HOST_MEMORY : 1);
		CHECK_EQ(report.listed[i].bytes, 1000 + i);
	}
	CHECK_OK(peal_runtime_close_report(NULL, &report));
	CHECK_EQ(report.n_buffers, 0);
}

/* Closes or shuts down the runtime. Returns the number of log lines. */
static int lines_of_close(int shutdown, char *text, size_t size)
{
	FILE *file = tmpfile();
	int saved = dup(2), lines = 0;
	size_t n, i;

	CHECK(file && saved >= 0);
	setenv("PEAL_LOG", "1", 1);
	fflush(stderr);
	CHECK(dup2(fileno(file), 2) >= 0);
	CHECK_OK(shutdown ? peal_runtime_shutdown(rt) : peal_runtime_close(rt));
	fflush(stderr);
	CHECK(dup2(saved, 2) >= 0);
	close(saved);
	unsetenv("PEAL_LOG");
	rewind(file);
	n = fread(text, 1, size - 1, file);
	text[n] = 0;
	fclose(file);
	for (i = 0; i < n; i++)
		lines += text[i] == '\n';
	return lines;
}

PEAL_TEST(log_names_each_leaked_buffer)
{
	char text[1024];
	int i;

	for (i = 0; i < 2; i++) {
		open_machine(2, "");
		make(PEAL_BUFFER_DEVICE, 1, 4096);
		make(PEAL_BUFFER_UNIFIED, 0, 8192);
		CHECK_EQ(lines_of_close(i, text, sizeof(text)), 2);
		CHECK_CONTAINS(text, "'tested', 4096 bytes of device 1");
		CHECK_CONTAINS(text, "'tested', 8192 bytes of the host");
	}
	open_machine(2, "");
	CHECK_EQ(lines_of_close(0, text, sizeof(text)), 0);
}

static void *make_and_destroy(void *argument)
{
	unsigned seed = (unsigned)(uintptr_t)argument;
	struct peal_buffer *b;
	uint64_t address;
	int i;

	for (i = 0; i < 50; i++) {
		b = make(PEAL_BUFFER_DEVICE, (int)seed % 2, 4096 + seed);
		write_pattern(peal_buffer_full_range(b), seed);
		CHECK_OK(peal_buffer_address(peal_buffer_full_range(b),
					     1 - (int)seed % 2, &address));
		CHECK(holds(peal_buffer_full_range(b), seed));
		CHECK_OK(peal_buffer_destroy(b));
	}
	return NULL;
}

PEAL_TEST(concurrent_buffer_calls_do_not_interfere)
{
	struct peal_leak_report report;
	pthread_t thread[4];
	uintptr_t i;

	open_machine(2, "");
	for (i = 0; i < 4; i++)
		CHECK(!pthread_create(&thread[i], NULL, make_and_destroy,
				      (void *)i));
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	CHECK_OK(peal_runtime_close_report(rt, &report));
	CHECK_EQ(report.n_buffers, 0);
}

PEAL_TEST_MAIN(RUN(buffer_of_each_kind_keeps_its_bytes);
	       RUN(host_buffer_views_are_contiguous_for_all_devices);
	       RUN(peer_maps_device_buffer_until_destroy);
	       RUN(peer_address_maps_the_same_memory);
	       RUN(ranges_beyond_the_buffer_are_refused);
	       RUN(pattern_fills_only_its_range);
	       RUN(invalid_buffer_options_are_named);
	       RUN(memory_limit_covers_all_buffers_of_a_device);
	       RUN(out_of_memory_names_free_bytes_and_other_devices);
	       RUN(fragmented_memory_reports_its_largest_block);
	       RUN(buffer_memory_is_freed_only_with_the_buffer);
	       RUN(leaked_memory_is_freed_and_named_at_close);
	       RUN(log_names_each_leaked_buffer);
	       RUN(concurrent_buffer_calls_do_not_interfere);)
