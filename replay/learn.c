/*
 * Facts about the whole trace that are needed before its first event is replayed
 *
 * One pass over the control verbs: memory that is registered, so that ranges
 * which overlap get memory that overlaps; the LIDs and GIDs that the programs
 * got.
 *
 * Not here: which queue pair talks to which (core/store/finish/connections.c).
 */
#include "replay/learn.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/store/finish/connections.h"
#include "core/wire/log.h"
#include "replay/cm/cm.h"
#include "replay/device/dispatch.h"
#include "replay/synth/synth.h"
#include "replay/two_host/pair.h"
#include "replay/process/process.h"
#include "replay/state/recorded.h"
#include "replay/state/state.h"

enum { MIB = 1 << 20, QUEUES_SHARE = 8, QUEUES_MIB = 64 };

static int learn_port(struct replay *r, const struct call *call, const struct args *in,
		      const struct args *out)
{
	uint8_t port = (uint8_t)args_number(in, ARG(port_num));
	uint16_t lid = (uint16_t)args_number(out, ARG(port_attr.lid));

	return devices_note_lid(r->devices, recorded_device_name(r, call->object), port, lid);
}

static int learn_gid_entry(struct replay *r, const struct call *call, uint8_t port, int64_t index,
			   const char *text, enum gid_kind kind)
{
	struct gid gid = { .kind = kind };

	if (!text || !place_parse_gid(text, gid.raw.raw))
		return 0;
	return devices_note_gid(r->devices, recorded_device_name(r, call->object), port, index,
				&gid);
}

static int learn_entry(struct replay *r, const struct call *call, uint8_t port, int64_t index,
		       const char *raw, const struct json_node *type)
{
	int64_t value;

	return learn_gid_entry(r, call, port, index, raw,
			       args_value(type, &value) ? gid_kind_of((enum ibv_gid_type)value)
							: GID_UNTYPED);
}

static int learn_gids(struct replay *r, const struct call *call, const struct args *out)
{
	int64_t port, index;
	int err = 0;

	for (size_t i = 0; i < 256 && !err; i++) {
		if (!args_get_at(out, ARG(entries.port_num), i, &port))
			break;
		err = args_get_at(out, ARG(entries.gid_index), i, &index)
			      ? learn_entry(r, call, (uint8_t)port, index,
					    args_text_at(out, ARG(entries.gid.raw), i),
					    args_find_at(out, ARG(entries.gid_type), i))
			      : 0;
	}
	return err;
}

static int learn_memory(struct replay *r, const struct trace_event *event, const struct args *in)
{
	struct memory *memory = r->memory[event->process];
	bool range =
		event->call->verb == VERB_dontfork_range || event->call->verb == VERB_dofork_range;
	uint64_t addr = args_number(in, range ? ARG(base) : ARG(addr));
	uint64_t length = args_number(in, range ? ARG(size) : ARG(length));

	if (!range && memory_is_all(addr, length))
		r->implicit[event->process] = r->any_implicit = true;
	return memory_add(memory, addr, length);
}

static int learn_remote_range(struct replay *r, const struct wr *wr, uint64_t length)
{
	int err = 0;

	for (uint32_t i = 1; i < r->nprocesses && !err; i++)
		if (r->implicit[i])
			err = memory_add(r->memory[i], wr->remote_addr, length);
	return err;
}

/* Note memory that requests access: only they show which parts of an implicit region are used. */
static int learn_post(struct replay *r, uint32_t process, const struct post *post)
{
	int err = 0;

	for (uint32_t i = 0; i < post->nwr && !err; i++) {
		const struct wr *wr = &post->wr[i];
		uint64_t length = 0;

		for (uint32_t k = 0; k < wr->nsge && !err; k++) {
			length += wr->sge[k].length;
			if (r->implicit[process])
				err = memory_add(r->memory[process], wr->sge[k].addr,
						 wr->sge[k].length);
		}
		if (!err && post_is_send(post) && wr->remote_addr)
			err = learn_remote_range(r, wr, length);
	}
	return err;
}

