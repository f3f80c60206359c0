/*
 * The requester
 *
 * Each request has a range of packet sequence numbers (PSNs), assigned when its first packet is
 * sent; a read has the PSNs of the packets of its answer:
 *
 *	request	 | next: partly answered | in flight  | pos: being sent | not begun
 *	PSN	      | unacked                            | at    | psn
 *
 * A lost packet is noticed when the peer refuses the next one, when a later packet is answered, or
 * when the timer expires. Then all packets from unacked on are sent again, from the program's
 * memory. A read is repeated for the missing part of its answer.
 *
 * At most @window packets are in flight. The window is halved by each loss and grows with each
 * answer, since the peer's socket has little space, and nothing else would slow the sender down.
 * Long reads are requested in parts for the same reason.
 *
 * Source: InfiniBand specification, 9.7.5 and 9.9.2.
 */
#include "shim/soft/network/requester.h"

#include <arpa/inet.h>

#include "shim/soft/fabric/copy.h"
#include "shim/soft/fabric/port_counters.h"
#include "shim/soft/network/alarm.h"
#include "shim/soft/network/outbox.h"
#include "shim/soft/network/single.h"
#include "shim/soft/transport/execute.h"
#include "shim/soft/transport/retry_timeout.h"
#include "shim/soft/transport/pending.h"
#include "shim/soft/transport/sq.h"
#include "shim/soft/transport/window.h"

enum {
	WINDOW_BEGIN = 32,
	READ_PART = 16,     /* packets requested at a time */
	ASK_ACK = 16,       /* request an acknowledge for every 16th packet */
	LATE_NS = 10000000, /* ns after which a timer is noticed late */
	LATE_MAX = 3,       /* late timers in a row that do not count */
};

void requester_start(struct network_qp *n, uint32_t psn)
{
	struct requester *req = &n->req;

	req->psn = req->unacked = req->at = psn;
	req->pos = req->started = n->qp->sq.next;
	req->window = WINDOW_BEGIN;
	req->ready = true;
}

static uint32_t *first_psn(struct network_qp *n, uint32_t pos)
{
	return &n->req.first[pos & n->qp->sq.mask];
}

static uint32_t *num_packets(struct network_qp *n, uint32_t pos)
{
	return &n->req.packets[pos & n->qp->sq.mask];
}

static uint32_t last_psn(struct network_qp *n, uint32_t pos)
{
	return psn_add(*first_psn(n, pos), *num_packets(n, pos) - 1);
}

bool requester_is_busy(const struct soft_qp *qp)
{
	return network_qp_of(qp)->req.started != qp->sq.next;
}

/* The opcodes of a request, by the position of the packet in the message. */
struct packet_opcodes {
	uint8_t first, middle, last, only;
};

#define SHAPE(kind, end)                                                                  \
	{                                                                                 \
		OPCODE_##kind##_FIRST, OPCODE_##kind##_MIDDLE, OPCODE_##kind##_LAST##end, \
			OPCODE_##kind##_ONLY##end                                         \
	}

/* clang-format off */
static const struct packet_opcodes shapes[] = {
	[IBV_WR_RDMA_WRITE]		= SHAPE(WRITE, ),
	[IBV_WR_RDMA_WRITE_WITH_IMM]	= SHAPE(WRITE, _IMM),
	[IBV_WR_SEND]			= SHAPE(SEND, ),
	[IBV_WR_SEND_WITH_IMM]		= SHAPE(SEND, _IMM),
	[IBV_WR_SEND_WITH_INV]		= SHAPE(SEND, _INV),
};
/* clang-format on */

static uint8_t choose_opcode(const struct soft_wr *wr, bool first, bool last)
{
	const struct packet_opcodes *shape = &shapes[wr->opcode];

	if (first)
		return last ? shape->only : shape->first;
	return last ? shape->last : shape->middle;
}

static void fill_bth(struct network_qp *n, const struct soft_wr *wr, struct header *h,
		     uint8_t opcode, uint32_t psn)
{
	h->bth.opcode = network_transport(n->qp) | opcode;
	h->bth.pkey = n->qp->shm->pkey;
	h->bth.dest_qp = n->qp->shm->dest_qpn;
	h->bth.psn = psn;
	h->xrceth.srqn = wr->srqn & PSN_MASK;
}

