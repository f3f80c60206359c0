/*
 * One process for each recorded process
 *
 *	engine: an object's copy -> channel -> replayed process: the object
 *
 * A call goes to the process of the event that is replayed, or to the process that created the
 * object, if the engine polls completions of one process while it replays an event of another.
 */
#include "replay/process/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/log.h"
#include "replay/device/builder.h"
#include "replay/device/dispatch.h"
#include "replay/report/outcome.h"
#include "replay/process/process_ask.h"
#include "replay/process/process_data.h"
#include "replay/process/process_priv.h"

struct span {
	uint64_t start, end;
};

static struct {
	struct trace *trace;
	struct outcome *outcome;
	struct process_ask *ask;
	struct mirrors *mirrors;
	struct span *spans; /* mapped by processes_map() */
	size_t nspans;
	unsigned int struck; /* faults in processes that have ended */
} all;

/* The event that this thread is replaying. */
static _Thread_local struct {
	uint32_t process; /* 0: none */
	struct channel *channel;
	struct event_id event;
	enum verb verb;
	uint32_t object;
} current;

bool processes_are_used(void)
{
	return all.ask;
}

static bool is_mapped(uint64_t address)
{
	for (size_t i = 0; i < all.nspans; i++)
		if (address >= all.spans[i].start && address < all.spans[i].end)
			return true;
	return false;
}

void *process_object(const struct channel *channel, uint64_t real)
{
	return mirror_at(all.mirrors, process_ask_of(all.ask, channel), real);
}

bool process_has(uint32_t process, const void *object)
{
	const struct mirror *mirror = all.ask ? mirror_of(object) : NULL;

	return !mirror || mirror_has(all.mirrors, process, mirror);
}

static bool owns_object(const struct channel *channel, const struct mirror *mirror)
{
	return mirror_has(all.mirrors, process_ask_of(all.ask, channel), mirror);
}

/* Lock the channel of the process that serves an object. */
static struct channel *lock_own_channel(const struct mirror *mirror)
{
	struct channel *c = current.channel;

	if (!c || !mirror_has(all.mirrors, current.process, mirror))
		c = process_ask_channel(all.ask, mirror->process, 0);
	process_ask_lock(all.ask, c);
	return c;
}

static int send_command(struct channel *c, enum process_command command)
{
	return process_ask(all.ask, c, command);
}

static void unlock_own_channel(struct channel *c)
{
	process_ask_unlock(all.ask, c);
}

static const struct process_data_callbacks doors = { lock_own_channel, send_command,
						     unlock_own_channel, is_mapped, owns_object };

static void note_lost(uint32_t process, const char *how)
{
	char there[64];

	snprintf(there, sizeof(there), "process %u continues", process);
	outcome_add_divergence(all.outcome,
			       &(struct divergence){ .event = current.event,
						     .verb = current.verb,
						     .field = "process",
						     .recorded = there,
						     .replayed = how,
						     .object = current.object,
						     .class = DIVERGENCE_FAILED_REPLAYED,
						     .breaks = true });
}

static void note_forked(uint32_t child, uint32_t parent)
{
	if (mirrors_fork(all.mirrors, parent, child))
		log_err(-ENOMEM, "note what a process has inherited");
}

static const struct process_callbacks handlers = { note_lost, note_forked };

static const char *current_end(uint32_t process)
{
	return process_ask_why_not(all.ask, process);
}

const char *process_enter(const struct trace_event *event)
{
	const char *why;

	if (!all.ask)
		return NULL;
	current.event = event->id;
	current.verb = trace_verb(event);
	current.object = event->kind == TRACE_POST   ? event->post->object
			 : event->kind == TRACE_POLL ? event->poll->object
			 : event->kind == TRACE_CALL || event->kind == TRACE_RETURN
				 ? event->call->object
				 : 0;
	why = current_end(event->process);
	if (why)
		return why;
	current.process = event->process;
	current.channel = process_ask_channel(all.ask, event->process, event->id.thread);
	return NULL;
}

void process_leave(void)
{
	current.process = 0;
	current.channel = NULL;
}

void *process_arguments(size_t *ret_size)
{
	*ret_size = current.channel ? current.channel->size / 2 : 0;
	return current.channel ? current.channel->room : NULL;
}

void process_fork(uint32_t child)
{
	if (all.ask)
		process_ask_fork(all.ask, child, current.event.thread);
}

/* Control verbs */

static int64_t fail_call(enum verb verb)
{
	errno = EIO;
	switch (verb_infos[verb].fail) {
	case FAIL_NONZERO:
		return EIO;
	case FAIL_NEGATIVE:
		return -EIO;
	default:
		return 0;
	}
}

