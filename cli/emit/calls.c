/*
 * Control verbs as statements
 *
 * Each verb has a row: most are printed from the list of verbs, the others have a function in this
 * file. A verb without a row is refused.
 */
#include "cli/emit/calls.h"

#include <errno.h>
#include <stdio.h>
#include <inttypes.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "cli/emit/arguments.h"
#include "cli/emit/call_order.h"
#include "cli/emit/names.h"
#include "cli/emit/result.h"
#include "core/wire/event_object.h"

static const struct verb_info *info_of(const struct call *call)
{
	return &verb_infos[call->verb];
}

/* "ibv_alloc_pd(p1_context1)" */
static int add_call(struct maker *maker, const struct call *call)
{
	const struct struct_info *args = &info_of(call)->args;
	struct phrase *phrase = &maker->program->phrase;
	int err = 0;

	phrase_addf(phrase, "%s(", args->name);
	for (unsigned int i = 0; !err && i < args->nfields; i++) {
		if (i)
			phrase_addf(phrase, ", ");
		err = arguments_add(maker, call, &args->fields[i]);
	}
	phrase_addf(phrase, ")");
	return err;
}

/* Add the code before and after the call: a check that its result is the recorded one. */
static void begin_check(struct maker *maker, const struct call *call)
{
	const struct verb_info *info = info_of(call);
	struct phrase *phrase = &maker->program->phrase;
	char name[NAME_TEXT];

	if (info->effect == EFFECT_CREATE && !call->failed)
		phrase_addf(phrase, "made(" SLOT "n, %s = ",
			    names_variable(maker->program, call->object, name));
	else if (info->effect == EFFECT_CREATE)
		phrase_addf(phrase, "refused(" SLOT "n, \"%s\", ", info->name);
}

static void end_check(struct maker *maker, const struct call *call)
{
	const struct verb_info *info = info_of(call);
	struct program *program = maker->program;
	struct phrase *phrase = &program->phrase;

	if (info->effect == EFFECT_CREATE && !call->failed) {
		program->helpers |= HELPER_MADE;
		program->objects[call->object].used = true;
		program->objects[call->object].made = true;
		phrase_addf(phrase, ");" OBJECT_KEPT_SLOT, call->object);
	} else if (info->effect == EFFECT_CREATE) {
		program->helpers |= HELPER_REFUSED;
		phrase_addf(phrase, ", ");
		names_add_errno(&phrase->text, call->error);
		phrase_addf(phrase, ");");
	} else if (info->returns) {
		result_check(program, call->ret);
	} else {
		phrase_addf(phrase, ";");
	}
}

static int add_checked_call(struct maker *maker, const struct call *call)
{
	int err;

	begin_check(maker, call);
	err = add_call(maker, call);
	end_check(maker, call);
	return err;
}

static int add_open_device(struct maker *maker, const struct call *call)
{
	begin_check(maker, call);
	phrase_addf(&maker->program->phrase, "ibv_open_device(device)");
	end_check(maker, call);
	return 0;
}

/* Add the argument @name. */
static int add_named(struct maker *maker, const struct call *call, const char *name)
{
	const struct struct_info *args = &info_of(call)->args;

	for (unsigned int i = 0; i < args->nfields; i++)
		if (!strcmp(args->fields[i].name, name))
			return arguments_add(maker, call, &args->fields[i]);
	return 0;
}

static int add_reg_mr(struct maker *maker, const struct call *call)
{
	struct program *program = maker->program;
	uint64_t addr = args_number(call->args, ARG(addr));
	uint64_t length = args_number(call->args, ARG(length));
	uint64_t iova;
	int64_t given;
	int err;

	if (addr + length < addr)
		return program_refuse(program,
				      "%s of all memory (implicit on-demand paging) is not "
				      "supported in a program",
				      info_of(call)->name);
	begin_check(maker, call);
	phrase_addf(&program->phrase, "%s(",
		    args_get(call->args, ARG(iova), &given) ? "ibv_reg_mr_iova" : "ibv_reg_mr");
	err = add_named(maker, call, "pd");
	phrase_addf(&program->phrase, ", ");
	if (call->failed && !memory_has(&maker->memory, program->process, addr))
		phrase_addf(&program->phrase, "(void *)");
	memory_add_address(&maker->memory, program, NULL, program->process, addr, true);
	phrase_addf(&program->phrase, ", %" PRIu64 ", ", length);
	iova = args_get(call->args, ARG(iova), &given) ? (uint64_t)given : addr;
	if (args_get(call->args, ARG(iova), &given)) {
		if (iova == addr)
			memory_add_address(&maker->memory, program, NULL, program->process, iova,
					   false);
		else
			phrase_addf(&program->phrase, "0x%" PRIx64, iova);
		phrase_addf(&program->phrase, ", ");
	}
	if (!err)
		err = add_named(maker, call, "access");
	phrase_addf(&program->phrase, ")");
	end_check(maker, call);
	return err;
}

