/*
 * Launchers of parallel jobs, and their environment variables
 *
 * Launchers may be nested: the processes that mpirun starts in a Slurm job also inherit Slurm's
 * variables of mpirun. The rank comes from the innermost launcher. Size and local rank of an outer
 * launcher count only if it gives this process the same rank; job, step and node come from the
 * outermost launcher.
 */
#include "core/wire/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const struct launcher launchers[] = {
	{ "torchrun", { "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
			"TORCHELASTIC_RUN_ID" } },
	{ "Open MPI", { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
			"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE" } },
	{ "MVAPICH2", { "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE",
			"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE" } },
	{ "Flux", { "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", NULL,
		    "FLUX_JOB_ID" } },
	{ "PALS", { "PALS_RANKID", NULL, "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE", "PALS_APID" } },
	{ "PMI", { "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS" } },
	{ "PMIx", { "PMIX_RANK", NULL, NULL, NULL, "PMIX_NAMESPACE" } },
	{ "Slurm", { "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE",
		     "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURMD_NODENAME" } },
	{ "Kubernetes", { "JOB_COMPLETION_INDEX" } },
	{ "PBS", { [LAUNCHER_JOB] = "PBS_JOBID" } },
	{ "LSF", { [LAUNCHER_JOB] = "LSB_JOBID" } },
	{ 0 },
};
/* clang-format on */

bool launcher_has_variable(const char *name, size_t n)
{
	for (const struct launcher *each = launchers; each->name; each++)
		for (int fact = 0; fact < LAUNCHER_FACTS; fact++) {
			const char *variable = each->variables[fact];

			if (variable && strlen(variable) == n && !memcmp(variable, name, n))
				return true;
		}
	return false;
}

static const char *find_value(const struct launcher *launcher, enum launcher_fact fact,
			      variable_fn *variable, void *arg)
{
	const char *name = launcher->variables[fact];
	const char *value = name ? variable(arg, name) : NULL;

	return value && *value ? value : NULL;
}

/*
 * Is this the rest of a number in Slurm's form? "4(x2)": each of two nodes has 4. "4(x2),3" is
 * refused: it does not say which node has 3.
 */
static bool is_rest_of_number(const char *rest)
{
	size_t n = strncmp(rest, "(x", 2) ? 0 : 2 + strspn(rest + 2, "0123456789");

	return !*rest || (n > 2 && !strcmp(rest + n, ")"));
}

/* The number in the launcher's variable for @fact; -1: not set, or not a number. */
static int find_number(const struct launcher *launcher, enum launcher_fact fact,
		       variable_fn *variable, void *arg)
{
	const char *value = find_value(launcher, fact, variable, arg);
	size_t digits = value ? strspn(value, "0123456789") : 0;

	return digits && digits < 10 && is_rest_of_number(value + digits) ? atoi(value) : -1;
}

/*
 * Has the launcher set its variables? Other programs may use the names of torchrun's; torchrun sets
 * all of them.
 */
static bool has_needed_variables(const struct launcher *launcher, variable_fn *variable, void *arg)
{
	return launcher != launchers || find_number(launcher, LAUNCHER_SIZE, variable, arg) > 0;
}

/* Set the rank to that of the first launcher, which is the innermost, that has given one. */
static void find_innermost_rank(variable_fn *variable, void *arg, struct rank *rank)
{
	for (const struct launcher *each = launchers; each->name && rank->rank < 0; each++) {
		if (!has_needed_variables(each, variable, arg))
			continue;
		rank->rank = find_number(each, LAUNCHER_RANK, variable, arg);
		if (rank->rank >= 0)
			rank->launcher = each->name;
	}
}

/* The size or the local rank, from a launcher that gives the same rank; -1: none. */
static int find_agreed_number(const struct rank *rank, enum launcher_fact fact,
			      variable_fn *variable, void *arg)
{
	for (const struct launcher *each = launchers; each->name; each++) {
		if (find_number(each, LAUNCHER_RANK, variable, arg) == rank->rank) {
			int number = find_number(each, fact, variable, arg);

			if (number >= 0)
				return number;
		}
	}
	return -1;
}

/* Copy the word of the outermost launcher that has one: the batch system, whose jobs users know. */
static void find_word(enum launcher_fact fact, variable_fn *variable, void *arg,
		      char word[RANK_WORD])
{
	word[0] = '\0';
	for (const struct launcher *each = launchers; each->name; each++) {
		const char *value = find_value(each, fact, variable, arg);

		if (value)
			snprintf(word, RANK_WORD, "%s", value);
	}
}

void launcher_find_rank(variable_fn *variable, void *arg, struct rank *ret_rank)
{
	*ret_rank = (struct rank){ .rank = -1, .size = -1, .local = -1, .local_size = -1 };
	find_innermost_rank(variable, arg, ret_rank);
	if (ret_rank->rank >= 0) {
		ret_rank->size = find_agreed_number(ret_rank, LAUNCHER_SIZE, variable, arg);
		ret_rank->local = find_agreed_number(ret_rank, LAUNCHER_LOCAL, variable, arg);
		ret_rank->local_size =
			find_agreed_number(ret_rank, LAUNCHER_LOCAL_SIZE, variable, arg);
	}
	find_word(LAUNCHER_JOB, variable, arg, ret_rank->job);
	find_word(LAUNCHER_STEP, variable, arg, ret_rank->step);
	find_word(LAUNCHER_NODE, variable, arg, ret_rank->node);
}
