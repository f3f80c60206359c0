/*
 * Messages that let the peer send, posted before the receive for what it will send
 *
 *	peer	m1		polls c1, m2		as many messages as receives,
 *	here	r1	polls m1, c1	 r2		so c1 was posted before the receive of m2
 */
#include "analyzer/model/credit.h"

#include "analyzer/model/model_state.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"

enum { LOOK = 512, GRANTED = 4096 };

static bool is_ready(const struct life *qp)
{
	return qp->state == LIFE_LIVE && qp_state(qp) == ABI_QPS_RTS && qp->sq && !qp->sq->doubt &&
	       qp->rq && qp->rq->owner == qp && !qp->rq->doubt;
}

/* The other end of @qp, if its messages of this connection are known; else NULL. */
static struct life *find_other(struct model *model, const struct life *qp)
{
	const struct peer *other = peer_find_other(&model->peers, qp->peer);
	struct life *life = other && other->is_rc ? other->life : NULL;

	return life && is_ready(life) && other->since >= qp->qp->reset ? life : NULL;
}

static void end_credit(struct queue_credit *credit)
{
	if (credit->refilled - credit->sent.time > credit->longest)
		credit->longest = credit->refilled - credit->sent.time;
	if (!credit->times++)
		credit->first = credit->sent;
	credit->needs = 0;
}

/*
 * Is one of the last messages of @qp that which the open credit of @other was a sign for? A thread
 * that has both ends needs no sign.
 */
static void check_answer(struct model *model, const struct trace_event *event,
			 const struct life *qp, const struct life *other)
{
	struct queue_credit *credit = &other->rq->credit;

	if (!credit->needs || credit->followed || qp->sq->messages < credit->needs)
		return;
	if (event->id.thread == credit->sent.id.thread ||
	    qp->rq->polled <=
		    credit->sent.time + peer_slack(&model->peers, qp->process, other->process)) {
		credit->needs = 0; /* the peer did not wait for the last message */
		return;
	}
	credit->followed = true;
	if (credit->refilled)
		end_credit(credit);
}

/* The number of receives that the last message of @post may grant: its immediate data; else 0. */
static uint32_t find_granted(const struct post *post)
{
	const struct wr *wr = &post->wr[post->nwr - 1];

	return (wr->opcode == ABI_WR_SEND_WITH_IMM || wr->opcode == ABI_WR_RDMA_WRITE_WITH_IMM) &&
			       wr->imm > 1 && wr->imm <= GRANTED
		       ? wr->imm
		       : 0;
}

void credit_note_send(struct model *model, const struct trace_event *event, struct queue *sends)
{
	const struct life *qp = sends->owner;
	struct queue_credit *credit = qp->rq ? &qp->rq->credit : NULL;
	const struct life *other;
	uint64_t sent;

	if (!credit || credit->looked > LOOK || !is_ready(qp))
		return;
	credit->looked++;
	other = find_other(model, qp);
	if (!other)
		return;
	check_answer(model, event, qp, other);
	sent = other->sq->messages;
	credit->beyond |= sent > qp->rq->messages;
	if (!sent || sent != qp->rq->messages || credit->needs ||
	    !queue_takes_receive(queue_at(sends, sends->count - 1)->opcode))
		return;
	credit->needs = sent + 1;
	credit->sent = moment_of(event);
	credit->refilled = 0;
	credit->granted = find_granted(event->post);
	credit->refills = 0;
	credit->followed = false;
}

/*
 * Receives were posted after a message whose immediate data may say how many they will be: so it
 * grants them if they are as many, whatever the order of a round is.
 */
static void refill_granted(struct queue_credit *credit, const struct trace_event *event)
{
	credit->refills += event->post->nwr;
	if (event->id.thread != credit->sent.id.thread || credit->refills > credit->granted) {
		credit->needs = 0;
	} else if (credit->refills == credit->granted) {
		credit->refilled = event->time;
		if (credit->followed)
			end_credit(credit);
	}
}

void credit_note_refill(struct queue *receives, const struct trace_event *event)
{
	struct queue_credit *credit = &receives->credit;
	uint64_t sends = receives->owner->sq ? receives->owner->sq->stats.posts : 0;

	if (!credit->needs)
		return;
	if (credit->granted) {
		refill_granted(credit, event);
		return;
	}
	/* two receives and no answer in between are of a round, which a barrier may begin */
	if (event->post->nwr > 1 || (credit->refilled && credit->answers == sends)) {
		credit->needs = 0;
		return;
	}
	if (credit->refilled)
		return;
	credit->answers = sends;
	credit->refilled = event->time;
	if (event->id.thread != credit->sent.id.thread)
		credit->needs = 0;
	else if (credit->followed)
		end_credit(credit);
}
