/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for reports of several kernels. See collect_reports.h. */
#include "runtime/base/collect_reports.h"

#include <peal/device/impl/base/host_support.h>
#include <peal/errors.h>

#define LOOK_NS 20000000LL /* ns between two checks for ended kernels */

int peali_reports_collect(const struct peali_reports *r, int64_t timeout_ns,
			  uint64_t began)
{
	int64_t left = timeout_ns;
	int result, ended;

	while (*r->missing) {
		result = r->take(r->of,
				 left < 0 || left > LOOK_NS ? LOOK_NS : left);
		if (result) {
			ended = r->ended(r->of);
			if (ended || result != PEAL_EAGAIN)
				return ended ? ended : result;
		}
		if (timeout_ns < 0)
			continue;
		left = timeout_ns - (int64_t)(peal_clock_ns() - began);
		if (left > 0)
			continue;
		left = 0;
		if (result)
			return r->late(r->of, timeout_ns);
	}
	return 0;
}