static int add_rereg_mr(struct maker *maker, const struct call *call)
{
	struct program *program = maker->program;
	uint64_t flags = args_number(call->args, ARG(flags));
	int err;

	begin_check(maker, call);
	phrase_addf(&program->phrase, "ibv_rereg_mr(");
	err = add_named(maker, call, "mr");
	phrase_addf(&program->phrase, ", ");
	if (!err)
		err = add_named(maker, call, "flags");
	phrase_addf(&program->phrase, ", ");
	if (!err && flags & IBV_REREG_MR_CHANGE_PD)
		err = add_named(maker, call, "pd");
	else
		phrase_addf(&program->phrase, "NULL");
	phrase_addf(&program->phrase, ",\n\t");
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		memory_add_address(&maker->memory, program, NULL, program->process,
				   args_number(call->args, ARG(addr)), true);
	else
		phrase_addf(&program->phrase, "NULL");
	phrase_addf(&program->phrase, ", %" PRIu64 ", ", args_number(call->args, ARG(length)));
	if (!err)
		err = add_named(maker, call, "access");
	phrase_addf(&program->phrase, ")");
	end_check(maker, call);
	if (!call->failed)
		phrase_addf(&program->phrase, OBJECT_KEPT_SLOT, call->object);
	return err;
}

static int add_bind_mw(struct maker *maker, const struct call *call)
{
	int err = add_checked_call(maker, call);

	if (!call->failed)
		phrase_addf(&maker->program->phrase, OBJECT_KEPT_SLOT, call->object);
	return err;
}

/* If the CQ has a channel, its cq_context points to the count of its events. */
static int add_create_cq(struct maker *maker, const struct call *call)
{
	struct stored_object *kept = &maker->program->objects[call->object];

	kept->ex = call->verb == VERB_create_cq_ex;
	kept->events = !call->failed && (args_number(call->args, ARG(channel)) ||
					 args_number(call->args, ARG(init_attr.channel)));
	if (kept->events)
		maker->program->helpers |= HELPER_EVENTS;
	return add_checked_call(maker, call);
}

static int add_create_ah_from_wc(struct maker *maker, const struct call *call)
{
	int err;

	begin_check(maker, call);
	phrase_addf(&maker->program->phrase, "ibv_create_ah(");
	err = add_named(maker, call, "pd");
	phrase_addf(&maker->program->phrase, ", (struct ibv_ah_attr[]){ path(0, 0) })");
	maker->program->helpers |= HELPER_PATH;
	end_check(maker, call);
	return err;
}

static int add_get_srq_num(struct maker *maker, const struct call *call)
{
	char name[NAME_TEXT];

	maker->program->objects[call->object].number = true;
	begin_check(maker, call);
	phrase_addf(&maker->program->phrase, "ibv_get_srq_num(%s, &%s_num)",
		    names_variable(maker->program, call->object, name), name);
	end_check(maker, call);
	return 0;
}

static int add_get_cq_event(struct maker *maker, const struct call *call)
{
	struct phrase *phrase = &maker->program->phrase;
	uint32_t cq = arguments_object(maker, OBJECT_cq, args_number(call->out, ARG(cq)));
	int err;

	if (!maker->armed[cq] || !maker->program->objects[cq].events) {
		maker->untold[cq]++;
		phrase_addf(phrase, "/* more events than calls of ibv_req_notify_cq() */");
		return 0;
	}
	maker->armed[cq] = false;
	maker->program->helpers |= HELPER_CQ_EVENT;
	phrase_addf(phrase, "cq_event(" SLOT "n, ");
	err = add_named(maker, call, "channel");
	phrase_addf(phrase, ", ");
	names_add_handle(maker->program, &phrase->text, cq);
	phrase_addf(phrase, ");");
	return err;
}

/* Acknowledge the events that the program has received. */
static int add_ack_cq_events(struct maker *maker, const struct call *call)
{
	struct phrase *phrase = &maker->program->phrase;
	uint64_t n = args_number(call->args, ARG(nevents));
	uint32_t *untold = &maker->untold[call->object];
	uint32_t fewer = *untold < n ? *untold : (uint32_t)n;

	*untold -= fewer;
	if (fewer && fewer == n) {
		phrase_addf(phrase, "/* nor is it acknowledged */");
		return 0;
	}
	if (maker->program->objects[call->object].events)
		maker->program->helpers |= HELPER_ACK;
	else
		phrase_addf(phrase, "ibv_");
	phrase_addf(phrase, "ack_cq_events(");
	names_add_handle(maker->program, &phrase->text, call->object);
	phrase_addf(phrase, ", %" PRIu64 ");", n - fewer);
	return 0;
}