/* Learn from posts, only if there is an implicit region, because this reads the whole trace. */
static int learn_posts(struct replay *r)
{
	const struct trace_filter filter = { .unmatched = true };
	const struct trace_event *event;
	struct cursor *cursor;
	int err;

	if (!r->any_implicit)
		return 0;
	err = cursor_open(r->trace, &filter, &cursor);
	if (err < 0)
		return err;
	while ((err = cursor_next(cursor, &event)) > 0) {
		if (event->kind != TRACE_POST || event->process >= r->nprocesses)
			continue;
		err = learn_post(r, event->process, event->post);
		if (err < 0) {
			log_err(err, "note the used parts of an implicit region");
			break;
		}
	}
	cursor_close(cursor);
	return err;
}

/*
 * A filter may have left the data path out: then nothing completes, and no completion events come.
 */
static int learn_filter(struct replay *r)
{
	const char *filter = trace_meta(r->trace, "filter");
	const struct trace_filter all = { .unmatched = true };
	const struct trace_event *event;
	struct cursor *cursor;
	int err = filter && *filter ? cursor_open(r->trace, &all, &cursor) : 0;

	if (!filter || !*filter || err < 0)
		return err;
	r->no_posts = "the posts were left out of the trace by --filter";
	r->no_arming = "the requests for events were left out of the trace by --filter";
	while ((r->no_posts || r->no_arming) && (err = cursor_next(cursor, &event)) > 0) {
		if (event->kind == TRACE_POST)
			r->no_posts = NULL;
		if (event->kind == TRACE_NOTIFY)
			r->no_arming = NULL;
	}
	cursor_close(cursor);
	return err < 0 ? err : 0;
}

static int learn_transports(struct replay *r, const struct args *out)
{
	const char *name;
	int64_t type;

	for (size_t i = 0; i < 256; i++) {
		if (!args_get_at(out, ARG(ret.transport_type), i, &type))
			break;
		name = args_text_at(out, ARG(ret.name), i);
		if (name && type == IBV_TRANSPORT_IWARP)
			devices_note_iwarp(r->devices, name);
	}
	return 0;
}

static int learn_call(struct replay *r, const struct trace_event *event, const struct args *in,
		      const struct args *out)
{
	const struct call *call = event->call;

	switch (recorded_verb(call)) {
	case VERB_open_device:
		if (!call->failed)
			devices_find_role(r->devices, recorded_device_name(r, call->object));
		return 0;
	case VERB_get_device_list:
		return learn_transports(r, out);
	case VERB_query_device:
	case VERB_query_device_ex:
		if (!call->failed && call->out)
			devices_note_attr(r->devices, recorded_device_name(r, call->object),
					  call->out,
					  call->verb == VERB_query_device ? ARG(device_attr)
									  : ARG(attr.orig_attr));
		return 0;
	case VERB_reg_mr:
	case VERB_reg_mr_iova:
	case VERB_reg_mr_iova2:
	case VERB_rereg_mr:
	case VERB_memcpy_to_dm:
	case VERB_memcpy_from_dm:
	case VERB_dontfork_range:
	case VERB_dofork_range:
		return learn_memory(r, event, in);
	case VERB_query_port:
	case VERB_query_port_compat:
		return learn_port(r, call, in, out);
	case VERB_query_gid:
		return learn_gid_entry(r, call, (uint8_t)args_number(in, ARG(port_num)),
				       (int64_t)args_number(in, ARG(index)),
				       args_text(out, ARG(gid.raw)), GID_UNTYPED);
	case VERB_query_gid_ex:
		return learn_entry(r, call, (uint8_t)args_number(in, ARG(port_num)),
				   (int64_t)args_number(in, ARG(gid_index)),
				   args_text(out, ARG(entry.gid.raw)),
				   args_find(out, ARG(entry.gid_type)));
	case VERB_query_gid_table:
		return learn_gids(r, call, out);
	default:
		return 0;
	}
}

