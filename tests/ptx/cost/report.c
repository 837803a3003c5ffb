/* SPDX-License-Identifier: Apache-2.0 */
#include "cost.h"

#include <stdio.h>

void cost_print(const struct cost_row *row, const char *target)
{
	static const char *separator = "";

	printf("%s{\"path\": \"%s\", \"by\": \"%s\", \"message_bytes\": %u, "
	       "\"batch\": %u, \"lanes\": %u, \"target\": \"%s\", ",
	       separator, row->path, row->by, row->bytes, row->batch,
	       row->lanes, target);
	ptx_counts_print(&row->counts, row->messages, stdout);
	printf("}");
	separator = ",\n";
}
