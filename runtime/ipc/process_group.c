/* SPDX-License-Identifier: Apache-2.0 */
/* Process groups: joins and leaves them, lists exports and reports states. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/wait.h"
#include "runtime/ipc/process_group.h"
#include "runtime/ipc/rendezvous.h"

#define JOIN "peal_process_group_join"
#define LEAVE "peal_process_group_leave"
#define JOIN_NS 30000000000LL
#define EXPORTS_MAX 1024
#define CLEAR_NS 1000000000LL /* ns that a shutdown waits for the peers */

const char *peal_process_state_name(enum peal_process_state state)
{
	static const char *const names[] = { "self", "alive", "left", "dead",
					     "lost" };
	size_t i = (size_t)state;

	return i < sizeof(names) / sizeof(names[0]) ? names[i] : "?";
}

int peal_process_rank_of(uint64_t address)
{
	return (int)(address >> PEALI_ADDRESS_RANK_SHIFT) - 1;
}

/* ---- joining ------------------------------------------------------------- */

static void free_set(struct peal_process_group *set)
{
	struct peali_export *offer;
	struct peali_job *job;

	while (set->jobs) { /* jobs posted after the end of the job thread */
		job = set->jobs;
		set->jobs = job->next;
		free(job);
	}
	while (set->offers) {
		offer = set->offers;
		set->offers = offer->next;
		free(offer);
	}
	peali_peers_close(set);
	peali_windows_close(set);
	pthread_cond_destroy(&set->changed);
	pthread_mutex_destroy(&set->lock);
	free(set);
}

static struct peal_process_group *new_set(struct peal_runtime *rt,
					  const struct peali_launcher_env *plan)
{
	struct peal_process_group *set = calloc(1, sizeof(*set));
	uint32_t rank;

	if (!set)
		return NULL;
	set->rt = rt;
	set->plan = *plan;
	set->last_job = &set->jobs;
	set->event_fd = -1;
	pthread_mutex_init(&set->lock, NULL);
	peali_cond_init(&set->changed);
	for (rank = 0; rank < PEAL_PROCESS_GROUP_MAX; rank++) {
		struct peali_peer *p = &set->peers[rank];

		p->set = set;
		p->rank = rank;
		p->fd = p->pidfd = -1;
	}
	return set;
}

int peal_process_group_join(struct peal_runtime *rt,
			    const struct peal_process_group_options *options,
			    struct peal_process_group **group_out)
{
	struct peal_process_group_options o;
	struct peali_launcher_env plan;
	struct peal_process_group *set;
	int result;

	if (!rt || !group_out)
		return peali_refuse_null(JOIN, "runtime or group_out");
	if (peali_foreign(&rt->owner, JOIN))
		return PEAL_EFORKED;
	result = peali_options_copy(&o, sizeof(o), options, JOIN);
	if (!result)
		result = peali_launcher_env(&o, &plan);
	if (result)
		return result;
	set = new_set(rt, &plan);
	if (!set)
		return peali_fail(PEAL_ENOMEM, JOIN, "no memory for a set");
	peali_windows_open(set);
	result = peali_processes_bootstrap(
		set, peali_deadline(o.timeout_ns ? o.timeout_ns : JOIN_NS));
	if (!result)
		result = peali_service_start(set);
	if (result) {
		peali_service_stop(set);
		free_set(set);
		return result;
	}
	pthread_mutex_lock(&rt->lock);
	set->next = rt->sets;
	rt->sets = set;
	pthread_mutex_unlock(&rt->lock);
	*group_out = set;
	return 0;
}

/* ---- leaving ------------------------------------------------------------- */

/*
 * Accepts no more links. Waits until the job thread has finished its current
 * job.
 */
static void accept_no_more(struct peal_process_group *set)
{
	uint64_t worked;

	pthread_mutex_lock(&set->lock);
	set->leaving = 1;
	worked = set->n_worked;
	while (set->working && set->n_worked == worked)
		pthread_cond_wait(&set->changed, &set->lock);
	pthread_mutex_unlock(&set->lock);
}

/*
 * Counts the peers that do not know yet that this process leaves. The caller
 * holds set->lock.
 */
