/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_FIXED_PORT_HANDLERS_H
#define PEAL_RINGKERNELS_FIXED_PORT_HANDLERS_H

/*
 * Lists of numbers, for actors with any number of ports. A handler declares a
 * fixed number of ports, so such an actor has one handler per number. The
 * macros call F(X, n) for n from 2 to 16, 24 or 64.
 */
#define EACH_PORT_COUNT_TO_16(F, X)                                            \
	F(X, 2)                                                                \
	F(X, 3)                                                                \
	F(X, 4)                                                                \
	F(X, 5)                                                                \
	F(X, 6)                                                                \
	F(X, 7)                                                                \
	F(X, 8)                                                                \
	F(X, 9)                                                                \
	F(X, 10)                                                               \
	F(X, 11)                                                               \
	F(X, 12)                                                               \
	F(X, 13) F(X, 14) F(X, 15) F(X, 16)
#define EACH_PORT_COUNT_TO_24(F, X)                                            \
	EACH_PORT_COUNT_TO_16(F, X)                                            \
	F(X, 17)                                                               \
	F(X, 18)                                                               \
	F(X, 19) F(X, 20) F(X, 21) F(X, 22) F(X, 23) F(X, 24)
#define EACH_PORT_COUNT_TO_32(F, X)                                            \
	EACH_PORT_COUNT_TO_24(F, X)                                            \
	F(X, 25) F(X, 26) F(X, 27) F(X, 28) F(X, 29) F(X, 30) F(X, 31) F(X, 32)
#define EACH_PORT_COUNT_TO_40(F, X)                                            \
	EACH_PORT_COUNT_TO_32(F, X)                                            \
	F(X, 33) F(X, 34) F(X, 35) F(X, 36) F(X, 37) F(X, 38) F(X, 39) F(X, 40)
#define EACH_PORT_COUNT_TO_48(F, X)                                            \
	EACH_PORT_COUNT_TO_40(F, X)                                            \
	F(X, 41) F(X, 42) F(X, 43) F(X, 44) F(X, 45) F(X, 46) F(X, 47) F(X, 48)
#define EACH_PORT_COUNT_TO_56(F, X)                                            \
	EACH_PORT_COUNT_TO_48(F, X)                                            \
	F(X, 49) F(X, 50) F(X, 51) F(X, 52) F(X, 53) F(X, 54) F(X, 55) F(X, 56)
#define EACH_PORT_COUNT_TO_64(F, X)                                            \
	EACH_PORT_COUNT_TO_56(F, X)                                            \
	F(X, 57) F(X, 58) F(X, 59) F(X, 60) F(X, 61) F(X, 62) F(X, 63) F(X, 64)

#endif
