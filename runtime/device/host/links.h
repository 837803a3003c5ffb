/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_LINKS_H
#define PEALI_HOST_LINKS_H

#include <stdint.h>

/*
 * The topology of the emulated devices, parsed from PEAL_HOST_LINKS:
 *
 *	text	entry, entry, ...	blanks around an entry are ignored
 *	entry	ends ":" kind fault
 *	ends	A "-" B		both directions
 *		A ">" B		A's access to the memory of B
 *		"*"		every direction without an entry of its own
 *	kind	"nvlink" | "pcie" | "none"
 *	fault	"" | "!lost" | "!swapped" | "!torn"
 *
 * The default of a direction is nvlink. A fault emulates a machine that reports
 * peer access which does not work. The probe has to find such faults.
 */

enum peali_link_kind {
	PEALI_LINK_NVLINK, /* access, and atomics across */
	PEALI_LINK_PCIE, /* access; atomics do not work across */
	PEALI_LINK_NONE, /* no access */
	PEALI_LINK_KINDS
};

enum peali_link_fault {
	PEALI_LINK_SOUND,
	PEALI_LINK_LOST, /* writes never reach the owner */
	PEALI_LINK_SWAPPED, /* every access lands in a neighbouring page */
	PEALI_LINK_TORN, /* the probe's stores of 16 bytes arrive in two parts */
	PEALI_LINK_FAULTS
};

/** Access of one device to the memory of another device. */
struct peali_link_pair {
	uint8_t kind, fault;
};

/*
 * Parses a text into pairs[from * n_devices + to]. Returns 0, or PEAL_EINVAL.
 * The error text names the column, the wrong part and the allowed values.
 */
int peali_links_parse(const char *text, int n_devices,
		      struct peali_link_pair *pairs);

/* Returns a kind's name, such as "nvlink"; static. */
const char *peali_link_kind_name(int kind);

#endif
