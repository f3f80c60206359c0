/*
 * Compiling a trace
 *
 *	source -> order -> schedule -> bytecode
 *
 * A separate thread of the source reads, decodes and matches; this one does the rest.
 */
#include "replay/compile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/wire/log.h"
#include "replay/calls.h"
#include "replay/cm/cm.h"
#include "replay/process/process.h"
#include "replay/schedule/owner.h"
#include "replay/schedule/source.h"
#include "replay/state/state.h"
#include "replay/synth/synth.h"

enum { PLAYERS_MAX = 256, AT_ONCE = 1 << 15 };

#define MEMORY (256ul << 20) /* bytes of bytecode in memory; more go into a file */

struct compile {
	struct replay *r;
	struct source *source;
	/* up to the event that the order has read ahead; up to the event that it returned last */
	struct relations ahead, here;
	struct order *order;
	struct schedule *schedule; /* NULL: one thread plays */
	struct owners *owners;
	struct bytecode *bytecode;
	uint32_t players;
	uint64_t steps;
	bool unheard; /* a recorded request failed because its other end was not ready */
};

/* Does the event do anything in the replay? */
static bool is_replayed(const struct trace_event *event)
{
	switch (event->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		return calls_is_replayed(event);
	case TRACE_POST:
	case TRACE_NOTIFY:
		return !event->inner;
	case TRACE_POLL: /* the completions of its queue are counted */
	case TRACE_FORK:
	case TRACE_EXIT:
		return true;
	default:
		return false;
	}
}

/* Which threads poll a queue; the counts of all polls are missing if a recording was cut off. */
static void note_poller(struct compile *c, const struct trace_event *event)
{
	struct replica *cq = event->kind == TRACE_POLL && !event->inner
				     ? replica_of(c->r, event->poll->object)
				     : NULL;

	if (!cq)
		return;
	cq->polled_by_others |= cq->polled_by && cq->polled_by != event->id.thread;
	cq->polled_by = event->id.thread;
}

static void note_retry_errors(struct compile *c, const struct trace_event *event)
{
	if (event->kind != TRACE_POLL)
		return;
	for (uint32_t i = 0; i < event->poll->nwc; i++) {
		int status = event->poll->wc[i].status;

		c->unheard |= status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_RNR_RETRY_EXC_ERR;
	}
}

/*
 * A replay may be slower than the recorded program, and on a busy machine its processes wait long
 * for a processor: a request that was only late when recorded must not fail in the replay. One that
 * must fail still fails before the wait for its completion times out.
 */
static int set_soft_lag(const struct compile *c)
{
	char ms[24];

	if (c->unheard)
		return 0;
	snprintf(ms, sizeof(ms), "%" PRId64, c->r->options->timeout / 2000000);
	return processes_setenv("VERBATIM_SOFT_LAG", ms);
}

static int put_step(struct compile *c, const struct ordered_event *event)
{
	struct step step;

	if (c->schedule) {
		schedule_step(c->schedule, event, &step);
	} else { /* without clearing step.waits, which takes longer than all of this */
		step.event = *event;
		step.seq = ++c->steps;
		step.player = 1;
		step.nwaits = 0;
	}
	owners_note(c->owners, event->event, step.player);
	return bytecode_put_step(c->bytecode, &step);
}

static int compile_events(struct compile *c)
{
	struct ordered_event event;
	int err;

	while ((err = order_next(c->order, &event)) > 0) {
		if (outcome_stopped(c->r->outcome))
			return -ECANCELED;
		outcome_count(c->r->outcome, OUTCOME_COMPILED, 1);
		note_retry_errors(c, event.event);
		note_poller(c, event.event);
		err = c->schedule ? relations_note(&c->here, event.event) : 0;
		if (!err && is_replayed(event.event))
			err = put_step(c, &event);
		order_release(c->order, &event);
		if (err < 0)
			return err;
	}
	bytecode_end(c->bytecode);
	for (uint32_t i = 1; i < c->r->nreplicas; i++)
		c->r->replicas[i].owner = owner_of(c->owners, &c->here, i);
	return err;
}

static uint32_t count_players(const struct replay *r, bool serial)
{
	uint32_t players = 1;

	while (!serial && players < PLAYERS_MAX && trace_thread(r->trace, players + 1))
		players++;
	return players;
}

/*
 * Can all events be attributed to the objects that they use? Objects that the threads created one
 * after the other may exist at once in the replay, so they must not be too many for a device.
 */
static bool is_alone(const struct replay *r)
{
	return !r->far && !r->pair && !r->cm && !r->options->processes && r->nreplicas <= AT_ONCE;
}

static int begin_compile(struct compile *c, bool serial)
{
	struct replay *r = c->r;
	bool whole = !r->contents && !r->lossy && !r->gaps && r->cut == INT64_MIN;
	const struct schedule_options how = {
		.contents = r->contents,
		.counts = whole,
		.groups = whole && is_alone(r),
		.comes_after_all = synth_needs_all_before,
		.arg = r,
	};
	struct order_source source;
	int err = source_open(r->trace, &c->source);

	if (err)
		return err;
	source = source_of(c->source);
	source.heard = cm_early_listeners(r);
	c->players = count_players(r, serial);
	if (relations_init(&c->ahead, r->trace, r->connections, r->nreplicas) ||
	    relations_init(&c->here, r->trace, r->connections, r->nreplicas) ||
	    order_new(&source, &c->ahead, &c->order) || owners_new(r->nreplicas, &c->owners) ||
	    bytecode_new(c->players, MEMORY, &c->bytecode))
		return log_err(-ENOMEM, "prepare the replay");
	if (!serial && schedule_new(&c->here, r->nreplicas, c->players, how, &c->schedule))
		return log_err(-ENOMEM, "prepare the replay");
	return 0;
}

int compile_trace(struct replay *r, bool serial, struct bytecode **ret_bytecode,
		  uint32_t *ret_players)
{
	struct compile c = { .r = r };
	int err = begin_compile(&c, serial) ?: compile_events(&c) ?: set_soft_lag(&c);

	owners_free(c.owners);
	schedule_free(c.schedule);
	order_free(c.order);
	relations_fini(&c.ahead);
	relations_fini(&c.here);
	source_close(c.source);
	if (err < 0) {
		bytecode_free(c.bytecode);
		return err;
	}
	*ret_bytecode = c.bytecode;
	*ret_players = c.players;
	return 0;
}
