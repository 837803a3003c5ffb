/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/elf.h"
#include "runtime/device/rtc.h"

/*
 * Checks cubins, AMD code objects and PTX. Selects the best image of a program
 * for a device. Needs no driver.
 */

/* Buffer size for "image sm_90 of program '...'" or "peal_entry_...". */
#define NAME_BYTES 160
/* Size of an AMD kernel descriptor. */
#define DESCRIPTOR_BYTES 64

/* ---- architectures ------------------------------------------------------- */

/** Architecture "sm_90a" as 90 and 'a'. */
struct arch {
	uint32_t number; /* major * 10 + minor */
	char letter; /* 0: none */
};

/*
 * Parses all n characters as `prefix` and an architecture. Returns 1, or 0 if
 * the text has another form.
 */
static int read_arch(const char *text, size_t n, const char *prefix,
		     struct arch *out)
{
	size_t at = strlen(prefix), first = at;

	out->number = 0;
	out->letter = 0;
	if (n < at || memcmp(text, prefix, at) != 0)
		return 0;
	for (; at < n && at < first + 4; at++) {
		if (text[at] < '0' || text[at] > '9')
			break;
		out->number = out->number * 10 + (uint32_t)(text[at] - '0');
	}
	if (at < n && at >= first + 2 && (text[at] == 'a' || text[at] == 'f'))
		out->letter = text[at++];
	return at == n && at >= first + 2;
}

/*
 * Returns 1 if a device runs code for `target`. Machine code runs only within
 * its major number. PTX also runs on later major numbers, as the driver
 * compiles it.
 */
static int runs(const struct arch *device, const struct arch *target,
		int is_ptx)
{
	if (target->letter == 'a')
		return target->number == device->number;
	if ((!is_ptx || target->letter == 'f') &&
	    target->number / 10 != device->number / 10)
		return 0;
	return target->number <= device->number;
}

/* EF_AMDGPU_MACH flags of the devices that Peal supports. */
static const struct machine {
	const char *target;
	uint8_t flags;
} machines[] = {
	{ "gfx900", 0x2c },  { "gfx902", 0x2d },  { "gfx904", 0x2e },
	{ "gfx906", 0x2f },  { "gfx908", 0x30 },  { "gfx909", 0x31 },
	{ "gfx90a", 0x3f },  { "gfx90c", 0x32 },  { "gfx940", 0x40 },
	{ "gfx941", 0x4b },  { "gfx942", 0x4c },  { "gfx950", 0x4f },
	{ "gfx1010", 0x33 }, { "gfx1011", 0x34 }, { "gfx1012", 0x35 },
	{ "gfx1013", 0x42 }, { "gfx1030", 0x36 }, { "gfx1031", 0x37 },
	{ "gfx1032", 0x38 }, { "gfx1033", 0x39 }, { "gfx1034", 0x3e },
	{ "gfx1035", 0x3d }, { "gfx1036", 0x45 }, { "gfx1100", 0x41 },
	{ "gfx1101", 0x46 }, { "gfx1102", 0x47 }, { "gfx1103", 0x44 },
	{ "gfx1150", 0x43 }, { "gfx1200", 0x48 }, { "gfx1201", 0x4e },
};

/* ---- cubins and code objects --------------------------------------------- */

/*
 * Returns the SM number in a cubin's ELF flags. ABI version 8 moved it to other
 * bits.
 */
static uint32_t cubin_number(const struct peali_elf *elf)
{
	if (elf->head.e_ident[EI_ABIVERSION] >= 8)
		return elf->head.e_flags >> 8 & 0xff;
	return elf->head.e_flags & 0xff;
}

