/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers: allocates them within a limit per device, makes ranges, maps them
 * for other devices, and copies their content.
 */
#include "runtime/compute/buffer.h"

#include <peal/buffer.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "p2p/peer.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/backend.h"
#include "runtime/device/devices.h"
#include "runtime/runtime.h"

#define PATTERN_BYTES_MAX 4096
#define FILL_BYTES ((uint64_t)64 << 10) /* per copy of peal_buffer_fill */

struct peal_buffer {
	struct peal_runtime *rt;
	struct peal_buffer *next, *previous; /* oldest first */
	enum peal_buffer_kind kind;
	int owner; /* device, or PEALI_HOST */
	uint32_t views; /* 1 for kinds without views */
	int managed; /* 1: managed memory; 0: memory of the owner */
	uint64_t bytes;
	uint64_t address; /* as the owner sees it */
	char name[PEAL_BUFFER_NAME_BYTES];
	uint64_t *seen; /* per device: address of its view; 0: no view */
	uint32_t n_peers; /* devices with a view in `seen` */
};

int peali_buffers_open(struct peal_runtime *rt)
{
	struct peali_buffers *buffers = calloc(1, sizeof(*buffers));

	if (buffers)
		buffers->account = calloc((size_t)rt->devices.n + 1,
					  sizeof(*buffers->account));
	if (!buffers || !buffers->account) {
		free(buffers);
		return peali_fail(PEAL_ENOMEM, "peal_runtime_open",
				  "no memory for the table of buffers");
	}
	pthread_mutex_init(&buffers->lock, NULL);
	rt->buffers = buffers;
	return 0;
}

uint32_t peali_buffers_count(const struct peal_runtime *rt)
{
	uint32_t n;

	pthread_mutex_lock(&rt->buffers->lock);
	n = rt->buffers->n;
	pthread_mutex_unlock(&rt->buffers->lock);
	return n;
}

const char *peal_buffer_kind_name(uint32_t kind)
{
	static const char *const names[] = { "device", "pinned", "unified",
					     "managed" };

	return kind < 4 ? names[kind] : "?";
}

/* "device 2", or "the host". */
static const char *place_name(int device, char text[24])
{
	if (device == PEALI_HOST)
		snprintf(text, 24, "the host");
	else
		snprintf(text, 24, "device %d", device);
	return text;
}

static void free_buffer(struct peal_buffer *b)
{
	free(b->seen);
	free(b);
}

void peali_buffers_close(struct peal_runtime *rt,
			 struct peal_leak_report *report_out)
{
	struct peali_buffers *buffers = rt->buffers;
	struct peal_buffer *b, *next;
	struct peal_leak *leak;
	char place[24];

	memset(report_out, 0, sizeof(*report_out));
	for (b = buffers ? buffers->first : NULL; b; b = next) {
		next = b->next;
		peali_log(1,
			  "buffer '%s', %llu bytes of %s, is still open when "
			  "the runtime closes",
			  b->name, (unsigned long long)b->bytes,
			  place_name(b->owner, place));
		report_out->n_buffers++;
		report_out->bytes += b->bytes;
		if (report_out->n_listed < PEAL_LEAKS_LISTED) {
			leak = &report_out->listed[report_out->n_listed++];
			memcpy(leak->name, b->name, sizeof(leak->name));
			leak->device = b->owner;
			leak->bytes = b->bytes;
		}
		free_buffer(b);
	}
	if (!buffers)
		return;
	pthread_mutex_destroy(&buffers->lock);
	free(buffers->account);
	free(buffers);
	rt->buffers = NULL;
}

/* Appends to a text of `size` bytes, and cuts the rest off. */
static void __attribute__((format(printf, 4, 5)))
append(char *text, size_t size, size_t *used, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(text + *used, size - *used, format, arguments);
	va_end(arguments);
	if (n > 0)
		*used += (size_t)n < size - *used ? (size_t)n :
						    size - *used - 1;
}