static int add_get_async_event(struct maker *maker, const struct call *call)
{
	struct phrase *phrase = &maker->program->phrase;
	const struct enum_info *names = enum_find("ibv_event_type");
	int64_t type = 0;
	int err;

	args_get(call->out, ARG(event.event_type), &type);
	maker->program->helpers |= HELPER_ASYNC_EVENT;
	phrase_addf(phrase, "async_event(" SLOT "n, ");
	err = add_named(maker, call, "context");
	phrase_addf(phrase, ", ");
	names_add_enum(&phrase->text, names, type);
	phrase_addf(phrase, ", &async);");
	return err;
}

static int add_ack_async_event(struct maker *maker, const struct call *call)
{
	(void)call;
	phrase_addf(&maker->program->phrase, "ibv_ack_async_event(&async);");
	return 0;
}

typedef int add_function(struct maker *maker, const struct call *call);

/* clang-format off */
static add_function *const rows[VERB_COUNT] = {
	[VERB_open_device] = add_open_device,
	[VERB_close_device] = add_checked_call,
	[VERB_fork_init] = add_checked_call,
	[VERB_get_async_event] = add_get_async_event,
	[VERB_ack_async_event] = add_ack_async_event,
	[VERB_alloc_pd] = add_checked_call,
	[VERB_dealloc_pd] = add_checked_call,
	[VERB_reg_mr] = add_reg_mr,
	[VERB_reg_mr_iova] = add_reg_mr,
	[VERB_reg_mr_iova2] = add_reg_mr,
	[VERB_rereg_mr] = add_rereg_mr,
	[VERB_dereg_mr] = add_checked_call,
	[VERB_alloc_null_mr] = add_checked_call,
	[VERB_create_comp_channel] = add_checked_call,
	[VERB_destroy_comp_channel] = add_checked_call,
	[VERB_create_cq] = add_create_cq,
	[VERB_create_cq_ex] = add_create_cq,
	[VERB_modify_cq] = add_checked_call,
	[VERB_resize_cq] = add_checked_call,
	[VERB_destroy_cq] = add_checked_call,
	[VERB_get_cq_event] = add_get_cq_event,
	[VERB_ack_cq_events] = add_ack_cq_events,
	[VERB_create_srq] = add_checked_call,
	[VERB_create_srq_ex] = add_checked_call,
	[VERB_modify_srq] = add_checked_call,
	[VERB_get_srq_num] = add_get_srq_num,
	[VERB_destroy_srq] = add_checked_call,
	[VERB_create_qp] = add_checked_call,
	[VERB_create_qp_ex] = add_checked_call,
	[VERB_open_qp] = add_checked_call,
	[VERB_modify_qp] = add_checked_call,
	[VERB_modify_qp_rate_limit] = add_checked_call,
	[VERB_set_ece] = add_checked_call,
	[VERB_destroy_qp] = add_checked_call,
	[VERB_attach_mcast] = add_checked_call,
	[VERB_detach_mcast] = add_checked_call,
	[VERB_create_ah] = add_checked_call,
	[VERB_create_ah_from_wc] = add_create_ah_from_wc,
	[VERB_destroy_ah] = add_checked_call,
	[VERB_alloc_mw] = add_checked_call,
	[VERB_bind_mw] = add_bind_mw,
	[VERB_dealloc_mw] = add_checked_call,
	[VERB_open_xrcd] = add_checked_call,
	[VERB_close_xrcd] = add_checked_call,
	[VERB_alloc_td] = add_checked_call,
	[VERB_dealloc_td] = add_checked_call,
	[VERB_alloc_parent_domain] = add_checked_call,
	[VERB_alloc_dm] = add_checked_call,
	[VERB_free_dm] = add_checked_call,
	[VERB_reg_dm_mr] = add_checked_call,
};
/* clang-format on */

/* Does the call get or acknowledge an event of a port, or of the device itself? */
static bool is_device_event(const struct call *call)
{
	const struct args *args = call->verb == VERB_get_async_event ? call->out : call->args;
	int64_t type;

	return (call->verb == VERB_get_async_event || call->verb == VERB_ack_async_event) &&
	       args_get(args, ARG(event.event_type), &type) && event_object(type) == OBJECT_device;
}

