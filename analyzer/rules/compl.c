/*
 * COMPL: completions and events
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/model/queue.h"
#include "analyzer/model/cq_event.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"

enum { OWED = 96, MODERATE_US = 1000 };

static const char *list_unacked(const struct life *object, char text[OWED])
{
	if (object->events && object->async_events)
		snprintf(text, OWED, "%s and %s", WORDS_N(object->events, "completion event"),
			 WORDS_N(object->async_events, "asynchronous event"));
	else if (object->events)
		words_format_count(object->events, "completion event", text);
	else
		words_format_count(object->async_events, "asynchronous event", text);
	return text;
}

static void describe_unacked(struct finding *finding, const struct model_destroy *destroy)
{
	const char *verb = verb_infos[destroy->moment.verb].name;
	int64_t waited = destroy->end - destroy->moment.time;
	char events[OWED], when[33] = " ", name[64];

	list_unacked(destroy->object, events);
	object_name_text(destroy->object, name, sizeof(name));
	words_format_span(waited, when + 1);
	if (destroy->returned)
		finding_text(&finding->says,
			     "%s of %s had been retrieved but not acknowledged when %s() destroyed "
			     "it; this device accepted this, others wait forever.",
			     events, name, verb);
	else
		finding_text(
			&finding->says,
			"%s of %s had been retrieved but not acknowledged: %s() waited for this, "
			"and had not returned%s%s when the %s ended.",
			events, name, verb, waited ? when : "", waited ? " later," : "",
			destroy->ended ? "process" : "trace");
}

/*
 * COMPL-003. If a destroy returned, another thread has acknowledged its events meanwhile, which is
 * allowed: only events that are unacknowledged at its end count.
 */
void compl_003(struct check *check, const struct model_destroy *destroy)
{
	const struct life *object = destroy->object;
	struct finding *finding;

	if ((destroy->returned && destroy->failed) || !(object->events || object->async_events))
		return;
	if (object->kind == OBJECT_cm_id) /* CM-002 */
		return;
	if (!destroy->returned && !check_ack_wait(check, RULE_COMPL_003, destroy))
		return;
	finding = check_add_destroy(check, RULE_COMPL_003, destroy);
	if (!finding)
		return;
	describe_unacked(finding, destroy);
	finding_step(finding, "created", &object->created);
	if (object->got.id.thread)
		finding_step(finding, "last event retrieved", &object->got);
	finding_step(finding, destroy->returned ? "destroyed" : "destroy hangs", &destroy->moment);
}

/* Events that were received before the trace began may be acknowledged in it. */
static bool has_older_events(struct trace *trace)
{
	const struct thread *thread;

	if (trace_loss(trace).overwritten)
		return true;
	for (uint32_t id = 1; (thread = trace_thread(trace, id)); id++)
		if (thread->carried)
			return true;
	return false;
}

static const char *const ack_retrieved =
	"Acknowledge each event once, for the CQ or object that it names, and only if it was "
	"retrieved: if ibv_get_cq_event() fails, for instance with EINTR, there is none.";

/*
 * COMPL-003, too many acknowledgements: a destroy waits until as many events were acknowledged as
 * were received, so one too many is as bad as one too few. An acknowledgement that begins before an
 * event was received cannot be for it: another thread learns of an event only from the call that
 * received it.
 */
void compl_003_over(struct check *check, const struct model_destroy *destroy)
{
	const struct life *object = destroy->object;
	struct finding *finding;
	char name[64], id[32];

	if (!object->over || object->inherited || (destroy->returned && destroy->failed) ||
	    has_older_events(check->trace))
		return;
	finding = check_add_destroy(check, RULE_COMPL_003, destroy);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s: %" PRIu64 " more event%s acknowledged than retrieved, first at %s: %s() "
		     "waits until both numbers are equal%s.",
		     object_name_text(object, name, sizeof(name)), object->over,
		     object->over == 1 ? " was" : "s were", event_id_text(object->over_at.id, id),
		     verb_infos[destroy->moment.verb].name,
		     destroy->returned ? "; this device accepted this, others wait forever"
				       : ", and never returned");
	finding_step(finding, "created", &object->created);
	if (object->got.id.thread)
		finding_step(finding, "last event retrieved", &object->got);
	finding->todo = ack_retrieved;
	finding_step(finding, "acknowledged", &object->over_at);
	finding_step(finding, destroy->returned ? "destroyed" : "destroy hangs", &destroy->moment);
}

