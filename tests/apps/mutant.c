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

#include "tests/apps/mutant.h"
#include "tests/apps/mutant_between.h"
#include "tests/apps/mutant_keys.h"
#include "tests/apps/mutant_peers.h"

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

static void forget_event(struct pair *p)
{
	have_channel(p);
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
	const char *rule;
	const char *words; /* on the first screen: a basic expression */
} mistakes[] = {
	/* clang-format off */
	{ "LIFE-001", use_destroyed, "LIFE-001", "" },
	{ "LIFE-002", destroy_twice, "LIFE-002", "" },
	{ "LIFE-003", destroy_parent, "LIFE-003", "" },
	{ "LIFE-004", forget_object, "LIFE-004", "" },
	{ "COMPL-002", forget_completions, "COMPL-002", "" },
	{ "COMPL-003", forget_event, "COMPL-003", "" },
	{ "FORK-003", use_in_child, "FORK-003", "" },
	{ "MKEY-001", write_outside, "MKEY-001", "" },
	{ "MKEY-002", write_of_other_pd, "MKEY-002", "" },
	{ "MKEY-003", receive_into_constant, "MKEY-003", "" },
	{ "MKEY-004", write_by_stale_key, "MKEY-004", "" },
	{ "MKEY-005", deregister_in_flight, "MKEY-005", "" },
	{ "STATE-001", skip_a_state, "STATE-001", "" },
	{ "STATE-002", send_too_early, "STATE-002", "" },
	{ "STATE-003", send_after_error, "STATE-003", "" },
	{ "STATE-004", read_over_uc, "STATE-004", "" },
	{ "QUEUE-004", never_signal, "QUEUE-004", "" },
	{ "QUEUE-005", inline_too_much, "QUEUE-005", "" },
	{ "QUEUE-006", post_list_again, "QUEUE-006", "" },
	/* how a wrong value relates to the right one */
	{ "lkey-as-rkey", use_lkey_remotely, "MKEY-004", "lkey" },
	{ "own-rkey", use_own_rkey, "MKEY-004", "" },
	{ "rkey-order", reverse_rkey, "MKEY-004", "reverse" },
	{ "address-order", reverse_address, "MKEY-004", "reverse" },
	{ "address-low-bits", cut_address, "MKEY-004", "upper" },
	{ "address-offset", use_offset, "MKEY-004", "offset" },
	{ "address-40-off", overrun_by_header, "MKEY-004", "40 bytes" },
	{ "address-past-end", overrun_by_little, "MKEY-004", "" },
	{ "local-address-low-bits", cut_local_address, "MKEY-001", "upper" },
	{ "rkey-as-lkey", use_rkey_locally, "MKEY-001", "rkey" },
	{ "read-without-right", read_unreadable, "MKEY-003", "without IBV_ACCESS_REMOTE_READ" },
	/* the life of keys and windows */
	{ "window-unbound", write_unbound, "MKEY-008", "" },
	{ "window-invalidated", write_invalidated, "MKEY-004", "IBV_WR_LOCAL_INV" },
	{ "window-sent-back", write_sent_back, "MKEY-004", "IBV_WR_SEND_WITH_INV" },
	{ "window-older-key", write_by_older_key, "MKEY-004", "" },
	{ "window-deallocated", write_deallocated, "MKEY-004", "ibv_dealloc_mw" },
	{ "region-moved", write_where_region_was, "MKEY-004", "until ibv_rereg_mr()" },
	{ "window-moved", write_where_window_was, "MKEY-004", "bound by" },
	/* the peer over time */
	{ "peer-destroyed", send_to_destroyed, "", "its ibv_destroy_qp .* before the request" },
	{ "peer-in-err", send_to_failed, "", "peer: in ERR since" },
	{ "peer-in-init", send_before_ready, "", "peer: in INIT until" },
	{ "peer-number-stale", send_to_stale_number, "", "was the number of" },
	{ "peer-without-rights", be_refused_rights, "", "qp_access_flags of .* lack" },
	/* waits */
	{ "armed-late", arm_late, "", "in the CQ by then gives no event" },
	{ "armed-for-solicited", arm_for_solicited, "", "for solicited events only" },
	{ "armed-once", arm_once, "", "not armed again" },
	{ "never-armed", never_arm, "", "was never armed" },
	{ "wait-for-unsignalled", wait_for_unsignalled, "", "not signalled" },
	{ "wait-for-write", wait_for_write, "", "WRITE has no completion" },
	{ "wait-for-each-other", wait_for_each_other, "", "each end waits" },
	{ "wait-for-receive", wait_for_receive, "", "rnr_retry 7" },
	{ "wait-without-timeout", wait_without_timeout, "STATE-009", "timeout 0" },
	/* between requests */
	{ "read-unfenced", use_read_early, "MKEY-009", "" },
	{ "receive-twice", receive_into_one, "MKEY-007", "" },
	{ "receive-deregistered", deregister_receive, "MKEY-005", "" },
	{ "unmapped-in-flight", unmap_in_flight, "MKEY-006", "" },
	{ "ah-destroyed", destroy_address_early, "LIFE-008", "" },
	{ "grh-no-room", forget_header, "QUEUE-007", "" },
	{ "grh-sent", send_header, "QUEUE-007", "" },
	/* queues */
	{ "srq-empty", leave_srq_empty, "", "srq1, .* was empty" },
	{ "no-receive", post_no_receive, "STATE-006", "" },
	{ "short-receive", receive_too_little, "",
	  "bytes, this receive .* peer: its receive [0-9:]* has [0-9]* byte" },
	{ "receive-leak", leak_receives, "QUEUE-008", "" },
	{ "cq-small", make_small_cq, "QUEUE-003", "" },
	{ "sends-refused", drop_refused_sends, "QUEUE-006", "" },
	{ "receives-refused", drop_refused_receives, "QUEUE-002", "" },
	/* threads */
	{ "cq-used-in-destroy", use_while_destroyed, "THREAD-002", "" },
	/* clang-format on */
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
	for (const struct mistake *m = mistakes; m < mistakes + MISTAKES; m++)
		printf("%s|%s|%s\n", m->kind, m->rule, m->words);
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
	if (mistake && mistake->make == use_in_child)
		MUST(ibv_fork_init()); /* only the child makes a mistake */
	dice = (argc > 1 ? strtoull(argv[1], NULL, 0) : 1) * 0x9e3779b97f4a7c15ull | 1;
	numbered = roll_dice(2);
	context = open_first_device();
	connected_with.qkey = QKEY;
	connected_with.qp_access_flags |= IBV_ACCESS_REMOTE_READ;
	pd = NEED(ibv_alloc_pd(context));
	for (int i = 0; i < 2; i++) {
		mrs[i] = NEED(ibv_reg_mr(pd, area[i], AREA, rights));
		inboxes[i] = NEED(ibv_reg_mr(pd, inbox[i], AREA, IBV_ACCESS_LOCAL_WRITE));
	}
	run_program(mistake);
	for (int i = 0; i < 2; i++) {
		MUST(ibv_dereg_mr(mrs[i]));
		MUST(ibv_dereg_mr(inboxes[i]));
	}
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
