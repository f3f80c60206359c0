/*
 * Sending traffic: the plan, and its workers
 *
 *	load -> flows, links -> workers: set up | connect | begin at one time | send | results
 *
 * One worker in this thread, or one for each rank in a thread or a process of its own. After each
 * step they wait for each other by polling the board, the only data that threads and processes
 * share.
 */
#include "replay/load/load_run.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/map.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"
#include "replay/load/load_worker.h"
#include "replay/load/load_send.h"

enum { LEAD_NS = 2000000 /* time 0 is this long after the last worker is ready */ };

uint32_t load_workers(const struct load *load, const struct load_options *options)
{
	return options->workers == LOAD_SERIAL ? 1 : load->nranks;
}

/* The key under which a link is found that still lacks a flow of the opposite direction. */
static uint64_t link_key(const struct load_edge *edge)
{
	return (uint64_t)edge->from << 32 | edge->to;
}

/* Assign a link to a flow: that of a flow in the opposite direction, or a new one. */
static int link_flow(struct load_plan *plan, uint32_t index, struct map *open)
{
	struct load_flow *flow = &plan->flows[index];
	struct load_edge back = { flow->edge.to, flow->edge.from };
	struct load_link *link;
	uint64_t found;

	if (map_get(open, link_key(&back), &found) && flow->edge.from != flow->edge.to &&
	    plan->links[found].transport == flow->class->transport) {
		map_remove(open, link_key(&back));
		plan->links[found].flow[1] = index;
		flow->link = (uint32_t)found;
		flow->side = 1;
		return 0;
	}
	flow->link = (uint32_t)plan->nlinks;
	link = &plan->links[plan->nlinks++];
	*link = (struct load_link){ .rank = { flow->edge.from, flow->edge.to },
				    .flow = { index, LOAD_NONE },
				    .transport = flow->class->transport };
	return map_put(open, link_key(&flow->edge), flow->link);
}

static int make_flows(struct load_plan *plan)
{
	struct map open = { 0 }; /* links whose other end sends nothing yet */
	size_t senders = load_totals(plan->load).senders;
	int err = 0;

	plan->flows = calloc(senders ?: 1, sizeof(*plan->flows));
	plan->links = calloc(senders ?: 1, sizeof(*plan->links));
	if (!plan->flows || !plan->links)
		return -ENOMEM;
	for (size_t i = 0; i < plan->load->nclasses; i++) {
		const struct load_class *class = &plan->load->classes[i];

		for (size_t k = 0; !err && k < class->nedges; k++) {
			plan->flows[plan->nflows] =
				(struct load_flow){ .class = class,
						    .track = &class->tracks[k % class->ntracks],
						    .edge = class->edges[k] };
			err = link_flow(plan, (uint32_t)plan->nflows++, &open);
		}
	}
	map_fini(&open);
	return err;
}

static int make_board(struct load_plan *plan)
{
	size_t notices = 2 * plan->nlinks * sizeof(struct load_notice);
	size_t results = plan->nworkers * sizeof(struct load_result);
	void *at;

	plan->board_bytes = sizeof(*plan->board) + notices + results;
	at = mmap(NULL, plan->board_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		  0);
	if (at == MAP_FAILED)
		return -errno;
	plan->board = at;
	plan->board->results =
		(struct load_result *)(void *)((char *)at + sizeof(*plan->board) + notices);
	return 0;
}

/* Wait until @n workers have counted in @count. Returns 0, or -ECANCELED if one has failed. */
static int await_workers(const struct load_shared *board, const atomic_uint *count, uint32_t n)
{
	const struct timespec nap = { .tv_nsec = 20000 };

	while (*count < n && !board->err)
		nanosleep(&nap, NULL);
	return board->err ? -ECANCELED : 0;
}

static int reach_phase(const struct load_plan *plan, enum load_phase phase)
{
	atomic_fetch_add(&plan->board->reached[phase], 1);
	return await_workers(plan->board, &plan->board->reached[phase], plan->nworkers);
}

/* Open devices in the order of ranks: a recording numbers processes by their first verbs. */
static int open_by_rank(struct load_worker *w)
{
	struct load_shared *board = w->plan->board;
	int err = await_workers(board, &board->opened, w->index);

	err = err ?: load_open(w);
	atomic_fetch_add(&board->opened, 1);
	return err;
}

/* Wait for the common start time, which the first worker sets. */
static int await_start_time(const struct load_worker *w)
{
	struct load_shared *board = w->plan->board;
	int err = reach_phase(w->plan, PHASE_CONNECTED);

	if (!err && !w->index)
		board->go = (long long)clock_monotonic() + LEAD_NS * (1 + w->plan->nworkers / 8);
	return err ?: reach_phase(w->plan, PHASE_TIMED);
}

static int add_senders(struct load_worker *w)
{
	w->senders = calloc(w->nends ?: 1, sizeof(*w->senders));
	w->heap = calloc(w->nends ?: 1, sizeof(*w->heap));
	if (!w->senders || !w->heap)
		return log_err(-ENOMEM, "send traffic");
	for (uint32_t i = 0; i < w->nends; i++) {
		uint32_t flow = w->plan->links[w->ends[i].link].flow[w->ends[i].side];

		if (flow != LOAD_NONE)
			w->senders[w->nsenders++] = (struct load_sender){ .flow = flow, .end = i };
	}
	return 0;
}

