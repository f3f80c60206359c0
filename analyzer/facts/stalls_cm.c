/*
 * Connections of librdmacm that processes wait for
 *
 *	rdma_connect()			--> the process with its request, else the listener
 *	rdma_accept()			--> the process that sent the request
 *	a thread in rdma_get_cm_event(), and neither of these calls:
 *		established		--> the other end, which may disconnect
 *		listens			--> the ranks that have not connected yet: stalls_finish.c
 *
 * Two identifiers are the ends of one connection if each has the addresses of the other in reverse;
 * if several have, the request must name the queue pair. rdma_resolve_addr() and
 * rdma_resolve_route() wait for the network, not for a process.
 *
 * The next event of the identifier ends a wait; a synchronous call ends its wait when it returns.
 */
#include "analyzer/facts/stalls_cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/facts/activity.h"
#include "analyzer/model/model.h"
#include "core/base/map.h"
#include "core/base/vec.h"

enum { ADDRESS = 64 };

/* An identifier. */
struct cm_identifier {
	uint32_t process;
	uint32_t next;   /* next identifier of the process: 1 + index; 0: this is the last */
	uint32_t qp;     /* object; 0: none, or not known */
	uint32_t number; /* number of its queue pair, or of the queue pair that a request names */
	uint64_t id;
	uint64_t channel;               /* 0: synchronous */
	char own[ADDRESS], to[ADDRESS]; /* "10.0.0.1:7471"; "": not known */
	bool gone, passive, datagram, listens;
	bool accepted; /* the program has accepted the connection */
	bool established;
	struct moment pending; /* a call whose result has not come; id 0:0: none */
	uint32_t asked_by;     /* of a listener: 1 + index of the last request that it got */
	uint32_t also; /* of a request: 1 + index of the listener's previous request; 0: none */
};

struct stalls_cm {
	struct trace *trace;
	struct cm_identifier *cmids;
	size_t n;
	struct map by_id;     /* identifier to 1 + index of its last entry */
	uint32_t *by_process; /* 1 + index of the process's last identifier; 0: none */
	size_t nprocesses;
	struct map by_ends; /* hash of both addresses to 1 + index; built at the end */
	struct map by_own;  /* hash of a listener's address to 1 + index */
};

struct stalls_cm *stalls_cm_new(struct trace *trace)
{
	struct stalls_cm *cm = calloc(1, sizeof(*cm));

	if (cm)
		cm->trace = trace;
	return cm;
}

void stalls_cm_free(struct stalls_cm *cm)
{
	if (!cm)
		return;
	free(cm->cmids);
	free(cm->by_process);
	map_fini(&cm->by_id);
	map_fini(&cm->by_ends);
	map_fini(&cm->by_own);
	free(cm);
}

/* Identifiers */

static struct cm_identifier *find_cm_id(struct stalls_cm *cm, uint32_t process, uint64_t id)
{
	uint64_t at;

	if (!id || !map_get(&cm->by_id, map_hash(process) ^ id, &at) ||
	    cm->cmids[at - 1].process != process || cm->cmids[at - 1].id != id)
		return NULL;
	return &cm->cmids[at - 1];
}

/* A new identifier may have the pointer of a destroyed one, and replaces it. */
static struct cm_identifier *add_cm_id(struct stalls_cm *cm, uint32_t process, uint64_t id)
{
	struct cm_identifier *cmid = find_cm_id(cm, process, id);
	uint32_t *last = vec_at(cm->by_process, cm->nprocesses, process), next;

	if (!id || !last)
		return NULL;
	next = cmid ? cmid->next : *last;
	if (!cmid) {
		cmid = vec_push(cm->cmids, cm->n);
		if (!cmid || map_put(&cm->by_id, map_hash(process) ^ id, cm->n))
			return NULL;
		*last = (uint32_t)cm->n;
	}
	*cmid = (struct cm_identifier){ .process = process, .id = id, .next = next };
	return cmid;
}

static void copy_address_text(char *own, const struct args *args, enum arg arg)
{
	const char *text = args ? args_text(args, arg) : NULL;

	if (text)
		snprintf(own, ADDRESS, "%s", text);
}