/*
 * Replace the address of a copy at @at by the handle in its process; with @process not 0, replace
 * the handle by the address of the copy again.
 */
static void unmask_object(char *at, uint32_t process)
{
	uint64_t value;
	void *copy;

	memcpy(&value, at, sizeof(value));
	copy = process ? mirror_at(all.mirrors, process, value) : NULL;
	if (!process)
		value = mirror_real(value);
	else if (copy)
		value = (uintptr_t)copy;
	memcpy(at, &value, sizeof(value));
}

static size_t count_elements(const struct struct_info *info, const struct field_info *field,
			     const char *base)
{
	const struct field_info *count;
	uint64_t n = 0;

	if (field->count < 0)
		return 1;
	count = &info->fields[field->count];
	memcpy(&n, base + count->offset, count->size < 8 ? count->size : 8);
	return field->shift ? (size_t)1 << (n & 15) : n;
}

static void unmask_struct(const struct struct_info *info, char *base, uint32_t process)
{
	for (unsigned int i = 0; i < info->nfields; i++) {
		const struct field_info *field = &info->fields[i];
		char *at = base + field->offset, *to;
		size_t n;

		if (field->kind == FIELD_OBJ)
			unmask_object(at, process);
		if (field->kind == FIELD_STRUCT)
			unmask_struct(field->type, at, process);
		if (field->kind != FIELD_PTR || field->dir == DIR_OUT)
			continue;
		memcpy(&to, at, sizeof(to));
		n = to ? count_elements(info, field, base) : 0;
		for (size_t k = 0; k < n; k++)
			unmask_struct(field->type, to + k * field->type->size, process);
	}
}

/* Unmask the queues of an indirection table, which hand-written code has translated. */
static void unmask_table(enum verb verb, const uint64_t *args, uint32_t process)
{
	struct ibv_rwq_ind_table_init_attr *attr = (void *)(uintptr_t)args[1];

	if (verb != VERB_create_rwq_ind_table || !attr || !attr->ind_tbl)
		return;
	for (uint32_t i = 0; i < 1u << (attr->log_ind_tbl_size & 15); i++)
		unmask_object((char *)&attr->ind_tbl[i], process);
}

static bool takes_device(const struct verb_info *v)
{
	return v->args.nfields && v->args.fields[0].kind == FIELD_OBJ &&
	       v->args.fields[0].object == OBJECT_device;
}

/* Update the copies of objects that a call created or changed. Returns the created one. */
static void *update_mirrors(uint32_t process, struct channel *c, struct ibv_device *device)
{
	void *made = NULL;

	for (unsigned int i = 0; i < PROCESS_COPIES; i++) {
		const struct process_copy *copy = &c->copies[i];

		if (copy->real && !i)
			made = mirror_put(all.mirrors, process, copy, true, device);
		else if (copy->real)
			mirror_put(all.mirrors, process, copy, false, NULL);
	}
	return made;
}

/* Data of a pointer argument is copied to shared memory, and back after the call. */
struct lent_argument {
	unsigned int argument;
	void *ours;
	size_t size;
};

static bool is_shared(const struct channel *c, const void *at)
{
	const char *byte = at;
	const struct channel *mine = current.channel ? current.channel : c;

	return (byte >= c->room && byte < c->room + c->size) ||
	       (byte >= mine->room && byte < mine->room + mine->size);
}

static unsigned int lend_arguments(struct channel *c, const struct struct_info *info,
				   struct lent_argument *lent)
{
	struct process_room room = process_room_of(c);
	unsigned int n = 0;

	for (unsigned int i = 0; i < info->nfields; i++) {
		const struct field_info *field = &info->fields[i];
		void *at = (void *)(uintptr_t)c->args[i], *shared;
		size_t size;

		if (field->kind != FIELD_PTR || !at || is_shared(c, at))
			continue;
		size = field->type->size * count_elements(info, field, (const char *)c->args);
		shared = process_room_take(&room, size);
		if (!shared)
			continue;
		memcpy(shared, at, size);
		lent[n++] = (struct lent_argument){ i, at, size };
		c->args[i] = (uintptr_t)shared;
	}
	return n;
}

static void return_arguments(const struct channel *c, const struct lent_argument *lent,
			     unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		memcpy(lent[i].ours, (void *)(uintptr_t)c->args[lent[i].argument], lent[i].size);
}

/* Restore handles in arguments, which may be used for another call. */
static void mask_arguments(enum verb verb, const uint64_t *args, uint32_t process)
{
	uint64_t copy[sizeof(((struct channel *)0)->args) / sizeof(*args)] = { 0 };

	memcpy(copy, args, verb_infos[verb].args.nfields * sizeof(*args));
	unmask_struct(&verb_infos[verb].args, (char *)copy, process);
	unmask_table(verb, copy, process);
}

