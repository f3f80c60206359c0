/*
 * Finding which queue pairs were connected to each other
 *
 *	objects                     numbers, lifetimes, devices of queue pairs
 *	ibv_query_port, _gid*       addresses of ports; the recorder calls these for each device
 *	ibv_modify_qp               port, peer, PSNs; librdmacm calls it, too
 *	ibv_create_ah               the destination of datagrams
 *
 * All calls are read before the first peer is determined: a later connection of a queue pair is
 * evidence for an earlier one.
 */
#include "core/store/finish/connections.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/chunk/abi.h"
#include "core/store/finish/objects.h"
#include "core/wire/log.h"

struct connection_pass {
	struct connections *c;
	const struct objects *objects;
	uint32_t *hosts; /* first process of each merged or joined trace, sorted */
	size_t nhosts;
	size_t *last; /* by object: 1 + index of its current connection; 0: none */
};

/* The device, an object, of the context to which @object belongs; 0: unknown. */
static uint32_t find_device(const struct objects *objects, uint32_t object)
{
	/* a damaged trace may have a cycle: take at most as many steps as there are kinds */
	for (int steps = 0; object && object <= objects->count && steps < OBJECT_COUNT; steps++) {
		const struct object *o = &objects->list[object - 1];

		if (o->kind == OBJECT_device)
			return object;
		object = o->parent;
	}
	return 0;
}

static uint32_t find_host(const struct connection_pass *p, uint32_t process)
{
	uint32_t host = 0;

	while (host < p->nhosts && p->hosts[host] <= process)
		host++;
	return host;
}

static int add_host(struct connection_pass *p, uint32_t process)
{
	uint32_t *host = vec_push(p->hosts, p->nhosts);

	if (!host)
		return -ENOMEM;
	*host = process;
	return 0;
}

static int load_hosts(struct connection_pass *p, const struct source_calls *from)
{
	sqlite3_stmt *stmt;
	int err = add_host(p, from->processes + 1);

	if (err ||
	    !sql_int(from->db, "SELECT count(*) FROM main.sqlite_master WHERE name = 'merged'", 0))
		return err; /* an error, or an older format without the table */
	err = sql_prepare(from->db,
			  "SELECT first_process FROM merged WHERE first_process > 1"
			  " ORDER BY first_process",
			  &stmt);
	while (!err && (err = sql_step(stmt)) > 0)
		err = add_host(p, from->processes + sql_u32(stmt, 0));
	sqlite3_finalize(stmt);
	return err;
}

static int add_qps(struct connection_pass *p)
{
	int err = 0;

	for (uint32_t i = 0; i < p->objects->count && !err; i++) {
		const struct object *o = &p->objects->list[i];

		if (o->kind == OBJECT_qp)
			err = peers_add(
				p->c->peers,
				&(struct peers_qp){ .id = o->id,
						    .device = find_device(p->objects, o->id),
						    .host = find_host(p, o->process),
						    .number = o->number,
						    .created = o->created_at,
						    .destroyed = o->destroyed_at });
	}
	return err;
}

/* Addresses of ports */

static int learn_port(struct connection_pass *p, const struct source_call *t)
{
	struct place place = { .lid = (uint16_t)args_number(t->out, ARG(port_attr.lid)),
			       .lmc = (uint8_t)args_number(t->out, ARG(port_attr.lmc)) };

	return peers_add_place(p->c->peers, find_device(p->objects, t->object),
			       (uint8_t)args_number(t->args, ARG(port_num)), &place);
}

static int learn_gid(struct connection_pass *p, const struct source_call *t, int64_t port,
		     const char *gid)
{
	struct place place = { .is_global = true };

	if (!gid || !place_parse_gid(gid, place.gid))
		return 0;
	return peers_add_place(p->c->peers, find_device(p->objects, t->object), (uint8_t)port,
			       &place);
}

static int learn_gids(struct connection_pass *p, const struct source_call *t)
{
	int64_t port;
	int err = 0;

	for (size_t i = 0; !err && args_get_at(t->out, ARG(entries.port_num), i, &port); i++)
		err = learn_gid(p, t, port, args_text_at(t->out, ARG(entries.gid.raw), i));
	return err;
}

/* Connections */

static void end_connection(struct connection_pass *p, uint32_t qp, int64_t time)
{
	if (p->last[qp])
		p->c->list[p->last[qp] - 1].until = time;
	p->last[qp] = 0;
}

/* The place with a LID, or if @is_global with @gid, which may be NULL. */
static struct place make_place(uint64_t lid, uint64_t is_global, const char *gid)
{
	struct place place = { .lid = (uint16_t)lid };

	place.is_global = is_global && gid && place_parse_gid(gid, place.gid);
	return place;
}

