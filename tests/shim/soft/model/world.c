/*
 * Two processes, commanded: a byte through a pipe, one back
 */
#include "tests/shim/soft/model/world.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE = 60000 }; /* ms */

static void run_worker(struct board *board, int proc, int in, int out)
{
	struct worker *w = worker_open(board, proc);
	char byte = w ? 'y' : 'n';

	while (write(out, &byte, 1) == 1 && read(in, &byte, 1) == 1)
		worker_do(w, &board->step, &board->result);
	exit(worker_close(w) ? 0 : 1);
}

static int read_answer(struct world *w, int proc)
{
	struct pollfd fd = { .fd = w->from[proc], .events = POLLIN };
	char byte;

	if (poll(&fd, 1, PATIENCE) == 0)
		return -ETIME;
	return read(w->from[proc], &byte, 1) == 1 && byte != 'n' ? 0 : -EPIPE;
}

static int start_worker(struct world *w, int proc)
{
	int there[2], back[2], p;

	if (pipe(there) < 0 || pipe(back) < 0)
		return -errno;
	fflush(NULL);
	w->pid[proc] = fork();
	if (w->pid[proc] < 0)
		return -errno;
	if (!w->pid[proc]) {
		/* or the other would not see its end */
		for (p = 0; p < proc; p++)
			close(w->to[p]);
		close(there[1]);
		close(back[0]);
		run_worker(w->board, proc, there[0], back[1]);
	}
	close(there[0]);
	close(back[1]);
	w->to[proc] = there[1];
	w->from[proc] = back[0];
	return read_answer(w, proc);
}

int world_open(struct world *w)
{
	int p, err = 0;

	memset(w, 0, sizeof(*w));
	w->board = mmap(NULL, sizeof(*w->board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (w->board == MAP_FAILED)
		return -errno;
	for (p = 0; p < PROCS && !err; p++)
		err = start_worker(w, p);
	return err;
}

int world_do(struct world *w, const struct step *step)
{
	char byte = 's';

	w->board->step = *step;
	memset(&w->board->result, 0, offsetof(struct result, wc));
	if (write(w->to[step->proc], &byte, 1) != 1)
		return -EPIPE;
	return read_answer(w, step->proc);
}

int world_close(struct world *w)
{
	int p, status, bad = 0;

	for (p = 0; p < PROCS; p++) {
		if (!w->pid[p])
			continue;
		close(w->to[p]);
		waitpid(w->pid[p], &status, 0);
		close(w->from[p]);
		bad += status != 0;
	}
	munmap(w->board, sizeof(*w->board));
	return bad;
}
