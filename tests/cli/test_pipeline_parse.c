/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast */
/* Shows the results of pipeline texts, and the messages for invalid texts. */
#include "peal_test.h"

/* The command's objects are in no library. */
#include "runtime/cli/pipeline.c"

static struct peali_pipeline pipeline;
static struct peali_pipeline_error error;

static int parse(const char *text)
{
	memset(&error, 0, sizeof(error));
	return peali_pipeline_parse(text, 2, &pipeline, &error);
}

/* Checks that the text is refused at this column, with these words. */
static void refused(const char *text, uint32_t column, const char *words)
{
	struct peali_pipeline before;
	const char *caret;

	memset(&pipeline, 0x5a, sizeof(pipeline));
	before = pipeline;
	CHECK_EQ(parse(text), -EINVAL);
	CHECK(memcmp(&before, &pipeline, sizeof(before)) == 0);
	if (error.column != column)
		fprintf(stderr, "%s\n", error.text);
	CHECK_EQ(error.column, column);
	CHECK_CONTAINS(error.text, words);
	/* the caret of a short text is below its column */
	caret = strrchr(error.text, '\n');
	CHECK(caret);
	CHECK_EQ(caret[strlen(caret) - 1], '^');
	if (strlen(text) <= SHOWN_BYTES)
		CHECK_EQ(strlen(caret), 3 + column);
}

PEAL_TEST(stages_devices_and_keys_are_read)
{
	CHECK_EQ(parse("blur@0 ! sobel@1 ! threshold@0:level=96"), 0);
	CHECK_EQ(pipeline.n_stages, 3);
	CHECK_EQ(pipeline.stages[0].config.kind, PEAL_STAGE_BLUR);
	CHECK_EQ(pipeline.stages[1].device, 1);
	CHECK_EQ(pipeline.stages[2].config.kind, PEAL_STAGE_THRESHOLD);
	CHECK_EQ(pipeline.stages[2].config.level, 96);
	CHECK_EQ(pipeline.stages[2].column, 20);
	CHECK_EQ(parse("affine:a=-2.5,b=1e-3!xor:key=0xfF"), 0);
	CHECK(pipeline.stages[0].config.a == -2.5f);
	CHECK(pipeline.stages[0].config.b == 1e-3f);
	CHECK_EQ(pipeline.stages[0].device, PEALI_ANY_DEVICE);
	CHECK_EQ(pipeline.stages[1].config.key, 255);
	CHECK_EQ(parse("  xor @ 1 : key = 010 !\tsqrt "), 0);
	CHECK_EQ(pipeline.stages[0].config.key, 10);
	CHECK_EQ(pipeline.stages[0].device, 1);
}

PEAL_TEST(omitted_keys_have_defaults)
{
	CHECK_EQ(parse("threshold ! affine ! xor ! affine:b=3"), 0);
	CHECK_EQ(pipeline.stages[0].config.level, 128);
	CHECK(pipeline.stages[1].config.a == 1.0f);
	CHECK(pipeline.stages[1].config.b == 0.0f);
	CHECK_EQ(pipeline.stages[2].config.key, 0x5a);
	CHECK(pipeline.stages[3].config.a == 1.0f);
	CHECK(pipeline.stages[3].config.b == 3.0f);
}

PEAL_TEST(every_stage_kind_parses_by_its_name)
{
	uint32_t n;
	const struct peali_stage_kind *all = peali_stage_kinds(&n);

	CHECK_EQ(n, PEAL_STAGE_KINDS - 1);
	for (uint32_t i = 0; i < n; i++) {
		CHECK_EQ(parse(all[i].name), 0);
		CHECK_EQ(pipeline.stages[0].config.kind, all[i].kind);
		CHECK(all[i].help[0]);
	}
}

PEAL_TEST(missing_parts_are_named_at_their_column)
{
	refused("", 1, "the pipeline is empty");
	refused("   ", 4, "the pipeline is empty");
	refused("blur !", 6, "missing after the last '!'");
	refused("blur ! ", 6, "missing after the last '!'");
	refused("! blur", 1, "a stage is missing");
	refused("blur ! ! sobel", 8, "a stage is missing");
	refused("@1", 1, "name of a stage is missing");
	refused("blur@", 6, "device is missing after '@'");
	refused("blur@ ! sobel", 7, "device is missing after '@'");
	refused("threshold:", 11, "a key is missing");
	refused("threshold:level", 16, "'=' is missing after 'level'");
	refused("threshold:level=", 17, "a value for 'level' is missing");
	refused("affine:a=1,", 12, "a key is missing");
}

PEAL_TEST(unknown_name_error_suggests_known_names)
{
	refused("blurr", 1, "); use blur");
	refused("invert ! Sobl", 10, "); use sobel");
	refused("treshold:level=3", 1, "); use threshold");
	refused("crc32", 1, "); use crc32c");
	refused("gauss", 1,
		"stage 'gauss': is unknown (gauss, allowed blur, sobel, "
		"threshold, invert, affine, sqrt, crc32c, xor); use blur");
	refused("threshold:lvl=3", 11,
		"is no key of stage 'threshold' (lvl, allowed level); use level");
	refused("affine:c=3", 8,
		"is no key of stage 'affine' (c, allowed a, b)");
	refused("blur:size=3", 6,
		"is no key of stage 'blur' (size, allowed none); leave");
	refused("affine:a=1,a=2", 12, "'a' is given twice");
}

