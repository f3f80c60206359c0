/*
 * Why the other end did not respond, or refused
 *
 * Not here: the state of the other end (cause.c), keys.
 */
#include "analyzer/facts/why.h"

#include <byteswap.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/device.h"
#include "analyzer/model/key_judge.h"
#include "analyzer/model/model.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"
#include "core/base/text.h"

enum { TEXT = 96, LINE = 192 };

/* How long @qp waits for an ACK; 0: not known, or without limit. */
static double timeout_ms(const struct qp *qp)
{
	return (double)qp_retry_time(qp) / (1 + qp->retry_cnt) / 1e6;
}

static const char *name_qp(struct trace *trace, const struct peer *peer)
{
	const struct object *object = trace_object(trace, peer->id);

	return object && object->name ? object->name : "queue pair";
}

/* ", 1.3 ms before this one went to RTR with it, 1:39" */
static void describe_rtr_gap(const struct peers *peers, const struct life *life,
			     const struct peer *former, char text[TEXT])
{
	int64_t slack = peer_slack(peers, life->process, former->process);
	int64_t before = life->qp->rtr.time - former->gone;
	char id[32], when[32];

	text[0] = '\0';
	if (slack != INT64_MAX && (before > slack || -before > slack))
		snprintf(text, TEXT, ", %s %s this queue pair went to RTR with that number, %s",
			 words_format_span(before > 0 ? before : -before, when),
			 before > 0 ? "before" : "after", event_id_text(life->qp->rtr.id, id));
}

/* "; process 2 (server) qp2, number 0x13, has dest_qp_num 0x11: it is connected to this one" */
static void describe_claimant(struct trace *trace, const struct peers *peers,
			      const struct life *life, char text[LINE])
{
	const struct peer *other = peer_find_claimant(peers, life->peer);
	char process[LINE];

	text[0] = '\0';
	if (other)
		snprintf(text, LINE, "; %s %s, number 0x%x, is connected to this queue pair",
			 words_name_process(trace, other->process, process, TEXT),
			 name_qp(trace, other), other->number);
}

/* All queue pairs with that number were destroyed: the program used an old number. */
static char *name_former(struct trace *trace, const struct peers *peers, const struct life *life,
			 const char *retries)
{
	const struct peer *former = life->peer ? peer_find_former(peers, life->peer) : NULL;
	char process[LINE], relation[TEXT], expecting[LINE], id[32], how[TEXT], when[32];
	char *text;

	if (!former)
		return NULL;
	if (former->destroyed.id.thread)
		snprintf(how, sizeof(how), "destroyed by %s",
			 event_id_text(former->destroyed.id, id));
	else
		snprintf(how, sizeof(how), "which ended with its process");
	describe_rtr_gap(peers, life, former, relation);
	describe_claimant(trace, peers, life, expecting);
	if (asprintf(&text, "%sdest_qp_num 0x%x was the number of %s %s, %s at %s%s%s", retries,
		     life->qp->dest_qp_num,
		     words_name_process(trace, former->process, process, TEXT),
		     name_qp(trace, former), how, words_format_span(former->gone, when), relation,
		     expecting) < 0)
		return NULL;
	return text;
}

/*
 * ", but 0x12, the same in the other byte order, is process 1 qp2", if only one queue pair has 0x12
 */
static void describe_swapped(struct trace *trace, const struct peers *peers, uint32_t number,
			     char text[LINE])
{
	uint32_t meant = bswap_32(number) >> 8;
	const struct peer *peer = peer_next(peers, meant, NULL);
	char process[LINE];

	text[0] = '\0';
	if (peer && meant != number && !peer_next(peers, meant, peer))
		snprintf(text, LINE, ", but 0x%x, the same in the other byte order, is %s %s",
			 meant, words_name_process(trace, peer->process, process, TEXT),
			 name_qp(trace, peer));
}

