/*
 * STATE: queue pairs whose other end is in the trace, too
 *
 * Attributes are compared when the first send completes, or when one end is destroyed: before that
 * one end may still have its previous connection.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/no_response.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"
#include "analyzer/rules/state_ends.h"

enum { PSN_BITS = 0xffffff, MOST = STATE_END_TEXT };

/* Two attributes that must be equal. */
struct pair {
	const char *mine, *theirs;
	uint32_t my_bit, their_bit;
	uint32_t my, their;
	const char *names; /* of the values; NULL: numbers */
};

static size_t add_pair(char *text, size_t used, const struct qp *a, const struct qp *b,
		       const struct pair *pair)
{
	if (!(a->set & pair->my_bit) || !(b->set & pair->their_bit) || pair->my == pair->their)
		return used;
	if (pair->names)
		used += (size_t)snprintf(
			text + used, MOST - used, "%s%s %s and %s", used ? ", " : "", pair->mine,
			enum_name(enum_find(pair->names), (int)pair->my) ?: "?",
			enum_name(enum_find(pair->names), (int)pair->their) ?: "?");
	else
		used += (size_t)snprintf(text + used, MOST - used, "%s%s 0x%x and %s 0x%x",
					 used ? ", " : "", pair->mine, pair->my, pair->theirs,
					 pair->their);
	return used < MOST ? used : MOST - 1;
}

/* The transport of a type: XRC has two types, one for each end. */
static uint32_t transport_of(const struct qp *qp)
{
	return (uint32_t)(qp->type == ABI_QPT_XRC_RECV ? ABI_QPT_XRC_SEND : qp->type);
}

static bool compare_ends(const struct qp *a, const struct qp *b, char text[MOST])
{
	const uint32_t known = a->type != QP_UNKNOWN && b->type != QP_UNKNOWN ? ABI_QP_DEST_QPN : 0;
	const struct pair pairs[] = {
		{ "qp_type", "qp_type", known, known, transport_of(a), transport_of(b),
		  "ibv_qp_type" },
		{ "sq_psn", "rq_psn", ABI_QP_SQ_PSN, ABI_QP_RQ_PSN, a->sq_psn & PSN_BITS,
		  b->rq_psn & PSN_BITS, NULL },
		{ "rq_psn", "sq_psn", a == b ? 0 : ABI_QP_RQ_PSN, ABI_QP_SQ_PSN,
		  a->rq_psn & PSN_BITS, b->sq_psn & PSN_BITS, NULL },
		{ "path_mtu", "path_mtu", ABI_QP_PATH_MTU, ABI_QP_PATH_MTU, a->path_mtu,
		  b->path_mtu, "ibv_mtu" },
	};
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		used = add_pair(text, used, a, b, &pairs[i]);
	return used;
}

static void describe_mismatch(struct check *check, const struct life *qp, const struct life *other,
			      const char *what)
{
	const struct moment *told = &qp->qp->rtr;
	char mine[MOST], theirs[MOST];
	struct finding *finding;

	if (!told->id.thread)
		return;
	finding = check_add_finding(check, RULE_STATE_005, told, qp, "attr");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s is connected to %s, but their attributes do not match: "
		     "%s.",
		     state_name_end(check, qp, mine), state_name_end(check, other, theirs), what);
	finding_step(finding, "connected", told);
	finding_step(finding, "and its peer", &other->qp->rtr);
}

/* Report more outstanding READs than the other end accepts, if they made one fail. */
static void compare_reads(struct check *check, const struct model_complete *complete,
			  const struct life *other)
{
	const struct wc *wc = &complete->event->poll->wc[complete->index];
	const struct qp *a = complete->qp->qp, *b = other->qp;
	char what[MOST];

	if (wc->status != ABI_WC_REM_INV_REQ_ERR || wc->candidates > 1 || !complete->request ||
	    !queue_reads(complete->request->opcode) || !(a->set & ABI_QP_MAX_QP_RD_ATOMIC) ||
	    !(b->set & ABI_QP_MAX_DEST_RD_ATOMIC) || a->max_rd_atomic <= b->max_dest_rd_atomic)
		return;
	snprintf(what, sizeof(what), "max_rd_atomic %u and max_dest_rd_atomic %u", a->max_rd_atomic,
		 b->max_dest_rd_atomic);
	describe_mismatch(check, complete->qp, other, what);
	complete->qp->peer->reads_refused = true;
}

