/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A double of NVRTC: the symbols of libnvrtc.so.13 for machines without it.
 * With DOUBLE_HIPRTC it is a double of hipRTC, libhiprtc.so.
 *
 * It compiles nothing. It looks up every header that the text includes among
 * the given headers, by the exact name, as NVRTC does. It returns an image with
 * the kernels that the text defines, without code.
 *
 * DOUBLE_NVRTC selects a fault:
 *
 *	cubin	no fault; makes cubins, too, for one kernel
 *	create	cannot create a program
 *	error	reports an error on the third line of a long log
 *	silent	fails without a log
 *	garbage	returns bytes that are no image
 *	short	returns truncated PTX
 *	nothing	compiles, but returns no image
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/image_maker.h"

#ifdef DOUBLE_HIPRTC
#define RTC(name) hiprtc##name
#define RTC_MACRO "__HIPCC_RTC__"
#define RTC_ARCHITECTURE "--offload-arch="
#else
#define RTC(name) nvrtc##name
#define RTC_MACRO "__CUDACC_RTC__"
#define RTC_ARCHITECTURE "--gpu-architecture="
#endif

#define LOG_BYTES 4096
#define PTX_BYTES 65536
#define DEPTH 64

int RTC(Version)(int *major, int *minor);
int RTC(CreateProgram)(void **out, const char *text, const char *name,
		       int n_headers, const char *const *texts,
		       const char *const *names);
int RTC(DestroyProgram)(void **program);
int RTC(CompileProgram)(void *program, int n, const char *const *options);
int RTC(GetProgramLogSize)(void *program, size_t *n);
int RTC(GetProgramLog)(void *program, char *log);
#ifdef DOUBLE_HIPRTC
int hiprtcGetCodeSize(void *program, size_t *n);
int hiprtcGetCode(void *program, char *code);
#else
int nvrtcGetPTXSize(void *program, size_t *n);
int nvrtcGetPTX(void *program, char *ptx);
int nvrtcGetCUBINSize(void *program, size_t *n);
int nvrtcGetCUBIN(void *program, char *cubin);
#endif
int double_nvrtc_compilations(void);

enum { FINE, OUT_OF_MEMORY, CANNOT_CREATE, INVALID_INPUT, INVALID_PROGRAM };
#define COMPILATION_FAILED 6

static int compilations;

/** A program of NVRTC. */
struct program {
	const char *text, *name;
	int n_headers;
	const char *const *texts, *const *names;
	unsigned char *seen; /* by header: 1 if it was read */
	char log[LOG_BYTES];
	char ptx[PTX_BYTES];
	char entry[256]; /* of the first kernel */
	unsigned int number; /* of the target */
};

static int mode_is(const char *mode)
{
	const char *set = getenv("DOUBLE_NVRTC");

	return set && !strcmp(set, mode);
}

static void __attribute__((format(printf, 3, 4)))
append(char *text, size_t bytes, const char *format, ...)
{
	size_t n = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + n, bytes - n, format, arguments);
	va_end(arguments);
}

/* ---- headers that the text includes -------------------------------------- */

/* Evaluates an #if: 1 true, 0 false, 2 unknown. The double reads both branches
 * of an unknown condition. */
static int condition(const char *line)
{
	if (strstr(line, RTC_MACRO))
		return !strstr(line, "!defined");
	if (strstr(line, "PEAL_ON_HOST"))
		return strstr(line, "!PEAL_ON_HOST") != NULL;
	return 2;
}

static int is_live(const int *stack, int depth)
{
	while (depth > 0)
		if (!stack[depth--])
			return 0;
	return 1;
}

static int read_text(struct program *p, const char *name, const char *text);

/* Reads the header that an #include line names. */
static int include(struct program *p, const char *from, const char *line)
{
	const char *begin = line + strcspn(line, "<\"");
	size_t n = begin[0] ? strcspn(begin + 1, ">\"") : 0;
	int i;

	for (i = 0; i < p->n_headers; i++) {
		if (strlen(p->names[i]) != n ||
		    memcmp(p->names[i], begin + 1, n) != 0)
			continue;
		if (p->seen[i])
			return 0;
		p->seen[i] = 1;
		return read_text(p, p->names[i], p->texts[i]);
	}
	append(p->log, sizeof(p->log),
	       "%s: catastrophic error: cannot open source file \"%.*s\"\n",
	       from, (int)n, begin + 1);
	return COMPILATION_FAILED;
}

static int read_text(struct program *p, const char *name, const char *text)
{
	int stack[DEPTH] = { 1 }, depth = 0, error = 0;
	char line[512], *word;
	size_t n;

	for (; *text && !error; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)n, text);
		word = line + strspn(line, " \t");
		if (*word++ != '#')
			continue;
		word += strspn(word, " \t");
		if (!strncmp(word, "if", 2) && depth + 1 < DEPTH)
			stack[++depth] = condition(word);
		else if (!strncmp(word, "elif", 4))
			stack[depth] = stack[depth] == 1 ? 0 : condition(word);
		else if (!strncmp(word, "else", 4) && stack[depth] != 2)
			stack[depth] = !stack[depth];
		else if (!strncmp(word, "endif", 5) && depth)
			depth--;
		else if (!strncmp(word, "include", 7) && is_live(stack, depth))
			error = include(p, name, word);
	}
	return error;
}

/* ---- kernels that the text defines --------------------------------------- */

