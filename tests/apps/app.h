#pragma once
/*
 * Functions that the small programs share: opening the first device, and failing.
 *
 * `good` as the only argument makes a program leave out its mistake.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NEED(what)                                             \
	({                                                     \
		typeof(what) need_ = (what);                   \
		if (!need_) {                                  \
			fprintf(stderr, "%s failed\n", #what); \
			exit(2);                               \
		}                                              \
		need_;                                         \
	})
#define MUST(what) ((void)NEED((what) == 0))

static inline bool is_good(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "good");
}

static inline struct ibv_context *open_first_device(void)
{
	struct ibv_device **list = NEED(ibv_get_device_list(NULL));
	struct ibv_context *context = NEED(ibv_open_device(NEED(list[0])));

	ibv_free_device_list(list);
	return context;
}

static inline struct ibv_qp *create_rc_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	return NEED(ibv_create_qp(pd, &attr));
}

/* Attributes that connect queue pairs; a program may change them before. */
static struct ibv_qp_attr connected_with = {
	.port_num = 1,
	.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	.path_mtu = IBV_MTU_1024,
	.max_dest_rd_atomic = 1,
	.max_rd_atomic = 1,
	.min_rnr_timer = 12,
	.timeout = 14,
	.retry_cnt = 7,
	.rnr_retry = 7,
};

static inline struct ibv_qp_attr attributes_of(enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = connected_with;

	attr.qp_state = state;
	return attr;
}

static inline void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = attributes_of(IBV_QPS_INIT);
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	MUST(ibv_modify_qp(qp, &attr,
			   mask | (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
}

/* Move to RTR with queue pair @number at @address; returns the result of ibv_modify_qp(). */
static inline int to_rtr(struct ibv_qp *qp, uint32_t number, struct ibv_ah_attr address)
{
	struct ibv_qp_attr attr = attributes_of(IBV_QPS_RTR);
	int mask = IBV_QP_STATE;

	attr.dest_qp_num = number;
	attr.ah_attr = address;
	if (qp->qp_type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_RECV)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(qp, &attr, mask);
}

static inline void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = attributes_of(IBV_QPS_RTS);
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (qp->qp_type == IBV_QPT_XRC_RECV)
		mask |= IBV_QP_TIMEOUT;
	else if (qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_SEND)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	MUST(ibv_modify_qp(qp, &attr, mask));
}

/* All posted requests are flushed. */
static inline void to_err(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
}

/* The address of this port by its LID, or by its GID at @index, which is also the source. */
static inline struct ibv_ah_attr own_address(struct ibv_context *context, uint8_t index)
{
	struct ibv_ah_attr address = { .port_num = 1 };
	struct ibv_port_attr port;

	MUST(ibv_query_port(context, 1, &port));
	address.dlid = port.lid;
	if (port.link_layer != IBV_LINK_LAYER_ETHERNET)
		return address;
	address.is_global = 1;
	address.grh.hop_limit = 1;
	address.grh.sgid_index = index;
	MUST(ibv_query_gid(context, 1, index, &address.grh.dgid));
	return address;
}

/* A queue pair for datagrams, in RTS. */
static inline struct ibv_qp *create_ud_qp(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t qkey)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .cap = { 8, 8, 1, 1, 0 }, .qp_type = IBV_QPT_UD
	};
	struct ibv_qp *qp = NEED(ibv_create_qp(pd, &init));

	connected_with.qkey = qkey;
	to_init(qp);
	MUST(to_rtr(qp, 0, (struct ibv_ah_attr){ 0 }));
	to_rts(qp);
	return qp;
}

/* From RESET to RTS; on RoCE with the port's first GID. The other one is on the same port. */
static inline void connect_to(struct ibv_context *context, struct ibv_qp *qp, uint32_t number)
{
	to_init(qp);
	MUST(to_rtr(qp, number, own_address(context, 0)));
	to_rts(qp);
}

/* Execute the program again with the software device on an Ethernet link, unless it is. */
static inline void be_on_ethernet(char **argv)
{
	if (getenv("VERBATIM_SOFT_LINK"))
		return;
	setenv("VERBATIM_SOFT_LINK", "roce", 1);
	execv("/proc/self/exe", argv);
	exit(2);
}

static inline void connect_to_itself(struct ibv_context *context, struct ibv_qp *qp)
{
	connect_to(context, qp, qp->qp_num);
}
