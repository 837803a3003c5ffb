/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_SLOT_H
#define PEAL_DEVICE_SLOT_H

#include <peal/abi/message.h>
#include <peal/device/atomic.h>
#if PEAL_ON_HOST
#include <string.h>
#endif

/*
 * One slot, three ways to publish it. A slot holds a content: the header and
 * what follows it (payload, or a slab descriptor). Seeing the tag of the
 * expected lap is having the content; nothing is ever cleared, and zeroed
 * memory is "lap 0: empty".
 *
 *	sequence  [tag 8][content]	content, then a release store of the tag
 *	atom16    {12 content, tag 4}*	one 16-byte store per atom
 *	atom8     {4 content, tag 4}*	one 8-byte store per atom
 *
 * tag of 64 bits: lap 16 | kind 8 | 0 | length 32	(length of the content)
 * tag of 32 bits: lap 16 | kind 8 | low 8
 *	one atom: low = content bytes in it
 *	several: kind has PEAL_TAG_MANY; low = atoms - 1 in the first, content
 *	bytes in the others (the first is full)
 *
 * A short message leaves the atoms behind it as they are. Their tags must not
 * grow so old that the lap, which has 16 bits, comes round to them: every
 * PEAL_SLOT_REFRESH_LAPS laps all atoms of the slot are written.
 */

#define PEAL_TAG_MANY 0x80u
#define PEAL_SLOT_ATOMS_MAX 256
#define PEAL_SLOT_REFRESH_LAPS 0x4000u

/** The content's first bytes are the header; these follow a read. */
struct peal_slot_view {
	uint32_t kind; /* enum peal_kind */
	uint32_t length; /* content bytes, header included */
	uint8_t *content; /* in the slot, or in the stage for atom policies */
};

/*
 * The policy of a queue. A GPU knows one only, so that its compiler drops the
 * others: a queue gets the policy that both of its ends know.
 */
static PEAL_DEV PEAL_INLINE uint32_t peali_policy(uint32_t policy)
{
#if PEAL_ON_CUDA
	(void)policy;
	return PEAL_POLICY_ATOM16;
#elif PEAL_ON_HIP
	(void)policy;
	return PEAL_POLICY_ATOM8;
#else
	return policy;
#endif
}

/** Content bytes that a slot of that size and policy holds. Wait-free. */
static PEAL_HD PEAL_INLINE uint32_t peal_slot_content_max(uint32_t policy,
							  uint32_t slot_bytes)
{
	if (policy == PEAL_POLICY_ATOM16)
		return slot_bytes / 16 * 12;
	if (policy == PEAL_POLICY_ATOM8)
		return slot_bytes / 8 * 4;
	return slot_bytes - 8;
}

static PEAL_DEV PEAL_INLINE uint32_t peali_tag32(uint32_t lap, uint32_t kind,
						 uint32_t low)
{
	return (lap & 0xffff) << 16 | (kind & 0xff) << 8 | (low & 0xff);
}

static PEAL_DEV PEAL_INLINE uint32_t peali_min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * Copies up to 12 bytes without reading past the end of from. On a GPU it reads
 * to the end of the word: from and to are stages, or atoms in registers, which
 * then do not go through local memory.
 */
static PEAL_DEV PEAL_INLINE void peali_copy_bytes(void *to, const void *from,
						  uint32_t n)
{
#if PEAL_ON_HOST
	uint8_t *out = (uint8_t *)to;
	const uint8_t *in = (const uint8_t *)from;
	uint32_t i;

	for (i = 0; i < n; i++)
		out[i] = in[i];
#else
	uint32_t *out = (uint32_t *)to;
	const uint32_t *in = (const uint32_t *)from;

	if (n > 0)
		out[0] = in[0];
	if (n > 4)
		out[1] = in[1];
	if (n > 8)
		out[2] = in[2];
#endif
}

/* peal/copy.h has a struct with this name. */
PEALI_NAMESAKES_BEGIN
/** Copies n bytes; the areas do not overlap. One lane. */
static PEAL_DEV PEAL_INLINE void peal_copy(void *to, const void *from,
					   uint64_t n)
{
#if PEAL_ON_HOST
	uint8_t *out = (uint8_t *)to;
	const uint8_t *in = (const uint8_t *)from;
	uint64_t i;

	/* short ones without a call; the last 16 bytes may be written twice */
	if (n >= 16 && n <= 256) {
		for (i = 0; i + 16 < n; i += 16)
			memcpy(out + i, in + i, 16);
		memcpy(out + n - 16, in + n - 16, 16);
	} else if (n == 8) {
		memcpy(out, in, 8);
	} else if (n) { /* of no bytes there may be no address */
		memcpy(out, in, (size_t)n);
	}
#else
	uint8_t *out = (uint8_t *)to;
	const uint8_t *in = (const uint8_t *)from;
	uint64_t i = 0;

	if (!(((uintptr_t)to | (uintptr_t)from) & 7))
		for (; i + 8 <= n; i += 8)
			*(uint64_t *)(void *)(out + i) =
				*(const uint64_t *)(const void *)(in + i);
	for (; i < n; i++)
		out[i] = in[i];
#endif
}
PEALI_NAMESAKES_END

