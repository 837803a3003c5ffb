/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of launchers. Each line is the index of a variable as a
 * letter, and its value.
 */
#include "fuzz/fuzz.h"

#include <peal/errors.h>

#include "runtime/ipc/rendezvous.h"

static const char *const variables[] = {
	"PEAL_RANK",
	"PEAL_RANKS",
	"PEAL_RENDEZVOUS",
	"OMPI_COMM_WORLD_RANK",
	"OMPI_COMM_WORLD_SIZE",
	"PMIX_NAMESPACE",
	"OMPI_MCA_ess_base_jobid",
	"OMPI_MCA_orte_hnp_uri",
	"PMIX_RANK",
	"PMIX_SIZE",
	"PMIX_ID",
	"PMI_RANK",
	"PMI_SIZE",
	"PMI_JOBID",
	"PMI_ID_JOB",
	"SLURM_JOB_ID",
	"SLURM_PROCID",
	"SLURM_NTASKS",
	"SLURM_STEP_ID",
	"XDG_RUNTIME_DIR",
};
#define N_VARIABLES (sizeof(variables) / sizeof(variables[0]))

static void clear(void)
{
	size_t i;

	for (i = 0; i < N_VARIABLES; i++)
		unsetenv(variables[i]);
}

FUZZ_TARGET(launcher)
{
	const struct peal_process_group_options options = { 0 };
	struct fuzz_input in = { data, size };
	struct peali_launcher_env *env = malloc(sizeof(*env));
	char *line;
	int result;

	FUZZ_CHECK(env);
	clear();
	while (in.left) {
		line = fuzz_line(&in);
		if (*line >= 'a' && *line < 'a' + (int)N_VARIABLES)
			setenv(variables[*line - 'a'], line + 1, 1);
		free(line);
	}
	result = peali_launcher_env(&options, env);
	if (result) {
		FUZZ_CHECK(result == PEAL_EINVAL);
		FUZZ_CHECK(peal_last_error()->text[0]);
	} else {
		FUZZ_CHECK(env->ranks >= 1);
		FUZZ_CHECK(env->ranks <= PEAL_PROCESS_GROUP_MAX);
		FUZZ_CHECK(env->rank < env->ranks);
		FUZZ_CHECK(env->ranks == 1 || env->path[0]);
		FUZZ_CHECK(strlen(env->path) < sizeof(env->path));
	}
	clear();
	free(env);
	return 0;
}
