/*
 * Requests that ibv_wr_*() build
 */
#include "cli/emit/builder.h"

#include <inttypes.h>
#include <infiniband/verbs.h>

#include "cli/emit/arguments.h"
#include "cli/emit/names.h"
#include "cli/emit/request_field.h"

const char *builder_name(int opcode)
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

/* Add the arguments of ibv_wr_send() and the like after the queue pair. */
static void add_arguments(struct maker *maker, uint32_t qp, const struct wr *wr)
{
	struct phrase *phrase = &maker->program->phrase;
	uint32_t mw = arguments_object(maker, OBJECT_mw, wr->bind_mw);
	char name[NAME_TEXT];

	if (field_is_remote(wr)) {
		phrase_addf(phrase, ", ");
		field_add_rkey(maker, qp, wr);
		phrase_addf(phrase, ", ");
		memory_add_address(&maker->memory, maker->program,
				   field_find_remote_region(maker, qp, wr),
				   field_find_peer_process(maker, qp), wr->remote_addr, false);
	}
	if (wr->opcode == IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		phrase_addf(phrase, ", htobe32(");
		phrase_number(phrase, 'x', wr->imm);
		phrase_addf(phrase, ")");
	} else if (wr->opcode == IBV_WR_SEND_WITH_INV || wr->opcode == IBV_WR_LOCAL_INV) {
		phrase_addf(phrase, ", ");
		field_add_invalidated(maker, qp, wr);
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
		field_add_window_key(maker, wr, mw);
		phrase_addf(phrase, ",\n\t&(struct ibv_mw_bind_info)");
		field_add_bind_info(maker, wr);
	}
}

static void add_data(struct maker *maker, const struct wr *wr)
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
			field_add_address(maker, wr, &wr->sge[i],
					  field_find_local_region(maker, &wr->sge[i]), true);
			phrase_addf(phrase, ", ");
			phrase_number(phrase, 'd', wr->sge[i].length);
			phrase_addf(phrase, wr->nsge > 1 ? " }," : "");
		}
		phrase_addf(phrase, wr->nsge > 1 ? " });" : ");");
	} else if (wr->nsge == 1) {
		phrase_addf(phrase, "\nibv_wr_set_sge(qpx, ");
		field_add_key(maker, field_find_local_region(maker, wr->sge), wr->sge->lkey, false,
			      wr->sge->length);
		phrase_addf(phrase, ", ");
		field_add_address(maker, wr, wr->sge, field_find_local_region(maker, wr->sge),
				  false);
		phrase_addf(phrase, ", ");
		phrase_number(phrase, 'd', wr->sge->length);
		phrase_addf(phrase, ");");
	} else {
		phrase_addf(phrase, "\nibv_wr_set_sge_list(qpx, %u, (struct ibv_sge[]){", wr->nsge);
		for (uint32_t i = 0; i < wr->nsge; i++) {
			phrase_addf(phrase, "\n\t");
			field_add_sge(maker, wr, &wr->sge[i]);
			phrase_addf(phrase, ",");
		}
		phrase_addf(phrase, " });");
	}
}

static int add_builder_calls(struct maker *maker, const struct post *post, const struct wr *wr)
{
	struct program *program = maker->program;
	struct phrase *phrase = &program->phrase;
	const char *builder = builder_name(wr->opcode);
	char name[NAME_TEXT];

	if (!builder)
		return program_refuse(program,
				      "a request with opcode %d by ibv_wr_*() is not supported in "
				      "a program",
				      wr->opcode);
	phrase_addf(phrase, "\nqpx->wr_id = ");
	phrase_number(phrase, 'x', (int64_t)wr->wr_id);
	phrase_addf(phrase, ";\nqpx->wr_flags = ");
	names_add_flags(&phrase->text, enum_find("ibv_send_flags"), wr->send_flags);
	phrase_addf(phrase, ";\nibv_wr_%s(qpx", builder);
	add_arguments(maker, post->object, wr);
	phrase_addf(phrase, ");");
	if (wr->ah) {
		phrase_addf(phrase, "\nibv_wr_set_ud_addr(qpx, ");
		names_add_handle(program, &phrase->text, field_find_ah(maker, wr));
		phrase_addf(phrase, ", ");
		field_add_peer_number(maker, post->object, wr);
		phrase_addf(phrase, ", 0x%x);", wr->remote_qkey);
	}
	if (wr->remote_srqn && links_find_srq(&maker->links, (uint32_t)wr->remote_srqn)) {
		uint32_t srq = links_find_srq(&maker->links, (uint32_t)wr->remote_srqn);

		program->objects[srq].number = true;
		phrase_addf(phrase, "\nibv_wr_set_xrc_srqn(qpx, %s_num);",
			    names_variable(program, srq, name));
	}
	add_data(maker, wr);
	return 0;
}

int builder_add_post(struct maker *maker, const struct post *post)
{
	struct program *program = maker->program;
	struct phrase *phrase = &program->phrase;
	char name[NAME_TEXT];
	int err = 0;

	program->helpers |= HELPER_SAME;
	phrase_addf(phrase, "qpx = ibv_qp_to_qp_ex(%s);\nibv_wr_start(qpx);",
		    names_variable(program, post->object, name));
	for (uint32_t i = 0; !err && i < post->nwr; i++)
		err = add_builder_calls(maker, post, &post->wr[i]);
	if (post->verb == VERB_wr_abort) {
		phrase_addf(phrase, "\nibv_wr_abort(qpx);");
		return err;
	}
	phrase_addf(phrase, "\nsame(" SLOT "n, ibv_wr_complete(qpx), ");
	names_add_errno(&phrase->text, post->ret);
	phrase_addf(phrase, ");");
	field_add_bound(maker, post);
	return err;
}
