/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_LINK_END_NUMBER_H
#define PEALI_LINK_END_NUMBER_H

#include "runtime/link/link.h"

/*
 * Numbers of ends of links (PEAL_END_NUMBER_FIRST). A handler finds by them the
 * port that leads to the sender of a message. An actor or endpoint gets its
 * number when a port of an actor is first connected to it. All callers hold
 * rt->lock.
 */

/* Returns the number of an actor or endpoint; 0: it has none. */
uint16_t peali_end_number(const struct peali_link_end *end);
/*
 * Gives the receiving end of a link from an actor's port a number, unless it
 * has one. Tells the number to the receivers of all links that the end sends
 * by. Returns 0, also if all numbers are used, or an error of a control
 * message.
 */
int peali_end_number_give(const struct peal_link *link, const char *call);

#endif
