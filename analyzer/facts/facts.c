/*
 * Failures in a trace that are not findings of rules
 *
 * 	control verb	ends.c (under way), failed_verbs.c (its result)
 * 	post, notify	failed_verbs.c, if it failed
 * 	poll		first_errors.c (completions in error), failed_verbs.c, if it failed
 * 	end of process	ends.c
 */
#include "analyzer/facts/facts.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/facts/ends.h"
#include "analyzer/facts/failed_verbs.h"
#include "analyzer/model/abi.h"
#include "analyzer/model/last_verb.h"
#include "core/wire/log.h"

struct facts_work {
	struct failed_verbs *failed;
	struct ends *ends;
	struct first_errors *first;
	struct causes *causes;
};

int facts_new(struct trace *trace, struct facts **ret_facts)
{
	struct facts *facts = calloc(1, sizeof(*facts));
	int err = 0;

	if (!facts || !(facts->work = calloc(1, sizeof(*facts->work))))
		err = log_err(-ENOMEM, "facts");
	if (!err)
		err = failed_verbs_new(trace, &facts->list, &facts->work->failed);
	if (!err)
		err = ends_new(trace, &facts->list, &facts->work->ends);
	if (!err)
		err = first_errors_new(trace, &facts->errors, &facts->work->first);
	if (!err)
		err = causes_new(trace, &facts->errors, &facts->work->causes);
	if (err) {
		facts_free(facts);
		return err;
	}
	*ret_facts = facts;
	return 0;
}

void facts_free(struct facts *facts)
{
	if (!facts)
		return;
	if (facts->work) {
		failed_verbs_free(facts->work->failed);
		ends_free(facts->work->ends);
		first_errors_free(facts->work->first);
		causes_free(facts->work->causes);
	}
	free(facts->work);
	facts_clear(&facts->list);
	free(facts->errors.all);
	free(facts);
}

/* The application's own call, not the recorder's or one inside another verb. */
static bool is_own(const struct trace_event *event)
{
	return !event->inner && !event->call->ours && !event->call->depth;
}

static void note_call(struct facts *facts, struct model *model, const struct trace_event *event)
{
	if (!is_own(event))
		return;
	facts->sums.verbs += !event->carried;
	facts->sums.unfinished += !event->carried;
	ends_note_destroy(facts->work->ends, model, event);
	ends_note_call(facts->work->ends, model, event);
}

static void note_return(struct facts *facts, struct model *model, const struct trace_event *event)
{
	if (event->call->verb == VERB_modify_qp && !event->call->ours && !event->call->failed)
		causes_note_modify(facts->work->causes, event);
	if (!is_own(event))
		return;
	ends_note_return(facts->work->ends, model, event);
	facts->sums.unfinished -= !event->carried;
	facts->sums.failed += !event->carried && event->call->failed;
	if (event->call->verb == VERB_get_async_event && !event->call->failed)
		causes_note_event(facts->work->causes, event);
	if (!event->carried)
		failed_verbs_note_return(facts->work->failed, model, event);
}

/* Count completions. Is one of them in error? */
static bool sum_completions(struct fact_sums *sums, const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	uint64_t failed = 0, flushed = 0;

	for (uint32_t i = 0; i < poll->nwc; i++) {
		failed += poll->wc[i].status != ABI_WC_SUCCESS;
		flushed += poll->wc[i].status == ABI_WC_WR_FLUSH_ERR;
	}
	if (!event->carried) {
		sums->completions += poll->nwc;
		sums->in_error += failed;
		sums->flushed += flushed;
	}
	return failed;
}

static int note_poll(struct facts *facts, struct model *model, const struct trace_event *event)
{
	int err;

	ends_note_poll(facts->work->ends, model, event);
	if (!sum_completions(&facts->sums, event))
		return 0;
	err = first_errors_note_poll(facts->work->first, event);
	causes_bind_errors(facts->work->causes);
	return err;
}

