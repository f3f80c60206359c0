/*
 * Each kind of packet, one after the other: two ends on a network, connected by librdmacm
 *
 *	cm_packets listen ADDRESS PORT		says so when it listens
 *	cm_packets connect ADDRESS PORT
 *
 * Each request waits for the one before it, and only one end sends requests, so every run on every
 * device has the same packets in the same order. Numbers that differ follow in private data after
 * MARK (tests/e2e/wire/packets.py).
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <sys/mman.h>

#include "tests/apps/app.h"

#define AT   ((void *)0x20000000) /* address of the memory of both ends */
#define MARK 0xfefefefefefefefeul
#define EVERY_WAY                                                                    \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_ATOMIC)

enum { BYTES = 1 << 16, HALF = BYTES / 2, SLOT = 4096, GRH = 40, DEPTH = 16, TIMEOUT = 10000 };

/* What the server does with a request for a connection. */
enum { ALL_REQUESTS, REJECTED, WRONG_KEY, TOO_LONG, NOT_READY, CONNECTIONS };

struct told {
	char text[8];
	uint64_t mark;
	uint32_t rkey, uc_qpn;
} __attribute__((packed));

static struct rdma_event_channel *channel;
static struct ibv_mr *mr;
static struct rdma_cm_event *last; /* the last event */

static struct rdma_cm_id *await_event(enum rdma_cm_event_type type)
{
	if (last)
		rdma_ack_cm_event(last);
	MUST(rdma_get_cm_event(channel, &last));
	if (last->event != type) {
		fprintf(stderr, "%s instead of %s, status %d\n", rdma_event_str(last->event),
			rdma_event_str(type), last->status);
		exit(1);
	}
	return last->id;
}

static void create_qp(struct rdma_cm_id *id, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.cap = { DEPTH, DEPTH, 1, 1, 64 },
		.qp_type = type,
		.sq_sig_all = 1,
	};

	MUST(rdma_create_qp(id, NULL, &attr));
	mr = NEED(ibv_reg_mr(id->pd, AT, BYTES, EVERY_WAY));
}

static void destroy_qp(struct rdma_cm_id *id)
{
	MUST(ibv_dereg_mr(mr));
	rdma_destroy_qp(id);
}

static struct ibv_sge make_sge(uint32_t from, uint32_t length)
{
	return (struct ibv_sge){ (uintptr_t)AT + from, length, mr->lkey };
}

static void post_receive(struct ibv_qp *qp, uint32_t slot, uint32_t length)
{
	struct ibv_sge sge = make_sge(slot * SLOT, length);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(ibv_post_recv(qp, &wr, &bad));
}

/* A second queue pair with the path of the first one. */
static struct ibv_qp *create_uc(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.send_cq = id->send_cq,
		.recv_cq = id->recv_cq,
		.cap = { DEPTH, DEPTH, 1, 1, 64 },
		.qp_type = IBV_QPT_UC,
		.sq_sig_all = 1,
	};
	struct ibv_qp *qp = NEED(ibv_create_qp(id->pd, &init));

	to_init(qp);
	return qp;
}

static void connect_uc(struct rdma_cm_id *id, struct ibv_qp *qp, uint32_t number)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	MUST(ibv_query_qp(id->qp, &attr, IBV_QP_AV, &init));
	MUST(to_rtr(qp, number, attr.ah_attr));
	to_rts(qp);
}

/* The listening end */

static struct rdma_conn_param make_parameters(const struct told *told)
{
	return (struct rdma_conn_param){
		.private_data = told,
		.private_data_len = sizeof(*told),
		.responder_resources = 3,
		.initiator_depth = 2,
		.retry_count = 5,
		.rnr_retry_count = 0,
	};
}

static void take_disconnection(struct rdma_cm_id *id)
{
	await_event(RDMA_CM_EVENT_DISCONNECTED);
	MUST(rdma_disconnect(id));
}

static void accept_connection(struct rdma_cm_id *id, int kind)
{
	struct told told = { .text = "accepted", .mark = MARK };
	struct rdma_conn_param param = make_parameters(&told);
	struct ibv_qp *uc;
	uint32_t i, most = kind == TOO_LONG ? 1 : DEPTH / 2;

	create_qp(id, IBV_QPT_RC);
	uc = create_uc(id);
	for (i = 0; kind != NOT_READY && i < most; i++)
		post_receive(id->qp, i, kind == TOO_LONG ? 100 : SLOT);
	told.rkey = mr->rkey;
	told.uc_qpn = uc->qp_num;
	MUST(rdma_accept(id, &param));
	await_event(RDMA_CM_EVENT_ESTABLISHED);
	connect_uc(id, uc, id->qp->qp_num); /* this end does not send */
	take_disconnection(id);
	MUST(ibv_destroy_qp(uc));
	destroy_qp(id);
}

