/*
 * Posts, polls and arming of replayed processes' queues
 *
 * Requests are copied into the shared buffer of a channel, with SGEs, inline data, and addresses
 * of objects in their process. An iterator's completions come many at a time; those not consumed
 * before ibv_end_poll() are stored for the next ibv_start_poll().
 */
#include "replay/process/process_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WCS = 32, SGES_MOST = 255 }; /* devices allow fewer SGEs */

static const struct process_data_callbacks *doors;

void process_data_open(const struct process_data_callbacks *with)
{
	doors = with;
}

struct channel *process_data_begin(const struct mirror *mirror)
{
	return doors->begin(mirror);
}

int process_data_ask(struct channel *c, enum process_command command)
{
	return doors->ask(c, command);
}

void process_data_end(struct channel *c)
{
	doors->end(c);
}

struct process_room process_room_of(const struct channel *c)
{
	return (struct process_room){ c->room + c->size / 2, c->room + c->size };
}

void *process_room_take(struct process_room *room, size_t size)
{
	char *at = room->at;

	size = (size + 15) & ~(size_t)15;
	if (size > (size_t)(room->end - at))
		return NULL;
	room->at += size;
	memset(at, 0, size);
	return at;
}

/* Copy SGEs, and inline data, which may be in memory that is not shared. */
static struct ibv_sge *pack_sges(struct process_room *room, const struct ibv_sge *from, int n,
				 bool inlined)
{
	struct ibv_sge *sges;

	n = n < SGES_MOST ? n : SGES_MOST;
	sges = process_room_take(room, (size_t)n * sizeof(*sges));
	for (int i = 0; sges && i < n; i++) {
		bool ours = inlined && from[i].length && !doors->has(from[i].addr);
		void *data = ours ? process_room_take(room, from[i].length) : NULL;

		sges[i] = from[i];
		if (!data)
			continue;
		memcpy(data, (void *)(uintptr_t)from[i].addr, from[i].length);
		sges[i].addr = (uintptr_t)data;
	}
	return sges;
}

void *process_data_real(const struct channel *c, const void *object)
{
	const struct mirror *mirror = mirror_of(object);

	return mirror && doors->owns(c, mirror) ? (void *)(uintptr_t)mirror->real : NULL;
}

/*
 * Replace the objects of a request; which union members are used depends on the opcode or @type.
 * False: the process lacks one of the objects: a request that waited may be posted while another
 * process is entered.
 */
static bool pack_objects(const struct channel *c, struct ibv_send_wr *wr, enum ibv_qp_type type)
{
	const struct ibv_mr *mr = wr->bind_mw.bind_info.mr;

	if (type == IBV_QPT_UD)
		wr->wr.ud.ah = process_data_real(c, wr->wr.ud.ah);
	if (wr->opcode != IBV_WR_BIND_MW)
		return type != IBV_QPT_UD || wr->wr.ud.ah;
	wr->bind_mw.mw = process_data_real(c, wr->bind_mw.mw);
	wr->bind_mw.bind_info.mr = process_data_real(c, mr);
	return wr->bind_mw.mw && (!mr || wr->bind_mw.bind_info.mr);
}

static struct ibv_send_wr *pack_sends(const struct channel *c, struct process_room *room,
				      const struct ibv_send_wr *from, enum ibv_qp_type type)
{
	struct ibv_send_wr *list;
	size_t n = 0;

	for (const struct ibv_send_wr *wr = from; wr; wr = wr->next)
		n++;
	list = n ? process_room_take(room, n * sizeof(*list)) : NULL;
	for (size_t i = 0; list && i < n; i++, from = from->next) {
		list[i] = *from;
		list[i].next = i + 1 < n ? &list[i + 1] : NULL;
		if (from->num_sge > 0)
			list[i].sg_list = pack_sges(room, from->sg_list, from->num_sge,
						    from->send_flags & IBV_SEND_INLINE);
		if ((from->num_sge > 0 && !list[i].sg_list) || !pack_objects(c, &list[i], type))
			return NULL;
	}
	return list;
}

static struct ibv_recv_wr *pack_receives(struct process_room *room, const struct ibv_recv_wr *from)
{
	struct ibv_recv_wr *list;
	size_t n = 0;

