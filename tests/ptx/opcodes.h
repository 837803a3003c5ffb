/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_OPCODES_H
#define PTX_OPCODES_H

#include "opcodes_half.h"

/*
 * The opcodes that compute a value from registers. A row is
 *
 *	X(text, id, sources, result, type of a, b and c, expression)
 *
 * The expression computes the result from the sources a, b, c and d; d is a
 * uint32_t. Signed and unsigned opcodes of wrapping arithmetic share unsigned
 * types. The functions in the expressions are in values.h and half.h.
 *
 * Other opcodes access memory, other lanes or the program counter. decode_*.c
 * reads their text.
 */

/* All sources and the result have one type. */
#define PTX_SAME(X, text, id, n, t, e) X(text, id, n, t, t, t, t, e)

/* One row for each integer type; wrapping arithmetic. */
#define PTX_WRAP(X, text, id, n, e)                                            \
	PTX_SAME(X, text ".s16", id##_S16, n, uint16_t, e)                     \
	PTX_SAME(X, text ".u16", id##_U16, n, uint16_t, e)                     \
	PTX_SAME(X, text ".s32", id##_S32, n, uint32_t, e)                     \
	PTX_SAME(X, text ".u32", id##_U32, n, uint32_t, e)                     \
	PTX_SAME(X, text ".s64", id##_S64, n, uint64_t, e)                     \
	PTX_SAME(X, text ".u64", id##_U64, n, uint64_t, e)

/* One row for each integer type; the sign matters. */
#define PTX_SIGNED(X, text, id, n, e)                                          \
	PTX_SAME(X, text ".s16", id##_S16, n, int16_t, e)                      \
	PTX_SAME(X, text ".s32", id##_S32, n, int32_t, e)                      \
	PTX_SAME(X, text ".s64", id##_S64, n, int64_t, e)
#define PTX_UNSIGNED(X, text, id, n, e)                                        \
	PTX_SAME(X, text ".u16", id##_U16, n, uint16_t, e)                     \
	PTX_SAME(X, text ".u32", id##_U32, n, uint32_t, e)                     \
	PTX_SAME(X, text ".u64", id##_U64, n, uint64_t, e)
#define PTX_INTEGERS(X, text, id, n, e)                                        \
	PTX_SIGNED(X, text, id, n, e)                                          \
	PTX_UNSIGNED(X, text, id, n, e)

/* One row for each type of bits. */
#define PTX_BITS(X, text, id, n, e)                                            \
	PTX_SAME(X, text ".b16", id##_B16, n, uint16_t, e)                     \
	PTX_SAME(X, text ".b32", id##_B32, n, uint32_t, e)                     \
	PTX_SAME(X, text ".b64", id##_B64, n, uint64_t, e)

/* ---- integers ------------------------------------------------------------ */
#define PTX_ARITHMETIC(X)                                                      \
	PTX_WRAP(X, "add", ADD, 2, a + b)                                      \
	PTX_WRAP(X, "sub", SUB, 2, a - b)                                      \
	PTX_WRAP(X, "mul.lo", MUL_LO, 2, 1u * a * b)                           \
	PTX_WRAP(X, "mad.lo", MAD_LO, 3, 1u * a * b + c)                       \
	PTX_SAME(X, "neg.s16", NEG_S16, 1, uint16_t, 0u - a)                   \
	PTX_SAME(X, "neg.s32", NEG_S32, 1, uint32_t, 0u - a)                   \
	PTX_SAME(X, "neg.s64", NEG_S64, 1, uint64_t, 0u - a)                   \
	PTX_SAME(X, "abs.s16", ABS_S16, 1, uint16_t, a >> 15 ? 0u - a : a)     \
	PTX_SAME(X, "abs.s32", ABS_S32, 1, uint32_t, a >> 31 ? 0u - a : a)     \
	PTX_SAME(X, "abs.s64", ABS_S64, 1, uint64_t, a >> 63 ? 0u - a : a)     \
	PTX_INTEGERS(X, "min", MIN, 2, a < b ? a : b)                          \
	PTX_INTEGERS(X, "max", MAX, 2, a > b ? a : b)                          \
	PTX_SIGNED(X, "div", DIV, 2, ptx_div_signed(a, b))                     \
	PTX_UNSIGNED(X, "div", DIV, 2, b ? a / b : ~0ULL)                      \
	PTX_SIGNED(X, "rem", REM, 2, b &&b != -1 ? a % b : b ? 0 : a)          \
	PTX_UNSIGNED(X, "rem", REM, 2, b ? a % b : a)                          \
	PTX_SAME(X, "mul.hi.s16", MUL_HI_S16, 2, int16_t, (a * b) >> 16)       \
	PTX_SAME(X, "mul.hi.u16", MUL_HI_U16, 2, uint16_t, (1u * a * b) >> 16) \
	PTX_SAME(X, "mul.hi.s32", MUL_HI_S32, 2, int32_t,                      \
		 ((int64_t)a * b) >> 32)                                       \
	PTX_SAME(X, "mul.hi.u32", MUL_HI_U32, 2, uint32_t,                     \
		 ((uint64_t)a * b) >> 32)                                      \
	PTX_SAME(X, "mul.hi.s64", MUL_HI_S64, 2, int64_t,                      \
		 ptx_mul_hi_signed(a, b))                                      \
	PTX_SAME(X, "mul.hi.u64", MUL_HI_U64, 2, uint64_t, ptx_mul_hi(a, b))   \
	PTX_SAME(X, "mad.hi.s32", MAD_HI_S32, 3, int32_t,                      \
		 (uint32_t)(((int64_t)a * b) >> 32) + (uint32_t)c)             \
	PTX_SAME(X, "mad.hi.u32", MAD_HI_U32, 3, uint32_t,                     \
		 (uint32_t)(((uint64_t)a * b) >> 32) + c)                      \
	PTX_SAME(X, "mad.hi.s64", MAD_HI_S64, 3, int64_t,                      \
		 (uint64_t)ptx_mul_hi_signed(a, b) + (uint64_t)c)              \
	PTX_SAME(X, "mad.hi.u64", MAD_HI_U64, 3, uint64_t,                     \
		 ptx_mul_hi(a, b) + c)                                         \
	X("mul.wide.s16", MUL_WIDE_S16, 2, int32_t, int16_t, int16_t, int16_t, \
	  a *b)                                                                \
	X("mul.wide.u16", MUL_WIDE_U16, 2, uint32_t, uint16_t, uint16_t,       \
	  uint16_t, 1u * a * b)                                                \
	X("mul.wide.s32", MUL_WIDE_S32, 2, int64_t, int32_t, int32_t, int32_t, \
	  (int64_t)a *b)                                                       \
	X("mul.wide.u32", MUL_WIDE_U32, 2, uint64_t, uint32_t, uint32_t,       \
	  uint32_t, (uint64_t)a *b)                                            \
	X("mad.wide.s16", MAD_WIDE_S16, 3, uint32_t, int16_t, int16_t,         \
	  uint32_t, (uint32_t)(a * b) + c)                                     \
	X("mad.wide.u16", MAD_WIDE_U16, 3, uint32_t, uint16_t, uint16_t,       \
	  uint32_t, 1u * a * b + c)                                            \
	X("mad.wide.s32", MAD_WIDE_S32, 3, uint64_t, int32_t, int32_t,         \
	  uint64_t, (uint64_t)((int64_t)a * b) + c)                            \
	X("mad.wide.u32", MAD_WIDE_U32, 3, uint64_t, uint32_t, uint32_t,       \
	  uint64_t, (uint64_t)a *b + c)                                        \
	PTX_SAME(X, "mul24.lo.s32", MUL24_LO_S32, 2, uint32_t,                 \
		 ptx_low24(a) * ptx_low24(b))                                  \
	PTX_SAME(X, "mul24.lo.u32", MUL24_LO_U32, 2, uint32_t,                 \
		 (a & 0xffffff) * (b & 0xffffff))                              \
	PTX_SAME(X, "sad.s32", SAD_S32, 3, int32_t,                            \
		 (uint32_t)c + (a < b ? (uint32_t)b - (uint32_t)a :            \
					(uint32_t)a - (uint32_t)b))            \
	PTX_SAME(X, "sad.u32", SAD_U32, 3, uint32_t,                           \
		 c + (a < b ? b - a : a - b))

/* Additions with CC.CF. The last source is the value of CC.CF. The result of a row
 * with .cc is the new CC.CF: decode_carry.c makes two rows of such an opcode. A
 * subtraction adds ~b, so that CC.CF is 1 if it borrows nothing. The 128-bit division
 * of the compiler reads CC.CF of a subtraction by an addition. */
#define PTX_CARRY_ADD(X, type, id, t, bits)                                    \
	PTX_SAME(X, "addc." type, ADDC_##id, 3, t, a + b + (c & 1))            \
	PTX_SAME(X, "subc." type, SUBC_##id, 3, t, a - b - !(c & 1))           \
	PTX_SAME(X, "addc.cc." type, ADDC_CC_##id, 3, t,                       \
		 ptx_carry(a, b, (uint32_t)c, bits))                           \
	PTX_SAME(X, "subc.cc." type, SUBC_CC_##id, 3, t,                       \
		 !ptx_borrow(a, b, !(c & 1)))
#define PTX_CARRY_MAD(X, half, type, id, t, u, bits, product)                  \
	X("madc." half "." type, MADC_##id, 4, u, t, t, u,                     \
	  (u)(product) + c + (d & 1))                                          \
	X("madc." half ".cc." type, MADC_CC_##id, 4, u, t, t, u,               \
	  ptx_carry((u)(product), c, d, bits))
#define PTX_CARRIES(X)                                                         \
	PTX_CARRY_ADD(X, "u32", U32, uint32_t, 32)                             \
	PTX_CARRY_ADD(X, "s32", S32, uint32_t, 32)                             \
	PTX_CARRY_ADD(X, "u64", U64, uint64_t, 64)                             \
	PTX_CARRY_ADD(X, "s64", S64, uint64_t, 64)                             \
	PTX_CARRY_MAD(X, "lo", "u32", LO_U32, uint32_t, uint32_t, 32, a *b)    \
	PTX_CARRY_MAD(X, "lo", "s32", LO_S32, uint32_t, uint32_t, 32, a *b)    \
	PTX_CARRY_MAD(X, "lo", "u64", LO_U64, uint64_t, uint64_t, 64, a *b)    \
	PTX_CARRY_MAD(X, "lo", "s64", LO_S64, uint64_t, uint64_t, 64, a *b)    \
	PTX_CARRY_MAD(X, "hi", "u32", HI_U32, uint32_t, uint32_t, 32,          \
		      ((uint64_t)a * b) >> 32)                                 \
	PTX_CARRY_MAD(X, "hi", "s32", HI_S32, int32_t, uint32_t, 32,           \
		      ((int64_t)a * b) >> 32)                                  \
	PTX_CARRY_MAD(X, "hi", "u64", HI_U64, uint64_t, uint64_t, 64,          \
		      ptx_mul_hi(a, b))                                        \
	PTX_CARRY_MAD(X, "hi", "s64", HI_S64, int64_t, uint64_t, 64,           \
		      ptx_mul_hi_signed(a, b))

/* Bytes and halves in a register. */
#define PTX_DOTS(X, types, id, is_a, is_b)                                     \
	PTX_SAME(X, "dp4a." types, DP4A_##id, 3, uint32_t,                     \
		 ptx_dot4(a, b, c, is_a, is_b))                                \
	PTX_SAME(X, "dp2a.lo." types, DP2A_LO_##id, 3, uint32_t,               \
		 ptx_dot2(a, b, c, is_a, is_b, 0))                             \
	PTX_SAME(X, "dp2a.hi." types, DP2A_HI_##id, 3, uint32_t,               \
		 ptx_dot2(a, b, c, is_a, is_b, 2))
#define PTX_PAIRS(X, text, id, t, e)                                           \
	PTX_SAME(X, text, id, 2, uint32_t, PTX_PAIR(t, e))
#define PTX_PACKED(X)                                                          \
	PTX_DOTS(X, "u32.u32", U32_U32, 0, 0)                                  \
	PTX_DOTS(X, "u32.s32", U32_S32, 0, 1)                                  \
	PTX_DOTS(X, "s32.u32", S32_U32, 1, 0)                                  \
	PTX_DOTS(X, "s32.s32", S32_S32, 1, 1)                                  \
	PTX_SAME(X, "vabsdiff4.u32.u32.u32", VABSDIFF4, 3, uint32_t,           \
		 ptx_distances(a, b, c, 0))                                    \
	PTX_SAME(X, "vabsdiff4.u32.u32.u32.add", VABSDIFF4_ADD, 3, uint32_t,   \
		 ptx_distances(a, b, c, 1))                                    \
	PTX_PAIRS(X, "add.u16x2", ADD_U16X2, uint16_t, x + y)                  \
	PTX_PAIRS(X, "add.s16x2", ADD_S16X2, int16_t, x + y)                   \
	PTX_PAIRS(X, "min.u16x2", MIN_U16X2, uint16_t, x < y ? x : y)          \
	PTX_PAIRS(X, "min.s16x2", MIN_S16X2, int16_t, x < y ? x : y)           \
	PTX_PAIRS(X, "max.u16x2", MAX_U16X2, uint16_t, x > y ? x : y)          \
	PTX_PAIRS(X, "max.s16x2", MAX_S16X2, int16_t, x > y ? x : y)           \
	PTX_PAIRS(X, "min.s16x2.relu", MIN_RELU_S16X2, int16_t,                \
		  (x < y ? x : y) > 0 ? (x < y ? x : y) : 0)                   \
	PTX_PAIRS(X, "max.s16x2.relu", MAX_RELU_S16X2, int16_t,                \
		  (x > y ? x : y) > 0 ? (x > y ? x : y) : 0)                   \
	PTX_SAME(X, "min.s32.relu", MIN_RELU_S32, 2, int32_t,                  \
		 (a < b ? a : b) > 0 ? (a < b ? a : b) : 0)                    \
	PTX_SAME(X, "max.s32.relu", MAX_RELU_S32, 2, int32_t,                  \
		 (a > b ? a : b) > 0 ? (a > b ? a : b) : 0)

/* ---- bits ---------------------------------------------------------------- */
#define PTX_LOGIC(X)                                                           \
	PTX_BITS(X, "and", AND, 2, a &b)                                       \
	PTX_BITS(X, "or", OR, 2, a | b)                                        \
	PTX_BITS(X, "xor", XOR, 2, a ^ b)                                      \
	PTX_BITS(X, "not", NOT, 1, ~a)                                         \
	PTX_BITS(X, "cnot", CNOT, 1, !a)                                       \
	PTX_SAME(X, "and.pred", AND_PRED, 2, uint8_t, a &b)                    \
	PTX_SAME(X, "or.pred", OR_PRED, 2, uint8_t, a | b)                     \
	PTX_SAME(X, "xor.pred", XOR_PRED, 2, uint8_t, a ^ b)                   \
	PTX_SAME(X, "not.pred", NOT_PRED, 1, uint8_t, !a)                      \
	PTX_SAME(X, "popc.b32", POPC_B32, 1, uint32_t, __builtin_popcount(a))  \
	X("popc.b64", POPC_B64, 1, uint32_t, uint64_t, uint64_t, uint64_t,     \
	  __builtin_popcountll(a))                                             \
	PTX_SAME(X, "clz.b32", CLZ_B32, 1, uint32_t,                           \
		 a ? __builtin_clz(a) : 32)                                    \
	X("clz.b64", CLZ_B64, 1, uint32_t, uint64_t, uint64_t, uint64_t,       \
	  a ? __builtin_clzll(a) : 64)                                         \
	PTX_SAME(X, "brev.b32", BREV_B32, 1, uint32_t, ptx_reverse(a) >> 32)   \
	PTX_SAME(X, "brev.b64", BREV_B64, 1, uint64_t, ptx_reverse(a))         \
	X("bfind.u32", BFIND_U32, 1, uint32_t, uint32_t, uint32_t, uint32_t,   \
	  ptx_highest(a))                                                      \
	X("bfind.s32", BFIND_S32, 1, uint32_t, int32_t, int32_t, int32_t,      \
	  ptx_highest((uint32_t)(a < 0 ? ~a : a)))                             \
	X("bfind.u64", BFIND_U64, 1, uint32_t, uint64_t, uint64_t, uint64_t,   \
	  ptx_highest(a))                                                      \
	X("bfind.s64", BFIND_S64, 1, uint32_t, int64_t, int64_t, int64_t,      \
	  ptx_highest((uint64_t)(a < 0 ? ~a : a)))                             \
	X("bfind.shiftamt.u32", BFIND_SHIFT_U32, 1, uint32_t, uint32_t,        \
	  uint32_t, uint32_t, a ? 31 - ptx_highest(a) : ~0u)                   \
	X("bfind.shiftamt.u64", BFIND_SHIFT_U64, 1, uint32_t, uint64_t,        \
	  uint64_t, uint64_t, a ? 63 - ptx_highest(a) : ~0u)                   \
	X("bfe.u32", BFE_U32, 3, uint32_t, uint32_t, uint32_t, uint32_t,       \
	  ptx_extract(a, b, c))                                                \
	X("bfe.u64", BFE_U64, 3, uint64_t, uint64_t, uint32_t, uint32_t,       \
	  ptx_extract(a, b, c))                                                \
	X("bfe.s32", BFE_S32, 3, int32_t, int32_t, uint32_t, uint32_t,         \
	  ptx_extract_signed(a, b, c, 31))                                     \
	X("bfe.s64", BFE_S64, 3, int64_t, int64_t, uint32_t, uint32_t,         \
	  ptx_extract_signed(a, b, c, 63))                                     \
	X("bfi.b32", BFI_B32, 4, uint32_t, uint32_t, uint32_t, uint32_t,       \
	  ptx_insert(a, b, c, d))                                              \
	X("bfi.b64", BFI_B64, 4, uint64_t, uint64_t, uint64_t, uint32_t,       \
	  ptx_insert(a, b, c, d))                                              \
	PTX_SAME(X, "lop3.b32", LOP3_B32, 4, uint32_t, ptx_lop3(a, b, c, d))   \
	PTX_SAME(X, "prmt.b32", PRMT_B32, 3, uint32_t, ptx_permute(a, b, c))

#define PTX_SHIFTS(X)                                                          \
	X("shl.b16", SHL_B16, 2, uint16_t, uint16_t, uint32_t, uint32_t,       \
	  b < 16 ? (uint32_t)a << b : 0)                                       \
	X("shl.b32", SHL_B32, 2, uint32_t, uint32_t, uint32_t, uint32_t,       \
	  b < 32 ? a << b : 0)                                                 \
	X("shl.b64", SHL_B64, 2, uint64_t, uint64_t, uint32_t, uint32_t,       \
	  b < 64 ? a << b : 0)                                                 \
	PTX_SHIFT_RIGHT(X, "b", B)                                             \
	PTX_SHIFT_RIGHT(X, "u", U)                                             \
	X("shr.s16", SHR_S16, 2, int16_t, int16_t, uint32_t, uint32_t,         \
	  a >> (b < 16 ? b : 15))                                              \
	X("shr.s32", SHR_S32, 2, int32_t, int32_t, uint32_t, uint32_t,         \
	  a >> (b < 32 ? b : 31))                                              \
	X("shr.s64", SHR_S64, 2, int64_t, int64_t, uint32_t, uint32_t,         \
	  a >> (b < 64 ? b : 63))                                              \
	PTX_SAME(X, "shf.l.wrap.b32", SHF_L_WRAP_B32, 3, uint32_t,             \
		 ptx_funnel(a, b, 32 - (c & 31)))                              \
	PTX_SAME(X, "shf.r.wrap.b32", SHF_R_WRAP_B32, 3, uint32_t,             \
		 ptx_funnel(a, b, c & 31))                                     \
	PTX_SAME(X, "shf.l.clamp.b32", SHF_L_CLAMP_B32, 3, uint32_t,           \
		 ptx_funnel(a, b, 32 - (c < 32 ? c : 32)))                     \
	PTX_SAME(X, "shf.r.clamp.b32", SHF_R_CLAMP_B32, 3, uint32_t,           \
		 ptx_funnel(a, b, c < 32 ? c : 32))
#define PTX_SHIFT_RIGHT(X, text, id)                                           \
	X("shr." text "16", SHR_##id##16, 2, uint16_t, uint16_t, uint32_t,     \
	  uint32_t, b < 16 ? a >> b : 0)                                       \
	X("shr." text "32", SHR_##id##32, 2, uint32_t, uint32_t, uint32_t,     \
	  uint32_t, b < 32 ? a >> b : 0)                                       \
	X("shr." text "64", SHR_##id##64, 2, uint64_t, uint64_t, uint32_t,     \
	  uint32_t, b < 64 ? a >> b : 0)

/* ---- moves and choices --------------------------------------------------- */
#define PTX_MOVES(X)                                                           \
	PTX_ALL_BITS(X, PTX_MOVE)                                              \
	PTX_SAME(X, "mov.pred", MOV_PRED, 1, uint8_t, a)                       \
	PTX_ALL_BITS(X, PTX_SELECT)
#define PTX_ALL_BITS(X, ROW)                                                   \
	ROW(X, "b16", B16, uint16_t)                                           \
	ROW(X, "u16", U16, uint16_t)                                           \
	ROW(X, "s16", S16, uint16_t)                                           \
	ROW(X, "b32", B32, uint32_t)                                           \
	ROW(X, "u32", U32, uint32_t)                                           \
	ROW(X, "s32", S32, uint32_t)                                           \
	ROW(X, "f32", F32, uint32_t)                                           \
	ROW(X, "b64", B64, uint64_t)                                           \
	ROW(X, "u64", U64, uint64_t)                                           \
	ROW(X, "s64", S64, uint64_t)                                           \
	ROW(X, "f64", F64, uint64_t)
#define PTX_MOVE(X, text, id, t) PTX_SAME(X, "mov." text, MOV_##id, 1, t, a)
#define PTX_SELECT(X, text, id, t)                                             \
	X("selp." text, SELP_##id, 3, t, t, t, uint8_t, c ? a : b)

/* ---- comparisons --------------------------------------------------------- */
#define PTX_SETP(X, text, id, t, e)                                            \
	X("setp." text, SETP_##id, 2, uint8_t, t, t, t, e)
#define PTX_SETP_BITS(X, text, id, e)                                          \
	PTX_SETP(X, text ".b16", id##_B16, uint16_t, e)                        \
	PTX_SETP(X, text ".b32", id##_B32, uint32_t, e)                        \
	PTX_SETP(X, text ".b64", id##_B64, uint64_t, e)
#define PTX_SETP_UNSIGNED(X, text, id, e)                                      \
	PTX_SETP(X, text ".u16", id##_U16, uint16_t, e)                        \
	PTX_SETP(X, text ".u32", id##_U32, uint32_t, e)                        \
	PTX_SETP(X, text ".u64", id##_U64, uint64_t, e)
#define PTX_SETP_INTEGERS(X, text, id, e)                                      \
	PTX_SETP_UNSIGNED(X, text, id, e)                                      \
	PTX_SETP(X, text ".s16", id##_S16, int16_t, e)                         \
	PTX_SETP(X, text ".s32", id##_S32, int32_t, e)                         \
	PTX_SETP(X, text ".s64", id##_S64, int64_t, e)
#define PTX_SETP_FLOATS(X, text, id, e)                                        \
	PTX_SETP(X, text ".f32", id##_F32, float, e)                           \
	PTX_SETP(X, text ".f64", id##_F64, double, e)
#define PTX_NAN(a, b) ((a) != (a) || (b) != (b))
#define PTX_COMPARISONS(X)                                                     \
	PTX_SETP_BITS(X, "eq", EQ, a == b)                                     \
	PTX_SETP_BITS(X, "ne", NE, a != b)                                     \
	PTX_SETP_INTEGERS(X, "eq", EQ, a == b)                                 \
	PTX_SETP_INTEGERS(X, "ne", NE, a != b)                                 \
	PTX_SETP_INTEGERS(X, "lt", LT, a < b)                                  \
	PTX_SETP_INTEGERS(X, "le", LE, a <= b)                                 \
	PTX_SETP_INTEGERS(X, "gt", GT, a > b)                                  \
	PTX_SETP_INTEGERS(X, "ge", GE, a >= b)                                 \
	PTX_SETP_UNSIGNED(X, "lo", LO, a < b)                                  \
	PTX_SETP_UNSIGNED(X, "ls", LS, a <= b)                                 \
	PTX_SETP_UNSIGNED(X, "hi", HI, a > b)                                  \
	PTX_SETP_UNSIGNED(X, "hs", HS, a >= b)                                 \
	PTX_SETP_FLOATS(X, "eq", EQ, a == b)                                   \
	PTX_SETP_FLOATS(X, "ne", NE, a<b || a> b)                              \
	PTX_SETP_FLOATS(X, "lt", LT, a < b)                                    \
	PTX_SETP_FLOATS(X, "le", LE, a <= b)                                   \
	PTX_SETP_FLOATS(X, "gt", GT, a > b)                                    \
	PTX_SETP_FLOATS(X, "ge", GE, a >= b)                                   \
	PTX_SETP_FLOATS(X, "equ", EQU, !(a < b || a > b))                      \
	PTX_SETP_FLOATS(X, "neu", NEU, a != b)                                 \
	PTX_SETP_FLOATS(X, "ltu", LTU, !(a >= b))                              \
	PTX_SETP_FLOATS(X, "leu", LEU, !(a > b))                               \
	PTX_SETP_FLOATS(X, "gtu", GTU, !(a <= b))                              \
	PTX_SETP_FLOATS(X, "geu", GEU, !(a < b))                               \
	PTX_SETP_FLOATS(X, "num", NUM, !PTX_NAN(a, b))                         \
	PTX_SETP_FLOATS(X, "nan", NAN, PTX_NAN(a, b))

/* ---- conversions --------------------------------------------------------- */
#define PTX_CVT(X, text, id, tr, ta, e)                                        \
	X("cvt." text, CVT_##id, 1, tr, ta, ta, ta, e)
#define PTX_CVT_FROM(X, text, id, t)                                           \
	PTX_CVT(X, text ".u8", id##_U8, t, uint8_t, a)                         \
	PTX_CVT(X, text ".s8", id##_S8, t, int8_t, a)                          \
	PTX_CVT(X, text ".u16", id##_U16, t, uint16_t, a)                      \
	PTX_CVT(X, text ".s16", id##_S16, t, int16_t, a)                       \
	PTX_CVT(X, text ".u32", id##_U32, t, uint32_t, a)                      \
	PTX_CVT(X, text ".s32", id##_S32, t, int32_t, a)                       \
	PTX_CVT(X, text ".u64", id##_U64, t, uint64_t, a)                      \
	PTX_CVT(X, text ".s64", id##_S64, t, int64_t, a)
/* Float to integer, by one rounding mode. `from64`: the NaN has another value
 * if one side has 64 bits. */
#define PTX_CVT_ROUND(X, text, id, mode)                                       \
	PTX_CVT_BOUND(X, text ".u8", id##_U8, uint8_t, mode, 0, 255, 8)        \
	PTX_CVT_BOUND(X, text ".s8", id##_S8, int8_t, mode, -128, 127, 8)      \
	PTX_CVT_BOUND(X, text ".u16", id##_U16, uint16_t, mode, 0, 65535, 16)  \
	PTX_CVT_BOUND(X, text ".s16", id##_S16, int16_t, mode, INT16_MIN,      \
		      INT16_MAX, 16)                                           \
	PTX_CVT_BOUND(X, text ".u32", id##_U32, uint32_t, mode, 0, UINT32_MAX, \
		      32)                                                      \
	PTX_CVT_BOUND(X, text ".s32", id##_S32, int32_t, mode, INT32_MIN,      \
		      INT32_MAX, 32)                                           \
	PTX_CVT_BOUND(X, text ".s64", id##_S64, int64_t, mode, INT64_MIN,      \
		      INT64_MAX, 64)                                           \
	PTX_CVT(X, text ".u64.f32", id##_U64_F32, uint64_t, float,             \
		ptx_to_u64(ptx_round_##mode(a)))                               \
	PTX_CVT(X, text ".u64.f64", id##_U64_F64, uint64_t, double,            \
		ptx_to_u64(ptx_round_##mode(a)))
#define PTX_CVT_BOUND(X, text, id, t, mode, low, high, bits)                   \
	PTX_CVT(X, text ".f32", id##_F32, t, float,                            \
		ptx_to_integer(ptx_round_##mode(a), low, high,                 \
			       (bits) == 64 ? INT64_MIN : 0))                  \
	PTX_CVT(X, text ".f64", id##_F64, t, double,                           \
		ptx_to_integer(ptx_round_##mode(a), low, high,                 \
			       (int64_t)(~0ULL << ((bits)-1))))
/* Integer to float. */
#define PTX_CVT_FLOAT(X, text, id, mode)                                       \
	PTX_CVT_FLOATS(X, text, id, mode, ".u8", U8, uint8_t)                  \
	PTX_CVT_FLOATS(X, text, id, mode, ".s8", S8, int8_t)                   \
	PTX_CVT_FLOATS(X, text, id, mode, ".u16", U16, uint16_t)               \
	PTX_CVT_FLOATS(X, text, id, mode, ".s16", S16, int16_t)                \
	PTX_CVT_FLOATS(X, text, id, mode, ".u32", U32, uint32_t)               \
	PTX_CVT_FLOATS(X, text, id, mode, ".s32", S32, int32_t)                \
	PTX_CVT_FLOATS(X, text, id, mode, ".u64", U64, uint64_t)               \
	PTX_CVT_FLOATS(X, text, id, mode, ".s64", S64, int64_t)
#define PTX_CVT_FLOATS(X, text, id, mode, from, from_id, t)                    \
	PTX_CVT(X, text ".f32" from, id##_F32_##from_id, float, t,             \
		PTX_ROUNDED(mode, (float)PTX_OPAQUE(t, a)))                    \
	PTX_CVT(X, text ".f64" from, id##_F64_##from_id, double, t,            \
		PTX_ROUNDED(mode, (double)PTX_OPAQUE(t, a)))
#define PTX_CONVERSIONS(X)                                                     \
	PTX_CVT_FROM(X, "u8", U8, uint8_t)                                     \
	PTX_CVT_FROM(X, "s8", S8, int8_t)                                      \
	PTX_CVT_FROM(X, "u16", U16, uint16_t)                                  \
	PTX_CVT_FROM(X, "s16", S16, int16_t)                                   \
	PTX_CVT_FROM(X, "u32", U32, uint32_t)                                  \
	PTX_CVT_FROM(X, "s32", S32, int32_t)                                   \
	PTX_CVT_FROM(X, "u64", U64, uint64_t)                                  \
	PTX_CVT_FROM(X, "s64", S64, int64_t)                                   \
	PTX_CVT_ROUND(X, "rni", RNI, nearest)                                  \
	PTX_CVT_ROUND(X, "rzi", RZI, zero)                                     \
	PTX_CVT_ROUND(X, "rmi", RMI, down)                                     \
	PTX_CVT_ROUND(X, "rpi", RPI, up)                                       \
	PTX_CVT_FLOAT(X, "rn", RN, FE_TONEAREST)                               \
	PTX_CVT_FLOAT(X, "rz", RZ, FE_TOWARDZERO)                              \
	PTX_CVT_FLOAT(X, "rm", RM, FE_DOWNWARD)                                \
	PTX_CVT_FLOAT(X, "rp", RP, FE_UPWARD)                                  \
	PTX_CVT(X, "f64.f32", F64_F32, double, float, a)                       \
	PTX_CVT(X, "f32.f32", F32_F32, float, float, a)                        \
	PTX_CVT(X, "f64.f64", F64_F64, double, double, a)                      \
	PTX_CVT_NARROW(X, "rn", RN, FE_TONEAREST)                              \
	PTX_CVT_NARROW(X, "rz", RZ, FE_TOWARDZERO)                             \
	PTX_CVT_NARROW(X, "rm", RM, FE_DOWNWARD)                               \
	PTX_CVT_NARROW(X, "rp", RP, FE_UPWARD)                                 \
	PTX_CVT_WHOLE(X, "rni", RNI, nearest)                                  \
	PTX_CVT_WHOLE(X, "rzi", RZI, zero)                                     \
	PTX_CVT_WHOLE(X, "rmi", RMI, down)                                     \
	PTX_CVT_WHOLE(X, "rpi", RPI, up)                                       \
	PTX_CVT(X, "sat.f32.f32", SAT_F32_F32, float, float, ptx_saturate(a))
#define PTX_CVT_NARROW(X, text, id, mode)                                      \
	PTX_CVT(X, text ".f32.f64", id##_F32_F64, float, double,               \
		ptx_f32(PTX_ROUNDED(mode, (float)PTX_OPAQUE(double, a))))
#define PTX_CVT_WHOLE(X, text, id, mode)                                       \
	PTX_CVT(X, text ".f32.f32", id##_F32_F32, float, float,                \
		ptx_f32((float)ptx_round_##mode(a)))                           \
	PTX_CVT(X, text ".f64.f64", id##_F64_F64, double, double,              \
		ptx_round_##mode(a))

/* ---- floats -------------------------------------------------------------- */
#define PTX_FLOAT2(X, text, id, n, mode, e)                                    \
	PTX_SAME(X, text ".f32", id##_F32, n, float,                           \
		 ptx_f32(PTX_ROUNDED(mode, e(float, f))))                      \
	PTX_SAME(X, text ".f64", id##_F64, n, double,                          \
		 PTX_ROUNDED(mode, e(double, )))
#define PTX_E_ADD(t, f) (PTX_OPAQUE(t, a) + b)
#define PTX_E_SUB(t, f) (PTX_OPAQUE(t, a) - b)
#define PTX_E_MUL(t, f) (PTX_OPAQUE(t, a) * b)
#define PTX_E_DIV(t, f) (PTX_OPAQUE(t, a) / b)
#define PTX_E_RCP(t, f) (1 / PTX_OPAQUE(t, a))
#define PTX_E_SQRT(t, f) sqrt##f(PTX_OPAQUE(t, a))
#define PTX_E_FMA(t, f) fma##f(PTX_OPAQUE(t, a), b, c)
#define PTX_ROUNDINGS(X, text, id, n, e)                                       \
	PTX_FLOAT2(X, text ".rn", id##_RN, n, FE_TONEAREST, e)                 \
	PTX_FLOAT2(X, text ".rz", id##_RZ, n, FE_TOWARDZERO, e)                \
	PTX_FLOAT2(X, text ".rm", id##_RM, n, FE_DOWNWARD, e)                  \
	PTX_FLOAT2(X, text ".rp", id##_RP, n, FE_UPWARD, e)
#define PTX_FLOATS(X)                                                          \
	PTX_FLOAT2(X, "add", ADD, 2, FE_TONEAREST, PTX_E_ADD)                  \
	PTX_FLOAT2(X, "sub", SUB, 2, FE_TONEAREST, PTX_E_SUB)                  \
	PTX_FLOAT2(X, "mul", MUL, 2, FE_TONEAREST, PTX_E_MUL)                  \
	PTX_ROUNDINGS(X, "add", ADD, 2, PTX_E_ADD)                             \
	PTX_ROUNDINGS(X, "sub", SUB, 2, PTX_E_SUB)                             \
	PTX_ROUNDINGS(X, "mul", MUL, 2, PTX_E_MUL)                             \
	PTX_ROUNDINGS(X, "div", DIV, 2, PTX_E_DIV)                             \
	PTX_ROUNDINGS(X, "rcp", RCP, 1, PTX_E_RCP)                             \
	PTX_ROUNDINGS(X, "sqrt", SQRT, 1, PTX_E_SQRT)                          \
	PTX_ROUNDINGS(X, "fma", FMA, 3, PTX_E_FMA)                             \
	PTX_SAME(X, "min.f32", MIN_F32, 2, float, ptx_f32(ptx_min(a, b)))      \
	PTX_SAME(X, "min.f64", MIN_F64, 2, double, ptx_min(a, b))              \
	PTX_SAME(X, "max.f32", MAX_F32, 2, float, ptx_f32(ptx_max(a, b)))      \
	PTX_SAME(X, "max.f64", MAX_F64, 2, double, ptx_max(a, b))              \
	PTX_SAME(X, "neg.f32", NEG_F32, 1, uint32_t, a ^ 1u << 31)             \
	PTX_SAME(X, "neg.f64", NEG_F64, 1, uint64_t, a ^ 1ULL << 63)           \
	PTX_SAME(X, "abs.f32", ABS_F32, 1, uint32_t, a & ~(1u << 31))          \
	PTX_SAME(X, "abs.f64", ABS_F64, 1, uint64_t, a & ~(1ULL << 63))        \
	PTX_SAME(X, "copysign.f32", COPYSIGN_F32, 2, uint32_t,                 \
		 (b & ~(1u << 31)) | (a & 1u << 31))                           \
	PTX_SAME(X, "copysign.f64", COPYSIGN_F64, 2, uint64_t,                 \
		 (b & ~(1ULL << 63)) | (a & 1ULL << 63))                       \
	PTX_APPROX(X, "rcp.approx", RCP_APPROX, 1, PTX_A_RCP)                  \
	PTX_APPROX(X, "sqrt.approx", SQRT_APPROX, 1, PTX_A_SQRT)               \
	PTX_APPROX(X, "rsqrt.approx", RSQRT_APPROX, 1, PTX_A_RSQRT)            \
	PTX_APPROX(X, "ex2.approx", EX2_APPROX, 1, PTX_A_EX2)                  \
	PTX_APPROX(X, "lg2.approx", LG2_APPROX, 1, PTX_A_LG2)                  \
	PTX_APPROX(X, "sin.approx", SIN_APPROX, 1, PTX_A_SIN)                  \
	PTX_APPROX(X, "cos.approx", COS_APPROX, 1, PTX_A_COS)                  \
	PTX_APPROX(X, "tanh.approx", TANH_APPROX, 1, PTX_A_TANH)               \
	PTX_APPROX(X, "div.approx", DIV_APPROX, 2, PTX_A_DIV)                  \
	PTX_APPROX(X, "div.full", DIV_FULL, 2, PTX_A_DIV)                      \
	PTX_SAME(X, "rsqrt.approx.f64", RSQRT_APPROX_F64, 1, double,           \
		 1 / sqrt(a))                                                  \
	PTX_SAME(X, "rcp.approx.ftz.f64", RCP_APPROX_FTZ_F64, 1, double,       \
		 ptx_high_half(1 / ptx_high_half(a)))                          \
	PTX_SAME(X, "rsqrt.approx.ftz.f64", RSQRT_APPROX_FTZ_F64, 1, double,   \
		 ptx_high_half(1 / sqrt(ptx_high_half(a))))
/* .ftz flushes subnormal sources and results. .sat clamps the result to 0 .. 1. */
#define PTX_FLUSHED(e) (a = ptx_flush(a), b = ptx_flush(b), c = ptx_flush(c), e)
#define PTX_FLOAT_MODES(X, text, end, id, n, mode, e)                          \
	PTX_SAME(X, text ".ftz" end, id##_FTZ, n, float,                       \
		 ptx_flush(PTX_FLUSHED(                                        \
			 ptx_f32(PTX_ROUNDED(mode, e(float, f))))))            \
	PTX_SAME(X, text ".sat" end, id##_SAT, n, float,                       \
		 ptx_saturate(PTX_ROUNDED(mode, e(float, f))))                 \
	PTX_SAME(X, text ".ftz.sat" end, id##_FTZ_SAT, n, float,               \
		 ptx_flush(ptx_saturate(                                       \
			 PTX_FLUSHED(PTX_ROUNDED(mode, e(float, f))))))
#define PTX_ALL_MODES(X, text, id, n, e)                                       \
	PTX_FLOAT_MODES(X, text ".rn", ".f32", id##_RN, n, FE_TONEAREST, e)    \
	PTX_FLOAT_MODES(X, text ".rz", ".f32", id##_RZ, n, FE_TOWARDZERO, e)   \
	PTX_FLOAT_MODES(X, text ".rm", ".f32", id##_RM, n, FE_DOWNWARD, e)     \
	PTX_FLOAT_MODES(X, text ".rp", ".f32", id##_RP, n, FE_UPWARD, e)
#define PTX_FLUSH_ROW(X, text, id, n, mode, e)                                 \
	PTX_SAME(X, text ".ftz.f32", id##_FTZ, n, float,                       \
		 ptx_flush(PTX_FLUSHED(                                        \
			 ptx_f32(PTX_ROUNDED(mode, e(float, f))))))
#define PTX_FLUSH_ROWS(X, text, id, n, e)                                      \
	PTX_FLUSH_ROW(X, text ".rn", id##_RN, n, FE_TONEAREST, e)              \
	PTX_FLUSH_ROW(X, text ".rz", id##_RZ, n, FE_TOWARDZERO, e)             \
	PTX_FLUSH_ROW(X, text ".rm", id##_RM, n, FE_DOWNWARD, e)               \
	PTX_FLUSH_ROW(X, text ".rp", id##_RP, n, FE_UPWARD, e)
#define PTX_SETP_FLUSH(X, text, id, e)                                         \
	PTX_SETP(X, text ".ftz.f32", id##_FTZ_F32, float, PTX_FLUSHED(e))
#define PTX_COMPARE_FLUSHED(X)                                                 \
	PTX_SETP_FLUSH(X, "eq", EQ, a == b)                                    \
	PTX_SETP_FLUSH(X, "ne", NE, a<b || a> b)                               \
	PTX_SETP_FLUSH(X, "lt", LT, a < b)                                     \
	PTX_SETP_FLUSH(X, "le", LE, a <= b)                                    \
	PTX_SETP_FLUSH(X, "gt", GT, a > b)                                     \
	PTX_SETP_FLUSH(X, "ge", GE, a >= b)                                    \
	PTX_SETP_FLUSH(X, "equ", EQU, !(a < b || a > b))                       \
	PTX_SETP_FLUSH(X, "neu", NEU, a != b)                                  \
	PTX_SETP_FLUSH(X, "ltu", LTU, !(a >= b))                               \
	PTX_SETP_FLUSH(X, "leu", LEU, !(a > b))                                \
	PTX_SETP_FLUSH(X, "gtu", GTU, !(a <= b))                               \
	PTX_SETP_FLUSH(X, "geu", GEU, !(a < b))                                \
	PTX_SETP_FLUSH(X, "num", NUM, !PTX_NAN(a, b))                          \
	PTX_SETP_FLUSH(X, "nan", NAN, PTX_NAN(a, b))
#define PTX_CVT_FLUSH(X, text, id, mode)                                       \
	PTX_CVT_FLUSH_TO(X, text, id, "u8", U8, uint8_t, mode, 0, 255)         \
	PTX_CVT_FLUSH_TO(X, text, id, "s8", S8, int8_t, mode, -128, 127)       \
	PTX_CVT_FLUSH_TO(X, text, id, "u16", U16, uint16_t, mode, 0, 65535)    \
	PTX_CVT_FLUSH_TO(X, text, id, "s16", S16, int16_t, mode, INT16_MIN,    \
			 INT16_MAX)                                            \
	PTX_CVT_FLUSH_TO(X, text, id, "u32", U32, uint32_t, mode, 0,           \
			 UINT32_MAX)                                           \
	PTX_CVT_FLUSH_TO(X, text, id, "s32", S32, int32_t, mode, INT32_MIN,    \
			 INT32_MAX)                                            \
	PTX_CVT(X, text ".ftz.s64.f32", id##_FTZ_S64, int64_t, float,          \
		ptx_to_integer(ptx_round_##mode(ptx_flush(a)), INT64_MIN,      \
			       INT64_MAX, INT64_MIN))                          \
	PTX_CVT(X, text ".ftz.u64.f32", id##_FTZ_U64, uint64_t, float,         \
		ptx_to_u64(ptx_round_##mode(ptx_flush(a))))                    \
	PTX_CVT(X, text ".ftz.f32.f32", id##_FTZ_F32, float, float,            \
		ptx_f32((float)ptx_round_##mode(ptx_flush(a))))
#define PTX_CVT_FLUSH_TO(X, text, id, to, to_id, t, mode, low, high)           \
	PTX_CVT(X, text ".ftz." to ".f32", id##_FTZ_##to_id, t, float,         \
		ptx_to_integer(ptx_round_##mode(ptx_flush(a)), low, high, 0))
#define PTX_CVT_FLUSH_NARROW(X, text, id, mode)                                \
	PTX_CVT(X, text ".ftz.f32.f64", id##_FTZ_F32_F64, float, double,       \
		ptx_flush(ptx_f32(                                             \
			PTX_ROUNDED(mode, (float)PTX_OPAQUE(double, a)))))
#define PTX_FLUSHES(X)                                                         \
	PTX_FLOAT_MODES(X, "add", ".f32", ADD, 2, FE_TONEAREST, PTX_E_ADD)     \
	PTX_FLOAT_MODES(X, "sub", ".f32", SUB, 2, FE_TONEAREST, PTX_E_SUB)     \
	PTX_FLOAT_MODES(X, "mul", ".f32", MUL, 2, FE_TONEAREST, PTX_E_MUL)     \
	PTX_ALL_MODES(X, "add", ADD, 2, PTX_E_ADD)                             \
	PTX_ALL_MODES(X, "sub", SUB, 2, PTX_E_SUB)                             \
	PTX_ALL_MODES(X, "mul", MUL, 2, PTX_E_MUL)                             \
	PTX_ALL_MODES(X, "fma", FMA, 3, PTX_E_FMA)                             \
	PTX_FLUSH_ROWS(X, "div", DIV, 2, PTX_E_DIV)                            \
	PTX_FLUSH_ROWS(X, "rcp", RCP, 1, PTX_E_RCP)                            \
	PTX_FLUSH_ROWS(X, "sqrt", SQRT, 1, PTX_E_SQRT)                         \
	PTX_SAME(X, "min.ftz.f32", MIN_FTZ_F32, 2, float,                      \
		 ptx_f32(PTX_FLUSHED(ptx_min(a, b))))                          \
	PTX_SAME(X, "max.ftz.f32", MAX_FTZ_F32, 2, float,                      \
		 ptx_f32(PTX_FLUSHED(ptx_max(a, b))))                          \
	PTX_SAME(X, "min.NaN.f32", MIN_NAN_F32, 2, float,                      \
		 ptx_f32(PTX_NAN(a, b) ? (float)NAN : ptx_min(a, b)))          \
	PTX_SAME(X, "max.NaN.f32", MAX_NAN_F32, 2, float,                      \
		 ptx_f32(PTX_NAN(a, b) ? (float)NAN : ptx_max(a, b)))          \
	PTX_SAME(X, "min.ftz.NaN.f32", MIN_FTZ_NAN_F32, 2, float,              \
		 ptx_f32(PTX_NAN(a, b) ? (float)NAN :                          \
					 PTX_FLUSHED(ptx_min(a, b))))          \
	PTX_SAME(X, "max.ftz.NaN.f32", MAX_FTZ_NAN_F32, 2, float,              \
		 ptx_f32(PTX_NAN(a, b) ? (float)NAN :                          \
					 PTX_FLUSHED(ptx_max(a, b))))          \
	PTX_SAME(X, "neg.ftz.f32", NEG_FTZ_F32, 1, float, -ptx_flush(a))       \
	PTX_SAME(X, "abs.ftz.f32", ABS_FTZ_F32, 1, float, fabsf(ptx_flush(a))) \
	PTX_COMPARE_FLUSHED(X)                                                 \
	PTX_CVT_FLUSH(X, "rni", RNI, nearest)                                  \
	PTX_CVT_FLUSH(X, "rzi", RZI, zero)                                     \
	PTX_CVT_FLUSH(X, "rmi", RMI, down)                                     \
	PTX_CVT_FLUSH(X, "rpi", RPI, up)                                       \
	PTX_CVT_FLUSH_NARROW(X, "rn", RN, FE_TONEAREST)                        \
	PTX_CVT_FLUSH_NARROW(X, "rz", RZ, FE_TOWARDZERO)                       \
	PTX_CVT_FLUSH_NARROW(X, "rm", RM, FE_DOWNWARD)                         \
	PTX_CVT_FLUSH_NARROW(X, "rp", RP, FE_UPWARD)                           \
	PTX_CVT(X, "ftz.f64.f32", FTZ_F64_F32, double, float, ptx_flush(a))    \
	PTX_CVT(X, "ftz.f32.f32", FTZ_F32_F32, float, float, ptx_flush(a))     \
	PTX_CVT(X, "ftz.sat.f32.f32", FTZ_SAT_F32_F32, float, float,           \
		ptx_saturate(ptx_flush(a)))

/* An approximation may be exact: these are. */
#define PTX_A_RCP(x, y) (1 / (x))
#define PTX_A_SQRT(x, y) sqrt(x)
#define PTX_A_RSQRT(x, y) (1 / sqrt(x))
#define PTX_A_EX2(x, y) exp2(x)
#define PTX_A_LG2(x, y) log2(x)
#define PTX_A_SIN(x, y) sin(x)
#define PTX_A_COS(x, y) cos(x)
#define PTX_A_TANH(x, y) tanh(x)
#define PTX_A_DIV(x, y) ((x) / (y))
#define PTX_APPROX(X, text, id, n, e)                                          \
	PTX_SAME(X, text ".f32", id##_F32, n, float,                           \
		 ptx_f32((float)e((double)a, (double)b)))                      \
	PTX_SAME(X, text ".ftz.f32", id##_FTZ_F32, n, float,                   \
		 ptx_flush(ptx_f32((float)e((double)ptx_flush(a),              \
					    (double)ptx_flush(b)))))

/* All opcodes above. */
#define PTX_VALUES(X)                                                          \
	PTX_ARITHMETIC(X)                                                      \
	PTX_CARRIES(X)                                                         \
	PTX_PACKED(X)                                                          \
	PTX_LOGIC(X)                                                           \
	PTX_SHIFTS(X)                                                          \
	PTX_MOVES(X)                                                           \
	PTX_COMPARISONS(X)                                                     \
	PTX_CONVERSIONS(X)                                                     \
	PTX_FLOATS(X)                                                          \
	PTX_FLUSHES(X)                                                         \
	PTX_HALVES(X)

/* Loads and stores of one element: X(suffix of the id, type). */
#define PTX_LOADS(X)                                                           \
	X(U8, uint8_t)                                                         \
	X(U16, uint16_t)                                                       \
	X(U32, uint32_t)                                                       \
	X(U64, uint64_t)                                                       \
	X(S8, int8_t)                                                          \
	X(S16, int16_t)                                                        \
	X(S32, int32_t)
#define PTX_STORES(X)                                                          \
	X(U8, uint8_t)                                                         \
	X(U16, uint16_t)                                                       \
	X(U32, uint32_t)                                                       \
	X(U64, uint64_t)

enum ptx_opcode {
#define ROW(text, id, n, tr, ta, tb, tc, e) PTX_##id,
	PTX_VALUES(ROW)
#undef ROW
		PTX_N_VALUES,
	PTX_UNDECODED = PTX_N_VALUES,
#define ROW(id, t) PTX_LOAD_##id,
	PTX_LOADS(ROW)
#undef ROW
#define ROW(id, t) PTX_STORE_##id,
		PTX_STORES(ROW)
#undef ROW
			PTX_LOAD_VECTOR,
	PTX_STORE_VECTOR,
	PTX_LOAD_PARAM,
	PTX_STORE_PARAM,
	PTX_ATOM,
	PTX_FENCE,
	PTX_PACK, /* mov from a vector */
	PTX_UNPACK, /* mov to a vector */
	PTX_SPECIAL, /* mov from a special register */
	PTX_LOCAL_ADDRESS, /* mov from a local variable or a parameter */
	PTX_CVTA, /* no change: pointers are generic */
	PTX_CVTA_SHARED,
	PTX_CVTA_TO_GLOBAL,
	PTX_CVTA_TO_SHARED,
	PTX_CVTA_TO_LOCAL,
	PTX_ISSPACEP,
	PTX_MAPA,
	PTX_NANOSLEEP,
	PTX_BRANCH,
	PTX_BRANCH_IF,
	PTX_BRANCH_UNLESS,
	PTX_BRANCH_TABLE,
	PTX_CALL,
	PTX_CALL_INDIRECT,
	PTX_RETURN,
	PTX_EXIT,
	PTX_TRAP,
	PTX_BARRIER,
	PTX_CLUSTER_ARRIVE,
	PTX_CLUSTER_WAIT,
	PTX_WARP_BARRIER,
	PTX_SHFL,
	PTX_VOTE,
	PTX_MATCH,
	PTX_REDUX,
	PTX_ACTIVEMASK,
	PTX_ELECT,
	PTX_MBARRIER,
	PTX_STORE_ASYNC,
	PTX_BULK, /* cp.async.bulk */
	PTX_N_OPCODES
};

struct ptx_opcode_info {
	const char *text;
	int sources;
};

/* The rows of PTX_VALUES, by enum ptx_opcode. */
extern const struct ptx_opcode_info ptx_opcode_infos[PTX_N_VALUES];

#endif