static bool is_pending_verb(enum verb verb)
{
	return verb == VERB_rdma_connect || verb == VERB_rdma_accept ||
	       verb == VERB_rdma_resolve_addr || verb == VERB_rdma_resolve_route;
}

void stalls_cm_note_call(struct stalls_cm *cm, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct cm_identifier *cmid;

	if (verb_infos[call->verb].via != VIA_CM || !call->args)
		return;
	cmid = find_cm_id(cm, event->process, (uint64_t)args_number(call->args, ARG(id)));
	if (!cmid || cmid->gone)
		return;
	if (is_pending_verb(call->verb))
		cmid->pending = moment_of(event);
	if (call->verb == VERB_rdma_resolve_addr)
		copy_address_text(cmid->to, call->args, ARG(dst_addr));
	else if (call->verb == VERB_rdma_bind_addr)
		copy_address_text(cmid->own, call->args, ARG(addr));
}

static void note_request(struct stalls_cm *cm, struct cm_identifier *cmid, const struct args *out)
{
	struct cm_identifier *listener =
		find_cm_id(cm, cmid->process, (uint64_t)args_number(out, ARG(event.listen_id)));

	cmid->passive = true;
	cmid->number = (uint32_t)args_number(out, ARG(event.conn.qp_num));
	if (!listener)
		return;
	cmid->channel = listener->channel;
	cmid->also = listener->asked_by;
	listener->asked_by = (uint32_t)(cmid - cm->cmids) + 1;
	if (cmid->own[0]) /* the port that the library has chosen */
		snprintf(listener->own, ADDRESS, "%s", cmid->own);
}

static void learn_cm_arrival(struct stalls_cm *cm, const struct trace_event *event)
{
	const struct args *out = event->call->out;
	const char *name = args_text(out, ARG(event.event)),
		   *type = args_text(out, ARG(event.qp_type));
	uint64_t id = (uint64_t)args_number(out, ARG(event.id));
	bool made = name && !strcmp(name, "RDMA_CM_EVENT_CONNECT_REQUEST");
	struct cm_identifier *cmid =
		made ? add_cm_id(cm, event->process, id) : find_cm_id(cm, event->process, id);

	if (!name || !cmid)
		return;
	cmid->pending.id.thread = 0;
	cmid->datagram = type && !strcmp(type, "IBV_QPT_UD");
	copy_address_text(cmid->own, out, ARG(event.src_addr));
	copy_address_text(cmid->to, out, ARG(event.dst_addr));
	if (made)
		note_request(cm, cmid, out);
	else if (!strcmp(name, "RDMA_CM_EVENT_ESTABLISHED"))
		cmid->established = !cmid->datagram;
	else if (!strcmp(name, "RDMA_CM_EVENT_DISCONNECTED"))
		cmid->established = false;
}

/* A call on an existing identifier has succeeded; without a channel, the call itself has waited. */
static void note_return(struct cm_identifier *cmid, const struct call *call)
{
	if (!cmid->channel || (cmid->passive && cmid->datagram))
		cmid->pending.id.thread = 0;
	switch (call->verb) {
	case VERB_rdma_listen:
		cmid->listens = true;
		break;
	case VERB_rdma_connect:
	case VERB_rdma_accept:
		cmid->accepted |= call->verb == VERB_rdma_accept;
		cmid->established |= !cmid->channel;
		break;
	case VERB_rdma_migrate_id:
		cmid->channel = (uint64_t)args_number(call->args, ARG(channel));
		break;
	default:
		cmid->gone = verb_infos[call->verb].effect == EFFECT_DESTROY;
	}
}

void stalls_cm_note_return(struct stalls_cm *cm, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct cm_identifier *cmid;

	if (verb_infos[call->verb].via != VIA_CM || !call->args)
		return;
	if (call->verb == VERB_rdma_get_cm_event) {
		if (!call->failed && call->out)
			learn_cm_arrival(cm, event);
		return;
	}
	if (verb_infos[call->verb].effect == EFFECT_CREATE) {
		cmid = call->failed || verb_infos[call->verb].object != OBJECT_cm_id
			       ? NULL
			       : add_cm_id(cm, event->process, call->handle);
		if (cmid)
			cmid->channel = (uint64_t)args_number(call->args, ARG(channel));
		return;
	}
	cmid = find_cm_id(cm, event->process, (uint64_t)args_number(call->args, ARG(id)));
	if (!cmid)
		return;
	if (call->failed)
		cmid->pending.id.thread = 0;
	else
		note_return(cmid, call);
}

