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
 * creates. Without a definition a program has all features but pools.
 *
 * A launch or a connection that needs a feature which the program lacks is
 * refused on every backend, with PEAL_ENOTSUP. The error text names the feature.
 */

/** Mailboxes: handlers tell actors, and the host sends to addresses. */
#define PEAL_USE_MAIL 0x1
/** Pools, and so work stealing. They take about 30 registers of a GPU from all
 * handlers of the kernel. */
#define PEAL_USE_POOLS 0x2
/** Timers: timer.h. With mailboxes. */
#define PEAL_USE_TIMERS (0x4 | PEAL_USE_MAIL)
/** Asks, requests of handlers: ask.h. With mailboxes and requests. */
#define PEAL_USE_ASKS (0x8 | PEAL_USE_MAIL | PEAL_USE_REQUESTS)
/** Topics: ports that publish and inputs that subscribe. */
#define PEAL_USE_TOPICS 0x10
/** Links and mailboxes of high priority. */
#define PEAL_USE_PRIORITIES 0x20
/** Supervisors, monitors, and other actions than PEAL_FAILURE_CONTINUE. */
#define PEAL_USE_SUPERVISION 0x40
/** Limits of the messages that wait for an actor. With mailboxes. */
#define PEAL_USE_LIMITS (0x80 | PEAL_USE_MAIL)
/** Init and exit hooks: lifecycle.h. With supervision: an init that fails ends its
 * actor. */
#define PEAL_USE_HOOKS (0x100 | PEAL_USE_SUPERVISION)
/** Actors that move to other workers and kernels. With mailboxes. */
#define PEAL_USE_MIGRATION (0x200 | PEAL_USE_MAIL)
/** Clusters of workers with links in shared memory. */
#define PEAL_USE_CLUSTERS 0x400
/** Dead letters: peal/dead_letter.h. */
#define PEAL_USE_DEAD_LETTERS 0x800
/** Requests: handlers reply, and failed requests end at once. */
#define PEAL_USE_REQUESTS 0x1000
/** Actors that handlers spawn: spawn.h. With mailboxes. */
#define PEAL_USE_SPAWNING (0x2000 | PEAL_USE_MAIL)
/** All features. */
#define PEAL_USE_ALL 0x3fff

#ifndef PEAL_USES
#define PEAL_USES (PEAL_USE_ALL & ~PEAL_USE_POOLS)
#endif

/* Returns whether the program of this source has a feature. A constant. */
#define PEALI_USES(feature)                                                    \
	((PEAL_USES & PEAL_USE_##feature) == PEAL_USE_##feature)

#endif