static int learn_event(struct replay *r, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct replica *replica;

	if (event->kind != TRACE_CALL)
		return 0;
	if (!event->process || event->process >= r->nprocesses)
		return -EBADMSG;
	if (verb_infos[call->verb].via == VIA_CM && !call->depth && !event->inner)
		r->cm_calls++;
	replica = replica_of(r, call->object);
	if (replica && verb_infos[call->verb].effect == EFFECT_CREATE)
		replica->created = true;
	return args_parse(call->args)
		       ?: args_parse(call->out)
				  ?: cm_learn_call(r, event, call->args, call->out)
				  ?: learn_call(r, event, call->args, call->out)
					     ?: synth_learn_call(r, event, call->args, call->out);
}

/*
 * Find objects whose destruction was removed from the trace: that is a divergence. Its effect, that
 * other objects cannot be destroyed, is not.
 */
static void mark_undestroyed(struct replay *r, const struct map *destroys)
{
	char name[40 + PROCESS_TEXT], process[PROCESS_TEXT];
	uint64_t seen;

	for (uint32_t i = 1; i < r->nreplicas && !r->gaps; i++) {
		const struct object *o = trace_object(r->trace, i);
		int verb = dispatch_destroyer(o->kind);

		if (!o->destroyed.thread || verb < 0 ||
		    map_get(destroys, event_key(o->destroyed), &seen))
			continue;
		r->undestroyed = r->replicas[i].undestroyed = true;
		snprintf(name, sizeof(name), "%s of %s destroyed", o->name,
			 process_id_text(o->process, process));
		outcome_add_divergence(
			r->outcome,
			&(struct divergence){ .event = o->destroyed,
					      .verb = (enum verb)verb,
					      .field = object_names[o->kind],
					      .recorded = name,
					      .replayed = "the call is not in the trace",
					      .object = i });
	}
}

/* Count regions whose creation is missing in the trace. */
static void count_uncreated_mrs(struct replay *r)
{
	for (uint32_t i = 1; i < r->nreplicas; i++) {
		const struct object *o = trace_object(r->trace, i);

		r->nlacking += o->kind == OBJECT_mr && o->created.thread && !r->replicas[i].created;
	}
}

static int note_destroy(struct map *destroys, const struct trace_event *event)
{
	if (event->kind != TRACE_CALL || verb_infos[event->call->verb].effect != EFFECT_DESTROY)
		return 0;
	return map_put(destroys, event_key(event->id), 1);
}

static int learn_events(struct replay *r)
{
	struct map destroys = { 0 };
	const struct trace_filter filter = { .control_only = true };
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(r->trace, &filter, &cursor);

	if (err < 0)
		return err;
	while ((err = cursor_next(cursor, &event)) > 0) {
		err = learn_event(r, event) ?: note_destroy(&destroys, event);
		if (err < 0) {
			char text[32];

			log_err(err, "read event %s", event_id_text(event->id, text));
			break;
		}
	}
	cursor_close(cursor);
	if (!err)
		mark_undestroyed(r, &destroys);
	map_fini(&destroys);
	return err;
}

static int learn_objects(struct replay *r)
{
	const struct object *o;

	r->lossy = (trace_complete_since(r->trace) != INT64_MIN || trace_loss(r->trace).events) &&
		   !trace_is_closed(r->trace);
	for (r->nreplicas = 1; (o = trace_object(r->trace, r->nreplicas)); r->nreplicas++) {
		if (!o->process || o->process >= r->nprocesses)
			return log_why(-EBADMSG,
				       "object %u is of process %u, which is not in the trace",
				       o->id, o->process);
	}
	r->replicas = lines_alloc(r->nreplicas, sizeof(*r->replicas));
	r->made = calloc(r->nreplicas, sizeof(*r->made));
	return r->replicas && r->made ? 0 : -ENOMEM;
}

