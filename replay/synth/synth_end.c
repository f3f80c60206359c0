/*
 * Synthesized ends: hosts and queue pairs
 *
 *	host    context - domain - one region for all messages (synth_memory.c has the others)
 *	end     completion queue - queue pair, in RTS before the recorded one is in RTR
 *
 * The end mirrors the recorded one: its sequence numbers swapped, the same MTU and timers. What
 * only the other program knew is not in the trace: queue sizes, and when its queue pair existed.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "core/base/vec.h"
#include "core/wire/log.h"
#include "replay/synth/synth_priv.h"
#include "replay/state/recorded.h"

enum { DEPTH = 256, SRQ_CQE = 4096, TIMEOUT = 14, RETRIES = 7, PATTERN = 251 };

static int open_buffer(struct synth_host *host)
{
	uint64_t size = 2 * host->longest;

	host->buffer = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (host->buffer == MAP_FAILED) {
		host->buffer = NULL;
		return -errno;
	}
	for (uint64_t i = 0; i < host->longest; i++)
		host->buffer[i] = (char)(i % PATTERN);
	host->buffer_mr =
		ibv_reg_mr(host->pd, host->buffer, size,
			   IBV_ACCESS_LOCAL_WRITE | (host->bind ? IBV_ACCESS_MW_BIND : 0));
	host->closed = ibv_reg_mr(host->pd, host->buffer, 1, IBV_ACCESS_LOCAL_WRITE);
	return host->buffer_mr && host->closed ? 0 : -errno;
}

static int open_host(struct synth_host *host)
{
	int err;

	if (host->context)
		return host->closed ? 0 : -EIO;
	host->context = ibv_open_device(host->device->device);
	host->pd = host->context ? ibv_alloc_pd(host->context) : NULL;
	if (!host->pd)
		return log_err(-errno, "open %s for the synthesized peers", host->device->name);
	err = open_buffer(host);
	if (err)
		return log_err(err, "create the message buffer of the synthesized peers");
	return synth_map_regions(host);
}

void synth_close(struct synth_host *host)
{
	for (size_t i = 0; i < host->nsrqs; i++)
		if (host->srqs[i].srq)
			ibv_destroy_srq(host->srqs[i].srq);
	if (host->srq_cq)
		ibv_destroy_cq(host->srq_cq);
	if (host->xrcd)
		ibv_close_xrcd(host->xrcd);
	synth_unmap(host);
	if (host->closed)
		ibv_dereg_mr(host->closed);
	if (host->buffer_mr)
		ibv_dereg_mr(host->buffer_mr);
	if (host->buffer)
		munmap(host->buffer, 2 * host->longest);
	if (host->pd)
		ibv_dealloc_pd(host->pd);
	if (host->context)
		ibv_close_device(host->context);
	free(host->srqs);
}

int64_t synth_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

bool synth_wait(int64_t deadline)
{
	sched_yield();
	return synth_now() < deadline;
}

void synth_drain(struct synth_end *end)
{
	struct ibv_wc wcs[32];
	int n;

	while (end->cq && (n = ibv_poll_cq(end->cq, 32, wcs)) > 0)
		for (int i = 0; i < n; i++)
			if (wcs[i].wr_id && end->unsent)
				end->unsent--;
	while (end->host->srq_cq && ibv_poll_cq(end->host->srq_cq, 32, wcs) > 0)
		;
}

static uint32_t limit_value(uint32_t value, int max)
{
	return max > 0 && value > (uint32_t)max ? (uint32_t)max : value;
}

static enum ibv_qp_type mirror_type(enum ibv_qp_type type)
{
	if (type == IBV_QPT_XRC_SEND)
		return IBV_QPT_XRC_RECV;
	return type == IBV_QPT_XRC_RECV ? IBV_QPT_XRC_SEND : type;
}

static int open_domain(struct synth_host *host)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							IBV_XRCD_INIT_ATTR_OFLAGS,
					   .fd = -1,
					   .oflags = O_CREAT };

	if (host->xrcd)
		return 0;
	host->xrcd = ibv_open_xrcd(host->context, &attr);
	host->srq_cq =
		ibv_create_cq(host->context, (int)limit_value(SRQ_CQE, host->device->attr.max_cqe),
			      NULL, NULL, 0);
	return host->xrcd && host->srq_cq ? 0 : -errno;
}

static struct ibv_qp *create_qp(struct synth_end *end, const struct synth_plan *plan)
{
	struct synth_host *host = end->host;
	const struct ibv_device_attr *max = &host->device->attr;
	uint32_t depth = plan->depth < DEPTH ? DEPTH : plan->depth;
	struct ibv_qp_init_attr_ex attr = {
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = host->pd,
		.qp_type = mirror_type(plan->type),
		.cap = { .max_send_wr = limit_value(DEPTH, max->max_qp_wr),
			 .max_recv_wr = limit_value(depth, max->max_qp_wr),
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};

	if (attr.qp_type == IBV_QPT_XRC_RECV) {
		attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		if (open_domain(host))
			return NULL;
		attr.xrcd = host->xrcd;
		return ibv_create_qp_ex(host->context, &attr);
	}
	end->cq = ibv_create_cq(host->context, (int)limit_value(2 * depth + DEPTH, max->max_cqe),
				NULL, NULL, 0);
	attr.send_cq = end->cq;
	attr.recv_cq = end->cq;
	if (attr.qp_type == IBV_QPT_XRC_SEND)
		attr.cap.max_recv_wr = attr.cap.max_recv_sge = 0;
	return end->cq ? ibv_create_qp_ex(host->context, &attr) : NULL;
}

void synth_free_end(struct synth_end *end)
{
	if (!end)
		return;
	if (end->ah)
		ibv_destroy_ah(end->ah);
	if (end->qp)
		ibv_destroy_qp(end->qp);
	if (end->cq)
		ibv_destroy_cq(end->cq);
	free(end);
}

static struct synth_end *new_end(struct synth_plan *plan, struct synth_host *host, uint32_t there)
{
	struct synth_end *end = calloc(1, sizeof(*end));

	if (!end)
		return NULL;
	end->host = host;
	end->there = there;
	if (!open_host(host))
		end->qp = create_qp(end, plan);
	if (!end->qp) {
		synth_free_end(end);
		return NULL;
	}
	host->nends++;
	end->next = plan->ends;
	plan->ends = end;
	return end;
}

/*
 * The path from a port to itself: the recorded queue pair is on the same port. The path has the GID
 * of the recorded queue pair's own path, @recorded: Soft-RoCE drops packets from a GID other than
 * the connected one.
 */
