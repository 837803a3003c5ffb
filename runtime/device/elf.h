/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_ELF_H
#define PEALI_ELF_H

#include <elf.h>
#include <stdint.h>

/*
 * Reader of 64-bit little-endian ELF files from untrusted sources.
 *
 * After peali_elf_open has accepted a file, all of its structure lies inside of
 * its bytes. The structure is the headers, every section and segment, the
 * symbols and their names.
 */

/* Machine numbers that the system's elf.h may lack or name differently. */
#define PEALI_ELF_CUDA 190
#define PEALI_ELF_AMDGPU 224

struct peali_elf {
	const unsigned char *begin;
	uint64_t bytes;
	Elf64_Ehdr head; /* a copy; the bytes may be unaligned */
};

/*
 * Checks the whole structure and fills *elf. *elf refers to the bytes at
 * `begin`, so the caller keeps them. Returns 0, or PEAL_EPROGRAM. The error
 * text begins with `what` and names the damaged part.
 */
int peali_elf_open(struct peali_elf *elf, const void *begin, uint64_t bytes,
		   unsigned int machine, const char *what, const char *call);

/** Position in an enumeration of symbols; all zero at the start. */
struct peali_elf_cursor {
	uint32_t section;
	uint64_t index;
};

struct peali_elf_symbol {
	const char *name; /* points into the file's bytes */
	Elf64_Sym symbol; /* a copy */
	/*
	 * Bytes from the symbol's address to the end of its section. 0: the
	 * file does not define the symbol, or its section has no bytes in the
	 * file.
	 */
	uint64_t bytes;
};

/*
 * Finds the next symbol in the tables of a type, SHT_SYMTAB or SHT_DYNSYM.
 * Returns 1, or 0 after the last symbol.
 */
int peali_elf_next(const struct peali_elf *elf, uint32_t type,
		   struct peali_elf_cursor *at, struct peali_elf_symbol *out);
/* Finds the first symbol with a name. Returns 1, or 0 if there is none. */
int peali_elf_find(const struct peali_elf *elf, uint32_t type, const char *name,
		   struct peali_elf_symbol *out);

#endif