/*
 * Lists the other devices, and the host, with enough memory for a buffer. The
 * caller holds the lock.
 */
static void list_free(struct peal_runtime *rt, const struct peal_buffer *b,
		      char *text, size_t size)
{
	struct peali_heap_usage usage;
	uint64_t bytes;
	size_t used = 0;
	int i, n = 0;

	text[0] = 0;
	for (i = PEALI_HOST; i < rt->devices.n; i++) {
		if (i == b->owner)
			continue;
		bytes = peali_memory_space(rt, i, &usage);
		if (bytes < b->bytes)
			continue;
		if (i == PEALI_HOST)
			append(text, size, &used, "the host %llu",
			       (unsigned long long)bytes);
		else
			append(text, size, &used, "%sdevice %d %llu",
			       n ? ", " : "", i, (unsigned long long)bytes);
		n++;
	}
	if (!n)
		snprintf(text, size, "none");
}

/*
 * Reports that a buffer does not fit, with the free memory. Returns `code`. The
 * caller holds the lock.
 */
static int no_space(struct peal_runtime *rt, const struct peal_buffer *b,
		    int code)
{
	const struct peali_memory_account *a =
		peali_memory_account_of(rt, b->owner);
	char place[24], free_text[96], limit[64] = "";
	struct peali_heap_usage usage;

	peali_memory_space(rt, b->owner, &usage);
	list_free(rt, b, free_text, sizeof(free_text));
	if (code == PEAL_ENOSPC)
		snprintf(limit, sizeof(limit),
			 "buffers have a limit of %llu and use %llu, ",
			 (unsigned long long)a->limit,
			 (unsigned long long)a->bytes);
	return peali_fail(code, "peal_buffer_create",
			  "%llu bytes on %s: %s%llu are free, the largest "
			  "piece has %llu; it fits on: %s",
			  (unsigned long long)b->bytes,
			  place_name(b->owner, place), limit,
			  (unsigned long long)usage.free,
			  (unsigned long long)usage.largest, free_text);
}

/* ---- create, destroy ----------------------------------------------------- */

static int check_views(struct peal_runtime *rt,
		       const struct peal_buffer_options *o)
{
	const char *call = "peal_buffer_create";
	struct peal_device_info info;
	uint32_t i;

	if (o->views > PEAL_BUFFER_VIEWS_MAX)
		return peali_refuse_option(call, "views", o->views, 0,
					   PEAL_BUFFER_VIEWS_MAX);
	if (o->bytes % o->views)
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "option", .name = "bytes",
			.number = o->bytes,
			.allowed = PEALI_PRINT("multiples of %u, the views",
					       o->views),
			.least = o->views, .most = UINT64_MAX,
			.multiple = o->views);
	for (i = 0; i < o->views && i < (uint32_t)rt->devices.n; i++) {
		if (peal_device_info(rt, (int)i, &info) < 0 ||
		    info.capabilities & PEAL_CAN_UNIFIED)
			continue;
		return peali_fail(PEAL_ENOTSUP, call,
				  "view %u is for device %u, which does not "
				  "see host memory by the addresses of the "
				  "host (PEAL_CAN_UNIFIED)",
				  i, i);
	}
	return 0;
}

