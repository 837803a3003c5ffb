/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "c11_model/engine.h"

/* The sites of operations in the source, and the entry of each operation. */

const char *model_site_file(const struct model_site *site)
{
	const char *slash = strrchr(site->file, '/');

	return slash ? slash + 1 : site->file;
}

static int compare(const struct model_site *a, const struct model_site *b)
{
	int result = strcmp(model_site_file(a), model_site_file(b));

	if (!result)
		result = (a->line > b->line) - (a->line < b->line);
	return result ? result : strcmp(a->what, b->what);
}

void site_weaken(struct model_site *site)
{
	const struct model_weak *w = engine.search->weak;
	const char *const *name = engine.instance->relaxed;
	uint32_t i;

	site->weak = 0;
	for (i = 0; i < engine.search->n_weak; i++)
		if (!compare(w[i].site, site))
			site->weak |= w[i].order;
	for (; name && *name; name++)
		if (!strcmp(*name, site->function))
			site->weak = MODEL_ACQREL;
}

/* Several sources include a header: equal sites share one list entry. */
static void site_enter(struct model_site *site)
{
	struct model_site **at = &engine.sites;

	while (*at && compare(*at, site) < 0)
		at = &(*at)->next;
	if (*at && !compare(*at, site)) {
		site->same = *at;
		return;
	}
	site->same = site;
	site->next = *at;
	*at = site;
	site_weaken(site);
}

struct model_site *model_sites(void)
{
	return engine.sites;
}

static struct model_value operate(enum request_kind kind,
				  struct model_site *site, const void *p,
				  uint32_t bytes, struct model_value v)
{
	struct request *q = &engine.running->request;

	if (!site->same)
		site_enter(site);
	site = site->same;
	site->instances[engine.search->number / 64] |=
		1ULL << engine.search->number % 64;
	q->location = p ? location_of(p, bytes) : 0;
	q->kind = kind;
	q->site = site;
	q->order = site->order & ~site->weak;
	q->value = v;
	if (kind == REQUEST_LOAD || kind == REQUEST_ADD || engine.search->naive)
		await_turn();
	return perform();
}

struct model_value model_load(struct model_site *site, const void *p,
			      uint32_t bytes)
{
	struct model_value v = { { 0, 0 } };

	if (engine.running)
		return operate(REQUEST_LOAD, site, p, bytes, v);
	memcpy(&v, p, bytes);
	return v;
}

void model_store(struct model_site *site, void *p, uint32_t bytes,
		 struct model_value v)
{
	if (engine.running)
		operate(REQUEST_STORE, site, p, bytes, v);
	else
		memcpy(p, &v, bytes);
}

uint64_t model_add(struct model_site *site, void *p, uint32_t bytes, uint64_t n)
{
	struct model_value v = { { n, 0 } };
	uint64_t old = 0;

	if (engine.running)
		return operate(REQUEST_ADD, site, p, bytes, v).word[0];
	memcpy(&old, p, bytes);
	n += old;
	memcpy(p, &n, bytes);
	return old;
}

void model_fence(struct model_site *site)
{
	struct model_value v = { { 0, 0 } };

	if (engine.running)
		operate(REQUEST_FENCE, site, NULL, 0, v);
}
