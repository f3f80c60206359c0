/*
 * Differences between the recording and the replay
 *
 * Tolerated differences are a table; docs/REPLAY.md has the same rows.
 *
 * Not here: completions (differ_wc.c).
 */
#include "replay/report/differ.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/store/db/args_visit.h"
#include "replay/report/outcome.h"

static const char numbers[] = "numbers assigned by a device (keys, queue pairs, handles, files)";
static const char limits[] = "attributes of the device";
static const char port[] = "attributes of the port, its LID and GIDs";
static const char vectors[] = "the number of completion vectors, which depends on the processors";
static const char rounding[] = "a size that devices round differently";
static const char one_process[] = "fork support, which is common to all replayed processes";
static const char transport[] = "the state of the transport: sequence numbers, path, timers";
static const char provider[] = "provider-specific options";
static const char unsupported[] = "a verb that the recorded device did not support";
static const char buffers[] = "support for DMA buffers";
static const char connection[] = "connection parameters that depend on the type of the link";
static const char clocks[] = "clocks and counters";
static const char ignored[] = "the receive capacity of a queue pair with an SRQ, which is ignored";

/*
 * The first row that matches counts. Path "ret" is a result of a verb that succeeded on both sides,
 * "failed" one that failed on one side only, "unsupported" one that failed in the recording with
 * EOPNOTSUPP, "empty" one that failed with ENODATA on one side only. Differences caused by the
 * machine, not by the device's model, are tolerated on every machine: the addresses of the recorded
 * machine may have changed, too.
 */
/* clang-format off */
const struct tolerance tolerances[] = {
	{ "rereg_mr", "mr.?key", numbers, false },
	{ "rereg_mr", "mr.handle", numbers, false },
	{ "bind_mw", "mw.rkey", numbers, false },
	{ "bind_mw", "mw.handle", numbers, false },
	{ "*", "ret.handle", numbers, false },
	{ "*", "ret.lkey", numbers, false },
	{ "*", "ret.rkey", numbers, false },
	{ "*", "ret.qp_num", numbers, false },
	{ "*", "ret.wq_num", numbers, false },
	{ "*", "ret.fd", numbers, false },
	{ "*", "ret.cmd_fd", numbers, false },
	{ "*", "ret.async_fd", numbers, false },
	{ "*", "ret.ind_tbl_*", numbers, false },
	{ "get_srq_num", "srq_num", numbers, false },
	{ "get_device_index", "ret", numbers, false },
	{ "get_device_guid", "ret", limits, false }, /* also if the device is of the same model */
	{ "query_device*", "*_guid", limits, false },
	{ "open_device", "ret.num_comp_vectors", vectors, false },
	{ "query_device*", "*attr.*", limits, true },
	{ "query_port*", "port_attr.state", NULL, false },
	{ "query_port*", "port_attr.lid", port, false },
	{ "query_port*", "port_attr.lmc", port, false },
	{ "query_port*", "port_attr.sm_*", port, false },
	{ "query_port*", "port_attr.*_cntr", port, false },
	{ "query_port*", "port_attr.active_*", port, false },
	{ "query_port*", "port_attr.subnet_timeout", port, false },
	{ "query_port*", "port_attr.init_type_reply", port, false },
	{ "query_port*", "port_attr.*", port, true },
	{ "query_port_speed", "port_speed", port, false },
	{ "query_gid*", "empty", port, false },
	{ "query_gid*", "errno", port, true },
	{ "query_pkey", "errno", port, true },
	{ "query_gid", "gid.raw", port, false },
	{ "query_gid_ex", "entry.gid.raw", port, false },
	{ "query_gid_ex", "entry.ndev_ifindex", port, false },
	{ "query_gid_ex", "entry.gid_type", port, false },
	{ "query_gid_table", "ret", port, false },
	{ "query_gid_table", "entries*", port, false },
	{ "get_pkey_index", "ret", port, false },
	{ "query_pkey", "pkey", port, false },
	{ "init_ah_from_wc", "ah_attr.grh.*", port, false },
	{ "init_ah_from_wc", "ah_attr.dlid", port, false },
	{ "init_ah_from_wc", "ah_attr.*", port, true },
	{ "resolve_eth_l2_from_gid", "eth_mac", port, false },
	{ "resolve_eth_l2_from_gid", "vid", port, false },
	{ "create_*", "ret.cqe", rounding, true },
	{ "create_qp*", "*.cap.*", rounding, true },
	{ "create_wq", "wq_init_attr.max_*", rounding, true },
	{ "create_srq*", "*.attr.max_*", rounding, true },
	{ "query_srq", "srq_attr.max_*", rounding, true },
	{ "query_qp", "*.cap.*", rounding, true },
	{ "query_qp", "*.qp_state", NULL, false },
	{ "query_qp", "attr.?q_psn", transport, false },
	{ "query_qp", "attr.dest_qp_num", transport, false },
	{ "query_qp", "attr.*ah_attr.dlid", transport, false },
	{ "query_qp", "attr.*ah_attr.grh.dgid.raw", transport, false },
	{ "query_qp", "attr.*ah_attr.grh.sgid_index", transport, false },
	{ "query_qp", "attr.*ah_attr.grh.flow_label", transport, false }, /* of both numbers */
	{ "query_qp", "attr.sq_draining", transport, false },
	{ "query_qp", "attr.en_sqd_async_notify", transport, false }, /* no kernel sets the field */
	{ "query_qp", "attr.qkey", NULL, false },
	{ "query_qp", "attr.*", transport, true },
	{ "query_qp", "init_attr.sq_sig_all", transport, true }, /* siw always returns 1 */
	{ "rdma_get_cm_event", "event.conn.private_data", NULL, false },
	{ "rdma_get_cm_event", "event.conn.*", connection, true },
	{ "rdma_get_cm_event", "event.ud.qp_num", connection, true },
	{ "fork_init", "*", one_process, false },
	{ "is_fork_initialized", "*", one_process, false },
	{ "do*fork_range", "*", one_process, false },
	{ "query_ece", "ece.*", provider, false },
	{ "*_ece", "failed", provider, true },
	{ "reg_dmabuf_mr", "errno", buffers, true },
	{ "*", "unsupported", unsupported, true },
	{ "query_qp_data_in_order", "ret", provider, true },
	{ "query_rt_values_ex", "values.raw_clock*", clocks, false },
	{ "read_counters", "counters_value*", clocks, false },
	{ 0 },
};
/* clang-format on */

