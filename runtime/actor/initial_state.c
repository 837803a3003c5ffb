/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the initial states of supervised actors, for their restarts. */
#include "runtime/actor/initial_state.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/actor/supervisor.h"
#include "runtime/base/error.h"
#include "runtime/device/memory_block.h"
#include "runtime/kernel/kernel.h"
#include "runtime/runtime.h"

/* Returns the bytes from one initial state to the next. 0: all actors start
 * alike. */
static uint64_t inits_step(const struct peal_actor_options *o, uint32_t n)
{
	return n > 1 && o->init_stride ? (o->init_bytes + 15) / 16 * 16 : 0;
}

static int write_inits(struct peal_kernel *k, struct peali_inits *inits,
		       const struct peal_actor_options *o, uint32_t n,
		       const char *call)
{
	uint64_t bytes = inits->step ? n * inits->step :
				       (o->init_bytes + 15) / 16 * 16;
	uint8_t *image = calloc(1, bytes);
	uint32_t i;
	int result;

	if (!image)
		return peali_fail(PEAL_ENOMEM, call,
				  "no memory for the initial state of %u "
				  "actors",
				  n);
	for (i = 0; i < (inits->step ? n : 1); i++)
		memcpy(image + i * inits->step,
		       (const uint8_t *)o->init + i * o->init_stride,
		       o->init_bytes);
	result = peali_block_alloc(k->rt, k->device, bytes, &inits->block);
	if (!result)
		result = peali_block_write(k->rt, &inits->block, 0, image,
					   bytes);
	free(image);
	return result;
}

int peali_inits_make(struct peal_kernel *k, const struct peal_actor_options *o,
		     uint32_t n, struct peali_inits **inits_out,
		     const char *call)
{
	struct peali_inits *inits;
	int result;

	*inits_out = NULL;
	if (!o->init_bytes)
		return 0;
	inits = calloc(1, sizeof(*inits));
	if (!inits)
		return peali_fail(PEAL_ENOMEM, call,
				  "no memory for the initial state of %u "
				  "actors",
				  n);
	inits->bytes = o->init_bytes;
	inits->step = inits_step(o, n);
	result = write_inits(k, inits, o, n, call);
	inits->next = k->supervision.inits;
	k->supervision.inits = inits;
	if (result)
		peali_inits_free(k, inits);
	else
		*inits_out = inits;
	return result;
}

int peali_inits_carry(const struct peal_kernel *from, uint32_t index,
		      struct peal_kernel *k, struct peali_inits **inits_out,
		      const char *call)
{
	const struct peali_supervised *supervised =
		&from->supervision.actors[index];
	struct peal_actor_options o = { .size = sizeof(o) };
	void *image;
	int result;

	*inits_out = NULL;
	if (!supervised->inits)
		return 0;
	image = malloc(supervised->inits->bytes);
	if (!image)
		return peali_fail(PEAL_ENOMEM, call,
				  "no memory for the initial state of an "
				  "actor");
	result = peali_block_read(k->rt, &supervised->inits->block,
				  supervised->init_offset, image,
				  supervised->inits->bytes);
	o.init = image;
	o.init_bytes = supervised->inits->bytes;
	if (!result)
		result = peali_inits_make(k, &o, 1, inits_out, call);
	free(image);
	return result;
}

void peali_inits_free(struct peal_kernel *k, struct peali_inits *inits)
{
	struct peali_inits **p = &k->supervision.inits;

	if (inits->actors)
		return;
	while (*p != inits)
		p = &(*p)->next;
	*p = inits->next;
	peali_block_free(k->rt, &inits->block);
	free(inits);
}