static int learn_handle(struct connection_pass *p, const struct source_call *t)
{
	struct place *place = vec_push(p->c->handles, p->c->nhandles);

	if (!place)
		return -ENOMEM;
	*place = make_place(args_number(t->args, ARG(attr.dlid)),
			    args_number(t->args, ARG(attr.is_global)),
			    args_text(t->args, ARG(attr.grh.dgid.raw)));
	return map_put(&p->c->handle_of, t->object, p->c->nhandles);
}

static int learn_connection(struct connection_pass *p, const struct source_call *t, uint32_t dest)
{
	struct peers_link link = { .dest = dest, .time = t->begin };
	struct connection *connection;

	link.place = make_place(args_number(t->args, ARG(attr.ah_attr.dlid)),
				args_number(t->args, ARG(attr.ah_attr.is_global)),
				args_text(t->args, ARG(attr.ah_attr.grh.dgid.raw)));
	end_connection(p, t->object, t->begin);
	connection = vec_push(p->c->list, p->c->count);
	if (!connection)
		return -ENOMEM;
	*connection = (struct connection){ .id = t->id,
					   .process = t->process,
					   .qp = t->object,
					   .dest = dest,
					   .place = link.place,
					   .since = t->begin,
					   .made = t->end,
					   .until = INT64_MAX };
	p->last[t->object] = p->c->count;
	return peers_connect(p->c->peers, t->object, &link);
}

static int learn_modify(struct connection_pass *p, const struct source_call *t)
{
	int64_t value;
	int err = 0;

	if (args_get(t->args, ARG(attr.qp_state), &value) && value == ABI_QPS_RESET)
		end_connection(p, t->object, t->begin);
	if (args_get(t->args, ARG(attr.port_num), &value))
		peers_use_port(p->c->peers, t->object, (uint8_t)value);
	if (args_get(t->args, ARG(attr.dest_qp_num), &value))
		err = learn_connection(p, t, (uint32_t)value);
	if (args_get(t->args, ARG(attr.sq_psn), &value))
		peers_send_psn(p->c->peers, t->object, (uint32_t)value);
	if (args_get(t->args, ARG(attr.rq_psn), &value))
		peers_receive_psn(p->c->peers, t->object, (uint32_t)value);
	return err;
}

static int learn_call(void *arg, const struct source_call *t)
{
	struct connection_pass *p = arg;

	if (t->object > p->objects->count)
		return 0;
	switch (t->verb) {
	case VERB_modify_qp:
		return learn_modify(p, t);
	case VERB_create_ah:
		return learn_handle(p, t);
	case VERB_query_port:
	case VERB_query_port_compat:
		return learn_port(p, t);
	case VERB_query_gid:
		return learn_gid(p, t, (int64_t)args_number(t->args, ARG(port_num)),
				 args_text(t->out, ARG(gid.raw)));
	case VERB_query_gid_ex:
		return learn_gid(p, t, (int64_t)args_number(t->args, ARG(port_num)),
				 args_text(t->out, ARG(entry.gid.raw)));
	case VERB_query_gid_table:
		return learn_gids(p, t);
	default:
		return 0;
	}
}

static bool is_wanted_verb(enum verb verb)
{
	switch (verb) {
	case VERB_modify_qp:
	case VERB_create_ah:
	case VERB_query_port:
	case VERB_query_port_compat:
	case VERB_query_gid:
	case VERB_query_gid_ex:
	case VERB_query_gid_table:
		return true;
	default:
		return false;
	}
}

static int compare_connections(const void *a, const void *b)
{
	const struct connection *x = a, *y = b;

	if (x->qp != y->qp)
		return x->qp < y->qp ? -1 : 1;
	return x->since < y->since ? -1 : x->since > y->since;
}

/* Find the peer of each connection, after all calls were read. */
static void find_all_peers(struct connection_pass *p)
{
	for (size_t i = 0; i < p->c->count; i++) {
		struct connection *c = &p->c->list[i];
		int64_t destroyed = p->objects->list[c->qp - 1].destroyed_at;

		if (c->until > destroyed)
			c->until = destroyed;
		c->peer = peers_find(p->c->peers, c->qp, c->dest, &c->place, c->since, &c->how);
	}
}

static int index_connections(struct connections *c, uint32_t nobjects)
{
	size_t at = 0;

	if (c->count)
		qsort(c->list, c->count, sizeof(*c->list), compare_connections);
	c->first = calloc(nobjects + 2ul, sizeof(*c->first));
	if (!c->first)
		return -ENOMEM;
	c->nobjects = nobjects;
	for (uint32_t qp = 0; qp <= nobjects + 1; qp++) {
		while (at < c->count && c->list[at].qp < qp)
			at++;
		c->first[qp] = at;
	}
	return 0;
}

