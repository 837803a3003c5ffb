/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_FIXED_PORT_HANDLERS_H
#define PEAL_RINGKERNELS_FIXED_PORT_HANDLERS_H

/*
 * Lists of numbers, for actors with any number of ports. A handler declares a
 * fixed number of ports, so such an actor has one handler per number. The
 * macros call F(X, n) for n from 2 to 16, or to 24.
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

#endif
