/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_LINKS_H
#define PEALI_HOST_LINKS_H

#include <stdint.h>

/*
 * The topology of the emulated devices, read from a text:
 *
 *	text	entry, entry, ...	blanks around an entry do not count
 *	entry	ends ":" kind fault
 *	ends	A "-" B		both directions
 *		A ">" B		A's access to the memory of B
 *		"*"		every direction that no other entry names
 *	kind	"nvlink" | "pcie" | "none"
 *	fault	"" | "!lost" | "!swapped"
 *
 * A direction that nothing names is nvlink. The faults are lies of a machine
 * that says it has peer access: the probe has to find them.
 */

enum peali_link_kind {
	PEALI_LINK_NVLINK, /* access, and atomics across */
	PEALI_LINK_PCIE, /* access; atomics do not work across */
	PEALI_LINK_NONE, /* no access */
	PEALI_LINK_KINDS
};

enum peali_link_fault {
	PEALI_LINK_SOUND,
	PEALI_LINK_LOST, /* what is written never reaches the owner */
	PEALI_LINK_SWAPPED, /* every access lands in a neighbouring page */
	PEALI_LINK_FAULTS
};

/** What one device's access to another one's memory is like. */
struct peali_link_pair {
	uint8_t kind, fault;
};

/*
 * Reads a text into pairs[from * n_devices + to]. PEAL_EINVAL: the recorded
 * text names the column, the part that is wrong and what is allowed.
 */
int peali_links_parse(const char *text, int n_devices,
		      struct peali_link_pair *pairs);

/* "nvlink", ...; static. */
const char *peali_link_kind_name(int kind);

#endif
