/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: a runtime's list of programs, and their images. */
#include "runtime/device/program.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/rtc.h"
#include "runtime/runtime.h"

extern const struct peal_program peal_program_peal_stages;
extern const struct peal_program peal_program_peal_collective;
extern const struct peal_program peal_program_peal_graph;
extern const struct peal_program peal_program_peal_relay;
extern const struct peal_program peal_program_peal_work_share;

static const struct peal_program *const built_in[] = {
	&peal_program_peal_stages, &peal_program_peal_collective,
	&peal_program_peal_graph, &peal_program_peal_relay,
	&peal_program_peal_work_share
};

int peali_programs_init(struct peal_runtime *rt)
{
	size_t i;

	for (i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++) {
		int result = peal_program_add(rt, built_in[i]);

		if (result)
			return result;
	}
	return 0;
}

int peali_program_check(const struct peal_program *program, const char *call)
{
	if (!program)
		return peali_refuse_null(call, "program");
	if (program->size != sizeof(*program))
		return PEALI_REFUSE(
			PEAL_EPROGRAM, call, .object = "program",
			.problem = "was compiled with other headers",
			.value = PEALI_PRINT("struct of %u bytes",
					     program->size),
			.allowed = PEALI_PRINT("%zu", sizeof(*program)),
			.remedy = "compile it again");
	if (!program->name || !program->handlers || !program->n_handlers)
		return peali_fail(PEAL_EPROGRAM, call,
				  "program '%s' has no handler",
				  program->name ? program->name : "?");
	if (program->n_handlers > PEAL_HANDLER_MASK)
		return PEALI_REFUSE(PEAL_EPROGRAM, call, .object = "program",
				    .name = program->name,
				    .problem = "has too many handlers",
				    .number = program->n_handlers, .least = 1,
				    .most = PEAL_HANDLER_MASK,
				    .remedy = "use two programs");
	if (!program->host_entry)
		return peali_fail(PEAL_EPROGRAM, call,
				  "program '%s' has no host image",
				  program->name);
	return 0;
}

/* Returns the program with that name, or NULL. The caller holds rt->lock. */
static const struct peal_program *find(const struct peal_runtime *rt,
				       const char *name)
{
	uint32_t i;

	for (i = 0; i < rt->n_programs; i++)
		if (!strcmp(rt->programs[i]->name, name))
			return rt->programs[i];
	return NULL;
}

/* Appends a program. The caller holds rt->lock. */
static int add(struct peal_runtime *rt, const struct peal_program *program)
{
	const struct peal_program *there = find(rt, program->name), **more;

	if (there == program)
		return peali_fail(PEAL_EALREADY, "peal_program_add",
				  "program '%s' is known already",
				  program->name);
	if (there)
		return peali_fail(PEAL_EEXIST, "peal_program_add",
				  "another program has the name '%s'",
				  program->name);
	more = realloc(rt->programs, (rt->n_programs + 1) * sizeof(*more));
	if (!more)
		return peali_fail(PEAL_ENOMEM, "peal_program_add",
				  "no memory for program '%s'", program->name);
	rt->programs = more;
	rt->programs[rt->n_programs++] = program;
	return 0;
}

int peal_program_add(struct peal_runtime *rt,
		     const struct peal_program *program)
{
	int result;

	if (!rt)
		return peali_refuse_null("peal_program_add", "runtime");
	if (peali_foreign(&rt->owner, "peal_program_add"))
		return PEAL_EFORKED;
	result = peali_program_check(program, "peal_program_add");
	if (!result)
		result = peali_program_keep(rt, program, "peal_program_add");
	if (result)
		return result;
	pthread_mutex_lock(&rt->lock);
	result = add(rt, program);
	pthread_mutex_unlock(&rt->lock);
	return result;
}

uint32_t peali_programs_count(struct peal_runtime *rt)
{
	uint32_t n;

	pthread_mutex_lock(&rt->lock);
	n = rt->n_programs;
	pthread_mutex_unlock(&rt->lock);
	return n;
}

const struct peal_program *peali_programs_at(struct peal_runtime *rt,
					     uint32_t index)
{
	const struct peal_program *program;

	pthread_mutex_lock(&rt->lock);
	program = rt->programs[index];
	pthread_mutex_unlock(&rt->lock);
	return program;
}

/* A longer list leaves no space for the remedy in the text of an error. */
#define LIST_BYTES 64

/* Names in a list for an error text. */
struct list {
	char text[LIST_BYTES];
	uint32_t n; /* names in the list or left out */
	int ended; /* 1: the text ends with "..." */
};

/* Adds a name to a list such as "a, b, c". The list ends with ", ..." if it has
 * no space for a whole name. */
static void list_add(struct list *list, const char *name)
{
	const size_t mark = sizeof(", ...") - 1;
	size_t used = strlen(list->text);

	if (list->ended)
		return;
	if (used + strlen(name) + 2 + mark < LIST_BYTES) {
		snprintf(list->text + used, LIST_BYTES - used, "%s%s",
			 list->n ? ", " : "", name);
		list->n++;
		return;
	}
	snprintf(list->text + used, LIST_BYTES - used, "%s...",
		 list->n ? ", " : "");
	list->ended = 1;
}