/* Report that the only queue pair with the number is connected to another queue pair. */
static void report_misconnected(struct check *check, const struct model_complete *complete)
{
	const struct wc *wc = &complete->event->poll->wc[complete->index];
	const struct peer *other;
	char what[MOST];

	if (wc->status != ABI_WC_RETRY_EXC_ERR || !complete->qp->peer || !complete->request)
		return;
	other = peer_find_misled(model_peers(check->model), complete->qp->peer);
	if (!other || !other->life || !other->life->qp || other->since > complete->request->time)
		return;
	snprintf(what, sizeof(what), "its dest_qp_num is 0x%x, not 0x%x", other->dest,
		 complete->qp->number);
	describe_mismatch(check, complete->qp, other->life, what);
}

/* A live queue pair of any process that is connected to @qp; NULL. */
static const struct life *find_claimant(struct check *check, const struct life *qp)
{
	struct peers *peers = model_peers(check->model);

	for (uint32_t id = 1; trace_process(check->trace, id); id++)
		for (const struct life *life = NULL;
		     (life = model_next_life(check->model, id, life));)
			if (life != qp && life->kind == OBJECT_qp && life->state == LIFE_LIVE &&
			    life->qp && life->peer &&
			    peer_find_intended(peers, life->peer) == qp->peer)
				return life;
	return NULL;
}

/* STATE-005: the queue pair was connected to its own number, and so was another queue pair. */
void state_005_self(struct check *check, const struct model_complete *complete)
{
	const struct life *qp = complete->qp, *other;
	const struct peer *itself;
	char mine[MOST], theirs[MOST];
	struct finding *finding;

	if (!complete->queue || complete->queue->completed || !qp || !qp->qp ||
	    !(qp->qp->set & ABI_QP_DEST_QPN) || qp->qp->dest_qp_num != qp->number)
		return;
	itself = state_other_end(check, qp);
	other = itself && itself->life == qp ? find_claimant(check, qp) : NULL;
	finding = other ? check_add_finding(check, RULE_STATE_005, &qp->qp->rtr, qp, "attr") : NULL;
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s is connected to itself, since its dest_qp_num 0x%x is its own number, but "
		     "%s is connected to it.",
		     state_name_end(check, qp, mine), qp->number,
		     state_name_end(check, other, theirs));
	finding_step(finding, "connected", &qp->qp->rtr);
	finding_step(finding, "and its peer", &other->qp->rtr);
}

/* @qp was reconnected, but its other end @other was not; @failed: so that a request failed. */
static struct finding *add_reconnected(struct check *check, const struct life *qp,
				       const struct life *other, bool failed)
{
	struct finding *finding;

	qp->peer->alone = false;
	if (other->peer->since > qp->peer->since || !qp->qp->rtr.id.thread)
		return NULL;
	finding = (failed ? check_add_finding : check_add_hazard)(check, RULE_STATE_005,
								  &qp->qp->rtr, qp, "attr");
	if (!finding)
		return NULL;
	finding_step(finding, "connected again", &qp->qp->rtr);
	finding_step(finding, "its peer, before", &other->qp->rtr);
	return finding;
}

/* @qp was connected again, @other is in the previous connection: @expects, and what @breaks. */
static void report_reconnected(struct check *check, const struct life *qp, const struct life *other,
			       bool failed, const char *expects, const char *breaks)
{
	struct finding *finding = add_reconnected(check, qp, other, failed);
	char mine[MOST], theirs[MOST];

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s was reset and connected again to %s, which is still in the previous "
		     "connection: %s.",
		     state_name_end(check, qp, mine), state_name_end(check, other, theirs),
		     expects);
	if (!failed)
		finding_text(&finding->breaks, "the device compares PSNs: %s", breaks);
}

/* The queue pair that was reconnected sends. */
static void report_ahead(struct check *check, const struct life *qp, const struct life *other,
			 bool failed)
{
	report_reconnected(check, qp, other, failed,
			   "messages had arrived there, so it expects another PSN",
			   "it takes the messages for duplicates, which it acknowledges and drops, "
			   "or refuses them");
}