/* One process at its end */

static void note_qp(struct cm_identifier *cmid, struct model *model)
{
	const struct life *life = model_life(model, cmid->process, OBJECT_cm_id, cmid->id);

	for (const struct life_link *link = life ? life->children : NULL; link;
	     link = link->next_child)
		if (link->child->kind == OBJECT_qp) {
			cmid->qp = link->child->id;
			if (!cmid->passive)
				cmid->number = link->child->number;
		}
}

static struct stall_link make_link(const struct stalls_cm *cm, const struct stall *stall,
				   const struct cm_identifier *cmid, const struct moment *sleep)
{
	bool pending = cmid->pending.id.thread;
	struct stall_link link = { .process = cmid->process,
				   .cmid = (uint32_t)(cmid - cm->cmids) + 1,
				   .qp = cmid->qp,
				   .channel = cmid->channel,
				   .why = cmid->listens ? STALL_REQUEST : STALL_EVENT,
				   .since = sleep ? sleep->time : stall->quiet,
				   .stack = sleep ? sleep->stack : 0,
				   .until = stall->time,
				   .watched = pending && !cmid->channel };

	if (!pending)
		return link;
	link.why = cmid->passive ? STALL_ACCEPT : STALL_CONNECT;
	link.request = cmid->pending.id;
	link.since = cmid->pending.time;
	link.stack = cmid->pending.stack;
	return link;
}

static bool is_resolving(const struct cm_identifier *cmid)
{
	return cmid->pending.id.thread && (cmid->pending.verb == VERB_rdma_resolve_addr ||
					   cmid->pending.verb == VERB_rdma_resolve_route);
}

/* Has @cmid waited long enough? @sleep: the call in which a thread waits for events, or NULL. */
static bool is_waiting(const struct cm_identifier *cmid, const struct stall *stall,
		       const struct moment *sleep)
{
	int64_t since = stall->time - stall_patience(stall);

	if (cmid->pending.id.thread)
		return cmid->pending.time <= since;
	return sleep && sleep->time <= since && (cmid->listens || cmid->established);
}

bool stalls_cm_end_process(struct stalls_cm *cm, struct model *model,
			   const struct activity_note *note, const struct stall *stall,
			   void (*each)(void *arg, const struct stall_link *link), void *arg)
{
	uint32_t at = stall->process < cm->nprocesses ? cm->by_process[stall->process] : 0;
	bool network = false;

	for (struct cm_identifier *cmid; at; at = cmid->next) {
		const struct moment *sleep;
		struct stall_link link;

		cmid = &cm->cmids[at - 1];
		if (cmid->gone)
			continue;
		note_qp(cmid, model);
		sleep = activity_find_sleep(note, cmid->channel ? cmid->channel : cmid->id);
		if (is_resolving(cmid)) {
			network = true;
		} else if (is_waiting(cmid, stall, sleep)) {
			link = make_link(cm, stall, cmid, sleep);
			each(arg, &link);
		}
	}
	return network;
}

/* Finding the other ends of connections */

/* FNV-1a: continue hash @h with a text. */
static uint64_t hash_text(uint64_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
	return h;
}

static uint64_t ends_key(const char *own, const char *to)
{
	return hash_text(hash_text(0xcbf29ce484222325ull, own) ^ '>', to);
}

/* If several identifiers have the same key, they are found only by the number of a queue pair. */
enum { SEVERAL = 0 };

static void index_cm_id(struct map *map, uint64_t key, size_t at)
{
	uint64_t had;

	if (map_put(map, key, map_get(map, key, &had) ? SEVERAL : at + 1))
		map_remove(map, key);
}

static const char *find_port(const char *address)
{
	const char *colon = strrchr(address, ':');

	return colon ? colon : "";
}

