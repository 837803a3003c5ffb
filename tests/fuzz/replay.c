/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target without libFuzzer: replay TARGET PATH [MUTATIONS]. PATH is
 * an input, or a folder of inputs. The target also gets mutations of each
 * input, 200 by default. They depend only on the inputs.
 *
 * If the target ends the process, the last line of stderr names the input. The
 * input is then in the file replay-TARGET of the current folder.
 */
#include "fuzz/replay.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MUTATIONS 200
#define GROWTH 64 /* bytes that mutations may add to an input */
#define SECONDS 60 /* most seconds of one input */

struct input {
	char *path;
	uint8_t *bytes;
	size_t n;
};

static struct {
	const struct fuzz_target *target;
	const char *path;
	unsigned long mutation; /* 0: the input itself */
	const uint8_t *bytes;
	size_t n;
} current;

static int planted(const uint8_t *data, size_t size)
{
	if (size > 5 && !memcmp(data, "fault", 5))
		abort();
	return 0;
}

/* A target with a fault, for a test of this program. */
static const struct fuzz_target planted_target = { "planted", planted };

/* ---- failures ------------------------------------------------------------ */

static void keep_input(void)
{
	char name[96];
	int fd;

	snprintf(name, sizeof(name), "replay-%s", current.target->name);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, current.bytes, current.n) < 0)
		fprintf(stderr, "file '%s': cannot be written\n", name);
	if (fd >= 0)
		close(fd);
}

/* Not safe in a signal handler, but the process ends anyway. */
static void on_signal(int number)
{
	signal(number, SIG_DFL);
	keep_input();
	fprintf(stderr, "target '%s': %s ends %s, mutation %lu\n",
		current.target->name, strsignal(number), current.path,
		current.mutation);
	raise(number);
}

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>

static void on_death(void)
{
	keep_input();
	fprintf(stderr, "target '%s': a sanitizer ends %s, mutation %lu\n",
		current.target->name, current.path, current.mutation);
}
#endif

static void watch_failures(void)
{
	static const int signals[] = { SIGABRT, SIGSEGV, SIGBUS,
				       SIGFPE,	SIGILL,	 SIGALRM };
	size_t i;

#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_set_death_callback(on_death);
#endif
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], on_signal);
}

/* ---- mutations ----------------------------------------------------------- */

/* The generator splitmix64. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* Writes a value with a rare property: limits, signs, ASCII. */
static void write_edge(uint8_t *at, size_t left, uint64_t random)
{
	static const uint64_t edges[] = { 0,	      1,	  0x7f,
					  0x80,	      0xff,	  0x7fff,
					  0xffff,     0x7fffffff, 0x80000000,
					  UINT32_MAX, INT64_MAX,  1ULL << 63,
					  UINT64_MAX, '\n',	  ' ',
					  '9' };
	size_t bytes = (size_t)1 << random % 4;

	memcpy(at, &edges[random / 4 % 16], bytes < left ? bytes : left);
}

static void insert(uint8_t *bytes, size_t *n, size_t at, size_t count,
		   const uint8_t *from)
{
	memmove(bytes + at + count, bytes + at, *n - at);
	memcpy(bytes + at, from, count);
	*n += count;
}

/* Changes the bytes once. Their block has a capacity of `most`. */
static void change(uint8_t *bytes, size_t *n, size_t most, uint64_t *random,
		   const struct input *other)
{
	uint64_t r = next_random(random);
	size_t at = *n ? (size_t)(next_random(random) % *n) : 0;
	size_t count = 1 + (size_t)(r >> 8) % 16;
	size_t from = other->n ? (size_t)(next_random(random) % other->n) : 0;

	if (*n && r % 8 < 2) {
		bytes[at] ^= (uint8_t)(1u << (r >> 16) % 8);
	} else if (*n && r % 8 == 2) {
		bytes[at] = (uint8_t)(r >> 16);
	} else if (*n && r % 8 < 5) {
		write_edge(bytes + at, *n - at, r >> 16);
	} else if (*n && r % 8 == 5) { /* without some bytes */
		count = count < *n - at ? count : *n - at;
		memmove(bytes + at, bytes + at + count, *n - at - count);
		*n -= count;
	} else if (*n && r % 8 == 6 && r >> 60 == 0) { /* the begin only */
		*n = at;
	} else if (other->n && *n + count <= most) { /* bytes of an input */
		count = count < other->n - from ? count : other->n - from;
		insert(bytes, n, at, count, other->bytes + from);
	}
}