/* Checks the options and fills in their defaults. */
static int complete(struct peal_runtime *rt, struct peal_buffer_options *o)
{
	const char *call = "peal_buffer_create";

	if (o->kind > PEAL_BUFFER_MANAGED)
		return peali_refuse_option(call, "kind", o->kind, 0,
					   PEAL_BUFFER_MANAGED);
	if (!o->bytes)
		return peali_refuse_option(call, "bytes", 0, 1, UINT64_MAX);
	if (o->kind == PEAL_BUFFER_DEVICE && !o->views)
		return peali_devices_check(&rt->devices, o->device, call);
	if (o->kind != PEAL_BUFFER_UNIFIED && o->views)
		return PEALI_REFUSE(PEAL_EINVAL, call, .object = "option",
				    .name = "views",
				    .problem = "is only for unified buffers",
				    .number = o->views,
				    .remedy = "use 0, or PEAL_BUFFER_UNIFIED");
	if (o->device)
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "option", .name = "device",
			.problem = "is only for buffers on a device",
			.value = PEALI_PRINT("%d", o->device), .allowed = "0");
	if (o->kind != PEAL_BUFFER_UNIFIED)
		return 0;
	if (!o->views)
		o->views = (uint32_t)rt->devices.n;
	return check_views(rt, o);
}

static struct peal_buffer *new_buffer(struct peal_runtime *rt,
				      const struct peal_buffer_options *o)
{
	struct peal_buffer *b = calloc(1, sizeof(*b));

	if (b)
		b->seen = calloc((size_t)rt->devices.n, sizeof(*b->seen));
	if (!b || !b->seen) {
		free(b);
		peali_fail(PEAL_ENOMEM, "peal_buffer_create",
			   "no memory for the table of buffers");
		return NULL;
	}
	b->rt = rt;
	b->kind = (enum peal_buffer_kind)o->kind;
	b->owner = o->kind == PEAL_BUFFER_DEVICE ? o->device : PEALI_HOST;
	b->managed = o->kind == PEAL_BUFFER_MANAGED; /* until `take` */
	b->views = o->views ? o->views : 1;
	b->bytes = o->bytes;
	peali_text_fit(b->name, sizeof(b->name), o->name ? o->name : "");
	return b;
}

/*
 * Allocates a buffer's memory within the limit, and adds the buffer to the
 * list. The caller holds the lock.
 */
static int take(struct peal_runtime *rt, struct peal_buffer *b)
{
	struct peali_buffers *buffers = rt->buffers;
	struct peali_memory_account *a = peali_memory_account_of(rt, b->owner);
	int r;

	if (a->limit && (a->bytes > a->limit || b->bytes > a->limit - a->bytes))
		return no_space(rt, b, PEAL_ENOSPC);
	r = peali_buffer_alloc(rt->peers, b->owner, b->bytes, &b->managed,
			       &b->address);
	if (r < 0)
		return r == PEAL_ENOMEM && !peali_failed_in_system() &&
				       b->kind != PEAL_BUFFER_MANAGED ?
			       no_space(rt, b, r) :
			       r;
	a->bytes += b->bytes;
	a->n_buffers++;
	b->previous = buffers->last;
	if (b->previous)
		b->previous->next = b;
	else
		buffers->first = b;
	buffers->last = b;
	buffers->n++;
	return 0;
}

int peal_buffer_create(struct peal_runtime *runtime,
		       const struct peal_buffer_options *options,
		       struct peal_buffer **buffer_out)
{
	const char *call = "peal_buffer_create";
	struct peal_buffer_options o;
	struct peal_buffer *b;
	int r;

	if (!runtime || !buffer_out)
		return peali_refuse_null(call,
					 runtime ? "buffer_out" : "runtime");
	if (peali_foreign(&runtime->owner, call))
		return PEAL_EFORKED;
	r = peali_options_copy(&o, sizeof(o), options, call);
	if (!r)
		r = complete(runtime, &o);
	if (r < 0)
		return r;
	b = new_buffer(runtime, &o);
	if (!b)
		return PEAL_ENOMEM;
	pthread_mutex_lock(&runtime->buffers->lock);
	r = take(runtime, b);
	pthread_mutex_unlock(&runtime->buffers->lock);
	if (r < 0)
		free_buffer(b);
	else
		*buffer_out = b;
	return r;
}

