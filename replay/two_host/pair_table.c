/*
 * The tables that each replay of a pair sends to the other before both begin
 *
 * Received data is not trusted: counts are limited, and references to other parts are checked when
 * all have arrived.
 */
#include "replay/two_host/pair_table.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/vec.h"
#include "replay/two_host/pack.h"

enum { PORTS_MOST = 1024, LIVES_MOST = 1 << 20, PARTS_MOST = 1 << 22 };

void pair_table_fini(struct pair_table *table)
{
	for (size_t i = 0; i < table->nports; i++)
		free(table->ports[i].known);
	free(table->ports);
	free(table->lives);
	free(table->uses);
	free(table->streams);
	*table = (struct pair_table){ 0 };
}

size_t pair_table_count(const struct pair_table *table, enum pair_part part)
{
	switch (part) {
	case PAIR_PORT:
		return table->nports;
	case PAIR_LIFE:
		return table->nlives;
	case PAIR_USE:
		return table->nuses;
	case PAIR_STREAM:
		return table->nstreams;
	default:
		return 0;
	}
}

enum { ADDRESS = 20 }; /* bytes of a known address */

static void pack_here(struct pack *p, const struct port *here)
{
	pack_u16(p, here->lid);
	pack_u8(p, here->ethernet);
	pack_u8(p, (uint8_t)here->mtu);
	pack_u8(p, (uint8_t)here->gids.n);
	pack_u8(p, (uint8_t)here->best_gid);
	for (int i = 0; i < here->gids.n; i++) {
		pack_bytes(p, &here->gids.at[i].raw, sizeof(here->gids.at[i].raw));
		pack_u8(p, (uint8_t)here->gids.at[i].kind);
	}
}

static void pack_port(struct pack *p, const struct pair_port *port)
{
	size_t most = (PAIR_PART_MOST - 512) / ADDRESS;
	size_t n = port->nknown < most ? port->nknown : most;

	pack_here(p, &port->here);
	pack_u16(p, (uint16_t)n);
	for (size_t i = 0; i < n; i++) {
		pack_u8(p, port->known[i].is_global);
		pack_u8(p, port->known[i].lmc);
		pack_u16(p, port->known[i].lid);
		pack_bytes(p, port->known[i].gid, sizeof(port->known[i].gid));
	}
}

static void unpack_here(struct unpack *u, struct port *here)
{
	here->there = true;
	here->lid = unpack_u16(u);
	here->ethernet = unpack_u8(u);
	here->mtu = (enum ibv_mtu)unpack_u8(u);
	here->gids.n = unpack_u8(u);
	here->best_gid = unpack_u8(u);
	u->failed = u->failed || here->gids.n > GIDS_MAX || here->best_gid >= GIDS_MAX;
	for (int i = 0; i < here->gids.n && !u->failed; i++) {
		unpack_bytes(u, &here->gids.at[i].raw, sizeof(here->gids.at[i].raw));
		here->gids.at[i].kind = (enum gid_kind)unpack_u8(u);
	}
}

static int unpack_port(struct unpack *u, struct pair_table *table)
{
	struct pair_port *port =
		table->nports < PORTS_MOST ? vec_push(table->ports, table->nports) : NULL;
	size_t n;

	if (!port)
		return -ENOMEM;
	unpack_here(u, &port->here);
	n = unpack_u16(u);
	for (size_t i = 0; i < n && !u->failed; i++) {
		struct place *known = vec_push(port->known, port->nknown);

		if (!known)
			return -ENOMEM;
		known->is_global = unpack_u8(u);
		known->lmc = unpack_u8(u);
		known->lid = unpack_u16(u);
		unpack_bytes(u, known->gid, sizeof(known->gid));
	}
	return 0;
}

static void pack_life(struct pack *p, const struct pair_life *life)
{
	pack_u32(p, life->object);
	pack_u32(p, life->process);
	pack_u32(p, life->number);
	pack_u32(p, life->port);
	pack_u32(p, life->type);
	pack_u8(p, life->shared);
	pack_u8(p, life->connected);
	pack_u32(p, life->dest);
	pack_u8(p, life->av.is_global);
	pack_u16(p, life->av.dlid);
	pack_bytes(p, &life->av.grh.dgid, sizeof(life->av.grh.dgid));
	pack_u8(p, life->has_rq_psn);
	pack_u8(p, life->has_sq_psn);
	pack_u32(p, life->rq_psn);
	pack_u32(p, life->sq_psn);
	pack_u64(p, life->finished);
}

