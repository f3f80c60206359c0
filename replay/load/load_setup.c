/*
 * The objects of a worker: a device, a region, completion queues, queue pairs
 *
 * All requests of a worker read and write the same memory, which has the size of the largest
 * request; its contents do not matter. Both ends of a link are ports of one device.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/base/vec.h"
#include "core/wire/log.h"
#include "replay/load/load_worker.h"

enum {
	GRH = 40,
	TIMEOUT = 14, /* 67 ms */
	RETRIES = 7,
	RNR_TIMER = 1, /* 10 us */
	RD_ATOMIC = 16,
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		 IBV_ACCESS_REMOTE_ATOMIC,
};

static const struct load_flow *flow_of(const struct load_worker *w, const struct load_end *end,
				       bool sends)
{
	const struct load_link *link = &w->plan->links[end->link];
	uint32_t flow = link->flow[sends ? end->side : 1 - end->side];

	return flow == LOAD_NONE ? NULL : &w->plan->flows[flow];
}

static uint32_t find_largest(const struct load_plan *plan, const struct load_flow *flow)
{
	uint32_t most = 0;

	for (size_t i = 0; flow && i < flow->track->n; i++) {
		uint32_t bytes = plan->load->kinds[flow->track->requests[i].kind].bytes;

		most = bytes > most ? bytes : most;
	}
	return most;
}

static uint32_t limit_number(uint32_t value, uint32_t most)
{
	return value < most ? value : most;
}

/* Set the lengths of the end's queues and receives; enlarge the worker's memory if needed. */
static void size_end(struct load_worker *w, struct load_end *end)
{
	const struct load_flow *sent = flow_of(w, end, true), *received = flow_of(w, end, false);
	uint32_t most = (uint32_t)w->device->attr.max_qp_wr;
	uint32_t longest = find_largest(w->plan, sent), landing = find_largest(w->plan, received);

	end->depth = sent ? limit_number(sent->class->depth, most) : 0;
	if (received && load_track_count(w->plan->load, received->track, load_is_message))
		end->receives = limit_number(2 * received->class->depth, most);
	end->landing = landing + GRH;
	w->half = longest > w->half ? longest : w->half;
	w->half = end->landing > w->half ? end->landing : w->half;
}

static int add_end(struct load_worker *w, uint32_t link, unsigned int side)
{
	struct load_end *end;

	if (load_owner(w->plan, w->plan->links[link].rank[side]) != w->index)
		return 0;
	end = vec_push(w->ends, w->nends);
	if (!end)
		return log_err(-ENOMEM, "make queue pairs");
	end->link = link;
	end->side = side;
	size_end(w, end);
	return 0;
}

static int add_ends(struct load_worker *w)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < w->plan->nlinks; i++)
		err = add_end(w, i, 0) ?: add_end(w, i, 1);
	return err;
}

int load_open(struct load_worker *w)
{
	int err = devices_open(w->plan->options->device, &w->devices);

	if (err)
		return err;
	w->device = devices_first(w->devices);
	if (w->device->device->transport_type == IBV_TRANSPORT_IWARP)
		return log_why(
			-ENOTSUP,
			"%s connects queue pairs by librdmacm only (iWARP): choose another device "
			"with --device",
			w->device->name);
	w->port = 1;
	while (w->port < PORTS_MAX && !w->device->ports[w->port].there)
		w->port++;
	w->pd = ibv_alloc_pd(w->device->context);
	return w->pd ? 0 : log_err(-errno, "ibv_alloc_pd");
}