/* "armed at 2:101, after its last poll at 2:99" */
static void describe_order(const struct cq_event *wake, char *text, size_t size)
{
	char armed[32], polled[32], filled[48] = "";

	if (wake->filled)
		snprintf(filled, sizeof(filled), " with an array of %u, which it filled",
			 wake->filled);
	event_id_text(wake->armed.id, armed);
	event_id_text(wake->polled.id, polled);
	if (!wake->is_armed)
		snprintf(text, size, "armed at %s, and not again since its event was retrieved",
			 armed);
	else if (wake->solicited)
		snprintf(text, size,
			 "armed at %s for solicited events only, and the peer sent these without "
			 "IBV_SEND_SOLICITED",
			 armed);
	else if (!wake->polled.id.thread)
		snprintf(text, size, "armed at %s, but none of its completions was polled", armed);
	else if (wake->polled.time < wake->armed.time)
		snprintf(text, size, "armed at %s, after its last poll at %s", armed, polled);
	else
		snprintf(text, size, "armed at %s and polled at %s%s, but not until empty", armed,
			 polled, filled);
}

/*
 * COMPL-004. The other end's trace shows that the completion had arrived. If the CQ is armed for
 * solicited events only, or not at all, a solicited event may still come, or another thread may arm
 * the CQ: these cases are hazards.
 */
void compl_004(struct check *check, const struct model_wait *wait)
{
	char when[32], order[160];
	struct finding *finding;
	uint64_t key;

	if (check->findings->blind)
		return;
	key = findings_key(wait->at.verb, wait->at.stack, wait->at.process);
	finding = wait->wake->solicited || !wait->wake->is_armed
			  ? findings_add_hazard(check->findings, RULE_COMPL_004, key)
			  : findings_add(check->findings, RULE_COMPL_004, key);
	if (!finding)
		return;
	finding_at(finding, &wait->at);
	finding_text(&finding->where, "%s(): channel", verb_infos[wait->at.verb].name);
	finding_text(&finding->object, "%s", wait->cq->name);
	describe_order(wait->wake, order, sizeof(order));
	finding_text(&finding->says,
		     "%" PRIu64 " completion%s waited in %s for %s while %s() waited for its "
		     "event: %s was %s.",
		     wait->wake->lying, wait->wake->lying == 1 ? "" : "s", wait->cq->name,
		     words_format_span(wait->to - wait->from, when), verb_infos[wait->at.verb].name,
		     wait->cq->name, order);
	if (!wait->wake->is_armed)
		finding_text(&finding->breaks,
			     "no other thread arms the CQ: this thread waits forever");
	else if (wait->wake->solicited)
		finding_text(
			&finding->breaks,
			"no message with IBV_SEND_SOLICITED follows: the thread waits forever");
	finding_step(finding, "created", &wait->cq->created);
	if (wait->wake->polled.id.thread)
		finding_step(finding, "last polled", &wait->wake->polled);
	finding_step(finding, "armed", &wait->wake->armed);
	finding_step(finding, "waited", &wait->at);
}

enum { OFTEN = 3, LONG_NS = 250000000 };

/*
 * A thread may be delayed once between the arming and the poll, but not each time. A thread that
 * waits for an event without a poll in between has lost the completion, though another completion
 * may wake it up.
 */
static bool is_repeated_late(const struct cq_event_late *late)
{
	return !late->prompt && (late->times >= OFTEN || late->events > 1 ||
				 (late->times && (late->events || late->shortest >= LONG_NS)));
}

/* The CQ was never armed: another CQ of its channel was. */
static void describe_other_armed(struct finding *finding, const struct cq_event_late *late,
				 const char *cq, const char *armed)
{
	char span[32], id[32];

	finding_text(&finding->says,
		     "%s, first at %s, messages in %s were polled up to %s after they had come: it "
		     "was never armed, but %s of the same channel was.",
		     WORDS_N(late->times, "time"), event_id_text(late->armed.id, id), cq,
		     words_format_span(late->longest, span), armed);
}

static void describe_late(struct finding *finding, const struct cq_event_late *late, const char *cq)
{
	char span[32], n[WORDS_COUNT], id[32];

	words_format_count(late->times + late->events, "time", n);
	event_id_text(late->armed.id, id);
	if (late->solicited)
		finding_text(
			&finding->says,
			"%s, first at %s, %s was armed for solicited events only, and messages "
			"without IBV_SEND_SOLICITED were polled up to %s after they had come, "
			"without an event.",
			n, id, cq, words_format_span(late->longest, span));
	else
		finding_text(&finding->says,
			     "%s, first at %s, a completion was in %s when it was armed, which "
			     "gives no event, and the thread waited without polling it again%s%s.",
			     n, id, cq, late->times ? ", up to " : " until another event came",
			     late->times ? words_format_span(late->longest, span) : "");
}

/*
 * COMPL-004: the CQ is moderated so that events come late, and no poll found as many completions as
 * an event takes. Devices differ in the meaning of a period of 0.
 */
