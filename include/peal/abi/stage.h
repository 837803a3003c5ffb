/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_STAGE_H
#define PEAL_ABI_STAGE_H

/*
 * The built-in stages of pipelines: the head before each body in a message, and
 * the configuration of a stage. All numbers are little-endian.
 */

#include <peal/device/platform.h>

/** The built-in stages. */
enum peal_stage_kind {
	PEAL_STAGE_PASS = 0, /* sends every item on unchanged */
	PEAL_STAGE_BLUR = 1, /* 5x5 Gaussian, (1 4 6 4 1)^2 / 256, rounded */
	PEAL_STAGE_SOBEL = 2, /* |gx| + |gy|, at most 255 */
	PEAL_STAGE_THRESHOLD = 3, /* v >= level ? 255 : 0 */
	PEAL_STAGE_INVERT = 4, /* 255 - v */
	PEAL_STAGE_AFFINE = 5, /* f32: a * x + b, product rounded first */
	PEAL_STAGE_SQRT = 6, /* f32, correctly rounded */
	PEAL_STAGE_CRC32C = 7, /* as PASS, and sums the CRC-32C of each body */
	PEAL_STAGE_XOR = 8, /* v ^ key */
	PEAL_STAGE_KINDS = 9
};

/** Bits of peal_item.flags; stages copy them. */
enum peal_item_flag {
	/* the last text line of its file, without a newline */
	PEAL_ITEM_UNTERMINATED = 1
};

/**
 * The head of an item in a message. The body follows directly, aligned to 4
 * bytes.
 *
 * The first width * height bytes of the body are the image (luma) for image
 * stages, row by row without padding. These stages copy the bytes after the
 * image (chroma, parameters of a frame). A text line or a record is an image of
 * one row. The f32 stages take the whole body as floats instead.
 */
struct peal_item {
	uint64_t sequence; /* 0, 1, 2, ... in the order of the input */
	uint64_t ingress_ns; /* time of reading, by the host's clock */
	uint32_t width; /* columns of the image, in bytes */
	uint32_t height; /* rows of the image */
	uint32_t body_bytes; /* length of the body, at least width * height */
	uint32_t flags; /* enum peal_item_flag */
};

/** The configuration of a stage. Fields that a kind does not use are 0. */
struct peal_stage_config {
	uint32_t kind; /* enum peal_stage_kind */
	uint32_t level; /* threshold: 0..255 */
	float a; /* affine: factor */
	float b; /* affine: summand */
	uint32_t key; /* xor: 0..255 */
	uint32_t reserved[3]; /* 0 */
};

/** The state of a stage's actor; the host fills in config. */
struct peal_stage_state {
	struct peal_stage_config config;
	uint64_t items; /* handled */
	uint64_t bytes; /* of their bodies */
	uint64_t crc_sum; /* crc32c: sum of the bodies' CRC-32Cs, mod 2^64 */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_stage_state) == 56, "stage state");
PEAL_STATIC_ASSERT(sizeof(struct peal_item) == 32, "size of peal_item");
PEAL_STATIC_ASSERT(offsetof(struct peal_item, sequence) == 0, "sequence");
PEAL_STATIC_ASSERT(offsetof(struct peal_item, ingress_ns) == 8, "ingress_ns");
PEAL_STATIC_ASSERT(offsetof(struct peal_item, width) == 16, "width");
PEAL_STATIC_ASSERT(offsetof(struct peal_item, height) == 20, "height");
PEAL_STATIC_ASSERT(offsetof(struct peal_item, body_bytes) == 24, "body_bytes");
PEAL_STATIC_ASSERT(offsetof(struct peal_item, flags) == 28, "flags");
PEAL_STATIC_ASSERT(sizeof(float) == 4, "float is f32");
PEAL_STATIC_ASSERT(sizeof(struct peal_stage_config) == 32,
		   "size of peal_stage_config");
PEAL_STATIC_ASSERT(offsetof(struct peal_stage_config, kind) == 0, "kind");
PEAL_STATIC_ASSERT(offsetof(struct peal_stage_config, level) == 4, "level");
PEAL_STATIC_ASSERT(offsetof(struct peal_stage_config, a) == 8, "a");
PEAL_STATIC_ASSERT(offsetof(struct peal_stage_config, b) == 12, "b");
PEAL_STATIC_ASSERT(offsetof(struct peal_stage_config, key) == 16, "key");
PEAL_STATIC_ASSERT(offsetof(struct peal_stage_config, reserved) == 20,
		   "reserved");

#endif
