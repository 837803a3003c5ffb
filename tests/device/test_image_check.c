/* SPDX-License-Identifier: Apache-2.0 */
/* Shows that each invalid image is refused, without a read beyond its end. */
#include <peal/errors.h>

#include "device/image_maker.h"

PEAL_DECLARE_PROGRAM(peal_stages);

static struct peali_image cubin_image(const struct maker_file *f)
{
	return maker_image("sm_90", PEAL_IMAGE_CUBIN, f, sizeof(*f));
}

static struct peali_image hsaco_image(const struct maker_file *f)
{
	return maker_image("gfx90a", PEAL_IMAGE_HSACO, f, sizeof(*f));
}

PEAL_TEST(cubins_of_both_abi_versions_are_accepted)
{
	struct maker_file *f = maker_cubin(MAKER_ENTRY, 90, 7);
	struct peali_image image = cubin_image(f);

	CHECK_OK(maker_check(&image, MAKER_ENTRY));
	f->head.e_flags = 0x6005a04;
	f->head.e_ident[EI_ABIVERSION] = 8;
	CHECK_OK(maker_check(&image, MAKER_ENTRY));
	image.target = "sm_90a";
	CHECK_OK(maker_check(&image, MAKER_ENTRY));
	free(f);
}

PEAL_TEST(cubin_of_another_target_or_kernel_is_refused)
{
	struct maker_file *f = maker_cubin(MAKER_ENTRY, 80, 8);
	struct peali_image image = cubin_image(f);

	CHECK_REFUSED(&image, "is for sm_80");
	f->head.e_flags = 90 << 8;
	CHECK_OK(maker_check(&image, MAKER_ENTRY));
	CHECK_EQ(maker_check(&image, "peal_entry_mad"), PEAL_EPROGRAM);
	CHECK_CONTAINS(peal_last_error()->text, "no function peal_entry_mad");
	image.target = "gfx90a";
	CHECK_REFUSED(&image, "sm_NN");
	image.target = "sm_90b";
	CHECK_REFUSED(&image, "sm_NN");
	image = cubin_image(f);
	image.kind = 77;
	CHECK_REFUSED(&image, "'made': has an unknown kind (77, allowed 1..3)");
	image.kind = PEAL_IMAGE_HSACO;
	CHECK_REFUSED(&image, "machine 190 (needed: 224)");
	free(f);
}

PEAL_TEST(code_objects_need_machine_and_kernel_descriptor)
{
	struct maker_file *f = maker_hsaco(MAKER_ENTRY, 0x53f);
	struct peali_image image = hsaco_image(f);

	CHECK_OK(maker_check(&image, MAKER_ENTRY));
	image.target = "gfx9999"; /* an unknown target */
	CHECK_OK(maker_check(&image, MAKER_ENTRY));
	image.target = "gfx942";
	CHECK_REFUSED(&image, "0x3f, gfx942 is 0x4c");
	image.target = "gfx90a";
	f->symbols[2].st_size = 32;
	CHECK_REFUSED(&image, "no kernel peal_entry_made");
	f->symbols[2].st_size = 64;
	f->symbols[2].st_value = 0x481; /* reaches beyond its section */
	CHECK_REFUSED(&image, "no kernel peal_entry_made");
	f->symbols[2].st_value = 0x480;
	f->head.e_type = ET_REL;
	CHECK_REFUSED(&image, "not linked");
	free(f);
}