static void fill_arguments(struct channel *c, enum verb verb, const uint64_t *args,
			   struct ibv_device *device)
{
	if (device)
		snprintf(c->device, sizeof(c->device), "%s", ibv_get_device_name(device));
	c->verb = verb;
	memset(c->args, 0, sizeof(c->args));
	memcpy(c->args, args, verb_infos[verb].args.nfields * sizeof(*args));
}

/* The copy for an object that a call returns without creating it (ibv_qp_to_qp_ex()). */
static int64_t find_returned(uint32_t process, int64_t ret)
{
	return (int64_t)(uintptr_t)mirror_at(all.mirrors, process, (uint64_t)ret);
}

/* number of calls that other processes of the replay have refused */
static _Thread_local unsigned int refused;

unsigned int process_refused(void)
{
	return refused + dispatch_refused();
}

static int64_t call_in_process(struct channel *c, uint32_t process, enum verb verb,
			       const uint64_t *args)
{
	const struct verb_info *v = &verb_infos[verb];
	struct ibv_device *device = takes_device(v) ? (void *)(uintptr_t)args[0] : NULL;
	struct mirror *mirror = mirror_of((void *)(uintptr_t)args[0]);
	struct lent_argument lent[16];
	unsigned int nlent;

	fill_arguments(c, verb, args, device);
	nlent = lend_arguments(c, &v->args, lent);
	unmask_struct(&v->args, (char *)c->args, 0);
	unmask_table(verb, c->args, 0);
	if (send_command(c, PROCESS_CALL))
		return fail_call(verb);
	refused += c->refused;
	return_arguments(c, lent, nlent);
	mask_arguments(verb, args, process);
	if (v->effect == EFFECT_CREATE && !verb_failed(verb, c->ret))
		return (int64_t)(uintptr_t)update_mirrors(process, c, device);
	update_mirrors(process, c, NULL);
	if (v->effect == EFFECT_DESTROY && mirror && !verb_failed(verb, c->ret))
		mirror_drop(all.mirrors, process, mirror);
	errno = c->error;
	return v->fail == FAIL_NULL ? find_returned(process, c->ret) : c->ret;
}

/* The route of dispatch_call(): false if the call is for objects of this process. */
static bool route_call(enum verb verb, const uint64_t *args, int64_t *ret)
{
	const struct verb_info *v = &verb_infos[verb];
	bool handle = v->args.nfields && v->args.fields[0].kind == FIELD_OBJ;
	const struct mirror *mirror = handle ? mirror_of((void *)(uintptr_t)args[0]) : NULL;
	struct channel *c = current.channel;

	if (!mirror && (!c || (handle && !takes_device(v))))
		return false;
	if (takes_device(v) && v->effect != EFFECT_CREATE)
		return false; /* results about a device are in memory of the calling process */
	if (mirror)
		c = lock_own_channel(mirror);
	else
		process_ask_lock(all.ask, c);
	*ret = call_in_process(c, c == current.channel ? current.process : mirror->process, verb,
			       args);
	unlock_own_channel(c);
	return true;
}

/* Builders */

const struct ibv_qp_ex *process_qp_ex(struct ibv_qp *qp)
{
	const struct mirror *mirror = mirror_of(qp);

	if (!mirror)
		return ibv_qp_to_qp_ex(qp);
	return mirror->builds ? (const void *)mirror->copy : NULL;
}

int process_build(struct ibv_qp *qp, struct ibv_send_wr *list, uint32_t n,
		  struct ibv_data_buf *bufs, bool complete)
{
	struct mirror *mirror = mirror_of(qp);

	if (mirror)
		return process_data_build(mirror, list, n, complete);
	return builder_run(ibv_qp_to_qp_ex(qp), list, n, bufs, complete);
}

/* Memory */

int processes_map(const void *at, size_t size, int protection)
{
	struct span *more;
	struct channel *c;
	int err = 0;

	if (!all.ask || !at || !size)
		return 0;
	more = reallocarray(all.spans, all.nspans + 1, sizeof(*more));
	if (!more)
		return log_err(-ENOMEM, "map memory of processes");
	all.spans = more;
	all.spans[all.nspans++] = (struct span){ (uintptr_t)at, (uintptr_t)at + size };
	c = process_ask_channel(all.ask, 0, 0);
	c->args[0] = (uintptr_t)at;
	c->args[1] = size;
	c->args[2] = (uint64_t)protection;
	if (send_command(c, PROCESS_MAP))
		err = -ESRCH;
	else if (c->ret)
		err = -c->error;
	return err ? log_err(err, "map memory of processes") : 0;
}

