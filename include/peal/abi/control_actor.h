/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_CONTROL_ACTOR_H
#define PEAL_ABI_CONTROL_ACTOR_H

#include <peal/device/platform.h>

/* Payloads of control messages that move actors or tell all of them. */

/** Moves an actor from its entry, at the worker that gets the message, to an
 * entry that awaits it. */
struct peal_control_move {
	uint32_t actor; /* its number before */
	uint32_t next; /* its number afterwards */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_control_move) == 8, "move size");

/** Moves an actor to another kernel. */
struct peal_control_leave {
	uint32_t actor; /* its number in this kernel */
	uint32_t to; /* its number in the other kernel */
	uint32_t port; /* the forwarding link in this worker's table. REDIRECT:
			* PEAL_REDIRECT_LOCAL: `to` is in this kernel, too */
	uint32_t reserved;
};

#define PEAL_REDIRECT_LOCAL 0xffffffffu
PEAL_STATIC_ASSERT(sizeof(struct peal_control_leave) == 16, "leave size");

/** Tells all actors of the kernel a message of the host. */
struct peal_control_tell_all {
	uint64_t request; /* its number, from 1 on */
	uint64_t data; /* the payload, in host memory */
	uint32_t bytes; /* its length */
	uint32_t type; /* the program's own number */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_control_tell_all) == 24, "tell all size");

/** The answer to a request: its number and the result, 0 or PEAL_E... */
#define PEAL_TO_ALL_ANSWER(request, result)                                    \
	((request) << 16 | (uint32_t) - (result))
#define PEAL_TO_ALL_REQUEST(answer) ((answer) >> 16)
#define PEAL_TO_ALL_RESULT(answer) (-(int)((answer)&0xffff))

/** Steps that make old entries of an actor lead to a later entry. See
 * impl/loop/actor_shortcut.h. */
enum peal_shortcut_step {
	PEAL_SHORTCUT_HOLD = 1, /* messages for the entries wait */
	PEAL_SHORTCUT_RELEASE = 2, /* they wait no longer */
	PEAL_SHORTCUT_SWITCH = 3, /* the held entries lead to `to` now */
	PEAL_SHORTCUT_SNAPSHOT = 4, /* note the tickets of the mailboxes */
	PEAL_SHORTCUT_TAKEN = 5, /* have all noted messages been taken? */
	PEAL_SHORTCUT_LINK = 6 /* has the link of `port` been emptied? */
};

/** Most entries in one message about shortcuts. */
#define PEAL_SHORTCUT_ACTORS 24

/** A step. The answer PEAL_EAGAIN means not yet, or the hold is over. */
struct peal_control_shortcut {
	uint32_t step; /* enum peal_shortcut_step */
	uint32_t to; /* the number of the later entry */
	uint32_t port; /* as in struct peal_control_leave */
	uint32_t n; /* number of entries in `actors` */
	uint32_t actors[PEAL_SHORTCUT_ACTORS]; /* their numbers */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_control_shortcut) == 112,
		   "shortcut size");

#endif
