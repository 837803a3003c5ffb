/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_FACTS_H
#define PEALI_FACTS_H

#include "runtime/backend/backend.h"

/*
 * What the command shows of a device beyond struct peal_device_info. Not
 * public: which facts there are is the drivers' matter and changes.
 */

#define PEALI_FACTS_MAX 16

struct peal_runtime;

/**
 * Facts of a device, by the runtime's number.
 *
 * @param most room in out; PEALI_FACTS_MAX is enough for all.
 * @return how many there are in out; PEAL_ENODEV. Thread-safe.
 */
int peali_device_facts(struct peal_runtime *rt, int device,
		       struct peali_fact *out, int most);

#endif