/* Removes a buffer from the list. The caller holds the lock. */
static void take_off(struct peali_buffers *buffers, struct peal_buffer *b)
{
	struct peali_memory_account *a =
		peali_memory_account_of(b->rt, b->owner);

	if (b->previous)
		b->previous->next = b->next;
	else
		buffers->first = b->next;
	if (b->next)
		b->next->previous = b->previous;
	else
		buffers->last = b->previous;
	buffers->n--;
	a->bytes -= b->bytes;
	a->n_buffers--;
}

int peal_buffer_destroy(struct peal_buffer *buffer)
{
	struct peal_runtime *rt;
	int i, r;

	if (!buffer)
		return 0;
	if (peali_foreign(&buffer->rt->owner, "peal_buffer_destroy"))
		return PEAL_EFORKED;
	rt = buffer->rt;
	r = peali_buffer_free(rt->peers, buffer->owner, buffer->address);
	if (r < 0)
		return r;
	for (i = 0; i < rt->devices.n; i++)
		if (buffer->seen[i])
			peali_buffer_view_give(rt->peers, i, buffer->owner);
	pthread_mutex_lock(&rt->buffers->lock);
	take_off(rt->buffers, buffer);
	pthread_mutex_unlock(&rt->buffers->lock);
	free_buffer(buffer);
	return 0;
}

int peal_buffer_info(const struct peal_buffer *buffer,
		     struct peal_buffer_info *info_out)
{
	struct peal_buffer_info info = { 0 };

	if (!buffer || !info_out)
		return peali_refuse_null("peal_buffer_info",
					 "buffer or info_out");
	if (peali_foreign(&buffer->rt->owner, "peal_buffer_info"))
		return PEAL_EFORKED;
	info.kind = buffer->kind;
	info.device = buffer->owner;
	info.views = buffer->views;
	info.bytes = buffer->bytes;
	info.view_bytes = buffer->bytes / buffer->views;
	info.managed = (uint32_t)buffer->managed;
	memcpy(info.name, buffer->name, sizeof(info.name));
	pthread_mutex_lock(&buffer->rt->buffers->lock);
	info.n_peers = buffer->n_peers;
	pthread_mutex_unlock(&buffer->rt->buffers->lock);
	*info_out = info;
	return 0;
}

/* ---- ranges -------------------------------------------------------------- */

/* Returns 0 if `bytes` from `offset` on lie within `all` bytes of `of`. */
static int check_inside(const char *call, uint64_t offset, uint64_t bytes,
			const char *of, uint64_t all)
{
	if (!bytes)
		return PEALI_REFUSE(PEAL_EINVAL, call, .object = "range",
				    .problem = "has no bytes",
				    .value = "0 bytes", .allowed = "1 or more",
				    .remedy = "use at least 1 byte");
	if (offset <= all && bytes <= all - offset)
		return 0;
	return PEALI_REFUSE(
		PEAL_EFAULT, call, .object = "range",
		.problem = PEALI_PRINT("is beyond %s", of),
		.value = PEALI_PRINT("%llu byte%s at offset %llu",
				     (unsigned long long)bytes, peali_s(bytes),
				     (unsigned long long)offset),
		.allowed = PEALI_PRINT("0..%llu", (unsigned long long)all),
		.remedy = "use a smaller offset or length");
}

static int check_range(struct peal_range range, const char *call)
{
	if (!range.buffer)
		return PEALI_REFUSE(PEAL_EINVAL, call, .object = "range",
				    .problem = "has no buffer", .value = "NULL",
				    .allowed = "a buffer",
				    .remedy = "call peal_buffer_range");
	if (peali_forked(&range.buffer->rt->owner, call))
		return PEAL_EFORKED;
	return check_inside(call, range.offset, range.bytes, "the buffer",
			    range.buffer->bytes);
}

int peali_range_place(struct peal_range range, const char *call,
		      struct peal_runtime **rt_out,
		      struct peali_place *place_out)
{
	int r = check_range(range, call);

