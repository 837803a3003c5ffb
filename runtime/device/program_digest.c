/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the digest of a program file. See program_digest.h. */
#include "runtime/device/program_digest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_BYTES 64
#define DIGEST_WORDS 8
/* Bytes of the digest's line: the word, the digits and the newline. */
#define WORD_BYTES (sizeof(PEALI_DIGEST_WORD) - 1)
#define DIGEST_LINE_BYTES (WORD_BYTES + DIGEST_WORDS * 8 + 1)

/* ---- SHA-256, as in FIPS 180-4 ------------------------------------------- */

static const uint32_t round_constants[BLOCK_BYTES] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
	0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
	0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
	0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

static uint32_t turn(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static void schedule(const unsigned char *block, uint32_t w[BLOCK_BYTES])
{
	int i;

	for (i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 |
		       (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (; i < BLOCK_BYTES; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^
			w[i - 15] >> 3) +
		       (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^
			w[i - 2] >> 10);
}

/* Processes one block. s[0] to s[7] are a to h in the standard. */
static void take_block(uint32_t digest[DIGEST_WORDS],
		       const unsigned char *block)
{
	uint32_t w[BLOCK_BYTES], s[DIGEST_WORDS], t1, t2;
	int i;

	schedule(block, w);
	memcpy(s, digest, sizeof(s));
	for (i = 0; i < BLOCK_BYTES; i++) {
		t1 = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) +
		     ((s[4] & s[5]) ^ (~s[4] & s[6])) + round_constants[i] +
		     w[i];
		t2 = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) +
		     ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
		memmove(s + 1, s, sizeof(s) - sizeof(s[0]));
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (i = 0; i < DIGEST_WORDS; i++)
		digest[i] += s[i];
}

static void sha256(const unsigned char *bytes, size_t n,
		   uint32_t digest[DIGEST_WORDS])
{
	static const uint32_t begin[DIGEST_WORDS] = { 0x6a09e667, 0xbb67ae85,
						      0x3c6ef372, 0xa54ff53a,
						      0x510e527f, 0x9b05688c,
						      0x1f83d9ab, 0x5be0cd19 };
	unsigned char last[2 * BLOCK_BYTES] = { 0 };
	size_t whole = n / BLOCK_BYTES * BLOCK_BYTES, rest = n - whole, i;
	size_t end = rest + 9 > BLOCK_BYTES ? 2 * BLOCK_BYTES : BLOCK_BYTES;

	memcpy(digest, begin, sizeof(begin));
	for (i = 0; i < whole; i += BLOCK_BYTES)
		take_block(digest, bytes + i);
	memcpy(last, bytes + whole, rest);
	last[rest] = 0x80;
	for (i = 0; i < 8; i++)
		last[end - 1 - i] = (unsigned char)((uint64_t)n * 8 >> 8 * i);
	for (i = 0; i < end; i += BLOCK_BYTES)
		take_block(digest, last + i);
}

/* ---- the digest line ----------------------------------------------------- */

int peali_digest_check(const unsigned char *bytes, size_t n)
{
	uint32_t digest[DIGEST_WORDS];
	char line[DIGEST_LINE_BYTES + 1];
	int i, at = (int)WORD_BYTES;

	if (n < DIGEST_LINE_BYTES || memcmp(bytes + n - DIGEST_LINE_BYTES,
					    PEALI_DIGEST_WORD, WORD_BYTES) != 0)
		return 0;
	n -= DIGEST_LINE_BYTES;
	sha256(bytes, n, digest);
	memcpy(line, PEALI_DIGEST_WORD, WORD_BYTES);
	for (i = 0; i < DIGEST_WORDS; i++)
		at += snprintf(line + at, sizeof(line) - (size_t)at, "%08x",
			       digest[i]);
	line[at] = '\n';
	return memcmp(bytes + n, line, DIGEST_LINE_BYTES) ? -1 : 1;
}
