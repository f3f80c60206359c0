/*
 * The behaviour of the first device in corner cases of the manual, a line for each: the result of a
 * verb, or the statuses of a request at both ends. They are cases in which programs depend on a
 * device, and devices differ.
 *
 * Two reliable queue pairs of this process are connected for each request. An argument is the GID
 * index that connects them on Ethernet.
 */
#include <errno.h>
#include <time.h>

#include "tests/apps/app.h"

enum { ROOM = 4, SGES = 2, PAGE = 4096, EDGE = 64 /* bytes of a region */, PATIENCE = 60 };

struct end {
	struct ibv_qp *qp;
	struct ibv_cq *send_cq, *recv_cq;
};

static struct ibv_context *context;
static struct ibv_port_attr port;
static struct ibv_pd *pd;
static struct ibv_mr *whole, *edge; /* of all of @memory, and of EDGE bytes in its second page */
static char memory[4 * PAGE] __attribute__((aligned(PAGE)));
static char *const at_edge = memory + PAGE;
static struct end near, far;
static uint8_t gid_index;

/* clang-format off */
static const char *const errnos[] = {
	[0] = "0", [ENOENT] = "ENOENT", [ENOMEM] = "ENOMEM", [EFAULT] = "EFAULT",
	[EINVAL] = "EINVAL", [ENODATA] = "ENODATA", [EOPNOTSUPP] = "EOPNOTSUPP",
	[ETIMEDOUT] = "ETIMEDOUT",
};
/* clang-format on */

static const char *name_of(int err)
{
	bool known = (size_t)err < sizeof(errnos) / sizeof(errnos[0]) && errnos[err];

	return known ? errnos[err] : strerror(err);
}

static const char *name_result(const void *object)
{
	return object ? "made" : name_of(errno);
}

static struct ibv_cq *create_cq(void)
{
	return NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
}

static void make_end(struct end *end)
{
	struct ibv_qp_init_attr attr = { .cap = { ROOM, ROOM, SGES, SGES, 0 },
					 .qp_type = IBV_QPT_RC };

	end->send_cq = attr.send_cq = create_cq();
	end->recv_cq = attr.recv_cq = create_cq();
	end->qp = NEED(ibv_create_qp(pd, &attr));
}

static void free_end(struct end *end)
{
	MUST(ibv_destroy_qp(end->qp));
	MUST(ibv_destroy_cq(end->send_cq));
	MUST(ibv_destroy_cq(end->recv_cq));
}

static void make_ends(void)
{
	make_end(&near);
	make_end(&far);
}

static void free_ends(void)
{
	free_end(&near);
	free_end(&far);
}

static void connect_ends(void)
{
	struct ibv_ah_attr here = own_address(context, gid_index);

	to_init(near.qp);
	to_init(far.qp);
	MUST(to_rtr(near.qp, far.qp->qp_num, here));
	MUST(to_rtr(far.qp, near.qp->qp_num, here));
	to_rts(near.qp);
	to_rts(far.qp);
}

/* The first completion; its status is -1 if there is none for a minute. */
static struct ibv_wc wait_for_wc(struct ibv_cq *cq)
{
	struct ibv_wc wc = { .status = -1 };
	time_t end = time(NULL) + PATIENCE;

	while (ibv_poll_cq(cq, 1, &wc) == 0)
		if (time(NULL) > end)
			break;
	return wc;
}

static void print_wc(const char *which, const struct ibv_wc *wc)
{
	printf(" %s %s", which, ibv_wc_status_str(wc->status));
	if (wc->status == IBV_WC_SUCCESS)
		printf(" (%u bytes)", wc->byte_len);
	printf(";");
}

static struct ibv_sge sge_of(const void *at, uint32_t length, const struct ibv_mr *mr)
{
	return (struct ibv_sge){ (uintptr_t)at, length, mr->lkey };
}

static int post_recv(struct ibv_qp *qp, struct ibv_sge *sge, int n)
{
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = n }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

/*
 * Post @wr at the near end, and print its status there; and that of a receive request of the far
 * end, if one was posted.
 */
