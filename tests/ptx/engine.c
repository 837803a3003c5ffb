/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"
#include "check.h"
#include "half.h"

/* The interpreter of one lane. */

/* Every executed instruction passes here. */
static inline void retire(struct ptx_lane *lane,
			  const struct ptx_instruction *in)
{
	lane->instructions++;
	if (__builtin_expect(lane->counts != NULL, 0))
		ptx_count(lane, in);
}

/* Chooses an opcode of PTX_VALUES. The sources have the types of its row. */
#define VALUE(text, id, n, tr, ta, tb, tc, e)                                  \
	case PTX_##id: {                                                       \
		ta a;                                                          \
		tb b;                                                          \
		tc c;                                                          \
		uint32_t d;                                                    \
                                                                               \
		memcpy(&a, &r[in->a], sizeof(a));                              \
		memcpy(&b, &r[in->b], sizeof(b));                              \
		memcpy(&c, &r[in->c], sizeof(c));                              \
		d = (uint32_t)r[in->v[0]];                                     \
		(void)b;                                                       \
		(void)c;                                                       \
		(void)d;                                                       \
		r[in->d] = PTX_SLOT((tr)(e));                                  \
		in++;                                                          \
		continue;                                                      \
	}

#define LOAD(id, type)                                                         \
	case PTX_LOAD_##id: {                                                  \
		const type *at = ptx_memory(lane, in, sizeof(type), 0);        \
                                                                               \
		if (!at)                                                       \
			goto end;                                              \
		r[in->d] = PTX_SLOT(PTX_GET(type, at));                        \
		break;                                                         \
	}

#define STORE(id, type)                                                        \
	case PTX_STORE_##id: {                                                 \
		type *at = ptx_memory(lane, in, sizeof(type), 1);              \
                                                                               \
		if (!at)                                                       \
			goto end;                                              \
		PTX_PUT(type, at, r[in->d]);                                   \
		break;                                                         \
	}

static const struct ptx_instruction *
table_target(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	uint32_t i = (uint32_t)lane->registers[in->a];

	if (i < in->targets->n)
		return in->targets->targets[i];
	ptx_fault(lane, in, PTX_FAULT_JUMP, 0,
		  "index %u of a branch (allowed 0 .. %u)", i,
		  in->targets->n - 1);
	return NULL;
}

static void fence(const struct ptx_instruction *in)
{
	if (in->order == PTX_SEQ_CST)
		atomic_thread_fence(memory_order_seq_cst);
	else
		atomic_thread_fence(memory_order_acq_rel);
}

static void unpack(uint64_t *r, const struct ptx_instruction *in)
{
	uint32_t half = 4u * in->size;
	uint64_t value = r[in->a];

	r[in->v[0]] = value & ((1ULL << half) - 1);
	r[in->v[1]] = value >> half & ((1ULL << half) - 1);
}

static uint64_t pack(const uint64_t *r, const struct ptx_instruction *in)
{
	uint32_t half = 4u * in->size;

	return (r[in->v[0]] & ((1ULL << half) - 1)) | r[in->v[1]] << half;
}

/* An opcode that ends with `break` counts against the budget: a memory access
 * or a branch. One that ends with `continue` does not. `checked` is a constant:
 * the loop without checks does not test it. */