PEAL_TEST(damaged_image_error_names_the_defect)
{
	struct maker_file *f = maker_cubin(MAKER_ENTRY, 90, 8);
	const struct maker_file good = *f;
	struct peali_image image = cubin_image(f);

#define DAMAGE(change, part)                                                   \
	do {                                                                   \
		change;                                                        \
		CHECK_REFUSED(&image, part);                                   \
		*f = good;                                                     \
	} while (0)
	DAMAGE(f->head.e_ident[0] = 0, "header is not that of an ELF");
	DAMAGE(f->head.e_ident[EI_CLASS] = ELFCLASS32, "64-bit");
	DAMAGE(f->head.e_ident[EI_DATA] = ELFDATA2MSB, "little-endian");
	DAMAGE(f->head.e_type = ET_REL, "not linked");
	DAMAGE(f->head.e_phoff = UINT64_MAX, "segment table");
	DAMAGE(f->head.e_phentsize = 0, "segment table");
	DAMAGE(f->segment.p_offset = UINT64_MAX, "segment 0");
	DAMAGE(f->segment.p_filesz = UINT64_MAX, "segment 0");
	DAMAGE(f->head.e_shnum = 0, "section table");
	DAMAGE(f->head.e_shnum = 0xffff, "section table");
	DAMAGE(f->head.e_shoff = UINT64_MAX - 8, "section table");
	DAMAGE(f->sections[MAKER_TEXT].sh_offset = sizeof(*f), "section 3");
	DAMAGE(f->sections[MAKER_TEXT].sh_size = UINT64_MAX, "section 3");
	DAMAGE(f->sections[MAKER_SYMBOLS].sh_link = 5, "symbol table");
	DAMAGE(f->sections[MAKER_SYMBOLS].sh_entsize = 0, "symbol table");
	DAMAGE(f->sections[MAKER_SYMBOLS].sh_size--, "symbol table");
	DAMAGE(f->sections[MAKER_NULL] = f->sections[MAKER_SYMBOLS],
	       "symbol table in section 2");
	DAMAGE(f->names[255] = 'x', "string table");
	DAMAGE(f->sections[MAKER_NAMES].sh_size = 0, "string table");
	DAMAGE(f->symbols[2].st_name = 256, "symbol 2");
	DAMAGE(f->symbols[2].st_shndx = 5, "symbol 2");
	DAMAGE(f->symbols[1].st_shndx = SHN_UNDEF, "no function");
	DAMAGE(f->symbols[1].st_value = UINT64_MAX, "no function");
	DAMAGE(f->symbols[1].st_size = MAKER_CODE + 1, "no function");
	DAMAGE(f->symbols[1].st_info = STT_OBJECT, "no function");
#undef DAMAGE
	image.bytes = 63;
	CHECK_REFUSED(&image, "63 bytes");
	free(f);
}

PEAL_TEST(ptx_needs_version_target_and_kernel)
{
	static const struct {
		const char *text, *part;
	} cases[] = {
		{ "", "no .version" },
		{ ".target sm_75\n.entry peal_entry_made() {}", "no .version" },
		{ ".version 9.0\n.entry peal_entry_made() {}", "no .target" },
		{ ".version 9.0\n.target sm_\n.entry peal_entry_made() {}",
		  "no .target" },
		{ ".version 9.0\n.target sm_80\n.entry peal_entry_made() {}",
		  "is for sm_80" },
		{ ".version 9.0\n.target sm_75a\n.entry peal_entry_made() {}",
		  "is for sm_75a" },
		{ ".version 9.0\n.target sm_75\n.entry peal_entry_made() {",
		  "braces" },
		{ ".version 9.0\n.target sm_75\n.entry peal_entry_made() {}}",
		  "braces" },
		{ ".version 9.0\n.target sm_75\n.entry peal_entry_made();",
		  "no kernel" },
		{ ".version 9.0\n.target sm_75\n.entry peal_entry_made2() {}",
		  "no kernel" },
		{ ".version 9.0\n.target sm_75\n// .entry peal_entry_made() {}",
		  "no kernel" },
		{ ".version 9.0\n.target sm_75\n/* .entry peal_entry_made {}",
		  "no kernel" },
		{ ".version 9.0\n.target sm_75\n\".entry peal_entry_made {}",
		  "no kernel" },
	};
	struct peali_image image;
	size_t i;
	char *text;

	text = (char *)maker_copy(MAKER_PTX, sizeof(MAKER_PTX));
	image = maker_image("compute_75", PEAL_IMAGE_PTX, text,
			    sizeof(MAKER_PTX));
	CHECK_OK(maker_check(&image, MAKER_ENTRY));
	image.target = "compute_70";
	CHECK_REFUSED(&image, "is for sm_75");
	image.target = "sm_75";
	CHECK_REFUSED(&image, "compute_NN");
	image.target = "compute_75";
	image.bytes--;
	CHECK_REFUSED(&image, "does not end with a zero");
	image.bytes = 0;
	CHECK_REFUSED(&image, "0 bytes does not end with a zero");
	free(text);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text = (char *)maker_copy(cases[i].text,
					  strlen(cases[i].text) + 1);
		image = maker_image("compute_75", PEAL_IMAGE_PTX, text,
				    strlen(text) + 1);
		CHECK_REFUSED(&image, cases[i].part);
		free(text);
	}
}

/* ---- any bytes ----------------------------------------------------------- */

/* Checks that each beginning of an image is refused. */
static void cut_everywhere(const struct peali_image *whole, const char *entry,
			   size_t step)
{
	struct peali_image part = *whole;
	unsigned char *bytes;
	size_t n;

	for (n = 0; n < whole->bytes; n += step) {
		bytes = (unsigned char *)maker_copy(whole->begin, n);
		part.begin = bytes;
		part.bytes = n;
		CHECK_EQ(maker_check(&part, entry), PEAL_EPROGRAM);
		free(bytes);
	}
}