static void add_kernel(struct program *p, const char *name)
{
	size_t n = 0;

	while (isalnum((unsigned char)name[n]) || name[n] == '_')
		n++;
	if (!p->entry[0])
		snprintf(p->entry, sizeof(p->entry), "peal_entry_%.*s", (int)n,
			 name);
	append(p->ptx, sizeof(p->ptx),
	       ".visible .entry peal_entry_%.*s(\n\t.param .u64 params\n)\n"
	       "{\n\tret;\n}\n",
	       (int)n, name);
}

/* Finds PEAL_PROGRAM(name, ...) and plain kernels at the begin of a line. */
static void find_kernels(struct program *p)
{
	static const char *const words[] = { "\nPEAL_PROGRAM(",
					     "\nPEALI_NO_LOOP_PROGRAM(",
					     "\nPEAL_KERNEL void peal_entry_" };
	const char *at;
	size_t i;

	append(p->ptx, sizeof(p->ptx),
	       ".version 8.0\n.target sm_%u\n.address_size 64\n", p->number);
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (at = p->text; (at = strstr(at, words[i])); at++)
			add_kernel(p, at + strlen(words[i]));
}

/* ---- the symbols --------------------------------------------------------- */

int RTC(Version)(int *major, int *minor)
{
	*major = 13;
	*minor = 99;
	return FINE;
}

#ifndef DOUBLE_WITHOUT_CREATE
int RTC(CreateProgram)(void **out, const char *text, const char *name,
		       int n_headers, const char *const *texts,
		       const char *const *names)
{
	struct program *p = (struct program *)calloc(1, sizeof(*p));

	if (!p || mode_is("create")) {
		free(p);
		return CANNOT_CREATE;
	}
	p->text = text;
	p->name = name;
	p->n_headers = n_headers;
	p->texts = texts;
	p->names = names;
	p->seen = (unsigned char *)calloc(1, (size_t)n_headers + 1);
	*out = p;
	return FINE;
}
#endif

int RTC(DestroyProgram)(void **program)
{
	struct program *p = (struct program *)*program;

	free(p->seen);
	free(p);
	*program = NULL;
	return FINE;
}

/* 90 of "sm_90"; 0x90a of "gfx90a". */
static unsigned int number_of(const char *target)
{
	const char *digits = target + strcspn(target, "0123456789");

	return (unsigned int)strtoul(digits, NULL, *target == 'g' ? 16 : 10);
}

int RTC(CompileProgram)(void *program, int n, const char *const *options)
{
	static const char arch[] = RTC_ARCHITECTURE;
	struct program *p = (struct program *)program;
	int i;

	compilations++;
	for (i = 0; i < n; i++)
		if (!strncmp(options[i], arch, strlen(arch)))
			p->number = number_of(options[i] + strlen(arch));
	if (!p->number)
		return INVALID_INPUT;
	if (mode_is("silent"))
		return COMPILATION_FAILED;
	if (mode_is("error")) {
		append(p->log, sizeof(p->log),
		       "%s(1): warning #177-D: of no matter\n\n"
		       "%s(7): error: identifier \"nonsense\" is undefined\n"
		       "  \tnonsense;\n\t^\n\n1 error detected.\n",
		       p->name, p->name);
		return COMPILATION_FAILED;
	}
	find_kernels(p);
	if (mode_is("garbage"))
		strcpy(p->ptx, "made by nobody");
	else if (mode_is("short"))
		p->ptx[strlen(p->ptx) - 2] = '\0';
	return read_text(p, p->name, p->text);
}

int RTC(GetProgramLogSize)(void *program, size_t *n)
{
	*n = strlen(((struct program *)program)->log) + 1;
	return FINE;
}

int RTC(GetProgramLog)(void *program, char *log)
{
	strcpy(log, ((struct program *)program)->log);
	return FINE;
}

#ifdef DOUBLE_HIPRTC

/* Returns EF_AMDGPU_MACH of the devices of the tests. */
static uint32_t machine_of(unsigned int number)
{
	return number == 0x942 ? 0x4c : number == 0x1100 ? 0x41 : 0x3f;
}

int hiprtcGetCodeSize(void *program, size_t *n)
{
	(void)program;
	*n = sizeof(struct maker_file);
	return FINE;
}

int hiprtcGetCode(void *program, char *code)
{
	const struct program *p = (const struct program *)program;
	struct maker_file *f = maker_hsaco(p->entry, machine_of(p->number));

	memcpy(code, f, sizeof(*f));
	free(f);
	return FINE;
}

#else

int nvrtcGetPTXSize(void *program, size_t *n)
{
	*n = mode_is("nothing") ? 0 :
				  strlen(((struct program *)program)->ptx) + 1;
	return FINE;
}

int nvrtcGetPTX(void *program, char *ptx)
{
	strcpy(ptx, ((struct program *)program)->ptx);
	return FINE;
}

int nvrtcGetCUBINSize(void *program, size_t *n)
{
	(void)program;
	if (!mode_is("cubin"))
		return INVALID_PROGRAM;
	*n = sizeof(struct maker_file);
	return FINE;
}

int nvrtcGetCUBIN(void *program, char *cubin)
{
	const struct program *p = (const struct program *)program;
	struct maker_file *f = maker_cubin(p->entry, p->number, 8);

	memcpy(cubin, f, sizeof(*f));
	free(f);
	return FINE;
}

#endif

int double_nvrtc_compilations(void)
{
	return compilations;
}