static int check_cubin(const struct peali_image *image, const char *entry,
		       const char *name, const char *call)
{
	struct peali_elf_symbol symbol;
	struct peali_elf elf;
	struct arch target;
	int result = peali_elf_open(&elf, image->begin, image->bytes,
				    PEALI_ELF_CUDA, name, call);

	if (result)
		return result;
	if (!read_arch(image->target, strlen(image->target), "sm_", &target))
		return PEALI_REFUSE(
			PEAL_EPROGRAM, call, .object = name,
			.problem = "has a wrong target for a cubin",
			.value = image->target, .allowed = "sm_NN",
			.remedy = "build it with sm_NN in PEAL_TARGETS");
	if (elf.head.e_type != ET_EXEC)
		return peali_fail(PEAL_EPROGRAM, call,
				  "%s: the cubin is not linked (ELF type %u)",
				  name, elf.head.e_type);
	if (cubin_number(&elf) != target.number)
		return peali_fail(PEAL_EPROGRAM, call,
				  "%s: the cubin is for sm_%u (ELF flags 0x%x)",
				  name, cubin_number(&elf), elf.head.e_flags);
	if (!peali_elf_find(&elf, SHT_SYMTAB, entry, &symbol) ||
	    ELF64_ST_TYPE(symbol.symbol.st_info) != STT_FUNC ||
	    !symbol.symbol.st_size || symbol.symbol.st_size > symbol.bytes)
		return peali_fail(PEAL_EPROGRAM, call,
				  "%s: the cubin has no function %s", name,
				  entry);
	return 0;
}