static void run_request(struct ibv_send_wr *wr, bool receives)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int err;

	wr->send_flags |= IBV_SEND_SIGNALED;
	err = ibv_post_send(near.qp, wr, &bad);
	if (err) {
		printf(" post_send %s;", name_of(err));
	} else {
		wc = wait_for_wc(near.send_cq);
		print_wc("send", &wc);
	}
	if (!receives)
		return;
	to_err(far.qp);
	wc = wait_for_wc(far.recv_cq);
	print_wc("receive", &wc);
}

/* Send a message from @from to the @n elements @to. */
static void send_to(struct ibv_sge from, struct ibv_sge *to, int n)
{
	struct ibv_send_wr wr = { .sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND };
	int err;

	make_ends();
	connect_ends();
	err = post_recv(far.qp, to, n);
	if (err)
		printf(" post_recv %s;", name_of(err));
	else
		run_request(&wr, true);
	free_ends();
}

static void receive_to(uint32_t element, uint32_t message)
{
	struct ibv_sge to = sge_of(at_edge, element, edge);

	send_to(sge_of(memory, message, whole), &to, 1);
}

static void recv_of_no_region_message_empty(void)
{
	struct ibv_sge to = { (uintptr_t)memory, 8, 0xdead00 };

	send_to(sge_of(memory, 0, whole), &to, 1);
}

static void recv_second_element_bad_message_inside_first(void)
{
	struct ibv_sge to[] = { sge_of(at_edge, EDGE, edge), { (uintptr_t)memory, 8, 0xdead00 } };

	send_to(sge_of(memory, EDGE, whole), to, 2);
}

static void send_past_region(void)
{
	struct ibv_sge to = sge_of(memory + 2 * PAGE, PAGE, whole);

	send_to(sge_of(at_edge, EDGE + 8, edge), &to, 1);
}

static void send_empty_element_of_no_region(void)
{
	struct ibv_sge to = sge_of(memory + 2 * PAGE, PAGE, whole), from = { 0, 0, 0xdead00 };

	send_to(from, &to, 1);
}

/* A request that names the far end's memory by @rkey. */
static void run_remote(enum ibv_wr_opcode opcode, struct ibv_sge *sge, int n, void *to,
		       uint32_t rkey)
{
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = n, .opcode = opcode };

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)to;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)to;
		wr.wr.rdma.rkey = rkey;
	}
	make_ends();
	connect_ends();
	run_request(&wr, false);
	free_ends();
}

static void run_rdma(enum ibv_wr_opcode opcode, uint32_t length, void *to, uint32_t rkey)
{
	struct ibv_sge sge = sge_of(memory, length, whole);

	run_remote(opcode, &sge, 1, to, rkey);
}

/* A fetch-and-add with elements of these lengths; a marker shows the bytes that were written. */
static void run_atomic(uint32_t first, uint32_t second, void *to)
{
	struct ibv_sge sge[] = { sge_of(memory, first, whole),
				 sge_of(memory + PAGE / 2, second, whole) };
	uint64_t *old = (uint64_t *)memory;

	*(uint64_t *)at_edge = 41;
	memset(memory, 0x55, 32);
	run_remote(IBV_WR_ATOMIC_FETCH_AND_ADD, sge, second ? 2 : 1, to, edge->rkey);
	if ((uintptr_t)to % 8 == 0)
		printf(" was %d, is %d, the rest %s", (int)(old[0] & 0xffffffff),
		       (int)*(uint64_t *)at_edge,
		       old[1] == 0x5555555555555555 ? "untouched" : "written");
}

/* The element exceeds its own region after the 8 bytes. */
static void atomic_past_own_region(void)
{
	struct ibv_sge sge = sge_of(at_edge + EDGE - 8, 16, edge);

	run_remote(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, 1, at_edge, edge->rkey);
}

/* Regions of length 0, and their uses. */
static void region_of_length_0(void)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, 0, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge to;

	printf(" %s;", name_result(mr));
	if (!mr)
		return;
	to = sge_of(memory, 0, mr);
	send_to(sge_of(memory, 0, mr), &to, 1);
	MUST(ibv_dereg_mr(mr));
}

static void region_of_length_0_at_null(void)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, NULL, 0, IBV_ACCESS_LOCAL_WRITE);

	printf(" %s", name_result(mr));
	if (mr)
		MUST(ibv_dereg_mr(mr));
}