static int unpack_life(struct unpack *u, struct pair_table *table)
{
	struct pair_life *life =
		table->nlives < LIVES_MOST ? vec_push(table->lives, table->nlives) : NULL;

	if (!life)
		return -ENOMEM;
	life->object = unpack_u32(u);
	life->process = unpack_u32(u);
	life->number = unpack_u32(u);
	life->port = unpack_u32(u);
	life->type = unpack_u32(u);
	life->shared = unpack_u8(u);
	life->connected = unpack_u8(u);
	life->dest = unpack_u32(u);
	life->av.is_global = unpack_u8(u) != 0;
	life->av.dlid = unpack_u16(u);
	unpack_bytes(u, &life->av.grh.dgid, sizeof(life->av.grh.dgid));
	life->has_rq_psn = unpack_u8(u);
	life->has_sq_psn = unpack_u8(u);
	life->rq_psn = unpack_u32(u);
	life->sq_psn = unpack_u32(u);
	life->finished = unpack_u64(u);
	return 0;
}

static void pack_use(struct pack *p, const struct pair_use *use)
{
	pack_u32(p, use->life);
	pack_u32(p, use->rkey);
	pack_u64(p, use->last);
}

static int unpack_use(struct unpack *u, struct pair_table *table)
{
	struct pair_use *use =
		table->nuses < PARTS_MOST ? vec_push(table->uses, table->nuses) : NULL;

	if (!use)
		return -ENOMEM;
	use->life = unpack_u32(u);
	use->rkey = unpack_u32(u);
	use->last = unpack_u64(u);
	return 0;
}

static void pack_stream(struct pack *p, const struct pair_stream *stream)
{
	pack_u32(p, stream->life);
	pack_u32(p, stream->source);
	pack_u64(p, stream->received);
}

static int unpack_stream(struct unpack *u, struct pair_table *table)
{
	struct pair_stream *stream =
		table->nstreams < PARTS_MOST ? vec_push(table->streams, table->nstreams) : NULL;

	if (!stream)
		return -ENOMEM;
	stream->life = unpack_u32(u);
	stream->source = unpack_u32(u);
	stream->received = unpack_u64(u);
	return 0;
}

size_t pair_table_pack(const struct pair_table *table, enum pair_part part, size_t i,
		       uint8_t bytes[PAIR_PART_MOST])
{
	struct pack p = { .at = bytes, .end = bytes + PAIR_PART_MOST };

	switch (part) {
	case PAIR_PORT:
		pack_port(&p, &table->ports[i]);
		break;
	case PAIR_LIFE:
		pack_life(&p, &table->lives[i]);
		break;
	case PAIR_USE:
		pack_use(&p, &table->uses[i]);
		break;
	case PAIR_STREAM:
		pack_stream(&p, &table->streams[i]);
		break;
	default:
		break;
	}
	return (size_t)(p.at - bytes);
}

int pair_table_unpack(struct pair_table *table, enum pair_part part, const uint8_t *bytes,
		      size_t length)
{
	static int (*const parts[])(struct unpack *, struct pair_table *) = {
		[PAIR_PORT] = unpack_port,
		[PAIR_LIFE] = unpack_life,
		[PAIR_USE] = unpack_use,
		[PAIR_STREAM] = unpack_stream,
	};
	struct unpack u = { .at = bytes, .end = bytes + length };
	int err;

	if ((unsigned int)part >= PAIR_PARTS)
		return -EBADMSG;
	err = parts[part](&u, table);
	return err ? err : unpack_ended(&u) ? 0 : -EBADMSG;
}

bool pair_table_is_sound(const struct pair_table *table)
{
	for (size_t i = 0; i < table->nlives; i++)
		if (table->lives[i].port >= table->nports)
			return false;
	for (size_t i = 0; i < table->nuses; i++)
		if (table->uses[i].life >= table->nlives)
			return false;
	for (size_t i = 0; i < table->nstreams; i++)
		if (table->streams[i].life >= table->nlives)
			return false;
	return true;
}
