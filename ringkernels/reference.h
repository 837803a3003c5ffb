/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_REFERENCE_H
#define PEAL_RINGKERNELS_REFERENCE_H

/*
 * The host reference of every built-in stage: what `peal run --verify` compares
 * with, written without the device code so that the two can disagree.
 */

#include <peal/abi/stage.h>

/**
 * What a stage makes of one item.
 *
 * @param config the stage.
 * @param head the item's head; its flags and sequence do not matter.
 * @param in body_bytes bytes, aligned to 4.
 * @param out body_bytes bytes, aligned to 4, apart from in; every byte of it is
 *        written on success, none on error.
 * @return 0; PEAL_EINVAL for a kind that does not exist; PEAL_EPROTO for an
 *         image larger than the body; PEAL_ENOMEM. Thread-safe; takes a few
 *         rows of memory for blur, none for the others.
 */
int peali_stage_reference(const struct peal_stage_config *config,
			  const struct peal_item *head, const void *in,
			  void *out);

/**
 * The CRC-32C (Castagnoli) of n_bytes bytes, as iSCSI and SSE 4.2 count it:
 * that of "123456789" is 0xe3069283, that of no bytes 0. Thread-safe.
 */
uint32_t peali_crc32c_reference(const void *bytes, size_t n_bytes);

#endif
