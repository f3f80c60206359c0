/*
 * Converting structures of the kernel's interface to those of verbs.h, and back
 *
 * There is no kernel driver for this device, but librdmacm calls these functions.
 */
#include "shim/soft/transport/objects.h"

#include <infiniband/sa.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

#include "shim/soft/verbs/enter.h"

/* Functions that no header declares that can be included together with verbs.h. */
void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *to, struct ib_uverbs_ah_attr *from);
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *to, struct ib_uverbs_qp_attr *from);
void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *to, struct ib_user_path_rec *from);
void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *to, struct ibv_sa_path_rec *from);

#define SAME(field) (to->field = from->field)

static void copy_ah(struct ibv_ah_attr *to, const struct ib_uverbs_ah_attr *from)
{
	memcpy(to->grh.dgid.raw, from->grh.dgid, sizeof(from->grh.dgid));
	SAME(grh.flow_label);
	SAME(grh.sgid_index);
	SAME(grh.hop_limit);
	SAME(grh.traffic_class);
	SAME(dlid);
	SAME(sl);
	SAME(src_path_bits);
	SAME(static_rate);
	SAME(is_global);
	SAME(port_num);
}

EXPORT void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *to, struct ib_uverbs_ah_attr *from)
{
	copy_ah(to, from);
}

static void copy_limits(struct ibv_qp_attr *to, const struct ib_uverbs_qp_attr *from)
{
	to->cap.max_send_wr = from->max_send_wr;
	to->cap.max_recv_wr = from->max_recv_wr;
	to->cap.max_send_sge = from->max_send_sge;
	to->cap.max_recv_sge = from->max_recv_sge;
	to->cap.max_inline_data = from->max_inline_data;
	SAME(max_rd_atomic);
	SAME(max_dest_rd_atomic);
	SAME(min_rnr_timer);
	SAME(timeout);
	SAME(retry_cnt);
	SAME(rnr_retry);
}

EXPORT void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *to, struct ib_uverbs_qp_attr *from)
{
	/* the caller sets qp_attr_mask; qp_state is a plain number */
	SAME(qp_state);
	SAME(cur_qp_state);
	SAME(path_mtu);
	SAME(path_mig_state);
	SAME(qkey);
	SAME(rq_psn);
	SAME(sq_psn);
	SAME(dest_qp_num);
	SAME(qp_access_flags);
	SAME(pkey_index);
	SAME(alt_pkey_index);
	SAME(en_sqd_async_notify);
	SAME(sq_draining);
	SAME(port_num);
	SAME(alt_port_num);
	SAME(alt_timeout);
	copy_limits(to, from);
	copy_ah(&to->ah_attr, &from->ah_attr);
	copy_ah(&to->alt_ah_attr, &from->alt_ah_attr);
}

#define SAME_PATH_FIELDS()                       \
	do {                                     \
		SAME(dlid);                      \
		SAME(slid);                      \
		SAME(raw_traffic);               \
		SAME(flow_label);                \
		SAME(reversible);                \
		SAME(mtu);                       \
		SAME(pkey);                      \
		SAME(hop_limit);                 \
		SAME(traffic_class);             \
		SAME(numb_path);                 \
		SAME(sl);                        \
		SAME(mtu_selector);              \
		SAME(rate_selector);             \
		SAME(rate);                      \
		SAME(packet_life_time_selector); \
		SAME(packet_life_time);          \
		SAME(preference);                \
	} while (0)

EXPORT void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *to, struct ib_user_path_rec *from)
{
	memcpy(to->dgid.raw, from->dgid, sizeof(from->dgid));
	memcpy(to->sgid.raw, from->sgid, sizeof(from->sgid));
	SAME_PATH_FIELDS();
}

EXPORT void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *to, struct ibv_sa_path_rec *from)
{
	memcpy(to->dgid, from->dgid.raw, sizeof(to->dgid));
	memcpy(to->sgid, from->sgid.raw, sizeof(to->sgid));
	SAME_PATH_FIELDS();
}
