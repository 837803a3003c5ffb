/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_FIXED_PORT_HANDLERS_H
#define PEAL_RINGKERNELS_FIXED_PORT_HANDLERS_H

/*
 * Lists of numbers, for actors with any number of ports. A handler declares a
 * fixed number of ports, so such an actor has one handler per number. The
 * macros call F(X, n) for n from 2 to 16, 24, 64 or 128.
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
#define EACH_PORT_COUNT_TO_72(F, X)                                            \
	EACH_PORT_COUNT_TO_64(F, X)                                            \
	F(X, 65) F(X, 66) F(X, 67) F(X, 68) F(X, 69) F(X, 70) F(X, 71) F(X, 72)
#define EACH_PORT_COUNT_TO_80(F, X)                                            \
	EACH_PORT_COUNT_TO_72(F, X)                                            \
	F(X, 73) F(X, 74) F(X, 75) F(X, 76) F(X, 77) F(X, 78) F(X, 79) F(X, 80)
#define EACH_PORT_COUNT_TO_88(F, X)                                            \
	EACH_PORT_COUNT_TO_80(F, X)                                            \
	F(X, 81) F(X, 82) F(X, 83) F(X, 84) F(X, 85) F(X, 86) F(X, 87) F(X, 88)
#define EACH_PORT_COUNT_TO_96(F, X)                                            \
	EACH_PORT_COUNT_TO_88(F, X)                                            \
	F(X, 89) F(X, 90) F(X, 91) F(X, 92) F(X, 93) F(X, 94) F(X, 95) F(X, 96)
#define EACH_PORT_COUNT_TO_104(F, X)                                           \
	EACH_PORT_COUNT_TO_96(F, X)                                            \
	F(X, 97)                                                               \
	F(X, 98) F(X, 99) F(X, 100) F(X, 101) F(X, 102) F(X, 103) F(X, 104)
#define EACH_PORT_COUNT_TO_112(F, X)                                           \
	EACH_PORT_COUNT_TO_104(F, X)                                           \
	F(X, 105)                                                              \
	F(X, 106) F(X, 107) F(X, 108) F(X, 109) F(X, 110) F(X, 111) F(X, 112)
#define EACH_PORT_COUNT_TO_120(F, X)                                           \
	EACH_PORT_COUNT_TO_112(F, X)                                           \
	F(X, 113)                                                              \
	F(X, 114) F(X, 115) F(X, 116) F(X, 117) F(X, 118) F(X, 119) F(X, 120)
#define EACH_PORT_COUNT_TO_128(F, X)                                           \
	EACH_PORT_COUNT_TO_120(F, X)                                           \
	F(X, 121)                                                              \
	F(X, 122) F(X, 123) F(X, 124) F(X, 125) F(X, 126) F(X, 127) F(X, 128)

#endif
