/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_PIPELINE_H
#define PEAL_RUNTIME_CLI_PIPELINE_H

/*
 * The text of a pipeline and what it stands for:
 *
 *	STAGE[@DEVICE][:KEY=VALUE[,KEY=VALUE]...] [! STAGE ...]
 *
 * Spaces may stand between the parts. Nothing here touches the runtime.
 */

#include <stddef.h>
#include <stdint.h>

#include <peal/abi/stage.h>

#define PEALI_STAGES_MAX 16
#define PEALI_STAGE_KEYS_MAX 2
#define PEALI_ANY_DEVICE (-1)

/* What a stage works on. */
enum peali_stage_domain {
	PEALI_ON_BYTES, /* any body; of a video the luma plane */
	PEALI_ON_FLOATS, /* any body but a picture, as f32 */
	PEALI_ON_BODY /* any body, whole */
};

enum peali_key_type { PEALI_KEY_UINT, PEALI_KEY_FLOAT };

struct peali_stage_key {
	const char *name; /* NULL: no more keys */
	enum peali_key_type type;
	size_t offset; /* in struct peal_stage_config */
	double value; /* if not given */
	double least;
	double most;
	const char *help;
};

struct peali_stage_kind {
	const char *name;
	enum peal_stage_kind kind;
	enum peali_stage_domain domain;
	const char *help;
	struct peali_stage_key keys[PEALI_STAGE_KEYS_MAX + 1];
};

struct peali_stage {
	const struct peali_stage_kind *kind;
	int device; /* PEALI_ANY_DEVICE: none was named */
	struct peal_stage_config config;
	uint32_t column; /* of the name in the text, from 1 */
	uint32_t device_column; /* of the device, 0 if none was named */
};

struct peali_pipeline {
	uint32_t n_stages;
	struct peali_stage stages[PEALI_STAGES_MAX];
};

/*
 * `text` is three lines: the column and what is wrong, the pipeline (the part
 * around the column if it is long), a caret below the place.
 */
struct peali_pipeline_error {
	uint32_t column; /* in bytes, from 1 */
	char text[768];
};

/**
 * Parses a pipeline.
 *
 * @param text the text, without a newline.
 * @param n_devices devices that there are; 0: not known, any index passes.
 * @param pipeline_out written on success only.
 * @param error_out written on failure only.
 * @return 0 or -EINVAL. Thread-safe.
 */
int peali_pipeline_parse(const char *text, uint32_t n_devices,
			 struct peali_pipeline *pipeline_out,
			 struct peali_pipeline_error *error_out);

/**
 * Whether all stages can work on what a format delivers.
 *
 * @param text what the pipeline was parsed from, for the message.
 * @param image 1 if bodies are pictures (struct peali_format.image).
 * @return 0 or -EINVAL.
 */
int peali_pipeline_check_format(const struct peali_pipeline *pipeline,
				const char *text, int image,
				struct peali_pipeline_error *error_out);

/**
 * Gives stages without a device one: the stage's position modulo n_devices.
 */
void peali_pipeline_place(struct peali_pipeline *pipeline, uint32_t n_devices);

/**
 * A stage as text that parses to the same stage, with all its keys.
 *
 * @return the length without the final 0, as snprintf.
 */
int peali_stage_describe(const struct peali_stage *stage, char *text,
			 size_t size);

/** All kinds, in the order of help texts; *n_out is how many. */
const struct peali_stage_kind *peali_stage_kinds(uint32_t *n_out);

#endif
