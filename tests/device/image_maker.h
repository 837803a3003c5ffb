/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_IMAGE_MAKER_H
#define PEAL_TESTS_IMAGE_MAKER_H

/*
 * Makes images for tests: the smallest ELF files of a compiler's form, and PTX.
 * Each image is a heap block of its exact size, so that a sanitizer finds reads
 * beyond its end.
 */

#include <elf.h>
#include <stdint.h>

#include "peal_test.h"
#include "runtime/device/elf.h"
#include "runtime/device/image.h"

enum { MAKER_NULL, MAKER_NAMES, MAKER_SYMBOLS, MAKER_TEXT, MAKER_RODATA };
#define MAKER_SECTIONS 5
#define MAKER_CODE 128

/** Layout of the files of maker_cubin and maker_hsaco. */
struct maker_file {
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	char names[256];
	Elf64_Sym symbols[3];
	unsigned char code[MAKER_CODE];
	unsigned char descriptor[64];
	Elf64_Shdr sections[MAKER_SECTIONS];
};

static inline void *maker_copy(const void *bytes, size_t n)
{
	void *copy = malloc(n ? n : 1);

	CHECK(copy);
	memcpy(copy, bytes, n);
	return copy;
}

static inline void maker_section(struct maker_file *f, int index, uint32_t type,
				 const void *begin, size_t bytes)
{
	f->sections[index].sh_type = type;
	f->sections[index].sh_offset =
		(uint64_t)((const char *)begin - (const char *)f);
	f->sections[index].sh_size = bytes;
}

/* Makes a cubin for sm_<number> with one kernel, of the given ABI version. */
static inline struct maker_file *maker_cubin(const char *entry, uint32_t number,
					     int abi_version)
{
	struct maker_file f;

	memset(&f, 0, sizeof(f));
	memcpy(f.head.e_ident, ELFMAG, SELFMAG);
	f.head.e_ident[EI_CLASS] = ELFCLASS64;
	f.head.e_ident[EI_DATA] = ELFDATA2LSB;
	f.head.e_ident[EI_VERSION] = EV_CURRENT;
	f.head.e_ident[EI_ABIVERSION] = (unsigned char)abi_version;
	f.head.e_type = ET_EXEC;
	f.head.e_machine = PEALI_ELF_CUDA;
	f.head.e_flags = abi_version >= 8 ? number << 8 | 0x06000004 :
					    number << 16 | 0x500 | number;
	f.head.e_phoff = offsetof(struct maker_file, segment);
	f.head.e_phentsize = sizeof(f.segment);
	f.head.e_phnum = 1;
	f.head.e_shoff = offsetof(struct maker_file, sections);
	f.head.e_shentsize = sizeof(f.sections[0]);
	f.head.e_shnum = MAKER_SECTIONS;
	f.head.e_shstrndx = MAKER_NAMES;
	f.segment.p_type = PT_LOAD;
	f.segment.p_offset = offsetof(struct maker_file, code);
	f.segment.p_filesz = f.segment.p_memsz = MAKER_CODE;
	snprintf(f.names + 1, 120, "%s", entry);
	snprintf(f.names + 128, 124, "%s.kd", entry);
	maker_section(&f, MAKER_NAMES, SHT_STRTAB, f.names, sizeof(f.names));
	maker_section(&f, MAKER_SYMBOLS, SHT_SYMTAB, f.symbols,
		      sizeof(f.symbols));
	f.sections[MAKER_SYMBOLS].sh_entsize = sizeof(f.symbols[0]);
	f.sections[MAKER_SYMBOLS].sh_link = MAKER_NAMES;
	maker_section(&f, MAKER_TEXT, SHT_PROGBITS, f.code, sizeof(f.code));
	maker_section(&f, MAKER_RODATA, SHT_PROGBITS, f.descriptor,
		      sizeof(f.descriptor));
	f.symbols[1].st_name = 1;
	f.symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	f.symbols[1].st_shndx = MAKER_TEXT;
	f.symbols[1].st_size = MAKER_CODE;
	return (struct maker_file *)maker_copy(&f, sizeof(f));
}

/* Makes a code object with one kernel. `flags`: its e_flags (the machine). */
static inline struct maker_file *maker_hsaco(const char *entry, uint32_t flags)
{
	struct maker_file *f = maker_cubin(entry, 0, 2);

	f->head.e_type = ET_DYN;
	f->head.e_machine = PEALI_ELF_AMDGPU;
	f->head.e_flags = flags;
	f->sections[MAKER_SYMBOLS].sh_type = SHT_DYNSYM;
	f->sections[MAKER_TEXT].sh_addr = f->symbols[1].st_value = 0x1500;
	f->sections[MAKER_RODATA].sh_addr = 0x480;
	f->symbols[2].st_name = 128;
	f->symbols[2].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	f->symbols[2].st_shndx = MAKER_RODATA;
	f->symbols[2].st_value = 0x480;
	f->symbols[2].st_size = sizeof(f->descriptor);
	return f;
}

#define MAKER_PTX                                                              \
	"// made for tests: .entry not_this_one {\n.version 9.0\n"             \
	".target sm_75\n.address_size 64\n"                                    \
	".visible .entry peal_entry_made(\n\t.param .u64 params\n)\n"          \
	"{\n\t{ // begin inline asm\n\t}\n\tret;\n}\n"

#define MAKER_ENTRY "peal_entry_made"

static inline struct peali_image maker_image(const char *target, uint32_t kind,
					     const void *begin, size_t bytes)
{
	const struct peali_image image = { target, kind,
					   (const unsigned char *)begin,
					   bytes };

	return image;
}

static inline int maker_check(const struct peali_image *image,
			      const char *entry)
{
	return peali_image_check(image, entry, "program 'made'", "test");
}

/*
 * Checks that the image is refused. The error text contains `part` and the name
 * of the program.
 */
#define CHECK_REFUSED(image, part)                                             \
	do {                                                                   \
		CHECK_EQ(maker_check(image, MAKER_ENTRY), PEAL_EPROGRAM);      \
		CHECK_CONTAINS(peal_last_error()->text, part);                 \
		CHECK_CONTAINS(peal_last_error()->text, "program 'made'");     \
	} while (0)

#endif