/* The other end sends. */
static void report_behind(struct check *check, const struct life *qp, const struct life *other,
			  bool failed)
{
	char expects[MOST];

	snprintf(expects, sizeof(expects),
		 "it had sent messages, so the next one has not the PSN 0x%x, which rq_psn says",
		 qp->qp->rq_psn);
	report_reconnected(check, qp, other, failed, expects,
			   "it refuses the messages, and they end with IBV_WC_RETRY_EXC_ERR");
}

static bool is_only_reconnected(const struct life *qp, const struct life *other)
{
	return qp->peer && qp->peer->alone && qp->qp && other->peer && other->qp;
}

/* A send of @qp to @other has failed. */
static void compare_connections(struct check *check, const struct life *qp,
				const struct life *other)
{
	if (is_only_reconnected(qp, other))
		report_ahead(check, qp, other, true);
	else if (is_only_reconnected(other, qp) && other->peer->behind)
		report_behind(check, other, qp, true);
}

/* STATE-005 */
void state_005(struct check *check, const struct model_complete *complete)
{
	const struct queue *queue = complete->queue;
	const struct peer *other;
	char what[MOST];

	if (!queue || !queue->send || queue->doubt || !complete->qp || !complete->qp->qp)
		return;
	if (queue->completed && !complete->event->poll->wc[complete->index].status)
		return;
	other = state_other_end(check, complete->qp);
	if (!other) {
		report_misconnected(check, complete);
		return;
	}
	if (!other->life || !other->life->qp)
		return;
	complete->qp->peer->compared = true;
	if (complete->event->poll->wc[complete->index].status == ABI_WC_RETRY_EXC_ERR)
		compare_connections(check, complete->qp, other->life);
	if (!queue->completed && compare_ends(complete->qp->qp, other->life->qp, what))
		describe_mismatch(check, complete->qp, other->life, what);
	else
		compare_reads(check, complete, other->life);
}

static bool has_received(const struct life *qp)
{
	return qp->rq && qp->rq->owner == qp && !qp->rq->doubt && qp->rq->completed;
}

static bool has_sent_since(const struct life *qp, int64_t time)
{
	return qp->sq && qp->sq->polled > time;
}

/* @qp may have been connected again, and @other not: did messages follow? */
static void judge_reconnection(struct check *check, const struct life *qp, const struct life *other)
{
	const int64_t since = qp->peer->since;

	if (!is_only_reconnected(qp, other))
		return;
	if (has_sent_since(qp, since))
		report_ahead(check, qp, other, false);
	else if (qp->peer->behind && has_sent_since(other, since))
		report_behind(check, qp, other, false);
}

/* STATE-005: an end is destroyed, and messages have arrived, but no send completed at either. */
void state_005_end(struct check *check, const struct life *life)
{
	const struct peer *other = state_other_end(check, life);
	char what[MOST];

	if (!other || !other->life || !other->life->qp || !life->qp)
		return;
	judge_reconnection(check, life, other->life);
	if (other->life->peer)
		judge_reconnection(check, other->life, life);
	if (other->compared || life->peer->compared ||
	    !(has_received(life) || has_received(other->life)))
		return;
	life->peer->compared = true;
	if (compare_ends(life->qp, other->life->qp, what))
		describe_mismatch(check, life, other->life, what);
}

/* "qp1 of process 2 (server)", which may be destroyed */
static const char *name_peer(struct check *check, const struct peer *peer, char text[MOST])
{
	const struct object *object = trace_object(check->trace, peer->id);
	char process[128];

	snprintf(text, MOST, "%s of %s", object && object->name ? object->name : "its peer",
		 words_name_process(check->trace, peer->process, process, sizeof(process)));
	return text;
}

