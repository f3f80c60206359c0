/*
 * Messages with known bytes, by every way to send and receive bytes
 *
 * 	payload [--strangers|--fork]
 *
 * For each payload that a recorder is to have it prints
 *
 * 	KIND WR_ID LENGTH FIRST
 *
 * where byte k of the payload is (FIRST + 7 * k) mod 251; FIRST is - if the bytes cannot be known,
 * and then a word for the reason. With --strangers also memory that is not the program's, that is
 * unmapped, or that may not be read. With --fork all of it twice: by a child of a program that has
 * sent something, then by its parent.
 */
#include "tests/apps/app.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 1 << 20, BIG = 300000 };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static uint8_t *from, *to;
static uint64_t ids;

static uint8_t *fill_buffer(uint8_t *at, size_t n, unsigned int first)
{
	for (size_t k = 0; k < n; k++)
		at[k] = (uint8_t)((first + 7 * k) % 251);
	return at;
}

static void say_case(const char *kind, uint64_t id, size_t length, unsigned int first)
{
	if (length)
		printf("%s %lu %zu %u\n", kind, (unsigned long)id, length, first);
}

static void say_missing(const char *kind, uint64_t id, size_t length, const char *why)
{
	printf("%s %lu %zu - %s\n", kind, (unsigned long)id, length, why);
}

static void await_completions(struct ibv_cq *on, int n)
{
	struct ibv_wc wc;

	while (n) {
		int got = ibv_poll_cq(on, 1, &wc);

		MUST(got < 0 || (got && wc.status));
		n -= got;
	}
}

static struct ibv_qp *connect_qp(struct ibv_qp *on);

static void post_receive(struct ibv_qp *on, uint64_t id, struct ibv_sge *sge, int n)
{
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = sge, .num_sge = n }, *bad;

	MUST(ibv_post_recv(on, &wr, &bad));
}

static void post_send(struct ibv_qp *on, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	MUST(ibv_post_send(on, wr, &bad));
}

static struct ibv_sge make_sge(void *addr, size_t length)
{
	return (struct ibv_sge){ (uintptr_t)addr, (uint32_t)length, mr->lkey };
}