void compl_004_moderated(struct check *check, const struct life *life)
{
	const struct queue_cq *cq = life->cq;
	struct finding *finding;
	char span[32];

	if (check->findings->blind || !cq || !life->wake || !life->wake->armed.id.thread ||
	    !cq->high || cq->moderate_us < MODERATE_US || cq->moderate_count <= cq->stats.most ||
	    cq->moderate_count < 2)
		return;
	finding = check_add_hazard(check, RULE_COMPL_004, &cq->moderated, life, "attr");
	if (!finding)
		return;
	words_format_span(INT64_C(1000) * cq->moderate_us, span);
	finding_text(&finding->says,
		     "%s gives an event after %u completions or %s (ibv_modify_cq()), and no poll "
		     "found more than %s in it.",
		     life->name, cq->moderate_count, span, WORDS_N(cq->stats.most, "completion"));
	finding_text(&finding->breaks,
		     "the device follows that setting: each event comes %s late, and a thread that "
		     "waits for a single message sleeps until then",
		     span);
	finding_step(finding, "created", &life->created);
	finding_step(finding, "moderated", &cq->moderated);
	finding_step(finding, "armed", &life->wake->armed);
}

/*
 * COMPL-004: each time, a thread armed the CQ and waited without a poll in between. Nothing was
 * lost in this run. Whether it polls until it finds nothing shows whose the one empty poll is.
 */
void compl_004_blind(struct check *check, const struct life *cq)
{
	const struct cq_event_blind *blind = cq->wake ? &cq->wake->blind : NULL;
	uint64_t times = blind ? blind->none + blind->one : 0;
	struct finding *finding;
	char id[32];

	if (check->findings->blind || times < OFTEN || blind->checked ||
	    (blind->one && !blind->loops) || cq->cq->doubt || is_repeated_late(&cq->wake->late))
		return;
	finding = check_add_hazard(check, RULE_COMPL_004, &blind->armed, cq, "cq");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%" PRIu64 " times, first at %s, a thread armed %s and waited for its event: "
		     "each time it had polled the CQ before it armed it, and not again after that.",
		     times, event_id_text(blind->armed.id, id), cq->name);
	finding_text(&finding->breaks,
		     "a completion comes between the last poll and the arming: it gives no event, "
		     "and the thread sleeps until another one comes, perhaps forever");
	finding_step(finding, "created", &cq->created);
	finding_step(finding, "armed", &blind->armed);
}

/*
 * COMPL-004: for each event a thread polls once, and leaves the remaining completions in the CQ. A
 * few polls without an event may come from a time-out, but not as many as there are events.
 */
void compl_004_left(struct check *check, const struct life *cq)
{
	const struct cq_event_left *left = cq->wake ? &cq->wake->left : NULL;
	struct finding *finding;
	char id[32], span[32], others[64] = "others";

	if (check->findings->blind || !left || left->times < OFTEN ||
	    left->drained >= left->times || cq->cq->doubt || cq->cq->stats.switches > 1)
		return;
	finding = check_add_hazard(check, RULE_COMPL_004, &left->armed, cq, "cq");
	if (!finding)
		return;
	if (left->filled)
		snprintf(others, sizeof(others), "others, as many as its array holds (%u)",
			 left->filled);
	finding_text(&finding->says,
		     "%" PRIu64 " times, first at %s, a completion was in %s when it was armed, "
		     "the thread polled %s, and waited for the next event, up to %s.",
		     left->times, event_id_text(left->armed.id, id), cq->name, others,
		     words_format_span(left->longest, span));
	finding_text(&finding->breaks,
		     "no other message follows: what was there before the arming gives no event, "
		     "so it stays there unless the CQ is polled until it is empty");
	finding_step(finding, "created", &cq->created);
	finding_step(finding, "armed", &left->armed);
}

/* COMPL-004 of a thread that waits in poll(2), which is not in the trace. */
void compl_004_late(struct check *check, const struct life *cq)
{
	const struct cq_event_late *late = cq->wake ? &cq->wake->late : NULL;
	const struct object *instead =
		late && late->instead ? trace_object(check->trace, late->instead) : NULL;
	struct finding *finding;

	if (check->findings->blind || !late || !is_repeated_late(late))
		return;
	finding = findings_add_hazard(
		check->findings, RULE_COMPL_004,
		findings_key(late->armed.verb, late->armed.stack, late->armed.process));
	if (!finding)
		return;
	finding_at(finding, &late->armed);
	finding_text(&finding->where, "%s()", verb_infos[late->armed.verb].name);
	finding_text(&finding->object, "%s", cq->name);
	if (instead)
		describe_other_armed(finding, late, cq->name, instead->name);
	else
		describe_late(finding, late, cq->name);
	finding_text(&finding->breaks,
		     "the thread waits in poll(2), epoll_wait() or ibv_get_cq_event() without a "
		     "time-out: it sleeps until %s comes, perhaps forever",
		     instead           ? "something else"
		     : late->solicited ? "a message with IBV_SEND_SOLICITED"
				       : "another completion");
	finding_step(finding, "created", &cq->created);
	finding_step(finding, "armed", &late->armed);
}
