/*
 * A correct random program of verbs, with one mistake of a known kind: mutant SEED [KIND]
 *
 * The program makes objects, connects its queue pairs to each other, sends, writes, reads, waits
 * for events, and destroys all in order. At a random step it makes the mistake, on a separate queue
 * pair, and cleans up after it as well as possible, so that nothing else is wrong. Without KIND, it
 * makes none. `mutant kinds` lists the kinds, which are named like the rules.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/apps/app.h"

enum {
	STEPS = 30,
	AREA = 1 << 16,
	PIECE = 512,
	DEPTH = 8,
	LIST = 4,
	PATIENCE = 1000000, /* polls without a completion */
	QKEY = 0x1111,
};

static uint64_t dice;
static _Alignas(4096) char area[2][AREA];
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mrs[2]; /* of both areas, with all rights */
static bool numbered;         /* each request has its own wr_id; else all have the same */
static uint64_t serial;

enum { SEND_ID = 1, RECEIVE_ID = 2 }; /* in the low bits of a wr_id */

static uint32_t roll_dice(uint32_t sides)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (uint32_t)(dice >> 20) % sides;
}

static uint64_t next_id(int kind)
{
	return (numbered ? ++serial << 2 : 0) | (uint64_t)kind;
}

/* Two queue pairs that are connected to each other, on a separate completion queue. */
struct pair {
	enum ibv_qp_type type;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	unsigned int signals, receives; /* that are still to complete */
};

static struct ibv_qp *make_qp(struct pair *p, struct ibv_pd *of, uint32_t inlined)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = p->cq,
		.recv_cq = p->cq,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline_data = inlined },
		.qp_type = p->type,
	};

	return NEED(ibv_create_qp(of, &attr));
}

static void open_pair(struct pair *p, enum ibv_qp_type type)
{
	*p = (struct pair){ .type = type };
	if (roll_dice(2))
		p->channel = NEED(ibv_create_comp_channel(context));
	p->cq = NEED(ibv_create_cq(context, 4 * DEPTH, NULL, p->channel, 0));
	for (int i = 0; i < 2; i++) {
		p->qp[i] = make_qp(p, pd, 64);
		to_init(p->qp[i]);
	}
	for (int i = 0; i < 2; i++)
		MUST(to_rtr(p->qp[i], p->qp[!i]->qp_num, own_address(context, 0)));
	for (int i = 0; i < 2; i++)
		to_rts(p->qp[i]);
}

static void note_completion(struct pair *p, const struct ibv_wc *wc)
{
	if (wc->wr_id & RECEIVE_ID) /* it is valid on an error, too */
		p->receives--;
	else
		p->signals--;
}

static void drain_pair(struct pair *p)
{
	struct ibv_wc wc[LIST];

	for (int idle = 0; (p->signals || p->receives) && idle < PATIENCE; idle++) {
		int n = ibv_poll_cq(p->cq, (int)roll_dice(LIST) + 1, wc);

		for (int i = 0; i < n; i++)
			note_completion(p, &wc[i]);
		if (n > 0)
			idle = 0;
	}
}

/* Posted requests are flushed and polled first. */
static void flush_pair(struct pair *p)
{
	for (int i = 0; i < 2; i++)
		if (p->qp[i])
			to_err(p->qp[i]);
	drain_pair(p);
	for (struct ibv_wc wc; ibv_poll_cq(p->cq, 1, &wc) > 0;)
		;
}

static void close_pair(struct pair *p)
{
	flush_pair(p);
	for (int i = 0; i < 2; i++)
		if (p->qp[i])
			MUST(ibv_destroy_qp(p->qp[i]));
	MUST(ibv_destroy_cq(p->cq));
	if (p->channel)
		MUST(ibv_destroy_comp_channel(p->channel));
}

/* Correct work */

static struct ibv_sge piece_of(int side)
{
	uint32_t length = 8 + roll_dice(PIECE);