/* One message of three pieces into two buffers. */
static void run_scattered(void)
{
	struct ibv_sge out[3] = { make_sge(from, 100), make_sge(from + 4096, 50),
				  make_sge(from + 8192, 850) };
	struct ibv_sge in[2] = { make_sge(to, 333), make_sge(to + 5000, 1000) };
	struct ibv_send_wr wr = { .wr_id = ++ids,
				  .sg_list = out,
				  .num_sge = 3,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	fill_buffer(from, 100, 9);
	fill_buffer(from + 4096, 50, 9 + 7 * 100);
	fill_buffer(from + 8192, 850, 9 + 7 * 150);
	post_receive(qp, ids, in, 2);
	post_send(qp, &wr);
	await_completions(cq, 2);
	say_case("send", ids, 1000, 9);
	say_case("recv", ids, 1000, 9);
}

/* The buffer is reused as soon as the post has returned. */
static void inline_data(void)
{
	struct ibv_sge out = { (uintptr_t)from, 60, 0 }, in = make_sge(to, 64);
	struct ibv_send_wr wr = { .wr_id = ++ids,
				  .sg_list = &out,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE };

	fill_buffer(from, 60, 21);
	post_receive(qp, ids, &in, 1);
	post_send(qp, &wr);
	memset(from, 0, 60);
	await_completions(cq, 2);
	say_case("send", ids, 60, 21);
	say_case("recv", ids, 60, 21);
}

/* More than fits into a ring's event. */
static void run_big(void)
{
	struct ibv_sge out = make_sge(from, BIG), in = make_sge(to, ROOM);
	struct ibv_send_wr wr = { .wr_id = ++ids,
				  .sg_list = &out,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	fill_buffer(from, BIG, 33);
	post_receive(qp, ids, &in, 1);
	post_send(qp, &wr);
	await_completions(cq, 2);
	say_case("send", ids, BIG, 33);
	say_case("recv", ids, BIG, 33);
}

/* One list: unsignaled writes of which only the last is known to be complete, then a read. */
static void one_sided(void)
{
	struct ibv_sge sge[3] = { make_sge(from, 40), make_sge(from + 100, 41),
				  make_sge(to + 300, 42) };
	struct ibv_send_wr wr[3] = {
		{ .wr_id = ids + 1,
		  .next = &wr[1],
		  .sg_list = &sge[0],
		  .num_sge = 1,
		  .opcode = IBV_WR_RDMA_WRITE,
		  .wr.rdma = { (uintptr_t)to, mr->rkey } },
		{ .wr_id = ids + 2,
		  .next = &wr[2],
		  .sg_list = &sge[1],
		  .num_sge = 1,
		  .opcode = IBV_WR_RDMA_WRITE,
		  .send_flags = IBV_SEND_SIGNALED,
		  .wr.rdma = { (uintptr_t)to + 100, mr->rkey } },
		{ .wr_id = ids + 3,
		  .sg_list = &sge[2],
		  .num_sge = 1,
		  .opcode = IBV_WR_RDMA_READ,
		  .send_flags = IBV_SEND_SIGNALED,
		  .wr.rdma = { (uintptr_t)from + 200, mr->rkey } },
	};

	fill_buffer(from, 40, 1);
	fill_buffer(from + 100, 41, 2);
	fill_buffer(from + 200, 42, 3);
	post_send(qp, wr);
	await_completions(cq, 2);
	say_case("send", ids + 1, 40, 1);
	say_case("send", ids + 2, 41, 2);
	say_case("read", ids + 3, 42, 3);
	ids += 3;
}

/* The old value comes back; 8 bytes that are payload like all others. */
static void run_atomics(void)
{
	struct ibv_sge sge = make_sge(to + 64, 8);
	struct ibv_send_wr wr = { .wr_id = ++ids,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.atomic = { (uintptr_t)from, 5, 0, mr->rkey } };

	fill_buffer(from, 8, 77);
	post_send(qp, &wr);
	await_completions(cq, 1);
	say_case("atomic", ids, 8, 77);
}

/* The receive's buffer is not written to. */
static void write_with_imm(void)
{
	struct ibv_sge out = make_sge(from, 16), in = make_sge(to + 512, 64);
	struct ibv_send_wr wr = { .wr_id = ++ids,
				  .sg_list = &out,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				  .imm_data = 7,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { (uintptr_t)to, mr->rkey } };

	fill_buffer(from, 16, 5);
	post_receive(qp, ids, &in, 1);
	post_send(qp, &wr);
	await_completions(cq, 2);
	say_case("send", ids, 16, 5);
}

static void *post_here(void *sge)
{
	post_receive(qp, ids, sge, 1);
	return NULL;
}

/* Receives with one wr_id, of several threads one after the other: they complete in order. */
static void same_ids(void)
{
	pthread_t thread;
	struct ibv_sge out[4], in[4];
	struct ibv_send_wr wr = {
		.sg_list = out, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED
	};

	ids++;
	for (int i = 0; i < 4; i++) {
		in[i] = make_sge(to + 1000 * i, 100);
		MUST(pthread_create(&thread, NULL, post_here, &in[i]));
		MUST(pthread_join(thread, NULL));
	}
	for (unsigned int i = 0; i < 4; i++) {
		wr.wr_id = ids;
		out[0] = make_sge(fill_buffer(from + 1000 * i, 30 + i, 100 + i), 30 + i);
		post_send(qp, &wr);
		say_case("send", ids, 30 + i, 100 + i);
		say_case("recv", ids, 30 + i, 100 + i);
	}
	await_completions(cq, 8);
}

/* A region whose addresses are not those of the program. */
static void run_shifted(void)
{
	struct ibv_mr *other = NEED(ibv_reg_mr_iova(pd, from, 8192, 0x10000000, 0));
	struct ibv_sge out = { 0x10000000 + 128, 77, other->lkey }, in = make_sge(to, 100);
	struct ibv_send_wr wr = { .wr_id = ++ids,
				  .sg_list = &out,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	fill_buffer(from + 128, 77, 44);
	post_receive(qp, ids, &in, 1);
	post_send(qp, &wr);
	await_completions(cq, 2);
	say_case("send", ids, 77, 44);
	say_case("recv", ids, 77, 44);
	MUST(ibv_dereg_mr(other));
}

/* Requests whose post fails are not outstanding. */
static void run_refused(void)
{
	struct ibv_sge in = make_sge(to, 10), wrong[64] = { 0 };
	struct ibv_recv_wr second = { .wr_id = ids + 1, .sg_list = wrong, .num_sge = 64 };
	struct ibv_recv_wr first = { .wr_id = ids + 1,
				     .next = &second,
				     .sg_list = &in,
				     .num_sge = 1 },
			   *bad = NULL;
	struct ibv_sge out = make_sge(fill_buffer(from, 10, 61), 10);
	struct ibv_send_wr wr = { .wr_id = ++ids,
				  .sg_list = &out,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	MUST(!ibv_post_recv(qp, &first, &bad));
	MUST(bad != &second);
	post_send(qp, &wr);
	await_completions(cq, 2);
	say_case("send", ids, 10, 61);
	say_case("recv", ids, 10, 61);
}

static struct ibv_qp *make_qp(enum ibv_qp_type type, struct ibv_srq *srq, struct ibv_cq *on)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = on,
		.recv_cq = on,
		.srq = srq,
		.qp_type = type,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 4,
			 .max_recv_sge = 4,
			 .max_inline_data = 64 },
	};

	return NEED(ibv_create_qp(pd, &attr));
}

/* From one SRQ, with two requests of one wr_id that cannot be distinguished. */
static void run_shared(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 2 } };
	struct ibv_srq *srq = NEED(ibv_create_srq(pd, &init));
	struct ibv_qp *on = connect_qp(make_qp(IBV_QPT_RC, srq, cq));
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct ibv_send_wr send = { .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED };
	const uint64_t wr_ids[4] = { ids + 1, ids + 2, ids + 3, ids + 3 };
	struct ibv_sge in, out;

	for (int i = 0; i < 4; i++) {
		in = make_sge(to + 1000 * i, 500);
		wr.wr_id = wr_ids[i];
		wr.sg_list = &in;
		MUST(ibv_post_srq_recv(srq, &wr, &bad));
	}
	init.attr.max_wr = 100;
	(void)ibv_modify_srq(srq, &init.attr, IBV_SRQ_MAX_WR);
	for (unsigned int i = 0; i < 4; i++) {
		out = make_sge(fill_buffer(from, 200, 11 * i), 200);
		send.wr_id = wr_ids[i];
		send.sg_list = &out;
		post_send(on, &send);
		await_completions(cq, 2);
		say_case("send", wr_ids[i], 200, 11 * i);
		if (i < 2)
			say_case("recv", wr_ids[i], 200, 11 * i);
		else
			say_missing("recv", wr_ids[i], 200, "ambiguous");
	}
	ids += 3;
	MUST(ibv_destroy_qp(on));
	MUST(ibv_destroy_srq(srq));
}

