/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/elf.h"

#include <string.h>

#include "runtime/base/error.h"

/* The reader of ELF files: structure checks first, then access to symbols. */

/** The names that a check puts into its error text. */
struct report {
	const char *what, *call;
};

static int broken(const struct report *report, const char *part, uint64_t index)
{
	return peali_fail(PEAL_EPROGRAM, report->call,
			  "%s: %s %llu is damaged, or the file is truncated",
			  report->what, part, (unsigned long long)index);
}

static int inside(const struct peali_elf *elf, uint64_t offset, uint64_t bytes)
{
	return offset <= elf->bytes && bytes <= elf->bytes - offset;
}

/* Returns a section header. `index` is valid and the table was checked. */
static Elf64_Shdr section_at(const struct peali_elf *elf, uint32_t index)
{
	Elf64_Shdr section;

	memcpy(&section,
	       elf->begin + elf->head.e_shoff +
		       (uint64_t)index * sizeof(section),
	       sizeof(section));
	return section;
}

static Elf64_Sym symbol_at(const struct peali_elf *elf, const Elf64_Shdr *table,
			   uint64_t index)
{
	Elf64_Sym symbol;

	memcpy(&symbol, elf->begin + table->sh_offset + index * sizeof(symbol),
	       sizeof(symbol));
	return symbol;
}

static int has_symbols(const Elf64_Shdr *section)
{
	return section->sh_type == SHT_SYMTAB || section->sh_type == SHT_DYNSYM;
}

/* ---- checks -------------------------------------------------------------- */

static int check_head(const struct peali_elf *elf, unsigned int machine,
		      const struct report *report)
{
	const Elf64_Ehdr *head = &elf->head;

	if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
		return peali_fail(PEAL_EPROGRAM, report->call,
				  "%s: the header is not that of an ELF file",
				  report->what);
	if (head->e_ident[EI_CLASS] != ELFCLASS64 ||
	    head->e_ident[EI_DATA] != ELFDATA2LSB ||
	    head->e_ident[EI_VERSION] != EV_CURRENT)
		return peali_fail(PEAL_EPROGRAM, report->call,
				  "%s: the file is not a 64-bit "
				  "little-endian ELF file",
				  report->what);
	if (head->e_machine != machine)
		return peali_fail(PEAL_EPROGRAM, report->call,
				  "%s: the file is for ELF machine %u "
				  "(needed: %u)",
				  report->what, head->e_machine, machine);
	return 0;
}

static int check_segments(const struct peali_elf *elf,
			  const struct report *report)
{
	const Elf64_Ehdr *head = &elf->head;
	Elf64_Phdr segment;
	uint32_t i;

	if (!head->e_phnum)
		return 0;
	if (head->e_phentsize != sizeof(segment) ||
	    !inside(elf, head->e_phoff,
		    (uint64_t)head->e_phnum * sizeof(segment)))
		return broken(report, "the segment table at byte",
			      head->e_phoff);
	for (i = 0; i < head->e_phnum; i++) {
		memcpy(&segment,
		       elf->begin + head->e_phoff +
			       (uint64_t)i * sizeof(segment),
		       sizeof(segment));
		if (!inside(elf, segment.p_offset, segment.p_filesz))
			return broken(report, "segment", i);
	}
	return 0;
}

/* Checks a symbol table. The section itself lies inside of the file. */
static int check_symbols(const struct peali_elf *elf, uint32_t index,
			 const struct report *report)
{
	Elf64_Shdr table = section_at(elf, index), names;
	Elf64_Sym symbol;
	uint64_t i;

	if (table.sh_entsize != sizeof(symbol) ||
	    table.sh_size % sizeof(symbol) ||
	    table.sh_link >= elf->head.e_shnum)
		return broken(report, "the symbol table in section", index);
	names = section_at(elf, table.sh_link);
	if (names.sh_type != SHT_STRTAB || !names.sh_size ||
	    elf->begin[names.sh_offset + names.sh_size - 1])
		return broken(report, "the string table in section",
			      table.sh_link);
	for (i = 0; i < table.sh_size / sizeof(symbol); i++) {
		symbol = symbol_at(elf, &table, i);
		if (symbol.st_name >= names.sh_size ||
		    (symbol.st_shndx >= elf->head.e_shnum &&
		     symbol.st_shndx < SHN_LORESERVE))
			return broken(report, "symbol", i);
	}
	return 0;
}

