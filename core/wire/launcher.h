#pragma once
/*
 * Launchers of parallel jobs, and the environment variables in which they give a process its rank.
 *
 * Source: the documentation of each launcher. Any thread; no lock, no allocation.
 */
#include <stdbool.h>
#include <stddef.h>

enum launcher_fact {
	LAUNCHER_RANK,       /* in the whole job, from 0 */
	LAUNCHER_SIZE,       /* the number of ranks */
	LAUNCHER_LOCAL,      /* the rank among the processes of its node */
	LAUNCHER_LOCAL_SIZE, /* the number of ranks of its node */
	LAUNCHER_JOB,
	LAUNCHER_STEP, /* step of the job */
	LAUNCHER_NODE,
	LAUNCHER_FACTS
};

struct launcher {
	const char *name;
	const char *variables[LAUNCHER_FACTS]; /* NULL: the launcher has none for this fact */
};

/*
 * Innermost launchers first: a process has several if mpirun runs inside a Slurm job. The last
 * entry has no name.
 */
extern const struct launcher launchers[];

/* Is @name, of @n bytes, a variable of a launcher? */
bool launcher_has_variable(const char *name, size_t n);

enum { RANK_WORD = 48 };

/*
 * The position of a process in its job. A process without a rank, such as a batch script, may have
 * a job, too.
 */
struct rank {
	int rank, size, local, local_size; /* -1: not known */
	/* "": not known; too long ones are truncated */
	char job[RANK_WORD], step[RANK_WORD], node[RANK_WORD];
	/* that gave the rank; NULL: the process has no rank */
	const char *launcher;
};

/* The value of variable @name, valid until the next call; NULL: not set. */
typedef const char *variable_fn(void *arg, const char *name);

/* Find the rank and the job of the process whose environment @variable reads. */
void launcher_find_rank(variable_fn *variable, void *arg, struct rank *ret_rank);
