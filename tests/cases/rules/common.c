#include <sched.h>
#include <time.h>
#include "common.h"

void die(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: failed: %s (errno %s)\n", file, line, what, strerror(errno));
	exit(1);
}

/* RoCE v2 over IPv4 if the table has it; else whatever stands at 0. */
static int pick_gid(struct ibv_context *ctx, int n)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };

	for (int i = 0; i < n; i++) {
		struct ibv_gid_entry e;

		if (ibv_query_gid_ex(ctx, 1, i, &e, 0))
			continue;
		if (e.gid_type == IBV_GID_TYPE_ROCE_V2 && !memcmp(e.gid.raw, v4, 12))
			return i;
	}
	return 0;
}

void dev_open(struct dev *d)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	memset(d, 0, sizeof(*d));
	need(list && list[0]);
	d->ctx = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	need(d->ctx);
	need(!ibv_query_port(d->ctx, 1, &d->port));
	need(d->port.state == IBV_PORT_ACTIVE);
	d->grh = d->port.link_layer == IBV_LINK_LAYER_ETHERNET;
	if (d->grh)
		d->gid_index = pick_gid(d->ctx, d->port.gid_tbl_len);
	need(!ibv_query_gid(d->ctx, 1, d->gid_index, &d->gid));
}

void dev_close(struct dev *d)
{
	ibv_close_device(d->ctx);
	d->ctx = NULL;
}

struct ibv_ah_attr dev_self(const struct dev *d)
{
	struct ibv_ah_attr a = { .dlid = d->port.lid, .port_num = 1 };

	if (d->grh) {
		a.is_global = 1;
		a.grh.dgid = d->gid;
		a.grh.sgid_index = d->gid_index;
		a.grh.hop_limit = 64;
	}
	return a;
}

struct ibv_qp *qp_make(struct ibv_pd *pd, enum ibv_qp_type type, struct ibv_cq *scq,
		       struct ibv_cq *rcq, unsigned depth)
{
	struct ibv_qp_init_attr init = {
		.send_cq = scq,
		.recv_cq = rcq,
		.qp_type = type,
		.cap = { .max_send_wr = depth,
			 .max_recv_wr = depth,
			 .max_send_sge = 2,
			 .max_recv_sge = 2 },
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	need(qp);
	return qp;
}

void rc_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	need(!ibv_modify_qp(qp, &a,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
}

void rc_rtr(const struct dev *d, struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.rq_psn = dest & 0xffff,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = dev_self(d),
	};

	need(!ibv_modify_qp(qp, &a,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER));
}

void rc_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = qp->qp_num & 0xffff,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};

	need(!ibv_modify_qp(qp, &a,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

void rc_connect(const struct dev *d, struct ibv_qp *a, struct ibv_qp *b)
{
	rc_init(a);
	rc_init(b);
	rc_rtr(d, a, b->qp_num);
	rc_rtr(d, b, a->qp_num);
	rc_rts(a);
	rc_rts(b);
}

void ud_ready(struct ibv_qp *qp, uint32_t qkey)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey };

	need(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	a.qp_state = IBV_QPS_RTR;
	need(!ibv_modify_qp(qp, &a, IBV_QP_STATE));
	a.qp_state = IBV_QPS_RTS;
	a.sq_psn = 0;
	need(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN));
}

int wait_wc(struct ibv_cq *cq, struct ibv_wc *wc, int n, int ms)
{
	double end = now_ms() + ms;
	int got = 0, idle = 0;

	while (got < n) {
		int k = ibv_poll_cq(cq, n - got, wc + got);

		if (k < 0)
			return -1;
		got += k;
		if (k == 0 && now_ms() > end)
			break;
		if (k == 0 && ++idle > 100)
			usleep(50);
	}
	return got;
}

int qp_flush(struct ibv_qp *qp, struct ibv_cq *cq, int n)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_ERR };
	struct ibv_wc wc;
	int got = 0;

	need(!ibv_modify_qp(qp, &a, IBV_QP_STATE));
	while (got < n && wait_wc(cq, &wc, 1, 500) == 1)
		got++;
	return got;
}

void *page_alloc(size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE), whole = (size + page - 1) / page * page;
	void *p = aligned_alloc(page, whole);

	need(p);
	return memset(p, 0, whole);
}

double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

void sleep_ms(unsigned ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static void crashed(int sig)
{
	static const char text[] = "note: crashed, as such a call may\n";

	(void)sig;
	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	_exit(0);
}

void survive_crash(void)
{
	struct sigaction a = { .sa_handler = crashed };

	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGBUS, &a, NULL);
	sigaction(SIGABRT, &a, NULL);
}

void not_shown(const char *why)
{
	printf("note: not shown: %s\n", why);
}
