/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_PEAL_H
#define PEAL_PEAL_H

/*
 * Includes the core of the host API: the calls that a first program needs. Each
 * other subject has a header of its own, for example <peal/topic.h>. Kernel
 * sources include <peal/device/kernel.h> instead.
 *
 * A typical host program calls, in this order:
 *
 *	peal_runtime_open	finds the devices
 *	peal_kernel_launch	starts a ring kernel on a device
 *	peal_actor_spawn	makes an actor in the kernel
 *	peal_endpoint_create	makes the host's end of links
 *	peal_connect		makes a link between endpoints and actors
 *	peal_send, peal_receive	exchange messages over the links
 *	peal_runtime_shutdown	stops all kernels and frees everything
 *
 * Most functions return 0 or a negative error code. peal_last_error explains
 * the error.
 */

#include <peal/actor.h>
#include <peal/device.h>
#include <peal/endpoint.h>
#include <peal/errors.h>
#include <peal/kernel.h>
#include <peal/link.h>
#include <peal/program.h>
#include <peal/runtime.h>

#endif