/* Is @address the wildcard address, with which a listener listens at all addresses of its node? */
static bool is_wildcard(const char *address)
{
	return !strncmp(address, "0.0.0.0:", 8) || !strncmp(address, "[::]:", 5);
}

static void index_cm_ids(struct stalls_cm *cm)
{
	for (size_t i = 0; i < cm->n; i++) {
		const struct cm_identifier *cmid = &cm->cmids[i];

		if (cmid->own[0] && cmid->to[0])
			index_cm_id(&cm->by_ends, ends_key(cmid->own, cmid->to), i);
		if (!cmid->listens)
			continue;
		index_cm_id(&cm->by_own,
			    ends_key(is_wildcard(cmid->own) ? find_port(cmid->own) : cmid->own, ""),
			    i);
	}
}

static const struct cm_identifier *look_up_cm_id(const struct stalls_cm *cm, const struct map *map,
						 uint64_t key, bool *several)
{
	uint64_t at;

	if (!map_get(map, key, &at))
		return NULL;
	if (at == SEVERAL)
		*several = true;
	return at == SEVERAL ? NULL : &cm->cmids[at - 1];
}

/* The request that names the queue pair of @active. */
static const struct cm_identifier *find_by_number(const struct stalls_cm *cm,
						  const struct cm_identifier *active)
{
	const struct cm_identifier *found = NULL;

	for (size_t i = 0; i < cm->n && active->number; i++) {
		const struct cm_identifier *cmid = &cm->cmids[i];

		if (!cmid->passive || cmid->number != active->number ||
		    strcmp(cmid->own, active->to) != 0)
			continue;
		if (found)
			return NULL;
		found = cmid;
	}
	return found;
}

/* The only listener at the address, or at its port on all addresses. */
static const struct cm_identifier *find_listener(const struct stalls_cm *cm, const char *address)
{
	bool several = false;
	const struct cm_identifier *found =
		look_up_cm_id(cm, &cm->by_own, ends_key(address, ""), &several);

	if (!found && !several)
		found = look_up_cm_id(cm, &cm->by_own, ends_key(find_port(address), ""), &several);
	return found;
}

static const struct cm_identifier *find_peer_cm_id(const struct stalls_cm *cm,
						   const struct cm_identifier *cmid)
{
	bool several = false;
	const struct cm_identifier *other =
		look_up_cm_id(cm, &cm->by_ends, ends_key(cmid->to, cmid->own), &several);

	if (other || cmid->passive)
		return other;
	other = several || !cmid->own[0] ? find_by_number(cm, cmid) : NULL;
	return other || several ? other : find_listener(cm, cmid->to);
}

/* Set the link's other end; if that end has answered already, drop the link. */
static void set_link_peer(struct stall_link *link, const struct cm_identifier *other)
{
	if ((link->why == STALL_CONNECT && other->accepted) ||
	    (link->why == STALL_ACCEPT && other->established)) {
		link->cmid = 0;
		link->channel = 0;
		link->watched = false;
		return;
	}
	link->to = other->process;
	link->other = other->qp;
}

void stalls_cm_finish(struct stalls_cm *cm, struct stall_link *links, size_t n)
{
	bool indexed = false;

	for (size_t i = 0; i < n; i++) {
		struct stall_link *link = &links[i];
		const struct cm_identifier *cmid = link->cmid ? &cm->cmids[link->cmid - 1] : NULL,
					   *other;

		if (!cmid || link->why == STALL_REQUEST)
			continue;
		if (!indexed)
			index_cm_ids(cm);
		indexed = true;
		other = find_peer_cm_id(cm, cmid);
		if (other && other->process != cmid->process)
			set_link_peer(link, other);
	}
}

void stalls_cm_mark_asked(const struct stalls_cm *cm, const struct stall_link *link, bool *asked,
			  size_t nprocesses)
{
	uint32_t at = cm->cmids[link->cmid - 1].asked_by;

	for (size_t left = cm->n; at && left; left--, at = cm->cmids[at - 1].also) {
		const struct cm_identifier *other = find_peer_cm_id(cm, &cm->cmids[at - 1]);

		if (other && other->process < nprocesses)
			asked[other->process] = true;
	}
}