static int learn_processes(struct replay *r)
{
	const struct thread *thread;

	for (r->nprocesses = 1; trace_process(r->trace, r->nprocesses); r->nprocesses++)
		;
	r->memory = calloc(r->nprocesses, sizeof(*r->memory));
	r->nthreads = calloc(r->nprocesses, sizeof(*r->nthreads));
	r->implicit = calloc(r->nprocesses, sizeof(*r->implicit));
	if (!r->memory || !r->nthreads || !r->implicit)
		return -ENOMEM;
	for (uint32_t i = 1; (thread = trace_thread(r->trace, i)); i++)
		if (thread->process < r->nprocesses)
			r->nthreads[thread->process]++;
	for (uint32_t i = 1; i < r->nprocesses; i++) {
		uint32_t parent = recorded_memory_parent(r, i);

		if (parent)
			r->memory[i] = r->memory[parent];
		else if (memory_new(&r->memory[i]))
			return -ENOMEM;
	}
	return 0;
}

/* The memory that @size bytes of regions need, in MiB, with queues of the software device. */
static uint64_t estimate_mib(uint64_t size)
{
	return size / MIB + size / MIB / QUEUES_SHARE + QUEUES_MIB;
}

/*
 * Check the size of the regions, and leave the rest of the limit to the queues of the software
 * device, which reads its limit when it creates the first queue. Whole regions are in memory.
 */
static int limit_memory(struct replay *r)
{
	uint64_t size = synth_bytes(r), max = r->options->max_memory;
	char left[24];

	for (uint32_t i = 1; i < r->nprocesses; i++)
		if (!recorded_memory_parent(r, i) &&
		    __builtin_add_overflow(size, memory_size(r->memory[i]), &size))
			size = UINT64_MAX;
	if (size > max) {
		log_note("the recorded programs registered %" PRIu64 " MiB of memory, but "
			 "--max-memory is %" PRIu64 " MiB: if you trust the trace, give "
			 "--max-memory %" PRIu64 "M",
			 (size - 1) / MIB + 1, max / MIB, estimate_mib(size));
		return -EFBIG;
	}
	snprintf(left, sizeof(left), "%" PRIu64, max - size);
	return processes_setenv("VERBATIM_SOFT_MEMORY", left);
}

/* Learn whether the recorder may have left out calls: then missing calls are not damage. */
static void learn_gaps(struct replay *r)
{
	const struct trace_loss loss = trace_loss(r->trace);
	const char *filter = trace_meta(r->trace, "filter");

	if ((loss.events && !trace_is_closed(r->trace)) || loss.damaged || loss.interrupted)
		r->gaps = "the recording lost the call that created its object";
	else if (filter && *filter)
		r->gaps = "a filter left out the call that created its object";
}

static int map_memory(struct memory *memory)
{
	int err = memory_map(memory);

	return err || !processes_are_used() ? err : memory_share(memory, processes_map);
}

static int learn_peers(struct replay *r)
{
	return trace_connections(r->trace, &r->connections);
}

int learn_trace(struct replay *r)
{
	int err = learn_processes(r);

	learn_gaps(r);
	if (!err)
		err = learn_objects(r) ?: learn_peers(r);
	if (err == -ENOMEM)
		log_err(err, "prepare the replay");
	if (!err)
		err = synth_init(r);
	if (!err)
		err = learn_events(r);
	if (!err)
		err = pair_meet(r);
	if (!err)
		err = synth_learn_traffic(r);
	if (!err)
		count_uncreated_mrs(r);
	if (!err)
		err = learn_posts(r);
	if (!err)
		err = learn_filter(r);
	if (!err)
		err = limit_memory(r);
	if (!err) /* most traffic uses a part of its regions, and to clear the rest takes long */
		err = processes_setenv("VERBATIM_SOFT_PAGES", "lazy");
	for (uint32_t i = 1; i < r->nprocesses && !err; i++)
		err = recorded_memory_parent(r, i) ? 0 : map_memory(r->memory[i]);
	return err;
}
