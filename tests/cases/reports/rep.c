#include "rep.h"

struct cfg cfg_usual(void)
{
	return (struct cfg){ .type = IBV_QPT_RC,
			     .sq = 64,
			     .rq = 64,
			     .sge = 1,
			     .cqe = 256,
			     .access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				       IBV_ACCESS_REMOTE_ATOMIC,
			     .mr_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
			     .mtu = IBV_MTU_1024,
			     .rd = 4,
			     .dest_rd = 4,
			     .min_rnr = 12,
			     .rnr_retry = 7,
			     .retry = 7,
			     .timeout = 14,
			     .max_srq = 64 };
}

void die(const char *f, ...)
{
	va_list a;

	va_start(a, f);
	vfprintf(stderr, f, a);
	va_end(a);
	fputc('\n', stderr);
	exit(2);
}

double now_ms(void)
{
	struct timespec t;

	if (getenv("HANG")) /* no watchdog: as in production, until somebody kills it */
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

void nap(double ms)
{
	struct timespec t = { ms / 1e3, (long)(ms * 1e6) % 1000000000 };

	nanosleep(&t, NULL);
}

void put(struct end *e, const void *p, size_t n)
{
	need(write(e->fd, p, n) == (ssize_t)n);
}

int get(struct end *e, void *p, size_t n)
{
	for (size_t k = 0; k < n;) {
		ssize_t r = read(e->fd, (char *)p + k, n - k);
		if (r <= 0)
			return -1;
		k += r;
	}
	return 0;
}

void two_ends(struct end *e)
{
	int s[2];

	memset(e, 0, sizeof(*e));
	signal(SIGPIPE, SIG_IGN);
	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	e->child = fork();
	need(e->child >= 0);
	e->server = e->child == 0;
	e->fd = s[e->server];
	close(s[!e->server]);
}

void end_open(struct end *e, struct cfg c, size_t len)
{
	struct ibv_device **l = ibv_get_device_list(NULL);

	need(l && l[0]);
	e->c = c;
	e->ctx = ibv_open_device(l[0]);
	need(e->ctx);
	ibv_free_device_list(l);
	need(!ibv_query_port(e->ctx, 1, &e->port));
	need(!ibv_query_gid(e->ctx, 1, 0, &e->gid));
	e->pd = ibv_alloc_pd(e->ctx);
	need(e->pd);
	e->len = len;
	if (!c.no_mr) {
		e->mem = mmap(NULL, (len + 4095) & ~4095ul, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		need(e->mem != MAP_FAILED);
		e->mr = ibv_reg_mr(e->pd, e->mem, len, c.mr_access);
		need(e->mr);
	}
	if (c.channel)
		need(e->ch = ibv_create_comp_channel(e->ctx));
	e->scq = ibv_create_cq(e->ctx, c.cqe, NULL, e->ch, c.vector);
	need(e->scq);
	e->rcq = c.two_cqs ? ibv_create_cq(e->ctx, c.cqe, NULL, e->ch, c.vector) : e->scq;
	need(e->rcq);
	if (c.srq) {
		struct ibv_srq_init_attr s = { .attr = { .max_wr = c.max_srq, .max_sge = 1 } };
		need(e->srq = ibv_create_srq(e->pd, &s));
	}
	struct ibv_qp_init_attr i = { .send_cq = e->scq,
				      .recv_cq = e->rcq,
				      .srq = e->srq,
				      .qp_type = c.type,
				      .sq_sig_all = c.sig_all,
				      .cap = { .max_send_wr = c.sq,
					       .max_recv_wr = c.rq,
					       .max_send_sge = c.sge,
					       .max_recv_sge = c.sge,
					       .max_inline_data = c.inline_max } };
	e->qp = ibv_create_qp(e->pd, &i);
	need(e->qp);
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = c.access, .qkey = 0x1111
	};
	need(!ibv_modify_qp(e->qp, &a,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				    (c.type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
	e->own = (struct addr){ .qpn = e->qp->qp_num,
				.psn = c.psn ? c.psn : 100 + e->server,
				.lid = e->port.lid,
				.rkey = e->mr ? e->mr->rkey : 0,
				.va = (uintptr_t)e->mem,
				.len = len,
				.gid = e->gid,
				.mtu = c.mtu };
}

void end_swap(struct end *e)
{
	put(e, &e->own, sizeof(e->own));
	need(!get(e, &e->peer, sizeof(e->peer)));
}

int end_rtr(struct end *e)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTR,
				 .path_mtu = e->c.mtu,
				 .dest_qp_num = e->peer.qpn,
				 .rq_psn = e->peer.psn,
				 .max_dest_rd_atomic = e->c.dest_rd,
				 .min_rnr_timer = e->c.min_rnr,
				 .ah_attr = { .dlid = e->peer.lid,
					      .port_num = 1,
					      .is_global =
						      e->port.link_layer == IBV_LINK_LAYER_ETHERNET,
					      .grh = { .dgid = e->peer.gid, .hop_limit = 1 } } };
	int m = IBV_QP_STATE;

	if (e->c.type != IBV_QPT_UD)
		m |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (e->c.type == IBV_QPT_RC)
		m |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(e->qp, &a, m);
}

int end_rts(struct end *e)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS,
				 .sq_psn = e->own.psn,
				 .timeout = e->c.timeout,
				 .retry_cnt = e->c.retry,
				 .rnr_retry = e->c.rnr_retry,
				 .max_rd_atomic = e->c.rd };

	return ibv_modify_qp(e->qp, &a,
			     IBV_QP_STATE | IBV_QP_SQ_PSN |
				     (e->c.type != IBV_QPT_RC ? 0
							      : IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
									IBV_QP_RNR_RETRY |
									IBV_QP_MAX_QP_RD_ATOMIC));
}

