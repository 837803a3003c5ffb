/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/host/links.h"

#include <string.h>

#include "runtime/base/text.h"
#include "runtime/device/host/host.h"

/* The parser of PEAL_HOST_LINKS, see links.h. */

#define UNSET PEALI_LINK_KINDS

static const char *const kinds[PEALI_LINK_KINDS] = { "nvlink", "pcie", "none" };
static const char *const faults[PEALI_LINK_FAULTS] = { "", "lost", "swapped",
						       "torn" };

/* State of the parser. `mark` is the start of the part that is parsed now. */
struct reader {
	const char *text, *at, *mark;
	int n_devices;
	struct peali_link_pair *pairs;
	struct peali_link_pair rest; /* of "*" */
};

/* One parsed entry. */
struct entry {
	const char *start;
	int a, b, both, rest;
	struct peali_link_pair pair;
};

const char *peali_link_kind_name(int kind)
{
	return kinds[kind];
}

/* Reports a wrong part of `length` bytes at `mark`. */
static int refuse_part(const struct reader *r, size_t length,
		       const char *allowed)
{
	if (!length && *r->mark)
		length = 1;
	return peali_host_refuse("PEAL_HOST_LINKS", r->text, r->mark, length,
				 allowed, "0-1:nvlink,*:pcie");
}

/* Reports the wrong word at `mark`. */
static int refuse(const struct reader *r, const char *allowed)
{
	return refuse_part(r, strcspn(r->mark, ",:!-> \t"), allowed);
}

static void skip_blanks(struct reader *r)
{
	while (*r->at == ' ' || *r->at == '\t')
		r->at++;
}

static int read_device(struct reader *r, int *out)
{
	int value = 0;

	r->mark = r->at;
	for (; *r->at >= '0' && *r->at <= '9'; r->at++)
		if (value < 1000000)
			value = value * 10 + (*r->at - '0');
	if (r->at == r->mark)
		return refuse(r, PEALI_PRINT("device 0..%d", r->n_devices - 1));
	if (value >= r->n_devices)
		return refuse(r, PEALI_PRINT("device 0..%d", r->n_devices - 1));
	*out = value;
	return 0;
}

/* Reads one of `names`, a word of lower-case letters. */
static int read_name(struct reader *r, const char *const *names, int n,
		     const char *allowed, uint8_t *out)
{
	size_t length = 0;
	int i;

	r->mark = r->at;
	while (r->at[length] >= 'a' && r->at[length] <= 'z')
		length++;
	for (i = 0; i < n; i++) {
		if (length && strlen(names[i]) == length &&
		    !memcmp(names[i], r->at, length)) {
			r->at += length;
			*out = (uint8_t)i;
			return 0;
		}
	}
	return refuse(r, allowed);
}

static int read_ends(struct reader *r, struct entry *e)
{
	int result;

	if (*r->at == '*') {
		e->rest = 1;
		r->at++;
		return 0;
	}
	result = read_device(r, &e->a);
	if (result < 0)
		return result;
	r->mark = r->at;
	if (*r->at != '-' && *r->at != '>')
		return refuse(r, "- or > between two devices");
	e->both = *r->at++ == '-';
	result = read_device(r, &e->b);
	if (result < 0)
		return result;
	if (e->a == e->b)
		return refuse(r, "another device");
	return 0;
}

static int read_entry(struct reader *r, struct entry *e)
{
	int result;

	memset(e, 0, sizeof(*e));
	e->start = r->at;
	result = read_ends(r, e);
	if (result < 0)
		return result;
	r->mark = r->at;
	if (*r->at++ != ':')
		return refuse(r, ": and a kind");
	result = read_name(r, kinds, PEALI_LINK_KINDS, "nvlink, pcie or none",
			   &e->pair.kind);
	if (result < 0)
		return result;
	if (*r->at == '!') {
		r->at++;
		result = read_name(r, faults, PEALI_LINK_FAULTS,
				   "lost, swapped or torn", &e->pair.fault);
		if (result < 0)
			return result;
		if (e->pair.kind == PEALI_LINK_NONE)
			return refuse(r, "no faults of kind none");
	}
	skip_blanks(r);
	r->mark = r->at;
	if (*r->at && *r->at != ',')
		return refuse(r, ", or the end");
	return 0;
}

/* Sets a direction. A text may name each direction only once. */
static int set(struct reader *r, const struct entry *e,
	       struct peali_link_pair *pair)
{
	if (pair->kind != UNSET) {
		r->mark = e->start;
		return refuse_part(r, strcspn(e->start, ":"), "each link once");
	}
	*pair = e->pair;
	return 0;
}

static int apply(struct reader *r, const struct entry *e)
{
	int result;

	if (e->rest)
		return set(r, e, &r->rest);
	result = set(r, e, &r->pairs[e->a * r->n_devices + e->b]);
	if (result < 0 || !e->both)
		return result;
	return set(r, e, &r->pairs[e->b * r->n_devices + e->a]);
}

int peali_links_parse(const char *text, int n_devices,
		      struct peali_link_pair *pairs)
{
	struct reader r = { .text = text, .at = text, .n_devices = n_devices };
	struct entry e;
	int i, result;

	r.pairs = pairs;
	r.rest.kind = UNSET;
	for (i = 0; i < n_devices * n_devices; i++)
		pairs[i] = r.rest;
	skip_blanks(&r);
	while (*r.at) {
		result = read_entry(&r, &e);
		if (result >= 0)
			result = apply(&r, &e);
		if (result < 0)
			return result;
		if (*r.at != ',')
			break;
		r.at++;
		skip_blanks(&r);
		r.mark = r.at;
		if (!*r.at)
			return refuse(&r, "an entry behind the ,");
	}
	if (r.rest.kind == UNSET)
		r.rest.kind = PEALI_LINK_NVLINK;
	for (i = 0; i < n_devices * n_devices; i++)
		if (pairs[i].kind == UNSET)
			pairs[i] = r.rest;
	return 0;
}
