/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/pipeline.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/refusal.h"
#include "runtime/base/text.h"

/* The parser of pipelines, see pipeline.h. */

/* An error message shows this many bytes of a long pipeline. */
#define SHOWN_BYTES 72
#define TOKEN_BYTES 40

#define CONFIG(field) offsetof(struct peal_stage_config, field)

static const struct peali_stage_kind kinds[] = {
	{ "blur",
	  PEAL_STAGE_BLUR,
	  PEALI_ON_BYTES,
	  "5x5 Gaussian (1 4 6 4 1), normalised, border replicated",
	  { { 0 } } },
	{ "sobel",
	  PEAL_STAGE_SOBEL,
	  PEALI_ON_BYTES,
	  "gradient |gx| + |gy|, at most 255, border replicated",
	  { { 0 } } },
	{ "threshold",
	  PEAL_STAGE_THRESHOLD,
	  PEALI_ON_BYTES,
	  "255 where a byte is at least level, else 0",
	  { { "level", PEALI_KEY_UINT, CONFIG(level), 128, 0, 255,
	      "least byte that becomes 255" } } },
	{ "invert", PEAL_STAGE_INVERT, PEALI_ON_BYTES, "255 - v", { { 0 } } },
	{ "affine",
	  PEAL_STAGE_AFFINE,
	  PEALI_ON_FLOATS,
	  "f32: a * x + b",
	  { { "a", PEALI_KEY_FLOAT, CONFIG(a), 1, -FLT_MAX, FLT_MAX, "factor" },
	    { "b", PEALI_KEY_FLOAT, CONFIG(b), 0, -FLT_MAX, FLT_MAX,
	      "summand" } } },
	{ "sqrt",
	  PEAL_STAGE_SQRT,
	  PEALI_ON_FLOATS,
	  "f32: square root",
	  { { 0 } } },
	{ "crc32c",
	  PEAL_STAGE_CRC32C,
	  PEALI_ON_BODY,
	  "passes items on and adds up their CRC-32C",
	  { { 0 } } },
	{ "xor",
	  PEAL_STAGE_XOR,
	  PEALI_ON_BYTES,
	  "v ^ key",
	  { { "key", PEALI_KEY_UINT, CONFIG(key), 0x5a, 0, 255,
	      "byte to combine with" } } },
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct parser {
	const char *text;
	const char *at;
	uint32_t n_devices;
	struct peali_pipeline_error *error;
};

const struct peali_stage_kind *peali_stage_kinds(uint32_t *n_out)
{
	*n_out = N_KINDS;
	return kinds;
}

/* Appends to a text of fixed size; text that does not fit is cut. */
static void __attribute__((format(printf, 3, 4)))
append(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + used, size - used, format, arguments);
	va_end(arguments);
}

/* Appends the pipeline around a place, and a caret below the place. */
static void append_place(char *to, size_t size, const char *text, size_t place)
{
	size_t n = strlen(text);
	size_t first = 0;
	size_t shown = n;

	if (n > SHOWN_BYTES) {
		first = place > SHOWN_BYTES / 2 ? place - SHOWN_BYTES / 2 : 0;
		if (first > n - SHOWN_BYTES)
			first = n - SHOWN_BYTES;
		shown = SHOWN_BYTES;
	}
	append(to, size, "\n  ");
	for (size_t i = first; i < first + shown; i++)
		append(to, size, "%c",
		       text[i] < 0x20 || text[i] > 0x7e ? '?' : text[i]);
	append(to, size, "\n  %*s^", (int)(place - first), "");
}

static int __attribute__((format(printf, 3, 4)))
fail(const struct parser *parser, const char *place, const char *format, ...)
{
	struct peali_pipeline_error *error = parser->error;
	size_t offset = (size_t)(place - parser->text);
	/* Reserve space for the place, which follows the sentence. */
	size_t max_bytes = sizeof(error->text) - 2 * SHOWN_BYTES - 16;
	size_t used;
	va_list arguments;

	error->column = (uint32_t)offset + 1;
	used = (size_t)snprintf(error->text, max_bytes,
				"column %u: ", error->column);
	va_start(arguments, format);
	peali_text_vformat(error->text + used, max_bytes - used, format,
			   arguments);
	va_end(arguments);
	append_place(error->text, sizeof(error->text), parser->text, offset);
	return -EINVAL;
}

static int refuse(const struct parser *parser, const char *place,
		  const struct peali_refusal *refusal)
{
	char text[PEALI_REFUSAL_BYTES];

	return fail(parser, place, "%s", peali_refusal_text(refusal, text));
}