static void accept_datagrams(struct rdma_cm_id *id)
{
	struct told told = { .text = "datagram", .mark = MARK };
	struct rdma_conn_param param = make_parameters(&told);
	struct ibv_wc wc;
	uint32_t i;

	create_qp(id, IBV_QPT_UD);
	for (i = 0; i < 2; i++)
		post_receive(id->qp, i, SLOT);
	param.qp_num = id->qp->qp_num;
	MUST(rdma_accept(id, &param));
	for (i = 0; i < 2; i++)
		NEED(rdma_get_recv_comp(id, &wc) == 1);
	destroy_qp(id);
}

static struct rdma_cm_id *listen_for(enum rdma_port_space space, struct sockaddr_in *in)
{
	struct rdma_cm_id *id;

	MUST(rdma_create_id(channel, &id, NULL, space));
	MUST(rdma_bind_addr(id, (struct sockaddr *)in));
	MUST(rdma_listen(id, 1));
	return id;
}

static void listen_at(struct sockaddr_in *in)
{
	struct rdma_cm_id *datagrams = listen_for(RDMA_PS_UDP, in), *id;
	struct rdma_cm_id *listener = listen_for(RDMA_PS_TCP, in);
	int kind;

	printf("listening\n");
	fflush(stdout);
	for (kind = 0; kind < CONNECTIONS; kind++) {
		id = await_event(RDMA_CM_EVENT_CONNECT_REQUEST);
		if (kind == REJECTED)
			MUST(rdma_reject(id, "rejected", 8));
		else
			accept_connection(id, kind);
		rdma_ack_cm_event(last);
		last = NULL;
		rdma_destroy_id(id);
	}
	id = await_event(RDMA_CM_EVENT_CONNECT_REQUEST);
	accept_datagrams(id);
	rdma_ack_cm_event(last);
	last = NULL;
	rdma_destroy_id(id);
	rdma_destroy_id(listener);
	rdma_destroy_id(datagrams);
}

/* The connecting end */

static struct told server;

static void complete_request(struct rdma_cm_id *id, struct ibv_qp *qp, struct ibv_send_wr wr,
			     uint32_t length, enum ibv_wc_status status)
{
	struct ibv_sge sge = make_sge(HALF, length);
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	wr.sg_list = &sge;
	wr.num_sge = 1;
	MUST(ibv_post_send(qp, &wr, &bad));
	NEED(rdma_get_send_comp(id, &wc) == 1);
	if (wc.status != status)
		fprintf(stderr, "request %d of %u B: %s\n", wr.opcode, length,
			ibv_wc_status_str(wc.status));
}

static void send_request(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_wr_opcode opcode,
			 uint32_t length, unsigned int flags)
{
	struct ibv_send_wr wr = { .opcode = opcode, .send_flags = flags };

	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)AT + HALF;
		wr.wr.atomic.rkey = server.rkey;
		wr.wr.atomic.compare_add = 0x0102030405060708;
		wr.wr.atomic.swap = 0x1112131415161718;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)AT + HALF;
		wr.wr.rdma.rkey = server.rkey;
	}
	if (opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		wr.imm_data = htonl(0x01020304);
	complete_request(id, qp, wr, length, IBV_WC_SUCCESS);
}

static void send_all_requests(struct rdma_cm_id *id, struct ibv_qp *uc)
{
	connect_uc(id, uc, server.uc_qpn);
	send_request(id, id->qp, IBV_WR_SEND, 64, 0);
	send_request(id, id->qp, IBV_WR_SEND, 0, 0);
	send_request(id, id->qp, IBV_WR_SEND, 1, IBV_SEND_SOLICITED);
	send_request(id, id->qp, IBV_WR_SEND, 3333, IBV_SEND_SOLICITED);
	send_request(id, id->qp, IBV_WR_SEND_WITH_IMM, 6, 0);
	send_request(id, id->qp, IBV_WR_SEND_WITH_IMM, 2048, IBV_SEND_SOLICITED);
	send_request(id, id->qp, IBV_WR_RDMA_WRITE, 7, 0);
	send_request(id, id->qp, IBV_WR_RDMA_WRITE, 0, 0);
	send_request(id, id->qp, IBV_WR_RDMA_WRITE, 4095, 0);
	send_request(id, id->qp, IBV_WR_RDMA_WRITE_WITH_IMM, 5, IBV_SEND_SOLICITED);
	send_request(id, id->qp, IBV_WR_RDMA_WRITE_WITH_IMM, 1025, 0);
	send_request(id, id->qp, IBV_WR_RDMA_READ, 9, 0);
	send_request(id, id->qp, IBV_WR_RDMA_READ, 2050, IBV_SEND_FENCE);
	send_request(id, id->qp, IBV_WR_RDMA_READ, 4096, 0);
	send_request(id, id->qp, IBV_WR_ATOMIC_CMP_AND_SWP, 8, 0);
	send_request(id, id->qp, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0);
	send_request(id, uc, IBV_WR_RDMA_WRITE, 1500, 0);
	send_request(id, uc, IBV_WR_RDMA_WRITE, 2, 0);
	send_request(id, uc, IBV_WR_SEND_WITH_IMM, 0, 0); /* nobody receives */
	send_request(id, uc, IBV_WR_SEND, 5000, IBV_SEND_SOLICITED);
}

