/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/host/disabled.h"

#include <string.h>

#include <peal/device.h>
#include "runtime/base/text.h"
#include "runtime/device/host/host.h"

static const enum peal_device_capability removable[] = { PEAL_CAN_UNIFIED,
							 PEAL_CAN_ATOMICS,
							 PEAL_CAN_COOPERATIVE };

static int refuse(const char *text, const char *at, const char *allowed)
{
	return peali_host_refuse("PEAL_HOST_DISABLE", text, at,
				 strcspn(at, ",+"), allowed,
				 "0:unified+atomics");
}

/* Returns the bit of the name at *at and skips the name; 0: no such name. */
static uint32_t read_name(const char **at)
{
	size_t n = strcspn(*at, ",+"), i;
	const char *name;

	for (i = 0; i < sizeof(removable) / sizeof(removable[0]); i++) {
		name = peal_device_capability_name(removable[i]);
		if (strlen(name) != n || strncmp(*at, name, n) != 0)
			continue;
		*at += n;
		return removable[i];
	}
	return 0;
}

int peali_disabled_parse(const char *text, int n_devices, int device,
			 uint32_t *out)
{
	const char *at = text, *begin;
	uint32_t bit, set = 0;
	int number;

	while (*at) {
		begin = at;
		for (number = 0; *at >= '0' && *at <= '9'; at++)
			if (number < n_devices)
				number = 10 * number + (*at - '0');
		if (at == begin || number >= n_devices || *at != ':')
			return refuse(text, begin,
				      PEALI_PRINT("device 0..%d and a colon",
						  n_devices - 1));
		do {
			at++;
			bit = read_name(&at);
			if (!bit)
				return refuse(
					text, at,
					"unified, atomics or cooperative");
			if (number == device)
				set |= bit;
		} while (*at == '+');
		if (*at == ',' && !at[1])
			return refuse(text, at, "an entry behind the comma");
		at += *at == ',';
	}
	*out = set;
	return 0;
}
