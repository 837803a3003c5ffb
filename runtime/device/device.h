/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_DEVICE_H
#define PEALI_DEVICE_H

#include "runtime/device/backend.h"

/*
 * Descriptions of devices. Facts are for the peal command only: they depend on
 * the drivers and change.
 */

#define PEALI_FACTS_MAX 16

struct peal_runtime;
struct peal_device_info;

/**
 * Gets the info of a device from its backend. Thread-safe.
 *
 * @param device a valid index of the runtime.
 * @return 0 or the backend's error.
 */
int peali_device_describe(struct peal_runtime *rt, int device,
			  struct peal_device_info *out);

/**
 * Gets the facts of a device. Thread-safe.
 *
 * @param device index of the device in the runtime.
 * @param most   capacity of out; PEALI_FACTS_MAX is enough for all facts.
 * @return number of facts in out, or PEAL_ENODEV.
 */
int peali_driver_facts(struct peal_runtime *rt, int device,
		       struct peali_fact *out, int most);

#endif