/* Fill in the header of packet @i of a message of @packets packets. */
static void fill_message(struct network_qp *n, const struct soft_wr *wr, uint32_t i,
			 uint32_t packets, uint32_t psn, struct header *h)
{
	bool last = i + 1 == packets;

	*h = (struct header){
		.reth = { .addr = wr->remote_addr, .rkey = wr->rkey, .length = wr->length },
		.immdt.imm = ntohl(wr->imm),
		.ieth.rkey = wr->imm,
	};
	fill_bth(n, wr, h, choose_opcode(wr, !i, last), psn);
	h->bth.solicited = last && wr->flags & IBV_SEND_SOLICITED;
}

static bool is_atomic(const struct soft_wr *wr)
{
	return wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Is the request answered by a response, not only by an acknowledge? */
static bool has_response(const struct soft_wr *wr)
{
	return wr->opcode == IBV_WR_RDMA_READ || single_is(wr->opcode);
}

static uint32_t count_packets(const struct network_qp *n, const struct soft_wr *wr)
{
	if (single_is(wr->opcode))
		return 1;
	return wr->length ? (wr->length - 1) / n->mtu + 1 : 1;
}

static uint32_t payload_of(const struct network_qp *n, const struct soft_wr *wr, uint32_t i)
{
	uint64_t from = (uint64_t)i * n->mtu;

	return wr->length - from < n->mtu ? wr->length - from : n->mtu;
}

static bool is_local(const struct soft_wr *wr)
{
	return wr->opcode == IBV_WR_BIND_MW || wr->opcode == IBV_WR_LOCAL_INV;
}

/*
 * Complete the request at sq.next. False: its completion must wait; or the request and the queue
 * pair have failed.
 */
static bool complete_next(struct network_qp *n, int status)
{
	struct soft_qp *qp = n->qp;

	if (!sq_finish(qp, status)) {
		pending_add(qp);
		return false;
	}
	if ((int32_t)(n->req.pos - qp->sq.next) < 0)
		n->req.pos = qp->sq.next;
	if ((int32_t)(n->req.started - qp->sq.next) < 0) /* requests not begun are flushed */
		n->req.started = qp->sq.next;
	return status == IBV_WC_SUCCESS;
}

/* The request fails locally: complete it when all requests before it are done. Returns false. */
static bool refuse_request(struct network_qp *n, int status)
{
	if (n->req.pos == n->qp->sq.next)
		complete_next(n, status);
	return false;
}

/* Execute an operation on a window, when all requests before it are done: it needs no packets. */
static bool run_local(struct network_qp *n, struct soft_wr *wr)
{
	struct requester *req = &n->req;

	if (req->pos != n->qp->sq.next || !complete_next(n, window_execute(n->qp, wr)))
		return false;
	req->started = req->pos;
	return true;
}

static int check_request(struct network_qp *n, struct soft_wr *wr, struct copy_list *list)
{
	return execute_check_local(n->qp, wr, list);
}

static bool is_sending(const struct soft_qp *qp)
{
	return __atomic_load_n(&qp->shm->state, __ATOMIC_SEQ_CST) == IBV_QPS_RTS;
}

/* May the queue pair receive answers? */
static bool is_open(const struct network_qp *n)
{
	uint32_t state = __atomic_load_n(&n->qp->shm->state, __ATOMIC_SEQ_CST);

	return n->req.ready && !n->qp->sq.owes && (state == IBV_QPS_RTS || state == IBV_QPS_SQD);
}

/* Begin the next request: false if there is none, or if it must wait. */
static bool begin_request(struct network_qp *n)
{
	struct requester *req = &n->req;
	struct soft_qp *qp = n->qp;
	struct soft_wr *wr = sq_slot(&qp->sq, req->pos);
	struct copy_list list;
	int status;

	if (req->pos == qp->sq.head || !is_sending(qp) ||
	    (wr->flags & IBV_SEND_FENCE && req->reads))
		return false;
	if (is_local(wr))
		return run_local(n, wr);
	status = check_request(n, wr, &list);
	if (status != IBV_WC_SUCCESS)
		return refuse_request(n, status);
	*first_psn(n, req->pos) = req->psn;
	*num_packets(n, req->pos) = count_packets(n, wr);
	req->psn = psn_add(req->psn, *num_packets(n, req->pos));
	req->started++;
	return true;
}

static uint32_t window_room(const struct requester *req)
{
	int32_t flying = psn_diff(req->at, req->unacked);

	return flying < (int32_t)req->window ? req->window - flying : 0;
}

/* Are the first @len bytes of @list still mapped by the program? */
static bool is_mapped(const struct soft_wr *wr, const struct copy_list *list, uint64_t len)
{
	struct copy_list rest = *list, begin;

	if (wr->flags & IBV_SEND_INLINE)
		return true;
	copy_list_cut(&rest, len, &begin);
	return copy_list_populate(&begin, false);
}

/* Send the next packets of @wr. IBV_WC_LOC_PROT_ERR if the program has unmapped its memory. */
static int send_message(struct network_qp *n, struct soft_wr *wr, struct copy_list *list,
			struct outbox *box)
{
	struct requester *req = &n->req;
	uint32_t packets = *num_packets(n, req->pos), room = window_room(req);
	uint32_t i = psn_diff(req->at, *first_psn(n, req->pos));
	struct header h;

	copy_list_skip(list, (size_t)i * n->mtu);
	if (!is_mapped(wr, list, (uint64_t)room * n->mtu))
		return IBV_WC_LOC_PROT_ERR;
	for (; room && i < packets; i++, room--) {
		fill_message(n, wr, i, packets, req->at, &h);
		h.bth.ack_request = i + 1 == packets || room == 1 || i % ASK_ACK == ASK_ACK - 1;
		outbox_add(box, &n->route, &h, list, payload_of(n, wr, i));
		req->at = psn_add(req->at, 1);
	}
	return IBV_WC_SUCCESS;
}

static bool may_read(struct network_qp *n)
{
	uint32_t most = n->qp->attr.max_rd_atomic;

	return n->req.reads < (most < NETWORK_RD_ATOMIC ? most : NETWORK_RD_ATOMIC);
}

static void note_read(struct requester *req, uint32_t packets)
{
	req->at = psn_add(req->at, packets);
	req->read_end[(req->first_read + req->reads++) % NETWORK_RD_ATOMIC] = psn_add(req->at, -1);
}

/*
 * Request the next part of a read. Parts begin at multiples of their length: what is requested
 * again must be within a part that was requested before. False: the part must wait.
 */
static bool send_read(struct network_qp *n, struct soft_wr *wr, struct outbox *box)
{
	struct requester *req = &n->req;
	uint32_t i = psn_diff(req->at, *first_psn(n, req->pos));
	uint32_t rest = *num_packets(n, req->pos) - i, part = READ_PART - i % READ_PART;
	uint64_t from = (uint64_t)i * n->mtu;
	struct header h = { .reth.addr = wr->remote_addr + from, .reth.rkey = wr->rkey };

	if (part > rest)
		part = rest;
	if ((window_room(req) < part && req->at != req->unacked) || !may_read(n))
		return false;
	h.reth.length = part == rest ? wr->length - from : part * n->mtu;
	fill_bth(n, wr, &h, OPCODE_READ_REQUEST, req->at);
	h.bth.ack_request = 1;
	outbox_add(box, &n->route, &h, NULL, 0);
	note_read(req, part);
	return true;
}

static bool send_single(struct network_qp *n, struct soft_wr *wr, struct outbox *box)
{
	bool write = wr->opcode == IBV_WR_ATOMIC_WRITE;
	struct copy_list list;
	struct header h = { 0 };
	int status;

	if (!window_room(&n->req) || !may_read(n))
		return false;
	status = check_request(n, wr, &list);
	if (status != IBV_WC_SUCCESS)
		return refuse_request(n, status);
	fill_bth(n, wr, &h, single_fill(wr, &h), n->req.at);
	h.bth.ack_request = 1;
	outbox_add(box, &n->route, &h, write ? &list : NULL, write ? wr->length : 0);
	note_read(&n->req, 1);
	return true;
}

/* Send the next packets of the request at req.pos. False: no more for now. */
static bool send_next_packets(struct network_qp *n, struct outbox *box)
{
	struct soft_wr *wr = sq_slot(&n->qp->sq, n->req.pos);
	struct copy_list list;
	int status;

	if (wr->opcode == IBV_WR_RDMA_READ)
		return send_read(n, wr, box);
	if (single_is(wr->opcode))
		return send_single(n, wr, box);
	if (!window_room(&n->req))
		return false;
	status = check_request(n, wr, &list);
	if (status == IBV_WC_SUCCESS)
		status = send_message(n, wr, &list, box);
	return status == IBV_WC_SUCCESS || refuse_request(n, status);
}

static bool send_next(struct network_qp *n, struct outbox *box)
{
	struct requester *req = &n->req;

	if (req->hold || (req->pos == req->started && !begin_request(n)))
		return false;
	if (req->pos == req->started)
		return true; /* the request needed no packets */
	if (psn_is_before(last_psn(n, req->pos), req->at)) {
		req->pos++;
		return true;
	}
	return send_next_packets(n, box);
}

static uint64_t timer_ns(const struct network_qp *n)
{
	return 4096ull << n->qp->attr.timeout;
}

static void set_timer(struct network_qp *n, bool again)
{
	const struct requester *req = &n->req;

	if (req->hold)
		alarm_set(n, req->hold);
	else if (req->unacked == req->psn || !n->qp->attr.timeout)
		alarm_set(n, 0);
	else if (again || !n->due)
		alarm_set(n, process_now() + timer_ns(n));
}

static void run_reliable(struct network_qp *n)
{
	struct outbox box;

	if (!is_open(n)) /* the queue pair has just failed */
		return;
	outbox_init(&box);
	while (send_next(n, &box))
		;
	outbox_send(&box);
	set_timer(n, false);
}

static int send_unreliable(struct network_qp *n, struct soft_wr *wr)
{
	uint32_t packets = count_packets(n, wr), i;
	struct copy_list list;
	struct outbox box;
	struct header h;
	int status = check_request(n, wr, &list);

	if (status == IBV_WC_SUCCESS && !is_mapped(wr, &list, wr->length))
		status = IBV_WC_LOC_PROT_ERR;
	if (status != IBV_WC_SUCCESS)
		return status;
	outbox_init(&box);
	for (i = 0; i < packets; i++) {
		fill_message(n, wr, i, packets, n->req.psn, &h);
		outbox_add(&box, &n->route, &h, &list, payload_of(n, wr, i));
		n->req.psn = psn_add(n->req.psn, 1);
	}
	outbox_send(&box);
	return IBV_WC_SUCCESS;
}

/* Send on a UC queue pair, where a request completes when it is sent. */
static void run_unreliable(struct network_qp *n)
{
	struct soft_sq *sq = &n->qp->sq;
	struct soft_wr *wr;
	int status;

	while (sq->next != sq->head && is_sending(n->qp)) {
		wr = sq_slot(sq, sq->next);
		status = is_local(wr) ? window_execute(n->qp, wr) : send_unreliable(n, wr);
		if (!complete_next(n, status))
			break;
	}
	n->req.started = sq->next;
}

void requester_run(struct soft_qp *qp)
{
	struct network_qp *n = network_qp_of(qp);

	if (!n->req.ready)
		return;
	if (qp->shm->type == IBV_QPT_UC)
		run_unreliable(n);
	else
		run_reliable(n);
}

static void rewind_requests(struct network_qp *n)
{
	struct requester *req = &n->req;

	req->pos = n->qp->sq.next;
	req->at = req->unacked;
	req->reads = 0;
}

static void shrink_window(struct requester *req)
{
	req->window /= 2;
	if (req->window < NETWORK_WINDOW_MIN)
		req->window = NETWORK_WINDOW_MIN;
}

/*
 * An answer shows that an earlier one was lost: send again, but only once until some progress is
 * made.
 */
static void retry_once(struct network_qp *n)
{
	if (n->req.asked_again)
		return;
	n->req.asked_again = true;
	shrink_window(&n->req);
	rewind_requests(n);
}

/* Everything before @psn has been answered: note the progress. */
static void note_progress_to(struct network_qp *n, uint32_t psn)
{
	struct requester *req = &n->req;

	req->unacked = psn;
	req->tries = 0;
	req->late = 0;
	req->rnr_tries = 0;
	req->asked_again = false;
	if (req->window < NETWORK_WINDOW_MAX)
		req->window++;
	for (; req->reads && psn_is_before(req->read_end[req->first_read], psn); req->reads--)
		req->first_read = (req->first_read + 1) % NETWORK_RD_ATOMIC;
	if (psn_is_before(req->at, psn)) {
		req->at = psn;
		req->pos = n->qp->sq.next;
	}
	set_timer(n, true);
}

/*
 * Complete the requests whose packets, up to @psn, have arrived. False: the queue cannot go on, for
 * example at a read that has not been answered: its answer was lost.
 */
static bool complete_up_to(struct network_qp *n, uint32_t psn)
{
	struct requester *req = &n->req;
	struct soft_sq *sq = &n->qp->sq;
	uint32_t last;

	while (sq->next != req->started && !psn_is_before(psn, req->unacked)) {
		if (has_response(sq_slot(sq, sq->next))) {
			retry_once(n);
			break;
		}
		last = last_psn(n, sq->next);
		if (psn_is_before(psn, last)) {
			note_progress_to(n, psn_add(psn, 1));
			break;
		}
		note_progress_to(n, psn_add(last, 1));
		if (!complete_next(n, IBV_WC_SUCCESS))
			return false;
	}
	return true;
}

/* The receiver has no receive request: wait for the time in its RNR NAK. */
static void wait_for_receiver(struct network_qp *n, uint8_t timer)
{
	struct requester *req = &n->req;
	uint8_t most = n->qp->attr.rnr_retry;

	port_counters_add(n->qp->attr.port_num, PORT_COUNTER_RNR);
	if (most != 7 && ++req->rnr_tries > most &&
	    req->rnr_tries * retry_timeout_rnr_ns(timer) >= retry_timeout_lag_ns()) {
		complete_next(n, IBV_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	req->hold = process_now() + retry_timeout_rnr_ns(timer);
	rewind_requests(n);
	set_timer(n, true);
}

static void send_again(struct network_qp *n)
{
	if (++n->req.tries > n->qp->attr.retry_cnt &&
	    n->req.tries * timer_ns(n) >= retry_timeout_lag_ns()) {
		complete_next(n, IBV_WC_RETRY_EXC_ERR);
		return;
	}
	shrink_window(&n->req);
	rewind_requests(n);
	set_timer(n, true);
}

static void apply_nak_syndrome(struct network_qp *n, uint8_t syndrome)
{
	switch (syndrome) {
	case AETH_NAK_SEQUENCE:
		send_again(n);
		break;
	case AETH_NAK_INVALID:
		complete_next(n, IBV_WC_REM_INV_REQ_ERR);
		break;
	case AETH_NAK_ACCESS:
		complete_next(n, IBV_WC_REM_ACCESS_ERR);
		break;
	case AETH_NAK_OPERATION:
		complete_next(n, IBV_WC_REM_OP_ERR);
		break;
	default:
		break; /* an unknown syndrome */
	}
}

/* The peer refuses packet @psn: all packets before it have arrived. */
static void receive_nak(struct network_qp *n, uint32_t psn, uint8_t syndrome)
{
	if (psn_is_before(psn, n->req.unacked) || !complete_up_to(n, psn_add(psn, -1)) ||
	    n->req.unacked != psn)
		return;
	if ((syndrome & AETH_KIND) == AETH_RNR)
		wait_for_receiver(n, syndrome & 31);
	else
		apply_nak_syndrome(n, syndrome);
}

static void receive_ack(struct network_qp *n, const struct header *h)
{
	if (!(h->aeth.syndrome & AETH_KIND))
		complete_up_to(n, h->bth.psn);
	else
		receive_nak(n, h->bth.psn, h->aeth.syndrome);
}

/*
 * The request to which a response with @psn belongs, if this response is expected; @list gets the
 * memory of the request. NULL: the response is not expected, or the request failed.
 */
static struct soft_wr *expect_response(struct network_qp *n, uint32_t psn, struct copy_list *list)
{
	struct requester *req = &n->req;
	struct soft_sq *sq = &n->qp->sq;
	struct soft_wr *wr;
	int status;

	if (!complete_up_to(n, psn_add(psn, -1)) || psn_is_before(psn, req->unacked))
		return NULL;
	if (sq->next == req->started || req->unacked != psn)
		return NULL;
	wr = sq_slot(sq, sq->next);
	if (!has_response(wr))
		return NULL;
	status = execute_check_local(n->qp, wr, list);
	if (status == IBV_WC_SUCCESS)
		return wr;
	complete_next(n, status);
	return NULL;
}

static void receive_read_response(struct network_qp *n, const struct arrival *a)
{
	uint32_t psn = a->header.bth.psn, i;
	struct copy_list list, to, from = { .count = !!a->len };
	struct soft_wr *wr = expect_response(n, psn, &list);
	bool last;

	if (!wr || is_atomic(wr))
		return;
	i = psn_diff(psn, *first_psn(n, n->qp->sq.next));
	last = i + 1 == *num_packets(n, n->qp->sq.next);
	if (a->len != (wr->opcode == IBV_WR_RDMA_READ ? payload_of(n, wr, i) : 0)) {
		complete_next(n, IBV_WC_BAD_RESP_ERR);
		return;
	}
	copy_list_skip(&list, (size_t)i * n->mtu);
	copy_list_cut(&list, a->len, &to); /* the kernel would pin the pages of the whole list */
	from.iov[0] = (struct iovec){ a->payload, a->len };
	if (copy_put_guarded(&from, &to) < 0) {
		complete_next(n, IBV_WC_LOC_PROT_ERR);
		return;
	}
	note_progress_to(n, psn_add(psn, 1));
	if (last)
		complete_next(n, IBV_WC_SUCCESS);
}

static void receive_atomic_ack(struct network_qp *n, const struct header *h)
{
	uint64_t original = h->atomic_ack.original;
	struct copy_list list;
	struct soft_wr *wr = expect_response(n, h->bth.psn, &list);

	if (!wr || !is_atomic(wr))
		return;
	copy_to_own_memory(&list, (uint8_t *)&original, sizeof(original));
	note_progress_to(n, psn_add(h->bth.psn, 1));
	complete_next(n, IBV_WC_SUCCESS);
}

/* Has a packet with this PSN been sent? */
static bool was_sent(const struct requester *req, uint32_t psn)
{
	return psn_is_before(psn, req->psn) && !psn_is_before(psn, psn_add(req->unacked, -1));
}

static void end_drain(struct soft_qp *qp)
{
	if (qp->sq.draining && !requester_is_busy(qp))
		sq_note_drained(qp);
}

void requester_take(struct network_qp *n, const struct arrival *arrival)
{
	const struct header *h = &arrival->header;
	struct soft_qp *qp = n->qp;

	if (!is_open(n) || !was_sent(&n->req, h->bth.psn))
		return;
	switch (opcode_info(h->bth.opcode)->kind) {
	case OPCODE_ACK:
		receive_ack(n, h);
		break;
	case OPCODE_READ_RESPONSE:
		receive_read_response(n, arrival);
		break;
	default:
		receive_atomic_ack(n, h);
		break;
	}
	run_reliable(n);
	end_drain(qp);
}

/*
 * The timer was noticed late: this process had no processor. The peer, if it is another process of
 * this machine, probably had none either, so the timer starts again.
 */
static bool was_noticed_late(struct network_qp *n, uint64_t due)
{
	uint64_t late = process_now() - due;

	if (late > LATE_NS && late > timer_ns(n) / 2 && n->req.late < LATE_MAX) {
		n->req.late++;
		return true;
	}
	n->req.late = 0;
	return false;
}

static void expire_ack_timer(struct network_qp *n, uint64_t due)
{
	if (was_noticed_late(n, due)) {
		set_timer(n, true);
		return;
	}
	port_counters_add(n->qp->attr.port_num, PORT_COUNTER_ACK_TIMEOUT);
	send_again(n);
}

void requester_expire(struct network_qp *n)
{
	struct requester *req = &n->req;
	uint64_t due = n->due;

	alarm_set(n, 0);
	if (!is_open(n))
		return;
	if (req->hold)
		req->hold = 0;
	else if (req->unacked != req->psn)
		expire_ack_timer(n, due);
	run_reliable(n);
	end_drain(n->qp);
}