/* Post in each state; accepted requests are flushed. */
static void post_in(enum ibv_qp_state state)
{
	struct ibv_sge sge = sge_of(memory, 8, whole);
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	int sent, received;
	struct ibv_wc wc;

	make_ends();
	if (state >= IBV_QPS_INIT)
		to_init(near.qp);
	if (state >= IBV_QPS_RTR)
		MUST(to_rtr(near.qp, far.qp->qp_num, own_address(context, gid_index)));
	if (state == IBV_QPS_ERR)
		to_err(near.qp);
	received = post_recv(near.qp, &sge, 1);
	sent = ibv_post_send(near.qp, &wr, &bad);
	printf(" post_recv %s; post_send %s;", name_of(received), name_of(sent));
	if (state >= IBV_QPS_INIT)
		to_err(near.qp);
	if (!received && state) {
		wc = wait_for_wc(near.recv_cq);
		print_wc("receive", &wc);
	}
	if (!sent && state) {
		wc = wait_for_wc(near.send_cq);
		print_wc("send", &wc);
	}
	free_ends();
}

static void send_with_too_many_elements(void)
{
	struct ibv_sge sge[32];
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 32, .opcode = IBV_WR_SEND }, *bad;

	for (int i = 0; i < 32; i++)
		sge[i] = sge_of(memory, 8, whole);
	make_ends();
	connect_ends();
	printf(" %s", name_of(ibv_post_send(near.qp, &wr, &bad)));
	printf(" %s", name_of(post_recv(near.qp, sge, 32)));
	free_ends();
}

/* With a shared receive queue, the queue pair's own limits are ignored. */
static void create_with_srq(uint32_t max_wr, uint32_t max_sge)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { 8, 2, 0 } };
	struct ibv_qp_init_attr attr = { .cap = { ROOM, max_wr, 1, max_sge, 0 },
					 .qp_type = IBV_QPT_RC },
				got;
	struct ibv_qp_attr state;
	struct ibv_qp *qp;

	attr.srq = NEED(ibv_create_srq(pd, &srq_attr));
	attr.send_cq = attr.recv_cq = create_cq();
	qp = ibv_create_qp(pd, &attr);
	printf(" %s", name_result(qp));
	if (qp) {
		MUST(ibv_query_qp(qp, &state, IBV_QP_CAP, &got));
		printf(", room %u of %u, query %u of %u", attr.cap.max_recv_wr,
		       attr.cap.max_recv_sge, got.cap.max_recv_wr, got.cap.max_recv_sge);
		MUST(ibv_destroy_qp(qp));
	}
	MUST(ibv_destroy_cq(attr.send_cq));
	MUST(ibv_destroy_srq(attr.srq));
}

/* A basic shared queue with more attributes than it needs. */
static void create_srq(uint32_t mask)
{
	struct ibv_srq_init_attr_ex attr = { .attr = { 8, 2, 0 }, .pd = pd };
	struct ibv_srq *srq;
	struct ibv_cq *cq;

	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | mask;
	attr.srq_type = IBV_SRQT_BASIC;
	attr.cq = cq = create_cq();
	srq = ibv_create_srq_ex(context, &attr);
	printf(" %s", name_result(srq));
	if (srq)
		MUST(ibv_destroy_srq(srq));
	MUST(ibv_destroy_cq(cq));
}

/* The first empty entry of the table. */
static uint8_t empty_gid(void)
{
	static const union ibv_gid none;
	union ibv_gid gid;
	int i;

	for (i = 0; i < port.gid_tbl_len && i < UINT8_MAX; i++)
		if (ibv_query_gid(context, 1, i, &gid) || !memcmp(&gid, &none, sizeof(none)))
			break;
	return i;
}

static void gid_entry_empty(void)
{
	struct ibv_ah_attr address = own_address(context, gid_index);
	struct ibv_ah *ah;

	address.is_global = 1;
	MUST(ibv_query_gid(context, 1, gid_index, &address.grh.dgid));
	address.grh.sgid_index = empty_gid();
	make_ends();
	to_init(near.qp);
	printf(" INIT to RTR %s;", name_of(to_rtr(near.qp, far.qp->qp_num, address)));
	ah = ibv_create_ah(pd, &address);
	printf(" create_ah %s", name_result(ah));
	if (ah)
		MUST(ibv_destroy_ah(ah));
	free_ends();
}