/* 40 bytes of GRH precede the received data. */
static void run_datagram(void)
{
	struct ibv_qp *on = make_qp(IBV_QPT_UD, NULL, cq);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x1234 };
	struct ibv_ah_attr path = { .port_num = 1, .is_global = 1, .grh.hop_limit = 1 };
	struct ibv_sge in = make_sge(to, 200), out = make_sge(fill_buffer(from, 48, 90), 48);
	struct ibv_send_wr wr = { .wr_id = ++ids,
				  .sg_list = &out,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.ud = { .remote_qpn = on->qp_num, .remote_qkey = 0x1234 } };
	struct ibv_port_attr port;

	MUST(ibv_query_port(context, 1, &port));
	path.dlid = port.lid;
	MUST(ibv_query_gid(context, 1, 0, &path.grh.dgid));
	MUST(ibv_modify_qp(on, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	MUST(ibv_modify_qp(on, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	MUST(ibv_modify_qp(on, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	wr.wr.ud.ah = NEED(ibv_create_ah(pd, &path));
	post_receive(on, ids, &in, 1);
	post_send(on, &wr);
	await_completions(cq, 2);
	say_case("send", ids, 48, 90);
	say_case("recv", ids, 88, 90);
	MUST(ibv_destroy_ah(wr.wr.ud.ah));
	MUST(ibv_destroy_qp(on));
}

/* Inline data of a builder may change before ibv_wr_complete(); polled by an extended CQ. */
static void run_built(bool with_length)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 16,
		.wc_flags = with_length ? IBV_WC_EX_WITH_BYTE_LEN : 0,
	};
	struct ibv_cq_ex *ex = NEED(ibv_create_cq_ex(context, &cq_attr));
	struct ibv_cq *on_cq = ibv_cq_ex_to_cq(ex);
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = on_cq,
		.recv_cq = on_cq,
		.qp_type = IBV_QPT_RC,
		.pd = pd,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 4,
			 .max_recv_sge = 4,
			 .max_inline_data = 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ,
	};
	struct ibv_qp *on = NEED(ibv_create_qp_ex(context, &attr));
	struct ibv_qp_ex *b = NEED(ibv_qp_to_qp_ex(on));
	struct ibv_data_buf bufs[2] = { { from, 10 }, { from + 100, 20 } };
	struct ibv_sge in[2] = { make_sge(to, 100), make_sge(to + 100, 100) };
	struct ibv_poll_cq_attr poll = { 0 };
	int left = 5;

	connect_qp(on);
	post_receive(on, ids + 1, &in[0], 1);
	post_receive(on, ids + 2, &in[1], 1);
	ibv_wr_start(b);
	b->wr_flags = IBV_SEND_SIGNALED;
	b->wr_id = ids + 1;
	ibv_wr_send(b);
	fill_buffer(from, 10, 70);
	fill_buffer(from + 100, 20, 70 + 7 * 10);
	ibv_wr_set_inline_data_list(b, 2, bufs);
	fill_buffer(from, 10, 0);
	b->wr_id = ids + 2;
	ibv_wr_send(b);
	ibv_wr_set_sge(b, mr->lkey, (uintptr_t)fill_buffer(from + 200, 25, 80), 25);
	b->wr_id = ids + 3;
	ibv_wr_rdma_read(b, mr->rkey, (uintptr_t)fill_buffer(from + 300, 26, 81));
	ibv_wr_set_sge(b, mr->lkey, (uintptr_t)to + 300, 26);
	MUST(ibv_wr_complete(b));
	while (left) {
		if (ibv_start_poll(ex, &poll))
			continue;
		do {
			MUST(ex->status);
			left--;
		} while (!ibv_next_poll(ex));
		ibv_end_poll(ex);
	}
	say_case("send", ids + 1, 30, 70);
	say_case("send", ids + 2, 25, 80);
	if (with_length) {
		say_case("recv", ids + 1, 30, 70);
		say_case("recv", ids + 2, 25, 80);
	} else {
		say_missing("recv", ids + 1, 0, "no-length");
		say_missing("recv", ids + 2, 0, "no-length");
	}
	say_case("read", ids + 3, 26, 81);
	ids += 3;
	MUST(ibv_destroy_qp(on));
	MUST(ibv_destroy_cq(on_cq));
}

/*
 * A buffer that is unmapped, and one that may not be read, when it is sent: the program continues.
 */
static void run_unreadable(int protection)
{
	uint8_t *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *region = NEED(ibv_reg_mr(pd, page, 4096, IBV_ACCESS_LOCAL_WRITE));
	struct ibv_qp *on = make_qp(IBV_QPT_RC, NULL, cq);
	struct ibv_sge sge = { (uintptr_t)page, 100, region->lkey };
	struct ibv_send_wr wr = { .wr_id = ++ids,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { (uintptr_t)to, mr->rkey } };
	struct ibv_wc wc;

	connect_qp(on);
	/* a device that is a program would read it itself */
	MUST(ibv_modify_qp(on, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR }, IBV_QP_STATE));
	MUST(protection < 0 ? munmap(page, 4096) : mprotect(page, 4096, protection));
	post_send(on, &wr);
	while (!ibv_poll_cq(cq, 1, &wc))
		;
	say_missing("send", ids, 100, "unreadable");
	MUST(ibv_destroy_qp(on));
	ibv_dereg_mr(region);
}

static void device_memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 256 };
	struct ibv_dm *dm = NEED(ibv_alloc_dm(context, &attr));
	struct ibv_mr *region =
		NEED(ibv_reg_dm_mr(pd, dm, 0, 256, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE));
	struct ibv_sge out = { 16, 32, region->lkey }, in = make_sge(to, 100);
	struct ibv_send_wr wr = { .wr_id = ++ids,
				  .sg_list = &out,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	fill_buffer(from, 32, 13);
	MUST(ibv_memcpy_to_dm(dm, 16, from, 32));
	post_receive(qp, ids, &in, 1);
	post_send(qp, &wr);
	await_completions(cq, 2);
	say_missing("send", ids, 32, "not-host-memory");
	say_case("recv", ids, 32, 13);
	MUST(ibv_dereg_mr(region));
	MUST(ibv_free_dm(dm));
}