static void fail_request(struct rdma_cm_id *id, int kind)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	if (kind == WRONG_KEY) {
		wr.opcode = IBV_WR_RDMA_WRITE;
		wr.wr.rdma.remote_addr = (uintptr_t)AT - SLOT;
		wr.wr.rdma.rkey = server.rkey;
		complete_request(id, id->qp, wr, 64, IBV_WC_REM_ACCESS_ERR);
	} else {
		complete_request(id, id->qp, wr, 200,
				 kind == TOO_LONG ? IBV_WC_REM_INV_REQ_ERR
						  : IBV_WC_RNR_RETRY_EXC_ERR);
	}
}

static struct rdma_cm_id *resolve_server(enum rdma_port_space space, struct sockaddr_in *in)
{
	struct rdma_cm_id *id;

	MUST(rdma_create_id(channel, &id, NULL, space));
	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)in, TIMEOUT));
	await_event(RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST(rdma_resolve_route(id, TIMEOUT));
	await_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	return id;
}

static void destroy_id(struct rdma_cm_id *id)
{
	rdma_ack_cm_event(last);
	last = NULL;
	destroy_qp(id);
	rdma_destroy_id(id);
}

static void connect_once(struct sockaddr_in *in, int kind)
{
	struct told told = { .text = "requests", .mark = MARK };
	struct rdma_conn_param param = make_parameters(&told);
	struct rdma_cm_id *id = resolve_server(RDMA_PS_TCP, in);
	struct ibv_qp *uc;

	create_qp(id, IBV_QPT_RC);
	uc = create_uc(id);
	MUST(rdma_connect(id, &param));
	await_event(kind == REJECTED ? RDMA_CM_EVENT_REJECTED : RDMA_CM_EVENT_ESTABLISHED);
	memcpy(&server, last->param.conn.private_data, sizeof(server));
	if (kind == ALL_REQUESTS)
		send_all_requests(id, uc);
	else if (kind != REJECTED)
		fail_request(id, kind);
	if (kind != REJECTED) {
		MUST(rdma_disconnect(id));
		await_event(RDMA_CM_EVENT_DISCONNECTED);
	}
	MUST(ibv_destroy_qp(uc));
	destroy_id(id);
}

static void send_datagrams(struct sockaddr_in *in)
{
	struct told told = { .text = "datagram", .mark = MARK };
	struct rdma_conn_param param = make_parameters(&told);
	struct rdma_cm_id *id = resolve_server(RDMA_PS_UDP, in);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	create_qp(id, IBV_QPT_UD);
	MUST(rdma_connect(id, &param));
	await_event(RDMA_CM_EVENT_ESTABLISHED);
	wr.wr.ud.ah = NEED(ibv_create_ah(id->pd, &last->param.ud.ah_attr));
	wr.wr.ud.remote_qpn = last->param.ud.qp_num;
	wr.wr.ud.remote_qkey = last->param.ud.qkey;
	complete_request(id, id->qp, wr, 101, IBV_WC_SUCCESS);
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = htonl(0x05060708);
	wr.send_flags = IBV_SEND_SOLICITED;
	complete_request(id, id->qp, wr, 1024, IBV_WC_SUCCESS);
	MUST(ibv_destroy_ah(wr.wr.ud.ah));
	destroy_id(id);
}

static void fill_memory(void)
{
	uint8_t *at = mmap(AT, BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	uint32_t i;

	NEED(at == AT);
	for (i = 0; i < BYTES; i++)
		at[i] = (uint8_t)(i * 7 + (i >> 8));
}

int main(int argc, char **argv)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	int kind;

	NEED(argc == 4);
	in.sin_port = htons((uint16_t)atoi(argv[3]));
	NEED(inet_pton(AF_INET, argv[2], &in.sin_addr) == 1);
	channel = NEED(rdma_create_event_channel());
	fill_memory();
	if (!strcmp(argv[1], "listen")) {
		listen_at(&in);
	} else {
		for (kind = 0; kind < CONNECTIONS; kind++)
			connect_once(&in, kind);
		send_datagrams(&in);
	}
	rdma_destroy_event_channel(channel);
	return 0;
}
