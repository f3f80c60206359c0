/*
 * The runner: a step on the device, the same on the model, compare
 *
 * A step begins when all effects of the previous one have arrived. The runner waits for senders
 * that continue by themselves, by polls for the completions that the model predicts and a query of
 * the queue pair.
 *
 * When the two differ, the sequence is cut after the step, and steps are left out as long as they
 * still differ, each time in new processes.
 */
#include "tests/shim/soft/model/run.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/shim/soft/model/dice.h"

enum {
	STEPS_MAX = 1024,
	CHUNK = 512,
	SHRINK_MAX = 500,
	REASON = 200,
	LAG = 300000, /* us: docs/SOFT-DEVICE.md has 200 ms */
	PATIENCE = 20000,
	LESS_PATIENCE = 300
};

/* How a sequence ended. */
struct outcome {
	char reason[REASON]; /* empty: as it should */
	struct step step;
	struct result got, expect;
	bool lost; /* a process died or hangs */
};

struct sequence {
	uint64_t seed;
	unsigned int num;
	struct step step[STEPS_MAX];
};

int runner_open(struct runner *r)
{
	int err = world_open(&r->world);

	r->patience = PATIENCE;
	if (!err && !r->model)
		r->model = model_new();
	return err;
}

int runner_close(struct runner *r)
{
	model_free(r->model);
	r->model = NULL;
	return world_close(&r->world);
}

/* New processes, without traces of the failure. */
static int replace_world(struct runner *r)
{
	int p;

	for (p = 0; p < PROCS; p++)
		if (r->world.pid[p])
			kill(r->world.pid[p], SIGKILL);
	world_close(&r->world);
	return world_open(&r->world);
}

static void reset_runner(struct runner *r, uint64_t seed)
{
	struct board *board = r->world.board;
	int p;

	model_reset(r->model, seed);
	board->patience = r->patience;
	memset(board->qpn, 0, sizeof(board->qpn));
	memset(board->mr, 0, sizeof(board->mr));
	for (p = 0; p < PROCS; p++)
		memcpy(board->area[p], r->model->bytes[p], AREA);
}

static void fill_board(struct board *board, const struct step *s)
{
	uint8_t *to = board->area[s->proc] + s->arg.fill.off;
	uint64_t seed = s->arg.fill.seed, word = 0;
	uint32_t i;

	for (i = 0; i < s->arg.fill.len; i++) {
		if (i % 8 == 0)
			word = model_random(&seed);
		to[i] = word >> i % 8 * 8;
	}
}

/* Bytes that are known and are not there; false if there are none. */
static bool find_difference(struct runner *r, int proc, uint32_t from, char *reason)
{
	const uint8_t *want = r->model->bytes[proc] + from;
	const uint8_t *have = r->world.board->area[proc] + from;
	uint32_t i;

	if (!memcmp(want, have, CHUNK))
		return false;
	for (i = 0; i < CHUNK; i++)
		if (want[i] != have[i] && model_knows(r->model, proc, from + i)) {
			snprintf(reason, REASON, "byte %u of p%d is %02x where it should be %02x",
				 from + i, proc, have[i], want[i]);
			return true;
		}
	return false;
}

static void compare_memory(struct runner *r, char *reason)
{
	uint32_t off;
	int p;

	for (p = 0; p < PROCS; p++)
		for (off = 0; off < AREA; off += CHUNK)
			if (find_difference(r, p, off, reason))
				return;
}

static int compare_serials(const void *a, const void *b)
{
	uint32_t x = ((const struct completion *)a)->wr_id;
	uint32_t y = ((const struct completion *)b)->wr_id;

	return (x > y) - (x < y);
}

static int compare_objects(const void *a, const void *b)
{
	const struct happening *x = a, *y = b;

	return x->type != y->type ? x->type - y->type : x->slot - y->slot;
}

/* Events that several threads caused at once are sorted, and fields that are open left out. */
static void log_step(struct runner *r, const struct step *s)
{
	struct result *now = &r->shown;

	if (!r->log)
		return;
	step_print(r->log, s);
	fputs("\n\t= ", r->log);
	*now = r->world.board->result;
	if (s->op == OP_DRAIN)
		qsort(now->wc, now->num, sizeof(now->wc[0]), compare_serials);
	if (s->op == OP_ASYNC_EVENTS) {
		if (r->model->overrun)
			now->num = 0;
		qsort(now->event, now->num, sizeof(now->event[0]), compare_objects);
	}
	result_print(r->log, s, now);
	fputc('\n', r->log);
}

static bool do_one(struct runner *r, const struct step *s, struct outcome *out)
{
	struct result *got = &r->world.board->result;
	const char *wrong;
	int err = 0;

	out->step = *s;
	if (s->op == OP_FILL) {
		fill_board(r->world.board, s);
		memset(got, 0, offsetof(struct result, wc));
		got->bad = NONE;
	} else
		err = world_do(&r->world, s);
	if (err) {
		out->lost = true;
		snprintf(out->reason, REASON, "its process %s", err == -ETIME ? "hangs" : "died");
		return false;
	}
	if (r->spoil)
		r->spoil(s, got);
	log_step(r, s);
	wrong = model_step(r->model, s, got, &out->expect);
	if (wrong)
		snprintf(out->reason, REASON, "%s", wrong);
	out->got = *got;
	return !wrong;
}

/* An overrun may still come, if the request that causes it waits. */
static int count_overruns(const struct model *m, int proc)
{
	int i, n = 0;

	for (i = 0; i < m->num_events[proc]; i++)
		n += m->event[proc][i].type == IBV_EVENT_CQ_ERR;
	return n;
}