/* Like fnmatch(3), which takes long to find that the first letters differ. */
static bool matches_pattern(const char *pattern, const char *text)
{
	while (*pattern && *pattern == *text && *pattern != '*' && *pattern != '?')
		pattern++, text++;
	if (*pattern != '*' && *pattern != '?')
		return *pattern == *text;
	return !strcmp(pattern, "*") || !fnmatch(pattern, text, 0);
}

/*
 * Why a difference of @verb at @path is tolerated; NULL if it is a divergence.
 * @other: the device is not the recorded one.
 */
static const char *find_tolerance(enum verb verb, const char *path, bool other)
{
	const char *name = verb_infos[verb].name;

	name += strncmp(name, "ibv_", 4) ? 0 : 4;
	for (const struct tolerance *t = tolerances; t->verb; t++)
		if (matches_pattern(t->verb, name) && matches_pattern(t->path, path))
			return t->other && !other ? NULL : t->reason;
	return NULL;
}

const char *errno_text(int64_t err, char text[64])
{
	const char *name = err > 0 && err < 4096 ? strerrorname_np((int)err) : NULL;

	if (err && name)
		snprintf(text, 64, "%s (%" PRId64 ")", name, err);
	else
		snprintf(text, 64, "%" PRId64, err);
	return text;
}

const char *value_text(const struct enum_info *names, int64_t value, char text[96])
{
	const char *name = names ? enum_name(names, value) : NULL;

	if (name)
		snprintf(text, 96, "%s (%" PRId64 ")", name, value);
	else
		snprintf(text, 96, "%" PRId64, value);
	return text;
}

/* Does a row of the tolerances match @path ("failed", for example)? Notes that. */
static bool note_tolerated(struct outcome *outcome, enum verb verb, const char *path)
{
	const char *reason = find_tolerance(verb, path, outcome_is_other_device(outcome));

	if (reason)
		outcome_note_tolerated(outcome, reason);
	return reason;
}

static void report_divergence(struct outcome *outcome, const char *path, const struct divergence *d)
{
	if (!note_tolerated(outcome, d->verb, path))
		outcome_add_divergence(outcome, d);
}

void differ_check_texts(struct outcome *outcome, struct event_id event, enum verb verb,
			uint32_t object, const char *path, const char *recorded,
			const char *replayed)
{
	report_divergence(outcome, path,
			  &(struct divergence){ .event = event,
						.verb = verb,
						.field = path,
						.recorded = recorded,
						.replayed = replayed,
						.object = object });
}

