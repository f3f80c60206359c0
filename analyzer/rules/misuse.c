/*
 * COMPL-001, THREAD-001, and findings of COMPL-005, COMPL-006, LIFE-007 and THREAD-002: misuse that
 * the recorder sees, most of it by `record --strict`
 *
 * The recorder has found the misuse; this file words it.
 */
#include <stdio.h>

#include "analyzer/model/misuse.h"
#include "analyzer/rules/add_finding.h"

bool check_is_strict(const struct check *check)
{
	const char *strict = trace_meta(check->trace, "strict");

	return strict && *strict;
}

static void put_call(const struct writer_note_misuse *seen, char text[64])
{
	if (seen->field)
		snprintf(text, 64, "ibv_wc_read_%s()", seen->field);
	else
		snprintf(text, 64, "%s()",
			 seen->verb < VERB_COUNT ? verb_infos[seen->verb].name : "a verb");
}

static struct finding *begin_finding(struct check *check, enum rule_id rule,
				     const struct model_misuse *misuse, bool hazard)
{
	const struct writer_note_misuse *seen = misuse->event->misuse;
	uint64_t key = findings_key(misuse->at.stack, seen->what,
				    seen->field ? (uintptr_t)seen->field : seen->verb);
	struct finding *finding = hazard ? findings_add_hazard(check->findings, rule, key)
					 : findings_add(check->findings, rule, key);
	char call[64];

	if (!finding)
		return NULL;
	put_call(seen, call);
	finding->event = misuse->at.id;
	finding->time = misuse->at.time;
	finding->process = misuse->at.process;
	finding->thread = misuse->at.id.thread;
	finding_text(&finding->where, "%s: %s", call, object_names[misuse->object->kind]);
	finding_text(&finding->object, "%s", misuse->object->name);
	return finding;
}

static struct finding *begin_misuse(struct check *check, enum rule_id rule,
				    const struct model_misuse *misuse)
{
	return begin_finding(check, rule, misuse, false);
}

static void end_misuse(struct finding *finding, const struct model_misuse *misuse)
{
	finding_step(finding, "created", &misuse->object->created);
	finding_step(finding, "used", &misuse->at);
}

/* COMPL-001 */
void compl_001(struct check *check, const struct model_misuse *misuse)
{
	const struct writer_note_misuse *seen = misuse->event->misuse;
	const char *status = enum_name(enum_find("ibv_wc_status"), seen->status);
	struct finding *finding;

	if (seen->what != MISUSE_ERROR_FIELD && seen->what != MISUSE_UNASKED_FIELD)
		return;
	finding = begin_misuse(check, RULE_COMPL_001, misuse);
	if (!finding)
		return;
	if (seen->what == MISUSE_ERROR_FIELD)
		finding_text(&finding->says,
			     "ibv_wc_read_%s() was called for a completion of %s with %s; only "
			     "its wr_id, status, vendor_err and qp_num are valid.",
			     seen->field, misuse->object->name, status ? status : "an error");
	else
		finding_text(&finding->says,
			     "ibv_wc_read_%s() was called for a completion of %s, which was "
			     "created with wc_flags that do not include this field.",
			     seen->field, misuse->object->name);
	end_misuse(finding, misuse);
}

static const char *const end_each_batch =
	"When ibv_start_poll() has returned 0, call ibv_end_poll() on every way out of the loop, "
	"also after a break or a return.";

/* COMPL-005 */
void compl_005_strict(struct check *check, const struct model_misuse *misuse)
{
	const struct writer_note_misuse *seen = misuse->event->misuse;
	const char *name = misuse->object->name;
	struct finding *finding;
	char call[64];

	if (seen->what < MISUSE_READ_OUTSIDE || seen->what > MISUSE_END_OUTSIDE)
		return;
	finding = begin_misuse(check, RULE_COMPL_005, misuse);
	if (!finding)
		return;
	put_call(seen, call);
	if (seen->what == MISUSE_START_INSIDE) {
		finding->todo = end_each_batch;
		finding_text(
			&finding->says,
			"%s started a batch of completions of %s while this thread had an open "
			"one, not ended by ibv_end_poll().",
			call, name);
	} else {
		finding_text(&finding->says,
			     "%s was called without an open batch of completions of %s: "
			     "ibv_start_poll() had not returned 0, or ibv_end_poll() had ended the "
			     "batch.",
			     call, name);
	}
	end_misuse(finding, misuse);
}

