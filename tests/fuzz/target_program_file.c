/* SPDX-License-Identifier: Apache-2.0 */
/* Program files: the ELF file, all its symbols, and the digest at its end. */
#include "fuzz/fuzz.h"

#include <peal/errors.h>

#include "runtime/device/elf.h"
#include "runtime/device/program_digest.h"

static void read_symbols(const struct peali_elf *elf, uint32_t type, size_t n)
{
	struct peali_elf_cursor at = { 0, 0 };
	struct peali_elf_symbol symbol;

	while (peali_elf_next(elf, type, &at, &symbol)) {
		FUZZ_CHECK(strlen(symbol.name) < n);
		FUZZ_CHECK(symbol.bytes <= n);
	}
}

FUZZ_TARGET(program_file)
{
	unsigned char *bytes = fuzz_copy(data, size);
	struct peali_elf elf;
	int result =
		peali_elf_open(&elf, bytes, size, EM_X86_64, "file", "fuzz");

	FUZZ_CHECK(!result || result == PEAL_EPROGRAM);
	FUZZ_CHECK(!result || strstr(peal_last_error()->text, "file"));
	if (!result) {
		read_symbols(&elf, SHT_SYMTAB, size);
		read_symbols(&elf, SHT_DYNSYM, size);
	}
	peali_digest_check(bytes, size);
	free(bytes);
	return 0;
}
