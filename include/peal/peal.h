/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_PEAL_H
#define PEAL_PEAL_H

/*
 * Includes the whole host API of Peal. Kernel sources include
 * <peal/device/kernel.h> instead.
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
#include <peal/balance.h>
#include <peal/barrier.h>
#include <peal/buffer.h>
#include <peal/clock.h>
#include <peal/dead_letter.h>
#include <peal/deadline.h>
#include <peal/device.h>
#include <peal/endpoint.h>
#include <peal/endpoint_of.h>
#include <peal/errors.h>
#include <peal/event.h>
#include <peal/execute.h>
#include <peal/graph.h>
#include <peal/group.h>
#include <peal/hlc.h>
#include <peal/kernel.h>
#include <peal/link.h>
#include <peal/memory.h>
#include <peal/metrics.h>
#include <peal/migrate.h>
#include <peal/monitor.h>
#include <peal/name.h>
#include <peal/partition.h>
#include <peal/peer.h>
#include <peal/pipeline.h>
#include <peal/placed.h>
#include <peal/pool.h>
#include <peal/process.h>
#include <peal/program.h>
#include <peal/proxy.h>
#include <peal/queue.h>
#include <peal/queue_of.h>
#include <peal/request.h>
#include <peal/runtime.h>
#include <peal/stuck.h>
#include <peal/supervisor.h>
#include <peal/topic.h>
#include <peal/topology.h>
#include <peal/transfer.h>

#endif
