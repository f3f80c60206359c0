/*
 * Recorded handles, addresses, keys and numbers, translated to those of the replay
 *
 * A handle is found by its object, a buffer by the memory region of its key:
 *
 *	replayed = recorded - recorded_base + replayed_base
 *
 * so that an address outside its region is outside by the same distance as in the recording. A
 * number that was invalid in the recording must be invalid in the replay: it is not translated,
 * unless it happens to be valid in the replay.
 *
 * Not here: the arguments of single verbs (translate_call.c).
 */
#include "replay/state/translate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/model/operation.h"
#include "core/store/db/args_visit.h"
#include "replay/process/process.h"
#include "replay/state/recorded.h"
#include "replay/state/state.h"

static uint64_t note_missing_object(struct translation *t, enum object_kind kind, const char *why)
{
	snprintf(t->text, sizeof(t->text), "%s (%s)", why, object_names[kind]);
	t->missing = t->text;
	return 0;
}

/* Report a handle whose object the trace lacks: the trace is damaged, or was altered. */
static void report_unknown(struct translation *t, enum object_kind kind, uint32_t object,
			   const char *recorded, const char *replayed)
{
	outcome_add_divergence(t->r->outcome,
			       &(struct divergence){ .event = t->event->id,
						     .verb = trace_verb(t->event),
						     .field = object_names[kind],
						     .recorded = recorded,
						     .replayed = replayed,
						     .object = object,
						     .class = DIVERGENCE_FAILED_REPLAYED,
						     .breaks = true });
}

static uint64_t note_unknown_object(struct translation *t, enum object_kind kind, uint64_t recorded)
{
	static const char why[] = "it is not in the trace";
	char handle[32];

	snprintf(handle, sizeof(handle), "%#" PRIx64, recorded);
	if (!t->r->gaps)
		report_unknown(t, kind, 0, handle, why);
	return note_missing_object(t, kind, why);
}

/* Set the reason why the replay lacks the object, such as a creation that the trace lacks. */
static uint64_t note_uncreated_object(struct translation *t, const struct object *o,
				      struct replica *replica)
{
	char there[40 + PROCESS_TEXT], process[PROCESS_TEXT];

	t->missing_object = o->id;
	if (!replica->why && !replica->made && !replica->created && o->created.thread) {
		replica->why = "the call that created its object is not in the trace";
		snprintf(there, sizeof(there), "%s of %s", o->name,
			 process_id_text(o->process, process));
		if (!t->r->gaps)
			report_unknown(t, o->kind, o->id, there, replica->why);
		else
			replica->why = t->r->gaps;
	}
	return note_missing_object(t, o->kind,
				   replica->why ? replica->why
						: "its object was not created in the "
						  "replay");
}

/* The process lacks the object: it was created after the fork, or its copy was destroyed. */
static uint64_t note_foreign_object(struct translation *t, const struct object *o)
{
	t->missing_object = o->id;
	return note_missing_object(t, o->kind, "its process in the replay does not have it");
}

const char translate_inherited[] = "a forked process uses objects of its parent, which the "
				   "recorded device refused: --processes replays that";

bool translate_is_inherited(const struct replay *r, uint32_t object, uint32_t process)
{
	return !processes_are_used() && trace_object(r->trace, object)->process != process;
}

static bool has_failed(const struct trace_event *event)
{
	return event->kind == TRACE_POST ? event->post->ret : event->call->failed;
}

static uint64_t translate_handle(struct translation *t, enum object_kind kind, uint64_t recorded)
{
	const struct object *o;
	struct replica *replica;

	if (!recorded)
		return 0;
	o = trace_object_at(t->r->trace, t->event->process, kind, recorded, t->time);
	if (!o)
		return note_unknown_object(t, kind, recorded);
	if (kind == OBJECT_device && devices_lack(t->r->devices, o->name)) {
		t->needless = "a device that the program only found in a list, and that this "
			      "machine does not have";
		return 0;
	}
	if (kind == OBJECT_device)
		return (uintptr_t)devices_find_role(t->r->devices, o->name)->device;
	if (has_failed(t->event) && translate_is_inherited(t->r, o->id, t->event->process))
		return note_missing_object(t, kind, translate_inherited);
	replica = replica_of(t->r, o->id);
	if (!replica->handle)
		return note_uncreated_object(t, o, replica);
	if (!process_has(t->event->process, replica->handle))
		return note_foreign_object(t, o);
	if (t->nused < TRANSLATE_USED)
		t->used[t->nused++] = o->id;
	return (uintptr_t)replica->handle;
}