/* The 8 bytes of a header. */
static PEAL_DEV PEAL_INLINE uint64_t peali_header_word(struct peal_header header)
{
	return (uint64_t)header.flags << 48 | (uint64_t)header.type << 32 |
	       header.actor;
}

/**
 * Writes a header with one store: a load of all 8 bytes that follows soon can
 * be served from the store buffer, which it could not be from two stores.
 *
 * @param to     8 bytes, the begin of a content
 * @param header what to write
 */
static PEAL_DEV PEAL_INLINE void peal_header_store(void *to,
						   struct peal_header header)
{
	uint64_t word = peali_header_word(header);

	__builtin_memcpy(to, &word, sizeof(word));
}

/* ---- sequence ------------------------------------------------------------ */

/** The high 24 bits of a tag of 64 bits. */
static PEAL_HD PEAL_INLINE uint32_t peal_tag_high(uint32_t lap, uint32_t kind)
{
	return (lap & 0xffff) << 8 | (kind & 0xff);
}

/**
 * Publishes a slot whose content is already in place behind the tag.
 *
 * Call by one lane, after the lanes that wrote the content have met it.
 * Everything that the caller wrote before is visible to the reader.
 */
static PEAL_DEV PEAL_INLINE void
peal_slot_publish(uint8_t *slot, uint32_t lap, uint32_t kind, uint32_t length)
{
	uint64_t tag = (uint64_t)peal_tag_high(lap, kind) << 40 | length;

	/* R1: pairs with A1 in peal_slot_peek: the content is written. */
	peal_store_release_sys((uint64_t *)(void *)slot, tag);
}

/** Looks at a slot; 1 and *view if it holds the lap, else 0. Wait-free. */
static PEAL_DEV PEAL_INLINE int peal_slot_peek(uint8_t *slot, uint32_t lap,
					       struct peal_slot_view *view)
{
	/* A1: pairs with R1 in peal_slot_publish. */
	uint64_t tag = peal_load_acquire_sys((uint64_t *)(void *)slot);

	if ((uint32_t)(tag >> 48) != (lap & 0xffff))
		return 0;
	view->kind = (uint32_t)(tag >> 40) & 0xff;
	view->length = (uint32_t)tag;
	view->content = slot + 8;
	return 1;
}

/* ---- atom16, atom8 ------------------------------------------------------- */

static PEAL_DEV PEAL_INLINE uint32_t peali_atom_payload(uint32_t policy)
{
	return policy == PEAL_POLICY_ATOM16 ? 12 : 4;
}

/* The tag of atom i of a content of `length` bytes, `each` of them in one. */
static PEAL_DEV PEAL_INLINE uint32_t peali_atom_tag(uint32_t each, uint32_t lap,
						    uint32_t kind, uint32_t i,
						    uint32_t length)
{
	if (length <= each)
		return peali_tag32(lap, kind, length);
	return peali_tag32(lap, kind | PEAL_TAG_MANY,
			   i ? peali_min_u32(each, length - i * each) :
			       (length + each - 1) / each - 1);
}

static PEAL_DEV PEAL_INLINE void
peali_atom_write(uint32_t policy, uint8_t *slot, uint32_t index, uint32_t tag,
		 const uint8_t *from, uint32_t n)
{
	if (policy == PEAL_POLICY_ATOM8) {
		uint32_t word = 0;

		peali_copy_bytes(&word, from, peali_min_u32(n, 4));
		peal_atom8_store((uint64_t *)(void *)slot + index,
				 (uint64_t)tag << 32 | word);
	} else {
#if PEAL_HAVE_ATOM16
		struct peal_atom16 atom = { { 0, 0, 0, 0 } };

		peali_copy_bytes(atom.word, from, peali_min_u32(n, 12));
		atom.word[3] = tag;
		peal_atom16_store((struct peal_atom16 *)(void *)slot + index,
				  atom);
#endif
	}
}

/* Reads an atom's content into to (12 or 4 bytes); returns its tag. */
static PEAL_DEV PEAL_INLINE uint32_t peali_atom_read(uint32_t policy,
						     const uint8_t *slot,
						     uint32_t index,
						     uint32_t *to)
{
	if (policy == PEAL_POLICY_ATOM8) {
		uint64_t v = peal_atom8_load(
			(const uint64_t *)(const void *)slot + index);

		to[0] = (uint32_t)v;
		return (uint32_t)(v >> 32);
	}
#if PEAL_HAVE_ATOM16
	{
		struct peal_atom16 atom = peal_atom16_load(
			(const struct peal_atom16 *)(const void *)slot + index);

		to[0] = atom.word[0];
		to[1] = atom.word[1];
		to[2] = atom.word[2];
		return atom.word[3];
	}
#else
	return 0;
#endif
}

