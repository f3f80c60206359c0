/*
 * STATE-007: receive queues that are too small, or warn too early
 *
 * Not here: timers that do not suit (state_peer.c).
 */
#include <inttypes.h>

#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"
#include "core/base/count.h"

enum { CREDITS = 4 };

enum {
	STALLS = 4,        /* separate times in which messages waited */
	TIME_PERCENT = 20, /* percent of the time from the first message to the last */
	LONG_NS = 250000000,
};

/* Is the queue too small: did as many messages wait at once as it ever had receives? */
static bool is_too_small(const struct queue *queue)
{
	const struct queue_dry *dry = &queue->dry;

	return dry->stalls >= STALLS && dry->waiting >= queue->high &&
	       dry->ns >= (dry->last - dry->first) / 100 * TIME_PERCENT;
}

/* STATE-007: once there was no receive for long, and messages waited for it. */
void state_007_lack(struct check *check, const struct life *life)
{
	const struct queue *queue = life->rq;
	const struct queue_dry *dry = queue ? &queue->dry : NULL;
	struct finding *finding;
	char name[64], lack[32], id[32], first[32];

	if (!dry || queue->owner != life || queue->doubt || dry->lack < LONG_NS ||
	    is_too_small(queue))
		return;
	finding = check_add_life_hazard(check, RULE_STATE_007, life, "ibv_post_recv(): wr");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s had no receive left for %s, until %s: %s %s waiting for one, the first "
		     "posted at %s.",
		     object_name_text(life, name, sizeof(name)), words_format_span(dry->lack, lack),
		     event_id_text(dry->replenished.id, id), WORDS_N(dry->lacking, "message"),
		     dry->lacking == 1 ? "was" : "were", event_id_text(dry->lacked.id, first));
	finding_text(&finding->breaks,
		     "the receiver is late by more than the sender's rnr_retry and the timer here "
		     "allow: the send fails with IBV_WC_RNR_RETRY_EXC_ERR; with rnr_retry 7 the "
		     "connection stands still as long");
	finding_step(finding, "created", &life->created);
	finding_step(finding, "sent", &dry->lacked);
	finding_step(finding, "next receive", &dry->replenished);
}

/* STATE-007 */
void state_007_dry(struct check *check, const struct life *life)
{
	const struct queue *queue = life->rq;
	const struct queue_dry *dry = queue ? &queue->dry : NULL;
	struct finding *finding;
	char name[64], timer[32], delayed[32], whole[32], longest[32];

	if (!dry || queue->owner != life || queue->doubt || !dry->timer || !is_too_small(queue))
		return;
	finding = check_add_life_hazard(check, RULE_STATE_007, life,
					life->kind == OBJECT_srq ? "ibv_post_srq_recv()"
								 : "ibv_post_recv()");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s never held more than %s, and up to %s waited while it was empty. %" PRIu64
		     " of %" PRIu64 " messages waited for %s (min_rnr_timer %u) or longer, at most "
		     "for %s: senders were delayed during %s of %s.",
		     object_name_text(life, name, sizeof(name)), WORDS_N(queue->high, "receive"),
		     WORDS_N(dry->waiting, "message"), dry->delayed, dry->messages,
		     words_format_span(qp_rnr_time(dry->timer), timer), dry->timer,
		     words_format_span(dry->longest, longest), words_format_span(dry->ns, delayed),
		     words_format_span(dry->last - dry->first, whole));
	finding_text(&finding->breaks,
		     "there are more senders, or a receiver that is slower: each message that "
		     "finds no receive is sent again after that time, and fails with "
		     "IBV_WC_RNR_RETRY_EXC_ERR when rnr_retry, if not 7, is exhausted");
	finding_step(finding, "created", &life->created);
	finding_step(finding, "sent", &dry->example);
}

/* STATE-007: the peer counts receives, and may use each before it is posted. */
void state_007_credit(struct check *check, const struct life *life)
{
	const struct queue *queue = life->rq;
	const struct queue_credit *credit = queue && queue->owner == life ? &queue->credit : NULL;
	char name[64], id[32], span[32];
	struct finding *finding;

	if (!credit || credit->times < CREDITS || credit->beyond || queue->doubt)
		return;
	finding = check_add_hazard(check, RULE_STATE_007, &credit->first, life, "qp");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s: %" PRIu64 " times, first at %s, a message was sent when the peer had "
		     "used all receives, and the next receive was posted after it, up to %s later. "
		     "The peer received that message before it sent its next one.",
		     object_name_text(life, name, sizeof(name)), credit->times,
		     event_id_text(credit->first.id, id), words_format_span(credit->longest, span));
	finding_text(
		&finding->breaks,
		"the peer answers sooner, or this thread is held up between the two: the "
		"answer finds no receive, and is sent again after min_rnr_timer, or fails with "
		"IBV_WC_RNR_RETRY_EXC_ERR when rnr_retry, if not 7, is exhausted");
	finding_step(finding, "created", &life->created);
	finding_step(finding, "sent", &credit->first);
}

