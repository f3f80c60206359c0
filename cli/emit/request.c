/*
 * Work requests as C
 */
#include "cli/emit/request.h"

#include <inttypes.h>
#include <errno.h>
#include <infiniband/verbs.h>

#include "cli/emit/arguments.h"
#include "cli/emit/names.h"
#include "cli/emit/result.h"

enum { SGES_MOST = 1024 }; /* of a list that was not recorded */

/* The process whose memory a queue pair reaches. */
static uint32_t find_far_process(const struct maker *maker, uint32_t qp)
{
	uint32_t peer = maker->order.peer[qp];

	return peer ? trace_object(maker->program->trace, peer)->process : maker->program->process;
}

static bool has_remote(const struct wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return true;
	default:
		return false;
	}
}

static const struct region *find_remote(const struct maker *maker, uint32_t qp, const struct wr *wr)
{
	return memory_find(&maker->memory, find_far_process(maker, qp), (uint32_t)wr->rkey, true,
			   maker->program->time);
}

size_t request_objects(struct maker *maker, uint32_t qp, const struct wr *wr,
		       uint32_t objects[REQUEST_OBJECTS])
{
	const struct region *region = NULL;
	size_t n = 0;

	if (has_remote(wr))
		region = find_remote(maker, qp, wr);
	else if (wr->opcode == IBV_WR_SEND_WITH_INV)
		region = memory_find(&maker->memory, find_far_process(maker, qp), wr->imm, true,
				     maker->program->time);
	if (region)
		objects[n++] = region->object;
	for (uint32_t i = 0; i < wr->nsge && n < REQUEST_OBJECTS; i++) {
		region = memory_find(&maker->memory, maker->program->process, wr->sge[i].lkey,
				     false, maker->program->time);
		if (region && wr->sge[i].length)
			objects[n++] = region->object;
	}
	return n;
}

bool request_is_receive(const struct maker *maker, struct event_id id)
{
	uint64_t value;

	return map_get(&maker->order.receives, event_key(id), &value);
}

/* The key of a region: of the region itself while it lives, what was kept of it later. */
static void add_key(struct maker *maker, const struct region *region, uint32_t key, bool remote,
		    uint32_t length)
{
	struct program *program = maker->program;
	struct phrase *phrase = &program->phrase;
	char name[NAME_TEXT];

	if (!region && !length && !key) {
		phrase_addf(phrase, "0");
		return;
	}
	if (!region || (!memory_is_live(region, program->time) &&
			memory_of(&maker->memory, region->object, program->time) != region)) {
		program->helpers |= HELPER_NO_KEY;
		phrase_addf(phrase, "NO_SUCH_KEY");
		return;
	}
	names_variable(program, region->object, name);
	program->objects[region->object].used = true;
	if (!remote && region->process == program->process &&
	    memory_is_live(region, program->time)) {
		phrase_addf(phrase, "%s->lkey", name);
		return;
	}
	if (remote)
		program->objects[region->object].rkey = true;
	else
		program->objects[region->object].lkey = true;
	phrase_addf(phrase, remote ? "%s_rkey" : "%s_lkey", name);
}

/* Inline data may come from anywhere: where that is no region, zeros stand in for it. */
static bool is_loose(const struct maker *maker, const struct wr *wr, const struct sge *sge)
{
	return wr->opcode >= 0 && wr->send_flags & IBV_SEND_INLINE &&
	       !memory_has(&maker->memory, maker->program->process, sge->addr);
}

static void add_address(struct maker *maker, const struct wr *wr, const struct sge *sge,
			const struct region *region, bool pointer)
{
	struct program *program = maker->program;

	if (!is_loose(maker, wr, sge)) {
		memory_add_address(&maker->memory, program, region, program->process, sge->addr,
				   pointer);
		return;
	}
	program->helpers |= HELPER_INLINE;
	if (sge->length > program->inline_bytes)
		program->inline_bytes = sge->length;
	phrase_addf(&program->phrase, pointer ? "inline_data" : "(uintptr_t)inline_data");
}

static const struct region *find_local(const struct maker *maker, const struct sge *sge)
{
	return memory_find(&maker->memory, maker->program->process, sge->lkey, false,
			   maker->program->time);
}