	if (r < 0)
		return r;
	*rt_out = range.buffer->rt;
	place_out->device = range.buffer->owner;
	place_out->address = range.buffer->address + range.offset;
	return 0;
}

int peali_range_managed(struct peal_range range, const char *call,
			struct peal_runtime **rt_out, uint64_t *address_out)
{
	struct peali_place place;
	int r = peali_range_place(range, call, rt_out, &place);

	if (r < 0)
		return r;
	if (!range.buffer->managed)
		return PEALI_REFUSE(
			PEAL_ENOTSUP, call, .object = "buffer",
			.name = range.buffer->name,
			.problem = "is not managed by the driver",
			.value = PEALI_PRINT(
				"kind %s",
				peal_buffer_kind_name(range.buffer->kind)),
			.allowed = "PEAL_BUFFER_MANAGED with devices that have "
				   "PEAL_CAN_MANAGED",
			.remedy = "leave out the call if `managed` of "
				  "peal_buffer_info is 0");
	*address_out = place.address;
	return 0;
}

struct peal_range peal_buffer_full_range(struct peal_buffer *buffer)
{
	struct peal_range range = { buffer, 0, buffer ? buffer->bytes : 0 };

	return range;
}

int peal_buffer_range(struct peal_buffer *buffer, uint64_t offset,
		      uint64_t bytes, struct peal_range *range_out)
{
	const char *call = "peal_buffer_range";
	int r;

	if (!buffer || !range_out)
		return peali_refuse_null(call, "buffer or range_out");
	if (peali_forked(&buffer->rt->owner, call))
		return PEAL_EFORKED;
	r = check_inside(call, offset, bytes, "the buffer", buffer->bytes);
	if (r < 0)
		return r;
	range_out->buffer = buffer;
	range_out->offset = offset;
	range_out->bytes = bytes;
	return 0;
}

int peal_buffer_view(struct peal_buffer *buffer, uint32_t view,
		     struct peal_range *range_out)
{
	const char *call = "peal_buffer_view";
	uint64_t bytes;

	if (!buffer || !range_out)
		return peali_refuse_null(call, "buffer or range_out");
	if (peali_forked(&buffer->rt->owner, call))
		return PEAL_EFORKED;
	if (view >= buffer->views)
		return PEALI_REFUSE(PEAL_EINVAL, call, .object = "buffer",
				    .name = buffer->name,
				    .problem = "has no such view",
				    .number = view, .most = buffer->views - 1);
	bytes = buffer->bytes / buffer->views;
	range_out->buffer = buffer;
	range_out->offset = view * bytes;
	range_out->bytes = bytes;
	return 0;
}

int peal_range_slice(struct peal_range range, uint64_t offset, uint64_t bytes,
		     struct peal_range *slice_out)
{
	const char *call = "peal_range_slice";
	int r = check_range(range, call);

	if (!r && !slice_out)
		r = peali_refuse_null(call, "slice_out");
	if (!r)
		r = check_inside(call, offset, bytes, "its source",
				 range.bytes);
	if (r < 0)
		return r;
	slice_out->buffer = range.buffer;
	slice_out->offset = range.offset + offset;
	slice_out->bytes = bytes;
	return 0;
}

/*
 * Gets a device's address of another device's buffer. The first call maps the
 * buffer. The caller holds the lock.
 */
static int see(struct peal_buffer *b, int viewer, uint64_t *out)
{
	int r = 0;

	if (!b->seen[viewer]) {
		r = peali_buffer_view_take(b->rt->peers, viewer, b->owner,
					   b->address, &b->seen[viewer]);
		b->n_peers += !r;
	}
	*out = b->seen[viewer];
	return r;
}

