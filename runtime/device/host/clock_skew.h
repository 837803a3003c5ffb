/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_CLOCK_SKEW_H
#define PEALI_HOST_CLOCK_SKEW_H

#include <stdint.h>

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

/** Difference of a clock to the host's clock. */
struct peali_host_clock {
	int64_t ahead_ns;
	int32_t ppm; /* millionths by which it is faster, -500 .. 500 */
};

/*
 * Parses the clock of `device`. A device without an entry has the host's clock.
 * PEAL_EINVAL: any part of the text is wrong, also a part for another device.
 * The error text names the part.
 */
int peali_clocks_parse(const char *text, int n_devices, int device,
		       struct peali_host_clock *out);

/* Makes peal_host_clock_ns of the calling thread return the given clock. */
void peali_clock_shift(struct peali_host_clock clock);

#endif