static void add_sge(struct maker *maker, const struct wr *wr, const struct sge *sge)
{
	struct phrase *phrase = &maker->program->phrase;
	const struct region *region = find_local(maker, sge);

	phrase_addf(phrase, "{ ");
	add_address(maker, wr, sge, region, false);
	phrase_addf(phrase, ", ");
	phrase_number(phrase, 'd', sge->length);
	phrase_addf(phrase, ", ");
	if (wr->opcode >= 0 && wr->send_flags & IBV_SEND_INLINE)
		phrase_addf(phrase, "0");
	else
		add_key(maker, region, sge->lkey, false, sge->length);
	phrase_addf(phrase, " }");
}

static void add_sges(struct maker *maker, const struct wr *wr)
{
	struct phrase *phrase = &maker->program->phrase;

	if (!wr->num_sge)
		return;
	if (wr->nsge == 0 && wr->num_sge > 0 && wr->num_sge <= SGES_MOST)
		phrase_addf(phrase, "\n\t.sg_list = (struct ibv_sge[%d]){ { 0 } }", wr->num_sge);
	else if (wr->nsge)
		phrase_addf(phrase, wr->nsge == 1 ? "\n\t.sg_list = &(struct ibv_sge)"
						  : "\n\t.sg_list = (struct ibv_sge[]){\n\t\t");
	for (uint32_t i = 0; i < wr->nsge; i++) {
		add_sge(maker, wr, &wr->sge[i]);
		phrase_addf(phrase, wr->nsge == 1 ? "" : i + 1 < wr->nsge ? ",\n\t\t" : " }");
	}
	phrase_addf(phrase,
		    wr->nsge || wr->num_sge > 0 ? ",\n\t.num_sge = %d," : "\n\t.num_sge = %d,",
		    wr->num_sge);
}

static void add_remote(struct maker *maker, uint32_t qp, const struct wr *wr)
{
	struct phrase *phrase = &maker->program->phrase;
	const struct region *region = find_remote(maker, qp, wr);

	memory_add_address(&maker->memory, maker->program, region, find_far_process(maker, qp),
			   wr->remote_addr, false);
	phrase_addf(phrase, ", ");
}

static void add_rkey(struct maker *maker, uint32_t qp, const struct wr *wr)
{
	uint32_t length = 0;

	for (uint32_t i = 0; i < wr->nsge; i++)
		length += wr->sge[i].length;
	add_key(maker, find_remote(maker, qp, wr), (uint32_t)wr->rkey, true, length);
}

/* The number of a datagram's queue pair: of one in the trace, or a group's. */
static void add_far_number(struct maker *maker, uint32_t qp, const struct wr *wr)
{
	struct phrase *phrase = &maker->program->phrase;
	uint32_t to = links_by_number(maker->program, qp, wr->remote_qpn, maker->program->time);
	char name[NAME_TEXT];

	if (!to) {
		phrase_addf(phrase, "0x%x", wr->remote_qpn);
		return;
	}
	maker->program->objects[to].number = true;
	phrase_addf(phrase, "%s_num", names_variable(maker->program, to, name));
}

static uint32_t find_ah(const struct maker *maker, const struct wr *wr)
{
	return arguments_object(maker, OBJECT_ah, wr->ah);
}

static void add_invalidated(struct maker *maker, uint32_t qp, const struct wr *wr)
{
	uint32_t process = wr->opcode == IBV_WR_LOCAL_INV ? maker->program->process
							  : find_far_process(maker, qp);

	add_key(maker, memory_find(&maker->memory, process, wr->imm, true, maker->program->time),
		wr->imm, true, 1);
}

/* The key that a window gets: its own with another low byte. */
static void add_window_key(struct maker *maker, const struct wr *wr, uint32_t mw)
{
	char name[NAME_TEXT];

	phrase_addf(&maker->program->phrase, "(%s->rkey & ~0xffu) | 0x%02x",
		    names_variable(maker->program, mw, name), (unsigned int)(wr->bind_rkey & 0xff));
}

static void add_bind_info(struct maker *maker, const struct wr *wr)
{
	struct phrase *phrase = &maker->program->phrase;
	uint32_t mr = arguments_object(maker, OBJECT_mr, wr->bind_mr);

	phrase_addf(phrase, "{ ");
	names_add_handle(maker->program, &phrase->text, mr);
	phrase_addf(phrase, ", ");
	memory_add_address(&maker->memory, maker->program,
			   mr ? memory_of(&maker->memory, mr, maker->program->time) : NULL,
			   maker->program->process, wr->bind_addr, false);
	phrase_addf(phrase, ", %" PRIu64 ", ", wr->bind_length);
	names_add_flags(&phrase->text, enum_find("ibv_access_flags"), (int64_t)wr->bind_access);
	phrase_addf(phrase, " }");
}

