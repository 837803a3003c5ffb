/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_OPCODES_HALF_H
#define PTX_OPCODES_HALF_H

/* Rows of opcodes.h for floats of 16 bits. half.h has their functions. */

/* One row for a number, and one for two numbers in a register. */
#define PTX_HALF_ROWS(X, text, format, id, n, fraction, e)                     \
	X(text "." format, id, n, uint16_t, uint16_t, uint16_t, uint16_t,      \
	  PTX_ONE_HALF(e, fraction))                                           \
	X(text "." format "x2", id##X2, n, uint32_t, uint32_t, uint32_t,       \
	  uint32_t, PTX_PAIR(uint16_t, e(x, y, z, fraction)))
#define PTX_ONE_HALF(e, fraction)                                              \
	e((uint16_t)a, (uint16_t)b, (uint16_t)c, fraction)

#define PTX_H_ADD(x, y, z, f) ptx_half_add(x, y, f, PTX_HALF_PLAIN)
#define PTX_H_SUB(x, y, z, f) ptx_half_sub(x, y, f, PTX_HALF_PLAIN)
#define PTX_H_MUL(x, y, z, f) ptx_half_mul(x, y, f, PTX_HALF_PLAIN)
#define PTX_H_FMA(x, y, z, f) ptx_half_fma(x, y, z, f, PTX_HALF_PLAIN)
#define PTX_H_ADD_SAT(x, y, z, f) ptx_half_add(x, y, f, PTX_HALF_SAT)
#define PTX_H_SUB_SAT(x, y, z, f) ptx_half_sub(x, y, f, PTX_HALF_SAT)
#define PTX_H_MUL_SAT(x, y, z, f) ptx_half_mul(x, y, f, PTX_HALF_SAT)
#define PTX_H_FMA_SAT(x, y, z, f) ptx_half_fma(x, y, z, f, PTX_HALF_SAT)
#define PTX_H_FMA_RELU(x, y, z, f) ptx_half_fma(x, y, z, f, PTX_HALF_RELU)
#define PTX_H_MIN(x, y, z, f) ptx_half_min(x, y, f, 0, 0)
#define PTX_H_MAX(x, y, z, f) ptx_half_min(x, y, f, 1, 0)
#define PTX_H_MIN_NAN(x, y, z, f) ptx_half_min(x, y, f, 0, 1)
#define PTX_H_MAX_NAN(x, y, z, f) ptx_half_min(x, y, f, 1, 1)
#define PTX_H_NEG(x, y, z, f) ((x) ^ 0x8000)
#define PTX_H_ABS(x, y, z, f) ((x)&0x7fff)
#define PTX_H_EX2(x, y, z, f) ptx_to_half(exp2(ptx_half(x, f)), f, FE_TONEAREST)
#define PTX_H_TANH(x, y, z, f)                                                 \
	ptx_to_half(tanh(ptx_half(x, f)), f, FE_TONEAREST)