static struct ibv_ah_attr loopback_path(struct replay *r, const struct synth_plan *plan,
					const struct synth_host *host, uint8_t port,
					const struct ibv_ah_attr *recorded)
{
	struct ibv_ah_attr av = *recorded;

	av.port_num = port;
	devices_translate_source(r->devices, recorded_device_name(r, plan->object), host->device,
				 &av);
	devices_translate(host->device, host->device, av.port_num, &av);
	return av;
}

static int move_to_init(struct synth_end *end, uint8_t port, uint32_t qkey)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = device_port(end->host->device, port),
				    .qkey = qkey,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (end->qp->qp_type == IBV_QPT_UC)
		attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	mask |= end->qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	return ibv_modify_qp(end->qp, &attr, mask);
}

static bool is_responder(const struct synth_end *end)
{
	return end->qp->qp_type == IBV_QPT_RC || end->qp->qp_type == IBV_QPT_XRC_RECV;
}

static bool is_requester(const struct synth_end *end)
{
	return end->qp->qp_type == IBV_QPT_RC || end->qp->qp_type == IBV_QPT_XRC_SEND;
}

static int move_to_rtr(struct synth_end *end, const struct replica *mine,
		       const struct synth_link *link, const struct ibv_qp_attr *recorded,
		       const struct ibv_ah_attr *av)
{
	const struct synth_host *host = end->host;
	enum ibv_mtu mtu = host->device->ports[device_port(host->device, mine->qp->port)].mtu;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .ah_attr = *av,
				    .path_mtu = recorded->path_mtu,
				    .dest_qp_num = mine->number,
				    .rq_psn = link->sq_psn,
				    .min_rnr_timer = recorded->min_rnr_timer };
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	if (mtu && attr.path_mtu > mtu)
		attr.path_mtu = mtu;
	if (is_responder(end)) {
		attr.max_dest_rd_atomic =
			(uint8_t)limit_value(16, host->device->attr.max_qp_rd_atom);
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
	return ibv_modify_qp(end->qp, &attr, mask);
}

static int move_to_rts(struct synth_end *end, const struct ibv_qp_attr *recorded)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .sq_psn = recorded->rq_psn,
				    .timeout = TIMEOUT,
				    .retry_cnt = RETRIES,
				    .rnr_retry = RETRIES,
				    .max_rd_atomic = (uint8_t)limit_value(
					    recorded->max_dest_rd_atomic,
					    end->host->device->attr.max_qp_init_rd_atom) };
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (is_requester(end))
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	else if (is_responder(end))
		mask |= IBV_QP_TIMEOUT;
	return ibv_modify_qp(end->qp, &attr, mask);
}

/* The link that the recorded program establishes next, with queue pair @number. */
static const struct synth_link *next_link(struct synth_plan *plan, uint32_t number)
{
	for (size_t i = plan->at; i < plan->nlinks; i++)
		if (plan->links[i].number == number && plan->links[i].host) {
			plan->at = i + 1;
			return &plan->links[i];
		}
	return NULL;
}

static struct synth_end *connect_end(struct replay *r, struct synth_plan *plan,
				     const struct ibv_qp_attr *attr)
{
	const struct synth_link *link = next_link(plan, attr->dest_qp_num);
	const struct replica *mine = replica_of(r, plan->object);
	struct ibv_ah_attr av;
	struct synth_end *end;
	int err;

	if (!link)
		return NULL;
	end = new_end(plan, &r->far->hosts[link->host - 1], link->number);
	if (!end)
		return NULL;
	av = loopback_path(r, plan, end->host, mine->qp->port, &attr->ah_attr);
	err = move_to_init(end, mine->qp->port, 0) ?:
			move_to_rtr(end, mine, link, attr, &av) ?:
			move_to_rts(end, attr);
	if (!err)
		return end;
	log_err(-err, "connect the synthesized peer of %s",
		trace_object(r->trace, plan->object)->name);
	plan->ends = end->next;
	synth_free_end(end);
	return NULL;
}