static void skip_spaces(struct parser *parser)
{
	while (isspace((unsigned char)*parser->at))
		parser->at++;
}

/* Returns the bytes up to the next separator or space. */
static size_t token_bytes(const char *at)
{
	return strcspn(at, "@:,=! \t\n\r\v\f");
}

/* Copies a token for a message: shortened, without control characters. */
static const char *quote(char *quoted, const char *at, size_t n)
{
	size_t used = 0;

	for (; used < n && used < TOKEN_BYTES - 4; used++)
		quoted[used] = iscntrl((unsigned char)at[used]) ? '?' :
								  at[used];
	strcpy(quoted + used, used < n ? "..." : "");
	return quoted;
}

static int unknown_stage(const struct parser *parser, size_t n)
{
	char names[160] = "";
	char quoted[TOKEN_BYTES];
	const char *nearest = NULL;
	unsigned int least = n < 4 ? 2 : 3;

	for (size_t i = 0; i < N_KINDS; i++) {
		unsigned int edits =
			peali_text_edits(parser->at, n, kinds[i].name);

		if (edits < least) {
			least = edits;
			nearest = kinds[i].name;
		}
		append(names, sizeof(names), "%s%s", i ? ", " : "",
		       kinds[i].name);
	}
	quote(quoted, parser->at, n);
	return refuse(
		parser, parser->at,
		PEALI_REFUSAL(.object = "stage", .name = quoted,
			      .problem = "is unknown", .value = quoted,
			      .allowed = names,
			      .remedy = nearest ?
						PEALI_PRINT("use %s", nearest) :
						PEALI_PRINT("use %s",
							    kinds[0].name)));
}

static int parse_name(struct parser *parser, struct peali_stage *stage)
{
	size_t n = token_bytes(parser->at);

	if (n == 0 && (*parser->at == '!' || *parser->at == 0))
		return fail(parser, parser->at,
			    "a stage is missing; write STAGE ! STAGE");
	if (n == 0)
		return fail(parser, parser->at,
			    "the name of a stage is missing before '%c'",
			    *parser->at);
	stage->column = (uint32_t)(parser->at - parser->text) + 1;
	for (size_t i = 0; i < N_KINDS; i++)
		if (strlen(kinds[i].name) == n &&
		    memcmp(kinds[i].name, parser->at, n) == 0)
			stage->kind = kinds + i;
	if (!stage->kind)
		return unknown_stage(parser, n);
	parser->at += n;
	return 0;
}

static int parse_device(struct parser *parser, struct peali_stage *stage)
{
	size_t n = token_bytes(parser->at);
	char quoted[TOKEN_BYTES], devices[24];
	long value = 0;

	if (parser->n_devices > 1)
		snprintf(devices, sizeof(devices), "0..%u",
			 parser->n_devices - 1);
	else
		strcpy(devices,
		       parser->n_devices ? "0" : "devices of peal info");
	stage->device_column = (uint32_t)(parser->at - parser->text) + 1;
	if (n == 0)
		return fail(parser, parser->at,
			    "the index of a device is missing after '@'");
	for (size_t i = 0; i < n; i++) {
		if (!isdigit((unsigned char)parser->at[i]))
			return refuse(parser, parser->at,
				      PEALI_REFUSAL(.object = "device",
						    .name = quote(quoted,
								  parser->at,
								  n),
						    .problem = "is no index",
						    .value = quoted,
						    .allowed = devices,
						    .remedy = "use 0"));
		if (value < 1000000)
			value = value * 10 + (parser->at[i] - '0');
	}
	if (value >= (parser->n_devices ? (long)parser->n_devices : 1000000))
		return refuse(
			parser, parser->at,
			PEALI_REFUSAL(.object = "device",
				      .name = quote(quoted, parser->at, n),
				      .problem = "does not exist",
				      .value = quoted, .allowed = devices,
				      .remedy = "use 0"));
	stage->device = (int)value;
	parser->at += n;
	return 0;
}

/* Parses all n bytes as one number. Returns 0 or -EINVAL. */
static int parse_number(const char *at, size_t n, enum peali_key_type type,
			double *out)
{
	char text[TOKEN_BYTES];
	char *end;

	if (n == 0 || n >= sizeof(text))
		return -EINVAL;
	memcpy(text, at, n);
	text[n] = 0;
	if (type == PEALI_KEY_FLOAT) {
		*out = strtod(text, &end);
		/*
		 * A value that underflows is 0; a value that overflows fails
		 * the range.
		 */
		return *end || isnan(*out) ? -EINVAL : 0;
	}
	/* No octal numbers: 010 is ten. */
	if (text[0] == '0' && tolower((unsigned char)text[1]) == 'x' && text[2])
		*out = (double)strtoull(text, &end, 16);
	else
		*out = (double)strtoll(text, &end, 10);
	return *end ? -EINVAL : 0;
}

