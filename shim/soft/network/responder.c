/*
 * The responder
 *
 * Packets are executed in order: after a gap one NAK is sent, and packets are dropped until the
 * expected one arrives. Packets that were executed before are answered again: a read reads the
 * memory again, an atomic returns its stored result.
 *
 * A message of one packet is delivered like one from this machine (deliver.c). A longer message
 * takes a receive request with its first packet, and completes it with its last.
 *
 * Answers leave in the order of the requests. Long reads are answered a few packets at a time, so
 * that other queue pairs are not delayed; requests after them are dropped, and the requester sends
 * them again. Consecutive acknowledges are sent as one.
 *
 * An XRC packet names its shared receive queue, which may belong to another process. This queue is
 * its receiving end, and determines the memory that the packet may access (end.c). The packets of
 * one message have the same end.
 *
 * No state is stored for a refused packet; for executed ones, at most 16 reads and 16 atomics are
 * stored.
 *
 * Source: InfiniBand specification, 9.7.4, 9.7.5.1 and 9.9.3; for UC, 9.8.2.
 */
#include "shim/soft/network/responder.h"

#include <arpa/inet.h>
#include <errno.h>

#include "shim/soft/fabric/port.h"
#include "shim/soft/network/arrival.h"
#include "shim/soft/network/end.h"
#include "shim/soft/network/outbox.h"
#include "shim/soft/network/reads.h"
#include "shim/soft/network/single.h"
#include "shim/soft/transport/count.h"
#include "shim/soft/transport/deliver.h"
#include "shim/soft/transport/remote.h"

enum {
	PACKETS_A_TURN = 32, /* maximum packets of read responses that are sent at a time */
	/* maximum packets of read responses that are sent before the next request is executed */
	SHORT = 512,
};

void responder_start(struct network_qp *n, uint32_t psn)
{
	n->resp.psn = psn;
}

static bool is_reliable(const struct network_qp *n)
{
	return n->qp->shm->type != IBV_QPT_UC;
}

static void add_answer(struct network_qp *n, struct outbox *box, struct header *h, uint8_t opcode,
		       uint32_t psn, uint8_t syndrome)
{
	h->bth.opcode = network_transport(n->qp) | opcode;
	h->bth.pkey = n->qp->shm->pkey;
	h->bth.dest_qp = n->qp->shm->dest_qpn;
	h->bth.psn = psn;
	h->aeth.syndrome = syndrome;
	h->aeth.msn = n->resp.msn & PSN_MASK;
	outbox_add(box, &n->route, h, NULL, 0);
}

static void send_answer_now(struct network_qp *n, uint8_t opcode, uint32_t psn, uint8_t syndrome,
			    uint64_t original)
{
	struct header h = { .atomic_ack.original = original };
	struct outbox box;

	outbox_init(&box);
	add_answer(n, &box, &h, opcode, psn, syndrome);
	outbox_send(&box);
}

/* Refuse the expected packet: this also acknowledges the requests before it. */
static void refuse_packet(struct network_qp *n, uint8_t syndrome)
{
	if (!is_reliable(n))
		return;
	n->resp.owes_ack = false;
	send_answer_now(n, OPCODE_ACKNOWLEDGE, n->resp.psn, syndrome, 0);
}

static uint8_t syndrome_of(int status)
{
	switch (status) {
	case IBV_WC_REM_ACCESS_ERR:
		return AETH_NAK_ACCESS;
	case IBV_WC_REM_OP_ERR:
		return AETH_NAK_OPERATION;
	default:
		return AETH_NAK_INVALID;
	}
}

/* A request was not executed: send a NAK for @status, which is a completion status or CARRY_*. */
static void send_nak_for(struct network_qp *n, int status)
{
	if (status == EXECUTE_RNR)
		refuse_packet(n, AETH_RNR | (n->qp->shm->min_rnr_timer & 31));
	else if (status >= 0)
		refuse_packet(n, syndrome_of(status));
}

/*
 * The end that fails: the one whose receive request the arriving message has taken, else the
 * current one.
 */
static struct soft_remote *failing_end(const struct network_qp *n)
{
	return n->resp.arriving ? n->resp.end : n->end;
}

static int fail_responder_qp(struct network_qp *n, int event, int status)
{
	return deliver_refuse(failing_end(n), event, status);
}

