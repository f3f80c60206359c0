#pragma once
/*
 * The two processes in which sequences happen.
 *
 * They are forked before the first verb, and do one step at a time, as requested in memory that
 * they share with the runner; it also has their areas, so that the runner sees the memory of each.
 */
#include <sys/types.h>

#include "tests/shim/soft/model/step.h"

struct keys {
	uint32_t lkey, rkey;
	uint32_t old_lkey, old_rkey;
};

/* The other process's objects that a process must know; the order and the result. */
struct board {
	uint8_t area[PROCS][AREA] __attribute__((aligned(4096)));
	uint32_t patience; /* ms to wait for a completion or event */
	uint32_t qpn[QPS]; /* of the last one in the slot */
	struct keys mr[PROCS][MRS];
	struct step step;
	struct result result;
};

struct world {
	struct board *board;
	int to[PROCS], from[PROCS];
	pid_t pid[PROCS];
};

/* Returns 0 or -errno. Each process opens the device. */
int world_open(struct world *w);

/*
 * Let @step's process do it. The result is at w->board->result until the
 * next. Returns 0, or -EPIPE if the process died, -ETIME if it hangs.
 */
int world_do(struct world *w, const struct step *step);

/* Returns the number of processes that failed. */
int world_close(struct world *w);

/* A process executes a step: worker.c. */
struct worker;

struct worker *worker_open(struct board *board, int proc);
void worker_do(struct worker *w, const struct step *step, struct result *r);
bool worker_close(struct worker *w);