/* Damages each byte of the region in some ways. Each image gets a result. */
static void flip_each(const struct peali_image *whole, const char *entry,
		      size_t from, size_t to)
{
	static const unsigned char masks[] = { 0x01, 0x80, 0xff };
	unsigned char *bytes =
		(unsigned char *)maker_copy(whole->begin, whole->bytes);
	struct peali_image image = *whole;
	size_t i, m;
	int result;

	image.begin = bytes;
	for (i = from; i < to && i < whole->bytes; i++) {
		for (m = 0; m < sizeof(masks); m++) {
			bytes[i] ^= masks[m];
			result = maker_check(&image, entry);
			CHECK(result == 0 || result == PEAL_EPROGRAM);
			bytes[i] ^= masks[m];
		}
	}
	free(bytes);
}

/* Damages some random bytes at a time. */
static void flip_many(const struct peali_image *whole, const char *entry,
		      int times)
{
	unsigned long long seed = 7;
	struct peali_image image = *whole;
	unsigned char *bytes;
	int i, k, result;

	for (i = 0; i < times; i++) {
		bytes = (unsigned char *)maker_copy(whole->begin, whole->bytes);
		for (k = 0; k < 4; k++)
			bytes[test_random(&seed) % whole->bytes] =
				(unsigned char)test_random(&seed);
		image.begin = bytes;
		result = maker_check(&image, entry);
		CHECK(result == 0 || result == PEAL_EPROGRAM);
		free(bytes);
	}
}

static void torment(const struct peali_image *whole, const char *entry)
{
	CHECK_OK(maker_check(whole, entry));
	cut_everywhere(whole, entry, 1);
	flip_each(whole, entry, 0, whole->bytes);
	flip_many(whole, entry, 20000);
}

PEAL_TEST(random_image_bytes_never_crash_the_check)
{
	struct maker_file *f = maker_cubin(MAKER_ENTRY, 90, 8);
	struct peali_image image = cubin_image(f);
	char *text;

	torment(&image, MAKER_ENTRY);
	free(f);
	f = maker_hsaco(MAKER_ENTRY, 0x53f);
	image = hsaco_image(f);
	torment(&image, MAKER_ENTRY);
	free(f);
	text = (char *)maker_copy(MAKER_PTX, sizeof(MAKER_PTX));
	image = maker_image("compute_75", PEAL_IMAGE_PTX, text,
			    sizeof(MAKER_PTX));
	torment(&image, MAKER_ENTRY);
	free(text);
}

PEAL_TEST(compiled_images_pass_and_damaged_images_fail)
{
	const struct peal_image *own = peal_program_peal_stages.images;
	struct peali_image image;
	uint64_t table;

	if (!own || !own->target)
		printf("    no device compiler made images here\n");
	for (; own && own->target; own++) {
		printf("    %s\n", own->target);
		image = maker_image(own->target, own->kind, own->begin,
				    (size_t)(own->end - own->begin));
		CHECK_OK(maker_check(&image, "peal_entry_peal_stages"));
		CHECK_EQ(maker_check(&image, "peal_entry_stage"),
			 PEAL_EPROGRAM);
		cut_everywhere(&image, "peal_entry_peal_stages", 997);
		flip_each(&image, "peal_entry_peal_stages", 0,
			  sizeof(Elf64_Ehdr));
		flip_many(&image, "peal_entry_peal_stages", 200);
		if (own->kind == PEAL_IMAGE_PTX)
			continue;
		memcpy(&table, own->begin + offsetof(Elf64_Ehdr, e_shoff),
		       sizeof(table));
		flip_each(&image, "peal_entry_peal_stages", table,
			  table + 4 * sizeof(Elf64_Shdr));
		image.bytes--; /* its last byte belongs to a table */
		CHECK_EQ(maker_check(&image, "peal_entry_peal_stages"),
			 PEAL_EPROGRAM);
	}
}

PEAL_TEST_MAIN(RUN(cubins_of_both_abi_versions_are_accepted);
	       RUN(cubin_of_another_target_or_kernel_is_refused);
	       RUN(code_objects_need_machine_and_kernel_descriptor);
	       RUN(damaged_image_error_names_the_defect);
	       RUN(ptx_needs_version_target_and_kernel);
	       RUN(random_image_bytes_never_crash_the_check);
	       RUN(compiled_images_pass_and_damaged_images_fail);)
