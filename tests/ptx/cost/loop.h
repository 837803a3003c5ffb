/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_COST_LOOP_H
#define PTX_COST_LOOP_H

/* Handlers of loop.c by number, and the actor that `pass` tells. */

enum cost_handler { COST_ECHO, COST_PASS, COST_RESPOND };

/* Handlers of batch.c, by number. */
enum cost_batch_handler {
	COST_BATCH_16,
	COST_BATCH_64,
	COST_MAIL_16,
	COST_MAIL_64
};

#define COST_NEXT 1 /* actor of worker 1 */

#endif