static int check_sections(const struct peali_elf *elf,
			  const struct report *report)
{
	const Elf64_Ehdr *head = &elf->head;
	Elf64_Shdr section;
	uint32_t i, n_tables = 0, n_dynamic = 0;
	int result = 0;

	if (!head->e_shnum || head->e_shentsize != sizeof(section) ||
	    !inside(elf, head->e_shoff,
		    (uint64_t)head->e_shnum * sizeof(section)))
		return broken(report, "the section table at byte",
			      head->e_shoff);
	for (i = 0; i < head->e_shnum; i++) {
		section = section_at(elf, i);
		if (section.sh_type != SHT_NOBITS &&
		    section.sh_type != SHT_NULL &&
		    !inside(elf, section.sh_offset, section.sh_size))
			return broken(report, "section", i);
	}
	/*
	 * All sections lie inside of the file, so references between sections
	 * can be checked. More than one symbol table of a type is refused.
	 * Otherwise many sections over one table would make a short file take
	 * long.
	 */
	for (i = 0; i < head->e_shnum && !result; i++) {
		section = section_at(elf, i);
		if (!has_symbols(&section))
			continue;
		n_tables += section.sh_type == SHT_SYMTAB;
		n_dynamic += section.sh_type == SHT_DYNSYM;
		if (n_tables > 1 || n_dynamic > 1)
			return broken(report, "the symbol table in section", i);
		result = check_symbols(elf, i, report);
	}
	return result;
}

int peali_elf_open(struct peali_elf *elf, const void *begin, uint64_t bytes,
		   unsigned int machine, const char *what, const char *call)
{
	const struct report report = { what, call };
	int result;

	memset(elf, 0, sizeof(*elf));
	elf->begin = (const unsigned char *)begin;
	elf->bytes = bytes;
	if (bytes < sizeof(elf->head))
		return peali_fail(PEAL_EPROGRAM, call,
				  "%s: %llu bytes are too few for an ELF file",
				  what, (unsigned long long)bytes);
	memcpy(&elf->head, begin, sizeof(elf->head));
	result = check_head(elf, machine, &report);
	if (!result)
		result = check_segments(elf, &report);
	if (!result)
		result = check_sections(elf, &report);
	return result;
}

/* ---- symbols ------------------------------------------------------------- */

/*
 * Returns the bytes from the symbol's address to the end of its section. 0: no
 * section with bytes in the file defines the symbol.
 */
static uint64_t space_of(const struct peali_elf *elf, const Elf64_Sym *symbol)
{
	Elf64_Shdr section;

	if (symbol->st_shndx == SHN_UNDEF ||
	    symbol->st_shndx >= elf->head.e_shnum)
		return 0;
	section = section_at(elf, symbol->st_shndx);
	if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL ||
	    symbol->st_value < section.sh_addr ||
	    symbol->st_value - section.sh_addr >= section.sh_size)
		return 0;
	return section.sh_size - (symbol->st_value - section.sh_addr);
}

int peali_elf_next(const struct peali_elf *elf, uint32_t type,
		   struct peali_elf_cursor *at, struct peali_elf_symbol *out)
{
	Elf64_Shdr table, names;

	for (; at->section < elf->head.e_shnum; at->section++, at->index = 0) {
		table = section_at(elf, at->section);
		if (table.sh_type != type ||
		    at->index >= table.sh_size / sizeof(out->symbol))
			continue;
		names = section_at(elf, table.sh_link);
		out->symbol = symbol_at(elf, &table, at->index++);
		out->name = (const char *)elf->begin + names.sh_offset +
			    out->symbol.st_name;
		out->bytes = space_of(elf, &out->symbol);
		return 1;
	}
	return 0;
}

int peali_elf_find(const struct peali_elf *elf, uint32_t type, const char *name,
		   struct peali_elf_symbol *out)
{
	struct peali_elf_cursor at = { 0, 0 };

	while (peali_elf_next(elf, type, &at, out))
		if (!strcmp(out->name, name))
			return 1;
	return 0;
}
