/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_CLOCKS_H
#define PEALI_HOST_CLOCKS_H

#include <stdint.h>

/*
 * The clocks of emulated devices, which are the host's or, by PEAL_HOST_CLOCKS,
 * ahead of it and faster or slower:
 *
 *	entry [, entry ...]
 *	entry = device : seconds [ : ppm ]	0:7200:50 or 1:-86400
 *
 * So what compares a device's clock with the host's without converting it is
 * found out without a GPU.
 */

/** How a clock differs from the host's. */
struct peali_host_clock {
	int64_t ahead_ns;
	int32_t ppm; /* so much faster, in millionths; -500 to 500 */
};

/*
 * What a text says of a device; nothing: it is the host's. PEAL_EINVAL with the
 * part that is wrong, also where that is of another device.
 */
int peali_clocks_parse(const char *text, int n_devices, int device,
		       struct peali_host_clock *out);

/* From here on peal_host_clock_ns of the calling thread is that clock. */
void peali_clock_shift(struct peali_host_clock clock);

#endif
