/*
 * How much of the stack each kind of verb uses, at the first call and at the second
 *
 * Each is called on a separate stack that was filled with a pattern before; the depth of the
 * overwritten part is printed: "post_send 912 880". The first call may load libraries and allocate
 * permanent memory.
 *
 * With an argument: the same verbs are called in a signal handler on an alternate stack of 8 KB,
 * from new places; the memory below that stack must not change.
 */
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { BYTES = 1 << 18, PAINT = 0xa5, SMALL = 8192 };

static struct {
	struct ibv_device **list;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_cq_ex *cq_ex;
	struct ibv_qp *qp;
	struct rdma_event_channel *channel;
	struct ibv_mr *mr;
	char bytes[64];
} all;

static unsigned char *stack;
static ucontext_t back, there;

static void must_hold(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void list_devices(void)
{
	int n;
	struct ibv_device **list = ibv_get_device_list(&n);

	must_hold(list && n, "get_device_list");
	if (all.list)
		ibv_free_device_list(list);
	else
		all.list = list;
}

static void open_device(void)
{
	struct ibv_context *context = ibv_open_device(all.list[0]);

	must_hold(context != NULL, "open_device");
	if (all.context)
		ibv_close_device(context);
	else
		all.context = context;
}

static void alloc_pd(void)
{
	struct ibv_pd *pd = ibv_alloc_pd(all.context);

	must_hold(pd != NULL, "alloc_pd");
	if (all.pd)
		ibv_dealloc_pd(pd);
	else
		all.pd = pd;
}

static void query_pkey(void)
{
	__be16 pkey;

	ibv_query_pkey(all.context, 1, 0, &pkey);
}

static void query_device(void)
{
	struct ibv_device_attr attr;

	must_hold(!ibv_query_device(all.context, &attr), "query_device");
}

static void reg_mr(void)
{
	struct ibv_mr *mr =
		ibv_reg_mr(all.pd, all.bytes, sizeof(all.bytes), IBV_ACCESS_LOCAL_WRITE);

	must_hold(mr != NULL, "reg_mr");
	if (all.mr)
		ibv_dereg_mr(mr);
	else
		all.mr = mr;
}

static void create_cq(void)
{
	struct ibv_cq *cq = ibv_create_cq(all.context, 16, NULL, NULL, 0);

	must_hold(cq != NULL, "create_cq");
	if (all.cq)
		ibv_destroy_cq(cq);
	else
		all.cq = cq;
}

static void create_qp(void)
{
	struct ibv_qp_init_attr attr = { .send_cq = all.cq,
					 .recv_cq = all.cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { 16, 16, 1, 1, 0 } };
	struct ibv_qp *qp = ibv_create_qp(all.pd, &attr);

	must_hold(qp != NULL, "create_qp");
	if (all.qp)
		ibv_destroy_qp(qp);
	else
		all.qp = qp;
}

static void modify_qp(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	must_hold(!ibv_modify_qp(all.qp, &attr,
				 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					 IBV_QP_ACCESS_FLAGS),
		  "modify_qp");
}

static struct ibv_sge make_sge(void)
{
	return (struct ibv_sge){ (uintptr_t)all.bytes, 16, all.mr->lkey };
}

static void post_recv(void)
{
	struct ibv_sge at = make_sge();
	struct ibv_recv_wr wr = { .wr_id = 7, .sg_list = &at, .num_sge = 1 }, *bad;

	must_hold(!ibv_post_recv(all.qp, &wr, &bad), "post_recv");
}

/* a send in INIT is refused, which is recorded, too */
static void post_send(void)
{
	struct ibv_sge at = make_sge();
	struct ibv_send_wr wr = { .wr_id = 8,
				  .sg_list = &at,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	ibv_post_send(all.qp, &wr, &bad);
}

/* two in one call */
static void post_list(void)
{
	struct ibv_sge at = make_sge();
	struct ibv_recv_wr more = { .wr_id = 10, .sg_list = &at, .num_sge = 1 }, *bad;
	struct ibv_recv_wr wr = { .wr_id = 9, .sg_list = &at, .num_sge = 1, .next = &more };

	must_hold(!ibv_post_recv(all.qp, &wr, &bad), "post_recv");
}

static void poll_cq(void)
{
	struct ibv_wc wc;

	must_hold(ibv_poll_cq(all.cq, 1, &wc) >= 0, "poll_cq");
}

/* to itself, so that there are completions to poll */
static void connect_qp(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_256,
				    .dest_qp_num = all.qp->qp_num,
				    .min_rnr_timer = 1,
				    .ah_attr = { .dlid = 1, .port_num = 1 } };
	struct ibv_port_attr port;

	must_hold(!ibv_query_port(all.context, 1, &port), "query_port");
	attr.ah_attr.dlid = port.lid;
	must_hold(!ibv_modify_qp(all.qp, &attr,
				 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					 IBV_QP_RQ_PSN | IBV_QP_MIN_RNR_TIMER |
					 IBV_QP_MAX_DEST_RD_ATOMIC),
		  "modify_qp to RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	must_hold(!ibv_modify_qp(all.qp, &attr,
				 IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					 IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					 IBV_QP_MAX_QP_RD_ATOMIC),
		  "modify_qp to RTS");
	for (int i = 0; i < 4; i++)
		post_send();
}

