/*
 * Keys, addresses and windows in both forms of posts
 */
#include "cli/emit/request_field.h"

#include <inttypes.h>
#include <infiniband/verbs.h>

#include "cli/emit/arguments.h"
#include "cli/emit/names.h"
#include "core/model/operation.h"

uint32_t field_find_peer_process(const struct maker *maker, uint32_t qp)
{
	uint32_t peer = maker->order.peer[qp];

	return peer ? trace_object(maker->program->trace, peer)->process : maker->program->process;
}

bool field_is_remote(const struct wr *wr)
{
	return operation_needs_remote(wr->opcode);
}

const struct region *field_find_remote_region(const struct maker *maker, uint32_t qp,
					      const struct wr *wr)
{
	return memory_find(&maker->memory, field_find_peer_process(maker, qp), (uint32_t)wr->rkey,
			   true, maker->program->time);
}

/* The key of a region: of the region itself while it exists, a saved copy later. */
void field_add_key(struct maker *maker, const struct region *region, uint32_t key, bool remote,
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

/* Inline data may have any address: if it is in no region, zeros replace it. */
static bool is_loose(const struct maker *maker, const struct wr *wr, const struct sge *sge)
{
	return wr->opcode >= 0 && wr->send_flags & IBV_SEND_INLINE &&
	       !memory_has(&maker->memory, maker->program->process, sge->addr);
}

void field_add_address(struct maker *maker, const struct wr *wr, const struct sge *sge,
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

const struct region *field_find_local_region(const struct maker *maker, const struct sge *sge)
{
	return memory_find(&maker->memory, maker->program->process, sge->lkey, false,
			   maker->program->time);
}

void field_add_sge(struct maker *maker, const struct wr *wr, const struct sge *sge)
{
	struct phrase *phrase = &maker->program->phrase;
	const struct region *region = field_find_local_region(maker, sge);

	phrase_addf(phrase, "{ ");
	field_add_address(maker, wr, sge, region, false);
	phrase_addf(phrase, ", ");
	phrase_number(phrase, 'd', sge->length);
	phrase_addf(phrase, ", ");
	if (wr->opcode >= 0 && wr->send_flags & IBV_SEND_INLINE)
		phrase_addf(phrase, "0");
	else
		field_add_key(maker, region, sge->lkey, false, sge->length);
	phrase_addf(phrase, " }");
}

void field_add_rkey(struct maker *maker, uint32_t qp, const struct wr *wr)
{
	field_add_key(maker, field_find_remote_region(maker, qp, wr), (uint32_t)wr->rkey, true,
		      (uint32_t)wr_bytes(wr));
}

uint32_t field_find_ah(const struct maker *maker, const struct wr *wr)
{
	return arguments_object(maker, OBJECT_ah, wr->ah);
}

uint32_t field_find_target(const struct maker *maker, uint32_t qp, const struct wr *wr)
{
	return links_find_target(&maker->links, qp, wr->remote_qpn, field_find_ah(maker, wr),
				 maker->program->time);
}

/* Add a datagram's destination number: of a queue pair in the trace, or of a multicast group. */
void field_add_peer_number(struct maker *maker, uint32_t qp, const struct wr *wr)
{
	struct phrase *phrase = &maker->program->phrase;
	uint32_t to = field_find_target(maker, qp, wr);
	char name[NAME_TEXT];

	if (!to) {
		phrase_addf(phrase, "0x%x", wr->remote_qpn);
		return;
	}
	maker->program->objects[to].number = true;
	phrase_addf(phrase, "%s_num", names_variable(maker->program, to, name));
}

void field_add_invalidated(struct maker *maker, uint32_t qp, const struct wr *wr)
{
	uint32_t process = wr->opcode == IBV_WR_LOCAL_INV ? maker->program->process
							  : field_find_peer_process(maker, qp);

	field_add_key(maker,
		      memory_find(&maker->memory, process, wr->imm, true, maker->program->time),
		      wr->imm, true, 1);
}

/* Add the new key of a window: its rkey with another low byte. */
void field_add_window_key(struct maker *maker, const struct wr *wr, uint32_t mw)
{
	char name[NAME_TEXT];

	phrase_addf(&maker->program->phrase, "(%s->rkey & ~0xffu) | 0x%02x",
		    names_variable(maker->program, mw, name), (unsigned int)(wr->bind_rkey & 0xff));
}

void field_add_bind_info(struct maker *maker, const struct wr *wr)
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

/* Type 2 windows: the program itself saves the new key, once the bind is posted. */
void field_add_bound(struct maker *maker, const struct post *post)
{
	char name[NAME_TEXT];

	for (uint32_t i = 0; i < post_taken(post); i++) {
		uint32_t mw = arguments_object(maker, OBJECT_mw, post->wr[i].bind_mw);

		if (post->wr[i].opcode != IBV_WR_BIND_MW || !mw)
			continue;
		phrase_addf(&maker->program->phrase,
			    "\n%s->rkey = ", names_variable(maker->program, mw, name));
		field_add_window_key(maker, &post->wr[i], mw);
		phrase_addf(&maker->program->phrase, ";" OBJECT_KEPT_SLOT, mw);
	}
}
