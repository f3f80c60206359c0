/*
 * Spreading packets over work queues by a hash of their headers
 *
 * The queue pair has no queues of its own: its flow rules carry the numbers of
 * the work queues, and who sends picks one of them.
 *
 * The hash is Toeplitz over those fields that were asked for and are there,
 * in the order addresses (source, destination), ports (source, destination).
 * A packet without any goes to the first.
 */
#include "shim/soft/transport/rss.h"

#include <stdlib.h>

#include "shim/soft/transport/flow.h"
#include "shim/soft/verbs/qp.h"
#include "shim/soft/verbs/wq.h"

struct soft_rss {
	struct soft_rwq_table	*table;
	uint64_t		fields;
	uint8_t			key[SHM_RSS_KEY];
};

static int check(struct ibv_context *context,
		 const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_rx_hash_conf *conf = &attr->rx_hash_conf;
	const uint32_t must = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
		IBV_QP_INIT_ATTR_RX_HASH;
	int err;

	err = soft_enter(context, "create_qp");
	if (!err)
		err = flow_may_be_raw();
	if (err)
		return err;
	if ((attr->comp_mask & must) != must ||
	    attr->qp_type != IBV_QPT_RAW_PACKET ||
	    !attr->pd || attr->pd->context != context ||
	    !attr->rwq_ind_tbl || attr->rwq_ind_tbl->context != context ||
	    attr->send_cq || attr->recv_cq || attr->srq ||
	    attr->cap.max_send_wr || attr->cap.max_recv_wr)
		return EINVAL;
	if (attr->comp_mask & ~(must | IBV_QP_INIT_ATTR_CREATE_FLAGS) ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
	     attr->create_flags) ||
	    conf->rx_hash_function != IBV_RX_HASH_FUNC_TOEPLITZ ||
	    conf->rx_hash_fields_mask & ~(uint64_t)SHM_RSS_FIELDS)
		return EOPNOTSUPP;
	return conf->rx_hash_key_len != SHM_RSS_KEY || !conf->rx_hash_key ?
		EINVAL : 0;
}

static struct soft_rss *make(const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_rx_hash_conf *conf = &attr->rx_hash_conf;
	struct soft_rss *rss = calloc(1, sizeof(*rss));

	if (!rss)
		return NULL;
	rss->table = to_table(attr->rwq_ind_tbl);
	rss->fields = conf->rx_hash_fields_mask;
	memcpy(rss->key, conf->rx_hash_key, sizeof(rss->key));
	return rss;
}

struct ibv_qp *rss_create_qp(struct ibv_context *context,
			     struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr basic = {
		.qp_context = attr->qp_context, .qp_type = attr->qp_type,
	};
	struct soft_rss *rss;
	struct soft_qp *qp;
	int err;

	err = check(context, attr);
	if (err)
		return soft_fail(err);
	rss = make(attr);
	if (!rss)
		return soft_fail(ENOMEM);
	/* it never completes anything there */
	basic.send_cq = basic.recv_cq = rss->table->wq[0]->wq.cq;
	qp = qp_new(attr->pd, &basic);
	if (!qp) {
		free(rss);
		return NULL;
	}
	qp->ex.qp_base.send_cq = qp->ex.qp_base.recv_cq = NULL;
	qp->init.send_cq = qp->init.recv_cq = NULL;
	pthread_mutex_lock(&soft_mutex);
	qp->rss = rss;
	rss->table->refs++;
	pthread_mutex_unlock(&soft_mutex);
	return &qp->ex.qp_base;
}

void rss_free(struct soft_rss *rss)
{
	if (rss)
		rss->table->refs--;
	free(rss);
}

void rss_fill(const struct soft_rss *rss, struct shm_flow *rule)
{
	uint32_t i;

	rule->spread = rss->table->size;
	rule->fields = rss->fields;
	memcpy(rule->key, rss->key, sizeof(rule->key));
	for (i = 0; i < rss->table->size; i++)
		rule->target[i] = rss->table->wq[i]->wq.wq_num;
}

struct input {
	uint8_t	data[36];
	size_t	len;
};

static void add(struct input *in, const void *field, size_t size)
{
	memcpy(in->data + in->len, field, size);
	in->len += size;
}

/* Which fields, of which header, how long. */
static void collect(uint64_t fields, unsigned int layers,
		    const struct packet *p, struct input *in)
{
	size_t ip = layers & PACKET_IPV4 ? 4 : 16;
	uint64_t wanted = 0;

	if (layers & PACKET_IPV4)
		wanted = fields & 3;
	else if (layers & PACKET_IPV6)
		wanted = fields >> 2 & 3;
	if (wanted & 1)
		add(in, p->src_ip, ip);
	if (wanted & 2)
		add(in, p->dst_ip, ip);
	wanted = layers & PACKET_TCP ? fields >> 4 & 3 :
		layers & PACKET_UDP ? fields >> 6 & 3 : 0;
	if (wanted & 1)
		add(in, p->src_port, 2);
	if (wanted & 2)
		add(in, p->dst_port, 2);
}

uint32_t rss_target(const struct shm_flow *rule, unsigned int layers,
		    const struct packet *packet)
{
	struct input in = { .len = 0 };
	uint32_t hash;

	if (!rule->spread)
		return rule->target[0];
	collect(rule->fields, layers, packet, &in);
	hash = packet_hash(rule->key, in.data, in.len);
	return rule->target[hash & (rule->spread - 1) & (SHM_RSS_MAX - 1)];
}
