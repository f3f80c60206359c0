#include <string.h>

#include "core/wire/launcher.h"
#include "tests/test.h"

/* An environment: names and values in turn. */
static const char *get_value(void *arg, const char *name)
{
	const char *const *each = arg;

	for (; each[0]; each += 2)
		if (!strcmp(each[0], name))
			return each[1];
	return NULL;
}

#define FIND(rank, ...) \
	launcher_find_rank(get_value, (const char *[]){ __VA_ARGS__, NULL, NULL }, rank)

static void assert_rank(const struct rank *rank, int number, int size, int local,
			const char *launcher)
{
	assert_int_equal(rank->rank, number);
	assert_int_equal(rank->size, size);
	assert_int_equal(rank->local, local);
	assert_string_equal(rank->launcher, launcher);
}

TEST(each_launcher_is_known)
{
	struct rank rank;

	FIND(&rank, "RANK", "5", "WORLD_SIZE", "8", "LOCAL_RANK", "1", "TORCHELASTIC_RUN_ID", "x");
	assert_rank(&rank, 5, 8, 1, "torchrun");
	assert_string_equal(rank.job, "x");
	FIND(&rank, "OMPI_COMM_WORLD_RANK", "5", "OMPI_COMM_WORLD_SIZE", "8",
	     "OMPI_COMM_WORLD_LOCAL_RANK", "1", "PMIX_RANK", "5", "PMIX_NAMESPACE", "n");
	assert_rank(&rank, 5, 8, 1, "Open MPI");
	assert_string_equal(rank.job, "n");
	FIND(&rank, "MV2_COMM_WORLD_RANK", "5", "MV2_COMM_WORLD_SIZE", "8",
	     "MV2_COMM_WORLD_LOCAL_RANK", "1");
	assert_rank(&rank, 5, 8, 1, "MVAPICH2");
	FIND(&rank, "FLUX_TASK_RANK", "5", "FLUX_JOB_SIZE", "8", "FLUX_TASK_LOCAL_ID", "1",
	     "FLUX_JOB_ID", "f");
	assert_rank(&rank, 5, 8, 1, "Flux");
	assert_string_equal(rank.job, "f");
	FIND(&rank, "PALS_RANKID", "5", "PALS_LOCAL_RANKID", "1", "PALS_APID", "a", "PBS_JOBID",
	     "9.pbs");
	assert_rank(&rank, 5, -1, 1, "PALS");
	assert_string_equal(rank.job, "9.pbs");
	FIND(&rank, "PMI_RANK", "5", "PMI_SIZE", "8", "MPI_LOCALRANKID", "1", "LSB_JOBID", "7");
	assert_rank(&rank, 5, 8, 1, "PMI");
	assert_string_equal(rank.job, "7");
	FIND(&rank, "SLURM_PROCID", "5", "SLURM_NTASKS", "8", "SLURM_LOCALID", "1", "SLURM_JOB_ID",
	     "12", "SLURM_STEP_ID", "0", "SLURMD_NODENAME", "n3");
	assert_rank(&rank, 5, 8, 1, "Slurm");
	assert_string_equal(rank.job, "12");
	assert_string_equal(rank.step, "0");
	assert_string_equal(rank.node, "n3");
	FIND(&rank, "JOB_COMPLETION_INDEX", "5");
	assert_rank(&rank, 5, -1, -1, "Kubernetes");
}

/* mpirun in a job of Slurm: there is one task of Slurm on each node, which starts the ranks. */
TEST(ranks_of_a_node_are_known_if_all_nodes_have_as_many)
{
	struct rank rank;

	FIND(&rank, "SLURM_PROCID", "5", "SLURM_STEP_TASKS_PER_NODE", "4(x2)");
	assert_int_equal(rank.local_size, 4);
	FIND(&rank, "SLURM_PROCID", "5", "SLURM_STEP_TASKS_PER_NODE", "4(x2),3");
	assert_int_equal(rank.local_size, -1);
	FIND(&rank, "SLURM_PROCID", "5", "SLURM_STEP_TASKS_PER_NODE", "4(y2)");
	assert_int_equal(rank.local_size, -1);
	FIND(&rank, "OMPI_COMM_WORLD_RANK", "5", "OMPI_COMM_WORLD_LOCAL_SIZE", "3");
	assert_int_equal(rank.local_size, 3);
}

TEST(the_innermost_launcher_has_the_rank)
{
	struct rank rank;

	FIND(&rank, "SLURM_PROCID", "1", "SLURM_NTASKS", "2", "SLURM_LOCALID", "0", "SLURM_JOB_ID",
	     "12", "SLURMD_NODENAME", "n3", "PMIX_RANK", "5", "PMIX_NAMESPACE", "prte-1@1");
	assert_rank(&rank, 5, -1, -1, "PMIx");
	assert_string_equal(rank.job, "12");
	assert_string_equal(rank.node, "n3");
}

/* srun --mpi=pmix: both speak of the same task. */
TEST(another_launcher_counts_if_it_gave_the_same_rank)
{
	struct rank rank;

	FIND(&rank, "SLURM_PROCID", "5", "SLURM_NTASKS", "8", "SLURM_LOCALID", "1", "PMIX_RANK",
	     "5");
	assert_rank(&rank, 5, 8, 1, "PMIx");
}

TEST(what_is_no_rank_is_not_taken_for_one)
{
	struct rank rank;

	FIND(&rank, "RANK", "5");
	assert_int_equal(rank.rank, -1);
	FIND(&rank, "RANK", "captain", "WORLD_SIZE", "8");
	assert_int_equal(rank.rank, -1);
	FIND(&rank, "PMIX_RANK", "", "SLURM_PROCID", "-1");
	assert_int_equal(rank.rank, -1);
	FIND(&rank, "PMIX_RANK", "99999999999", "SLURM_JOB_ID", "12");
	assert_int_equal(rank.rank, -1);
	assert_null(rank.launcher);
	assert_string_equal(rank.job, "12"); /* a batch script */
	assert_int_equal(rank.size, -1);
}

TEST(a_word_is_cut)
{
	struct rank rank;
	char job[100];

	memset(job, 'x', sizeof(job) - 1);
	job[sizeof(job) - 1] = '\0';
	FIND(&rank, "PMIX_RANK", "0", "PMIX_NAMESPACE", job);
	assert_int_equal(strlen(rank.job), RANK_WORD - 1);
}

TEST(variables_are_those_of_the_list)
{
	assert_true(launcher_has_variable("RANK", 4));
	assert_true(launcher_has_variable("SLURMD_NODENAME", 15));
	assert_false(launcher_has_variable("RAN", 3));
	assert_false(launcher_has_variable("RANKS", 5));
	assert_false(launcher_has_variable("SLURM_JWT", 9));
}