	for (const struct ibv_recv_wr *wr = from; wr; wr = wr->next)
		n++;
	list = n ? process_room_take(room, n * sizeof(*list)) : NULL;
	for (size_t i = 0; list && i < n; i++, from = from->next) {
		list[i] = *from;
		list[i].next = i + 1 < n ? &list[i + 1] : NULL;
		if (from->num_sge > 0)
			list[i].sg_list = pack_sges(room, from->sg_list, from->num_sge, false);
		if (from->num_sge > 0 && !list[i].sg_list)
			return NULL;
	}
	return list;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct channel *c = process_data_begin(mirror_of(qp));
	struct process_room room = process_room_of(c);
	struct ibv_send_wr *list = pack_sends(c, &room, wr, qp->qp_type);
	int ret = EIO;

	*bad = wr;
	c->args[0] = mirror_real((uintptr_t)qp);
	c->args[1] = (uintptr_t)list;
	if ((list || !wr) && !process_data_ask(c, PROCESS_POST_SEND)) {
		ret = (int)c->ret;
		for (uint64_t i = 1; wr && i < c->args[2]; i++)
			wr = wr->next;
		*bad = c->args[2] ? wr : NULL;
	}
	process_data_end(c);
	return ret;
}

static int post_receives(void *queue, enum verb verb, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad)
{
	struct channel *c = process_data_begin(mirror_of(queue));
	struct process_room room = process_room_of(c);
	struct ibv_recv_wr *list = pack_receives(&room, wr);
	int ret = EIO;

	*bad = wr;
	c->verb = verb;
	c->args[0] = mirror_real((uintptr_t)queue);
	c->args[1] = (uintptr_t)list;
	if ((list || !wr) && !process_data_ask(c, PROCESS_POST_RECV)) {
		ret = (int)c->ret;
		for (uint64_t i = 1; wr && i < c->args[2]; i++)
			wr = wr->next;
		*bad = c->args[2] ? wr : NULL;
	}
	process_data_end(c);
	return ret;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return post_receives(qp, VERB_post_recv, wr, bad);
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return post_receives(srq, VERB_post_srq_recv, wr, bad);
}

static int post_wq_recv(struct ibv_wq *wq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return post_receives(wq, VERB_post_wq_recv, wr, bad);
}

int process_data_build(struct mirror *mirror, struct ibv_send_wr *list, uint32_t n, bool complete)
{
	const struct ibv_qp *qp = (const void *)mirror->copy;
	struct channel *c = process_data_begin(mirror);
	struct process_room room = process_room_of(c);
	struct ibv_send_wr *packed = pack_sends(c, &room, n ? list : NULL, qp->qp_type);
	struct ibv_data_buf *bufs;
	int ret = EIO, most = 0;

	for (uint32_t i = 0; i < n; i++)
		most = list[i].num_sge > most ? list[i].num_sge : most;
	bufs = process_room_take(&room, (size_t)most * sizeof(*bufs));
	c->args[0] = mirror->real;
	c->args[1] = (uintptr_t)packed;
	c->args[2] = n;
	c->args[3] = (uintptr_t)bufs;
	c->args[4] = complete;
	if ((packed || !n) && bufs && !process_data_ask(c, PROCESS_BUILD))
		ret = (int)c->ret;
	process_data_end(c);
	return ret;
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wcs)
{
	struct channel *c = process_data_begin(mirror_of(cq));
	struct process_room room = process_room_of(c);
	int n = -EIO;

	most = most < WCS ? most : WCS;
	c->args[0] = mirror_real((uintptr_t)cq);
	c->args[1] = (uint64_t)most;
	c->args[2] = (uintptr_t)process_room_take(&room, WCS * sizeof(*wcs));
	if (!process_data_ask(c, PROCESS_POLL))
		n = (int)c->ret;
	if (n > 0)
		memcpy(wcs, (void *)(uintptr_t)c->args[2], (size_t)n * sizeof(*wcs));
	process_data_end(c);
	return n;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct channel *c = process_data_begin(mirror_of(cq));
	int ret = EIO;

	c->args[0] = mirror_real((uintptr_t)cq);
	c->args[1] = (uint64_t)solicited_only;
	if (!process_data_ask(c, PROCESS_NOTIFY))
		ret = (int)c->ret;
	process_data_end(c);
	return ret;
}

