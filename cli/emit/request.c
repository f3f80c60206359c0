/*
 * Work requests as C
 */
#include "cli/emit/request.h"

#include <inttypes.h>
#include <errno.h>
#include <infiniband/verbs.h>

#include "cli/emit/arguments.h"
#include "cli/emit/builder.h"
#include "cli/emit/names.h"
#include "cli/emit/request_field.h"
#include "cli/emit/result.h"
#include "core/wire/log.h"

enum {
	SGES_MOST = 1024, /* limit of SGEs in a list that was not recorded */
	/* requests, each nested in the braces of the one before: clang allows 256 levels */
	NESTED_MOST = 64,
};

size_t request_objects(struct maker *maker, uint32_t qp, const struct wr *wr,
		       uint32_t objects[REQUEST_OBJECTS])
{
	const struct region *region = NULL;
	size_t n = 0;

	if (field_is_remote(wr))
		region = field_find_remote_region(maker, qp, wr);
	else if (wr->opcode == IBV_WR_SEND_WITH_INV)
		region = memory_find(&maker->memory, field_find_peer_process(maker, qp), wr->imm,
				     true, maker->program->time);
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
		field_add_sge(maker, wr, &wr->sge[i]);
		phrase_addf(phrase, wr->nsge == 1 ? "" : i + 1 < wr->nsge ? ",\n\t\t" : " }");
	}
	phrase_addf(phrase,
		    wr->nsge || wr->num_sge > 0 ? ",\n\t.num_sge = %d," : "\n\t.num_sge = %d,",
		    wr->num_sge);
}

static void add_remote(struct maker *maker, uint32_t qp, const struct wr *wr)
{
	struct phrase *phrase = &maker->program->phrase;
	const struct region *region = field_find_remote_region(maker, qp, wr);

	memory_add_address(&maker->memory, maker->program, region,
			   field_find_peer_process(maker, qp), wr->remote_addr, false);
	phrase_addf(phrase, ", ");
}

/* Add the parts that only some opcodes have. */
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
		field_add_invalidated(maker, qp, wr);
		phrase_addf(phrase, ",");
	}
	if (field_is_remote(wr)) {
		phrase_addf(phrase, atomic ? "\n\t.wr.atomic = { " : "\n\t.wr.rdma = { ");
		add_remote(maker, qp, wr);
		if (atomic) {
			phrase_number(phrase, 'x', (int64_t)wr->compare_add);
			phrase_addf(phrase, ", ");
			phrase_number(phrase, 'x', (int64_t)wr->swap);
			phrase_addf(phrase, ", ");
		}
		field_add_rkey(maker, qp, wr);
		phrase_addf(phrase, " },");
	}
	if (wr->ah) {
		phrase_addf(phrase, "\n\t.wr.ud = { ");
		names_add_handle(maker->program, &phrase->text, field_find_ah(maker, wr));
		phrase_addf(phrase, ", ");
		field_add_peer_number(maker, qp, wr);
		phrase_addf(phrase, ", 0x%x },", wr->remote_qkey);
	}
	if (wr->opcode == IBV_WR_BIND_MW && mw) {
		char name[NAME_TEXT];

		phrase_addf(phrase, "\n\t.bind_mw = { %s, ",
			    names_variable(maker->program, mw, name));
		field_add_window_key(maker, wr, mw);
		phrase_addf(phrase, ",\n\t\t");
		field_add_bind_info(maker, wr);
		phrase_addf(phrase, " },");
	}
}

static void add_xrc(struct maker *maker, const struct wr *wr)
{
	uint32_t srq =
		wr->remote_srqn ? links_find_srq(&maker->links, (uint32_t)wr->remote_srqn) : 0;
	char name[NAME_TEXT];

	if (!srq)
		return;
	maker->program->objects[srq].number = true;
	phrase_addf(&maker->program->phrase, "\n\t.qp_type.xrc.remote_srqn = %s_num,",
		    names_variable(maker->program, srq, name));
}

/* Add the members of one request, without those that link it to the next one. */
static void add_members(struct maker *maker, const struct post *post, const struct wr *wr)
{
	struct phrase *phrase = &maker->program->phrase;

	phrase_addf(phrase, "{\n\t.wr_id = ");
	phrase_number(phrase, 'x', (int64_t)wr->wr_id);
	phrase_addf(phrase, ",");
	add_sges(maker, wr);
	if (post_is_send(post)) {
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
}

/* Add one request of a list, and those after it. */
static void add_request(struct maker *maker, const struct post *post, uint32_t i)
{
	struct phrase *phrase = &maker->program->phrase;

	phrase_addf(phrase, "&(struct ibv_%s_wr)", post_is_send(post) ? "send" : "recv");
	add_members(maker, post, &post->wr[i]);
	if (i + 1 < post->nwr) {
		phrase_addf(phrase, "\n\t.next = ");
		add_request(maker, post, i + 1);
		phrase_addf(phrase, ",");
	}
	phrase_addf(phrase, "\n}");
}

/* Add a long list: an array of requests, which a helper links. */
static void add_array(struct maker *maker, const struct post *post)
{
	struct phrase *phrase = &maker->program->phrase;
	const char *side = post_is_send(post) ? "send" : "recv";

	maker->program->helpers |= post_is_send(post) ? HELPER_LINKED_SEND : HELPER_LINKED_RECV;
	phrase_addf(phrase, "linked_%s((struct ibv_%s_wr[]){", side, side);
	for (uint32_t i = 0; i < post->nwr; i++) {
		phrase_addf(phrase, i ? ",\n\t" : "\n\t");
		add_members(maker, post, &post->wr[i]);
		phrase_addf(phrase, "\n}");
	}
	phrase_addf(phrase, " }, %" PRIu32 ")", post->nwr);
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
	if (post->nwr > NESTED_MOST)
		add_array(maker, post);
	else if (post->nwr)
		add_request(maker, post, 0);
	else
		phrase_addf(phrase, "NULL");
	phrase_addf(phrase, ", %s)", bad[send]);
	program->helpers |= send ? HELPER_BAD_SEND : HELPER_BAD_RECV;
	result_check(program, post->ret);
	field_add_bound(maker, post);
	return 0;
}

int request_add_post(struct maker *maker, const struct post *post)
{
	int err;

	for (uint32_t i = 0; !post_is_send(post) && i < post->nwr; i++) {
		if (!links_find_status(&maker->links, maker->program->at, i))
			continue;
		err = map_put(&maker->order.receives, event_key(maker->program->at), 1);
		if (err)
			return log_err(err, "emit");
	}
	for (uint32_t i = 0; i < post->nwr; i++) {
		int opcode = post->wr[i].opcode;

		if (opcode >= 0 && !builder_name(opcode) &&
		    (i < post_taken(post) || post->verb != VERB_post_send))
			return program_refuse(maker->program,
					      "a request with opcode %d is not supported in a "
					      "program",
					      opcode);
	}
	return post->verb == VERB_wr_complete || post->verb == VERB_wr_abort
		       ? builder_add_post(maker, post)
		       : add_list(maker, post);
}
