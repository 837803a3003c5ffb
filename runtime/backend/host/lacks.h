/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_LACKS_H
#define PEALI_HOST_LACKS_H

#include <stdint.h>

/*
 * What emulated devices cannot do, by PEAL_HOST_LACKS:
 *
 *	entry [, entry ...]
 *	entry = device : name [ + name ... ]	0:unified+atomics or 1:cooperative
 *
 * Without unified a device is refused views of unified buffers, without atomics
 * it has none on memory of others, without cooperative its kernels have one
 * worker. Peer access is a matter of PEAL_HOST_LINKS.
 */

/*
 * What a text takes away from a device: enum peal_device_capability, by bits.
 * PEAL_EINVAL with the part that is wrong, also where that is of another device.
 */
int peali_lacks_parse(const char *text, int n_devices, int device,
		      uint32_t *out);

#endif