/* Can an extended completion queue with these fields be made? */
static void create_cq_ex(uint64_t fields)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 8, .wc_flags = fields };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &attr);

	printf(" %s", name_result(cq));
	if (cq)
		MUST(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

#define ASK(question, call)              \
	do {                             \
		printf("%s:", question); \
		call;                    \
		putchar('\n');           \
		fflush(stdout);          \
	} while (0)

static void ask_about_objects(void)
{
	ASK("srq and own room", create_with_srq(7, 2));
	ASK("srq and room beyond limits", create_with_srq(UINT32_MAX, UINT32_MAX));
	ASK("basic srq", create_srq(0));
	ASK("basic srq with cq", create_srq(IBV_SRQ_INIT_ATTR_CQ));
	ASK("basic srq with tag matching", create_srq(IBV_SRQ_INIT_ATTR_TM));
	ASK("cq with standard fields", create_cq_ex(IBV_WC_STANDARD_FLAGS));
	ASK("cq with cvlan", create_cq_ex(IBV_WC_EX_WITH_CVLAN));
	ASK("cq with flow tag", create_cq_ex(IBV_WC_EX_WITH_FLOW_TAG));
	ASK("cq with tm info", create_cq_ex(IBV_WC_EX_WITH_TM_INFO));
	ASK("cq with timestamps", create_cq_ex(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP));
	ASK("region of length 0 at null", region_of_length_0_at_null());
	ASK("post in reset", post_in(IBV_QPS_RESET));
}

static void ask_about_requests(void)
{
	ASK("gid entry empty", gid_entry_empty());
	ASK("post in init", post_in(IBV_QPS_INIT));
	ASK("post in rtr", post_in(IBV_QPS_RTR));
	ASK("post in err", post_in(IBV_QPS_ERR));
	ASK("send with too many elements", send_with_too_many_elements());
	ASK("region of length 0", region_of_length_0());
	ASK("recv past region message inside", receive_to(EDGE + 8, EDGE));
	ASK("recv past region message beyond", receive_to(EDGE + 8, EDGE + 8));
	ASK("recv past region message shorter", receive_to(2 * PAGE, 8));
	ASK("recv past region message empty", receive_to(EDGE + 8, 0));
	ASK("recv of no region message empty", recv_of_no_region_message_empty());
	ASK("recv second element bad message inside first",
	    recv_second_element_bad_message_inside_first());
	ASK("recv too short", receive_to(8, 16));
	ASK("send past region", send_past_region());
	ASK("send empty element of no region", send_empty_element_of_no_region());
	ASK("write empty bad key", run_rdma(IBV_WR_RDMA_WRITE, 0, memory, 0xdead01));
	ASK("read empty bad key", run_rdma(IBV_WR_RDMA_READ, 0, memory, 0xdead01));
	ASK("write past region", run_rdma(IBV_WR_RDMA_WRITE, EDGE + 8, at_edge, edge->rkey));
	ASK("atomic of 8", run_atomic(8, 0, at_edge));
	ASK("atomic of 16", run_atomic(16, 0, at_edge));
	ASK("atomic of a page", run_atomic(PAGE, 0, at_edge));
	ASK("atomic of 4", run_atomic(4, 0, at_edge));
	ASK("atomic of 4 and 4", run_atomic(4, 4, at_edge));
	ASK("atomic of 0", run_atomic(0, 0, at_edge));
	ASK("atomic not aligned", run_atomic(8, 0, at_edge + 4));
	ASK("atomic past own region", atomic_past_own_region());
}

int main(int argc, char **argv)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC;

	gid_index = argc > 1 ? atoi(argv[1]) : 0;
	connected_with.qp_access_flags = access & ~IBV_ACCESS_LOCAL_WRITE;
	context = open_first_device();
	MUST(ibv_query_port(context, 1, &port));
	pd = NEED(ibv_alloc_pd(context));
	whole = NEED(ibv_reg_mr(pd, memory, sizeof(memory), access));
	edge = NEED(ibv_reg_mr(pd, at_edge, EDGE, access));
	ask_about_objects();
	/* on iWARP only the connection manager connects */
	if (context->device->transport_type == IBV_TRANSPORT_IB)
		ask_about_requests();
	MUST(ibv_dereg_mr(edge));
	MUST(ibv_dereg_mr(whole));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