static int check_machine(const struct peali_elf *elf, const char *target,
			 const char *name, const char *call)
{
	uint8_t flags = elf->head.e_flags & 0xff;
	size_t i;

	for (i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (!strcmp(machines[i].target, target) &&
		    machines[i].flags != flags)
			return peali_fail(PEAL_EPROGRAM, call,
					  "%s: the code object is for machine "
					  "0x%02x, %s is 0x%02x",
					  name, flags, target,
					  machines[i].flags);
	return 0;
}

static int check_hsaco(const struct peali_image *image, const char *entry,
		       const char *name, const char *call)
{
	struct peali_elf_symbol code, descriptor;
	char descriptor_name[NAME_BYTES];
	struct peali_elf elf;
	int result = peali_elf_open(&elf, image->begin, image->bytes,
				    PEALI_ELF_AMDGPU, name, call);

	if (!result)
		result = check_machine(&elf, image->target, name, call);
	if (result)
		return result;
	if (elf.head.e_type != ET_DYN)
		return peali_fail(PEAL_EPROGRAM, call,
				  "%s: the code object is not linked (ELF type "
				  "%u)",
				  name, elf.head.e_type);
	snprintf(descriptor_name, sizeof(descriptor_name), "%s.kd", entry);
	if (!peali_elf_find(&elf, SHT_DYNSYM, entry, &code) ||
	    ELF64_ST_TYPE(code.symbol.st_info) != STT_FUNC ||
	    !code.symbol.st_size || code.symbol.st_size > code.bytes ||
	    !peali_elf_find(&elf, SHT_DYNSYM, descriptor_name, &descriptor) ||
	    descriptor.symbol.st_size != DESCRIPTOR_BYTES ||
	    descriptor.bytes < DESCRIPTOR_BYTES)
		return peali_fail(PEAL_EPROGRAM, call,
				  "%s: the code object has no kernel %s", name,
				  entry);
	return 0;
}

/* ---- PTX ----------------------------------------------------------------- */

struct token {
	const char *at;
	size_t n; /* 0: the end of the text */
};

/* Skips blanks, comments and strings, which do not matter for the checks. */
static const char *skip(const char *at)
{
	const char *end;

	for (;;) {
		at += strspn(at, " \t\r\n");
		if (at[0] == '/' && at[1] == '/') {
			at += strcspn(at, "\n");
		} else if (at[0] == '/' && at[1] == '*') {
			end = strstr(at + 2, "*/");
			at = end ? end + 2 : at + strlen(at);
		} else if (at[0] == '"') {
			at += 1 + strcspn(at + 1, "\"");
			at += at[0] == '"';
		} else {
			return at;
		}
	}
}

static struct token next_token(const struct token *last)
{
	static const char word[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_$%.";
	struct token token;

	token.at = skip(last->at + last->n);
	token.n = strspn(token.at, word);
	if (!token.n && token.at[0])
		token.n = 1;
	return token;
}

static int is(const struct token *token, const char *text)
{
	return token->n == strlen(text) && !memcmp(token->at, text, token->n);
}

/** Facts about a PTX text that the checks need. */
struct ptx {
	int versions;
	int is_target; /* there is a .target that can be parsed */
	struct arch target;
	int entered; /* the entry's name was read, and its body has not begun */
	int entries; /* bodies of the entry */
	int64_t depth; /* open braces; below 0: one brace too many was closed */
};

static struct ptx read_ptx(const char *text, const char *entry)
{
	struct token token = { text, 0 };
	struct ptx ptx;

	memset(&ptx, 0, sizeof(ptx));
	while ((token = next_token(&token)).n && ptx.depth >= 0) {
		if (is(&token, ".version")) {
			ptx.versions++;
		} else if (is(&token, ".target")) {
			token = next_token(&token);
			ptx.is_target = read_arch(token.at, token.n, "sm_",
						  &ptx.target);
		} else if (is(&token, ".entry")) {
			token = next_token(&token);
			ptx.entered = is(&token, entry);
		} else if (is(&token, "{")) {
			ptx.entries += ptx.entered && !ptx.depth;
			ptx.entered = 0;
			ptx.depth++;
		} else if (is(&token, "}")) {
			ptx.depth--;
		} else if (is(&token, ";")) {
			ptx.entered = 0; /* a declaration without body */
		}
	}
	return ptx;
}

static int check_ptx(const struct peali_image *image, const char *entry,
		     const char *name, const char *call)
{
	struct arch target;
	struct ptx ptx;

	if (!read_arch(image->target, strlen(image->target), "compute_",
		       &target))
		return PEALI_REFUSE(PEAL_EPROGRAM, call, .object = name,
				    .problem = "has a wrong target for PTX",
				    .value = image->target,
				    .allowed = "compute_NN",
				    .remedy = "build it with compute_NN in "
					      "PEAL_TARGETS");
	if (!image->bytes || image->begin[image->bytes - 1])
		return peali_fail(PEAL_EPROGRAM, call,
				  "%s: the PTX text of %zu bytes does not "
				  "end with a zero",
				  name, image->bytes);
	ptx = read_ptx((const char *)image->begin, entry);
	if (!ptx.versions || !ptx.is_target)
		return peali_fail(PEAL_EPROGRAM, call,
				  "%s: the text has no .version or no "
				  ".target, so it is no PTX",
				  name);
	if (ptx.target.number > target.number ||
	    (ptx.target.letter && (ptx.target.letter != target.letter ||
				   ptx.target.number != target.number)))
		return peali_fail(
			PEAL_EPROGRAM, call,
			"%s: the PTX is for sm_%u%c, above its target", name,
			ptx.target.number,
			ptx.target.letter ? ptx.target.letter : ' ');
	if (ptx.depth)
		return peali_fail(PEAL_EPROGRAM, call,
				  "%s: the braces of the PTX do not match, "
				  "so it is truncated or damaged",
				  name);
	if (ptx.entries != 1)
		return peali_fail(PEAL_EPROGRAM, call,
				  "%s: the PTX has no kernel %s, or several",
				  name, entry);
	return 0;
}

int peali_image_check(const struct peali_image *image, const char *entry,
		      const char *what, const char *call)
{
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), "image %s of %s", image->target, what);
	switch (image->kind) {
	case PEAL_IMAGE_CUBIN:
		return check_cubin(image, entry, name, call);
	case PEAL_IMAGE_PTX:
		return check_ptx(image, entry, name, call);
	case PEAL_IMAGE_HSACO:
		return check_hsaco(image, entry, name, call);
	default:
		return PEALI_REFUSE(PEAL_EPROGRAM, call, .object = name,
				    .problem = "has an unknown kind",
				    .number = image->kind,
				    .least = PEAL_IMAGE_CUBIN,
				    .most = PEAL_IMAGE_HSACO,
				    .remedy = "build the program again");
	}
}

