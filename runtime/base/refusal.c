/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/refusal.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/text.h"

/* A longer name or value leaves no space for the remedy in the 256 bytes of
 * struct peal_error_info. */
#define NAME_BYTES 48
#define VALUE_BYTES 40
#define SHORT_BYTES 16 /* of both, if the text is too long for the struct */
#define PART_BYTES 128

/* Returns the smallest power of two from n on, or the largest up to `most`. */
static uint64_t near_power_of_two(uint64_t n, uint64_t most)
{
	uint64_t power = 1;

	while (power < n && power <= most / 2)
		power *= 2;
	return power;
}

/* Returns the allowed number that is next to the refused one. */
static uint64_t nearest(const struct peali_refusal *r)
{
	uint64_t n = r->number, rest;

	if (n < r->least)
		n = r->least;
	if (n > r->most)
		n = r->most;
	if (r->power_of_two)
		return near_power_of_two(n, r->most);
	rest = r->multiple ? n % r->multiple : 0;
	if (!rest)
		return n;
	return r->multiple - rest > r->most - n ? n - rest :
						  n - rest + r->multiple;
}

/* Returns 1 if the number is no power of two, or no multiple, as is allowed. */
static int breaks_rule(const struct peali_refusal *r)
{
	if (r->power_of_two)
		return !r->number || (r->number & (r->number - 1));
	return r->multiple > 1 && (!r->number || r->number % r->multiple);
}

static const char *problem_of(const struct peali_refusal *r,
			      char out[PART_BYTES])
{
	if (r->problem)
		return r->problem;
	if (!breaks_rule(r))
		return "is out of range";
	if (r->power_of_two)
		return "must be a power of two";
	snprintf(out, PART_BYTES, "must be a multiple of %llu",
		 (unsigned long long)r->multiple);
	return out;
}

static const char *allowed_of(const struct peali_refusal *r,
			      char out[PART_BYTES])
{
	if (r->allowed)
		return r->allowed;
	if (r->least == r->most)
		snprintf(out, PART_BYTES, "%llu", (unsigned long long)r->most);
	else if (r->most == UINT64_MAX)
		snprintf(out, PART_BYTES, "%llu or more",
			 (unsigned long long)r->least);
	else
		snprintf(out, PART_BYTES, "%llu..%llu",
			 (unsigned long long)r->least,
			 (unsigned long long)r->most);
	return out;
}

/* Writes the text with a name and a value of at most so many bytes. */
static const char *compose(const struct peali_refusal *r, size_t name_bytes,
			   size_t value_bytes, char out[PEALI_REFUSAL_BYTES])
{
	char problem[PART_BYTES], allowed[PART_BYTES], number[24], use[32];
	char name[NAME_BYTES + 1], shown[VALUE_BYTES + 1];
	const char *value = r->value ? r->value : number;
	const char *quote = r->name ? "'" : "";

	snprintf(number, sizeof(number), "%llu", (unsigned long long)r->number);
	snprintf(use, sizeof(use), "use %llu", (unsigned long long)nearest(r));
	snprintf(out, PEALI_REFUSAL_BYTES,
		 "%s%s%s%s%s: %s (%s, allowed %s); %s", r->object,
		 r->name ? " " : "", quote,
		 r->name ? peali_text_cut(name, name_bytes + 1, r->name) : "",
		 quote, problem_of(r, problem),
		 *value ? peali_text_cut(shown, value_bytes + 1, value) : "''",
		 allowed_of(r, allowed), r->remedy ? r->remedy : use);
	return out;
}

const char *peali_refusal_text(const struct peali_refusal *r,
			       char out[PEALI_REFUSAL_BYTES])
{
	return compose(r, NAME_BYTES, VALUE_BYTES, out);
}

int peali_refuse(int code, const char *call,
		 const struct peali_refusal *refusal)
{
	char text[PEALI_REFUSAL_BYTES];

	peali_refusal_text(refusal, text);
	if (strlen(text) >= sizeof(((struct peal_error_info *)0)->text))
		compose(refusal, SHORT_BYTES, SHORT_BYTES, text);
	return peali_fail(code, call, "%s", text);
}

int peali_refuse_range(const char *call, const char *object, const char *name,
		       uint64_t value, uint64_t least, uint64_t most)
{
	return PEALI_REFUSE(PEAL_EINVAL, call, .object = object, .name = name,
			    .number = value, .least = least, .most = most);
}

int peali_refuse_option(const char *call, const char *name, uint64_t value,
			uint64_t least, uint64_t most)
{
	return peali_refuse_range(call, "option", name, value, least, most);
}

int peali_refuse_null(const char *call, const char *names)
{
	return PEALI_REFUSE(PEAL_EINVAL, call, .object = "argument",
			    .name = names, .problem = "is NULL",
			    .value = "NULL", .allowed = "an address",
			    .remedy = "pass an address");
}

int peali_refuse_address(const char *call, const char *name, uint64_t address,
			 const char *kind)
{
	return PEALI_REFUSE(
		PEAL_ENOENT, call, .object = "argument", .name = name,
		.problem = PEALI_PRINT("is the address of no %s", kind),
		.value = PEALI_PRINT("%#llx", (unsigned long long)address),
		.allowed = "an address of this runtime",
		.remedy = PEALI_PRINT("pass the address of an existing %s",
				      kind));
}

int peali_refuse_bits(const char *call, const char *object, const char *name,
		      uint32_t value, uint32_t known)
{
	return PEALI_REFUSE(PEAL_EINVAL, call, .object = object, .name = name,
			    .problem = "has unknown bits",
			    .value = PEALI_PRINT("0x%x", value),
			    .allowed = PEALI_PRINT("bits of 0x%x", known),
			    .remedy = PEALI_PRINT("use 0x%x", value & known));
}

int peali_refuse_buffer(const char *call, const char *object, const char *name,
			uint64_t bytes, uint64_t needed)
{
	return PEALI_REFUSE(PEAL_EMSGSIZE, call, .object = object, .name = name,
			    .problem = "has a message that is longer than the "
				       "buffer",
			    .number = bytes,
			    .allowed = PEALI_PRINT("%llu bytes or more",
						   (unsigned long long)needed),
			    .remedy = "pass a larger buffer");
}

int peali_refuse_name(const char *call, const char *name, size_t most)
{
	size_t bytes = name ? strlen(name) : 0;

	return PEALI_REFUSE(PEAL_EINVAL, call, .object = "name", .name = name,
			    .problem = !name ? "is NULL" :
				       bytes ? "is too long" :
					       "is empty",
			    .value = PEALI_PRINT("%zu bytes", bytes),
			    .allowed = PEALI_PRINT("1..%zu", most),
			    .remedy = bytes ? "use a shorter name" :
					      "use a name of letters");
}

int peali_refuse_index(const char *call, const char *object, const char *name,
		       const char *part, uint64_t index, uint64_t n,
		       const char *empty)
{
	char problem[64];

	snprintf(problem, sizeof(problem), "has no such %s", part);
	return PEALI_REFUSE(PEAL_ENOENT, call, .object = object, .name = name,
			    .problem = problem, .number = index,
			    .allowed = n ? NULL : "none", .most = n ? n - 1 : 0,
			    .remedy = n ? NULL : empty);
}
