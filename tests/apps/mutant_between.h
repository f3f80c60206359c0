#pragma once
/*
 * Mistakes between requests, of their queues and of the memory that they use
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "tests/apps/mutant.h"

enum { ROOM = 64, UD_HEADER = 40 };

/* Again with deeper queues, and completion queues to fit. */
static void deepen_pair(struct pair *p, uint32_t sends, uint32_t receives, int cqe)
{
	close_pair(p);
	p->depth[0] = sends;
	p->depth[1] = receives;
	p->cqe = cqe;
	open_sized(p, IBV_QPT_RC);
}

static void send_message(struct pair *p)
{
	struct ibv_sge sge = piece_of(0);
	struct ibv_send_wr *bad, wr = { .wr_id = next_id(SEND_ID),
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED };

	p->signals++;
	MUST(ibv_post_send(p->qp[0], &wr, &bad));
}

/* Until the sends have completed; receives stay posted. */
static void await_signals(struct pair *p)
{
	struct ibv_wc wc;

	for (int idle = 0; p->signals && idle < PATIENCE; idle++)
		if (ibv_poll_cq(p->cq, 1, &wc) > 0) {
			note_completion(p, &wc);
			idle = 0;
		}
}

/* Between requests */

/* What is read is sent, written or read into again, before it can be there. */
static void use_read_early(struct pair *p)
{
	static const enum ibv_wr_opcode next[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE };
	struct ibv_sge from, to;
	struct ibv_send_wr read = plain_write(p, &to), use = plain_write(p, &from), *bad;
	bool both = roll_dice(2);

	read.opcode = IBV_WR_RDMA_READ;
	use.opcode = next[roll_dice(2)];
	from = to;
	if (takes_receive(&use))
		await_message(p, 1);
	read.next = both ? &use : NULL;
	p->signals += 2;
	MUST(ibv_post_send(p->qp[0], &read, &bad));
	if (!both)
		MUST(ibv_post_send(p->qp[0], &use, &bad));
	drain_pair(p);
}

/* Until a message has come. */
static void await_one(struct pair *p)
{
	for (unsigned int left = p->receives; p->signals || p->receives == left;)
		for (struct ibv_wc wc; ibv_poll_cq(p->cq, 1, &wc) > 0;)
			note_completion(p, &wc);
}

/* The places of receives take turns for long, until one is posted twice. */
static void receive_into_one(struct pair *p)
{
	enum { POSTED = 16, MESSAGES = 400 };
	uint32_t wrong = MESSAGES - 1 - roll_dice(POSTED);
	struct ibv_sge place = { 0 };

	numbered = true;
	deepen_pair(p, DEPTH, ROOM, 4 * ROOM);
	for (uint32_t i = 0; i < POSTED; i++)
		await_message(p, 1);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		send_message(p);
		await_one(p);
		if (i != wrong)
			place = next_place(1, 2 * PIECE);
		MUST(post_receive(p, 1, place));
	}
}

static void deregister_receive(struct pair *p)
{
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, area[1], AREA, IBV_ACCESS_LOCAL_WRITE));
	struct ibv_sge sge = { (uintptr_t)area[1] + roll_dice(AREA - 2 * PIECE), 2 * PIECE,
			       mr->lkey };

	MUST(post_receive(p, 1, sge));
	MUST(ibv_dereg_mr(mr));
	flush_pair(p);
}

static void unmap_in_flight(struct pair *p)
{
	char *map = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr =
		NEED(map != MAP_FAILED ? ibv_reg_mr(pd, map, AREA, IBV_ACCESS_LOCAL_WRITE) : NULL);
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_write(p, &sge);

	sge.addr = (uintptr_t)map + roll_dice(AREA - PIECE - 8);
	sge.lkey = mr->lkey;
	MUST(post_one(p, 0, &wr));
	MUST(munmap(map, AREA));
	drain_pair(p);
	flush_pair(p);
	MUST(ibv_dereg_mr(mr));
}

/* Datagrams */

static struct ibv_qp *open_datagrams(struct pair *p)
{
	close_pair(p);
	*p = (struct pair){ .type = IBV_QPT_UD,
			    .cq = NEED(ibv_create_cq(context, 4 * DEPTH, NULL, NULL, 0)) };
	p->qp[0] = create_ud_qp(pd, p->cq, QKEY);
	return p->qp[0];
}

static void send_datagram(struct pair *p, struct ibv_ah *ah, struct ibv_sge sge)
{
	struct ibv_send_wr *bad, wr = { .wr_id = next_id(SEND_ID),
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED };

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = p->qp[0]->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	p->signals++;
	MUST(ibv_post_send(p->qp[0], &wr, &bad));
}

static struct ibv_ah *make_own_ah(void)
{
	struct ibv_ah_attr address = own_address(context, 0);

	return NEED(ibv_create_ah(pd, &address));
}

static void destroy_address_early(struct pair *p)
{
	struct ibv_ah *ah;

	open_datagrams(p);
	ah = make_own_ah();
	for (uint32_t n = roll_dice(3); n; n--) {
		MUST(post_receive(p, 0, next_place(1, 2 * PIECE)));
		send_datagram(p, ah, piece_of(0));
		drain_pair(p);
	}
	MUST(post_receive(p, 0, next_place(1, 2 * PIECE)));
	send_datagram(p, ah, piece_of(0));
	MUST(ibv_destroy_ah(ah));
	drain_pair(p);
}