int peali_image_check_program(const struct peal_program *program,
			      const struct peali_image *image, const char *call)
{
	char entry[NAME_BYTES], what[NAME_BYTES];

	snprintf(entry, sizeof(entry), "peal_entry_%s", program->name);
	snprintf(what, sizeof(what), "program '%s'", program->name);
	return peali_image_check(image, entry, what, call);
}

int peali_image_is_target(const char *text)
{
	size_t n = strlen(text);
	struct arch arch;

	if (read_arch(text, n, "sm_", &arch) ||
	    read_arch(text, n, "compute_", &arch))
		return 1;
	return !strncmp(text, "gfx", 3) && n > 5 && n < 12 &&
	       strspn(text + 3, "0123456789abcdef") == n - 3;
}

/* ---- choosing ------------------------------------------------------------ */

/*
 * Ranks an image for a device. Returns 0 if the device cannot run it. Of two
 * images, the higher rank is better.
 */
static uint32_t rank(const struct peal_image *image, const char *arch,
		     size_t arch_n)
{
	int is_ptx = image->kind == PEAL_IMAGE_PTX;
	size_t n = strlen(image->target);
	struct arch device, target;

	if (image->kind == PEAL_IMAGE_HSACO)
		return n == arch_n && !memcmp(image->target, arch, n);
	if (!read_arch(arch, arch_n, "sm_", &device) ||
	    !read_arch(image->target, n, is_ptx ? "compute_" : "sm_",
		       &target) ||
	    !runs(&device, &target, is_ptx))
		return 0;
	return (is_ptx ? 0 : 1u << 31) | target.number << 1 |
	       (target.letter != 0);
}

/* Reports that no image fits. The text lists the images and the remedy. */
static int fail_none(const struct peal_program *program, const char *arch,
		     size_t arch_n, const char *call)
{
	const struct peal_image *image = program->images;
	char there[80] = "that of the host";
	size_t used = 0;

	for (; image && image->target && used < sizeof(there); image++)
		used += (size_t)snprintf(there + used, sizeof(there) - used,
					 "%s%s", used ? ", " : "",
					 image->target);
	return PEALI_REFUSE(
		PEAL_EPROGRAM, call, .object = "program", .name = program->name,
		.problem = "has no image for the device",
		.value = PEALI_PRINT("%.*s", (int)arch_n, arch),
		.allowed = there,
		.remedy = PEALI_PRINT("build it with %.*s in PEAL_TARGETS",
				      (int)arch_n, arch));
}

int peali_image_choose(const struct peal_program *program, const char *arch,
		       struct peali_image *out, const char *call)
{
	const struct peal_image *image = program->images, *best = NULL;
	size_t arch_n = strcspn(arch, ":");
	char target[NAME_BYTES];
	uint32_t best_rank = 0, its_rank;
	struct peali_image chosen;
	int result;

	for (; image && image->target; image++) {
		its_rank = rank(image, arch, arch_n);
		if (its_rank > best_rank) {
			best_rank = its_rank;
			best = image;
		}
	}
	if (!best && program->sources) {
		snprintf(target, sizeof(target), "%.*s", (int)arch_n, arch);
		return peali_rtc_compile(program, target, out, call);
	}
	if (!best)
		return fail_none(program, arch, arch_n, call);
	chosen.target = best->target;
	chosen.kind = best->kind;
	chosen.begin = best->begin;
	chosen.bytes =
		best->end > best->begin ? (size_t)(best->end - best->begin) : 0;
	result = peali_image_check_program(program, &chosen, call);
	if (!result)
		*out = chosen;
	return result;
}