void differ_report_no_event(struct outcome *outcome, struct event_id event, enum verb verb,
			    uint32_t object, const char *path, const char *recorded)
{
	report_divergence(outcome, path,
			  &(struct divergence){ .event = event,
						.verb = verb,
						.field = path,
						.recorded = recorded,
						.replayed = "no event",
						.object = object,
						.class = DIVERGENCE_FAILED_REPLAYED,
						.symptom = true });
}

static enum divergence_class class_of(bool recorded_failed, bool replayed_failed)
{
	if (recorded_failed == replayed_failed)
		return DIVERGENCE_OTHER;
	return recorded_failed ? DIVERGENCE_FAILED_RECORDED : DIVERGENCE_FAILED_REPLAYED;
}

/* Does a failure of the verb leave its object in a state other than recorded? */
static bool has_effect(enum verb verb)
{
	switch (verb_infos[verb].effect) {
	case EFFECT_CREATE:
	case EFFECT_DESTROY:
	case EFFECT_USE:
		return true;
	default:
		return false;
	}
}

/* A value in the form of `verbatim dump`. */
static const char *field_text(const char *path, const struct enum_info *names, int64_t value,
			      char text[96])
{
	if (names || !hex_is_usual_for(path))
		return value_text(names, value, text);
	snprintf(text, 96, "0x%" PRIx64, (uint64_t)value);
	return text;
}

static void compare_values(struct outcome *outcome, struct event_id event, enum verb verb,
			   uint32_t object, const struct field_info *field, const char *path,
			   int64_t recorded, int64_t replayed)
{
	const struct enum_info *names = field && field->kind == FIELD_ENUM ? field->names : NULL;
	char there[96], here[96];

	if (note_tolerated(outcome, verb, path))
		return;
	outcome_add_divergence(outcome,
			       &(struct divergence){
				       .event = event,
				       .verb = verb,
				       .field = path,
				       .recorded = field_text(path, names, recorded, there),
				       .replayed = field_text(path, names, replayed, here),
				       .object = object,
			       });
}

void differ_check_numbers(struct outcome *outcome, struct event_id event, enum verb verb,
			  uint32_t object, const char *path, int64_t recorded, int64_t replayed)
{
	compare_values(outcome, event, verb, object, NULL, path, recorded, replayed);
}

void differ_check_ret(struct outcome *outcome, struct event_id event, enum verb verb,
		      uint32_t object, int recorded, int replayed)
{
	char there[64], here[64];

	if (recorded == replayed)
		return;
	report_divergence(outcome, recorded && replayed ? "ret" : "failed",
			  &(struct divergence){ .event = event,
						.verb = verb,
						.field = "ret",
						.recorded = errno_text(recorded, there),
						.replayed = errno_text(replayed, here),
						.object = object,
						.class = class_of(recorded, replayed),
						.breaks = true });
}

/* The results of a call as text. */
struct results {
	const char *field, *there, *here;
};

static bool was_unsupported(const struct call *call)
{
	return call->failed && (call->ret == EOPNOTSUPP || call->ret == -EOPNOTSUPP ||
				(call->ret <= 0 && call->error == EOPNOTSUPP));
}

static const char *path_of(const struct call *call, const char *field, bool failed)
{
	if (was_unsupported(call))
		return "unsupported";
	return call->failed == failed ? field : "failed";
}

static void compare_results(struct outcome *outcome, struct event_id event, const struct call *call,
			    const struct results *results, bool failed, bool empty)
{
	report_divergence(
		outcome, empty ? "empty" : path_of(call, results->field, failed),
		&(struct divergence){ .event = event,
				      .verb = call->verb,
				      .field = results->field,
				      .recorded = results->there,
				      .replayed = results->here,
				      .object = call->object,
				      .class = class_of(call->failed, failed),
				      .breaks = call->failed != failed && has_effect(call->verb) });
}

static void compare_errnos(struct outcome *outcome, struct event_id event, const struct call *call,
			   const char *field, int64_t recorded, int64_t replayed, bool failed)
{
	char there[64], here[64];

	if (recorded == replayed)
		return;
	compare_results(
		outcome, event, call,
		&(struct results){ field, errno_text(recorded, there), errno_text(replayed, here) },
		failed, recorded == ENODATA || replayed == ENODATA);
}