PEAL_TEST(invalid_value_error_names_the_range)
{
	refused("threshold:level=256", 17, "allowed 0..255); use 128");
	refused("threshold:level=-1", 17, "allowed 0..255); use 128");
	refused("threshold:level=99999999999999999999", 17,
		"allowed 0..255); use 128");
	refused("threshold:level=9.5", 17, "is no whole number (");
	refused("threshold:level=0x", 17, "is no whole number (");
	refused("xor:key=5a", 9, "is no whole number (");
	refused("affine:a=two", 10, "key 'a': is no number (");
	refused("affine:a=nan", 10, "key 'a': is no number (");
	refused("affine:a=inf", 10, "is out of range (");
	refused("affine:b=1e39", 10, "is out of range (");
	refused("blur@2", 6,
		"device '2': does not exist (2, allowed 0..1); use 0");
	refused("blur@-1", 6, "is no index (");
	refused("blur@gpu0", 6, "is no index (");
	refused("blur@4294967296", 6, "does not exist (4294967296");
	refused("blur sobel", 6, "unexpected 'sobel'");
	refused("blur|sobel", 1, "stage 'blur|sobel': is unknown");
	refused("blur@0@1", 7, "unexpected '@'");
	refused("threshold:level=3:level=4", 18, "unexpected ':'");
}

PEAL_TEST(more_than_sixteen_stages_are_refused)
{
	char text[17 * 8] = "xor";

	for (int i = 1; i < 16; i++)
		strcat(text, "!xor");
	CHECK_EQ(parse(text), 0);
	CHECK_EQ(pipeline.n_stages, 16);
	strcat(text, "!xor");
	refused(text, 65,
		"argument 'STAGE': is one stage too many (17, "
		"allowed 1..16)");
}

PEAL_TEST(error_shows_text_around_its_column)
{
	char text[5000];

	memset(text, ' ', sizeof(text));
	memcpy(text, "blur !", 6);
	memcpy(text + 3000, "blurr", 5);
	text[4999] = 0;
	refused(text, 3001, "); use blur");
	CHECK_CONTAINS(error.text, " blurr ");
	CHECK(strlen(error.text) < 400);
	memset(text, 'x', 4999);
	refused(text, 1, "stage 'xxxx");
	CHECK_CONTAINS(error.text, "...'");
}

PEAL_TEST(control_characters_do_not_reach_the_terminal)
{
	refused("bl\x1b[31mur ! x", 1, "stage 'bl?[31mur': is unknown");
	refused("blur@\x1b", 6, "device '?': is no index");
	CHECK(!strchr(error.text, '\x1b'));
}

PEAL_TEST(float_stages_are_refused_only_for_video)
{
	const char *text = "blur ! sqrt";

	CHECK_EQ(parse(text), 0);
	CHECK_EQ(peali_pipeline_check_format(&pipeline, text, 0, &error), 0);
	CHECK_EQ(peali_pipeline_check_format(&pipeline, text, 1, &error),
		 -EINVAL);
	CHECK_EQ(error.column, 8);
	CHECK_CONTAINS(error.text, "a video's samples are bytes");
	CHECK_EQ(parse("crc32c ! xor"), 0);
	CHECK_EQ(peali_pipeline_check_format(&pipeline, text, 1, &error), 0);
}

PEAL_TEST(stages_without_a_device_go_round_robin)
{
	CHECK_EQ(parse("blur ! sobel ! invert@0 ! xor"), 0);
	peali_pipeline_place(&pipeline, 2);
	CHECK_EQ(pipeline.stages[0].device, 0);
	CHECK_EQ(pipeline.stages[1].device, 1);
	CHECK_EQ(pipeline.stages[2].device, 0);
	CHECK_EQ(pipeline.stages[3].device, 1);
}

PEAL_TEST(described_stage_parses_to_same_stage)
{
	static const char *const texts[] = {
		"blur",
		"threshold@1:level=7",
		"xor:key=3",
		"affine:a=0.1,b=-3.4e38",
	};
	char text[160];

	for (int i = 0; i < 4; i++) {
		struct peali_stage stage;

		CHECK_EQ(parse(texts[i]), 0);
		stage = pipeline.stages[0];
		CHECK(peali_stage_describe(&stage, text, sizeof(text)) > 0);
		CHECK_EQ(parse(text), 0);
		CHECK_EQ(stage.device, pipeline.stages[0].device);
		CHECK(memcmp(&stage.config, &pipeline.stages[0].config,
			     sizeof(stage.config)) == 0);
	}
}

/* Checks that each text gets a result within the limits. */
PEAL_TEST(random_texts_never_crash_the_parser)
{
	static const char *const parts[] = {
		"blur", "xor", "affine", ":",	 "@",	  "!",
		",",	"=",   "key",	 "a",	 "1",	  "0x",
		"-",	" ",   "\n",	 "\xff", "1e999", "9999999999",
	};
	unsigned long long seed = 7;

	for (int round = 0; round < 200000; round++) {
		char text[256] = "";
		int n = (int)(test_random(&seed) % 12);
		int result;

		for (int i = 0; i < n; i++)
			strcat(text, parts[test_random(&seed) % 18]);
		result = parse(text);
		CHECK(result == 0 || error.column <= strlen(text) + 1);
		CHECK(result == 0 || strlen(error.text) < sizeof(error.text));
	}
}

PEAL_TEST_MAIN(RUN(stages_devices_and_keys_are_read);
	       RUN(omitted_keys_have_defaults);
	       RUN(every_stage_kind_parses_by_its_name);
	       RUN(missing_parts_are_named_at_their_column);
	       RUN(unknown_name_error_suggests_known_names);
	       RUN(invalid_value_error_names_the_range);
	       RUN(more_than_sixteen_stages_are_refused);
	       RUN(error_shows_text_around_its_column);
	       RUN(control_characters_do_not_reach_the_terminal);
	       RUN(float_stages_are_refused_only_for_video);
	       RUN(stages_without_a_device_go_round_robin);
	       RUN(described_stage_parses_to_same_stage);
	       RUN(random_texts_never_crash_the_parser);)
