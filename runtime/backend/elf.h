/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_ELF_H
#define PEALI_ELF_H

#include <elf.h>
#include <stdint.h>

/*
 * A reader of ELF files of 64 bits, little endian, whose bytes nobody vouches
 * for. What peali_elf_open has accepted lies inside of the bytes: the headers,
 * every section and segment, the symbols and their names.
 */

/* Machines that the system's elf.h may not know, or name otherwise. */
#define PEALI_ELF_CUDA 190
#define PEALI_ELF_AMDGPU 224

struct peali_elf {
	const unsigned char *begin;
	uint64_t bytes;
	Elf64_Ehdr head; /* a copy; the bytes may be unaligned */
};

/*
 * Checks all structure and fills *elf, which goes on pointing to the bytes.
 * Returns 0, or PEAL_EPROGRAM with `what`, what is wrong and where.
 */
int peali_elf_open(struct peali_elf *elf, const void *begin, uint64_t bytes,
		   unsigned int machine, const char *what, const char *call);

/** Where an enumeration of symbols is; all zero at first. */
struct peali_elf_cursor {
	uint32_t section;
	uint64_t index;
};

struct peali_elf_symbol {
	const char *name; /* in the file's bytes */
	Elf64_Sym symbol; /* a copy */
	/* Bytes of its section from its address on; 0: it is not defined
	 * here, or in no section that has bytes in the file. */
	uint64_t room;
};

/* The next symbol of the tables of a type, SHT_SYMTAB or SHT_DYNSYM: 1, or 0. */
int peali_elf_next(const struct peali_elf *elf, uint32_t type,
		   struct peali_elf_cursor *at, struct peali_elf_symbol *out);
/* The symbol of a name: 1, or 0. */
int peali_elf_find(const struct peali_elf *elf, uint32_t type, const char *name,
		   struct peali_elf_symbol *out);

#endif
