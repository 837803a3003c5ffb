/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_SEND_OPTIONS_H
#define PEAL_DEVICE_SEND_OPTIONS_H

#include <peal/abi/send_options.h>

/* Which fields of struct peal_send_options a call of a handler supports. */

#define PEALI_SEND_PRIORITY 1u
#define PEALI_SEND_DEADLINE 2u
#define PEALI_SEND_TIMER 4u
#define PEALI_SEND_BY_PORT 8u
#define PEALI_SEND_WITH_SENDER 16u

/* Returns the set fields. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_send_fields(const struct peal_send_options *o)
{
	return (o->priority ? PEALI_SEND_PRIORITY : 0) |
	       (o->deadline ? PEALI_SEND_DEADLINE : 0) |
	       (o->delay_ns || o->period_ns || o->timer_out ? PEALI_SEND_TIMER :
							      0) |
	       (o->by_port ? PEALI_SEND_BY_PORT : 0) |
	       (o->with_sender ? PEALI_SEND_WITH_SENDER : 0);
}

/* Returns 1 if the options are valid, and no field is set but `fields`. */
static PEAL_DEV PEAL_INLINE int
peali_send_supports(const struct peal_send_options *o, uint32_t fields)
{
	return o->size == sizeof(*o) && o->priority <= PEAL_PRIORITY_HIGH &&
	       !(peali_send_fields(o) & ~fields);
}

#endif