/* STATE-005: a queue pair with READs has max_rd_atomic above what the other end accepts. */
void state_005_reads(struct check *check, const struct life *life)
{
	const struct queue *queue = life->sq;
	const struct peer *other = state_other_end(check, life);
	char mine[MOST], theirs[MOST], reads[WORDS_COUNT];
	const struct qp *qp = life->qp;
	struct finding *finding;

	if (!other || !qp || !queue || queue->doubt || !queue->most_reads ||
	    life->peer->reads_refused || !(qp->set & ABI_QP_MAX_QP_RD_ATOMIC) ||
	    qp->max_rd_atomic <= other->takes_reads || !qp->rtr.id.thread)
		return;
	finding = check_add_hazard(check, RULE_STATE_005, &qp->rtr, life, "attr");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s may have %s outstanding (max_rd_atomic), and %s takes %u "
		     "(max_dest_rd_atomic). Up to %u were outstanding at once.",
		     state_name_end(check, life, mine), WORDS_N(qp->max_rd_atomic, "read"),
		     name_peer(check, other, theirs), other->takes_reads, queue->most_reads);
	if (queue->most_reads > other->takes_reads)
		finding_text(&finding->breaks,
			     "the device of the peer enforces its limit: it refuses the reads "
			     "beyond it with IBV_WC_REM_INV_REQ_ERR");
	else
		finding_text(&finding->breaks,
			     "it has more than %s at once: the peer refuses them with "
			     "IBV_WC_REM_INV_REQ_ERR",
			     words_format_count(other->takes_reads, "read", reads));
	finding_step(finding, "connected", &qp->rtr);
}

static const char *const low_qkey =
	"Give the receiver a qkey below 0x80000000, and its senders the same as remote_qkey. Or "
	"give the queue pair of each sender that qkey, and the request a remote_qkey of "
	"0x80000000.";

/* STATE-005: a datagram that its receiver drops. */
void state_005_qkey(struct check *check, const struct model_queue_problem *queue_problem)
{
	const bool own = queue_problem->given != queue_problem->number;
	char mine[MOST], theirs[MOST], where[64], given[96] = "";
	struct finding *finding;

	if (queue_problem->kind != PROBLEM_QKEY)
		return;
	snprintf(where, sizeof(where), "wr[%u].wr.ud.remote_qkey", queue_problem->index);
	finding = check_add_hazard(check, RULE_STATE_005, &queue_problem->moment,
				   queue_problem->object, where);
	if (!finding)
		return;
	if (own) {
		finding->todo = low_qkey;
		snprintf(given, sizeof(given),
			 " (its own, since remote_qkey 0x%" PRIx32 " has the highest bit set)",
			 queue_problem->given);
	}
	finding_text(
		&finding->says,
		"%s sent a datagram with Q_Key 0x%" PRIx64 "%s to %s, whose qkey is 0x%" PRIx64 ".",
		state_name_end(check, queue_problem->object, mine), queue_problem->number, given,
		state_name_end(check, queue_problem->other, theirs), queue_problem->limit);
	finding_text(&finding->breaks,
		     "the program relies on the datagram: the device of the receiver drops it, and "
		     "no completion at either end reports the loss");
	finding_step(finding, "created", &queue_problem->object->created);
	finding_step(finding, "sent", &queue_problem->moment);
}

/* "cq1 was polled empty 123456 times meanwhile" */
static void name_waiting(const struct model_complete *complete, const struct no_response *slow,
			 char text[MOST])
{
	char when[32];

	if (slow->slept)
		snprintf(text, MOST, "Its thread waited %s in ibv_get_cq_event()",
			 words_format_span(slow->slept, when));
	else
		snprintf(text, MOST, "%s was polled empty %" PRIu64 " times", complete->cq->name,
			 slow->empty);
}

/* STATE-010 */
void state_010(struct check *check, const struct model_complete *complete)
{
	const struct life *qp = complete->qp;
	char name[MOST], waiting[MOST], took[32], most[32];
	struct finding *finding;
	struct moment moment, polled = moment_of(complete->event);
	struct no_response slow;

	if (!no_response_find(check->model, complete, &slow))
		return;
	moment = state_request_moment(qp, complete->request);
	finding = check_add_hazard(check, RULE_STATE_010, &moment, qp, "wr");
	if (!finding)
		return;
	name_waiting(complete, &slow, waiting);
	finding_text(&finding->says,
		     "A request of %s took %s, and no other send of its process completed "
		     "meanwhile. With timeout %u it is sent again after %s at most: the other end "
		     "or the path did not respond%s. %s.",
		     state_name_end(check, qp, name), words_format_span(slow.took, took),
		     qp->qp->timeout, words_format_span(slow.most, most),
		     slow.empty ? "" : ", or this process was stopped", waiting);
	finding_text(&finding->breaks,
		     "that lasts for longer: after retry_cnt %u the connection ends with "
		     "IBV_WC_RETRY_EXC_ERR",
		     qp->qp->retry_cnt);
	finding_step(finding, "sent", &moment);
	finding_step(finding, "completed", &polled);
}