static inline __attribute__((always_inline)) void
run(struct ptx_lane *lane, int64_t budget, const int checked)
{
	const struct ptx_instruction *in = lane->in;
	uint64_t *r = lane->registers;

	ptx_refresh_ranges(lane);
	for (;;) {
		retire(lane, in);
		if (checked) {
			enum ptx_step step = ptx_check(lane, in);

			if (step == PTX_STEP_FAULTED)
				goto end;
			if (step == PTX_STEP_DONE)
				goto next;
			if (step == PTX_STEP_AGAIN) {
				lane->in = in;
				return;
			}
		}
		switch (in->opcode) {
			PTX_VALUES(VALUE)
			PTX_LOADS(LOAD)
			PTX_STORES(STORE)
		case PTX_LOAD_VECTOR:
			if (!ptx_load_vector(lane, in))
				goto end;
			break;
		case PTX_STORE_VECTOR:
			if (!ptx_store_vector(lane, in))
				goto end;
			break;
		case PTX_ATOM:
			if (!ptx_atom(lane, in))
				goto end;
			break;
		case PTX_FENCE:
			fence(in);
			break;
		case PTX_LOAD_PARAM:
			ptx_load_param(lane, in++);
			continue;
		case PTX_STORE_PARAM:
			ptx_store_param(lane, in++);
			continue;
		case PTX_PACK:
			r[in->d] = pack(r, in);
			in++;
			continue;
		case PTX_UNPACK:
			unpack(r, in++);
			continue;
		case PTX_SPECIAL:
			r[in->d] = ptx_special(lane, in);
			in++;
			continue;
		case PTX_LOCAL_ADDRESS:
			r[in->d] =
				(uintptr_t)lane->memory + (uint64_t)in->offset;
			in++;
			continue;
		case PTX_CVTA:
			r[in->d] = r[in->a];
			in++;
			continue;
		case PTX_CVTA_SHARED:
			r[in->d] = (uintptr_t)lane->block->shared +
				   (uint32_t)r[in->a];
			in++;
			continue;
		case PTX_CVTA_TO_GLOBAL:
		case PTX_CVTA_TO_SHARED:
		case PTX_CVTA_TO_LOCAL:
			if (!ptx_cvta_to(lane, in++))
				goto end;
			continue;
		case PTX_ISSPACEP:
			ptx_isspacep(lane, in++);
			continue;
		case PTX_MAPA:
			if (!ptx_mapa(lane, in++))
				goto end;
			continue;
		case PTX_BRANCH:
			in = in->target - 1;
			break;
		case PTX_BRANCH_IF:
			if (r[in->a] & 1)
				in = in->target - 1;
			break;
		case PTX_BRANCH_UNLESS:
			if (!(r[in->a] & 1))
				in = in->target - 1;
			break;
		case PTX_BRANCH_TABLE:
			in = table_target(lane, in);
			if (!in)
				goto end;
			in--;
			break;
		case PTX_CALL:
		case PTX_CALL_INDIRECT:
			if (!ptx_call(lane, in))
				goto end;
			in = lane->in;
			r = lane->registers;
			continue;
		case PTX_RETURN:
			ptx_return(lane);
			in = lane->in;
			r = lane->registers;
			continue;
		case PTX_NANOSLEEP:
			lane->in = in + 1;
			lane->state = PTX_SLEEPS;
			return;
		case PTX_BARRIER:
			lane->in = in + 1;
			if (!ptx_barrier_arrive(lane, in))
				return;
			break;
		case PTX_CLUSTER_ARRIVE:
			if (!ptx_cluster_arrive(lane, in))
				goto end;
			break;
		case PTX_CLUSTER_WAIT:
			lane->in = in + 1;
			lane->state = PTX_AT_CLUSTER;
			return;
		case PTX_WARP_BARRIER:
		case PTX_SHFL:
		case PTX_VOTE:
		case PTX_MATCH:
		case PTX_REDUX:
		case PTX_ELECT:
			ptx_warp_arrive(lane, in);
			if (lane->state != PTX_RUNS)
				return;
			break;
		case PTX_MBARRIER:
			if (!ptx_mbarrier(lane, in))
				goto end;
			if (lane->state == PTX_SLEEPS) {
				lane->in = in + 1;
				return;
			}
			break;
		case PTX_STORE_ASYNC:
			if (!ptx_store_async(lane, in))
				goto end;
			break;
		case PTX_BULK:
			if (!ptx_bulk(lane, in))
				goto end;
			if (lane->state == PTX_SLEEPS)
				return;
			break;
		case PTX_ACTIVEMASK:
			lane->in = in;
			lane->state = PTX_AT_ACTIVEMASK;
			return;
		case PTX_TRAP:
			ptx_fault(lane, in, PTX_FAULT_TRAP, 0,
				  in->mode == PTX_MODE_ASSERT ?
					  "an assertion of the program failed" :
					  "the program executed trap");
			goto end;
		default: /* PTX_EXIT */
			goto end;
		}
next:
		in++;
		if (--budget <= 0 || (checked && lane->block->turn_over)) {
			lane->in = in;
			return;
		}
	}
end:
	lane->state = PTX_ENDED;
}

static __attribute__((noinline)) void run_checked(struct ptx_lane *lane,
						  int64_t budget)
{
	run(lane, budget, 1);
	ptx_check_turn_end(lane);
}

void ptx_lane_run(struct ptx_lane *lane, int64_t budget)
{
	if (lane->block->grid->is_checked)
		run_checked(lane, budget);
	else
		run(lane, budget, 0);
}