int processes_setenv(const char *name, const char *value)
{
	struct process_room room;
	struct channel *c;

	if (setenv(name, value, 1))
		return -ENOMEM;
	if (!all.ask)
		return 0;
	c = process_ask_channel(all.ask, 0, 0);
	room = process_room_of(c);
	c->args[0] = (uintptr_t)strcpy(process_room_take(&room, strlen(name) + 1), name);
	c->args[1] = (uintptr_t)strcpy(process_room_take(&room, strlen(value) + 1), value);
	return send_command(c, PROCESS_SETENV) || c->ret ? -ENOMEM : 0;
}

/* Copy memory to or from a process, in pieces of the size of the channel's buffer. */
static void copy_memory(uint32_t process, enum process_command command, char *there, char *here,
			size_t n)
{
	struct channel *c = process_ask_channel(all.ask, process, 0);
	size_t most = c->size / 2;
	char *room = process_room_of(c).at;

	process_ask_lock(all.ask, c);
	for (size_t at = 0, part; at < n; at += part) {
		part = n - at < most ? n - at : most;
		c->args[0] = (uintptr_t)(there + at);
		c->args[1] = part;
		c->args[2] = (uintptr_t)room;
		if (command == PROCESS_WRITE)
			memcpy(room, here + at, part);
		if (send_command(c, command))
			break;
		if (command == PROCESS_READ)
			memcpy(here + at, room, part);
	}
	process_ask_unlock(all.ask, c);
}

void process_write(uint32_t process, void *to, const void *from, size_t n)
{
	if (all.ask)
		copy_memory(process, PROCESS_WRITE, to, (char *)from, n);
	else
		memcpy(to, from, n);
}

void process_read(uint32_t process, void *to, const void *from, size_t n)
{
	if (all.ask)
		copy_memory(process, PROCESS_READ, (char *)from, to, n);
	else
		memcpy(to, from, n);
}

/* Faults of the software device, whose functions are the same in all processes */

int process_fault(int (*fault)(const char *rule), const char *rule)
{
	struct channel *c = current.channel;
	struct process_room room;
	char *text = NULL;
	int ret;

	if (!c)
		return fault(rule);
	process_ask_lock(all.ask, c);
	room = process_room_of(c);
	if (rule) {
		text = process_room_take(&room, strlen(rule) + 1);
		strcpy(text, rule);
	}
	c->args[0] = (uintptr_t)text;
	ret = send_command(c, PROCESS_FAULT) ? EINVAL : (int)c->ret;
	process_ask_unlock(all.ask, c);
	return ret;
}

static void count_struck(uint32_t process)
{
	struct channel *c = process_ask_channel(all.ask, process, 0);

	process_ask_lock(all.ask, c);
	if (!send_command(c, PROCESS_STRUCK))
		all.struck += (unsigned int)c->ret;
	process_ask_unlock(all.ask, c);
}

unsigned int processes_struck(void)
{
	for (uint32_t i = 1; all.ask && trace_process(all.trace, i); i++)
		if (process_ask_runs(all.ask, i))
			count_struck(i);
	return all.struck;
}

/* Ends */

static enum process_ending ending_of(const char *how)
{
	if (how && !strcmp(how, "exit"))
		return PROCESS_EXIT;
	return how && !strcmp(how, "killed") ? PROCESS_KILLED : PROCESS_EXIT_NOW;
}

/* Give the objects of @process to a child that still runs and has inherited them. */
static uint32_t hand_down_objects(uint32_t process)
{
	for (uint32_t i = process + 1; trace_process(all.trace, i); i++)
		if (process_ask_runs(all.ask, i) && process_ask_descends(all.ask, i, process)) {
			mirrors_hand_down(all.mirrors, process, i);
			return i;
		}
	return 0;
}

uint32_t process_end(uint32_t process, const char *how)
{
	if (process_ask_runs(all.ask, process)) {
		count_struck(process);
		process_ask_end(all.ask, process, ending_of(how));
	}
	return hand_down_objects(process);
}

int processes_start(struct trace *trace, struct outcome *outcome)
{
	int err;

	all.trace = trace;
	all.outcome = outcome;
	err = process_ask_new(trace, &handlers, &all.ask);
	if (err)
		return err;
	if (mirrors_new(process_data_hook, &all.mirrors)) {
		processes_stop();
		return log_err(-ENOMEM, "prepare processes");
	}
	process_data_open(&doors);
	dispatch_set_route(route_call);
	return 0;
}

void processes_stop(void)
{
	dispatch_set_route(NULL);
	process_ask_free(all.ask);
	mirrors_free(all.mirrors);
	free(all.spans);
	memset(&all, 0, sizeof(all));
}