static uint32_t unheard(const struct peal_process_group *set)
{
	uint32_t rank, n = 0;

	for (rank = 0; rank < set->plan.ranks; rank++)
		n += set->peers[rank].state == PEAL_PROCESS_ALIVE &&
		     !set->peers[rank].heard;
	return n;
}

static void say_goodbye(struct peal_process_group *set, int64_t timeout_ns)
{
	struct peali_record leave = peali_record(PEALI_RECORD_LEAVE);
	uint64_t deadline = peali_deadline(timeout_ns);
	uint32_t rank;

	pthread_mutex_lock(&set->lock);
	for (rank = 0; rank < set->plan.ranks; rank++) {
		leave.error = set->peers[rank].hung ? PEAL_EHUNG : 0;
		peali_peer_post(&set->peers[rank], &leave);
	}
	while (unheard(set) && !peali_late(deadline)) {
		uint64_t until = peali_now_ns() + 50000000;
		struct timespec t;

		if (until > deadline)
			until = deadline;
		t.tv_sec = (time_t)(until / 1000000000);
		t.tv_nsec = (long)(until % 1000000000);
		pthread_cond_timedwait(&set->changed, &set->lock, &t);
	}
	pthread_mutex_unlock(&set->lock);
}

int peal_process_group_leave(struct peal_process_group *set, int64_t timeout_ns)
{
	struct peal_process_group **p;
	int result;

	if (!set)
		return 0;
	if (peali_foreign(&set->rt->owner, "peal_process_group_leave"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&set->rt->lock);
	result = set->rt->hooks->check_unused(set, LEAVE);
	pthread_mutex_unlock(&set->rt->lock);
	if (result)
		return result;
	accept_no_more(set);
	pthread_mutex_lock(&set->rt->lock);
	result = set->rt->hooks->remove_links(set, LEAVE);
	pthread_mutex_unlock(&set->rt->lock);
	if (result) {
		pthread_mutex_lock(&set->lock);
		set->leaving = 0;
		pthread_mutex_unlock(&set->lock);
		return result;
	}
	say_goodbye(set, timeout_ns);
	peali_service_stop(set);
	pthread_mutex_lock(&set->rt->lock);
	for (p = &set->rt->sets; *p != set; p = &(*p)->next)
		;
	*p = set->next;
	pthread_mutex_unlock(&set->rt->lock);
	free_set(set);
	return 0;
}

void peali_process_groups_clear(struct peal_runtime *rt)
{
	while (rt->sets && !peal_process_group_leave(rt->sets, CLEAR_NS))
		;
}

uint32_t peali_process_groups_count(const struct peal_runtime *rt)
{
	const struct peal_process_group *set;
	uint32_t n = 0;

	for (set = rt->sets; set; set = set->next)
		n++;
	return n;
}

/* ---- info ---------------------------------------------------------------- */

static uint32_t count_links(const struct peali_peer *p)
{
	const struct peali_remote_link *remote;
	uint32_t n = 0;

	for (remote = p->links; remote; remote = remote->next)
		n++;
	return n;
}

int peal_process_group_info(struct peal_process_group *set,
			    struct peal_process_group_info *info_out)
{
	uint32_t rank;

	if (!set || !info_out)
		return peali_refuse_null("peal_process_group_info",
					 "group or info_out");
	if (peali_foreign(&set->rt->owner, "peal_process_group_info"))
		return PEAL_EFORKED;
	memset(info_out, 0, sizeof(*info_out));
	info_out->rank = set->plan.rank;
	info_out->ranks = set->plan.ranks;
	memcpy(info_out->id, set->id, sizeof(set->id));
	snprintf(info_out->rank_source, sizeof(info_out->rank_source), "%s",
		 set->plan.source);
	pthread_mutex_lock(&set->lock);
	info_out->n_exports = set->n_exports;
	for (rank = 0; rank < set->plan.ranks; rank++) {
		const struct peali_peer *p = &set->peers[rank];

		info_out->n_alive += p->state == PEAL_PROCESS_ALIVE;
		info_out->n_left += p->state == PEAL_PROCESS_LEFT;
		info_out->n_dead += p->state == PEAL_PROCESS_DEAD;
		info_out->n_lost += p->state == PEAL_PROCESS_LOST;
		info_out->n_links += count_links(p);
	}
	pthread_mutex_unlock(&set->lock);
	return 0;
}

int peal_process_info(struct peal_process_group *set, uint32_t rank,
		      struct peal_process_info *info_out)
{
	const struct peali_peer *p;

	if (!set || !info_out)
		return peali_refuse_null("peal_process_info",
					 "group or info_out");
	if (peali_foreign(&set->rt->owner, "peal_process_info"))
		return PEAL_EFORKED;
	if (rank >= set->plan.ranks)
		return peali_refuse_index("peal_process_info", "process group",
					  NULL, "rank", rank, set->plan.ranks,
					  NULL);
	memset(info_out, 0, sizeof(*info_out));
	p = &set->peers[rank];
	info_out->rank = rank;
	info_out->pid = p->member.pid;
	info_out->watched = p->pidfd >= 0;
	pthread_mutex_lock(&set->lock);
	info_out->state = p->state;
	info_out->n_links = count_links(p);
	info_out->gone_ns = p->gone_ns;
	memcpy(info_out->reason, p->why, sizeof(info_out->reason));
	pthread_mutex_unlock(&set->lock);
	return 0;
}

/* ---- exports ------------------------------------------------------------- */

static int check_name(const char *name, const char *call)
{
	size_t n = name ? strnlen(name, PEAL_PROCESS_NAME_BYTES) : 0;

	if (n && n < PEAL_PROCESS_NAME_BYTES)
		return 0;
	return peali_refuse_name(call, name, PEAL_PROCESS_NAME_BYTES - 1);
}

static struct peali_export **find_export(struct peal_process_group *set,
					 const char *name)
{
	struct peali_export **p;

	for (p = &set->offers; *p && strcmp((*p)->name, name); p = &(*p)->next)
		;
	return p;
}

/* Adds an export to the list. The caller holds set->lock. */
static int add_export(struct peal_process_group *set, const char *name,
		      uint64_t address)
{
	struct peali_export *offer;

	if (*find_export(set, name))
		return peali_fail(PEAL_EEXIST, "peal_process_export",
				  "'%s' is exported already", name);
	if (set->n_exports >= EXPORTS_MAX)
		return PEALI_REFUSE(
			PEAL_ENOSPC, "peal_process_export", .object = "export",
			.name = name,
			.problem = "exceeds the exports of a process",
			.number = set->n_exports + 1ULL, .most = EXPORTS_MAX,
			.remedy = "unexport another address");
	offer = calloc(1, sizeof(*offer));
	if (!offer)
		return peali_fail(PEAL_ENOMEM, "peal_process_export",
				  "no memory for an export");
	strcpy(offer->name, name);
	offer->address = address;
	offer->next = set->offers;
	set->offers = offer;
	set->n_exports++;
	return 0;
}

int peal_process_export(struct peal_process_group *set, const char *name,
			uint64_t address)
{
	int result;

	if (!set)
		return peali_refuse_null("peal_process_export", "group");
	if (peali_foreign(&set->rt->owner, "peal_process_export"))
		return PEAL_EFORKED;
	result = check_name(name, "peal_process_export");
	if (result)
		return result;
	pthread_mutex_lock(&set->rt->lock);
	result = set->rt->hooks->check_receiver(set->rt, address,
						"peal_process_export");
	pthread_mutex_unlock(&set->rt->lock);
	if (result)
		return result;
	pthread_mutex_lock(&set->lock);
	result = add_export(set, name, address);
	pthread_mutex_unlock(&set->lock);
	return result;
}

int peal_process_unexport(struct peal_process_group *set, const char *name)
{
	struct peali_export **p, *offer;
	int result;

	if (!set)
		return peali_refuse_null("peal_process_unexport", "group");
	if (peali_foreign(&set->rt->owner, "peal_process_unexport"))
		return PEAL_EFORKED;
	result = check_name(name, "peal_process_unexport");
	if (result)
		return result;
	pthread_mutex_lock(&set->lock);
	p = find_export(set, name);
	offer = *p;
	if (offer) {
		*p = offer->next;
		set->n_exports--;
	}
	pthread_mutex_unlock(&set->lock);
	free(offer);
	return offer ? 0 :
		       peali_fail(PEAL_ENOENT, "peal_process_unexport",
				  "'%s' is not exported", name);
}