	return (struct ibv_sge){ (uintptr_t)area[side] + roll_dice(AREA - PIECE - 8), length,
				 mrs[side]->lkey };
}

static int post_receive(struct pair *p, int side, struct ibv_sge sge)
{
	struct ibv_recv_wr wr = { .wr_id = next_id(RECEIVE_ID), .sg_list = &sge, .num_sge = 1 },
			   *bad;
	int err = ibv_post_recv(p->qp[side], &wr, &bad);

	p->receives += !err;
	return err;
}

/* A receive for any message of this program. */
static void await_message(struct pair *p, int side)
{
	struct ibv_sge sge = { (uintptr_t)area[side], 2 * PIECE, mrs[side]->lkey };

	MUST(post_receive(p, side, sge));
}

/* Random, of what the transport supports; signalled. */
static struct ibv_send_wr make_request(const struct pair *p, struct ibv_sge *sge, int side)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						      IBV_WR_RDMA_WRITE_WITH_IMM,
						      IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_READ };
	struct ibv_send_wr wr = { .wr_id = next_id(SEND_ID),
				  .sg_list = sge,
				  .num_sge = 1,
				  .opcode = opcodes[roll_dice(p->type == IBV_QPT_RC ? 5 : 4)],
				  .send_flags = IBV_SEND_SIGNALED };

	*sge = piece_of(side);
	wr.wr.rdma.remote_addr = (uintptr_t)area[!side] + roll_dice(AREA - PIECE - 8);
	wr.wr.rdma.rkey = mrs[!side]->rkey;
	if (sge->length <= 64 && wr.opcode != IBV_WR_RDMA_READ && roll_dice(2))
		wr.send_flags |= IBV_SEND_INLINE;
	return wr;
}

static bool takes_receive(const struct ibv_send_wr *wr)
{
	return wr->opcode != IBV_WR_RDMA_WRITE && wr->opcode != IBV_WR_RDMA_READ;
}

static int post_one(struct pair *p, int side, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int err;

	if (takes_receive(wr))
		await_message(p, !side);
	err = ibv_post_send(p->qp[side], wr, &bad);
	p->signals += !err && (wr->send_flags & IBV_SEND_SIGNALED);
	return err;
}

/* A list of requests, the last of them signalled. */
static void send_list(struct pair *p)
{
	struct ibv_send_wr wr[LIST], *bad;
	struct ibv_sge sge[LIST];
	unsigned int n = 1 + roll_dice(LIST);
	int side = (int)roll_dice(2);

	for (unsigned int i = 0; i < n; i++) {
		wr[i] = make_request(p, &sge[i], side);
		if (i + 1 < n) {
			wr[i].next = &wr[i + 1];
			wr[i].send_flags &= ~(unsigned int)(roll_dice(2) ? IBV_SEND_SIGNALED : 0);
		}
		if (takes_receive(&wr[i]))
			await_message(p, !side);
		p->signals += !!(wr[i].send_flags & IBV_SEND_SIGNALED);
	}
	MUST(ibv_post_send(p->qp[side], wr, &bad));
}

static void exchange_messages(struct pair *p)
{
	send_list(p);
	drain_pair(p);
}

static void exchange_by_event(struct pair *p)
{
	struct ibv_cq *cq;
	void *unused;

	if (!p->channel)
		return exchange_messages(p);
	MUST(ibv_req_notify_cq(p->cq, 0));
	send_list(p);
	MUST(ibv_get_cq_event(p->channel, &cq, &unused));
	ibv_ack_cq_events(cq, 1);
	drain_pair(p);
}

