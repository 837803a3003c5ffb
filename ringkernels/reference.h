/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_REFERENCE_H
#define PEAL_RINGKERNELS_REFERENCE_H

/*
 * The host reference of every built-in stage, for `peal run --verify`. The
 * reference shares no code with the device, so that errors of either show as a
 * difference.
 */

#include <peal/abi/stage.h>

/**
 * Computes the result of a stage for one item.
 *
 * Thread-safe. Blur allocates a few rows of memory.
 *
 * @param config the stage.
 * @param head the item's head; flags and sequence are ignored.
 * @param in body_bytes bytes, aligned to 4.
 * @param out body_bytes bytes, aligned to 4; must not overlap `in`. Every byte
 *            is written on success, none on error.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL the kind does not exist.
 * @retval PEAL_EPROTO the image is larger than the body.
 * @retval PEAL_ENOMEM no memory for blur.
 */
int peali_stage_reference(const struct peal_stage_config *config,
			  const struct peal_item *head, const void *in,
			  void *out);

/**
 * Returns the CRC-32C (Castagnoli) of n_bytes bytes, as in iSCSI and SSE 4.2.
 * The CRC of "123456789" is 0xe3069283; the CRC of no bytes is 0. Thread-safe.
 */
uint32_t peali_crc32c_reference(const void *bytes, size_t n_bytes);

#endif
