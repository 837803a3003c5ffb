/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_WORK_SET_MEMORY_H
#define TEST_WORK_SET_MEMORY_H

/* The memory of a set of work queues, one queue per worker. */

#include <peal/device/work_set.h>

#include "link_pair.h"
#include "queues/work.h"

/* Completes the spec of the queues for messages of 14 bytes, and makes the
 * set. The queues in it have no header yet. */
static inline struct peal_work_set *work_set_make(struct peali_work_spec *spec,
						  uint32_t workers)
{
	struct peal_work_set *set;

	CHECK_OK(peali_work_spec_complete(spec, 14, PEAL_POLICY_SEQUENCE,
					  "test"));
	set = (struct peal_work_set *)link_memory(
		peali_work_set_bytes(spec, workers));
	peali_work_set_header(set, spec, workers);
	return set;
}

#endif