static int refuse_invalid(struct network_qp *n)
{
	return fail_responder_qp(n, IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
}

static struct message message_of(const struct network_qp *n, const struct arrival *a,
				 struct copy_list *from)
{
	const struct header *h = &a->header;
	unsigned int has = opcode_headers(h->bth.opcode);
	bool write = opcode_info(h->bth.opcode)->kind == OPCODE_WRITE;

	return (struct message){
		.from = from,
		.length = n->resp.received + a->len,
		.src_qp = n->qp->shm->dest_qpn,
		.imm = has & OPCODE_IETH ? h->ieth.rkey : htonl(h->immdt.imm),
		.opcode = write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
		.wc_flags = has & OPCODE_IMMDT  ? IBV_WC_WITH_IMM
			    : has & OPCODE_IETH ? IBV_WC_WITH_INV
						: 0,
		.solicited = h->bth.solicited,
		.guarded = true,
	};
}

/* Store the payload in the receive request that the message has taken. */
static int store_part(struct network_qp *n, const struct arrival *a)
{
	uint32_t received = n->resp.received, len = received + a->len;
	struct copy_list from = arrival_payload(a), to;
	int err;

	if (len > deliver_claimed_length(n->end))
		return deliver_fail_claimed(n->end, IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR);
	if (!deliver_list_claimed(n->end, len, &to))
		return deliver_fail_claimed(n->end, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
	copy_list_skip(&to, received);
	err = end_put(n->end, &from, &to);
	if (err == -EFAULT)
		return deliver_fail_claimed(n->end, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
	return deliver_copy_error(err);
}

static bool is_claimed(const struct network_qp *n)
{
	return n->end->shm->claimed;
}

/*
 * If a message is too long, an unreliable queue pair drops it; its receive request stays at the
 * head.
 */
static int drop_too_long(struct network_qp *n, const struct arrival *a)
{
	return !is_reliable(n) && n->resp.received + a->len > deliver_claimed_length(n->end)
		       ? IBV_WC_REM_INV_REQ_ERR
		       : IBV_WC_SUCCESS;
}

static int execute_send(struct network_qp *n, const struct arrival *a)
{
	uint8_t place = opcode_info(a->header.bth.opcode)->place;
	struct copy_list from = arrival_payload(a);
	struct message m = message_of(n, a, &from);
	int status;

	if (n->end->tm)
		return refuse_invalid(n);
	/*
	 * the first packets of an abandoned UC message may have taken the receive request already
	 */
	if (place & OPCODE_FIRST && place & OPCODE_LAST && !is_claimed(n))
		return deliver_message(n->end, &m);
	if (place & OPCODE_FIRST && !is_claimed(n) && !deliver_claim(n->end))
		return EXECUTE_RNR;
	status = drop_too_long(n, a);
	if (status == IBV_WC_SUCCESS)
		status = store_part(n, a);
	if (status == IBV_WC_SUCCESS && place & OPCODE_LAST)
		status = deliver_finish_claimed(n->end, &m);
	return status;
}

/* Fail the queue pair: the program has unmapped memory that is registered. */
static int fail_unmapped(struct network_qp *n)
{
	return deliver_fail_responder(failing_end(n), IBV_EVENT_QP_FATAL, IBV_WC_REM_OP_ERR);
}

/* Store the payload of a write, whose range in the region was checked with the first packet. */
static int write_part(struct network_qp *n, const struct arrival *a)
{
	const struct responder *resp = &n->resp;
	struct copy_list from = arrival_payload(a), to;
	int err;

	if (!copy_list_check_remote(n->end->peer->seg, n->end->pd, n->qpn, IBV_ACCESS_REMOTE_WRITE,
				    resp->addr, resp->rkey, a->len, &to))
		return fail_responder_qp(n, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
	if (end_would_overtake(n->end, &to))
		return EXECUTE_LATER;
	err = end_put(n->end, &from, &to);
	return err == -EFAULT ? fail_unmapped(n) : deliver_copy_error(err);
}

static int begin_write(struct network_qp *n, const struct arrival *a)
{
	const struct header *h = &a->header;
	struct copy_list to;

	if (!(n->end->shm->access & IBV_ACCESS_REMOTE_WRITE))
		return refuse_invalid(n);
	if (!copy_list_check_remote(n->end->peer->seg, n->end->pd, n->qpn, IBV_ACCESS_REMOTE_WRITE,
				    h->reth.addr, h->reth.rkey, h->reth.length, &to))
		return fail_responder_qp(n, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
	n->resp.addr = h->reth.addr;
	n->resp.rkey = h->reth.rkey;
	n->resp.left = h->reth.length;
	return IBV_WC_SUCCESS;
}

static int finish_write(struct network_qp *n, const struct arrival *a)
{
	struct message m = message_of(n, a, NULL);
	int status = IBV_WC_SUCCESS;

	if (opcode_headers(a->header.bth.opcode) & OPCODE_IMMDT)
		status = deliver_completion_only(n->end, &m);
	if (status >= 0)
		count_request(n->end->peer->seg, n->end->shm, SHM_COUNT_REMOTE_WRITE, status,
			      m.length);
	return status;
}

static int execute_write(struct network_qp *n, const struct arrival *a)
{
	uint8_t place = opcode_info(a->header.bth.opcode)->place;
	bool last = place & OPCODE_LAST;
	int status = IBV_WC_SUCCESS;

	if (place & OPCODE_FIRST)
		status = begin_write(n, a);
	if (status == IBV_WC_SUCCESS && (a->len > n->resp.left || (last && a->len != n->resp.left)))
		status = refuse_invalid(n);
	if (status == IBV_WC_SUCCESS && opcode_headers(a->header.bth.opcode) & OPCODE_IMMDT &&
	    !deliver_ready(n->end))
		status = EXECUTE_RNR;
	if (status == IBV_WC_SUCCESS && a->len)
		status = write_part(n, a);
	if (status == IBV_WC_SUCCESS && last)
		status = finish_write(n, a);
	if (status == IBV_WC_SUCCESS) {
		n->resp.addr += a->len;
		n->resp.left -= a->len;
	}
	return status;
}

static uint32_t count_packets(const struct network_qp *n, uint32_t length)
{
	return length ? (length - 1) / n->mtu + 1 : 1;
}

/* Answer a flush or an atomic write, like an empty read. */
static int answer_single(struct network_qp *n, const struct arrival *a)
{
	struct network_read read = {
		.end = n->end, .psn = a->header.bth.psn, .left = 1, .empty = true
	};

	return reads_add(n, &read) ? IBV_WC_SUCCESS : EXECUTE_LATER;
}

static int take_single(struct network_qp *n, const struct arrival *a)
{
	int status = reads_has_room(n) ? single_execute(n->end, a) : IBV_WC_REM_INV_REQ_ERR;

	switch (status) {
	case IBV_WC_SUCCESS:
		return answer_single(n, a);
	case IBV_WC_REM_OP_ERR:
		return fail_unmapped(n);
	case IBV_WC_REM_ACCESS_ERR:
		return fail_responder_qp(n, IBV_EVENT_QP_ACCESS_ERR, status);
	default:
		return status < 0 ? status : refuse_invalid(n);
	}
}

/* Add a read to the list of reads to be answered. @again: it was answered before. */
static int schedule_read(struct network_qp *n, const struct arrival *a, bool again)
{
	const struct header *h = &a->header;
	struct network_read read;
	struct copy_list from;

	if (!(n->end->shm->access & IBV_ACCESS_REMOTE_READ) || !reads_has_room(n))
		return again ? EXECUTE_LATER : refuse_invalid(n);
	if (!copy_list_check_remote(n->end->peer->seg, n->end->pd, n->qpn, IBV_ACCESS_REMOTE_READ,
				    h->reth.addr, h->reth.rkey, h->reth.length, &from))
		return fail_responder_qp(n, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
	read = (struct network_read){
		.end = n->end,
		.psn = h->bth.psn,
		.left = count_packets(n, h->reth.length),
		.addr = h->reth.addr,
		.rkey = h->reth.rkey,
		.length = h->reth.length,
	};
	reads_add(n, &read);
	return IBV_WC_SUCCESS;
}

static int execute_atomic(struct network_qp *n, const struct arrival *a)
{
	const struct header *h = &a->header;
	struct responder *resp = &n->resp;
	struct copy_list there;
	uint64_t old = 0;
	int err;

	if (!(n->end->shm->access & IBV_ACCESS_REMOTE_ATOMIC) || !n->end->shm->max_dest_rd ||
	    h->atomic.addr % 8)
		return refuse_invalid(n);
	if (!copy_list_check_remote(n->end->peer->seg, n->end->pd, n->qpn, IBV_ACCESS_REMOTE_ATOMIC,
				    h->atomic.addr, h->atomic.rkey, sizeof(old), &there))
		return fail_responder_qp(n, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
	if (end_would_overtake(n->end, &there))
		return EXECUTE_LATER;
	err = end_execute_atomic(n->end, h, &there, &old);
	if (err < 0)
		return err == -EFAULT ? fail_unmapped(n) : deliver_copy_error(err);
	resp->atomic[resp->atomics++ % NETWORK_RD_ATOMIC] =
		(struct network_atomic){ .psn = h->bth.psn, .original = old };
	return IBV_WC_SUCCESS;
}

/* Does the packet continue the arriving message, or begin a new one, and is its length right? */
static bool continues_message(const struct network_qp *n, const struct arrival *a)
{
	const struct opcode_info *info = opcode_info(a->header.bth.opcode);
	const struct responder *resp = &n->resp;
	bool last = info->place & OPCODE_LAST, first = info->place & OPCODE_FIRST;

	if (resp->arriving && resp->end != n->end)
		return false;
	if (!(info->place & OPCODE_PAYLOAD))
		return !resp->arriving && !a->len;
	if (first == resp->arriving || (!first && info->kind != resp->kind))
		return false;
	if (!last)
		return a->len == n->mtu * a->packets;
	return a->len <= n->mtu && (first || a->len);
}

static uint8_t choose_response(bool first, bool last)
{
	if (first)
		return last ? OPCODE_READ_RESPONSE_ONLY : OPCODE_READ_RESPONSE_FIRST;
	return last ? OPCODE_READ_RESPONSE_LAST : OPCODE_READ_RESPONSE_MIDDLE;
}

/*
 * Send the next packet of the read. Returns an error status if the memory is unmapped, or
 * EXECUTE_LATER.
 */
static int send_response(struct network_qp *n, struct network_read *read, struct outbox *box,
			 bool first)
{
	uint32_t len = read->length < n->mtu ? read->length : n->mtu;
	struct copy_list from;
	struct header h = { .aeth = { .syndrome = AETH_ACK, .msn = n->resp.msn & PSN_MASK } };
	int status;

	if (!read->empty &&
	    !copy_list_check_remote(read->end->peer->seg, read->end->pd, n->qpn,
				    IBV_ACCESS_REMOTE_READ, read->addr, read->rkey, len, &from))
		return IBV_WC_REM_ACCESS_ERR;
	status = read->empty ? IBV_WC_SUCCESS : end_populate(read->end, &from, len, box);
	if (status != IBV_WC_SUCCESS)
		return status;
	h.bth.opcode = network_transport(n->qp) | choose_response(first, read->left == 1);
	h.bth.pkey = n->qp->shm->pkey;
	h.bth.dest_qp = n->qp->shm->dest_qpn;
	h.bth.psn = read->psn;
	outbox_add(box, &n->route, &h, &from, len);
	read->psn = psn_add(read->psn, 1);
	read->addr += len;
	read->length -= len;
	read->left--;
	return IBV_WC_SUCCESS;
}

/* Answer reads from the current end. */
static int answer_reads(struct network_qp *n, struct outbox *box)
{
	int status = IBV_WC_SUCCESS;
	struct network_read *read;
	unsigned int sent;

	for (sent = 0; status == IBV_WC_SUCCESS && n->resp.reads && sent < PACKETS_A_TURN; sent++) {
		read = reads_first(n);
		if (read->end != n->end)
			break;
		status = send_response(n, read, box, !read->begun);
		read->begun = true;
		if (status != IBV_WC_SUCCESS || read->left)
			continue;
		if (!read->empty)
			count_request(n->end->peer->seg, n->end->shm, SHM_COUNT_REMOTE_READ,
				      IBV_WC_SUCCESS, 0);
		reads_remove_first(n);
	}
	return status;
}

/*
 * Drop the reads: with a negative @status they will be requested again; else fail, and send a NAK.
 */
static void fail_reads(struct network_qp *n, struct outbox *box, int status)
{
	uint32_t psn = reads_first(n)->psn;
	bool denied = status == IBV_WC_REM_ACCESS_ERR;
	struct header h = { 0 };

	n->resp.reads = 0;
	if (status < 0)
		return;
	deliver_fail_responder(failing_end(n),
			       denied ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_FATAL, 0);
	add_answer(n, box, &h, OPCODE_ACKNOWLEDGE, psn, syndrome_of(status));
}

/*
 * Answer the reads before a request, which must be answered first. False: they are so long that
 * other queue pairs would be delayed; the packet is dropped, and will be sent again.
 */
static bool finish_reads(struct network_qp *n)
{
	int status = IBV_WC_SUCCESS;
	struct outbox box;

	if (reads_packets(n) > SHORT)
		return false;
	outbox_init(&box);
	while (status == IBV_WC_SUCCESS && n->resp.reads)
		status = answer_reads(n, &box);
	if (status != IBV_WC_SUCCESS)
		fail_reads(n, &box, status);
	outbox_send(&box);
	return status == IBV_WC_SUCCESS;
}

/*
 * XRC: refuse the packet, since the shared queue does not exist, is in another domain, or has
 * failed.
 */
static int refuse_shared(struct network_qp *n, int status)
{
	bool failed = status == IBV_WC_REM_OP_ERR;

	return fail_responder_qp(n, failed ? IBV_EVENT_QP_FATAL : IBV_EVENT_QP_REQ_ERR, status);
}

static int execute_packet(struct network_qp *n, const struct arrival *a)
{
	int status = n->end->xrc ? remote_check_xrc(n->end) : IBV_WC_SUCCESS;

	if (status != IBV_WC_SUCCESS)
		return refuse_shared(n, status);
	if (!continues_message(n, a))
		return refuse_invalid(n);
	deliver_establish(n->end);
	switch (opcode_info(a->header.bth.opcode)->kind) {
	case OPCODE_SEND:
		return execute_send(n, a);
	case OPCODE_WRITE:
		return execute_write(n, a);
	case OPCODE_READ:
		return schedule_read(n, a, false);
	case OPCODE_ATOMIC:
		return execute_atomic(n, a);
	default:
		return take_single(n, a);
	}
}

/* The expected packet was executed: expect the next one. */
static void advance_psn(struct network_qp *n, const struct arrival *a)
{
	const struct opcode_info *info = opcode_info(a->header.bth.opcode);
	struct responder *resp = &n->resp;
	bool read = info->kind == OPCODE_READ;

	resp->psn = psn_add(resp->psn, read ? count_packets(n, a->header.reth.length) : a->packets);
	resp->refused = false;
	resp->end = n->end;
	resp->kind = info->kind;
	resp->arriving = info->place & OPCODE_PAYLOAD && !(info->place & OPCODE_LAST);
	resp->received = resp->arriving ? resp->received + a->len : 0;
	if (!resp->arriving)
		resp->msn++;
}

static void execute_expected(struct network_qp *n, const struct arrival *a)
{
	struct responder *resp = &n->resp;
	uint8_t kind = opcode_info(a->header.bth.opcode)->kind;
	int status;

	if (resp->reads && !finish_reads(n))
		return;
	status = execute_packet(n, a);
	if (status != IBV_WC_SUCCESS) {
		send_nak_for(n, status);
		return;
	}
	advance_psn(n, a);
	if (kind == OPCODE_ATOMIC) {
		resp->owes_ack = false;
		send_answer_now(n, OPCODE_ATOMIC_ACKNOWLEDGE, a->header.bth.psn, AETH_ACK,
				resp->atomic[(resp->atomics - 1) % NETWORK_RD_ATOMIC].original);
	} else if (kind <= OPCODE_WRITE && a->header.bth.ack_request) {
		resp->owes_ack = true;
	}
}

static void repeat_atomic(struct network_qp *n, uint32_t psn)
{
	unsigned int i;

	for (i = 0; i < NETWORK_RD_ATOMIC && i < n->resp.atomics; i++)
		if (n->resp.atomic[i].psn == psn)
			send_answer_now(n, OPCODE_ATOMIC_ACKNOWLEDGE, psn, AETH_ACK,
					n->resp.atomic[i].original);
}

/* Answer a packet again that was executed before. */
static void repeat_executed(struct network_qp *n, const struct arrival *a)
{
	uint32_t end;

	switch (opcode_info(a->header.bth.opcode)->kind) {
	case OPCODE_READ:
		end = psn_add(a->header.bth.psn, count_packets(n, a->header.reth.length));
		if (n->end->peer && !psn_is_before(n->resp.psn, end)) /* the answer was complete */
			schedule_read(n, a, true);
		break;
	case OPCODE_FLUSH:
	case OPCODE_ATOMIC_WRITE:
		if (n->end->peer)
			answer_single(n, a);
		break;
	case OPCODE_ATOMIC:
		if (!n->resp.reads)
			repeat_atomic(n, a->header.bth.psn);
		break;
	default:
		n->resp.owes_ack = true;
	}
}

static void receive_reliable(struct network_qp *n, const struct arrival *a)
{
	int32_t ahead = psn_diff(a->header.bth.psn, n->resp.psn);

	if (ahead < 0) {
		repeat_executed(n, a);
	} else if (!ahead) {
		execute_expected(n, a);
	} else if (!n->resp.refused && !n->resp.reads) {
		n->resp.refused = true;
		refuse_packet(n, AETH_NAK_SEQUENCE);
	}
}

/*
 * Receive a UC packet: after a loss, the rest of the message is dropped until another message
 * begins.
 */
static void receive_unreliable(struct network_qp *n, const struct arrival *a)
{
	struct responder *resp = &n->resp;
	bool first = opcode_info(a->header.bth.opcode)->place & OPCODE_FIRST;

	if (a->header.bth.psn != resp->psn || first)
		resp->arriving = false;
	if (!resp->arriving)
		resp->received = 0;
	resp->psn = a->header.bth.psn;
	if (!continues_message(n, a) || execute_packet(n, a) != IBV_WC_SUCCESS) {
		resp->arriving = false;
		resp->received = 0;
		resp->psn = psn_add(resp->psn, 1);
		return;
	}
	advance_psn(n, a);
}

static void receive_request(struct network_qp *n, const struct arrival *a)
{
	(is_reliable(n) ? receive_reliable : receive_unreliable)(n, a);
}

/* Execute several joined packets as one, if they are the expected ones. */
static void receive_requests(struct network_qp *n, const struct arrival *a)
{
	struct arrival part;
	uint32_t i;

	if (a->packets == 1 || a->header.bth.psn == n->resp.psn) {
		receive_request(n, a);
		return;
	}
	for (i = 0; i < a->packets; i++) {
		part = arrival_part(a, i);
		receive_request(n, &part);
	}
}

static bool is_failed(const struct network_qp *n)
{
	return __atomic_load_n(&n->qp->shm->state, __ATOMIC_SEQ_CST) == IBV_QPS_ERR;
}

/* Answer the reads of other ends than @end, which have other locks. False: that takes too long. */
static bool finish_reads_of_others(struct network_qp *n, const struct soft_remote *end)
{
	while (reads_has_other_end(n, end)) {
		if (reads_packets(n) > SHORT)
			return false;
		responder_answer(n);
	}
	return true;
}

static bool take_arrival_locked(struct network_qp *n, const struct arrival *a)
{
	bool failed;

	if (!remote_lock_datagram(n->qp, n->end, n->qpn))
		return false;
	receive_requests(n, a);
	failed = is_failed(n);
	remote_unlock(n->end);
	return failed;
}

bool responder_take(struct network_qp *n, const struct arrival *a)
{
	struct soft_remote *end;

	end = end_find(n, a);
	if (!end || !finish_reads_of_others(n, end))
		return false;
	n->end = end;
	return take_arrival_locked(n, a);
}

/* Answer the next reads, as far as they have the same end. */
static void answer_turn(struct network_qp *n, struct outbox *box)
{
	int status;

	n->end = reads_first(n)->end;
	if (!remote_lock_datagram(n->qp, n->end, n->qpn)) {
		n->resp.reads = 0; /* the queue pair has failed */
		return;
	}
	status = answer_reads(n, box);
	if (status != IBV_WC_SUCCESS)
		fail_reads(n, box, status);
	outbox_send(box);
	remote_unlock(n->end);
}

bool responder_answer(struct network_qp *n)
{
	struct responder *resp = &n->resp;
	struct header h = { 0 };
	struct outbox box;

	if (!resp->reads && !resp->owes_ack)
		return false;
	outbox_init(&box);
	if (resp->reads)
		answer_turn(n, &box);
	if (!resp->reads && resp->owes_ack) {
		resp->owes_ack = false;
		add_answer(n, &box, &h, OPCODE_ACKNOWLEDGE, psn_add(resp->psn, -1), AETH_ACK);
	}
	outbox_send(&box);
	return resp->reads;
}