int peal_buffer_address(struct peal_range range, int viewer,
			uint64_t *address_out)
{
	const char *call = "peal_buffer_address";
	struct peal_buffer *b = range.buffer;
	const struct peali_device *d;
	uint64_t address = 0;
	int r = check_range(range, call);

	if (!r && !address_out)
		r = peali_refuse_null(call, "address_out");
	if (!r)
		r = peali_devices_check_place(&b->rt->devices, viewer, call);
	if (r < 0)
		return r;
	if (viewer == b->owner) {
		address = b->address;
	} else if (viewer == PEALI_HOST) {
		return peali_fail(PEAL_EFAULT, call,
				  "the host has no pointer to memory of "
				  "device %d; use peal_buffer_read, or a "
				  "pinned buffer",
				  b->owner);
	} else if (b->owner == PEALI_HOST) {
		d = &b->rt->devices.device[viewer];
		address = d->backend->ops->host_view(d->backend, b->address);
	} else {
		pthread_mutex_lock(&b->rt->buffers->lock);
		r = see(b, viewer, &address);
		pthread_mutex_unlock(&b->rt->buffers->lock);
	}
	if (!r)
		*address_out = address + range.offset;
	return r;
}

/* ---- content ------------------------------------------------------------- */

/* Copies from memory of the caller to a range if `write`, else back. */
static int move(struct peal_range range, void *memory, int write,
		const char *call)
{
	const struct peali_copy_params order = { .call = call };
	struct peali_copy_op move = {
		{ PEALI_HOST, (uint64_t)(uintptr_t)memory },
		{ PEALI_HOST, (uint64_t)(uintptr_t)memory },
		range.bytes
	};
	struct peal_runtime *rt;
	int r = peali_range_place(range, call, &rt,
				  write ? &move.to : &move.from);

	if (!r && !memory)
		r = peali_refuse_null(call, write ? "from" : "to");
	return r < 0 ? r : peali_copy_sync(rt->peers, &move, 1, &order, NULL);
}

int peal_buffer_write(struct peal_range to, const void *from)
{
	return move(to, (void *)(uintptr_t)from, 1, "peal_buffer_write");
}

int peal_buffer_read(struct peal_range from, void *to)
{
	return move(from, to, 0, "peal_buffer_read");
}

static int fill(struct peal_range to, const void *pattern, uint64_t n)
{
	uint64_t block = FILL_BYTES / n * n, at, bytes;
	struct peal_range part = to;
	uint8_t *copies;
	int r = 0;

	if (block > to.bytes)
		block = to.bytes;
	copies = calloc(1, block);
	if (!copies)
		return peali_fail(PEAL_ENOMEM, "peal_buffer_fill",
				  "no host memory for %llu bytes of the "
				  "pattern",
				  (unsigned long long)block);
	for (at = 0; pattern && at < block; at += n)
		memcpy(copies + at, pattern, n);
	for (at = 0; !r && at < to.bytes; at += bytes) {
		bytes = to.bytes - at < block ? to.bytes - at : block;
		part.offset = to.offset + at;
		part.bytes = bytes;
		r = peal_buffer_write(part, copies);
	}
	free(copies);
	return r;
}

int peal_buffer_fill(struct peal_range to, const void *pattern,
		     uint32_t pattern_bytes)
{
	const char *call = "peal_buffer_fill";
	int r = check_range(to, call);

	if (r < 0)
		return r;
	if (!pattern_bytes || pattern_bytes > PATTERN_BYTES_MAX)
		return peali_refuse_range(call, "argument", "pattern_bytes",
					  pattern_bytes, 1, PATTERN_BYTES_MAX);
	if (to.bytes % pattern_bytes)
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "range",
			.problem = "is no multiple of the pattern",
			.value = PEALI_PRINT("%llu bytes",
					     (unsigned long long)to.bytes),
			.allowed =
				PEALI_PRINT("multiples of %u", pattern_bytes),
			.remedy = PEALI_PRINT(
				"use %llu bytes",
				(unsigned long long)(to.bytes / pattern_bytes *
						     pattern_bytes)));
	return fill(to, pattern, pattern_bytes);
}