/* What is only in requests of some opcodes. */
static void add_parts(struct maker *maker, uint32_t qp, const struct wr *wr)
{
	struct phrase *phrase = &maker->program->phrase;
	bool atomic = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		      wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	uint32_t mw = arguments_object(maker, OBJECT_mw, wr->bind_mw);

	if (wr->opcode == IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		phrase_addf(phrase, "\n\t.imm_data = htobe32(");
		phrase_number(phrase, 'x', wr->imm);
		phrase_addf(phrase, "),");
	} else if (wr->opcode == IBV_WR_SEND_WITH_INV || wr->opcode == IBV_WR_LOCAL_INV) {
		phrase_addf(phrase, "\n\t.invalidate_rkey = ");
		add_invalidated(maker, qp, wr);
		phrase_addf(phrase, ",");
	}
	if (has_remote(wr)) {
		phrase_addf(phrase, atomic ? "\n\t.wr.atomic = { " : "\n\t.wr.rdma = { ");
		add_remote(maker, qp, wr);
		if (atomic) {
			phrase_number(phrase, 'x', (int64_t)wr->compare_add);
			phrase_addf(phrase, ", ");
			phrase_number(phrase, 'x', (int64_t)wr->swap);
			phrase_addf(phrase, ", ");
		}
		add_rkey(maker, qp, wr);
		phrase_addf(phrase, " },");
	}
	if (wr->ah) {
		phrase_addf(phrase, "\n\t.wr.ud = { ");
		names_add_handle(maker->program, &phrase->text, find_ah(maker, wr));
		phrase_addf(phrase, ", ");
		add_far_number(maker, qp, wr);
		phrase_addf(phrase, ", 0x%x },", wr->remote_qkey);
	}
	if (wr->opcode == IBV_WR_BIND_MW && mw) {
		char name[NAME_TEXT];

		phrase_addf(phrase, "\n\t.bind_mw = { %s, ",
			    names_variable(maker->program, mw, name));
		add_window_key(maker, wr, mw);
		phrase_addf(phrase, ",\n\t\t");
		add_bind_info(maker, wr);
		phrase_addf(phrase, " },");
	}
}

static void add_xrc(struct maker *maker, const struct wr *wr)
{
	uint32_t srq = wr->remote_srqn ? links_srq(&maker->links, (uint32_t)wr->remote_srqn) : 0;
	char name[NAME_TEXT];

	if (!srq)
		return;
	maker->program->objects[srq].number = true;
	phrase_addf(&maker->program->phrase, "\n\t.qp_type.xrc.remote_srqn = %s_num,",
		    names_variable(maker->program, srq, name));
}

/* One request of a list, and those behind it. */
static void add_request(struct maker *maker, const struct post *post, uint32_t i)
{
	struct phrase *phrase = &maker->program->phrase;
	const struct wr *wr = &post->wr[i];
	bool send = post_is_send(post);

	phrase_addf(phrase, send ? "&(struct ibv_send_wr){\n\t.wr_id = "
				 : "&(struct ibv_recv_wr){\n\t.wr_id = ");
	phrase_number(phrase, 'x', (int64_t)wr->wr_id);
	phrase_addf(phrase, ",");
	add_sges(maker, wr);
	if (send) {
		phrase_addf(phrase, "\n\t.opcode = ");
		names_add_enum(&phrase->text, enum_find("ibv_wr_opcode"), wr->opcode);
		phrase_addf(phrase, ",");
		if (wr->send_flags) {
			phrase_addf(phrase, "\n\t.send_flags = ");
			names_add_flags(&phrase->text, enum_find("ibv_send_flags"), wr->send_flags);
			phrase_addf(phrase, ",");
		}
		add_parts(maker, post->object, wr);
		add_xrc(maker, wr);
	}
	if (i + 1 < post->nwr) {
		phrase_addf(phrase, "\n\t.next = ");
		add_request(maker, post, i + 1);
		phrase_addf(phrase, ",");
	}
	phrase_addf(phrase, "\n}");
}

