/* SPDX-License-Identifier: Apache-2.0 */
/* A program with mailboxes and no other feature, for test_features.c. */
#define PEAL_USES PEAL_USE_MAIL
#include <peal/device/kernel.h>

/* Tells the next actor each message that has come by a link. Emits each message
 * that an actor has told. */
static PEAL_DEV int relay_mail(struct peal_worker *w)
{
	if (peal_type(w) & 0x8000)
		return peal_emit(w, 0, peal_type(w) & 0x7fff, peal_data(w),
				 peal_length(w), 0);
	return peal_tell(w, peal_self(w) + 1, peal_type(w) | 0x8000,
			 peal_data(w), peal_length(w), 0);
}

#define HANDLERS(X) X(relay_mail, 0, PEAL_LIMITS(1, 1, 1, 0, 0))
PEAL_PROGRAM(plain_mail, HANDLERS);