/* COMPL-006: the value may also have been set for the next request, which would be unusual. */
void compl_006_late(struct check *check, const struct model_misuse *misuse)
{
	struct finding *finding;

	if (misuse->event->misuse->what != MISUSE_LATE_WR_ID)
		return;
	finding = begin_finding(check, RULE_COMPL_006, misuse, true);
	if (!finding)
		return;
	finding->todo = "Set wr_id and wr_flags of struct ibv_qp_ex before ibv_wr_send() or the "
			"like, which takes them (ibv_wr_post(3)).";
	finding_text(&finding->says,
		     "When ibv_wr_complete() was called on %s, wr_id had been changed since its "
		     "last request was built, as in an earlier batch: that request has the wr_id "
		     "from before, since ibv_wr_send() and the like take the value.",
		     misuse->object->name);
	finding_text(&finding->breaks,
		     "the value was meant for that request, and not for the next one: its "
		     "completion has another wr_id");
	end_misuse(finding, misuse);
}

static const char *put_thread(uint32_t thread, char text[32])
{
	snprintf(text, 32, thread ? "thread %u" : "another thread", thread_number(thread));
	return text;
}

/* THREAD-001 */
void thread_001(struct check *check, const struct model_misuse *misuse)
{
	const struct writer_note_misuse *seen = misuse->event->misuse;
	const struct life *object = misuse->object;
	struct finding *finding;
	char call[64], other[32];

	if (seen->what != MISUSE_OVERLAP && seen->what != MISUSE_BATCH_SHARED)
		return;
	finding = begin_misuse(check, RULE_THREAD_001, misuse);
	if (!finding)
		return;
	put_call(seen, call);
	put_thread(seen->other, other);
	if (seen->what == MISUSE_OVERLAP)
		finding_text(&finding->says,
			     "Thread %u called %s on %s while %s was using it; %s was created %s, "
			     "so it is not locked.",
			     thread_number(misuse->at.id.thread), call, object->name, other,
			     object->name,
			     object->kind == OBJECT_cq
				     ? "with a thread domain or as single-threaded"
				     : "with a thread domain");
	else
		finding_text(&finding->says,
			     "Between ibv_wr_start() of thread %u on %s and its %s %s ended the "
			     "batch.",
			     thread_number(misuse->at.id.thread), object->name, call, other);
	end_misuse(finding, misuse);
}

/* LIFE-007 */
void life_007_strict(struct check *check, const struct model_destroy *destroy)
{
	const struct life *object = destroy->object;
	const struct misuse *note = object->misuse;
	struct finding *finding;

	if (!note || !note->inside.id.thread || (destroy->returned && destroy->failed))
		return;
	finding = check_add_destroy(check, RULE_LIFE_007, destroy);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s was destroyed inside a batch of completions of %s, its CQ: the thread had "
		     "begun it with ibv_start_poll(), and not ended it with ibv_end_poll()%s.",
		     object->name, note->cq,
		     destroy->returned ? "" : "; the destroy never returned");
	finding_step(finding, "created", &object->created);
	finding_step(finding, "destroyed", &destroy->moment);
}

/* THREAD-002, for a call that was in progress when the destroy began. */
void thread_002_strict(struct check *check, const struct model_destroy *destroy)
{
	const struct life *object = destroy->object;
	const struct misuse *note = object->misuse;
	struct finding *finding;
	char name[64], other[32];

	if (!note || !note->crowded.at.id.thread || object->met.id.thread ||
	    (destroy->returned && destroy->failed))
		return;
	finding = check_add_destroy(check, RULE_THREAD_002, destroy);
	if (!finding)
		return;
	object_name_text(object, name, sizeof(name));
	finding_text(
		&finding->says, "When thread %u called %s() on %s, %s was in %s() on it.",
		thread_number(destroy->moment.id.thread), verb_infos[destroy->moment.verb].name,
		name, put_thread(note->crowded.other, other),
		note->crowded.other_verb < VERB_COUNT ? verb_infos[note->crowded.other_verb].name
						      : "a verb");
	finding_step(finding, "created", &object->created);
	finding_step(finding, "destroyed", &destroy->moment);
}