const struct peal_program *peal_program_find(struct peal_runtime *rt,
					     const char *name)
{
	const struct peal_program *program;
	struct list list = { .n = 0 };
	uint32_t i;

	if (!rt || !name) {
		peali_refuse_null("peal_program_find", "runtime or name");
		return NULL;
	}
	if (peali_foreign(&rt->owner, "peal_program_find"))
		return NULL;
	pthread_mutex_lock(&rt->lock);
	program = find(rt, name);
	for (i = 0; !program && i < rt->n_programs; i++)
		list_add(&list, rt->programs[i]->name);
	pthread_mutex_unlock(&rt->lock);
	if (!program)
		PEALI_REFUSE(PEAL_ENOENT, "peal_program_find",
			     .object = "program", .name = name,
			     .problem = "is not known to the runtime",
			     .value = name,
			     .allowed = list.n ? list.text : "none",
			     .remedy = "add it by peal_program_add");
	return program;
}

/* Returns the name of the handler that is nearest to a wrong name. */
static const char *nearest_handler(const struct peal_program *program,
				   const char *handler)
{
	const char *name, *nearest = program->handlers[0].name;
	unsigned edits, least = UINT_MAX;
	uint32_t i;

	for (i = 0; i < program->n_handlers; i++) {
		name = program->handlers[i].name;
		edits = peali_text_edits(handler, strlen(handler), name);
		if (edits < least) {
			least = edits;
			nearest = name;
		}
	}
	return nearest;
}

int peali_program_handler(const struct peal_program *program,
			  const char *handler, const char *call)
{
	struct list list = { .n = 0 };
	uint32_t i;

	if (!program || !handler)
		return peali_refuse_null(call, "program or handler");
	for (i = 0; i < program->n_handlers; i++)
		if (!strcmp(program->handlers[i].name, handler))
			return (int)i;
	for (i = 0; i < program->n_handlers; i++)
		list_add(&list, program->handlers[i].name);
	return PEALI_REFUSE(
		PEAL_ENOENT, call, .object = "program", .name = program->name,
		.problem = "has no such handler", .value = handler,
		.allowed = list.text,
		.remedy = PEALI_PRINT("use %s",
				      nearest_handler(program, handler)));
}

int peal_program_handler(const struct peal_program *program,
			 const char *handler)
{
	return peali_program_handler(program, handler, "peal_program_handler");
}

/* Returns the number of device images of a program. */
static uint32_t count_images(const struct peal_program *program)
{
	uint32_t n = 0;

	while (program->images && program->images[n].target)
		n++;
	return n;
}

int peal_program_info(struct peal_runtime *rt, int index,
		      struct peal_program_info *info_out)
{
	const struct peal_program *program = NULL;
	uint32_t n;

	if (!rt || !info_out)
		return peali_refuse_null("peal_program_info",
					 "runtime or info_out");
	if (peali_foreign(&rt->owner, "peal_program_info"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&rt->lock);
	n = rt->n_programs;
	if (index >= 0 && (uint32_t)index < n)
		program = rt->programs[index];
	pthread_mutex_unlock(&rt->lock);
	if (!program)
		return PEALI_REFUSE(
			PEAL_ENOENT, "peal_program_info", .object = "runtime",
			.problem = "has no such program",
			.value = PEALI_PRINT("%d", index),
			.allowed = n ? NULL : "none", .most = n ? n - 1 : 0,
			.remedy = n ? "use 0" : "add a program first");
	info_out->name = program->name;
	info_out->handlers = program->n_handlers;
	info_out->images = 1 + count_images(program);
	return 0;
}

static const char *kind_name(uint32_t kind)
{
	static const char *const kinds[] = { "host", "cubin", "ptx", "hsaco" };

	return kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[kind] :
							 "unknown";
}

int peal_image_info(const struct peal_program *program, int index,
		    struct peal_image_info *info_out)
{
	const struct peal_image *image;
	int result;

	if (!info_out)
		return peali_refuse_null("peal_image_info", "info_out");
	result = peali_program_check(program, "peal_image_info");
	if (result)
		return result;
	if (index < 0 || (uint32_t)index > count_images(program))
		return PEALI_REFUSE(PEAL_ENOENT, "peal_image_info",
				    .object = "program", .name = program->name,
				    .problem = "has no such image",
				    .value = PEALI_PRINT("%d", index),
				    .most = count_images(program),
				    .remedy = "use 0");
	if (index == 0) {
		info_out->target = info_out->kind = kind_name(0);
		info_out->bytes = 0;
		return 0;
	}
	image = program->images + index - 1;
	info_out->target = image->target;
	info_out->kind = kind_name(image->kind);
	info_out->bytes = (uint64_t)(image->end - image->begin);
	return 0;
}

int peal_program_compile(struct peal_runtime *rt,
			 const struct peal_program *program, const char *target,
			 struct peal_image_info *info_out)
{
	const char *call = "peal_program_compile";
	struct peali_image image;
	int result;

	if (!rt || !target || !info_out)
		return peali_refuse_null(call, "runtime, target or info_out");
	if (peali_foreign(&rt->owner, call))
		return PEAL_EFORKED;
	result = peali_program_check(program, call);
	if (!result)
		result = peali_rtc_compile(program, target, &image, call);
	if (result)
		return result;
	info_out->target = image.target;
	info_out->kind = kind_name(image.kind);
	info_out->bytes = image.bytes;
	return 0;
}