#define PTX_HALF_ARITHMETIC(X, t, id, f)                                       \
	PTX_HALF_ROWS(X, "add", t, ADD_##id, 2, f, PTX_H_ADD)                  \
	PTX_HALF_ROWS(X, "sub", t, SUB_##id, 2, f, PTX_H_SUB)                  \
	PTX_HALF_ROWS(X, "mul", t, MUL_##id, 2, f, PTX_H_MUL)                  \
	PTX_HALF_ROWS(X, "add.rn", t, ADD_RN_##id, 2, f, PTX_H_ADD)            \
	PTX_HALF_ROWS(X, "sub.rn", t, SUB_RN_##id, 2, f, PTX_H_SUB)            \
	PTX_HALF_ROWS(X, "mul.rn", t, MUL_RN_##id, 2, f, PTX_H_MUL)            \
	PTX_HALF_ROWS(X, "fma.rn", t, FMA_RN_##id, 3, f, PTX_H_FMA)            \
	PTX_HALF_ROWS(X, "fma.rn.relu", t, FMA_RELU_##id, 3, f,                \
		      PTX_H_FMA_RELU)                                          \
	PTX_HALF_ROWS(X, "min", t, MIN_##id, 2, f, PTX_H_MIN)                  \
	PTX_HALF_ROWS(X, "max", t, MAX_##id, 2, f, PTX_H_MAX)                  \
	PTX_HALF_ROWS(X, "min.NaN", t, MIN_NAN_##id, 2, f, PTX_H_MIN_NAN)      \
	PTX_HALF_ROWS(X, "max.NaN", t, MAX_NAN_##id, 2, f, PTX_H_MAX_NAN)      \
	PTX_HALF_ROWS(X, "neg", t, NEG_##id, 1, f, PTX_H_NEG)                  \
	PTX_HALF_ROWS(X, "abs", t, ABS_##id, 1, f, PTX_H_ABS)                  \
	PTX_HALF_ROWS(X, "tanh.approx", t, TANH_##id, 1, f, PTX_H_TANH)

/* ---- comparisons --------------------------------------------------------- */

#define PTX_H_EQ(x, y) ((x) == (y))
#define PTX_H_NE(x, y) ((x) < (y) || (x) > (y))
#define PTX_H_LT(x, y) ((x) < (y))
#define PTX_H_LE(x, y) ((x) <= (y))
#define PTX_H_GT(x, y) ((x) > (y))
#define PTX_H_GE(x, y) ((x) >= (y))
#define PTX_H_EQU(x, y) (!PTX_H_NE(x, y))
#define PTX_H_NEU(x, y) ((x) != (y))
#define PTX_H_LTU(x, y) (!((x) >= (y)))
#define PTX_H_LEU(x, y) (!((x) > (y)))
#define PTX_H_GTU(x, y) (!((x) <= (y)))
#define PTX_H_GEU(x, y) (!((x) < (y)))
#define PTX_H_NUM(x, y) (!PTX_NAN(x, y))
#define PTX_H_IS_NAN(x, y) PTX_NAN(x, y)
/* set writes 1 or all bits for a comparison that holds. */
#define PTX_HALF_COMPARE(X, text, cid, t, id, f, e)                            \
	X("setp." text "." t, SETP_##cid##_##id, 2, uint8_t, uint16_t,         \
	  uint16_t, uint16_t, e(ptx_half(a, f), ptx_half(b, f)))               \
	X("set." text "." t "." t, SET_##cid##_##id, 2, uint16_t, uint16_t,    \
	  uint16_t, uint16_t,                                                  \
	  e(ptx_half(a, f), ptx_half(b, f)) ? ptx_half_one(f) : 0)             \
	X("set." text "." t "x2." t "x2", SET_##cid##_##id##X2, 2, uint32_t,   \
	  uint32_t, uint32_t, uint32_t,                                        \
	  PTX_PAIR(uint16_t,                                                   \
		   e(ptx_half(x, f), ptx_half(y, f)) ? ptx_half_one(f) : 0))   \
	X("set." text ".u32." t "x2", SET_##cid##_U32_##id, 2, uint32_t,       \
	  uint32_t, uint32_t, uint32_t,                                        \
	  PTX_PAIR(uint16_t, e(ptx_half(x, f), ptx_half(y, f)) ? 0xffff : 0))
#define PTX_HALF_COMPARISONS(X, t, id, f)                                      \
	PTX_HALF_COMPARE(X, "eq", EQ, t, id, f, PTX_H_EQ)                      \
	PTX_HALF_COMPARE(X, "ne", NE, t, id, f, PTX_H_NE)                      \
	PTX_HALF_COMPARE(X, "lt", LT, t, id, f, PTX_H_LT)                      \
	PTX_HALF_COMPARE(X, "le", LE, t, id, f, PTX_H_LE)                      \
	PTX_HALF_COMPARE(X, "gt", GT, t, id, f, PTX_H_GT)                      \
	PTX_HALF_COMPARE(X, "ge", GE, t, id, f, PTX_H_GE)                      \
	PTX_HALF_COMPARE(X, "equ", EQU, t, id, f, PTX_H_EQU)                   \
	PTX_HALF_COMPARE(X, "neu", NEU, t, id, f, PTX_H_NEU)                   \
	PTX_HALF_COMPARE(X, "ltu", LTU, t, id, f, PTX_H_LTU)                   \
	PTX_HALF_COMPARE(X, "leu", LEU, t, id, f, PTX_H_LEU)                   \
	PTX_HALF_COMPARE(X, "gtu", GTU, t, id, f, PTX_H_GTU)                   \
	PTX_HALF_COMPARE(X, "geu", GEU, t, id, f, PTX_H_GEU)                   \
	PTX_HALF_COMPARE(X, "num", NUM, t, id, f, PTX_H_NUM)                   \
	PTX_HALF_COMPARE(X, "nan", NAN, t, id, f, PTX_H_IS_NAN)

/* ---- conversions --------------------------------------------------------- */

#define PTX_HALF_FROM(X, text, t, id, f, mode, mid)                            \
	PTX_HALF_FROM_ROW(X, text, t, id, f, mode, mid, "f32", F32, float)     \
	PTX_HALF_FROM_ROW(X, text, t, id, f, mode, mid, "f64", F64, double)    \
	PTX_HALF_FROM_ROW(X, text, t, id, f, mode, mid, "u8", U8, uint8_t)     \
	PTX_HALF_FROM_ROW(X, text, t, id, f, mode, mid, "s8", S8, int8_t)      \
	PTX_HALF_FROM_ROW(X, text, t, id, f, mode, mid, "u16", U16, uint16_t)  \
	PTX_HALF_FROM_ROW(X, text, t, id, f, mode, mid, "s16", S16, int16_t)   \
	PTX_HALF_FROM_ROW(X, text, t, id, f, mode, mid, "u32", U32, uint32_t)  \
	PTX_HALF_FROM_ROW(X, text, t, id, f, mode, mid, "s32", S32, int32_t)   \
	PTX_HALF_FROM_ROW(X, text, t, id, f, mode, mid, "u64", U64, uint64_t)  \
	PTX_HALF_FROM_ROW(X, text, t, id, f, mode, mid, "s64", S64, int64_t)
#define PTX_HALF_FROM_ROW(X, text, t, id, f, mode, mid, from, from_id, type)   \
	PTX_CVT(X, text "." t "." from, mid##_##id##_##from_id, uint16_t,      \
		type, ptx_to_half(a, f, mode))
#define PTX_HALF_TO(X, text, t, id, f, mode, mid)                              \
	PTX_HALF_TO_ROW(X, text, t, id, f, mode, mid, "u8", U8, uint8_t, 0,    \
			255)                                                   \
	PTX_HALF_TO_ROW(X, text, t, id, f, mode, mid, "s8", S8, int8_t, -128,  \
			127)                                                   \
	PTX_HALF_TO_ROW(X, text, t, id, f, mode, mid, "u16", U16, uint16_t, 0, \
			65535)                                                 \
	PTX_HALF_TO_ROW(X, text, t, id, f, mode, mid, "s16", S16, int16_t,     \
			INT16_MIN, INT16_MAX)                                  \
	PTX_HALF_TO_ROW(X, text, t, id, f, mode, mid, "u32", U32, uint32_t, 0, \
			UINT32_MAX)                                            \
	PTX_HALF_TO_ROW(X, text, t, id, f, mode, mid, "s32", S32, int32_t,     \
			INT32_MIN, INT32_MAX)                                  \
	PTX_CVT(X, text ".s64." t, mid##_S64_##id, int64_t, uint16_t,          \
		ptx_to_integer(ptx_round_##mode(ptx_half(a, f)), INT64_MIN,    \
			       INT64_MAX, INT64_MIN))                          \
	PTX_CVT(X, text ".u64." t, mid##_U64_##id, uint64_t, uint16_t,         \
		ptx_to_u64(ptx_round_##mode(ptx_half(a, f))))                  \
	PTX_CVT(X, text "." t "." t, mid##_##id, uint16_t, uint16_t,           \
		ptx_to_half(ptx_round_##mode(ptx_half(a, f)), f,               \
			    FE_TONEAREST))
#define PTX_HALF_TO_ROW(X, text, t, id, f, mode, mid, to, to_id, type, low,    \
			high)                                                  \
	PTX_CVT(X, text "." to "." t, mid##_##to_id##_##id, type, uint16_t,    \
		ptx_to_integer(ptx_round_##mode(ptx_half(a, f)), low, high,    \
			       0))
/* The first source becomes the upper half. */
#define PTX_HALF_BOTH(X, text, t, id, f, mode, mid)                            \
	X("cvt." text "." t "x2.f32", CVT_##mid##_##id##X2, 2, uint32_t,       \
	  float, float, float,                                                 \
	  (uint32_t)ptx_to_half(a, f, mode) << 16 | ptx_to_half(b, f, mode))
#define PTX_HALF_CONVERSIONS(X, t, id, f)                                      \
	PTX_CVT(X, "f32." t, F32_##id, float, uint16_t,                        \
		ptx_f32((float)ptx_half(a, f)))                                \
	PTX_CVT(X, "f64." t, F64_##id, double, uint16_t, ptx_half(a, f))       \
	PTX_HALF_FROM(X, "rn", t, id, f, FE_TONEAREST, RN)                     \
	PTX_HALF_FROM(X, "rz", t, id, f, FE_TOWARDZERO, RZ)                    \
	PTX_HALF_FROM(X, "rm", t, id, f, FE_DOWNWARD, RM)                      \
	PTX_HALF_FROM(X, "rp", t, id, f, FE_UPWARD, RP)                        \
	PTX_HALF_TO(X, "rni", t, id, f, nearest, RNI)                          \
	PTX_HALF_TO(X, "rzi", t, id, f, zero, RZI)                             \
	PTX_HALF_TO(X, "rmi", t, id, f, down, RMI)                             \
	PTX_HALF_TO(X, "rpi", t, id, f, up, RPI)                               \
	PTX_HALF_BOTH(X, "rn", t, id, f, FE_TONEAREST, RN)                     \
	PTX_HALF_BOTH(X, "rz", t, id, f, FE_TOWARDZERO, RZ)

#define PTX_HALF_FORMAT(X, t, id, f)                                           \
	PTX_HALF_ARITHMETIC(X, t, id, f)                                       \
	PTX_HALF_COMPARISONS(X, t, id, f)                                      \
	PTX_HALF_CONVERSIONS(X, t, id, f)

/* .bf16 has no .sat. Its ex2 needs .ftz. */
#define PTX_HALVES(X)                                                          \
	PTX_HALF_FORMAT(X, "f16", F16, PTX_F16)                                \
	PTX_HALF_FORMAT(X, "bf16", BF16, PTX_BF16)                             \
	PTX_HALF_ROWS(X, "add.sat", "f16", ADD_SAT_F16, 2, PTX_F16,            \
		      PTX_H_ADD_SAT)                                           \
	PTX_HALF_ROWS(X, "sub.sat", "f16", SUB_SAT_F16, 2, PTX_F16,            \
		      PTX_H_SUB_SAT)                                           \
	PTX_HALF_ROWS(X, "mul.sat", "f16", MUL_SAT_F16, 2, PTX_F16,            \
		      PTX_H_MUL_SAT)                                           \
	PTX_HALF_ROWS(X, "fma.rn.sat", "f16", FMA_SAT_F16, 3, PTX_F16,         \
		      PTX_H_FMA_SAT)                                           \
	PTX_HALF_ROWS(X, "ex2.approx", "f16", EX2_F16, 1, PTX_F16, PTX_H_EX2)

#endif