static void use_memory(struct pair *p)
{
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, area[0], AREA, IBV_ACCESS_LOCAL_WRITE));
	struct ibv_sge sge = { (uintptr_t)area[0], 64, mr->lkey };
	struct ibv_send_wr wr = make_request(p, &sge, 0);

	wr.opcode = IBV_WR_SEND;
	sge = (struct ibv_sge){ (uintptr_t)area[0] + roll_dice(1024), 64, mr->lkey };
	MUST(post_one(p, 0, &wr));
	drain_pair(p);
	MUST(ibv_dereg_mr(mr));
}

static void query_things(struct pair *p)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	MUST(ibv_query_qp(p->qp[roll_dice(2)], &attr, IBV_QP_STATE, &init));
}

static void do_step(struct pair *p)
{
	static void (*const steps[])(struct pair * p) = { exchange_messages, exchange_messages,
							  exchange_by_event, use_memory,
							  query_things };

	steps[roll_dice(sizeof(steps) / sizeof(steps[0]))](p);
}

/* The mistakes, each on a pair of its own */

static void use_destroyed(struct pair *p)
{
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 4, NULL, NULL, 0));

	(void)p;
	MUST(ibv_destroy_cq(cq));
	ibv_ack_cq_events(cq, 0);
}

static void destroy_twice(struct pair *p)
{
	struct ibv_comp_channel *channel = NEED(ibv_create_comp_channel(context));

	(void)p;
	MUST(ibv_destroy_comp_channel(channel));
	ibv_destroy_comp_channel(channel);
}

static void destroy_parent(struct pair *p)
{
	(void)p;
	if (roll_dice(2))
		ibv_destroy_cq(p->cq);
	else
		ibv_dealloc_pd(pd);
}

static void forget_object(struct pair *p)
{
	(void)p;
	if (roll_dice(2))
		NEED(ibv_create_cq(context, 4, NULL, NULL, 0));
	else
		NEED(ibv_alloc_pd(context));
}

/* Receive a completion event of the pair's CQ. */
static struct ibv_cq *get_event(struct pair *p)
{
	struct ibv_cq *cq = NULL;
	void *unused;

	MUST(ibv_req_notify_cq(p->cq, 0));
	send_list(p);
	MUST(ibv_get_cq_event(p->channel, &cq, &unused));
	drain_pair(p);
	return cq;
}

static void forget_event(struct pair *p)
{
	if (!p->channel) {
		close_pair(p);
		do {
			open_pair(p, IBV_QPT_RC);
			if (!p->channel)
				close_pair(p);
		} while (!p->channel);
	}
	get_event(p);
	alarm(1); /* the destroy of the CQ waits forever */
}

static void forget_completions(struct pair *p)
{
	await_message(p, 0);
	to_err(p->qp[0]);
	MUST(ibv_destroy_qp(p->qp[0]));
	p->qp[0] = NULL;
	p->receives = 0; /* nobody polls for it */
}

/* A request with a mistake in it; its completion is polled. */
static void send_wrong(struct pair *p, struct ibv_send_wr *wr)
{
	int before = (int)p->signals;

	if (post_one(p, 0, wr) || before == (int)p->signals)
		return;
	drain_pair(p);
}

static struct ibv_send_wr plain_write(struct pair *p, struct ibv_sge *sge)
{
	struct ibv_send_wr wr = make_request(p, sge, 0);

	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	return wr;
}

static void write_outside(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_write(p, &sge);

	if (roll_dice(2))
		sge.addr = (uintptr_t)area[0] + AREA - sge.length + 1 + roll_dice(7);
	else
		sge.lkey ^= 0x5a0000;
	send_wrong(p, &wr);
}

static void write_of_other_pd(struct pair *p)
{
	struct ibv_pd *other = NEED(ibv_alloc_pd(context));
	struct ibv_mr *mr = NEED(ibv_reg_mr(other, area[0], AREA, IBV_ACCESS_LOCAL_WRITE));
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_write(p, &sge);

	sge.lkey = mr->lkey;
	send_wrong(p, &wr);
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_dealloc_pd(other));
}