static bool wait_at(struct runner *r, int op, int proc, int slot, int num, struct outcome *out)
{
	struct step s = { .op = op, .proc = proc, .slot = slot, .added = true };

	s.arg.poll.num = num;
	return do_one(r, &s, out);
}

/* Queue pairs that changed by themselves in this step have done so. */
static bool settle_world(struct runner *r, struct outcome *out)
{
	struct model *m = r->model;
	bool ran[QPS], come[PROCS][CQS], any = false;
	int p, i;

	for (i = 0; i < QPS; i++)
		any |= ran[i] = m->qp[i].live && m->qp[i].ran;
	for (p = 0; p < PROCS; p++)
		for (i = 0; i < CQS; i++)
			come[p][i] = m->cq[p][i].arrived && m->cq[p][i].live;
	if (!any || m->overrun)
		return true;
	usleep(m->lags * LAG);
	for (i = 0; i < QPS; i++)
		if (ran[i] && !wait_at(r, OP_NUDGE, m->qp[i].proc, 0, 0, out))
			return false;
	for (p = 0; p < PROCS; p++)
		for (i = 0; i < CQS; i++)
			if (come[p][i] && !wait_at(r, OP_DRAIN, p, i, m->cq[p][i].num, out))
				return false;
	for (i = 0; i < QPS; i++)
		if (ran[i] && !wait_at(r, OP_QUERY_QP, m->qp[i].proc, i, 0, out))
			return false;
	return true;
}

static bool do_step(struct runner *r, const struct step *planned, struct outcome *out)
{
	struct step s = *planned;

	if (s.op == OP_ASYNC_EVENTS && r->model->overrun)
		s.arg.poll.num = count_overruns(r->model, s.proc);
	if (!do_one(r, &s, out) || !settle_world(r, out))
		return false;
	if (!r->model->overrun)
		compare_memory(r, out->reason);
	return !out->reason[0];
}

/* Do @q again. True if nothing differs. */
static bool repeat_sequence(struct runner *r, const struct sequence *q, struct outcome *out)
{
	unsigned int i;

	memset(out, 0, offsetof(struct outcome, got));
	reset_runner(r, q->seed);
	for (i = 0; i < q->num; i++)
		if (model_applies(r->model, &q->step[i]) && !do_step(r, &q->step[i], out))
			return false;
	return true;
}

/* Do the steps that the dice of @seed give, and store them in @q. */
static bool invent_sequence(struct runner *r, uint64_t seed, struct sequence *q,
			    struct outcome *out)
{
	static struct dice dice;
	struct step *s;

	memset(out, 0, offsetof(struct outcome, got));
	q->seed = seed;
	q->num = 0;
	reset_runner(r, seed);
	dice_begin(&dice, seed);
	while (q->num < STEPS_MAX) {
		s = &q->step[q->num];
		if (!dice_next(&dice, r->model, s))
			return true;
		if (!model_applies(r->model, s))
			continue;
		q->num++;
		if (!do_step(r, s, out))
			return false;
	}
	return true;
}

static void leave_out(struct sequence *q, unsigned int at, unsigned int n)
{
	memmove(&q->step[at], &q->step[at + n], (q->num - at - n) * sizeof(q->step[0]));
	q->num -= n;
}

/* Does it still fail without @n steps at @at? Then they stay out. */
static bool try_shorter(struct runner *r, struct sequence *q, unsigned int at, unsigned int n,
			struct outcome *out)
{
	static struct sequence less;
	static struct outcome now;
	bool agree;

	less = *q;
	leave_out(&less, at, n);
	if (replace_world(r))
		return false;
	agree = repeat_sequence(r, &less, &now);
	if (agree)
		return false;
	*q = less;
	*out = now;
	return true;
}

static void shrink_sequence(struct runner *r, struct sequence *q, struct outcome *out)
{
	unsigned int n, at, tries = 0;

	for (n = q->num / 2; n; n /= 2)
		for (at = 0; at + n < q->num && tries < SHRINK_MAX; tries++)
			if (!try_shorter(r, q, at, n, out))
				at += n;
}

static void report_to(FILE *to, const struct sequence *q, const struct outcome *out)
{
	unsigned int i;

	fprintf(to, "seed %" PRIu64 ", %u steps remain:\n", q->seed, q->num);
	for (i = 0; i < q->num; i++) {
		fprintf(to, "%4u  ", i + 1);
		step_print(to, &q->step[i]);
		fputc('\n', to);
	}
	fprintf(to, "the last one: %s\n  did     ", out->reason);
	step_print(to, &out->step);
	if (!out->lost) {
		fprintf(to, "\n  expected ");
		result_print(to, &out->step, &out->expect);
		fprintf(to, "\n  got      ");
		result_print(to, &out->step, &out->got);
	}
	fprintf(to, "\nMODEL_SEED=%" PRIu64 " runs this sequence alone\n", q->seed);
}

bool runner_sequence(struct runner *r, uint64_t seed, FILE *report)
{
	static struct sequence q;
	static struct outcome out;
	FILE *log = r->log;

	if (invent_sequence(r, seed, &q, &out))
		return true;
	fprintf(report, "seed %" PRIu64 ", step %u of the sequence: %s\n", seed, q.num, out.reason);
	r->log = NULL;
	r->patience = LESS_PATIENCE;
	shrink_sequence(r, &q, &out);
	r->log = log;
	report_to(report, &q, &out);
	r->patience = PATIENCE;
	replace_world(r);
	return false;
}