static void run_worker(struct load_worker *w)
{
	struct load_shared *board = w->plan->board;
	int err = open_by_rank(w) ?: load_setup(w) ?: add_senders(w), none = 0;

	err = err ?: reach_phase(w->plan, PHASE_MADE);
	err = err ?: load_connect(w);
	err = err ?: await_start_time(w);
	err = err ?: load_send(w);
	if (err && err != -ECANCELED)
		atomic_compare_exchange_strong(&board->err, &none, err);
	if (w->device)
		snprintf(w->result.device, sizeof(w->result.device), "%s", w->device->name);
	board->results[w->index] = w->result;
	reach_phase(w->plan, PHASE_ENDED);
	load_fini_worker(w);
}

static void *run_thread(void *worker)
{
	run_worker(worker);
	return NULL;
}

static int run_threads(struct load_plan *plan)
{
	struct load_worker *workers = calloc(plan->nworkers, sizeof(*workers));
	pthread_t *threads = calloc(plan->nworkers, sizeof(*threads));
	uint32_t n = 0;
	int err = workers && threads ? 0 : log_err(-ENOMEM, "start threads");

	for (; !err && n < plan->nworkers; n++) {
		workers[n] = (struct load_worker){ .plan = plan, .index = n };
		err = -pthread_create(&threads[n], NULL, run_thread, &workers[n]);
		if (err) {
			log_err(err, "start thread %u of %u", n + 1, plan->nworkers);
			plan->board->err = err;
			break;
		}
	}
	while (n)
		pthread_join(threads[--n], NULL);
	free(workers);
	free(threads);
	return err;
}

static void run_process(const struct load_plan *plan, uint32_t index)
{
	struct load_worker worker = { .plan = plan, .index = index };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run_worker(&worker);
	fflush(NULL);
	_exit(0);
}

/* Wait for one process; if it was killed, stop the others. False: all have ended. */
static bool wait_for_process(struct load_plan *plan)
{
	int status;
	pid_t pid = waitpid(-1, &status, 0);

	if (pid < 0 && errno != EINTR)
		return false;
	if (pid < 0 && plan->options->stop && *plan->options->stop)
		plan->board->stop = true;
	if (pid > 0 && !WIFEXITED(status) && !plan->board->err) {
		log_note("process %d of the load was ended by signal %d (%s)", (int)pid,
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
		plan->board->err = -EIO;
	}
	return true;
}

static int run_processes(struct load_plan *plan)
{
	uint32_t n = 0;
	int err = 0;

	fflush(NULL);
	for (; !err && n < plan->nworkers; n++) {
		pid_t pid = fork();

		if (!pid)
			run_process(plan, n);
		if (pid < 0) {
			err = log_err(-errno, "start process %u of %u", n + 1, plan->nworkers);
			plan->board->err = err;
			break;
		}
	}
	while (wait_for_process(plan))
		;
	return err;
}

static void add_result(struct load_result *sum, const struct load_result *one)
{
	if (!one->issued && !one->received)
		return;
	if (one->issued && (!sum->issued || one->first < sum->first))
		sum->first = one->first;
	sum->last = one->last > sum->last ? one->last : sum->last;
	sum->issued += one->issued;
	sum->completed += one->completed;
	sum->messages += one->messages;
	sum->received += one->received;
	sum->bytes += one->bytes;
	sum->full += one->full;
	if (one->full_longest > sum->full_longest) {
		sum->full_longest = one->full_longest;
		sum->full_from = one->full_from;
		sum->full_to = one->full_to;
	}
	if (one->errors && (!sum->errors || one->failure.time < sum->failure.time))
		sum->failure = one->failure;
	sum->errors += one->errors;
}

static int run_plan(struct load_plan *plan, struct load_result *ret_result)
{
	struct load_worker worker = { .plan = plan };
	struct load_result result = { 0 };
	int err = 0;

	if (plan->options->workers == LOAD_THREADS)
		err = run_threads(plan);
	else if (plan->options->workers == LOAD_PROCESSES)
		err = run_processes(plan);
	else
		run_worker(&worker);
	err = err ?: plan->board->err;
	if (err)
		return err;
	snprintf(result.device, sizeof(result.device), "%s", plan->board->results[0].device);
	for (uint32_t i = 0; i < plan->nworkers; i++)
		add_result(&result, &plan->board->results[i]);
	result.late = plan->board->late;
	result.stopped = plan->options->stop && *plan->options->stop;
	*ret_result = result;
	return 0;
}

int load_run(const struct load *load, const struct load_options *options,
	     struct load_result *ret_result)
{
	struct load_plan plan = { .load = load,
				  .options = options,
				  .nworkers = load_workers(load, options) };
	int err;

	if (options->deadline)
		plan.deadline = (int64_t)clock_monotonic() + options->deadline;
	err = make_flows(&plan);
	if (!err)
		err = make_board(&plan);
	err = err ? log_err(err, "prepare the load") : run_plan(&plan, ret_result);
	if (plan.board)
		munmap(plan.board, plan.board_bytes);
	free(plan.flows);
	free(plan.links);
	return err;
}