static int parse_value(struct parser *parser, const struct peali_stage_key *key,
		       struct peal_stage_config *config)
{
	size_t n = token_bytes(parser->at);
	char quoted[TOKEN_BYTES];
	char *field = (char *)config + key->offset;
	double value;

	if (n == 0)
		return fail(parser, parser->at, "a value for '%s' is missing",
			    key->name);
	quote(quoted, parser->at, n);
	if (parse_number(parser->at, n, key->type, &value))
		return refuse(
			parser, parser->at,
			PEALI_REFUSAL(.object = "key", .name = key->name,
				      .problem = key->type == PEALI_KEY_UINT ?
							 "is no whole number" :
							 "is no number",
				      .value = quoted,
				      .allowed = PEALI_PRINT(
					      "%g..%g", key->least, key->most),
				      .remedy = PEALI_PRINT("use %g",
							    key->value)));
	if (value < key->least || value > key->most)
		return refuse(parser, parser->at,
			      PEALI_REFUSAL(.object = "key", .name = key->name,
					    .problem = "is out of range",
					    .value = quoted,
					    .allowed = PEALI_PRINT("%g..%g",
								   key->least,
								   key->most),
					    .remedy = PEALI_PRINT("use %g",
								  key->value)));
	if (key->type == PEALI_KEY_UINT) {
		uint32_t whole = (uint32_t)value;

		memcpy(field, &whole, sizeof(whole));
	} else {
		float real = (float)value;

		memcpy(field, &real, sizeof(real));
	}
	parser->at += n;
	return 0;
}

static int unknown_key(const struct parser *parser, size_t n,
		       const struct peali_stage_kind *kind)
{
	char names[80] = "";
	char quoted[TOKEN_BYTES];

	quote(quoted, parser->at, n);
	for (const struct peali_stage_key *key = kind->keys; key->name; key++)
		append(names, sizeof(names), "%s%s",
		       key == kind->keys ? "" : ", ", key->name);
	return refuse(
		parser, parser->at,
		PEALI_REFUSAL(.object = "key", .name = quoted,
			      .problem = PEALI_PRINT("is no key of stage '%s'",
						     kind->name),
			      .value = quoted,
			      .allowed = *names ? names : "none",
			      .remedy = *names ? PEALI_PRINT("use %s",
							     kind->keys->name) :
						 "leave it out"));
}

/* Parses one KEY=VALUE; `seen` has a bit for each earlier key. */
static int parse_key(struct parser *parser, struct peali_stage *stage,
		     unsigned int *seen)
{
	const struct peali_stage_key *keys = stage->kind->keys;
	const char *name = parser->at;
	size_t n = token_bytes(name);
	unsigned int i;

	if (n == 0)
		return fail(parser, name, "a key is missing; write KEY=VALUE");
	for (i = 0; keys[i].name; i++)
		if (strlen(keys[i].name) == n &&
		    memcmp(keys[i].name, name, n) == 0)
			break;
	if (!keys[i].name)
		return unknown_key(parser, n, stage->kind);
	if (*seen & 1u << i)
		return fail(parser, name, "'%s' is given twice", keys[i].name);
	*seen |= 1u << i;
	parser->at += n;
	skip_spaces(parser);
	if (*parser->at != '=')
		return fail(parser, parser->at, "'=' is missing after '%s'",
			    keys[i].name);
	parser->at++;
	skip_spaces(parser);
	return parse_value(parser, keys + i, &stage->config);
}

static void set_defaults(struct peali_stage *stage)
{
	stage->config.kind = stage->kind->kind;
	for (const struct peali_stage_key *key = stage->kind->keys; key->name;
	     key++) {
		char *field = (char *)&stage->config + key->offset;
		uint32_t whole =
			key->type == PEALI_KEY_UINT ? (uint32_t)key->value : 0;
		float real = (float)key->value;

		if (key->type == PEALI_KEY_UINT)
			memcpy(field, &whole, sizeof(whole));
		else
			memcpy(field, &real, sizeof(real));
	}
}