static void compare_pointer(struct outcome *outcome, struct event_id event, const struct call *call,
			    int64_t ret, int err)
{
	char text[64];

	if (!call->ret && !ret)
		compare_errnos(outcome, event, call, "errno", call->error, err, true);
	else if (!call->ret)
		compare_results(
			outcome, event, call,
			&(struct results){ "ret", errno_text(call->error, text), "success" }, false,
			false);
	else if (!ret)
		compare_results(outcome, event, call,
				&(struct results){ "ret", "success", errno_text(err, text) }, true,
				false);
}

void differ_check_result(struct outcome *outcome, struct event_id event, const struct call *call,
			 int64_t ret, int err)
{
	bool failed = verb_failed(call->verb, ret), both = !call->failed && !failed;

	switch (verb_infos[call->verb].fail) {
	case FAIL_NEVER:
		if (call->ret != ret && verb_infos[call->verb].ret.kind != FIELD_OBJ)
			differ_check_numbers(outcome, event, call->verb, call->object, "ret",
					     call->ret, ret);
		return;
	case FAIL_NULL:
		compare_pointer(outcome, event, call, ret, err);
		return;
	default:
		if (call->ret == -1 && ret == -1)
			compare_errnos(outcome, event, call, "errno", call->error, err, failed);
		else if (both)
			compare_errnos(outcome, event, call, "ret", call->ret, ret, failed);
		else
			compare_errnos(outcome, event, call, "ret",
				       call->ret == -1 ? call->error : call->ret,
				       ret == -1 ? err : ret, failed);
	}
}

/* The recorded and replayed outputs of a verb. */
struct outputs {
	struct outcome *outcome;
	struct event_id event;
	enum verb verb;
	uint32_t object;
	bool has_srq; /* of the queue pair that was created */
};

/* ibv_create_qp(3): the output is 0 or the requested value. */
static bool is_ignored(const struct outputs *o, const char *path)
{
	return o->has_srq && !fnmatch("*.cap.max_recv_*", path, 0);
}

static void compare_output_numbers(const struct outputs *o, const struct field_info *field,
				   const char *path, int64_t there, int64_t here)
{
	if (there != here && is_ignored(o, path))
		outcome_note_tolerated(o->outcome, ignored);
	else if (there != here)
		compare_values(o->outcome, o->event, o->verb, o->object, field, path, there, here);
}

static int compare_output(void *arg, const struct field_info *field, const char *path,
			  const struct json_node *there, const struct json_node *here)
{
	const struct outputs *o = arg;
	int64_t a, b;

	switch (field->kind) {
	case FIELD_OBJ:
	case FIELD_OBJS:
	case FIELD_ADDR:
		return 0; /* addresses are not compared: objects were found by them */
	case FIELD_STR:
	case FIELD_TEXT:
	case FIELD_BYTES:
		if (here && there->kind == JSON_TEXT && here->kind == JSON_TEXT &&
		    strcmp(there->text, here->text))
			differ_check_texts(o->outcome, o->event, o->verb, o->object, path,
					   there->text, here->text);
		return 0;
	default:
		if (args_value(there, &a) && args_value(here, &b))
			compare_output_numbers(o, field, path, a, b);
		return 0;
	}
}

static void compare_argument(struct outputs *o, const struct field_info *field,
			     const struct args *recorded, const struct args *replayed)
{
	const struct json_node *there = args_field(recorded, field);
	const struct json_node *here = args_field(replayed, field);

	if (there && field->dir & DIR_OUT)
		args_visit_field(field, there, here, field->name, compare_output, o);
	else if (there && field->after)
		args_visit_values(&object_infos[field->object], there, here, field->name,
				  compare_output, o);
}

int differ_check_outputs(struct outcome *outcome, struct event_id event, enum verb verb,
			 uint32_t object, const struct args *recorded, const char *replayed)
{
	const struct verb_info *v = &verb_infos[verb];
	struct args *here = args_new(replayed, strlen(replayed));
	struct outputs outputs = { outcome, event, verb, object,
				   args_number(recorded, ARG(ret.srq)) != 0 };
	int err = here ? args_parse(recorded) ?: args_parse(here) : -ENOMEM;

	for (unsigned int i = 0; i < v->args.nfields && !err; i++)
		compare_argument(&outputs, &v->args.fields[i], recorded, here);
	if (!err && v->effect == EFFECT_CREATE)
		args_visit_values(&object_infos[v->object], args_find(recorded, ARG(ret)),
				  args_find(here, ARG(ret)), "ret", compare_output, &outputs);
	args_unref(here);
	return err;
}