static char *describe_missing_destination(struct trace *trace, const struct peers *peers,
					  const struct life *life)
{
	unsigned int namesakes = life->peer ? peer_count_candidates(peers, life->peer) : 0;
	const struct qp *qp = life->qp;
	char *text = NULL, *former, retries[TEXT] = "", count[WORDS_COUNT];
	char reversed[LINE] = "", expecting[LINE];
	int n;

	if (!qp || !(qp->set & ABI_QP_DEST_QPN))
		return NULL;
	if (timeout_ms(qp) > 0 && qp->dest_qp_num > 1)
		snprintf(retries, TEXT, "no response within %u retr%s of %.1f ms; ", qp->retry_cnt,
			 qp->retry_cnt == 1 ? "y" : "ies", timeout_ms(qp));
	former = qp->dest_qp_num > 1 ? name_former(trace, peers, life, retries) : NULL;
	if (former)
		return former;
	if (!qp->dest_qp_num && qp->by_cm)
		n = asprintf(&text, "dest_qp_num is 0: the other end was connected without a queue "
				    "pair, which rdma_accept() and rdma_connect() allow");
	else if (qp->dest_qp_num <= 1)
		n = asprintf(&text,
			     "dest_qp_num is %u, which is not the number of a program's queue "
			     "pair: was the number of the peer received?",
			     qp->dest_qp_num);
	else if (namesakes)
		n = asprintf(&text,
			     "%sdest_qp_num 0x%x is the number of %s in this trace, but none of "
			     "them is known to be connected to this queue pair",
			     retries, qp->dest_qp_num,
			     words_format_count(namesakes, "queue pair", count));
	else if (describe_swapped(trace, peers, qp->dest_qp_num, reversed), *reversed) {
		describe_claimant(trace, peers, life, expecting);
		n = asprintf(&text, "%sdest_qp_num 0x%x matches no queue pair in this trace%s%s",
			     retries, qp->dest_qp_num, reversed, expecting);
	} else
		n = asprintf(&text,
			     "%sdest_qp_num 0x%x matches no queue pair in this trace: the peer is "
			     "recorded elsewhere or was destroyed, or the number or address is "
			     "wrong",
			     retries, qp->dest_qp_num);
	return n < 0 ? NULL : text;
}

static void describe_retry_time(const struct qp *qp, char text[TEXT])
{
	text[0] = '\0';
	if (qp && timeout_ms(qp) > 0)
		snprintf(text, TEXT, ", and the retry time: timeout %u (%.2f ms), retry_cnt %u",
			 qp->timeout, timeout_ms(qp), qp->retry_cnt);
}

char *explain_no_response(struct trace *trace, const struct peers *peers, const struct life *qp,
			  const struct peer *peer)
{
	int state = peer && peer->life ? qp_state(peer->life) : QP_UNKNOWN;
	char patience[TEXT], *text;

	if (!peer)
		return describe_missing_destination(trace, peers, qp);
	if (state != ABI_QPS_RTR && state != ABI_QPS_RTS)
		return NULL;
	describe_retry_time(qp->qp, patience);
	if (asprintf(&text, "check the network path in both directions (link, VLAN, GID, MTU)%s",
		     patience) < 0)
		return NULL;
	return text;
}

/* LID 0 is reserved; an Ethernet port has none, and needs a GID. */
static const char *find_zero_address(const struct life *life)
{
	static const uint8_t none[QP_GID];
	const struct qp_path *path = &life->qp->path;
	const struct device_port *port =
		life->peer ? device_find_port(life->peer->device, life->qp->port) : NULL;

	if (path->is_global)
		return memcmp(path->dgid, none, sizeof(none)) ? NULL : "dgid is ::";
	return !path->dlid && port && !port->ethernet ? "dlid is 0" : NULL;
}

char *explain_unknown_address(const struct life *qp)
{
	const char *zero =
		qp->qp && qp->qp->set & ABI_QP_AV && !qp->qp->iwarp ? find_zero_address(qp) : NULL;
	char *text;

	if (!zero || asprintf(&text,
			      "%s, which is not the address of a port: was that of the peer "
			      "queried and received?",
			      zero) < 0)
		return NULL;
	return text;
}

static bool is_atomic(int opcode)
{
	return opcode == ABI_WR_ATOMIC_CMP_AND_SWP || opcode == ABI_WR_ATOMIC_FETCH_AND_ADD;
}

