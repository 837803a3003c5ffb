/* SPDX-License-Identifier: Apache-2.0 */
/* Placed queues: allocates queues in memory that handlers share. */
#include <peal/device_queue.h>

#include <stdio.h>
#include <string.h>

#include <peal/abi/device_queue.h>
#include "p2p/peer.h"
#include "queues/queue_select.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/backend.h"
#include "runtime/device/devices.h"
#include "runtime/runtime.h"

#define CALL "peal_device_queue_create"

/*
 * Returns the publication policies that all possible ends of a queue support.
 */
static uint32_t policies_at(const struct peali_devices *devices, int device)
{
	uint32_t policies = peali_devices_policies(devices, device);
	int i;

	for (i = 0; device == PEALI_HOST && i < devices->n; i++)
		policies &= peali_devices_policies(devices, i);
	return policies;
}

static int plan_at(const struct peali_devices *devices, int device,
		   const struct peal_queue_options *options,
		   struct peali_queue_plan *plan)
{
	struct peali_backend *b =
		devices->device[device == PEALI_HOST ? 0 : device].backend;
	int result;

	plan->policies = policies_at(devices, device);
	plan->default_policy = (uint32_t)b->ops->default_policy(b);
	plan->user = device == PEALI_HOST ? "one of the devices" : "the device";
	result = peali_queue_select(plan, options, 0, CALL);
	if (result)
		return result;
	/* the other kinds have atomic words for the workers of one device */
	if (device == PEALI_HOST && plan->options.kind != PEAL_QUEUE_LINK)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "option", .name = "kind",
			.problem = "does not fit host memory",
			.value = peal_queue_kind_name(plan->options.kind),
			.allowed = "link", .remedy = "name a device");
	return 0;
}

/* Writes both headers of a placed queue. Returns their length in bytes. */
static uint64_t write_headers(const struct peali_queue_plan *plan, uint8_t *out)
{
	struct peal_device_queue_header placed;

	memset(&placed, 0, sizeof(placed));
	placed.magic = PEAL_DEVICE_QUEUE_MAGIC;
	placed.stages_offset = sizeof(placed) + plan->stages;
	placed.stage_bytes = plan->stage;
	placed.credit_offset = sizeof(placed) + plan->credit;
	placed.message_bytes = (uint32_t)plan->options.message_bytes;
	placed.consumers = plan->options.max_consumers;
	memcpy(out, &placed, sizeof(placed));
	return sizeof(placed) + peali_queue_header(plan, out + sizeof(placed));
}

static int take_memory(struct peal_runtime *rt, int device,
		       const struct peali_queue_plan *plan, uint64_t bytes,
		       uint64_t *address)
{
	int result = peali_memory_alloc(rt->peers, device, bytes, address);
	struct peal_error_info failed;
	char where[32] = "in host memory";

	if (!result)
		return 0;
	failed = *peal_last_error();
	if (device != PEALI_HOST)
		snprintf(where, sizeof(where), "on device %d", device);
	return peali_fail(result, CALL, "%s of %u slots %s: %s",
			  peal_queue_kind_name(plan->options.kind),
			  plan->options.capacity, where,
			  PEALI_CUT(170, failed.text));
}

static int make(struct peal_runtime *rt, int device,
		const struct peali_queue_plan *plan,
		struct peal_device_queue *out)
{
	PEAL_ALIGNED(16)
	uint8_t headers[sizeof(struct peal_device_queue_header) +
			PEALI_QUEUE_HEADER_MAX];
	struct peali_place from = { PEALI_HOST, (uintptr_t)headers };
	struct peali_place to = { device, 0 };
	uint64_t bytes = sizeof(struct peal_device_queue_header) + plan->bytes;
	int result = take_memory(rt, device, plan, bytes, &to.address);

	if (result)
		return result;
	result = peali_copy_sync_one(rt->peers, to, from,
				     write_headers(plan, headers));
	if (result) {
		peali_memory_free(rt->peers, device, to.address);
		return result;
	}
	memset(out, 0, sizeof(*out));
	out->address = to.address;
	out->bytes = bytes;
	out->kind = plan->options.kind;
	out->policy = plan->options.policy;
	out->capacity = plan->options.capacity;
	out->max_producers = plan->options.max_producers;
	out->max_consumers = plan->options.max_consumers;
	out->bulk = plan->bulk;
	out->message_bytes = plan->options.message_bytes;
	return 0;
}

int peal_device_queue_create(struct peal_runtime *rt, int device,
			     const struct peal_queue_options *options,
			     struct peal_device_queue *queue_out)
{
	struct peali_queue_plan plan;
	int result;

	if (!rt || !queue_out)
		return peali_refuse_null(CALL, "runtime or queue_out");
	if (peali_foreign(&rt->owner, CALL))
		return PEAL_EFORKED;
	result = peali_devices_check_place(&rt->devices, device, CALL);
	if (!result)
		result = plan_at(&rt->devices, device, options, &plan);
	return result ? result : make(rt, device, &plan, queue_out);
}
