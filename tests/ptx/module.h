/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_MODULE_H
#define PTX_MODULE_H

/* A decoded module. The engine reads it, and nothing writes it after a load. */

#include "machine.h"
#include "opcodes.h"

enum ptx_space {
	PTX_SPACE_GENERIC,
	PTX_SPACE_GLOBAL,
	PTX_SPACE_SHARED,
	PTX_SPACE_LOCAL,
	PTX_SPACE_PARAM,
	PTX_SPACE_CONST,
	PTX_SPACE_CLUSTER /* shared memory of a block of the cluster */
};

enum ptx_order {
	PTX_WEAK,
	PTX_VOLATILE,
	PTX_RELAXED,
	PTX_ACQUIRE,
	PTX_RELEASE,
	PTX_ACQ_REL,
	PTX_SEQ_CST
};

enum ptx_scope {
	PTX_NO_SCOPE,
	PTX_SCOPE_CTA,
	PTX_SCOPE_CLUSTER,
	PTX_SCOPE_GPU,
	PTX_SCOPE_SYS
};

enum ptx_operation {
	PTX_ATOM_ADD,
	PTX_ATOM_EXCH,
	PTX_ATOM_CAS,
	PTX_ATOM_AND,
	PTX_ATOM_OR,
	PTX_ATOM_XOR,
	PTX_ATOM_MIN,
	PTX_ATOM_MAX,
	PTX_ATOM_INC,
	PTX_ATOM_DEC,
	PTX_ATOM_ADD_F16, /* one number or two */
	PTX_ATOM_ADD_BF16,
	PTX_N_OPERATIONS
};

enum ptx_type_kind {
	PTX_TYPE_PRED,
	PTX_TYPE_BITS,
	PTX_TYPE_UNSIGNED,
	PTX_TYPE_SIGNED,
	PTX_TYPE_FLOAT
};

enum ptx_special {
	PTX_TID_X,
	PTX_NTID_X,
	PTX_CTAID_X,
	PTX_NCTAID_X,
	PTX_ZERO, /* .y and .z of positions */
	PTX_ONE, /* .y and .z of sizes */
	PTX_LANEID,
	PTX_WARPID,
	PTX_NWARPID,
	PTX_SMID,
	PTX_GRIDID,
	PTX_LANEMASK_EQ,
	PTX_LANEMASK_LT,
	PTX_LANEMASK_LE,
	PTX_LANEMASK_GT,
	PTX_LANEMASK_GE,
	PTX_CLUSTERID_X,
	PTX_NCLUSTERID_X,
	PTX_CLUSTER_CTAID_X,
	PTX_CLUSTER_NCTAID_X,
	PTX_CLOCK,
	PTX_GLOBALTIMER,
	PTX_GLOBALTIMER_HI,
	PTX_DYNAMIC_SIZE,
	PTX_DYNAMIC_BASE /* no register: address of dynamic shared memory */
};

/* Modes of the opcodes of a warp, of bar.red and of trap. */
enum ptx_mode {
	PTX_MODE_NONE,
	PTX_MODE_UP,
	PTX_MODE_DOWN,
	PTX_MODE_BFLY,
	PTX_MODE_IDX,
	PTX_MODE_ALL,
	PTX_MODE_ANY,
	PTX_MODE_UNI,
	PTX_MODE_BALLOT,
	PTX_MODE_POPC,
	PTX_MODE_ADD,
	PTX_MODE_MIN,
	PTX_MODE_MAX,
	PTX_MODE_AND,
	PTX_MODE_OR,
	PTX_MODE_XOR,
	PTX_MODE_ARRIVE,
	PTX_MODE_ASSERT
};

/* Operations on an mbarrier. */
enum ptx_mbarrier {
	PTX_MBARRIER_INIT,
	PTX_MBARRIER_INVAL,
	PTX_MBARRIER_EXPECT,
	PTX_MBARRIER_COMPLETE,
	PTX_MBARRIER_ARRIVE,
	PTX_MBARRIER_ARRIVE_EXPECT,
	PTX_MBARRIER_ARRIVE_NO_COMPLETE,
	PTX_MBARRIER_DROP,
	PTX_MBARRIER_DROP_EXPECT,
	PTX_MBARRIER_DROP_NO_COMPLETE,
	PTX_MBARRIER_TEST, /* test_wait or try_wait with a state */
	PTX_MBARRIER_PARITY, /* test_wait or try_wait with a parity */
	PTX_MBARRIER_PENDING
};

