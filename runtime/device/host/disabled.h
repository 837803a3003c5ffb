/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_DISABLED_H
#define PEALI_HOST_DISABLED_H

#include <stdint.h>

/*
 * Missing capabilities of emulated devices, from PEAL_HOST_DISABLE:
 *
 *	entry [, entry ...]
 *	entry = device : name [ + name ... ]
 *	examples: 0:unified+atomics or 1:cooperative
 *
 * Without unified, a device sees no unified buffers. Without atomics, it has no
 * atomics on memory of other devices. Without cooperative, its kernels have one
 * worker. PEAL_HOST_LINKS determines peer access.
 */

/*
 * Parses the capabilities that `device` lacks, bits of enum
 * peal_device_capability. PEAL_EINVAL: any part of the text is wrong, also a
 * part for another device. The error text names the part.
 */
int peali_disabled_parse(const char *text, int n_devices, int device,
			 uint32_t *out);

#endif
