/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <string.h>

int ptx_enter(struct ptx_lane *lane, const struct ptx_function *function)
{
	uint64_t slots = ptx_n_slots(function);
	uint64_t *registers = lane->slots_top;

	if (slots > (uint64_t)(lane->slots + PTX_N_SLOTS - registers) ||
	    function->memory_bytes >
		    lane->local + PTX_LOCAL_BYTES - lane->local_top) {
		ptx_fault(lane, lane->in, PTX_FAULT_STACK, 0,
			  "function '%s' needs %llu registers and %u bytes of "
			  "local memory, more than the lane has left",
			  function->text_name, (unsigned long long)slots,
			  function->memory_bytes);
		return 0;
	}
	if (function->n_constants)
		memcpy(registers + function->n_registers, function->constants,
		       function->n_constants * sizeof(*registers));
	lane->function = function;
	lane->in = function->code;
	lane->registers = registers;
	lane->memory = lane->local_top;
	lane->slots_top = registers + slots;
	lane->local_top += function->memory_bytes;
	ptx_undefined_enter(lane);
	return 1;
}

/* Finds the function at an address, or returns NULL. */
static const struct ptx_function *function_at(const struct ptx_module *m,
					      uint64_t address)
{
	const struct ptx_function *f = m->functions;

	while (f && (uintptr_t)f != address)
		f = f->next;
	return f;
}

/* Returns 1 if a function takes what an indirect call passes. */
static int fits(const struct ptx_function *f, const struct ptx_prototype *p)
{
	uint32_t i;

	if (!f || f->is_entry || !f->is_defined || f->n_params != p->n_params ||
	    f->result.bytes != p->result_bytes)
		return 0;
	for (i = 0; i < f->n_params; i++)
		if (f->params[i].bytes != p->params[i].bytes)
			return 0;
	return 1;
}

int ptx_call(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	const struct ptx_call *call = in->call;
	const struct ptx_function *f = call->function;
	const uint8_t *memory = lane->memory;
	uint64_t address = lane->registers[in->a];
	struct ptx_frame *frame = &lane->frames[lane->depth];
	uint32_t i;

	if (!f) {
		f = function_at(lane->function->module, address);
		if (!fits(f, call->prototype)) {
			ptx_fault(lane, in, PTX_FAULT_JUMP, address,
				  "call of %#llx, which is not a function of "
				  "this prototype",
				  (unsigned long long)address);
			return 0;
		}
	}
	if (lane->depth == PTX_MAX_DEPTH) {
		ptx_fault(lane, in, PTX_FAULT_STACK, 0,
			  "more than %d nested calls", PTX_MAX_DEPTH);
		return 0;
	}
	frame->function = lane->function;
	frame->in = lane->in = in;
	frame->registers = lane->registers;
	frame->memory = lane->memory;
	if (!ptx_enter(lane, f))
		return 0;
	lane->depth++;
	for (i = 0; i < f->n_params; i++) {
		memcpy(lane->memory + f->params[i].offset,
		       memory + call->from[i].offset, f->params[i].bytes);
		ptx_undefined_copy(lane, lane->memory + f->params[i].offset,
				   memory + call->from[i].offset,
				   f->params[i].bytes);
	}
	return 1;
}

void ptx_return(struct ptx_lane *lane)
{
	const struct ptx_function *f = lane->function;
	const struct ptx_frame *frame = &lane->frames[--lane->depth];

	if (f->result.bytes) {
		memcpy(frame->memory + frame->in->call->result_to,
		       lane->memory + f->result.offset, f->result.bytes);
		ptx_undefined_copy(lane,
				   frame->memory + frame->in->call->result_to,
				   lane->memory + f->result.offset,
				   f->result.bytes);
	}
	lane->slots_top = lane->registers;
	lane->local_top = lane->memory;
	lane->function = frame->function;
	lane->in = frame->in + 1;
	lane->registers = frame->registers;
	lane->memory = frame->memory;
}