/* Forms of cp.async.bulk. */
enum ptx_bulk {
	PTX_BULK_TO_SHARED, /* an mbarrier counts the bytes */
	PTX_BULK_TO_GLOBAL, /* in a group of the lane */
	PTX_BULK_COMMIT,
	PTX_BULK_WAIT
};

#define PTX_WARP 32
#define PTX_MAX_VECTOR 4
#define PTX_NO_SLOT UINT32_MAX

struct ptx_instruction {
	uint16_t opcode; /* enum ptx_opcode */
	uint8_t size; /* bytes of an element */
	uint8_t count; /* elements */
	uint8_t space; /* enum ptx_space */
	uint8_t order : 4; /* enum ptx_order */
	uint8_t scope : 4; /* enum ptx_scope */
	uint8_t kind : 4; /* enum ptx_type_kind */
	uint8_t aligned : 1; /* of a barrier */
	uint8_t whole : 1; /* .b128: no lane sees a part of the access */
	uint8_t mode; /* enum ptx_operation, ptx_special or ptx_mode */
	uint32_t d, a, b, c; /* slots: destination and sources */
	uint32_t v[PTX_MAX_VECTOR]; /* more slots */
	int64_t offset; /* of an address or a parameter */
	union {
		const struct ptx_instruction *target;
		struct ptx_call *call;
		struct ptx_targets *targets;
	};
};

/* Where an instruction is in the text and in the source. */
struct ptx_place {
	uint32_t ptx_line;
	uint32_t line;
	uint32_t file;
	uint32_t opcode_at; /* in the text */
	uint32_t opcode_bytes;
};

struct ptx_param {
	const char *name;
	uint32_t name_bytes;
	uint32_t offset; /* in the memory of the function's frame */
	uint32_t bytes;
};

struct ptx_prototype {
	struct ptx_prototype *next;
	uint32_t n_params, result_bytes;
	struct ptx_param *params; /* without names and offsets */
};

/* Targets of brx.idx. */
struct ptx_targets {
	struct ptx_targets *next;
	uint32_t n;
	const struct ptx_instruction **targets;
};

struct ptx_call {
	struct ptx_call *next;
	struct ptx_function *function; /* NULL: indirect */
	struct ptx_prototype *prototype; /* of an indirect call */
	uint32_t n_params;
	struct ptx_param *from; /* arguments in the caller's memory */
	uint32_t result_to;
	uint32_t result_bytes; /* 0: none */
};

struct ptx_function {
	struct ptx_function *next;
	struct ptx_module *module;
	const char *name;
	uint32_t name_bytes;
	int is_entry, is_defined;
	struct ptx_instruction *code;
	struct ptx_place *places;
	uint32_t n_code;
	uint32_t n_registers;
	uint64_t *constants; /* slots n_registers .. */
	uint32_t n_constants;
	struct ptx_param *params;
	uint32_t n_params;
	struct ptx_param result; /* bytes is 0: none */
	uint32_t params_end; /* of the parameters of the function itself */
	uint32_t memory_bytes; /* parameters, arguments of calls, locals */
	uint32_t local_bytes, shared_bytes;
	uint32_t max_threads;
	uint32_t max_live_registers; /* estimate, of 32 bits, with callees */
	char *text_name; /* the name as a string */
};

struct ptx_variable {
	struct ptx_variable *next;
	const char *name;
	uint32_t name_bytes;
	int is_const;
	uint64_t bytes;
	uint8_t *memory, *initial;
};

struct ptx_module {
	char *name, *text;
	size_t text_bytes;
	struct ptx_function *functions;
	struct ptx_variable *variables;
	struct ptx_call *calls;
	struct ptx_prototype *prototypes;
	struct ptx_targets *targets;
	uint32_t shared_bytes; /* static, of the module and of functions */
	uint32_t own_shared_bytes; /* declared outside of functions */
	char **files;
	uint32_t n_files;
};

static inline uint32_t ptx_n_slots(const struct ptx_function *function)
{
	return function->n_registers + function->n_constants;
}

static inline const struct ptx_place *
ptx_place_of(const struct ptx_function *function,
	     const struct ptx_instruction *in)
{
	return &function->places[in - function->code];
}

#endif