void translate_check_used(struct translation *t)
{
	for (unsigned int i = 0; i < t->nused && !t->missing; i++) {
		const struct object *o = trace_object(t->r->trace, t->used[i]);

		if (!replica_of(t->r, o->id)->handle)
			note_uncreated_object(t, o, replica_of(t->r, o->id));
	}
}

/* Contexts are passed as recorded and never followed; recorded functions are never called. */
static uint64_t translate_address(struct translation *t, const struct field_info *field,
				  uint64_t recorded)
{
	struct memory *memory = t->r->memory[t->event->process];
	void *at;

	if (strstr(field->name, "context") || args_is(field, ARG(event.element)))
		return recorded;
	if (args_is(field, ARG(attr.alloc)) || args_is(field, ARG(attr.free)) || !recorded)
		return 0;
	if (!args_is(field, ARG(addr)) && !args_is(field, ARG(base)))
		return (uintptr_t)t->r->scratch;
	at = memory_at(memory, recorded);
	return at ? (uintptr_t)at : recorded;
}

/* Does the call ignore the field? It may then have any value: a PD that is not to be changed. */
static bool is_ignored(const struct translation *t, const struct field_info *field)
{
	return t->args && t->event->call->verb == VERB_rereg_mr && field->object == OBJECT_pd &&
	       !(t->args[1] & IBV_REREG_MR_CHANGE_PD);
}

uint64_t translate_field(void *arg, const struct field_info *field, uint64_t recorded)
{
	struct translation *t = arg;

	if (field->kind == FIELD_OBJ && is_ignored(t, field))
		return 0;
	if (field->kind == FIELD_OBJ)
		return translate_handle(t, field->object, recorded);
	return translate_address(t, field, recorded);
}

bool translate_has_object(const struct replay *r, const void *handle, enum object_kind kind)
{
	uint64_t id;

	return map_get(&r->handles, (uintptr_t)handle, &id) && r->replicas[id].handle == handle &&
	       trace_object(r->trace, (uint32_t)id)->kind == kind;
}

/* The latest region or window that @key of @process stood for. */
static struct replica *find_key(struct replay *r, const struct map *keys, uint32_t process,
				uint32_t key)
{
	const struct process *p;
	uint64_t id;

	for (; process; process = p && p->parent < process ? p->parent : 0) {
		if (map_get(keys, process_key(process, key), &id))
			return replica_of(r, (uint32_t)id);
		p = trace_process(r->trace,
				  /* it may use a key of the process it was forked from */
				  process);
	}
	return NULL;
}

uint64_t translate_local(struct replay *r, uint32_t process, uint64_t addr, uint64_t length,
			 uint32_t *key)
{
	const struct replica *mr = find_key(r, &r->lkeys, process, *key);
	void *at;

	if (mr)
		*key = mr->number;
	if (mr && !mr->implicit)
		return addr - mr->recorded_base + mr->replayed_base;
	at = memory_span(r->memory[process], addr, length);
	return (uintptr_t)(at ? at : memory_scratch(r->memory[process], length));
}

void *translate_host(struct replay *r, uint32_t process, uint64_t addr, uint64_t length,
		     uint32_t key)
{
	const struct replica *replica = find_key(r, &r->lkeys, process, key);
	const struct ibv_mr *mr = replica ? replica->handle : NULL;
	uint64_t at = mr ? (uint64_t)(uintptr_t)mr->addr + (addr - replica->recorded_base) : 0;

	if (mr && replica->implicit)
		at = (uintptr_t)memory_at(r->memory[process], addr);
	if (mr)
		process = trace_object(r->trace, (uint32_t)(replica - r->replicas))->process;
	if (!mr || !memory_holds(r->memory[process], (void *)(uintptr_t)at, length))
		return NULL;
	return (void *)(uintptr_t)at;
}