/* Type 2 windows: the program itself remembers the new key, once it was posted. */
static void add_bound(struct maker *maker, const struct post *post)
{
	char name[NAME_TEXT];

	for (uint32_t i = 0; i < post_taken(post); i++) {
		uint32_t mw = arguments_object(maker, OBJECT_mw, post->wr[i].bind_mw);

		if (post->wr[i].opcode != IBV_WR_BIND_MW || !mw)
			continue;
		phrase_addf(&maker->program->phrase,
			    "\n%s->rkey = ", names_variable(maker->program, mw, name));
		add_window_key(maker, &post->wr[i], mw);
		phrase_addf(&maker->program->phrase, ";" OBJECT_KEPT_SLOT, mw);
	}
}

static int add_list(struct maker *maker, const struct post *post)
{
	static const char *const bad[] = { "&bad_recv", "&bad_send" };
	struct program *program = maker->program;
	struct phrase *phrase = &program->phrase;
	const char *verb = verb_infos[post->verb].name;
	bool send = post_is_send(post);
	char name[NAME_TEXT];

	phrase_addf(phrase, "%s(%s, ", verb, names_variable(program, post->object, name));
	add_request(maker, post, 0);
	phrase_addf(phrase, ", %s)", bad[send]);
	result_check(program, post->ret);
	add_bound(maker, post);
	return 0;
}

static const char *find_builder(int opcode)
{
	switch (opcode) {
	case IBV_WR_SEND:
		return "send";
	case IBV_WR_SEND_WITH_IMM:
		return "send_imm";
	case IBV_WR_SEND_WITH_INV:
		return "send_inv";
	case IBV_WR_RDMA_WRITE:
		return "rdma_write";
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return "rdma_write_imm";
	case IBV_WR_RDMA_READ:
		return "rdma_read";
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return "atomic_cmp_swp";
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return "atomic_fetch_add";
	case IBV_WR_LOCAL_INV:
		return "local_inv";
	case IBV_WR_BIND_MW:
		return "bind_mw";
	default:
		return NULL;
	}
}

/* The arguments of ibv_wr_send() and its like, behind the queue pair. */
static void add_builder(struct maker *maker, uint32_t qp, const struct wr *wr)
{
	struct phrase *phrase = &maker->program->phrase;
	uint32_t mw = arguments_object(maker, OBJECT_mw, wr->bind_mw);
	char name[NAME_TEXT];

	if (has_remote(wr)) {
		phrase_addf(phrase, ", ");
		add_rkey(maker, qp, wr);
		phrase_addf(phrase, ", ");
		memory_add_address(&maker->memory, maker->program, find_remote(maker, qp, wr),
				   find_far_process(maker, qp), wr->remote_addr, false);
	}
	if (wr->opcode == IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		phrase_addf(phrase, ", htobe32(");
		phrase_number(phrase, 'x', wr->imm);
		phrase_addf(phrase, ")");
	} else if (wr->opcode == IBV_WR_SEND_WITH_INV || wr->opcode == IBV_WR_LOCAL_INV) {
		phrase_addf(phrase, ", ");
		add_invalidated(maker, qp, wr);
	} else if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		phrase_addf(phrase, ", ");
		phrase_number(phrase, 'x', (int64_t)wr->compare_add);
		phrase_addf(phrase, ", ");
		phrase_number(phrase, 'x', (int64_t)wr->swap);
	} else if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		phrase_addf(phrase, ", ");
		phrase_number(phrase, 'x', (int64_t)wr->compare_add);
	} else if (wr->opcode == IBV_WR_BIND_MW && mw) {
		phrase_addf(phrase, ", %s, ", names_variable(maker->program, mw, name));
		add_window_key(maker, wr, mw);
		phrase_addf(phrase, ",\n\t&(struct ibv_mw_bind_info)");
		add_bind_info(maker, wr);
	}
}

