/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_FUZZ_H
#define PEAL_TESTS_FUZZ_H

/*
 * A fuzz target is a file target_<name>.c with one function FUZZ_TARGET(name).
 * The function feeds `size` bytes at `data` to a parser and checks its results.
 * It returns 0. libFuzzer calls it with new inputs (`./dev fuzz`). The CTest
 * test fuzz/<name> calls it with the inputs of corpus/<name> and with mutations
 * of them, see replay.c.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FUZZ_LIBFUZZER
#define FUZZ_TARGET(name)                                                      \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);          \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
#else
#define FUZZ_TARGET(name)                                                      \
	int fuzz_target_##name(const uint8_t *data, size_t size);              \
	int fuzz_target_##name(const uint8_t *data, size_t size)
#endif

/* Ends the process if a result of the parser is wrong. */
#define FUZZ_CHECK(condition)                                                  \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__,       \
				__LINE__, #condition);                         \
			abort();                                               \
		}                                                              \
	} while (0)

/** The rest of an input. A target takes values from its begin. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

/* Takes n bytes. Bytes beyond the end of the input are 0. */
static inline void fuzz_take(struct fuzz_input *in, void *to, size_t n)
{
	size_t taken = n < in->left ? n : in->left;

	memset(to, 0, n);
	if (taken)
		memcpy(to, in->at, taken);
	in->at += taken;
	in->left -= taken;
}

static inline uint8_t fuzz_u8(struct fuzz_input *in)
{
	uint8_t value;

	fuzz_take(in, &value, sizeof(value));
	return value;
}

static inline uint64_t fuzz_u64(struct fuzz_input *in)
{
	uint64_t value;

	fuzz_take(in, &value, sizeof(value));
	return value;
}

/*
 * Copies bytes to a heap block of exactly n bytes. So AddressSanitizer finds
 * each access beyond them. The caller frees the block.
 */
static inline void *fuzz_copy(const void *bytes, size_t n)
{
	void *copy = malloc(n ? n : 1);

	FUZZ_CHECK(copy);
	if (n)
		memcpy(copy, bytes, n);
	return copy;
}

/* Copies n bytes to a heap block of n + 1 bytes that ends with 0. */
static inline char *fuzz_text(const void *bytes, size_t n)
{
	char *text = malloc(n + 1);

	FUZZ_CHECK(text);
	if (n)
		memcpy(text, bytes, n);
	text[n] = 0;
	return text;
}

/*
 * Takes a text that ends with a newline or at the end of the input. The caller
 * frees it.
 */
static inline char *fuzz_line(struct fuzz_input *in)
{
	const uint8_t *end = in->left ? memchr(in->at, '\n', in->left) : NULL;
	size_t n = end ? (size_t)(end - in->at) : in->left;
	char *text = fuzz_text(in->at, n);

	n += end != NULL;
	in->at += n;
	in->left -= n;
	return text;
}

/*
 * Returns a new folder for the files of this process. The folder is removed
 * when the process ends.
 */
const char *fuzz_folder(void);
/* Writes a file of fuzz_folder(). Makes missing folders of its path. */
void fuzz_write(const char *path, const void *bytes, size_t n);

#endif