static void forget_header(struct pair *p)
{
	open_datagrams(p);
	MUST(post_receive(p, 0, next_place(1, 1 + roll_dice(UD_HEADER))));
	flush_pair(p);
}

/* What was received is sent back from its beginning, header included. */
static void send_header(struct pair *p)
{
	struct ibv_ah *ah;
	struct ibv_sge sge = next_place(1, 2 * PIECE);

	open_datagrams(p);
	ah = make_own_ah();
	MUST(post_receive(p, 0, sge));
	send_datagram(p, ah, piece_of(0));
	drain_pair(p);
	MUST(post_receive(p, 0, next_place(1, 2 * PIECE)));
	sge.length = 8 + roll_dice(PIECE);
	send_datagram(p, ah, sge);
	drain_pair(p);
	MUST(ibv_destroy_ah(ah));
}

/* Queues */

/* The second queue pair of the pair gets its receives from an SRQ, into which nobody posts. */
static void leave_srq_empty(struct pair *p)
{
	struct ibv_srq_init_attr room = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	close_pair(p);
	connected_with.rnr_retry = (uint8_t)(1 + roll_dice(3));
	p->srq = NEED(ibv_create_srq(pd, &room));
	open_sized(p, IBV_QPT_RC);
	connected_with.rnr_retry = 7;
	wr = plain_write(p, &sge);
	wr.opcode = IBV_WR_SEND;
	p->signals++;
	MUST(ibv_post_send(p->qp[0], &wr, &bad));
	drain_pair(p);
	for (int i = 0; i < 2; i++) {
		MUST(ibv_destroy_qp(p->qp[i]));
		p->qp[i] = NULL;
	}
	MUST(ibv_destroy_srq(p->srq));
	p->srq = NULL;
}

static void post_no_receive(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	close_pair(p);
	connected_with.rnr_retry = (uint8_t)(1 + roll_dice(3));
	open_pair(p, IBV_QPT_RC);
	connected_with.rnr_retry = 7;
	wr = plain_write(p, &sge);
	wr.opcode = roll_dice(2) ? IBV_WR_SEND : IBV_WR_RDMA_WRITE_WITH_IMM;
	p->signals++;
	MUST(ibv_post_send(p->qp[0], &wr, &bad));
	drain_pair(p);
}

static void receive_too_little(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_write(p, &sge), *bad;

	wr.opcode = IBV_WR_SEND;
	MUST(post_receive(p, 1, next_place(1, sge.length - 1 - roll_dice(sge.length - 1))));
	p->signals++;
	MUST(ibv_post_send(p->qp[0], &wr, &bad));
	drain_pair(p);
}

/* One message in some is not followed by a receive. */
static void leak_receives(struct pair *p)
{
	enum { MESSAGES = 40 };
	uint32_t each = 2 + roll_dice(2);

	deepen_pair(p, DEPTH, ROOM, 4 * ROOM);
	for (uint32_t i = 0; i < ROOM - DEPTH; i++)
		await_message(p, 1);
	for (uint32_t i = 0; i < MESSAGES * each; i++) {
		send_message(p);
		await_one(p);
		if (i % each)
			await_message(p, 1);
	}
}

static void make_small_cq(struct pair *p)
{
	struct ibv_sge sge;

	deepen_pair(p, DEPTH, DEPTH, 1 + (int)roll_dice(3));
	for (int n = p->cq->cqe + 1 + (int)roll_dice(2); n > 0; n--) {
		struct ibv_send_wr wr = plain_write(p, &sge), *bad;

		if (ibv_post_send(p->qp[0], &wr, &bad))
			break;
		p->signals++;
	}
	drain_pair(p);
	p->signals = 0;
}

/* Sends that do not fit are forgotten, though the program goes on. */
static void drop_refused_sends(struct pair *p)
{
	uint32_t n = room_for_sends(p->qp[0]) + 2 + roll_dice(4);
	struct ibv_sge sge;

	numbered = true;
	for (; n; n--) {
		struct ibv_send_wr wr = plain_write(p, &sge);

		post_one(p, 0, &wr);
	}
	drain_pair(p);
}

static void drop_refused_receives(struct pair *p)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	numbered = true;
	MUST(ibv_query_qp(p->qp[1], &attr, IBV_QP_CAP, &init));
	for (uint32_t n = attr.cap.max_recv_wr + 2 + roll_dice(4), i = 0; i < n; i++)
		post_receive(p, 1, next_place(1, 2 * PIECE));
	for (uint32_t n = 1 + roll_dice(4); n; n--)
		send_message(p);
	await_signals(p);
}

/* Threads */

static void *destroy_cq_there(void *cq)
{
	MUST(ibv_destroy_cq(cq));
	return NULL;
}

/* The destroy waits for an event to be acknowledged, which glibc counts in the condition. */
static void use_while_destroyed(struct pair *p)
{
	struct ibv_cq *cq;
	pthread_t thread;

	have_channel(p);
	cq = get_event(p);
	flush_pair(p);
	for (int i = 0; i < 2; i++) {
		MUST(ibv_destroy_qp(p->qp[i]));
		p->qp[i] = NULL;
	}
	MUST(pthread_create(&thread, NULL, destroy_cq_there, cq));
	while (!__atomic_load_n(&cq->cond.__data.__wrefs, __ATOMIC_ACQUIRE))
		sched_yield();
	MUST(ibv_req_notify_cq(cq, (int)roll_dice(2)));
	ibv_ack_cq_events(cq, 1);
	MUST(pthread_join(thread, NULL));
	p->cq = NULL;
}