/* ---- inputs -------------------------------------------------------------- */

static void run(const uint8_t *bytes, size_t n, unsigned long mutation)
{
	uint8_t *exact = malloc(n ? n : 1); /* so that sanitizers see its end */

	if (!exact)
		exit(1);
	memcpy(exact, bytes, n);
	current.mutation = mutation;
	current.bytes = exact;
	current.n = n;
	alarm(SECONDS);
	current.target->run(exact, n);
	alarm(0);
	free(exact);
}

static void run_all(const struct input *inputs, int n_inputs, int index,
		    unsigned long mutations)
{
	const struct input *input = &inputs[index];
	size_t most = input->n + GROWTH, n;
	uint8_t *bytes = malloc(most);
	uint64_t random = 1, changes;
	unsigned long i;

	if (!bytes)
		exit(1);
	current.path = input->path;
	run(input->bytes, input->n, 0);
	for (i = 1; i <= mutations; i++) {
		memcpy(bytes, input->bytes, input->n);
		n = input->n;
		for (changes = 1 + next_random(&random) % 4; changes; changes--)
			change(bytes, &n, most, &random,
			       &inputs[next_random(&random) %
				       (uint64_t)n_inputs]);
		run(bytes, n, i);
	}
	free(bytes);
}

static struct input read_input(const char *path)
{
	struct input input = { strdup(path), NULL, 0 };
	FILE *file = fopen(path, "rb");
	struct stat is;

	if (!file || fstat(fileno(file), &is) || !input.path) {
		fprintf(stderr, "input '%s': cannot be read\n", path);
		exit(2);
	}
	input.n = (size_t)is.st_size;
	input.bytes = malloc(input.n + 1);
	if (!input.bytes || fread(input.bytes, 1, input.n, file) != input.n) {
		fprintf(stderr, "input '%s': cannot be read\n", path);
		exit(2);
	}
	fclose(file);
	return input;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Reads all inputs of a folder, sorted by name, or one input. */
static struct input *read_inputs(const char *path, int *n_out)
{
	struct dirent **names;
	int n = scandir(path, &names, is_visible, alphasort), i;
	struct input *inputs = calloc(n > 0 ? (size_t)n : 1, sizeof(*inputs));
	char name[4096];

	if (!inputs)
		exit(1);
	if (n < 0)
		inputs[0] = read_input(path);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, names[i]->d_name);
		inputs[i] = read_input(name);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	*n_out = n < 0 ? 1 : n;
	return inputs;
}

static const struct fuzz_target *find_target(const char *name)
{
	const struct fuzz_target *target;

	if (!strcmp(name, planted_target.name))
		return &planted_target;
	for (target = fuzz_targets; target->name; target++)
		if (!strcmp(target->name, name))
			return target;
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long mutations = argc > 3 ? strtoul(argv[3], NULL, 10) :
					     MUTATIONS;
	const struct fuzz_target *target;
	struct input *inputs;
	int n, i;

	current.target = argc > 2 ? find_target(argv[1]) : NULL;
	if (!current.target) {
		fprintf(stderr, "usage: %s TARGET PATH [MUTATIONS]\ntargets:\n",
			argv[0]);
		for (target = fuzz_targets; target->name; target++)
			fprintf(stderr, "  %s\n", target->name);
		return 2;
	}
	inputs = read_inputs(argv[2], &n);
	if (!n) {
		fprintf(stderr, "folder '%s': has no inputs\n", argv[2]);
		return 2;
	}
	watch_failures();
	for (i = 0; i < n; i++)
		run_all(inputs, n, i, mutations);
	printf("%s: %d inputs, %lu mutations each\n", current.target->name, n,
	       mutations);
	for (i = 0; i < n; i++) {
		free(inputs[i].path);
		free(inputs[i].bytes);
	}
	free(inputs);
	return 0;
}
