/*
 * Recorded facts about an object, independent of the progress of the replay
 */
#include "replay/state/recorded.h"

#include <string.h>

#include "core/store/finish/connections.h"
#include "replay/state/state.h"

enum verb recorded_verb(const struct call *call)
{
	return call->verb == VERB_reg_buf_mr ? VERB_reg_mr : call->verb;
}

struct ibv_ah_attr recorded_address(const struct args *args, bool connection)
{
	struct ibv_ah_attr av = { 0 };
	const char *gid;

	av.is_global = (uint8_t)args_number(args, connection ? ARG(attr.ah_attr.is_global)
							     : ARG(attr.is_global));
	av.dlid = (uint16_t)args_number(args, connection ? ARG(attr.ah_attr.dlid) : ARG(attr.dlid));
	av.grh.sgid_index = (uint8_t)args_number(args, connection ? ARG(attr.ah_attr.grh.sgid_index)
								  : ARG(attr.grh.sgid_index));
	gid = args_text(args, connection ? ARG(attr.ah_attr.grh.dgid.raw) : ARG(attr.grh.dgid.raw));
	if (!gid || !place_parse_gid(gid, av.grh.dgid.raw))
		av.is_global = 0;
	return av;
}

struct place recorded_place(const struct ibv_ah_attr *av)
{
	struct place place = { 0 };

	if (!av)
		return place;
	place.is_global = av->is_global;
	place.lid = av->dlid;
	memcpy(place.gid, av->grh.dgid.raw, sizeof(place.gid));
	return place;
}

uint32_t recorded_peer(const struct replay *r, uint32_t id, int64_t time)
{
	const struct connection *connection = connections_at(r->connections, id, time);

	return connection ? connection->peer : 0;
}

uint32_t recorded_find_intended(const struct replay *r, uint32_t id, uint32_t dest,
				const struct ibv_ah_attr *av, int64_t time)
{
	struct place place = recorded_place(av);

	return peers_find(r->connections->peers, id, dest, &place, time, NULL);
}

uint32_t recorded_datagram(const struct replay *r, uint32_t id, uint32_t number,
			   const struct ibv_ah_attr *av, int64_t time)
{
	struct place place = recorded_place(av);

	return peers_find_datagram(r->connections->peers, id, number, &place, time);
}

const struct object *recorded_device(const struct replay *r, uint32_t object)
{
	const struct object *o = trace_object(r->trace, object);

	/* a damaged trace may have a cycle, so follow no more links than there are kinds */
	for (int steps = 0; o && o->kind != OBJECT_device; steps++)
		o = steps < OBJECT_COUNT ? trace_object(r->trace, o->parent) : NULL;
	return o;
}

const char *recorded_device_name(const struct replay *r, uint32_t object)
{
	const struct object *o = recorded_device(r, object);

	return o && o->name ? o->name : "";
}

uint32_t recorded_memory_parent(const struct replay *r, uint32_t process)
{
	const struct process *p = trace_process(r->trace, process);

	return r->options->processes && p->parent < process ? p->parent : 0;
}