static void receive_into_constant(struct pair *p)
{
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, area[1], AREA, 0));
	struct ibv_sge sge = { (uintptr_t)area[1], PIECE, mr->lkey };

	post_receive(p, 1, sge);
	flush_pair(p);
	MUST(ibv_dereg_mr(mr));
}

static void write_by_stale_key(struct pair *p)
{
	struct ibv_mr *mr = NEED(
		ibv_reg_mr(pd, area[1], AREA, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	uint32_t rkey = mr->rkey;
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_write(p, &sge);

	wr.wr.rdma.rkey = rkey;
	MUST(ibv_dereg_mr(mr));
	send_wrong(p, &wr);
}

static void deregister_in_flight(struct pair *p)
{
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, area[0], AREA, IBV_ACCESS_LOCAL_WRITE));
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_write(p, &sge);

	sge.lkey = mr->lkey;
	MUST(post_one(p, 0, &wr));
	MUST(ibv_dereg_mr(mr));
	drain_pair(p);
}

static void skip_a_state(struct pair *p)
{
	struct ibv_qp *qp = make_qp(p, pd, 0);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	to_init(qp);
	ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	MUST(ibv_destroy_qp(qp));
}

static void send_too_early(struct pair *p)
{
	struct ibv_qp *qp = make_qp(p, pd, 0), *late = p->qp[0];
	struct ibv_sge sge;
	struct ibv_send_wr wr = plain_write(p, &sge);

	to_init(qp);
	p->qp[0] = qp;
	send_wrong(p, &wr);
	p->qp[0] = late;
	MUST(ibv_destroy_qp(qp));
}

/* Again and again, whatever the completions say. */
static void send_after_error(struct pair *p)
{
	struct ibv_sge sge;

	flush_pair(p);
	for (unsigned int n = 3 + roll_dice(4); n; n--) {
		struct ibv_send_wr wr = plain_write(p, &sge);

		send_wrong(p, &wr);
	}
}

static void read_over_uc(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	close_pair(p);
	open_pair(p, IBV_QPT_UC);
	wr = plain_write(p, &sge);
	wr.opcode = IBV_WR_RDMA_READ;
	send_wrong(p, &wr);
}

static uint32_t room_for_sends(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	MUST(ibv_query_qp(qp, &attr, IBV_QP_CAP, &init));
	return attr.cap.max_send_wr;
}

/* Writes until the queue is full and no completion will ever make room. */
static void never_signal(struct pair *p)
{
	struct ibv_sge sge;

	for (uint32_t n = room_for_sends(p->qp[0]) + 1; n; n--) {
		struct ibv_send_wr wr = plain_write(p, &sge);

		wr.send_flags = 0;
		if (post_one(p, 0, &wr))
			break;
	}
}

/*
 * The queue accepts a part of a list; once there is room, the list is posted again from its head.
 */