static int make_memory(struct load_worker *w)
{
	size_t page = 4096, all;

	w->half = (w->half + page) & -page;
	all = 2 * w->half * w->plan->nworkers;
	if (w->plan->options->memory && all > w->plan->options->memory)
		return log_why(
			-ENOSPC,
			"the buffers of the largest requests need %zu MiB of memory: increase "
			"--max-memory",
			(all >> 20) + 1);
	w->memory =
		mmap(NULL, 2 * w->half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w->memory == MAP_FAILED) {
		w->memory = NULL;
		return log_err(-errno, "map %zu bytes for requests", 2 * w->half);
	}
	w->mr = ibv_reg_mr(w->pd, w->memory, 2 * w->half, ACCESS);
	return w->mr ? 0 : log_err(-errno, "ibv_reg_mr of %zu bytes", 2 * w->half);
}

/* A completion queue with room for @end: the newest CQ, or a new CQ. */
static struct ibv_cq *find_cq(struct load_worker *w, const struct load_end *end, size_t *room)
{
	size_t needed = (size_t)end->depth + end->receives + 1;
	size_t all = 0, most = (size_t)w->device->attr.max_cqe;
	struct ibv_cq **cq;

	if (w->ncqs && *room >= needed) {
		*room -= needed;
		return w->cqs[w->ncqs - 1];
	}
	for (const struct load_end *each = end; each < w->ends + w->nends; each++)
		all += (size_t)each->depth + each->receives + 1;
	all = all < most ? all : most;
	cq = vec_push(w->cqs, w->ncqs);
	if (cq)
		*cq = ibv_create_cq(w->device->context, (int)all, NULL, NULL, 0);
	if (!cq || !*cq) {
		log_err(cq ? -errno : -ENOMEM, "ibv_create_cq of %zu", all);
		w->ncqs -= !!cq;
		return NULL;
	}
	*room = all - needed;
	return *cq;
}

static int begin_qp(struct load_worker *w, struct load_end *end)
{
	bool ud = w->plan->links[end->link].transport == LOAD_UD;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = w->port,
				    .qkey = LOAD_QKEY,
				    .qp_access_flags = ACCESS };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	int err;

	/* UC has neither reads nor atomics */
	if (w->plan->links[end->link].transport == LOAD_UC)
		attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	err = ibv_modify_qp(end->qp, &attr, mask | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
	return err ? log_err(-err, "ibv_modify_qp to INIT") : 0;
}