/* The responder checks its queue pair before it checks the key. */
char *explain_refusal(const struct queue_request *request, const struct peer *peer,
		      const char *name)
{
	uint32_t needed = operation_needs_remote(request->opcode);
	uint32_t lacks = peer ? keys_qp_lacks(peer->life, needed) : 0;
	const struct qp *qp = peer && peer->life ? peer->life->qp : NULL;
	char *text = NULL, process[PROCESS_TEXT];
	int n = -1;

	process_id_text(peer ? peer->process : 0, process);
	if (is_atomic(request->opcode) && request->remote_addr & 7)
		n = asprintf(&text,
			     "the remote address 0x%" PRIx64
			     " of the atomic is not a multiple of 8",
			     request->remote_addr);
	else if (lacks)
		n = asprintf(&text, "qp_access_flags of %s of %s lack %s", name, process,
			     words_name_access(lacks));
	else if (qp && needed && qp->set & ABI_QP_MAX_DEST_RD_ATOMIC && !qp->max_dest_rd_atomic &&
		 needed != ABI_ACCESS_REMOTE_WRITE)
		n = asprintf(&text, "max_dest_rd_atomic of %s of %s is 0", name, process);
	return n < 0 ? NULL : text;
}

/*
 * "; rdma_accept() 2:31 of process 2 gave responder_resources 0": which of the two calls that
 * connected @qp allowed it no READ; else the rule.
 */
static void put_depths(struct text *t, const struct life *qp, const struct peer *peer)
{
	const struct life *id = life_cm_id(qp);
	const struct life *other = peer && peer->life ? life_cm_id(peer->life) : NULL;
	bool mine = id && id->sends_no_reads, theirs = other && other->takes_no_reads;
	char event[32], process[PROCESS_TEXT];

	if (mine)
		text_addf(t, "; %s() %s gave initiator_depth 0", verb_infos[id->cm_call.verb].name,
			  event_id_text(id->cm_call.id, event));
	if (theirs)
		text_addf(t, "; %s() %s of %s gave responder_resources 0",
			  verb_infos[other->cm_call.verb].name,
			  event_id_text(other->cm_call.id, event),
			  process_id_text(other->process, process));
	if (!mine && !theirs)
		text_addf(t, " (for a queue pair of librdmacm it is the smaller of its "
			     "initiator_depth and the peer's responder_resources, of "
			     "rdma_connect() and rdma_accept())");
}

char *explain_failed_read(const struct queue_request *request, const struct life *qp,
			  const struct peer *peer)
{
	struct text t = { 0 };

	if (!queue_reads(request->opcode) || !qp->qp || !(qp->qp->set & ABI_QP_MAX_QP_RD_ATOMIC) ||
	    qp->qp->max_rd_atomic)
		return NULL;
	text_addf(&t, "max_rd_atomic of %s is 0: it cannot send a READ or an atomic", qp->name);
	put_depths(&t, qp, peer);
	if (t.failed)
		text_fini(&t);
	return t.at;
}

/* A live SRQ of @process after @srq (NULL: the first); NULL: there is none. */
static const struct life *next_srq(struct model *model, uint32_t process, const struct life *srq)
{
	do
		srq = model_next_life(model, process, srq);
	while (srq && (srq->kind != OBJECT_srq || srq->state != LIFE_LIVE));
	return srq;
}

static bool has_srq(struct model *model, uint32_t process, uint32_t srqn)
{
	const struct life *srq = NULL;

	while ((srq = next_srq(model, process, srq)))
		if (srq->srqn == srqn)
			return true;
	return false;
}

/* An SRQ of @process, preferably one whose number the program asked for. */
static const struct life *choose_srq(struct model *model, uint32_t process)
{
	const struct life *srq = NULL, *any = NULL;

	while ((srq = next_srq(model, process, srq)) && !srq->srqn)
		any = srq;
	return srq ?: any;
}

char *explain_no_srq(struct trace *trace, struct model *model,
		     const struct model_complete *complete, const struct peer *peer)
{
	const struct qp *qp = complete->qp->qp;
	uint32_t srqn = complete->request->srqn;
	const struct life *srq = peer ? choose_srq(model, peer->process) : NULL;
	struct text text = { 0 };
	char process[PROCESS_TEXT];

	if (!srq || !qp || qp->type != ABI_QPT_XRC_SEND)
		return NULL;
	for (uint32_t p = 1; trace_process(trace, p); p++) { /* they may share an XRC domain */
		const struct life *other = choose_srq(model, p);

		if ((srqn && has_srq(model, p, srqn)) || (other && other->srqn && !srq->srqn))
			return NULL;
	}
	process_id_text(peer->process, process);
	if (!srq->srqn)
		text_addf(&text,
			  "%s has not called ibv_get_srq_num(): remote_srqn 0x%x is not the number "
			  "of %s",
			  process, srqn, srq->name);
	else
		text_addf(&text,
			  "remote_srqn 0x%x is not an SRQ number of %s; the number of %s is 0x%x%s",
			  srqn, process, srq->name, srq->srqn,
			  __builtin_bswap32(srqn) == srq->srqn
				  ? ": remote_srqn has its bytes in reverse order"
				  : "");
	return text.at;
}

