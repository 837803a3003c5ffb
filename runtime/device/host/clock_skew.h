/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_CLOCK_SKEW_H
#define PEALI_HOST_CLOCK_SKEW_H

#include "runtime/host_support/host_clock.h"

/*
 * The clocks of emulated devices. By default they are the host's clock.
 * PEAL_HOST_CLOCKS makes a clock ahead or behind, and faster or slower:
 *
 *	entry [, entry ...]
 *	entry = device : seconds [ : ppm ]	0:7200:50 or 1:-86400
 *
 * So tests without a GPU find code that compares the clock of a device to the
 * host's clock without conversion.
 */

/*
 * Parses the clock of `device`. A device without an entry has the host's clock.
 * PEAL_EINVAL: any part of the text is wrong, also a part for another device.
 * The error text names the part.
 */
int peali_clock_skew_parse(const char *text, int n_devices, int device,
			   struct peali_clock_skew *out);

#endif