void end_sync(struct end *e)
{
	char b = 'x';

	put(e, &b, 1);
	need(!get(e, &b, 1));
}

void end_connect(struct end *e)
{
	end_swap(e);
	errno = end_rtr(e);
	need(!errno);
	errno = end_rts(e);
	need(!errno);
	end_sync(e);
}

int end_close(struct end *e, int rc)
{
	int st;

	if (e->qp)
		ibv_destroy_qp(e->qp);
	if (e->srq)
		ibv_destroy_srq(e->srq);
	if (e->rcq != e->scq)
		ibv_destroy_cq(e->rcq);
	if (e->scq)
		ibv_destroy_cq(e->scq);
	if (e->ch)
		ibv_destroy_comp_channel(e->ch);
	if (e->mr)
		ibv_dereg_mr(e->mr);
	ibv_dealloc_pd(e->pd);
	ibv_close_device(e->ctx);
	close(e->fd);
	if (!e->server) {
		waitpid(e->child, &st, 0);
		rc |= WIFEXITED(st) ? WEXITSTATUS(st) : 0;
	}
	return rc;
}

int recv_post(struct end *e, uint64_t id, size_t off, size_t len)
{
	struct ibv_sge g = { (uintptr_t)e->mem + off, len, e->mr->lkey };
	struct ibv_recv_wr w = { .wr_id = id, .sg_list = &g, .num_sge = 1 }, *bad;

	return e->srq ? ibv_post_srq_recv(e->srq, &w, &bad) : ibv_post_recv(e->qp, &w, &bad);
}

int rdma_post(struct end *e, int op, uint64_t id, size_t off, size_t len, uint64_t remote,
	      int flags)
{
	struct ibv_sge g = { (uintptr_t)e->mem + off, len, e->mr->lkey };
	struct ibv_send_wr w = { .wr_id = id,
				 .sg_list = &g,
				 .num_sge = 1,
				 .opcode = op,
				 .send_flags = flags,
				 .wr.rdma = { .remote_addr = remote, .rkey = e->peer.rkey } },
			   *bad;

	return ibv_post_send(e->qp, &w, &bad);
}

int send_post(struct end *e, uint64_t id, size_t off, size_t len, int flags)
{
	return rdma_post(e, IBV_WR_SEND, id, off, len, 0, flags);
}

int wait_wc(struct ibv_cq *cq, struct ibv_wc *wc, int ms)
{
	double t = now_ms() + ms;
	int n;

	do {
		n = ibv_poll_cq(cq, 1, wc);
		need(n >= 0);
		if (!n)
			sched_yield();
	} while (!n && now_ms() < t);
	return n;
}
