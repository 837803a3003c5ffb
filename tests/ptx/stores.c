/* SPDX-License-Identifier: Apache-2.0 */
#include "weak.h"

#include <string.h>

/* A list of late stores. Stores that have a byte in common keep their order, so
 * that each location is coherent. A release keeps its order, too. Later stores
 * may pass it. */

static int overlaps(const struct ptx_store *store, uint64_t at, uint32_t bytes)
{
	return store->at < at + bytes && at < store->at + store->bytes;
}

/* Returns the first store that must go before store i, or i. A release goes after
 * all earlier stores. */
static uint32_t first_before(const struct ptx_late *late, uint32_t i)
{
	const struct ptx_store *stores = late->stores;
	uint32_t k = 0;

	while (k < i) {
		if (stores[i].scope ||
		    overlaps(&stores[k], stores[i].at, stores[i].bytes)) {
			i = k;
			k = 0;
		} else {
			k++;
		}
	}
	return i;
}

int ptx_stores_take(struct ptx_late *late, uint32_t i, struct ptx_store *store)
{
	i = first_before(late, i);
	*store = late->stores[i];
	late->n--;
	memmove(&late->stores[i], &late->stores[i + 1],
		(late->n - i) * sizeof(*store));
	return i > 0;
}

int ptx_stores_find(const struct ptx_late *late, uint64_t at, uint32_t bytes)
{
	int i = (int)late->n - 1;

	while (i >= 0 && !overlaps(&late->stores[i], at, bytes))
		i--;
	return i;
}

int ptx_stores_read(const struct ptx_late *late, uint64_t at, uint32_t bytes,
		    uint8_t *data)
{
	int i = ptx_stores_find(late, at, bytes);
	const struct ptx_store *store = &late->stores[i < 0 ? 0 : i];

	if (i < 0 || store->at > at || at + bytes > store->at + store->bytes)
		return 0;
	memcpy(data, store->data + (at - store->at), bytes);
	return 1;
}

void ptx_stores_cover(const struct ptx_late *late, struct ptx_sector *sector)
{
	const struct ptx_store *stores = late->stores;
	uint32_t i;

	for (i = 0; i < late->n; i++)
		if (stores[i].at / PTX_SECTOR == sector->tag)
			memcpy(sector->data + stores[i].at % PTX_SECTOR,
			       stores[i].data, stores[i].bytes);
}
