/*
 * Extended polls: start, next ... end, and a function for each field
 *
 * The thread holds the lock of polls from start to end. The current entry stays in the ring until
 * the next one or the end. Only fields that were requested have a function. In strict mode, fields
 * that are not valid in an error completion contain noise.
 *
 * Source: ibv_create_cq_ex(3).
 */
#include "shim/soft/verbs/poll_ex.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "shim/soft/fabric/noise.h"
#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/poll.h"

static struct soft_cq *cq_of(struct ibv_cq_ex *ex)
{
	return container(ex, struct soft_cq, ex);
}

static void finish_current(struct soft_cq *cq)
{
	if (!cq->current)
		return;
	poll_step(cq, cq->current);
	cq->current = NULL;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct soft_cq *cq = cq_of(ex);
	struct shm_cqe *cqe;

	finish_current(cq);
	cqe = poll_entry(cq);
	if (!cqe)
		return ENOENT;
	cq->current = cqe;
	cq->wall = 0;
	cq->shown =
		likely(cqe->status == IBV_WC_SUCCESS) || !noise_is_wanted() ? cqe : &noise_entry;
	ex->wr_id = cqe->wr_id;
	ex->status = cqe->status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct soft_cq *cq = cq_of(ex);
	int err;

	if (attr->comp_mask)
		return EINVAL;
	err = soft_enter(ex->context, "start_poll");
	if (unlikely(err))
		return err;
	if (poll_finds_none(cq))
		return ENOENT;
	if (unlikely(!poll_lock(cq)))
		return EINVAL;
	err = next_poll(ex);
	if (err)
		lock_drop(&cq->polling);
	else
		__atomic_store_n(&cq->poller, pthread_self(), __ATOMIC_RELAXED);
	return err;
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct soft_cq *cq = cq_of(ex);

	finish_current(cq);
	poll_allow_payload(cq);
	__atomic_store_n(&cq->poller, 0, __ATOMIC_RELAXED);
	lock_drop(&cq->polling);
}

/* Valid with any status of the completion. */
static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->current->vendor_err;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->current->qpn;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->shown->opcode;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->shown->byte_len;
}

/* The immediate data, or the rkey that was invalidated. */
static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->shown->imm;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->shown->src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->shown->wc_flags;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->shown->slid;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->shown->sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

/* The tag of the flow rule; 0 if no rule has set one. */
static uint32_t read_flow_tag(struct ibv_cq_ex *ex)
{
	const struct shm_cqe *cqe = cq_of(ex)->shown;

	return cqe->flags & SHM_CQE_TAGGED ? cqe->imm : 0;
}

/* Always 0: VLAN tags remain in the packet. */
static uint16_t read_cvlan(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

/* The tag of a message that a tagged buffer received; else 0. */
static void read_tm_info(struct ibv_cq_ex *ex, struct ibv_wc_tm_info *info)
{
	const struct shm_cqe *cqe = cq_of(ex)->shown;

	if (cqe->flags & SHM_CQE_MATCHING)
		memcpy(info, cqe->data, sizeof(*info));
	else
		*info = (struct ibv_wc_tm_info){ 0 };
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->shown->stamp;
}

/* The time of the completion: each read returns the same value. */
static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
	struct soft_cq *cq = cq_of(ex);
	struct timespec ts;

	if (!cq->wall) {
		clock_gettime(CLOCK_REALTIME, &ts);
		cq->wall =
			ts.tv_sec * 1000000000ull + ts.tv_nsec - (process_now() - cq->shown->stamp);
	}
	return cq->wall;
}

/* the flag of a field, and the function that reads it */
#define FIELDS(V)                                   \
	V(BYTE_LEN, read_byte_len)                  \
	V(IMM, read_imm_data)                       \
	V(QP_NUM, read_qp_num)                      \
	V(SRC_QP, read_src_qp)                      \
	V(SLID, read_slid)                          \
	V(SL, read_sl)                              \
	V(DLID_PATH_BITS, read_dlid_path_bits)      \
	V(CVLAN, read_cvlan)                        \
	V(FLOW_TAG, read_flow_tag)                  \
	V(TM_INFO, read_tm_info)                    \
	V(COMPLETION_TIMESTAMP, read_completion_ts) \
	V(COMPLETION_TIMESTAMP_WALLCLOCK, read_completion_wallclock_ns)

void poll_init_ex(struct soft_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = &cq->ex;

	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_wc_flags = read_wc_flags;
#define V(flag, function)                     \
	if (wc_flags & IBV_WC_EX_WITH_##flag) \
		ex->function = function;
	FIELDS(V)
#undef V
}