static struct process_wc *current_wc(struct ibv_cq_ex *cq)
{
	struct mirror *mirror = mirror_of(cq);

	return &mirror->wcs[mirror->at];
}

static int fetch_wcs(struct mirror *mirror)
{
	struct channel *c = process_data_begin(mirror);
	struct process_room room = process_room_of(c);
	int ret = EIO;

	mirror->at = mirror->n = 0;
	c->args[0] = mirror->real;
	c->args[1] = WCS;
	c->args[2] = (uintptr_t)process_room_take(&room, WCS * sizeof(*mirror->wcs));
	if (!process_data_ask(c, PROCESS_ITERATE) && c->ret >= 0) {
		mirror->n = (uint32_t)c->ret;
		memcpy(mirror->wcs, (void *)(uintptr_t)c->args[2],
		       mirror->n * sizeof(*mirror->wcs));
		ret = mirror->n ? 0 : ENOENT;
	}
	process_data_end(c);
	return ret;
}

static void show_current(struct ibv_cq_ex *cq)
{
	cq->wr_id = current_wc(cq)->wc.wr_id;
	cq->status = current_wc(cq)->wc.status;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	struct mirror *mirror = mirror_of(cq);
	int err;

	(void)attr;
	if (!mirror->wcs)
		mirror->wcs = calloc(WCS, sizeof(*mirror->wcs));
	if (!mirror->wcs)
		return ENOMEM;
	err = mirror->at < mirror->n ? 0 : fetch_wcs(mirror);
	if (!err)
		show_current(cq);
	return err;
}

static int next_poll(struct ibv_cq_ex *cq)
{
	struct mirror *mirror = mirror_of(cq);
	int err = ++mirror->at < mirror->n ? 0 : fetch_wcs(mirror);

	if (!err)
		show_current(cq);
	else
		mirror->at = mirror->n = 1; /* ibv_end_poll() drops the previous completion */
	return err;
}

static void end_poll(struct ibv_cq_ex *cq)
{
	struct mirror *mirror = mirror_of(cq);

	if (mirror->at < mirror->n)
		mirror->at++;
}

/* clang-format off */
#define READERS(R)                       \
	R(uint32_t, qp_num, wc.qp_num)   \
	R(uint32_t, src_qp, wc.src_qp)   \
	R(uint32_t, vendor_err, wc.vendor_err) \
	R(enum ibv_wc_opcode, opcode, wc.opcode) \
	R(unsigned int, wc_flags, wc.wc_flags) \
	R(uint32_t, byte_len, wc.byte_len) \
	R(__be32, imm_data, wc.imm_data) \
	R(uint32_t, slid, wc.slid)       \
	R(uint8_t, sl, wc.sl)            \
	R(uint8_t, dlid_path_bits, wc.dlid_path_bits) \
	R(uint32_t, flow_tag, flow_tag)

#define READER(type, name, member)                     \
	static type read_##name(struct ibv_cq_ex *cq)  \
	{                                              \
		return current_wc(cq)->member;         \
	}
READERS(READER)

#define HOOK(type, name, member)                       \
	if (cq->read_##name)                           \
		cq->read_##name = read_##name;
/* clang-format on */

static void hook_cq(struct ibv_cq_ex *cq)
{
	READERS(HOOK)
	if (!cq->start_poll)
		return;
	cq->start_poll = start_poll;
	cq->next_poll = next_poll;
	cq->end_poll = end_poll;
}

static void hook_context(struct ibv_context *context)
{
	context->ops.post_send = post_send;
	context->ops.post_recv = post_recv;
	context->ops.post_srq_recv = post_srq_recv;
	context->ops.poll_cq = poll_cq;
	context->ops.req_notify_cq = req_notify_cq;
}

void process_data_hook(struct mirror *mirror)
{
	if (mirror->kind == OBJECT_context)
		hook_context((void *)mirror->copy);
	else if (mirror->kind == OBJECT_cq && mirror->extended)
		hook_cq((void *)mirror->copy);
	else if (mirror->kind == OBJECT_wq)
		((struct ibv_wq *)(void *)mirror->copy)->post_recv = post_wq_recv;
}