static int note_data(struct facts *facts, struct model *model, const struct trace_event *event)
{
	bool failed = event->kind == TRACE_POST   ? event->post->ret != 0
		      : event->kind == TRACE_POLL ? event->poll->ret < 0
						  : event->notify->ret != 0;

	if (event->inner)
		return 0;
	facts->sums.verbs += !event->carried;
	facts->sums.failed += failed && !event->carried;
	if (failed)
		failed_verbs_note_data(facts->work->failed, model, event);
	if (event->kind == TRACE_POST) {
		causes_note_post(facts->work->causes, event);
		ends_note_post(facts->work->ends, model, event);
	}
	return event->kind == TRACE_POLL ? note_poll(facts, model, event) : 0;
}

void facts_complete(struct facts *facts, struct model *model, const struct model_complete *complete)
{
	causes_note_error(facts->work->causes, model, complete);
}

const struct cause *facts_cause(const struct facts *facts, const struct first_error *error)
{
	return causes_of(facts->work->causes, (size_t)(error - facts->errors.all));
}

int facts_note_event(struct facts *facts, struct model *model, const struct trace_event *event)
{
	switch (event->kind) {
	case TRACE_CALL:
		note_call(facts, model, event);
		return 0;
	case TRACE_RETURN:
		note_return(facts, model, event);
		return 0;
	case TRACE_POST:
	case TRACE_POLL:
	case TRACE_NOTIFY:
		return note_data(facts, model, event);
	case TRACE_FORK:
		ends_note_fork(facts->work->ends, event);
		return 0;
	default:
		return 0;
	}
}

/*
 * A key that only a completion has shown does not prove which queue pair the completion belongs to.
 */
void facts_note_invalid_sge(struct facts *facts, const struct model_key *key)
{
	if (key->sge >= 0 && !key->status)
		first_errors_note_invalid_sge(facts->work->first, key->at.id, key->index);
}

void facts_note_exit(struct facts *facts, struct model *model, const struct model_exit *end)
{
	struct event_id last = last_verb_process(model, end->process).at.id;
	bool failed = false;

	for (size_t i = 0; i < facts->errors.n && !failed; i++)
		failed = facts->errors.all[i].process == end->process;
	ends_note_exit(facts->work->ends, model, end, failed,
		       failed_verbs_last_expected(facts->work->failed, end->process, last),
		       failed_verbs_last_null(facts->work->failed, end->process));
}

int facts_finish(struct facts *facts, const struct model *model)
{
	int err = facts->list.err ? log_err(facts->list.err, "facts")
				  : first_errors_finish(facts->work->first);

	causes_finish(facts->work->causes, model);
	ends_finish(facts->work->ends, model);
	return err;
}

const struct stalls *facts_stalls(const struct facts *facts)
{
	return ends_get_stalls(facts->work->ends);
}

const struct delays *facts_delays(const struct facts *facts)
{
	return ends_get_delays(facts->work->ends);
}

uint64_t facts_count(const struct facts *facts, enum fact_kind kind)
{
	return kind == FACT_ERROR ? facts->errors.n : facts->list.count[kind];
}

static bool is_bad(const struct facts *facts, enum fact_kind kind)
{
	return fact_infos[kind].bad && !facts->off[kind];
}

bool facts_are_bad(const struct facts *facts)
{
	uint64_t known[FACT_COUNT] = { 0 };

	for (size_t i = 0; i < facts->list.n; i++)
		if (facts->list.all[i].known)
			known[facts->list.all[i].kind] += facts->list.all[i].count;
	for (size_t i = 0; i < facts->errors.n; i++)
		known[FACT_ERROR] += facts->errors.all[i].known != FINDING_NEW;
	for (int kind = 0; kind < FACT_COUNT; kind++)
		if (is_bad(facts, (enum fact_kind)kind) &&
		    facts_count(facts, (enum fact_kind)kind) > known[kind])
			return true;
	return false;
}