int connections_learn(const struct source_calls *sources, size_t n, const struct objects *objects,
		      struct connections *ret)
{
	struct connections c = { 0 };
	struct connection_pass p = { .c = &c, .objects = objects };
	int err = peers_new(&c.peers);

	p.last = calloc(objects->count + 1ul, sizeof(*p.last));
	if (!err && !p.last)
		err = -ENOMEM;
	for (size_t i = 0; i < n && !err; i++)
		err = load_hosts(&p, &sources[i]);
	err = err ?: add_qps(&p);
	for (size_t i = 0; i < n && !err; i++)
		err = source_calls_each(&sources[i], is_wanted_verb, NULL, learn_call, &p);
	if (!err) {
		find_all_peers(&p);
		err = index_connections(&c, objects->count);
	}
	free(p.hosts);
	free(p.last);
	if (err) {
		connections_fini(&c);
		return err == -ENOMEM ? log_err(err, "read connections") : err;
	}
	*ret = c;
	return 0;
}

void connections_fini(struct connections *c)
{
	peers_free(c->peers);
	free(c->list);
	free(c->first);
	free(c->handles);
	map_fini(&c->handle_of);
	*c = (struct connections){ 0 };
}

const struct connection *connections_at(const struct connections *c, uint32_t qp, int64_t time)
{
	const struct connection *found = NULL;

	for (size_t i = qp && qp <= c->nobjects ? c->first[qp] : c->count;
	     i < c->count && c->list[i].qp == qp && c->list[i].since <= time; i++)
		found = &c->list[i];
	return found;
}

const struct connection *connections_first(const struct connections *c, uint32_t qp)
{
	size_t i = qp && qp <= c->nobjects ? c->first[qp] : c->count;

	return i < c->count && c->list[i].qp == qp ? &c->list[i] : NULL;
}

static bool is_made(const struct connection *c, int64_t time)
{
	return c->made <= time && c->made != INT64_MAX;
}

/* The next connection of the same queue pair after @c; NULL: @c is the last. */
static const struct connection *next_of(const struct connections *all, const struct connection *c)
{
	return c + 1 < all->list + all->count && c[1].qp == c->qp ? c + 1 : NULL;
}

static bool was_connected(const struct connections *c, uint32_t qp, uint32_t peer, int64_t time)
{
	const struct connection *one = connections_first(c, qp);

	while (one && !(one->peer == peer && is_made(one, time)))
		one = next_of(c, one);
	return one;
}

uint32_t connections_peer(const struct connections *c, uint32_t qp, int64_t time)
{
	const struct connection *one = connections_first(c, qp);
	uint32_t peer = 0;

	for (; one; one = next_of(c, one))
		if (one->how == PEERS_BOTH && is_made(one, time) &&
		    was_connected(c, one->peer, qp, time))
			peer = one->peer;
	return peer;
}

const struct place *connections_handle(const struct connections *c, uint32_t ah)
{
	uint64_t at;

	return ah && map_get(&c->handle_of, ah, &at) ? &c->handles[at - 1] : NULL;
}

/* The table */

const char *connection_gid(const struct connection *c, char text[CONNECTION_GID])
{
	if (!c->place.is_global)
		return NULL;
	for (int i = 0; i < PLACE_GID; i++)
		snprintf(text + 2 * i, 3, "%02x", c->place.gid[i]);
	return text;
}

static int put_connection(sqlite3_stmt *stmt, const struct connection *c)
{
	char gid[CONNECTION_GID];

	return sql_run(stmt, "uiuizuztuzt", c->id.thread, c->id.n, c->process, c->since,
		       c->until == INT64_MAX ? (int64_t)0 : c->until, c->qp, (int64_t)c->peer,
		       peers_known_name(c->how), c->dest, (int64_t)c->place.lid,
		       connection_gid(c, gid));
}

int connections_build(sqlite3 *db)
{
	struct connections c = { 0 };
	struct objects objects = { 0 };
	sqlite3_stmt *stmt = NULL;
	int err = objects_load(db, NULL, &objects)
			  ?: connections_learn(&(struct source_calls){ .db = db }, 1, &objects, &c);

	if (!err)
		err = sql_exec(db, "DELETE FROM connection");
	if (!err)
		err = sql_prepare(db,
				  "INSERT INTO connection VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				  &stmt);
	for (size_t i = 0; i < c.count && !err; i++)
		err = put_connection(stmt, &c.list[i]);
	sqlite3_finalize(stmt);
	connections_fini(&c);
	objects_fini(&objects);
	return err;
}
