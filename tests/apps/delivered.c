/*
 * Reads each byte that a peer delivers, in memory that was never written.
 *
 * 	delivered [beyond|undefined]
 *
 * `beyond` also reads the byte after those that were delivered, `undefined` sends itself bytes that
 * were never written: a tool that tracks defined bytes must find both, and nothing without them.
 *
 * The peer is this program in another process. Between its write to memory and our read, no verb is
 * called.
 */
#include "tests/apps/app.h"

#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PEER_FD = 9, ROOM = 300000 };

static const uint32_t lengths[] = { 8, 64, 4096, 100000, 299999 };

/* One end, and the addresses and keys of the other. */
struct end {
	int fd;
	struct ibv_context *context;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct address {
		uint64_t addr;
		uint32_t rkey, qpn;
	} peer;
	bool beyond;
};

static uint8_t make_pattern(uint32_t i)
{
	return (uint8_t)(i * 7 + 3);
}

static void tell_peer(int fd)
{
	MUST(write(fd, "", 1) != 1);
}

static void hear_peer(int fd)
{
	char byte;

	MUST(read(fd, &byte, 1) != 1);
}

static void renew_buffers(struct end *e)
{
	struct ibv_pd *pd = e->mr->pd;
	void *old = e->mr->addr;

	MUST(ibv_dereg_mr(e->mr));
	free(old);
	e->mr = NEED(ibv_reg_mr(pd, NEED(malloc(ROOM)), ROOM,
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC));
}

static void begin_side(struct end *e)
{
	struct ibv_pd *pd;

	e->context = open_first_device();
	pd = NEED(ibv_alloc_pd(e->context));
	e->mr = NEED(ibv_reg_mr(pd, NEED(malloc(ROOM)), ROOM, IBV_ACCESS_LOCAL_WRITE));
	e->cq = NEED(ibv_create_cq(e->context, 16, NULL, NULL, 0));
	e->qp = create_rc_qp(pd, e->cq);
}

static void end_side(struct end *e)
{
	struct ibv_pd *pd = e->mr->pd;
	void *memory = e->mr->addr;

	MUST(ibv_destroy_qp(e->qp));
	MUST(ibv_destroy_cq(e->cq));
	MUST(ibv_dereg_mr(e->mr));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(e->context));
	free(memory);
}

static void allow_all(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC };

	MUST(ibv_modify_qp(qp, &attr, IBV_QP_ACCESS_FLAGS));
}

/* Both ends exchange addresses at the same time: at the beginning, and with new memory. */
static void exchange_addresses(struct end *e)
{
	struct address mine = { 0 };

	renew_buffers(e);
	mine.addr = (uintptr_t)e->mr->addr;
	mine.rkey = e->mr->rkey;
	mine.qpn = e->qp->qp_num;
	MUST(write(e->fd, &mine, sizeof(mine)) != sizeof(mine));
	MUST(read(e->fd, &e->peer, sizeof(e->peer)) != sizeof(e->peer));
}

static struct ibv_wc await_completion(struct end *e)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(e->cq, 1, &wc)))
		;
	MUST(n < 0 || wc.status);
	return wc;
}

static void post_recv(struct end *e, uint32_t off, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)e->mr->addr + off, length, e->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(ibv_post_recv(e->qp, &wr, &bad));
}

static void post_request(struct end *e, enum ibv_wr_opcode opcode, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)e->mr->addr, length, e->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = e->peer.addr;
		wr.wr.atomic.rkey = e->peer.rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = e->peer.addr;
		wr.wr.rdma.rkey = e->peer.rkey;
	}
	MUST(ibv_post_send(e->qp, &wr, &bad));
}

static void check_bytes(const struct end *e, uint32_t off, uint32_t length)
{
	const uint8_t *bytes = (const uint8_t *)e->mr->addr + off;

	for (uint32_t i = 0; i < length; i++)
		MUST(bytes[i] != make_pattern(i));
	if (e->beyond && bytes[length] == make_pattern(length))
		puts("the byte behind them has the same value, by chance");
}

