/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "c11_model/engine.h"

/* Prints counterexamples. Allocates the memory and keeps its names. */

/* Successive accesses of one source line that are not printed yet. */
static struct plain_access {
	enum access kind;
	uint32_t thread, at, bytes;
	void *pc;
} held;

void *model_memory(const char *name, uint64_t bytes)
{
	uint32_t at = (engine.memory_bytes + 255) / 128 * 128;

	if (engine.running || at + bytes > MEMORY_BYTES)
		model_fail("memory is made in setup, at most %d bytes of it",
			   MEMORY_BYTES);
	engine.memory_bytes = at + (uint32_t)bytes;
	memset(engine.owned + at, 1, bytes);
	model_name(model_arena + at, bytes, name);
	return model_arena + at;
}

void model_name(const void *p, uint64_t bytes, const char *name)
{
	struct region *r = &engine.regions[engine.n_regions];

	if (engine.n_regions == sizeof(engine.regions) / sizeof(*r))
		return;
	engine.n_regions++;
	r->at = (uint32_t)memory_at(p);
	r->bytes = (uint32_t)bytes;
	r->name = name;
}

const char *memory_name(uint32_t at, char *out, size_t bytes)
{
	uint32_t i;

	snprintf(out, bytes, "+%u", at);
	for (i = 0; i < engine.n_regions; i++) {
		const struct region *r = &engine.regions[i];

		if (at - r->at >= r->bytes)
			continue;
		if (at == r->at)
			snprintf(out, bytes, "%s", r->name);
		else
			snprintf(out, bytes, "%s+%u", r->name, at - r->at);
	}
	return out;
}

/* Prints file:line of an address in this program, if addr2line works. */
static void print_place(void *pc)
{
	char command[512], line[256] = "";
	Dl_info info;
	FILE *from;
	char *slash;

	if (!dladdr(pc, &info))
		return;
	snprintf(command, sizeof(command),
		 "addr2line -e /proc/%d/exe 0x%llx 2>/dev/null", (int)getpid(),
		 (unsigned long long)((uintptr_t)pc - 1 -
				      (uintptr_t)info.dli_fbase));
	from = popen(command, "r");
	if (!from)
		return;
	if (fgets(line, sizeof(line), from) && *line != '?') {
		slash = strrchr(line, '/');
		printf("  %.*s", (int)strcspn(slash ? slash + 1 : line, " \n"),
		       slash ? slash + 1 : line);
	}
	pclose(from);
}

static void print_held(void)
{
	char name[64];

	if (!held.bytes)
		return;
	printf("          T%u  %-14s %-22s %u bytes", held.thread,
	       held.kind == PLAIN_READ ? "plain read" : "plain write",
	       memory_name(held.at, name, sizeof(name)), held.bytes);
	print_place(held.pc);
	printf("\n");
	held.bytes = 0;
}

void trace_plain(enum access kind, uint32_t at, uint32_t bytes, void *pc)
{
	uint32_t threads = engine.touched[at] & (TOUCHED_WRITTEN - 1);

	/* prints only memory that several threads use and one writes */
	if (!engine.tracing || !(threads & (threads - 1)) ||
	    !(engine.touched[at] & TOUCHED_WRITTEN))
		return;
	if (held.bytes && held.kind == kind && held.pc == pc &&
	    held.thread == engine.running->self && held.at + held.bytes == at) {
		held.bytes += bytes;
		return;
	}
	print_held();
	held.kind = kind;
	held.thread = engine.running->self;
	held.at = at;
	held.bytes = bytes;
	held.pc = pc;
}

static void print_value(const struct model_value *v, uint32_t bytes)
{
	if (bytes == 16)
		printf(" %016llx:%016llx", (unsigned long long)v->word[1],
		       (unsigned long long)v->word[0]);
	else
		printf(" %#llx", (unsigned long long)v->word[0]);
}

void trace_operation(const struct store *read, const struct store *wrote)
{
	const struct thread *t = engine.running;
	const struct request *q = &t->request;
	const struct location *l = &engine.locations[q->location];
	char name[64];

	if (!engine.tracing)
		return;
	print_held();
	printf("    %4u  T%u  %-14s", engine.step, t->self, q->site->what);
	if (q->kind != REQUEST_FENCE)
		printf(" %-22s", memory_name(l->at, name, sizeof(name)));
	if (read) {
		print_value(&read->value, l->bytes);
		if (read->step)
			printf(" of step %u%s", read->step,
			       read->position + (wrote ? 2u : 1u) < l->n ?
				       ", not newest" :
				       "");
		else
			printf(" from the begin");
	}
	if (wrote) {
		printf(" ->");
		print_value(&wrote->value, l->bytes);
		if (wrote->position + 1u < l->n)
			printf(", in front of step %u",
			       engine.stores[l->order[wrote->position + 1]]
				       .step);
	}
	printf("  %s:%u %s%s\n", model_site_file(q->site), q->site->line,
	       q->site->function, q->site->weak ? ", WEAKENED" : "");
}

void trace_end(const char *text)
{
	print_held();
	printf("          %s\n", text);
}
