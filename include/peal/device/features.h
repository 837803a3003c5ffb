/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_FEATURES_H
#define PEAL_DEVICE_FEATURES_H

/*
 * The features of a program. A source defines PEAL_USES before its first
 * include. The device image then has no code for other features:
 *
 *	#define PEAL_USES (PEAL_USE_MAIL | PEAL_USE_TOPICS)
 *	#include <peal/device/kernel.h>
 *
 * PEAL_USES 0 is a program with links, barriers and actors that the host
 * creates. Without a definition a program has all features but pools. Define it
 * in the source: a compile definition of CMake does not reach the images.
 *
 * A launch option or a host call that needs an absent feature is refused on every
 * backend, with PEAL_ENOTSUP. The error text names the feature. A call of a
 * handler that needs an absent feature returns PEAL_ENOTSUP, too. A launch fails
 * with PEAL_EPROGRAM if the device image has other features than the host code.
 */

/** Mailboxes: handlers tell actors of any worker. */
#define PEAL_USE_MAIL 0x1
/** Pools, and so work stealing. They take about 30 registers of a GPU from all
 * handlers of the kernel. */
#define PEAL_USE_POOLS 0x2
/** Timers: timer.h. Includes mailboxes. */
#define PEAL_USE_TIMERS 0x4
/** Asks, requests of handlers: ask.h. Includes mailboxes and requests. */
#define PEAL_USE_ASKS 0x8
/** Topics: ports that publish and inputs that subscribe. */
#define PEAL_USE_TOPICS 0x10
/** Links, subscriptions and mailboxes of high priority. */
#define PEAL_USE_PRIORITIES 0x20
/** Supervisors and monitors, and actors that end after a failure. A pipeline
 * without skip_failed needs it. */
#define PEAL_USE_SUPERVISION 0x40
/** Limits of the messages that wait for an actor. Includes mailboxes. */
#define PEAL_USE_LIMITS 0x80
/** Init and exit hooks: lifecycle.h. Includes supervision: an init that fails ends
 * its actor. */
#define PEAL_USE_HOOKS 0x100
/** Actors that move to other workers and kernels, and proxies. Includes
 * mailboxes. */
#define PEAL_USE_MIGRATION 0x200
/** Clusters of workers with links in shared memory. */
#define PEAL_USE_CLUSTERS 0x400
/** Dead letters: peal/dead_letter.h. */
#define PEAL_USE_DEAD_LETTERS 0x800
/** Requests that end at once if no reply can come. Without this feature a handler
 * can reply, too. */
#define PEAL_USE_REQUESTS 0x1000
/** Actors that handlers spawn: spawn.h. Includes mailboxes. */
#define PEAL_USE_SPAWNING 0x2000
/** All features. */
#define PEAL_USE_ALL 0x3fff

#ifdef PEAL_USES_POOLS
#error "define PEAL_USES as PEAL_USE_ALL instead of PEAL_USES_POOLS"
#endif
#ifndef PEAL_USES
#define PEAL_USES (PEAL_USE_ALL & ~PEAL_USE_POOLS)
#endif
#if (PEAL_USES) & ~PEAL_USE_ALL
#error "PEAL_USES has an unknown bit; use names of peal/device/features.h"
#endif

/* Features that include others. */
#define PEALI_USE_WITH_MAIL                                                    \
	(PEAL_USE_TIMERS | PEAL_USE_ASKS | PEAL_USE_LIMITS |                   \
	 PEAL_USE_MIGRATION | PEAL_USE_SPAWNING)
#define PEALI_USE_MORE                                                         \
	(((PEAL_USES)&PEALI_USE_WITH_MAIL ? PEAL_USE_MAIL : 0) |               \
	 ((PEAL_USES)&PEAL_USE_ASKS ? PEAL_USE_REQUESTS : 0) |                 \
	 ((PEAL_USES)&PEAL_USE_HOOKS ? PEAL_USE_SUPERVISION : 0))

/* All features of the source. A later value of PEAL_USES does not change it. */
enum { PEALI_USED = (PEAL_USES) | PEALI_USE_MORE };

/* Returns whether the program of this source has a feature. A constant, also for
 * the preprocessor. */
#define PEALI_USES(feature)                                                    \
	((((PEAL_USES) | PEALI_USE_MORE) & PEAL_USE_##feature) != 0)

#endif
