/* SPDX-License-Identifier: Apache-2.0 */
#include "parser.h"

#include <stdlib.h>

/* ---- life ---------------------------------------------------------------- */

struct ptx_module *ptx_module_create(const char *text, size_t bytes,
				     const char *name)
{
	struct ptx_module *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->name = strdup(name ? name : "");
	m->text = malloc(bytes + 1);
	m->text_bytes = bytes;
	if (!m->name || !m->text) {
		ptx_unload(m);
		return NULL;
	}
	if (bytes)
		memcpy(m->text, text, bytes);
	m->text[bytes] = 0;
	return m;
}

static void free_function(struct ptx_function *f)
{
	free(f->code);
	free(f->places);
	free(f->constants);
	free(f->params);
	free(f->text_name);
	free(f);
}

/* Frees a list. The other arguments free its first element. */
#define FREE_LIST(list, ...)                                                   \
	while (list) {                                                         \
		__typeof__(list) next_ = (list)->next;                         \
		__VA_ARGS__;                                                   \
		list = next_;                                                  \
	}

void ptx_unload(struct ptx_module *module)
{
	uint32_t i;

	if (!module)
		return;
	FREE_LIST(module->functions, free_function(module->functions))
	FREE_LIST(module->variables, free(module->variables->memory),
		  free(module->variables->initial), free(module->variables))
	FREE_LIST(module->calls, free(module->calls->from), free(module->calls))
	FREE_LIST(module->prototypes, free(module->prototypes->params),
		  free(module->prototypes))
	FREE_LIST(module->targets, free(module->targets->targets),
		  free(module->targets))
	for (i = 0; i < module->n_files; i++)
		free(module->files[i]);
	free(module->files);
	free(module->name);
	free(module->text);
	free(module);
}

int ptx_keep_initials(struct ptx_module *module)
{
	struct ptx_variable *v;

	for (v = module->variables; v; v = v->next) {
		v->initial = malloc(v->bytes);
		if (!v->initial)
			return 0;
		memcpy(v->initial, v->memory, v->bytes);
	}
	return 1;
}

void ptx_reset(struct ptx_module *module)
{
	struct ptx_variable *v;

	for (v = module->variables; v; v = v->next)
		memcpy(v->memory, v->initial, v->bytes);
}

/* ---- queries ------------------------------------------------------------- */

int ptx_is_of(const struct ptx_module *module, const char *text, size_t bytes)
{
	return module->text_bytes == bytes &&
	       !memcmp(module->text, text, bytes);
}

static struct ptx_function *find_function(struct ptx_module *m,
					  const char *name, size_t bytes)
{
	struct ptx_function *f = m->functions;

	while (f && (f->name_bytes != bytes || memcmp(f->name, name, bytes)))
		f = f->next;
	return f;
}

struct ptx_function *ptx_find(struct ptx_module *module, const char *entry)
{
	struct ptx_function *f = find_function(module, entry, strlen(entry));

	return f && f->is_entry && f->is_defined ? f : NULL;
}

void ptx_function_info(const struct ptx_function *function,
		       struct ptx_function_info *info_out)
{
	uint32_t live = function->max_live_registers;

	info_out->registers = live < 16 ? 16 : live > 255 ? 255 : live;
	info_out->static_shared_bytes =
		function->module->own_shared_bytes + function->shared_bytes;
	info_out->max_threads = function->max_threads;
	info_out->params_bytes = function->params_end;
	info_out->local_bytes = function->local_bytes;
}

int ptx_function_param(const struct ptx_function *function, uint32_t index,
		       uint32_t *bytes_out)
{
	if (index >= function->n_params)
		return -1;
	*bytes_out = function->params[index].bytes;
	return (int)function->params[index].offset;
}

void *ptx_variable(struct ptx_module *module, const char *name,
		   uint64_t *bytes_out)
{
	struct ptx_variable *v = module->variables;

	while (v && !ptx_equal(v->name, v->name_bytes, name))
		v = v->next;
	if (!v)
		return NULL;
	*bytes_out = v->bytes;
	return v->memory;
}
