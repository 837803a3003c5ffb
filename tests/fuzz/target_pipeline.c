/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline of `peal run`: the first byte is the number of devices. */
#include "fuzz/fuzz.h"

#include <errno.h>

#include "runtime/cli/pipeline.h"

static void check_stage(const struct peali_stage *stage, uint32_t n_devices,
			size_t n)
{
	FUZZ_CHECK(stage->kind);
	FUZZ_CHECK(stage->device >= -1);
	FUZZ_CHECK(!n_devices || stage->device < (int)n_devices);
	FUZZ_CHECK(stage->column >= 1 && stage->column <= n);
}

/* A description of the stages has to be the text of an equal pipeline. */
static void check_again(const struct peali_pipeline *pipeline)
{
	struct peali_pipeline_error error;
	struct peali_pipeline again;
	char text[4096] = "", stage[256];
	uint32_t i;

	for (i = 0; i < pipeline->n_stages; i++) {
		peali_stage_describe(&pipeline->stages[i], stage,
				     sizeof(stage));
		strcat(strcat(text, i ? " ! " : ""), stage);
	}
	FUZZ_CHECK(!peali_pipeline_parse(text, 0, &again, &error));
	FUZZ_CHECK(again.n_stages == pipeline->n_stages);
	for (i = 0; i < again.n_stages; i++) {
		FUZZ_CHECK(again.stages[i].device ==
			   pipeline->stages[i].device);
		FUZZ_CHECK(!memcmp(&again.stages[i].config,
				   &pipeline->stages[i].config,
				   sizeof(again.stages[i].config)));
	}
}

FUZZ_TARGET(pipeline)
{
	struct fuzz_input in = { data, size };
	uint32_t n_devices = fuzz_u8(&in), i;
	struct peali_pipeline_error error;
	struct peali_pipeline pipeline;
	char *text = fuzz_text(in.at, in.left);
	int result = peali_pipeline_parse(text, n_devices, &pipeline, &error);

	if (result) {
		FUZZ_CHECK(result == -EINVAL && error.text[0]);
		FUZZ_CHECK(error.column >= 1 &&
			   error.column <= strlen(text) + 1);
	} else {
		FUZZ_CHECK(pipeline.n_stages >= 1);
		for (i = 0; i < pipeline.n_stages; i++)
			check_stage(&pipeline.stages[i], n_devices,
				    strlen(text));
		if (peali_pipeline_check_format(&pipeline, text, 1, &error))
			FUZZ_CHECK(error.text[0]);
		check_again(&pipeline);
	}
	free(text);
	return 0;
}