/* The most bytes that one request may send: for a datagram, the MTU. */
static uint64_t find_max_bytes(const struct device_port *port, bool datagram, const char **ret_name)
{
	*ret_name = datagram ? "active_mtu" : "max_msg_sz";
	if (!port)
		return 0;
	if (datagram)
		return port->active_mtu ? 128u << port->active_mtu : 0;
	return port->max_msg_sz;
}

static uint64_t sum_bytes(const struct queue *queue, const struct queue_request *request)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < request->nsge; i++)
		bytes += queue_sge(queue, request, i)->length;
	return bytes;
}

/* The result of an atomic has 8 bytes. */
static char *explain_failed_atomic(const struct queue *queue, const struct queue_request *request)
{
	uint64_t bytes = sum_bytes(queue, request);
	char *text;

	if (bytes == 8 ||
	    asprintf(&text, "the buffer of the atomic has %s, but an atomic returns 8 bytes",
		     WORDS_N(bytes, "byte")) < 0)
		return NULL;
	return text;
}

char *explain_too_long(struct model *model, const struct model_complete *complete)
{
	const struct life *qp = complete->qp, *context = model_context(model, qp);
	bool datagram = qp->qp && qp->qp->type == ABI_QPT_UD;
	const struct device *device = context ? context->device : NULL;
	uint32_t number = qp->qp && qp->qp->set & ABI_QP_PORT ? qp->qp->port : 1;
	uint64_t bytes, most;
	const char *name;
	char *text;

	if (!complete->queue->send)
		return NULL;
	if (is_atomic(complete->request->opcode))
		return explain_failed_atomic(complete->queue, complete->request);
	bytes = sum_bytes(complete->queue, complete->request);
	most = find_max_bytes(device_find_port(device, number), datagram, &name);
	if (!most || bytes <= most ||
	    asprintf(&text, "the request has %" PRIu64 " bytes, and %s of port %u is %" PRIu64,
		     bytes, name, number, most) < 0)
		return NULL;
	return text;
}

/* The outstanding request of @queue that sends or receives message @number; NULL: not known. */
static const struct queue_request *find_message(const struct queue *queue, uint64_t number)
{
	for (uint32_t i = 0; i < queue->count; i++)
		if (queue_at(queue, i)->message == number)
			return queue_at(queue, i);
	return NULL;
}

/* Does @queue belong to @qp alone, and are its messages numbered in order? */
static bool has_ordered_sends(const struct queue *queue, const struct life *qp)
{
	return queue && queue->owner == qp && !queue->doubt && queue->poster != UINT32_MAX;
}

char *explain_short_receive(const struct model_complete *complete, const struct peer *peer)
{
	const struct queue *queue = complete->queue, *there = NULL;
	const struct queue_request *mine = complete->request, *theirs;
	uint64_t own, other;
	char id[32], *text;

	if (peer && peer->life)
		there = queue->send ? peer->life->rq : peer->life->sq;
	if (!mine->message || mine->opcode == ABI_WR_RDMA_WRITE_WITH_IMM ||
	    !has_ordered_sends(queue, complete->qp) ||
	    !has_ordered_sends(there, peer ? peer->life : NULL))
		return NULL;
	theirs = find_message(there, mine->message);
	if (!theirs || theirs->opcode == ABI_WR_RDMA_WRITE_WITH_IMM)
		return NULL;
	own = sum_bytes(queue, mine);
	other = sum_bytes(there, theirs);
	if (queue->send ? own <= other : other <= own)
		return NULL;
	return asprintf(&text, "the peer's %s %s has %s, this %s %" PRIu64,
			queue->send ? "receive" : "message", event_id_text(queue_id(theirs), id),
			WORDS_N(other, "byte"), queue->send ? "message" : "receive", own) < 0
		       ? NULL
		       : text;
}
