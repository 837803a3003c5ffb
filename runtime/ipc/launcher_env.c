/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the rank of this process, the number of ranks and the rendezvous file.
 * The sources are the options, `peal spawn` and MPI launchers. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/base/number.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/ipc/rendezvous.h"

#define CALL "peal_process_group_join"

/* Pairs of variables with rank and ranks, variables that name the job, and the
 * remedy against missing processes. The first pair with a value counts. A job
 * script of Slurm has its variables, too, but only srun starts all tasks. */
static const struct source {
	const char *rank, *ranks;
	const char *job[3];
	const char *remedy;
} sources[] = {
	{ "PEAL_RANK",
	  "PEAL_RANKS",
	  { NULL },
	  "start all processes, by `peal spawn`" },
	{ "OMPI_COMM_WORLD_RANK",
	  "OMPI_COMM_WORLD_SIZE",
	  { "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid",
	    "OMPI_MCA_orte_hnp_uri" },
	  "start all processes by mpirun, or set PEAL_RANK and PEAL_RANKS" },
	{ "PMIX_RANK",
	  "PMIX_SIZE",
	  { "PMIX_NAMESPACE", "PMIX_ID", NULL },
	  "start all processes by prterun, or set PEAL_RANK and PEAL_RANKS" },
	{ "PMI_RANK",
	  "PMI_SIZE",
	  { "PMI_JOBID", "PMI_ID_JOB", "SLURM_JOB_ID" },
	  "start all processes by mpiexec, or set PEAL_RANK and PEAL_RANKS" },
	{ "SLURM_PROCID",
	  "SLURM_NTASKS",
	  { "SLURM_JOB_ID", NULL },
	  "start all tasks by srun, or set PEAL_RANK and PEAL_RANKS" },
};

#define N_SOURCES (sizeof(sources) / sizeof(sources[0]))

static int given(const char *name)
{
	const char *text = name ? getenv(name) : NULL;

	return text && *text;
}

/* Reads a variable. `other` is the second variable of its pair. */
static int parse(const struct source *s, const char *name, const char *other,
		 uint32_t *out)
{
	const char *text = getenv(name);
	uint64_t value = 0;

	if (!text || !*text)
		return peali_fail(PEAL_EINVAL, CALL,
				  "%s is missing, but %s is '%s'; %s", name,
				  other, PEALI_CUT(40, getenv(other)),
				  s->remedy);
	if (!peali_number_parse(text, 0, UINT32_MAX, &value))
		return PEALI_REFUSE(PEAL_EINVAL, CALL, .object = "variable",
				    .name = name, .problem = "is no number",
				    .value = text,
				    .allowed = PEALI_PRINT("0..%u", UINT32_MAX),
				    .remedy = s->remedy);
	*out = (uint32_t)value;
	return 0;
}

/* Makes the path of the rendezvous file from the name of the job. Returns
 * PEAL_EINVAL if no variable names the job. */
static int path_of_job(const struct source *s, struct peali_launcher_env *out)
{
	const char *folder = getenv("XDG_RUNTIME_DIR");
	const char *step = getenv("SLURM_STEP_ID");
	char job[128];
	size_t i;

	for (i = 0; i < 3 && !given(s->job[i]); i++)
		;
	if (i == 3)
		return peali_fail(
			PEAL_EINVAL, CALL,
			"no rendezvous file: set PEAL_RENDEZVOUS to one "
			"value for all processes (%s selects the rank, but "
			"no variable names the job)",
			s->rank);
	snprintf(job, sizeof(job), "%.100s%s%.20s", getenv(s->job[i]),
		 step && *step ? "." : "", step ? step : "");
	for (i = 0; job[i]; i++)
		if (!isalnum((unsigned char)job[i]) && job[i] != '.' &&
		    job[i] != '_')
			job[i] = '-';
	snprintf(out->path, sizeof(out->path), "%.3800s/peal-%u-%s",
		 folder && *folder == '/' && !access(folder, W_OK | X_OK) ?
			 folder :
			 "/tmp",
		 (unsigned)geteuid(), job);
	return 0;
}

static int check(const struct peali_launcher_env *plan)
{
	if (plan->ranks < 1 || plan->ranks > PEAL_PROCESS_GROUP_MAX)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL,
			.object = PEALI_PRINT("number of processes by %s",
					      plan->counted),
			.number = plan->ranks, .least = 1,
			.most = PEAL_PROCESS_GROUP_MAX);
	if (plan->rank >= plan->ranks)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL,
			.object = PEALI_PRINT("rank by %s", plan->source),
			.problem = PEALI_PRINT(
				"is not below the %u process%s by %s",
				plan->ranks, plan->ranks == 1 ? "" : "es",
				plan->counted),
			.number = plan->rank, .most = plan->ranks - 1);
	return 0;
}

static int rank_of_environment(struct peali_launcher_env *out,
			       const struct source **source_out)
{
	const struct source *s;
	int result;

	for (s = sources; s < sources + N_SOURCES; s++)
		if (given(s->rank) || given(s->ranks))
			break;
	if (s == sources + N_SOURCES)
		return peali_fail(PEAL_EINVAL, CALL,
				  "rank and number of processes are unknown; "
				  "start the program by `peal spawn -n N -- "
				  "PROGRAM`, set PEAL_RANK, PEAL_RANKS and "
				  "PEAL_RENDEZVOUS, or give options");
	result = parse(s, s->rank, s->ranks, &out->rank);
	if (!result)
		result = parse(s, s->ranks, s->rank, &out->ranks);
	out->source = s->rank;
	out->counted = s->ranks;
	out->remedy = s->remedy;
	*source_out = s;
	return result;
}

int peali_launcher_env(const struct peal_process_group_options *o,
		       struct peali_launcher_env *out)
{
	const struct source *source = NULL;
	const char *path = o->rendezvous;
	int result;

	memset(out, 0, sizeof(*out));
	out->rank = o->rank;
	out->ranks = o->ranks;
	out->source = out->counted = "options";
	out->remedy = "start all processes, each with its rank";
	if (!o->ranks) {
		result = rank_of_environment(out, &source);
		if (result)
			return result;
	}
	result = check(out);
	if (result || out->ranks == 1) /* a single process needs no file */
		return result;
	if (!path && given("PEAL_RENDEZVOUS"))
		path = getenv("PEAL_RENDEZVOUS");
	if (!path && source)
		return path_of_job(source, out);
	if (!path || !*path)
		return peali_fail(PEAL_EINVAL, CALL,
				  "no rendezvous file; set option "
				  "`rendezvous` or PEAL_RENDEZVOUS");
	if (strlen(path) >= sizeof(out->path))
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "rendezvous file",
			.name = path, .problem = "has a path that is too long",
			.value = PEALI_PRINT("%zu bytes", strlen(path)),
			.allowed = PEALI_PRINT("1..%zu", sizeof(out->path) - 1),
			.remedy = "use a shorter path");
	strcpy(out->path, path);
	return 0;
}