/* Why the call can be omitted from the program without loss; NULL: it cannot. */
static const char *find_reason(const struct call *call)
{
	const struct verb_info *info = info_of(call);

	if (is_device_event(call))
		return "no program causes events of a device or its ports";
	if (info->via == VIA_CM)
		return "only the verbs inside it are included";
	if (call->end < 0)
		return "had not returned";
	if (info->effect == EFFECT_GET && call->failed)
		return "the call got no event";
	if (call->verb == VERB_get_srq_num && !call->failed)
		return NULL;
	if (info->effect == EFFECT_QUERY)
		return "nothing depends on it";
	if (call->verb == VERB_free_device_list)
		return "the program gets its own device list";
	return NULL;
}

static int check_call(struct maker *maker, const struct call *call)
{
	const struct verb_info *info = info_of(call);
	struct program *program = maker->program;
	const struct object *o = call->object ? trace_object(program->trace, call->object) : NULL;

	if (!rows[call->verb] && program->allow_partial &&
	    (info->effect == EFFECT_USE || call->failed))
		return program_leave_out(program, info->name, "not supported yet") ?: 1;
	if (!rows[call->verb])
		return program_refuse(program, "%s is not supported in a program%s", info->name,
				      info->effect == EFFECT_USE ? "; --allow-partial leaves it out"
								 : "");
	if (o && !o->created.thread && o->kind != OBJECT_device)
		return program_refuse(program, "%s: %s existed before the recording", info->name,
				      o->name);
	if (o && info->effect != EFFECT_CREATE && o->kind != OBJECT_device &&
	    !program->objects[o->id].made)
		return program_refuse(program, "%s: the verb that created %s is not in the trace",
				      info->name, o->name);
	if (args_root(call->args) &&
	    (call->object || call->failed || info->effect != EFFECT_CREATE))
		return 0;
	if (program->allow_partial)
		return program_leave_out(program, info->name, "its arguments are not in the trace")
			       ?: 1;
	return program_refuse(program,
			      "%s: its arguments are not in the trace; --allow-partial leaves it "
			      "out",
			      info->name);
}

int calls_add(struct maker *maker, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct program *program = maker->program;
	const char *reason = find_reason(call);
	int err;

	if (call->ours || call->depth || (event->kind == TRACE_RETURN) != call_is_late(call))
		return call->end < 0 && event->kind == TRACE_CALL && !call->ours && !call->depth
			       ? program_leave_out(program, info_of(call)->name, "had not returned")
			       : 0;
	if (reason)
		return program_leave_out(program, info_of(call)->name, reason);
	err = check_call(maker, call);
	if (err)
		return err < 0 ? err : 0;
	err = call_order(maker, call);
	if (!err)
		err = rows[call->verb](maker, call);
	if (!err)
		err = program_add(program, true);
	return err ? err : order_end(&maker->order);
}

/* The thread of the process that has called a verb last; 0: none has. */
static uint32_t find_last_thread(const struct program *program, uint32_t process)
{
	for (uint32_t t = program->nthreads; t; t--)
		if (trace_thread(program->trace, t)->process == process &&
		    program->scripts[t].added)
			return t;
	return 0;
}

static int reset_qp(struct maker *maker, uint32_t qp)
{
	struct program *program = maker->program;
	char name[NAME_TEXT];
	int err;

	names_variable(program, qp, name);
	err = order_begin(&maker->order, name, "ended");
	if (!err)
		err = order_change(&maker->order, qp, ROLE_STATE);
	if (err)
		return err;
	program->helpers |= HELPER_SAME;
	phrase_addf(&program->phrase,
		    "/* the process ended here */\n"
		    "same(" SLOT "n, ibv_modify_qp(%s, &(struct ibv_qp_attr){\n"
		    "\t.qp_state = IBV_QPS_RESET,\n}, IBV_QP_STATE), 0);",
		    name);
	err = program_add(program, true);
	return err ? err : order_end(&maker->order);
}

int calls_add_end(struct maker *maker, uint32_t process)
{
	struct program *program = maker->program;
	uint32_t thread = maker->ended[process] ? 0 : find_last_thread(program, process);
	uint64_t silent;
	int err = 0;

	maker->ended[process] = true;
	for (uint32_t i = 1; thread && !err && i <= program->nobjects; i++) {
		const struct object *o = trace_object(program->trace, i);

		if (o->process != process || o->kind != OBJECT_qp || o->destroyed.thread ||
		    !maker->order.peer[i] ||
		    !map_get(&maker->links.silent, maker->order.peer[i], &silent))
			continue;
		program->at =
			(struct event_id){ thread, trace_thread(program->trace, thread)->events };
		err = reset_qp(maker, i);
	}
	return err;
}