static void fill_bytes(struct end *e)
{
	for (uint32_t i = 0; i < ROOM; i++)
		((uint8_t *)e->mr->addr)[i] = make_pattern(i);
}

static void receive_message(struct end *e, uint32_t length)
{
	exchange_addresses(e);
	post_recv(e, 0, length + 1);
	tell_peer(e->fd);
	MUST(await_completion(e).byte_len != length);
	check_bytes(e, 0, length);
}

static void be_written(struct end *e, uint32_t length)
{
	exchange_addresses(e);
	tell_peer(e->fd);
	hear_peer(e->fd);
	check_bytes(e, 0, length);
}

static void read_there(struct end *e, enum ibv_wr_opcode opcode, uint32_t length)
{
	exchange_addresses(e);
	hear_peer(e->fd);
	post_request(e, opcode, length);
	(void)await_completion(e);
	check_bytes(e, 0, length);
	tell_peer(e->fd);
}

static void look_at_bytes(struct end *e)
{
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		receive_message(e, lengths[i]);
		be_written(e, lengths[i]);
		read_there(e, IBV_WR_RDMA_READ, lengths[i]);
	}
	read_there(e, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
}

static void put_message(struct end *e, enum ibv_wr_opcode opcode, uint32_t length)
{
	exchange_addresses(e);
	fill_bytes(e);
	hear_peer(e->fd);
	post_request(e, opcode, length);
	(void)await_completion(e);
	if (opcode == IBV_WR_RDMA_WRITE)
		tell_peer(e->fd);
}

static void be_read(struct end *e)
{
	exchange_addresses(e);
	fill_bytes(e);
	tell_peer(e->fd);
	hear_peer(e->fd);
}

static void deliver_all(struct end *e)
{
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		put_message(e, IBV_WR_SEND, lengths[i]);
		put_message(e, IBV_WR_RDMA_WRITE, lengths[i]);
		be_read(e);
	}
	be_read(e);
}

/* An attribute that the device returns. */
static void look_at_state(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	MUST(ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init));
	MUST(attr.qp_state != IBV_QPS_RTS);
}

static void meet_peer(struct end *e, void (*act)(struct end *))
{
	begin_side(e);
	exchange_addresses(e);
	connect_to(e->context, e->qp, e->peer.qpn);
	allow_all(e->qp);
	tell_peer(e->fd);
	hear_peer(e->fd);
	look_at_state(e);
	act(e);
	end_side(e);
}

/* Undefined bytes stay undefined at the receiver. */
static int send_undefined(void)
{
	struct end e = { 0 };

	begin_side(&e);
	connect_to_itself(e.context, e.qp);
	post_recv(&e, 64, 64);
	post_request(&e, IBV_WR_SEND, 64);
	(void)await_completion(&e);
	(void)await_completion(&e);
	if (((uint8_t *)e.mr->addr)[64])
		puts("it is not zero, by chance");
	end_side(&e);
	return 0;
}

static int run_with_peer(struct end *e, char *self)
{
	int fds[2], status;
	pid_t pid;

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	pid = fork();
	MUST(pid < 0);
	if (!pid) {
		dup2(fds[1], PEER_FD);
		close(fds[0]);
		execl(self, self, "peer", NULL);
		_exit(2);
	}
	close(fds[1]);
	e->fd = fds[0];
	meet_peer(e, look_at_bytes);
	MUST(waitpid(pid, &status, 0) != pid);
	return status != 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct end e = { .fd = PEER_FD, .beyond = !strcmp(how, "beyond") };

	if (!strcmp(how, "undefined"))
		return send_undefined();
	if (strcmp(how, "peer"))
		return run_with_peer(&e, argv[0]);
	meet_peer(&e, deliver_all);
	return 0;
}
