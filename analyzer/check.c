/*
 * All rules over the events of a trace
 *
 * 	events --> model --> uses, destroys, leaks --> rules --> findings
 * 	       --> facts ----------------------------------------->
 *
 * Which functions of rules are called is determined once, at the start.
 */
#include "analyzer/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/last_verb.h"
#include "analyzer/model/queue.h"
#include "analyzer/rules/dedup.h"
#include "analyzer/rules/evidence.h"
#include "analyzer/rules/add_finding.h"
#include "analyzer/rules/rule_hook.h"
#include "core/store/read/reader.h"
#include "core/wire/log.h"

enum { FUNCTIONS = 64 }; /* maximum per hook; enforced by choose_functions() */

struct checker {
	struct check check;
	struct dedup *alike;
	/* the functions of the enabled rules; NULL ends the list */
#define FUNCTION_LIST(hook, fact) hook##_fn *hook[FUNCTIONS + 1];
	EACH_HOOK(FUNCTION_LIST)
#undef FUNCTION_LIST
};

/* tell_use(), tell_destroy()...: call all functions of a hook. */
#define DEFINE_TELL(hook, fact)                                            \
	static void tell_##hook(struct checker *checker, const fact *what) \
	{                                                                  \
		for (hook##_fn **fn = checker->hook; *fn; fn++)            \
			(*fn)(&checker->check, what);                      \
	}
EACH_HOOK(DEFINE_TELL)
#undef DEFINE_TELL

static void on_use(void *arg, const struct model_use *use)
{
	tell_use(arg, use);
}

static void on_destroy(void *arg, const struct model_destroy *destroy)
{
	tell_destroy(arg, destroy);
}

static void on_leak(void *arg, const struct model_leak *leak)
{
	tell_leak(arg, leak);
}

static void on_key(void *arg, const struct model_key *key)
{
	struct checker *checker = arg;

	facts_note_invalid_sge(checker->check.findings->facts, key);
	tell_key(checker, key);
}

static void on_end(void *arg, const struct model_exit *end)
{
	struct checker *checker = arg;

	facts_note_exit(checker->check.findings->facts, checker->check.model, end);
	tell_end(checker, end);
}

static void on_post(void *arg, const struct model_post *post)
{
	tell_post(arg, post);
}

/*
 * No rule hooks a completion with success soon after its post (COMPLETE_SOON). A receive may wait
 * for its message for any time.
 */
static bool is_plain(const struct model_complete *complete)
{
	return !complete->event->poll->wc[complete->index].status && complete->request &&
	       complete->queue->completed &&
	       (complete->event->time - complete->request->time < COMPLETE_SOON ||
		(!complete->queue->send && complete->qp && complete->qp->state == LIFE_LIVE));
}

static __attribute__((noinline)) void check_complete(struct checker *checker,
						     const struct model_complete *complete)
{
	const struct wc *wc = &complete->event->poll->wc[complete->index];

	if (wc->status != FIRST_SUCCESS && wc->status != FIRST_FLUSH)
		facts_complete(checker->check.findings->facts, checker->check.model, complete);
	tell_complete(checker, complete);
}

static void on_complete(void *arg, const struct model_complete *complete)
{
	if (!is_plain(complete))
		check_complete(arg, complete);
}

static void on_modify(void *arg, const struct model_modify *modify)
{
	tell_modify(arg, modify);
}

static void on_invalid_post(void *arg, const struct model_invalid_post *invalid_post)
{
	tell_invalid_post(arg, invalid_post);
}

static void on_retire(void *arg, const struct life *object)
{
	tell_retire(arg, object);
}

static void on_remain(void *arg, const struct life *object)
{
	tell_remain(arg, object);
}

static void on_batch(void *arg, const struct model_batch *batch)
{
	tell_batch(arg, batch);
}

static void on_misuse(void *arg, const struct model_misuse *misuse)
{
	tell_misuse(arg, misuse);
}

static void on_wait(void *arg, const struct model_wait *wait)
{
	tell_wait(arg, wait);
}

static void on_queue_problem(void *arg, const struct model_queue_problem *queue_problem)
{
	tell_queue_problem(arg, queue_problem);
}

static void on_astray(void *arg, const struct model_astray *astray)
{
	tell_astray(arg, astray);
}

static void on_unreached(void *arg, const struct model_unreached *unreached)
{
	tell_unreached(arg, unreached);
}

static void on_inside(void *arg, const struct model_inside *inside)
{
	tell_inside(arg, inside);
}

static void on_crash(void *arg, const struct model_crash *crash)
{
	tell_crash(arg, crash);
}

static void on_device(void *arg, const struct model_device *device)
{
	tell_device(arg, device);
}

static void on_foreign(void *arg, const struct model_foreign *foreign)
{
	tell_foreign(arg, foreign);
}

static bool is_on(const struct checker *checker, enum rule_id rule)
{
	return findings_may_hint(checker->check.findings, rule);
}

static void choose_functions(struct checker *checker)
{
	size_t n[HOOK_COUNT] = { 0 };

	for (size_t i = 0; i < rule_nhooks; i++) {
		const struct rule_hook *row = &rule_hooks[i];

		if (!is_on(checker, row->rule) || n[row->hook] == FUNCTIONS)
			continue;
		switch (row->hook) {
#define CHOOSE(hook, fact)                                                    \
	case HOOK_##hook:                                                     \
		checker->hook[n[HOOK_##hook]++] = (hook##_fn *)row->function; \
		break;
			EACH_HOOK(CHOOSE)
#undef CHOOSE
		case HOOK_COUNT:
			break;
		}
	}
}

void check_close(struct checker *checker)
{
	if (!checker)
		return;
	model_free(checker->check.model);
	dedup_free(checker->alike);
	findings_free(checker->check.findings);
	free(checker);
}

static int prepare_checker(struct checker *checker, const struct check_options *options)
{
	struct model_watcher watcher = {
		.use = on_use,
		.destroy = on_destroy,
		.leak = on_leak,
		.key = on_key,
		.end = on_end,
		.modify = on_modify,
		.invalid_post = on_invalid_post,
		.queue_problem = on_queue_problem,
		.astray = on_astray,
		.wait = on_wait,
		.batch = on_batch,
		.misuse = on_misuse,
		.retire = on_retire,
		.remain = on_remain,
		.unreached = on_unreached,
		.inside = on_inside,
		.crash = on_crash,
		.device = on_device,
		.foreign = on_foreign,
		.arg = checker,
	};
	struct check *check = &checker->check;
	int err;

	check->findings = calloc(1, sizeof(*check->findings));
	if (!check->findings)
		return log_err(-ENOMEM, "findings");
	for (int i = 0; options && i < RULE_COUNT; i++)
		check->findings->off[i] = options->mute[i];
	if (options) {
		check->findings->no_hazards = options->no_hazards;
		check->findings->fail_on = options->fail_on;
	}
	err = trace_is_live(check->trace) ? 0 : evidence_note_gaps(check->trace, check->findings);
	choose_functions(checker);
	if (checker->post[0])
		watcher.post = on_post;
	watcher.complete = on_complete;
	if (!err)
		err = model_new(check->trace, &watcher, &check->model);
	if (!err && check->findings->bypassed)
		model_set_bypassed(check->model);
	if (!err)
		err = facts_new(check->trace, &check->findings->facts);
	if (!err)
		err = dedup_new(check->trace, check->findings, &checker->alike);
	for (int i = 0; !err && options && i < FACT_COUNT; i++)
		check->findings->facts->off[i] = options->mute_fact[i];
	return err;
}

int check_open(struct trace *trace, const struct check_options *options,
	       struct checker **ret_checker)
{
	struct checker *checker = calloc(1, sizeof(*checker));
	int err;

	if (!checker)
		return log_err(-ENOMEM, "check");
	checker->check.trace = trace;
	err = prepare_checker(checker, options);
	if (err < 0) {
		check_close(checker);
		return err;
	}
	*ret_checker = checker;
	return 0;
}

static __attribute__((noinline)) int end_process(struct checker *checker, uint32_t process,
						 int64_t time)
{
	enum model_end how = MODEL_UNKNOWN;

	if (model_has_objects(checker->check.model, process))
		how = evidence_end(checker->check.trace, process, checker->check.findings);
	return model_end(checker->check.model, process, time, how);
}

static bool is_data(const struct trace_event *event)
{
	return event->kind == TRACE_POST || event->kind == TRACE_POLL ||
	       event->kind == TRACE_NOTIFY;
}

/*
 * The rules get an event after the model, which then knows the objects that the event created.
 * Data-plane events have functions of their own.
 */
static __attribute__((noinline)) void pass_event(struct checker *checker,
						 const struct trace_event *event)
{
	bool own = event->kind != TRACE_CALL && event->kind != TRACE_RETURN;

	if (!own && (event->call->ours || event->call->depth))
		return;
	if (event->kind == TRACE_CALL)
		tell_call(checker, event);
	else if (event->kind == TRACE_RETURN)
		tell_returned(checker, event);
	else if (event->kind == TRACE_FORK)
		tell_fork(checker, event);
	else if (event->kind == TRACE_MEMORY)
		tell_memory(checker, event);
}

static int process_event(struct checker *checker, const struct trace_event *event)
{
	struct findings *findings = checker->check.findings;
	int err;

	if (event->kind == TRACE_EXIT)
		return end_process(checker, event->process, event->time);
	err = model_process_event(checker->check.model, event);
	if (!err)
		err = facts_note_event(findings->facts, checker->check.model, event);
	if (!err)
		err = last_verb_note(checker->check.model, event);
	if (!err && !event->inner && !is_data(event))
		pass_event(checker, event);
	return err;
}

int check_event(struct checker *checker, const struct trace_event *event)
{
	struct findings *findings = checker->check.findings;
	size_t found = findings->n;
	int err;

	findings->events++;
	findings->seen |= 1u << event->kind;
	findings->last = event->time;
	findings->carried = event->carried;
	err = process_event(checker, event);
	if (findings->n > found)
		dedup_merge(checker->alike);
	return err;
}

int check_gaps(struct checker *checker)
{
	struct findings *findings = checker->check.findings, now = { 0 };
	int err = evidence_note_gaps(checker->check.trace, &now);
	bool more = (now.blind && !findings->blind) || (now.bypassed && !findings->bypassed);

	if (now.bypassed)
		model_set_bypassed(checker->check.model);
	findings->blind |= now.blind;
	findings->bypassed |= now.bypassed;
	for (int rule = 0; rule < RULE_COUNT; rule++) {
		more |= now.skip[rule] && !findings->skip[rule];
		findings->skip[rule] |= now.skip[rule];
	}
	findings_forget_unchecked(&now);
	return err ? err : more && findings->events;
}

bool check_is_failure(const struct findings *findings, char severity)
{
	static const char order[] = "HWE";
	const char *at = strchr(order, severity);

	return at && *at && at >= strchr(order, findings->fail_on ?: 'W');
}

bool check_is_bad(const struct findings *findings)
{
	for (const char *severity = "EWH"; *severity; severity++)
		if (check_is_failure(findings, *severity) && findings_count(findings, *severity))
			return true;
	return facts_are_bad(findings->facts);
}

const struct findings *check_findings(const struct checker *checker)
{
	return checker->check.findings;
}

int check_finish(struct checker *checker, struct findings **ret_findings)
{
	struct findings *findings = checker->check.findings;
	int err = 0;

	findings->carried = false;
	for (uint32_t id = 1; trace_process(checker->check.trace, id) && !err; id++)
		err = end_process(checker, id, findings->last);
	/* the first errors are known at this point */
	if (!err && trace_is_live(checker->check.trace))
		err = evidence_note_gaps(checker->check.trace, findings);
	if (!err)
		err = facts_finish(findings->facts, checker->check.model);
	if (!err)
		tell_finish(checker, findings);
	dedup_merge(checker->alike);
	findings_sort_unchecked(findings);
	if (!err && findings->err)
		err = log_err(findings->err, "findings");
	if (!err) {
		*ret_findings = findings;
		checker->check.findings = NULL;
	}
	check_close(checker);
	return err;
}

int check_trace(struct trace *trace, const struct check_options *options,
		struct findings **ret_findings)
{
	const struct trace_event *event;
	struct checker *checker = NULL;
	struct reader *reader;
	int err;

	err = reader_open(trace, &reader);
	if (err < 0)
		return err;
	err = check_open(trace, options, &checker);
	if (err < 0) {
		reader_close(reader);
		return err;
	}
	while (!err && (err = reader_next(reader, &event)) == 1)
		err = check_event(checker, event);
	reader_close(reader);
	if (err < 0) {
		check_close(checker);
		return err;
	}
	return check_finish(checker, ret_findings);
}
