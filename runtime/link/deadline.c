/* SPDX-License-Identifier: Apache-2.0 */
/* Sends messages of the host with a deadline. */
#include <peal/deadline.h>

#include <peal/device/clock.h>
#include "runtime/base/error.h"
#include "runtime/base/wait.h"
#include "runtime/link/endpoint.h"
#include "runtime/runtime.h"

#define CALL "peal_send_before"

uint64_t peal_deadline_from_now(int64_t lifetime_ns)
{
	return peali_deadline_at(peali_now_ns(), lifetime_ns);
}

int peal_send_before(struct peal_endpoint *e, uint32_t port, uint64_t to,
		     uint64_t deadline, uint16_t type, const void *data,
		     uint64_t bytes, int64_t timeout_ns)
{
	const struct peali_cover cover = { to, deadline, 0, type };

	if (!data && bytes)
		return peali_fail(PEAL_EINVAL, CALL, "data is NULL");
	return peali_endpoint_send(e, port, &cover, data, bytes, timeout_ns,
				   CALL);
}