/* Find the window whose key had the same index: windows get new keys when they are bound. */
static const struct replica *find_window(struct replay *r, uint32_t process, uint32_t key)
{
	for (uint32_t i = r->nmade; i-- > 0;) {
		const struct object *o = trace_object(r->trace, r->made[i]);

		if (o->kind == OBJECT_mw && o->process == process && o->number >> 8 == key >> 8)
			return replica_of(r, o->id);
	}
	return NULL;
}

static const struct replica *find_remote(struct replay *r, uint32_t process, uint32_t key)
{
	const struct replica *replica = find_key(r, &r->rkeys, process, key);

	return replica ? replica : find_window(r, process, key);
}

/* For a window of type 2 the program chooses the low bits with each bind. */
static uint32_t replayed_key(const struct replica *replica, enum object_kind kind,
			     uint32_t recorded)
{
	const struct ibv_mw *mw = kind == OBJECT_mw ? replica->handle : NULL;

	if (!mw)
		return replica->rkey;
	return mw->type == IBV_MW_TYPE_2 ? (mw->rkey & ~0xffu) | (recorded & 0xff) : mw->rkey;
}

uint32_t translate_rkey(struct replay *r, uint32_t process, uint32_t key)
{
	const struct replica *replica = find_remote(r, process, key);

	if (!replica)
		return key;
	return replayed_key(replica,
			    trace_object(r->trace, (uint32_t)(replica - r->replicas))->kind, key);
}

uint64_t translate_remote(struct replay *r, uint32_t process, uint64_t addr, uint32_t *key)
{
	const struct replica *replica = find_remote(r, process, *key);
	void *at;

	*key = translate_rkey(r, process, *key);
	if (replica && !replica->implicit &&
	    trace_object(r->trace, (uint32_t)(replica - r->replicas))->kind == OBJECT_mr)
		return addr - replica->recorded_base + replica->replayed_base;
	at = memory_at(r->memory[process], addr);
	return at ? (uintptr_t)at : addr;
}

uint32_t translate_peer_process(const struct replay *r, const struct replica_qp *qp,
				uint32_t process)
{
	const struct object *peer = qp->peer ? trace_object(r->trace, qp->peer) : NULL;

	return peer ? peer->process : process;
}

uint32_t translate_qpn(struct replay *r, uint32_t qpn, int64_t time)
{
	uint32_t id = recorded_datagram(r, 0, qpn, NULL, time);
	const struct replica *replica = replica_of(r, id);
	uint64_t ours;

	if (replica && replica->number)
		return replica->number;
	return map_get(&r->numbers, qpn, &ours) ? 0xfffffe : qpn;
}

void translate_check_key(struct translation *t, uint32_t process, bool remote, uint32_t key)
{
	const struct object *o;

	for (uint32_t i = 1; t->r->nlacking && (o = trace_object(t->r->trace, i)); i++)
		if (o->kind == OBJECT_mr && o->process == process && o->created_at <= t->time &&
		    t->time < o->destroyed_at && (remote ? o->rkey : o->number) == key &&
		    !replica_of(t->r, i)->made) {
			note_uncreated_object(t, o, replica_of(t->r, i));
			return;
		}
}

void translate_check_post(struct translation *t, const struct replica_qp *qp)
{
	const struct post *post = t->event->post;
	uint32_t mine = t->event->process;

	for (uint32_t i = 0; t->r->nlacking && i < post->nwr && !t->missing; i++) {
		const struct wr *wr = &post->wr[i];
		bool keys = !post_is_send(post) || !(wr->send_flags & IBV_SEND_INLINE);

		for (uint32_t k = 0; keys && k < wr->nsge && !t->missing; k++)
			translate_check_key(t, mine, false, wr->sge[k].lkey);
		if (post_is_send(post) && qp && operation_has_rkey(wr->opcode) && !t->missing)
			translate_check_key(t, translate_peer_process(t->r, qp, mine), true,
					    wr->rkey);
	}
}