static void add_built_data(struct maker *maker, const struct wr *wr)
{
	struct phrase *phrase = &maker->program->phrase;

	if (!wr->nsge)
		return;
	if (wr->send_flags & IBV_SEND_INLINE) {
		phrase_addf(phrase,
			    wr->nsge > 1 ? "\nibv_wr_set_inline_data_list(qpx, %u, "
					   "(struct ibv_data_buf[]){"
					 : "\nibv_wr_set_inline_data(qpx, ",
			    wr->nsge);
		for (uint32_t i = 0; i < wr->nsge; i++) {
			phrase_addf(phrase, wr->nsge > 1 ? "\n\t{ " : "");
			add_address(maker, wr, &wr->sge[i], find_local(maker, &wr->sge[i]), true);
			phrase_addf(phrase, ", ");
			phrase_number(phrase, 'd', wr->sge[i].length);
			phrase_addf(phrase, wr->nsge > 1 ? " }," : "");
		}
		phrase_addf(phrase, wr->nsge > 1 ? " });" : ");");
	} else if (wr->nsge == 1) {
		phrase_addf(phrase, "\nibv_wr_set_sge(qpx, ");
		add_key(maker, find_local(maker, wr->sge), wr->sge->lkey, false, wr->sge->length);
		phrase_addf(phrase, ", ");
		add_address(maker, wr, wr->sge, find_local(maker, wr->sge), false);
		phrase_addf(phrase, ", ");
		phrase_number(phrase, 'd', wr->sge->length);
		phrase_addf(phrase, ");");
	} else {
		phrase_addf(phrase, "\nibv_wr_set_sge_list(qpx, %u, (struct ibv_sge[]){", wr->nsge);
		for (uint32_t i = 0; i < wr->nsge; i++) {
			phrase_addf(phrase, "\n\t");
			add_sge(maker, wr, &wr->sge[i]);
			phrase_addf(phrase, ",");
		}
		phrase_addf(phrase, " });");
	}
}

static int add_built(struct maker *maker, const struct post *post, const struct wr *wr)
{
	struct program *program = maker->program;
	struct phrase *phrase = &program->phrase;
	const char *builder = find_builder(wr->opcode);
	char name[NAME_TEXT];

	if (!builder)
		return program_refuse(program,
				      "a request of opcode %d by ibv_wr_*() cannot be "
				      "made a part of a program",
				      wr->opcode);
	phrase_addf(phrase, "\nqpx->wr_id = ");
	phrase_number(phrase, 'x', (int64_t)wr->wr_id);
	phrase_addf(phrase, ";\nqpx->wr_flags = ");
	names_add_flags(&phrase->text, enum_find("ibv_send_flags"), wr->send_flags);
	phrase_addf(phrase, ";\nibv_wr_%s(qpx", builder);
	add_builder(maker, post->object, wr);
	phrase_addf(phrase, ");");
	if (wr->ah) {
		phrase_addf(phrase, "\nibv_wr_set_ud_addr(qpx, ");
		names_add_handle(program, &phrase->text, find_ah(maker, wr));
		phrase_addf(phrase, ", ");
		add_far_number(maker, post->object, wr);
		phrase_addf(phrase, ", 0x%x);", wr->remote_qkey);
	}
	if (wr->remote_srqn && links_srq(&maker->links, (uint32_t)wr->remote_srqn)) {
		uint32_t srq = links_srq(&maker->links, (uint32_t)wr->remote_srqn);

		program->objects[srq].number = true;
		phrase_addf(phrase, "\nibv_wr_set_xrc_srqn(qpx, %s_num);",
			    names_variable(program, srq, name));
	}
	add_built_data(maker, wr);
	return 0;
}

static int add_batch(struct maker *maker, const struct post *post)
{
	struct program *program = maker->program;
	struct phrase *phrase = &program->phrase;
	char name[NAME_TEXT];
	int err = 0;

	program->helpers |= HELPER_SAME;
	phrase_addf(phrase, "qpx = ibv_qp_to_qp_ex(%s);\nibv_wr_start(qpx);",
		    names_variable(program, post->object, name));
	for (uint32_t i = 0; !err && i < post->nwr; i++)
		err = add_built(maker, post, &post->wr[i]);
	if (post->verb == VERB_wr_abort) {
		phrase_addf(phrase, "\nibv_wr_abort(qpx);");
		return err;
	}
	phrase_addf(phrase, "\nsame(" SLOT "n, ibv_wr_complete(qpx), ");
	names_add_errno(&phrase->text, post->ret);
	phrase_addf(phrase, ");");
	add_bound(maker, post);
	return err;
}

int request_add_post(struct maker *maker, const struct post *post)
{
	int err;

	if (!post_is_send(post)) {
		err = map_put(&maker->order.receives, event_key(maker->program->at), 1);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < post->nwr; i++) {
		int opcode = post->wr[i].opcode;

		if (opcode >= 0 && !find_builder(opcode) &&
		    (i < post_taken(post) || post->verb != VERB_post_send))
			return program_refuse(maker->program,
					      "a request of opcode %d cannot be "
					      "made a part of a program",
					      opcode);
	}
	return post->verb == VERB_wr_complete || post->verb == VERB_wr_abort
		       ? add_batch(maker, post)
		       : add_list(maker, post);
}