static const char *const watch_limit =
	"Retrieve asynchronous events in a thread or loop of their own. After "
	"IBV_EVENT_SRQ_LIMIT_REACHED post receives, then arm the limit again: "
	"ibv_modify_srq(IBV_SRQ_LIMIT), with less than what the SRQ holds when it is full.";

/* Report a limit event that has come, since fewer receives are left, and was not retrieved. */
static void report_unread_limit(struct check *check, const struct life *life)
{
	const struct queue *queue = life->rq;
	struct finding *finding = check_add_hazard(check, RULE_STATE_007, &queue->limited, life,
						   "srq_attr->srq_limit");

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s was left with %s, and its srq_limit is %s: "
		     "IBV_EVENT_SRQ_LIMIT_REACHED came, and no ibv_get_async_event() retrieved it.",
		     life->name, WORDS_N(queue->outstanding, "receive"), COUNT_OF(queue->limit));
	finding_text(&finding->breaks,
		     "more messages come: nothing tells the program that receives run low");
	finding_step(finding, "created", &life->created);
	finding->todo = watch_limit;
	finding_step(finding, "armed", &queue->limited);
}

/*
 * Has the program posted receives after the event of the limit, for more messages, and not armed it
 * again?
 */
static bool is_disarmed(const struct life *life)
{
	const struct queue *queue = life->rq;

	return life->got.id.thread && life->got.time > queue->armed.time &&
	       queue->polled > life->got.time &&
	       queue->posted - queue->posted_at_event >= queue->limit;
}

/* Report a limit that was armed once and for which the next event does not come. */
static void report_disarmed(struct check *check, const struct life *life)
{
	const struct queue *queue = life->rq;
	struct finding *finding =
		check_add_hazard(check, RULE_STATE_007, &life->got, life, "srq_attr->srq_limit");
	char armed[32], got[32];

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s was left with %s, and its srq_limit was %s: it was armed last at %s, its "
		     "event was retrieved at %s, %s were posted then, and no ibv_modify_srq() "
		     "armed it again.",
		     life->name, WORDS_N(queue->outstanding, "receive"), COUNT_OF(queue->limit),
		     event_id_text(queue->armed.id, armed), event_id_text(life->got.id, got),
		     WORDS_N(queue->posted - queue->posted_at_event, "receive"));
	finding_text(&finding->breaks,
		     "more messages come: the event disarms the limit, so nothing "
		     "tells the program that receives run low again");
	finding_step(finding, "created", &life->created);
	finding->todo = watch_limit;
	finding_step(finding, "armed", &queue->armed);
	finding_step(finding, "disarmed", &life->got);
}

/*
 * The limit event comes when a receive is taken and fewer than the limit are left, or at once. A
 * queue that never held as many receives as the limit gives the event with its first message, and
 * none later.
 */
void state_007_limit(struct check *check, const struct life *life)
{
	const struct queue *queue = life->kind == OBJECT_srq ? life->rq : NULL;
	struct finding *finding;

	if (!queue || queue->doubt || !queue->polled || !queue->limit)
		return;
	if (queue->high > queue->limit) {
		if (queue->outstanding >= queue->limit || queue->polled <= queue->limited.time)
			return;
		if (!life->got.id.thread)
			report_unread_limit(check, life);
		else if (is_disarmed(life))
			report_disarmed(check, life);
		return;
	}
	finding = check_add_hazard(check, RULE_STATE_007, &queue->limited, life,
				   "srq_attr->srq_limit");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "The srq_limit of %s is %s, and it never held more than %s: "
		     "IBV_EVENT_SRQ_LIMIT_REACHED comes at once or with the first message, and not "
		     "when receives run low.",
		     life->name, COUNT_OF(queue->limit), WORDS_N(queue->high, "receive"));
	finding_text(&finding->breaks,
		     "messages come faster than receives are posted: no event warns of that, "
		     "because it came too early, and the limit is armed only once");
	finding_step(finding, "created", &life->created);
	finding->todo = watch_limit;
	finding_step(finding, "armed", &queue->limited);
}
