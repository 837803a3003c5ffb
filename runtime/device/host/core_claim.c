/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/host/core_claim.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <peal/device/platform.h>
#include "runtime/base/core_set.h"
#include "runtime/base/log.h"
#include "runtime/base/owner.h"
#include "runtime/base/socket.h"

/*
 * Names of a core have numbers: the n-th process at a core holds name n. A
 * process holds at most one name per core, for all its workers there.
 */

#define NAMES_MOST 64 /* per core; further processes share the last one */

const char *peali_core_claim_word = "peal core";

/** One core of the process. */
struct core {
	uint32_t users; /* bound workers of this process */
	int name; /* number of the name that this process holds */
	int fd; /* the socket with that name; -1: none */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct core *cores; /* by core number; NULL: no claim yet */

/*
 * Binds the unnamed socket `fd` to a name of a core. Returns 1, 0 if another
 * process holds the name, or -1 with errno.
 */
static int take_name(int fd, int core, int name)
{
	struct sockaddr_un at;
	socklen_t n = peali_socket_name(&at, "%s %d.%d", peali_core_claim_word,
					core, name);

	if (!bind(fd, (struct sockaddr *)&at, n))
		return 1;
	return errno == EADDRINUSE ? 0 : -1;
}

/* Returns 1 if `core` can be claimed at `cost`, and claims it. */
static int try_core(int *fd, int core, uint32_t cost)
{
	struct core *c = &cores[core];
	int result;

	if (c->users) {
		if ((uint32_t)c->name + c->users != cost)
			return 0;
		c->users++;
		return 1;
	}
	result = PEAL_SIM || cost >= NAMES_MOST ?
			 1 :
			 take_name(*fd, core, (int)cost);
	if (result <= 0)
		return result;
	if (!PEAL_SIM && cost < NAMES_MOST) {
		c->fd = *fd;
		*fd = -1;
	}
	c->name = (int)cost;
	c->users = 1;
	return 1;
}

/*
 * Claims the cheapest core; -1: none. The cost of a core is the number of
 * processes and own workers that were there before. `most` bounds it.
 */
static int cheapest(const struct peali_core_set *all, int *fd, uint32_t most)
{
	uint32_t cost;
	int core, got;

	for (cost = 0; cost <= most; cost++)
		for (core = peali_core_set_next(all, -1); core >= 0;
		     core = peali_core_set_next(all, core)) {
			got = try_core(fd, core, cost);
			if (got < 0)
				return -1;
			if (got)
				return core;
		}
	return -1;
}

/* Makes the table of cores at the first claim. */
static int have_table(const struct peali_core_set *all)
{
	size_t i, n = all->bytes * 8;

	if (cores)
		return 1;
	cores = calloc(n, sizeof(*cores));
	for (i = 0; cores && i < n; i++)
		cores[i].fd = -1;
	return cores != NULL;
}

int peali_core_claim(int alone)
{
	const struct peali_core_set *all = peali_process_cores();
	int fd = -1, core = -1;

	/*
	 * A process with a quota shares its cores with other containers. It
	 * may not see their claims. The scheduler knows their load.
	 */
	if (!all->n || (alone && peali_cores_have_quota()))
		return -1;
	if (!PEAL_SIM)
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	peali_static_lock(&lock);
	if ((PEAL_SIM || fd >= 0) && have_table(all))
		core = cheapest(all, &fd, alone ? 0 : UINT32_MAX - 1);
	pthread_mutex_unlock(&lock);
	if (fd >= 0)
		close(fd);
	else if (core < 0)
		peali_log(1,
			  "no socket to claim a core: a worker is not bound");
	return core;
}

void peali_core_release(int core)
{
	struct core *c;

	if (core < 0)
		return;
	peali_static_lock(&lock);
	c = &cores[core];
	if (!--c->users && c->fd >= 0) {
		close(c->fd);
		c->fd = -1;
	}
	pthread_mutex_unlock(&lock);
}