static void run_implicit(void)
{
	struct ibv_mr *all =
		ibv_reg_mr(pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge out, in = make_sge(to, 100);
	struct ibv_send_wr wr = { .sg_list = &out,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	if (!all)
		return;
	wr.wr_id = ++ids;
	out = (struct ibv_sge){ (uintptr_t)fill_buffer(from, 70, 23), 70, all->lkey };
	post_receive(qp, ids, &in, 1);
	post_send(qp, &wr);
	await_completions(cq, 2);
	say_case("send", ids, 70, 23);
	say_case("recv", ids, 70, 23);
	MUST(ibv_dereg_mr(all));
}

static void run_strangers(void)
{
	run_unreadable(-1);
	run_unreadable(PROT_NONE);
	device_memory();
	run_implicit();
}

static bool is_mode(int argc, char **argv, const char *word)
{
	return argc > 1 && !strcmp(argv[1], word);
}

static struct ibv_qp *connect_qp(struct ibv_qp *on)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC };

	connect_to_itself(context, on);
	MUST(ibv_modify_qp(on, &attr, IBV_QP_ACCESS_FLAGS));
	return on;
}

static void run_all(bool with_strangers)
{
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	from = NEED(aligned_alloc(4096, 2 * ROOM));
	to = from + ROOM;
	memset(from, 0, 2 * ROOM);
	mr = NEED(ibv_reg_mr(pd, from, 2 * ROOM,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC));
	cq = NEED(ibv_create_cq(context, 64, NULL, NULL, 0));
	qp = connect_qp(make_qp(IBV_QPT_RC, NULL, cq));
	run_scattered();
	inline_data();
	run_big();
	one_sided();
	run_atomics();
	write_with_imm();
	same_ids();
	run_shifted();
	run_refused();
	run_shared();
	run_datagram();
	run_built(true);
	run_built(false);
	if (with_strangers)
		run_strangers();
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	free(from);
	ids = 0;
}

/* The parent's outstanding requests are not the child's. */
static void run_forked(void)
{
	pid_t child;
	int status;

	run_all(false);
	fflush(stdout);
	child = fork();
	MUST(child < 0);
	if (!child) {
		run_all(false);
		exit(0);
	}
	MUST(waitpid(child, &status, 0) != child || status);
	run_all(false);
}

int main(int argc, char **argv)
{
	if (is_mode(argc, argv, "--fork"))
		run_forked();
	else
		run_all(is_mode(argc, argv, "--strangers"));
	return 0;
}
