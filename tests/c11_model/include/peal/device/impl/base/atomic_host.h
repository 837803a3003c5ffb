/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ATOMIC_HOST_H
#define PEAL_DEVICE_ATOMIC_HOST_H

#include <peal/abi/message.h>

#include <string.h>

#include "c11_model/model.h"

/*
 * Replaces the host's part of atomic.h where the model checker compiles the
 * dialect. The folder of this file comes first in the include path. Each access
 * passes its site to the checker. The accesses are macros, so the site is the
 * line of the caller.
 */

#define PEAL_MODEL 1

/* The compiler instruments plain accesses, but not the copies it expands. */
#define memcpy(to, from, bytes) model_memcpy(to, from, bytes)
#define memset(to, value, bytes) model_memset(to, value, bytes)

static inline uint64_t model_load_u64(struct model_site *site,
				      const uint64_t *p)
{
	return model_load(site, p, 8).word[0];
}

static inline uint32_t model_load_u32(struct model_site *site,
				      const uint32_t *p)
{
	return (uint32_t)model_load(site, p, 4).word[0];
}

static inline void model_store_u64(struct model_site *site, uint64_t *p,
				   uint64_t v)
{
	struct model_value value = { { v, 0 } };

	model_store(site, p, 8, value);
}

static inline void model_store_u32(struct model_site *site, uint32_t *p,
				   uint32_t v)
{
	struct model_value value = { { v, 0 } };

	model_store(site, p, 4, value);
}

static inline uint64_t model_add_u64(struct model_site *site, uint64_t *p,
				     uint64_t v)
{
	return model_add(site, p, 8, v);
}

static inline uint32_t model_add_u32(struct model_site *site, uint32_t *p,
				     uint32_t v)
{
	return (uint32_t)model_add(site, p, 4, v);
}

#define peal_load_relaxed_dev(p) model_load_u64(MODEL_AT("load relaxed", 0), p)
#define peal_load_relaxed_sys(p) model_load_u64(MODEL_AT("load relaxed", 0), p)
#define peal_load_acquire_dev(p)                                               \
	model_load_u64(MODEL_AT("load acquire", MODEL_ACQUIRE), p)
#define peal_load_acquire_sys(p)                                               \
	model_load_u64(MODEL_AT("load acquire", MODEL_ACQUIRE), p)
#define peal_store_relaxed_dev(p, v)                                           \
	model_store_u64(MODEL_AT("store relaxed", 0), p, v)
#define peal_store_relaxed_sys(p, v)                                           \
	model_store_u64(MODEL_AT("store relaxed", 0), p, v)
#define peal_store_release_dev(p, v)                                           \
	model_store_u64(MODEL_AT("store release", MODEL_RELEASE), p, v)
#define peal_store_release_sys(p, v)                                           \
	model_store_u64(MODEL_AT("store release", MODEL_RELEASE), p, v)
#define peal_add_relaxed_dev(p, v)                                             \
	model_add_u64(MODEL_AT("add relaxed", 0), p, v)
#define peal_add_acqrel_dev(p, v)                                              \
	model_add_u64(MODEL_AT("add acqrel", MODEL_ACQREL), p, v)

#define peal_load_relaxed_dev_u32(p)                                           \
	model_load_u32(MODEL_AT("load relaxed", 0), p)
#define peal_load_relaxed_sys_u32(p)                                           \
	model_load_u32(MODEL_AT("load relaxed", 0), p)
#define peal_load_acquire_dev_u32(p)                                           \
	model_load_u32(MODEL_AT("load acquire", MODEL_ACQUIRE), p)
#define peal_load_acquire_sys_u32(p)                                           \
	model_load_u32(MODEL_AT("load acquire", MODEL_ACQUIRE), p)
#define peal_store_relaxed_dev_u32(p, v)                                       \
	model_store_u32(MODEL_AT("store relaxed", 0), p, v)
#define peal_store_relaxed_sys_u32(p, v)                                       \
	model_store_u32(MODEL_AT("store relaxed", 0), p, v)
#define peal_store_release_dev_u32(p, v)                                       \
	model_store_u32(MODEL_AT("store release", MODEL_RELEASE), p, v)
#define peal_store_release_sys_u32(p, v)                                       \
	model_store_u32(MODEL_AT("store release", MODEL_RELEASE), p, v)
/* No queue has one. Supervisors have some, which no instance runs. */
#define peal_cas_relaxed_dev(p, old, v)                                        \
	(model_fail("a compare-and-swap has no model"), (void)(p),             \
	 (void)(old), (void)(v), 0)

#define peal_add_relaxed_dev_u32(p, v)                                         \
	model_add_u32(MODEL_AT("add relaxed", 0), p, v)
#define peal_add_acqrel_dev_u32(p, v)                                          \
	model_add_u32(MODEL_AT("add acqrel", MODEL_ACQREL), p, v)

#define peal_fence_release_sys()                                               \
	model_fence(MODEL_AT("fence release", MODEL_RELEASE))
#define peal_fence_release_dev()                                               \
	model_fence(MODEL_AT("fence release", MODEL_RELEASE))
#define peal_fence_acquire_sys()                                               \
	model_fence(MODEL_AT("fence acquire", MODEL_ACQUIRE))
#define peal_fence_acquire_dev()                                               \
	model_fence(MODEL_AT("fence acquire", MODEL_ACQUIRE))

#define peal_compiler_barrier() ((void)0)
#define peal_pause() ((void)0)
#define peal_poll_gap() ((void)0)

/* 16 bytes at once, relaxed, as on CUDA. */
#define PEAL_HAVE_ATOM16 1
#define PEAL_HAVE_CLUSTERS 0

static inline void model_store_atom16(struct model_site *site,
				      struct peal_atom16 *p,
				      struct peal_atom16 v)
{
	struct model_value value = { { (uint64_t)v.word[1] << 32 | v.word[0],
				       (uint64_t)v.word[3] << 32 |
					       v.word[2] } };

	model_store(site, p, 16, value);
}

static inline struct peal_atom16 model_load_atom16(struct model_site *site,
						   const struct peal_atom16 *p)
{
	struct model_value v = model_load(site, p, 16);
	struct peal_atom16 atom = {
		{ (uint32_t)v.word[0], (uint32_t)(v.word[0] >> 32),
		  (uint32_t)v.word[1], (uint32_t)(v.word[1] >> 32) }
	};

	return atom;
}

#define peal_atom16_store(p, v)                                                \
	model_store_atom16(MODEL_AT("store atom16", 0), p, v)
#define peal_atom16_load(p) model_load_atom16(MODEL_AT("load atom16", 0), p)

#endif