static void free_ends(struct synth_plan *plan)
{
	while (plan->ends) {
		struct synth_end *end = plan->ends;

		plan->ends = end->next;
		synth_free_end(end);
	}
}

bool synth_connect(struct replay *r, uint32_t object, const struct ibv_qp_attr *attr,
		   uint32_t *ret_number)
{
	struct synth_plan *plan = synth_plan_of(r, object);
	struct synth_end *end;

	if (!plan || plan->type == IBV_QPT_UD || !replica_of(r, object)->qp)
		return false;
	pthread_mutex_lock(&r->far->lock);
	free_ends(plan);
	end = connect_end(r, plan, attr);
	if (end)
		*ret_number = end->qp->qp_num;
	pthread_mutex_unlock(&r->far->lock);
	return end;
}

void synth_disconnect(struct replay *r, uint32_t object)
{
	struct synth_plan *plan = synth_plan_of(r, object);

	if (!plan)
		return;
	pthread_mutex_lock(&r->far->lock);
	free_ends(plan);
	pthread_mutex_unlock(&r->far->lock);
}

/* Create a queue pair for datagrams, with an address handle to the recorded one. */
static struct synth_end *new_datagram_end(struct replay *r, struct synth_plan *plan,
					  const struct synth_link *link)
{
	const struct replica *mine = replica_of(r, plan->object);
	struct synth_host *host = &r->far->hosts[link->host - 1];
	struct synth_end *end;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	struct ibv_ah_attr av;
	int err;

	if (!mine->handle || !mine->qp)
		return NULL;
	end = new_end(plan, host, link->number);
	if (!end)
		return NULL;
	err = move_to_init(end, mine->qp->port, plan->qkey)
		      ?: ibv_modify_qp(end->qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	if (!err)
		err = ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	av = loopback_path(r, plan, host, mine->qp->port, &link->av);
	end->ah = err ? NULL : ibv_create_ah(host->pd, &av);
	if (end->ah)
		return end;
	plan->ends = end->next;
	synth_free_end(end);
	return NULL;
}

struct synth_end *synth_datagram_end(struct replay *r, struct synth_plan *plan, uint32_t qpn)
{
	struct synth_end *end = plan->ends;
	size_t i = 0;
	while (i < plan->nlinks && plan->links[i].number != qpn)
		i++;
	if (i == plan->nlinks || !plan->links[i].host)
		return NULL;
	while (end && end->there != qpn)
		end = end->next;
	return end ? end : new_datagram_end(r, plan, &plan->links[i]);
}

uint32_t synth_datagram_qpn(struct replay *r, uint32_t object, uint32_t qpn)
{
	struct synth_plan *plan = synth_plan_of(r, object);
	struct synth_end *end;
	uint32_t number;

	if (!plan || plan->type != IBV_QPT_UD)
		return 0;
	pthread_mutex_lock(&r->far->lock);
	end = synth_datagram_end(r, plan, qpn);
	number = end ? end->qp->qp_num : 0;
	pthread_mutex_unlock(&r->far->lock);
	return number;
}

static struct synth_srq *new_srq(struct synth_host *host, uint32_t number)
{
	struct ibv_srq_init_attr_ex attr = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.attr = { .max_wr = limit_value(SRQ_CQE, host->device->attr.max_srq_wr),
			  .max_sge = 1 },
		.srq_type = IBV_SRQT_XRC,
		.pd = host->pd,
		.xrcd = host->xrcd,
		.cq = host->srq_cq,
	};
	struct synth_srq *srq = vec_push(host->srqs, host->nsrqs);

	if (!srq)
		return NULL;
	srq->number = number;
	srq->srq = ibv_create_srq_ex(host->context, &attr);
	if (!srq->srq || ibv_get_srq_num(srq->srq, &srq->here))
		return NULL;
	return srq;
}

struct synth_srq *synth_srq_of(struct synth_end *end, uint32_t number)
{
	struct synth_host *host = end->host;

	for (size_t i = 0; i < host->nsrqs; i++)
		if (host->srqs[i].number == number)
			return &host->srqs[i];
	return host->xrcd ? new_srq(host, number) : NULL;
}

uint32_t synth_srqn(struct replay *r, uint32_t object, uint32_t srqn)
{
	struct synth_plan *plan = synth_plan_of(r, object);
	struct synth_srq *srq = NULL;
	uint32_t number;

	if (!plan)
		return 0;
	pthread_mutex_lock(&r->far->lock);
	if (plan->ends)
		srq = synth_srq_of(plan->ends, srqn);
	number = srq ? srq->here : 0;
	pthread_mutex_unlock(&r->far->lock);
	return number;
}