/**
 * Packs this lane's share of a staged content into the slot's atoms.
 *
 * Every lane of the worker calls it with its lane; the atoms may become
 * visible in any order, the reader wants all of them. No fence.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_slot_pack(uint32_t policy, uint8_t *slot, uint32_t lap, uint32_t kind,
	       const uint8_t *content, uint32_t length, uint32_t lane,
	       uint32_t lanes)
{
	uint32_t each = peali_atom_payload(policy);
	uint32_t atoms = length ? (length + each - 1) / each : 1;
	uint32_t i;

	for (i = lane; i < atoms; i += lanes) {
		uint32_t n = peali_min_u32(each, length - i * each);

		peali_atom_write(policy, slot, i,
				 peali_atom_tag(each, lap, kind, i, length),
				 content + i * each, n);
	}
}

/**
 * Tags this lane's share of the atoms behind a content of `length` bytes as
 * empty on this lap. Before the content is packed, and on every lap that is a
 * multiple of PEAL_SLOT_REFRESH_LAPS; the lanes as in peal_slot_pack.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peal_slot_refresh(uint32_t policy, uint8_t *slot, uint32_t slot_bytes,
		  uint32_t lap, uint32_t length, uint32_t lane, uint32_t lanes)
{
	uint32_t each = peali_atom_payload(policy);
	uint32_t used = length ? (length + each - 1) / each : 1;
	uint32_t atoms = peal_slot_content_max(policy, slot_bytes) / each;
	uint32_t i;

	for (i = lane; i < atoms; i += lanes)
		if (i >= used)
			peali_atom_write(policy, slot, i,
					 peali_tag32(lap, PEAL_KIND_EMPTY, 0),
					 slot, 0);
}

/*
 * Unpacks up to four atoms, from `index` on and no further than `last`: where
 * their content ends; 0 unless all are of the lap that `tag` is of. First all
 * loads, as a GPU waits for each where its result is looked at.
 */
static PEAL_DEV PEAL_INLINE uint32_t
peali_atoms_unpack(uint32_t policy, const uint8_t *slot, uint32_t index,
		   uint32_t last, uint32_t tag, uint8_t *stage)
{
	uint32_t each = peali_atom_payload(policy);
	uint32_t at[4], word[4][3], end = 0, odd = 0, k;

	for (k = 0; k < 4; k++) {
		at[k] = peali_min_u32(index + k, last);
		end = peali_atom_read(policy, slot, at[k], word[k]);
		odd |= end ^ tag;
	}
	if (odd >> 16)
		return 0;
	for (k = 0; k < 4; k++)
		peali_copy_bytes(stage + at[k] * each, word[k], each);
	return at[3] * each + peali_min_u32(end & 0xff, each);
}

/**
 * Unpacks the slot's atoms into the stage, if all of the lap are there.
 *
 * For one lane; stage holds peal_slot_content_max bytes. The atom count is
 * the peer's word and is checked against atoms_max. Returns 1 and *view, or 0.
 * Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_slot_unpack(uint32_t policy, const uint8_t *slot, uint32_t lap,
		 uint8_t *stage, uint32_t atoms_max,
		 struct peal_slot_view *view)
{
	uint32_t each = peali_atom_payload(policy);
	uint32_t word[3] = { 0, 0, 0 };
	uint32_t tag = peali_atom_read(policy, slot, 0, word);
	uint32_t kind = tag >> 8 & 0xff, low = tag & 0xff, i;

	if (tag >> 16 != (lap & 0xffff))
		return 0;
	peali_copy_bytes(stage, word, each);
	view->kind = kind & ~PEAL_TAG_MANY;
	view->content = stage;
	view->length = low;
	if (!(kind & PEAL_TAG_MANY) ? low > each : low + 1 > atoms_max)
		view->length = ~0u; /* hostile: the caller sees the length */
	if (!(kind & PEAL_TAG_MANY) || view->length == ~0u)
		return 1;
	for (i = 1; i <= low; i += 4) {
		view->length =
			peali_atoms_unpack(policy, slot, i, low, tag, stage);
		if (!view->length)
			return 0;
	}
	return 1;
}

/**
 * Whether a slot holds the lap: one load. Says nothing of its kind, nor whether
 * all atoms of a longer message are there yet. Wait-free.
 */
static PEAL_DEV PEAL_INLINE int
peal_slot_ready(uint32_t policy, const uint8_t *slot, uint32_t lap)
{
	uint32_t word[3];

	if (PEAL_UNLIKELY(policy != PEAL_POLICY_SEQUENCE))
		return peali_atom_read(policy, slot, 0, word) >> 16 ==
		       (lap & 0xffff);
	return (uint32_t)(peal_load_relaxed_sys(
				  (const uint64_t *)(const void *)slot) >>
			  48) == (lap & 0xffff);
}

#endif
