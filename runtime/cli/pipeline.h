/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_PIPELINE_H
#define PEAL_RUNTIME_CLI_PIPELINE_H

/*
 * The text of a pipeline and its parsed form:
 *
 *	STAGE[@DEVICE][:KEY=VALUE[,KEY=VALUE]...] [! STAGE ...]
 *
 * Spaces are allowed between the parts. No function here uses the runtime.
 */

#include <stddef.h>
#include <stdint.h>

#include <peal/abi/stage.h>

#define PEALI_STAGES_MAX 16
#define PEALI_STAGE_KEYS_MAX 2
#define PEALI_ANY_DEVICE (-1)

/* Bodies that a stage accepts. */
enum peali_stage_domain {
	PEALI_ON_BYTES, /* any body; of a video only the luma plane */
	PEALI_ON_FLOATS, /* any body except pictures, as f32 */
	PEALI_ON_BODY /* any body, whole */
};

enum peali_key_type { PEALI_KEY_UINT, PEALI_KEY_FLOAT };

struct peali_stage_key {
	const char *name; /* NULL: no more keys */
	enum peali_key_type type;
	size_t offset; /* in struct peal_stage_config */
	double value; /* default */
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
	int device; /* PEALI_ANY_DEVICE: the text names no device */
	struct peal_stage_config config;
	uint32_t column; /* of the stage's name in the text, from 1 */
	/* of the device in the text; 0: the text names no device */
	uint32_t device_column;
};

struct peali_pipeline {
	uint32_t n_stages;
	struct peali_stage stages[PEALI_STAGES_MAX];
};

/*
 * `text` has three lines: the column with the error, the pipeline, and a caret
 * below the column. Of a long pipeline only the part near the column is shown.
 * The text is escaped, and at least one byte behind it is free.
 */
struct peali_pipeline_error {
	uint32_t column; /* in bytes, from 1 */
	char text[768];
};

/**
 * Parses a pipeline. Thread-safe.
 *
 * @param text the text, without a newline.
 * @param n_devices number of devices; 0: unknown, any index is accepted.
 * @param pipeline_out written on success only.
 * @param error_out written on failure only.
 * @return 0 or -EINVAL.
 */
int peali_pipeline_parse(const char *text, uint32_t n_devices,
			 struct peali_pipeline *pipeline_out,
			 struct peali_pipeline_error *error_out);

/**
 * Checks that all stages accept the bodies of a format.
 *
 * @param text the pipeline's text, for the error message.
 * @param image 1 if bodies are pictures (struct peali_format.image).
 * @return 0 or -EINVAL.
 */
int peali_pipeline_check_format(const struct peali_pipeline *pipeline,
				const char *text, int image,
				struct peali_pipeline_error *error_out);

/**
 * Assigns devices to stages without one: the stage's position modulo n_devices.
 */
void peali_pipeline_place(struct peali_pipeline *pipeline, uint32_t n_devices);

/**
 * Writes a stage with all its keys as text. Parsing the text gives an equal
 * stage.
 *
 * @return the length without the final 0, as snprintf.
 */
int peali_stage_describe(const struct peali_stage *stage, char *text,
			 size_t size);

/** Returns all kinds in the order of help texts; *n_out is their number. */
const struct peali_stage_kind *peali_stage_kinds(uint32_t *n_out);

#endif