static int parse_stage(struct parser *parser, struct peali_stage *stage)
{
	unsigned int seen = 0;
	int result;

	memset(stage, 0, sizeof(*stage));
	stage->device = PEALI_ANY_DEVICE;
	result = parse_name(parser, stage);
	if (result)
		return result;
	set_defaults(stage);
	skip_spaces(parser);
	if (*parser->at == '@') {
		parser->at++;
		skip_spaces(parser);
		result = parse_device(parser, stage);
		skip_spaces(parser);
	}
	/* A colon precedes the first key, a comma each further key. */
	while (!result && *parser->at == (seen ? ',' : ':')) {
		parser->at++;
		skip_spaces(parser);
		result = parse_key(parser, stage, &seen);
		skip_spaces(parser);
	}
	return result;
}

static int unexpected(const struct parser *parser)
{
	char quoted[TOKEN_BYTES];
	size_t n = token_bytes(parser->at);

	return fail(
		parser, parser->at,
		"unexpected '%s'; a stage is STAGE[@DEVICE][:KEY=VALUE,...],"
		" and '!' separates stages",
		quote(quoted, parser->at, n ? n : 1));
}

int peali_pipeline_parse(const char *text, uint32_t n_devices,
			 struct peali_pipeline *pipeline_out,
			 struct peali_pipeline_error *error_out)
{
	struct parser parser = { text, text, n_devices, error_out };
	struct peali_pipeline pipeline = { 0 };
	int result;

	skip_spaces(&parser);
	if (!*parser.at)
		return fail(&parser, parser.at,
			    "the pipeline is empty; write for example 'blur ! "
			    "sobel ! threshold:level=96'");
	for (;;) {
		const char *separator = parser.at;

		skip_spaces(&parser);
		if (pipeline.n_stages == PEALI_STAGES_MAX)
			return refuse(
				&parser, parser.at,
				PEALI_REFUSAL(.object = "argument",
					      .name = "STAGE",
					      .problem =
						      "is one stage too many",
					      .number = PEALI_STAGES_MAX + 1,
					      .least = 1,
					      .most = PEALI_STAGES_MAX,
					      .remedy = "use fewer stages"));
		if (pipeline.n_stages && !*parser.at)
			return fail(&parser, separator - 1,
				    "a stage is missing after the last '!'");
		result = parse_stage(&parser,
				     pipeline.stages + pipeline.n_stages);
		if (result)
			return result;
		pipeline.n_stages++;
		if (!*parser.at)
			break;
		if (*parser.at != '!')
			return unexpected(&parser);
		parser.at++;
	}
	*pipeline_out = pipeline;
	return 0;
}

int peali_pipeline_check_format(const struct peali_pipeline *pipeline,
				const char *text, int image,
				struct peali_pipeline_error *error_out)
{
	struct parser parser = { text, text, 0, error_out };

	for (uint32_t i = 0; i < pipeline->n_stages; i++) {
		const struct peali_stage *stage = pipeline->stages + i;

		if (image && stage->kind->domain == PEALI_ON_FLOATS)
			return fail(&parser, text + stage->column - 1,
				    "'%s' computes with 32-bit floats and a "
				    "video's samples are bytes; use it with "
				    "--format records:BYTES or lines",
				    stage->kind->name);
	}
	return 0;
}

void peali_pipeline_place(struct peali_pipeline *pipeline, uint32_t n_devices)
{
	for (uint32_t i = 0; i < pipeline->n_stages; i++)
		if (pipeline->stages[i].device == PEALI_ANY_DEVICE)
			pipeline->stages[i].device = (int)(i % n_devices);
}

int peali_stage_describe(const struct peali_stage *stage, char *text,
			 size_t size)
{
	char described[160] = "";
	char separator = ':';

	append(described, sizeof(described), "%s", stage->kind->name);
	if (stage->device != PEALI_ANY_DEVICE)
		append(described, sizeof(described), "@%d", stage->device);
	for (const struct peali_stage_key *key = stage->kind->keys; key->name;
	     key++) {
		const char *field = (const char *)&stage->config + key->offset;
		uint32_t whole;
		float real;

		memcpy(&whole, field, sizeof(whole));
		memcpy(&real, field, sizeof(real));
		append(described, sizeof(described), "%c%s=", separator,
		       key->name);
		if (key->type == PEALI_KEY_UINT)
			append(described, sizeof(described), "%u", whole);
		else
			append(described, sizeof(described), "%.9g",
			       (double)real);
		separator = ',';
	}
	return snprintf(text, size, "%s", described);
}
