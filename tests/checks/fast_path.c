/* SPDX-License-Identifier: Apache-2.0 */
/* The fast path of a link, one kernel each, for check_opcodes to look at. */
#include <peal/device/kernel.h>

PEAL_KERNEL void fast_push(struct peal_link_producer *p, const void *data,
			   uint64_t bytes, int *out)
{
	struct peal_header header = { 1, 2, 0 };

	*out = peal_link_push(p, header, data, bytes);
}

PEAL_KERNEL void fast_peek(struct peal_link_consumer *c, struct peal_message *m,
			   int *out)
{
	*out = peal_link_peek(c, m);
}

PEAL_KERNEL void fast_release(struct peal_link_consumer *c,
			      const struct peal_message *m)
{
	peal_link_release(c, m);
}
