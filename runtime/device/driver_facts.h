/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_DRIVER_FACTS_H
#define PEALI_DRIVER_FACTS_H

#include "runtime/device/backend.h"

/*
 * Facts of a device that the peal command shows, beyond struct
 * peal_device_info. They are not public: they depend on the drivers and change.
 */

#define PEALI_FACTS_MAX 16

struct peal_runtime;

/**
 * Gets the facts of a device. Thread-safe.
 *
 * @param device index of the device in the runtime.
 * @param most   capacity of out; PEALI_FACTS_MAX is enough for all facts.
 * @return number of facts in out, or PEAL_ENODEV.
 */
int peali_device_facts(struct peal_runtime *rt, int device,
		       struct peali_fact *out, int most);

#endif