static void post_list_again(struct pair *p)
{
	uint32_t room = room_for_sends(p->qp[0]), n = room + 1 + roll_dice(LIST);
	struct ibv_send_wr wr[n], *bad = NULL;
	struct ibv_sge sge[n];
	struct ibv_wc wc;

	numbered = true; /* else the requests cannot be distinguished */
	for (uint32_t i = 0; i < n; i++) {
		wr[i] = plain_write(p, &sge[i]);
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	NEED(ibv_post_send(p->qp[0], wr, &bad));
	p->signals += (unsigned int)(bad - wr);
	while (!ibv_poll_cq(p->cq, 1, &wc))
		;
	note_completion(p, &wc);
	NEED(ibv_post_send(p->qp[0], wr, &bad));
	p->signals += (unsigned int)(bad - wr);
	drain_pair(p);
}

static void inline_too_much(struct pair *p)
{
	struct ibv_sge sge, three[3];
	struct ibv_send_wr wr = plain_write(p, &sge);

	if (roll_dice(2)) {
		sge = (struct ibv_sge){ (uintptr_t)area[0], 65 + roll_dice(100), mrs[0]->lkey };
		wr.send_flags |= IBV_SEND_INLINE;
	} else {
		for (int i = 0; i < 3; i++) {
			three[i] = piece_of(0);
			three[i].length = 8 + roll_dice(PIECE / 4); /* it may be accepted */
		}
		wr.sg_list = three;
		wr.num_sge = 3;
	}
	send_wrong(p, &wr);
}

static void use_in_child(struct pair *p)
{
	pid_t child = fork();

	if (!child) {
		query_things(p);
		_exit(0);
	}
	NEED(child > 0);
	waitpid(child, NULL, 0);
}

static const struct mistake {
	const char *kind;
	void (*make)(struct pair *p);
} mistakes[] = {
	{ "LIFE-001", use_destroyed },       { "LIFE-002", destroy_twice },
	{ "LIFE-003", destroy_parent },      { "LIFE-004", forget_object },
	{ "COMPL-002", forget_completions }, { "COMPL-003", forget_event },
	{ "FORK-003", use_in_child },        { "MKEY-001", write_outside },
	{ "MKEY-002", write_of_other_pd },   { "MKEY-003", receive_into_constant },
	{ "MKEY-004", write_by_stale_key },  { "MKEY-005", deregister_in_flight },
	{ "STATE-001", skip_a_state },       { "STATE-002", send_too_early },
	{ "STATE-003", send_after_error },   { "STATE-004", read_over_uc },

	{ "QUEUE-004", never_signal },       { "QUEUE-005", inline_too_much },
	{ "QUEUE-006", post_list_again },
};
enum { MISTAKES = sizeof(mistakes) / sizeof(mistakes[0]) };

static const struct mistake *find_mistake(const char *kind)
{
	for (int i = 0; i < MISTAKES; i++)
		if (!strcmp(mistakes[i].kind, kind))
			return &mistakes[i];
	fprintf(stderr, "no kind '%s'\n", kind);
	exit(2);
}

static void list_kinds(void)
{
	for (int i = 0; i < MISTAKES; i++)
		puts(mistakes[i].kind);
}

static void make_mistake(const struct mistake *mistake)
{
	struct pair own;

	open_pair(&own, IBV_QPT_RC);
	for (unsigned int n = roll_dice(4); n; n--)
		do_step(&own);
	mistake->make(&own);
	close_pair(&own);
}

static void run_program(const struct mistake *mistake)
{
	unsigned int when = roll_dice(STEPS), npairs = 1 + roll_dice(3);
	struct pair pairs[3];

	for (unsigned int i = 0; i < npairs; i++)
		open_pair(&pairs[i], roll_dice(3) ? IBV_QPT_RC : IBV_QPT_UC);
	for (unsigned int step = 0; step < STEPS; step++) {
		if (mistake && step == when)
			make_mistake(mistake);
		do_step(&pairs[roll_dice(npairs)]);
	}
	while (npairs--)
		close_pair(&pairs[npairs]);
}

int main(int argc, char **argv)
{
	const int rights =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	const struct mistake *mistake = argc > 2 ? find_mistake(argv[2]) : NULL;

	if (argc > 1 && !strcmp(argv[1], "kinds")) {
		list_kinds();
		return 0;
	}
	dice = (argc > 1 ? strtoull(argv[1], NULL, 0) : 1) * 0x9e3779b97f4a7c15ull | 1;
	numbered = roll_dice(2);
	context = open_first_device();
	connected_with.qkey = QKEY;
	connected_with.qp_access_flags |= IBV_ACCESS_REMOTE_READ;
	pd = NEED(ibv_alloc_pd(context));
	for (int i = 0; i < 2; i++)
		mrs[i] = NEED(ibv_reg_mr(pd, area[i], AREA, rights));
	run_program(mistake);
	for (int i = 0; i < 2; i++)
		MUST(ibv_dereg_mr(mrs[i]));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