static int make_qp(struct load_worker *w, struct load_end *end, size_t *room)
{
	static const enum ibv_qp_type types[LOAD_TRANSPORTS] = { IBV_QPT_RC, IBV_QPT_UC,
								 IBV_QPT_UD };
	struct ibv_qp_init_attr attr = { .qp_type = types[w->plan->links[end->link].transport],
					 .cap = { .max_send_wr = end->depth ?: 1,
						  .max_recv_wr = end->receives ?: 1,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };
	struct load_notice *notice = load_notice(w->plan, end->link, end->side);

	attr.send_cq = attr.recv_cq = find_cq(w, end, room);
	if (!attr.send_cq)
		return -EIO;
	end->qp = ibv_create_qp(w->pd, &attr);
	if (!end->qp)
		return log_err(-errno, "ibv_create_qp, %td of %zu", end - w->ends + 1, w->nends);
	*notice = (struct load_notice){ .address = (uint64_t)(uintptr_t)w->memory + w->half,
					.rkey = w->mr->rkey,
					.number = end->qp->qp_num };
	return begin_qp(w, end);
}

/* Check that no datagram is larger than a packet. */
static int check_sizes(const struct load_worker *w)
{
	uint32_t mtu = 128u << w->device->ports[w->port].mtu;

	for (size_t i = 0; i < w->nends; i++) {
		const struct load_flow *flow = flow_of(w, &w->ends[i], true);
		uint32_t most = find_largest(w->plan, flow);

		if (flow && flow->class->transport == LOAD_UD && most > mtu)
			return log_why(-ENOTSUP,
				       "a datagram of %u bytes is longer than the MTU of %s, %u",
				       most, w->device->name, mtu);
	}
	return 0;
}

int load_setup(struct load_worker *w)
{
	size_t room = 0;
	int err = add_ends(w);

	if (!err)
		err = check_sizes(w) ?: make_memory(w);
	for (size_t i = 0; !err && i < w->nends; i++)
		err = make_qp(w, &w->ends[i], &room);
	return err;
}

int load_post_receive(struct load_worker *w, uint32_t index)
{
	struct ibv_sge sge = { (uint64_t)(uintptr_t)w->memory + w->half, w->ends[index].landing,
			       w->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = (uint64_t)index << 1 | 1,
				  .sg_list = &sge,
				  .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return -ibv_post_recv(w->ends[index].qp, &wr, &bad);
}

static int move_to_rtr(struct load_worker *w, struct load_end *end, const struct ibv_ah_attr *av)
{
	const struct load_link *link = &w->plan->links[end->link];
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = w->device->ports[w->port].mtu,
				    .dest_qp_num =
					    load_notice(w->plan, end->link, 1 - end->side)->number,
				    .rq_psn = LOAD_PSN,
				    .max_dest_rd_atomic = RD_ATOMIC,
				    .min_rnr_timer = RNR_TIMER,
				    .ah_attr = *av };
	int mask = IBV_QP_STATE, err;

	if (attr.max_dest_rd_atomic > w->device->attr.max_qp_rd_atom)
		attr.max_dest_rd_atomic = (uint8_t)w->device->attr.max_qp_rd_atom;
	if (link->transport != LOAD_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (link->transport == LOAD_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	err = ibv_modify_qp(end->qp, &attr, mask);
	return err ? log_err(-err, "ibv_modify_qp to RTR") : 0;
}

static int move_to_rts(struct load_worker *w, struct load_end *end)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .sq_psn = LOAD_PSN,
				    .timeout = TIMEOUT,
				    .retry_cnt = RETRIES,
				    .rnr_retry = RETRIES,
				    .max_rd_atomic = RD_ATOMIC };
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN, err;

	if (attr.max_rd_atomic > w->device->attr.max_qp_init_rd_atom)
		attr.max_rd_atomic = (uint8_t)w->device->attr.max_qp_init_rd_atom;
	if (w->plan->links[end->link].transport == LOAD_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	err = ibv_modify_qp(end->qp, &attr, mask);
	return err ? log_err(-err, "ibv_modify_qp to RTS") : 0;
}

static int connect_end(struct load_worker *w, struct load_end *end)
{
	struct ibv_ah_attr av = { .port_num = w->port };
	int err;

	devices_translate(w->device, w->device, w->port, &av);
	err = move_to_rtr(w, end, &av) ?: move_to_rts(w, end);
	if (!err && w->plan->links[end->link].transport == LOAD_UD) {
		end->ah = ibv_create_ah(w->pd, &av);
		err = end->ah ? 0 : log_err(-errno, "ibv_create_ah");
	}
	return err;
}

int load_connect(struct load_worker *w)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < w->nends; i++) {
		err = connect_end(w, &w->ends[i]);
		for (uint32_t k = 0; !err && k < w->ends[i].receives; k++) {
			err = load_post_receive(w, i);
			if (err)
				log_err(err, "ibv_post_recv");
		}
	}
	return err;
}

void load_fini_worker(struct load_worker *w)
{
	for (size_t i = 0; i < w->nends; i++) {
		if (w->ends[i].qp)
			ibv_destroy_qp(w->ends[i].qp);
		if (w->ends[i].ah)
			ibv_destroy_ah(w->ends[i].ah);
	}
	for (size_t i = 0; i < w->ncqs; i++)
		ibv_destroy_cq(w->cqs[i]);
	if (w->mr)
		ibv_dereg_mr(w->mr);
	if (w->pd)
		ibv_dealloc_pd(w->pd);
	devices_close(w->devices);
	if (w->memory)
		munmap(w->memory, 2 * w->half);
	free(w->cqs);
	free(w->ends);
	free(w->senders);
	free(w->heap);
}