static void req_notify_cq(void)
{
	must_hold(!ibv_req_notify_cq(all.cq, 0), "req_notify_cq");
}

static void rdma_channel(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	must_hold(channel != NULL, "rdma_create_event_channel");
	if (all.channel)
		rdma_destroy_event_channel(channel);
	else
		all.channel = channel;
}

static void rdma_id(void)
{
	struct rdma_cm_id *id;

	must_hold(!rdma_create_id(all.channel, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	rdma_destroy_id(id);
}

static void (*volatile what)(void);

static void run_it(void)
{
	what();
}

static size_t use_stack(void (*fn)(void))
{
	size_t untouched = 0;

	memset(stack, PAINT, BYTES);
	must_hold(!getcontext(&there), "getcontext");
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = BYTES;
	there.uc_link = &back;
	what = fn;
	makecontext(&there, run_it, 0);
	must_hold(!swapcontext(&back, &there), "swapcontext");
	while (untouched < BYTES && stack[untouched] == PAINT)
		untouched++;
	return BYTES - untouched;
}

static const struct verb {
	const char *name;
	void (*fn)(void);
} verbs[] = {
#define V(name)             \
	{                   \
#name, name \
	}
	V(list_devices), V(open_device),   V(query_device), V(query_pkey),
	V(alloc_pd),     V(reg_mr),        V(create_cq),    V(create_qp),
	V(modify_qp),    V(post_recv),     V(post_list),    V(post_send),
	V(poll_cq),      V(req_notify_cq), V(rdma_channel), V(rdma_id),
#undef V
};

static void measure_stack(const struct verb *verb)
{
	size_t first = use_stack(verb->fn);

	printf("%s %zu %zu\n", verb->name, first, use_stack(verb->fn));
}

static void in_handler(int signal)
{
	(void)signal;
	query_pkey();
	query_device();
	post_recv();
	post_list();
	post_send();
	poll_cq();
	req_notify_cq();
}

static int is_overrun(void)
{
	stack_t small = { .ss_sp = stack + BYTES - SMALL, .ss_size = SMALL };
	struct sigaction action = { .sa_handler = in_handler, .sa_flags = SA_ONSTACK };
	size_t untouched = 0, below = BYTES - SMALL;

	memset(stack, PAINT, BYTES);
	must_hold(!sigaltstack(&small, NULL), "sigaltstack");
	must_hold(!sigaction(SIGUSR1, &action, NULL), "sigaction");
	raise(SIGUSR1);
	while (untouched < below && stack[untouched] == PAINT)
		untouched++;
	printf("%zu bytes below the stack are spoilt\n", below - untouched);
	return untouched < below;
}

int main(int argc, char **argv)
{
	(void)argv;
	stack = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must_hold(stack != MAP_FAILED, "mmap");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (argc > 1 && verbs[i].fn == post_recv)
			return is_overrun();
		measure_stack(&verbs[i]);
	}
	connect_qp();
	measure_stack(&(struct verb){ "poll_cq_full", poll_cq });
	return 0;
}
