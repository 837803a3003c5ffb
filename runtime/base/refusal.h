/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_REFUSAL_H
#define PEALI_REFUSAL_H

#include <stddef.h>
#include <stdint.h>

#include <peal/errors.h>

/*
 * The text of each error that refuses a value:
 *
 *	<object> '<name>': <problem> (<value>, allowed <range>); <remedy>
 *
 * Texts may be of any origin: peali_fail and the command escape the result.
 */
struct peali_refusal {
	const char *object; /* "option", "kernel", "argument" */
	const char *name; /* NULL: the object has no name */
	/* NULL: a text for the range, such as "is out of range" */
	const char *problem;
	const char *value; /* NULL: `number` */
	uint64_t number;
	const char *allowed; /* NULL: least..most */
	uint64_t least, most;
	uint64_t multiple; /* allowed are only multiples; 0: all numbers */
	int power_of_two; /* 1: allowed are only powers of two */
	const char *remedy; /* NULL: "use " and the nearest allowed number */
};

/* A refusal as an argument: PEALI_REFUSAL(.object = "option", ...). */
#define PEALI_REFUSAL(...) (&(struct peali_refusal){ __VA_ARGS__ })
/* Refuses a value: PEALI_REFUSE(code, call, .object = "option", ...). */
#define PEALI_REFUSE(code, call, ...)                                          \
	peali_refuse(code, call, PEALI_REFUSAL(__VA_ARGS__))

/** Bytes of the longest text of a refusal, with its 0. */
#define PEALI_REFUSAL_BYTES 512

/* Writes the text. A long name or value is cut, with a mark. Returns `out`. */
const char *peali_refusal_text(const struct peali_refusal *refusal,
			       char out[PEALI_REFUSAL_BYTES]);

/* Records the text as peali_fail does. Returns `code`. */
int peali_refuse(int code, const char *call,
		 const struct peali_refusal *refusal);

/* Refuses the value of an option by its range. Returns PEAL_EINVAL. */
int peali_refuse_option(const char *call, const char *name, uint64_t value,
			uint64_t least, uint64_t most);

/* Refuses the value of any object by its range. Returns PEAL_EINVAL. */
int peali_refuse_range(const char *call, const char *object, const char *name,
		       uint64_t value, uint64_t least, uint64_t most);

/* Refuses arguments that are NULL. `names` lists them. Returns PEAL_EINVAL. */
int peali_refuse_null(const char *call, const char *names);

/* Refuses an argument that is the address of no object of a kind, such as
 * "actor". Returns PEAL_ENOENT. */
int peali_refuse_address(const char *call, const char *name, uint64_t address,
			 const char *kind);

/* Refuses a mask with bits outside `known`. Returns PEAL_EINVAL. */
int peali_refuse_bits(const char *call, const char *object, const char *name,
		      uint32_t value, uint32_t known);

/* Refuses a buffer that is too small for the next message of an object. Returns
 * PEAL_EMSGSIZE. */
int peali_refuse_buffer(const char *call, const char *object, const char *name,
			uint64_t bytes, uint64_t needed);

/* Refuses a name that is NULL, empty or longer than `most` bytes. Returns
 * PEAL_EINVAL. */
int peali_refuse_name(const char *call, const char *name, size_t most);

/*
 * Refuses the number of a part that the object does not have. Parts have the
 * numbers from 0 to n - 1. Returns PEAL_ENOENT.
 *
 * @param part its noun, such as "worker".
 * @param empty the remedy for an object without parts. NULL: an object of this
 *     kind always has one.
 */
int peali_refuse_index(const char *call, const char *object, const char *name,
		       const char *part, uint64_t index, uint64_t n,
		       const char *empty);

#endif
