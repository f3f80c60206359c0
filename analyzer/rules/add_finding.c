/*
 * Sentences that several rules need
 */
#include "analyzer/model/crash.h"
#include "analyzer/rules/add_finding.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"

void finding_set_use(struct finding *finding, const struct model_use *use)
{
	const char *name = verb_infos[use->verb].name, *gap = strstr(use->path, "[]");

	if (gap)
		finding_text(&finding->where, "%s(): %.*s[%u]%s", name, (int)(gap - use->path),
			     use->path, use->index, gap + 2);
	else
		finding_text(&finding->where, "%s(): %s", name, use->path);
}

/* Set the place of @finding; accepts NULL. Returns @finding. */
static struct finding *set_finding_place(struct finding *finding, const struct moment *moment,
					 const struct life *object, const char *where)
{
	if (!finding)
		return NULL;
	finding_at(finding, moment);
	finding_text(&finding->where, "%s(): %s", verb_infos[moment->verb].name, where);
	if (object)
		finding_text(&finding->object, "%s", object->name);
	return finding;
}

static uint64_t key_of_place(const struct moment *moment)
{
	return findings_key(moment->verb, moment->stack, moment->stack ? 0 : moment->process);
}

struct finding *check_add_finding(struct check *check, enum rule_id rule,
				  const struct moment *moment, const struct life *object,
				  const char *where)
{
	return set_finding_place(findings_add(check->findings, rule, key_of_place(moment)), moment,
				 object, where);
}

struct finding *check_add_hazard(struct check *check, enum rule_id rule,
				 const struct moment *moment, const struct life *object,
				 const char *where)
{
	return set_finding_place(findings_add_hazard(check->findings, rule, key_of_place(moment)),
				 moment, object, where);
}

struct finding *check_add_destroy(struct check *check, enum rule_id rule,
				  const struct model_destroy *destroy)
{
	const struct moment *moment = &destroy->moment;
	uint64_t key = findings_key(moment->verb, moment->stack, 0);

	return set_finding_place(findings_add(check->findings, rule, key), moment, destroy->object,
				 object_names[destroy->object->kind]);
}

struct finding *check_add_destroy_hazard(struct check *check, enum rule_id rule,
					 const struct model_destroy *destroy)
{
	return check_add_hazard(check, rule, &destroy->moment, destroy->object,
				object_names[destroy->object->kind]);
}

static struct finding *set_life_place(struct finding *finding, const struct life *life,
				      const char *where)
{
	if (!finding)
		return NULL;
	finding_at(finding, &life->created);
	finding_text(&finding->where, "%s", where);
	finding_text(&finding->object, "%s", life->name);
	finding_step(finding, "created", &life->created);
	return finding;
}

struct finding *check_add_life(struct check *check, enum rule_id rule, const struct life *life,
			       const char *where, uint64_t part)
{
	uint64_t key = findings_key(life->kind, life->created.stack, part);

	return set_life_place(findings_add(check->findings, rule, key), life, where);
}

struct finding *check_add_life_hazard(struct check *check, enum rule_id rule,
				      const struct life *life, const char *where)
{
	uint64_t key = findings_key(life->kind, life->created.stack, 0);

	return set_life_place(findings_add_hazard(check->findings, rule, key), life, where);
}

void finding_set_last_post(struct finding *finding, const struct queue *queue, uint32_t process)
{
	const struct queue_stats *stats = &queue->stats;
	struct moment last = { .id = { stats->last_thread, stats->last_number },
			       .verb = stats->last_verb,
			       .process = process,
			       .stack = stats->last_stack,
			       .time = stats->last_time };

	finding_step(finding, "posted last", &last);
}

struct moment use_moment(const struct model_use *use)
{
	struct moment moment = moment_of(use->event);

	moment.verb = use->verb;
	moment.time = use->event->time;
	return moment;
}

const char *use_effect_text(const struct model_use *use)
{
	if (!use->destroys || use->event->kind != TRACE_CALL)
		return "used";
	return use->event->call->failed ? "destroy failed" : "destroyed";
}

static const char *call_outcome(const struct call *call, char *text, size_t size)
{
	const struct verb_info *info = &verb_infos[call->verb];

	if (call->end < 0)
		return "; the call never returned";
	if (!info->returns)
		return "";
	if (!call->failed)
		return "; the call succeeded";
	if (info->fail == FAIL_NULL)
		snprintf(text, size, "; the call failed with errno %d (%s)", call->error,
			 strerror(call->error));
	else
		snprintf(text, size, "; the call returned %" PRId64 " (%s)", call->ret,
			 strerror((int)(call->ret < 0 ? call->error : call->ret)));
	return text;
}

const char *use_result_text(const struct model_use *use, char *text, size_t size)
{
	int ret = 0;

	if (use->event->kind == TRACE_CALL)
		return call_outcome(use->event->call, text, size);
	if (use->event->kind == TRACE_POST)
		ret = use->event->post->ret;
	if (use->event->kind == TRACE_NOTIFY)
		ret = use->event->notify->ret;
	if (use->event->kind == TRACE_POLL && use->event->poll->ret < 0)
		return "; the call failed";
	if (!ret)
		return "; the call succeeded";
	snprintf(text, size, "; the call returned %d (%s)", ret, strerror(ret < 0 ? -ret : ret));
	return text;
}

const char *object_name_text(const struct life *object, char *text, size_t size)
{
	const char *what = NULL;

	if (object->kind == OBJECT_qp || object->kind == OBJECT_wq)
		what = "number";
	else if (object->kind == OBJECT_mr)
		what = "lkey";
	else if (object->kind == OBJECT_mw)
		what = "rkey";
	if (what && object->number)
		snprintf(text, size, "%s (%s 0x%x)", object->name, what, object->number);
	else
		snprintf(text, size, "%s", object->name);
	return text;
}

/* ns: another thread acknowledges within this time, if it can run */
enum { IN_VAIN_NS = 100000000 };

/*
 * The thread that retrieved the last event is not the one that waits, and has done nothing since:
 * it is about to acknowledge, but the machine may be too busy to let it run.
 */
static bool may_acknowledge(const struct check *check, const struct model_destroy *destroy)
{
	const struct event_id *got = &destroy->object->got.id;
	const struct thread *thread = trace_thread(check->trace, got->thread);

	/* the last one is the return of that call */
	return thread && !crash_has_thread_ended(check->model, thread->id) &&
	       thread->id != destroy->moment.id.thread && thread->events <= got->n + 1;
}

/*
 * An acknowledgement may have been in progress when the process ended abruptly, or when the trace
 * is a copy of one that was still recorded. A wait of length 0, as in an imported trace, means that
 * its end was not seen.
 */
bool check_ack_wait(struct check *check, enum rule_id rule, const struct model_destroy *destroy)
{
	int64_t waited = destroy->end - destroy->moment.time;
	char when[32], id[32];

	if (destroy->ended ? !waited || (waited >= IN_VAIN_NS && !may_acknowledge(check, destroy))
			   : !trace_meta(check->trace, "snapshot"))
		return true;
	findings_note_unchecked(
		check->findings, rule, true,
		"%s(), %s, had not returned %s later, when the %s ended",
		verb_infos[destroy->moment.verb].name, event_id_text(destroy->moment.id, id),
		words_format_span(waited, when), destroy->ended ? "process" : "trace");
	return false;
}
