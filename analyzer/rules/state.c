/*
 * STATE: queue pairs, their states and what they are used for
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/device.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"

/* PATIENCE in minutes: a dead peer should be detected sooner */
#define MINUTE INT64_C(60000000000)
enum { PATIENCE = 10, LEAST_RETRY_NS = 1000000 /* ns */ };

static struct finding *add_finding(struct check *check, enum rule_id rule,
				   const struct life *object, const struct moment *moment)
{
	return check_add_finding(check, rule, moment, object, object_names[object->kind]);
}

/* "to RTR at 1:20" */
static const char *describe_last_step(const struct life *qp, char *text, size_t size)
{
	char id[32];

	if (qp->qp->moved.verb == qp->created.verb)
		snprintf(text, size, "made at %s", event_id_text(qp->created.id, id));
	else
		snprintf(text, size, "since %s", event_id_text(qp->qp->moved.id, id));
	return text;
}

/*
 * STATE-001. Only refused calls are reported: a device may allow more than the table. That the
 * device itself changed the state changes nothing: ERR allows fewer transitions than any other
 * state.
 */
void state_001(struct check *check, const struct model_modify *modify)
{
	const struct life *qp = modify->object;
	const struct call *call = modify->event->call;
	struct moment moment = moment_of(modify->event);
	char name[64], why[512], step[64];
	struct finding *finding;

	if (!modify->wrong || !call->failed || call->ret != EINVAL ||
	    modify->mask & ABI_QP_CUR_STATE || qp->qp->type == ABI_QPT_XRC_RECV)
		return;
	finding = add_finding(check, RULE_STATE_001, qp, &moment);
	if (!finding)
		return;
	finding_text(&finding->where, "ibv_modify_qp(): %s",
		     modify->fault.none ? "attr->qp_state" : "attr_mask");
	transition_explain(modify->from, modify->to, &modify->fault, why, sizeof(why));
	finding_text(&finding->says,
		     "%s of type %s was in %s (%s); ibv_modify_qp() %s %s returned %" PRId64
		     " (%s): %s.",
		     object_name_text(qp, name, sizeof(name)), qp_type_name(qp->qp->type),
		     qp_state_name(modify->from), describe_last_step(qp, step, sizeof(step)),
		     modify->mask & ABI_QP_STATE ? "to" : "in", qp_state_name(modify->to),
		     call->ret, strerror((int)call->ret), why);
	finding_step(finding, "created", &qp->created);
	if (qp->qp->moved.verb != qp->created.verb)
		finding_step(finding, "changed state", &qp->qp->moved);
	finding_step(finding, "refused", &moment);
}

/* "ibv_post_send() returned 22 (Invalid argument)", "... accepted this" */
static const char *describe_outcome(enum verb verb, int ret, char *text, size_t size)
{
	const char *name = verb_infos[verb].name;

	if (verb == VERB_wr_abort)
		snprintf(text, size, "nothing of its batch was posted");
	else if (ret)
		snprintf(text, size, "%s() returned %d (%s)", name, ret,
			 strerror(ret < 0 ? -ret : ret));
	else
		snprintf(text, size, "%s() accepted this", name);
	return text;
}

/* Add the steps that all findings about a post have. */
static struct finding *add_post(struct check *check, enum rule_id rule, const struct life *qp,
				const struct moment *moment)
{
	struct finding *finding = add_finding(check, rule, qp, moment);

	if (!finding)
		return NULL;
	finding_step(finding, "created", &qp->created);
	if (qp->qp->moved.verb != qp->created.verb)
		finding_step(finding, "changed state", &qp->qp->moved);
	finding_step(finding, "posted", moment);
	return finding;
}

static struct finding *add_invalid_post(struct check *check, enum rule_id rule,
					const struct model_invalid_post *invalid_post)
{
	struct moment moment = moment_of(invalid_post->event);

	return add_post(check, rule, invalid_post->object, &moment);
}

/* STATE-002 */
void state_002(struct check *check, const struct model_invalid_post *invalid_post)
{
	const struct life *qp = invalid_post->object;
	const struct post *post = invalid_post->event->post;
	char name[64], outcome[128], step[64];
	struct finding *finding;

	if (invalid_post->what != INVALID_POST_STATE && invalid_post->what != INVALID_POST_SRQ)
		return;
	finding = add_invalid_post(check, RULE_STATE_002, invalid_post);
	if (!finding)
		return;
	object_name_text(qp, name, sizeof(name));
	describe_outcome(post->verb, post->ret, outcome, sizeof(outcome));
	if (invalid_post->what == INVALID_POST_SRQ)
		finding_text(&finding->says,
			     "%s uses a shared receive queue, but a receive was posted to the "
			     "queue pair itself; %s.",
			     name, outcome);
	else
		finding_text(&finding->says,
			     "%s was in %s (%s) when a %s was posted, which needs %s; %s.", name,
			     qp_state_name(qp->qp->state),
			     describe_last_step(qp, step, sizeof(step)),
			     post_is_send(post) ? "send" : "receive",
			     post_is_send(post) ? "RTS" : "INIT", outcome);
}

/* "because of RDMA_CM_EVENT_REJECTED of cm_id1, retrieved at 1:19" */
static void describe_unmade(const struct life *id, char *text, size_t size)
{
	char moment[32];

	snprintf(text, size, "because of %s of %s, retrieved at %s",
		 enum_name(enum_find("rdma_cm_event_type"), id->unmade_event) ?: "an event",
		 id->name, event_id_text(id->unmade.id, moment));
}

/* "by IBV_WC_RETRY_EXC_ERR, polled at 1:20", "reported by ibv_query_qp() at 1:20" */
static const char *describe_cause(const struct life *qp, char *text, size_t size)
{
	const struct moment *moved = &qp->qp->moved;
	const struct life *unmade = qp_find_unmade(qp);
	const char *status = enum_name(enum_find("ibv_wc_status"), qp->qp->status);
	char id[32];

	event_id_text(moved->id, id);
	if (unmade)
		describe_unmade(unmade, text, size);
	else if (qp->qp->error_reported && qp->qp->status)
		snprintf(text, size, "by %s, polled at %s", status ? status : "an error", id);
	else if (moved->verb == VERB_modify_qp)
		snprintf(text, size, "by ibv_modify_qp() at %s", id);
	else
		snprintf(text, size, "reported by %s() at %s", verb_infos[moved->verb].name, id);
	return text;
}

static const char *const look_at_event =
	"Look at the type of each event of rdma_get_cm_event(): only RDMA_CM_EVENT_ESTABLISHED "
	"means that the connection exists. After any other answer to rdma_connect(), destroy the "
	"queue pair and the identifier.";

/* Report once per error. */
static void report_error(struct check *check, enum rule_id rule, const struct life *qp,
			 const struct moment *posted, int ret)
{
	char name[64], outcome[128], cause[LIFE_NAME + 96], when[32];
	struct finding *finding;

	finding = add_post(check, rule, qp, posted);
	if (!finding)
		return;
	if (qp_find_unmade(qp))
		finding->todo = look_at_event;
	finding_text(
		&finding->says, "%s had entered ERR %s, and %s later a %s was posted to it; %s.",
		object_name_text(qp, name, sizeof(name)), describe_cause(qp, cause, sizeof(cause)),
		words_format_span(posted->time - qp->qp->moved.time, when),
		verb_is_send(posted->verb) ? "send" : "receive",
		describe_outcome(posted->verb, ret, outcome, sizeof(outcome)));
}

/* Did the program learn of the error from a completion, and not from its own call or an event? */
static bool is_polled(const struct model_invalid_post *invalid_post)
{
	return invalid_post->object->qp->error_reported && invalid_post->object->qp->status;
}

/* STATE-003: the program did not wait until all that it posted in ERR was flushed. */
void state_003_spare(struct check *check, const struct life *life)
{
	const struct qp *qp = life->kind == OBJECT_qp ? life->qp : NULL;

	if (qp && !qp->judged && qp->spare.flushed < qp->spare.posted)
		report_error(check, RULE_STATE_003, life, &qp->spare.first, 0);
}

/* STATE-003 */
void state_003(struct check *check, const struct model_invalid_post *invalid_post)
{
	struct moment posted;

	if (invalid_post->what == INVALID_POST_SPARE)
		state_003_spare(check, invalid_post->object);
	if (invalid_post->what != INVALID_POST_ERROR || is_polled(invalid_post))
		return;
	posted = moment_of(invalid_post->event);
	report_error(check, RULE_STATE_003, invalid_post->object, &posted,
		     invalid_post->event->post->ret);
}

/*
 * A hazard of COMPL-007: one thread polled the error, another one still posts. Within a second of
 * the error, the other one may still learn of it.
 */
static void report_late(struct check *check, const struct model_invalid_post *invalid_post)
{
	const struct life *qp = invalid_post->object;
	const struct moment *moved = &qp->qp->moved;
	struct moment moment = moment_of(invalid_post->event);
	char name[64], cause[96], when[32];
	struct finding *finding;

	finding = check_add_hazard(check, RULE_COMPL_007, &moment, qp, object_names[qp->kind]);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s had entered ERR %s; thread %u, which polled that error, has polled others "
		     "of this queue pair since. But thread %u has posted %s more than 10 ms after "
		     "the error, the last time %s after it.",
		     object_name_text(qp, name, sizeof(name)),
		     describe_cause(qp, cause, sizeof(cause)), thread_number(moved->id.thread),
		     thread_number(moment.id.thread), WORDS_N(qp->qp->late.posts, "time"),
		     words_format_span(moment.time - moved->time, when));
	finding_text(&finding->breaks, "the posting thread assumes that its requests are sent: all "
				       "of them are flushed, until it learns of the error");
	finding_step(finding, "created", &qp->created);
	finding_step(finding, "in error", moved);
	finding_step(finding, "posted", &moment);
}

/* COMPL-007 */
void compl_007(struct check *check, const struct model_invalid_post *invalid_post)
{
	struct moment posted = moment_of(invalid_post->event);

	if (invalid_post->what == INVALID_POST_ERROR && is_polled(invalid_post))
		report_error(check, RULE_COMPL_007, invalid_post->object, &posted,
			     invalid_post->event->post->ret);
	if (invalid_post->what == INVALID_POST_LATE)
		report_late(check, invalid_post);
}

/* STATE-004 */
void state_004(struct check *check, const struct model_invalid_post *invalid_post)
{
	const struct life *qp = invalid_post->object;
	const struct post *post = invalid_post->event->post;
	char name[64], outcome[128], number[32];
	struct finding *finding;
	const char *opcode, *done;

	if (invalid_post->what != INVALID_POST_OPCODE && invalid_post->what != INVALID_POST_OPS)
		return;
	finding = add_invalid_post(check, RULE_STATE_004, invalid_post);
	if (!finding)
		return;
	done = post->verb == VERB_wr_abort ? "built" : "posted";
	snprintf(number, sizeof(number), "opcode %d", post->wr[invalid_post->index].opcode);
	opcode = enum_name(enum_find("ibv_wr_opcode"), post->wr[invalid_post->index].opcode);
	object_name_text(qp, name, sizeof(name));
	describe_outcome(post->verb, post->ret, outcome, sizeof(outcome));
	finding_text(&finding->where, "%s(): wr[%u].opcode", verb_infos[post->verb].name,
		     invalid_post->index);
	if (invalid_post->what == INVALID_POST_OPS)
		finding_text(&finding->says,
			     "%s was created with send_ops_flags 0x%" PRIx64 ", which lack %s, "
			     "but it was %s; %s.",
			     name, qp->qp->send_ops, opcode ? opcode : number, done, outcome);
	else
		finding_text(&finding->says,
			     "%s is of type %s, which does not support %s, but it was %s; %s.",
			     name, qp_type_name(qp->qp->type), opcode ? opcode : number, done,
			     outcome);
}

/* Was the queue pair created for some builders only, made ready, and never posted to? */
static bool may_have_jumped(const struct life *qp)
{
	return qp->kind == OBJECT_qp && !qp->inherited && qp->qp && qp->qp->has_send_ops &&
	       qp_state(qp) == ABI_QPS_RTS && qp->sq && !qp->sq->doubt && !qp->sq->posted;
}

/* STATE-004: a builder that was not requested is NULL. Without --strict that leaves no event. */
void state_004_crash(struct check *check, const struct model_exit *end)
{
	char name[64], process[PROCESS_TEXT], ready[32];
	struct finding *finding;

	if (end->how != MODEL_KILLED || check_is_strict(check) ||
	    crash_signal_of(check->model, end->process) != SIGSEGV)
		return;
	for (const struct life *qp = NULL;
	     (qp = model_next_life(check->model, end->process, qp));) {
		if (!may_have_jumped(qp))
			continue;
		finding = check_add_hazard(check, RULE_STATE_004, &qp->qp->moved, qp, "qp");
		if (!finding)
			continue;
		finding_text(
			&finding->says,
			"%s was killed by SIGSEGV. %s was created with send_ops_flags 0x%" PRIx64
			", and nothing was posted to it in the %s after it went to RTS.",
			process_id_text(end->process, process),
			object_name_text(qp, name, sizeof(name)), qp->qp->send_ops,
			words_format_span(end->time - qp->qp->moved.time, ready));
		if (finding->says && finding->says[0] == 'p')
			finding->says[0] = 'P';
		finding_text(&finding->breaks,
			     "the program called an ibv_wr_*() that these flags lack: the function "
			     "is NULL, and the core dump shows a jump to 0");
		finding_text(&finding->settles, "record --strict");
		finding_step(finding, "created", &qp->created);
		finding_step(finding, "to RTS", &qp->qp->moved);
	}
}

static const struct device *device_of(struct check *check, const struct life *qp)
{
	const struct life *context = model_context(check->model, qp);

	return context ? context->device : NULL;
}

/* "fe80::1, RoCE v1, sgid_index 0 of port 1 of mlx5_0" */
static const char *format_gid(const struct device_gid *gid, char *text, size_t size)
{
	char address[48];

	snprintf(text, size, "%s (%s, sgid_index %u of port %u)", gid_text(gid->raw, address),
		 gid_type_name(gid->type), gid->index, gid->port);
	return text;
}

static const char *suggest_gid(const struct device *device, uint32_t port, char *text, size_t size)
{
	const struct device_gid *better = device_find_ipv4(device, port);
	char address[48];

	text[0] = '\0';
	if (better)
		snprintf(text, size, "; the port has %s (RoCE v2) at sgid_index %u",
			 gid_text(better->raw, address), better->index);
	return text;
}

static void describe_rtr(struct finding *finding, const struct model_modify *modify,
			 const struct device *device, const struct qp_path *path,
			 const struct device_gid *gid)
{
	const struct call *call = modify->event->call;
	char name[64], own[128], peer[48], better[96], when[32], outcome[96] = "";
	bool unsuited = gid && gid_is_link_local(gid->raw) && gid_is_ipv4(path->dgid);

	if (gid)
		format_gid(gid, own, sizeof(own));
	else
		snprintf(own, sizeof(own), "sgid_index %u of port %u", path->sgid_index,
			 path->port);
	if (call->failed)
		snprintf(outcome, sizeof(outcome),
			 "; ibv_modify_qp() returned %" PRId64 " (%s) after %s", call->ret,
			 strerror((int)call->ret),
			 words_format_span(call->end - call->begin, when));
	finding_text(&finding->says, "%s goes to %s from %s%s%s%s.",
		     object_name_text(modify->object, name, sizeof(name)),
		     gid_text(path->dgid, peer), own, unsuited ? ", which is link-local" : "",
		     outcome,
		     unsuited ? suggest_gid(device, path->port, better, sizeof(better)) : "");
}

/* What the queue pair does not retry: "timeout 0, rnr_retry 0" */
static const char *list_zeros(const struct qp *qp, char *text, size_t size)
{
	const struct {
		uint32_t bit, value;
		const char *name;
	} all[] = { { ABI_QP_TIMEOUT, qp->timeout, "timeout" },
		    { ABI_QP_RETRY_CNT, qp->retry_cnt, "retry_cnt" },
		    { ABI_QP_RNR_RETRY, qp->rnr_retry, "rnr_retry" } };
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && used < size; i++)
		if (qp->set & all[i].bit && !all[i].value)
			used += (size_t)snprintf(text + used, size - used, "%s%s 0",
						 used ? ", " : "", all[i].name);
	return text;
}

static void report_long_timeout(struct check *check, const struct model_modify *modify)
{
	struct moment moment = moment_of(modify->event);
	const struct qp *qp = modify->object->qp;
	struct finding *finding;
	char name[64];

	finding = check_add_hazard(check, RULE_STATE_009, &moment, modify->object, "attr.timeout");
	if (!finding)
		return;
	finding_text(&finding->says, "%s went to RTS with timeout %u and retry_cnt %u.",
		     object_name_text(modify->object, name, sizeof(name)), qp->timeout,
		     qp->retry_cnt);
	finding_text(&finding->breaks,
		     "the peer or the path to it fails: no completion reports it for %" PRId64
		     " minutes",
		     qp_retry_time(qp) / MINUTE);
	finding_step(finding, "created", &modify->object->created);
	finding_step(finding, "changed state", &moment);
}

/* Report a short timeout: a busy peer, switch or processor delays a response for longer. */
static void report_short_timeout(struct check *check, const struct model_modify *modify)
{
	struct moment moment = moment_of(modify->event);
	const struct qp *qp = modify->object->qp;
	char name[64], when[32];
	struct finding *finding =
		check_add_hazard(check, RULE_STATE_009, &moment, modify->object, "attr.timeout");

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s went to RTS with timeout %u and retry_cnt %u: it gives up %s after a "
		     "request.",
		     object_name_text(modify->object, name, sizeof(name)), qp->timeout,
		     qp->retry_cnt, words_format_span(qp_retry_time(qp), when));
	finding_text(&finding->breaks,
		     "a response is delayed for that time, as by congestion: the connection ends "
		     "with IBV_WC_RETRY_EXC_ERR (some devices round such a timeout up)");
	finding_step(finding, "created", &modify->object->created);
	finding_step(finding, "changed state", &moment);
}

/* STATE-009. Datagrams and UC have no retries. */
void state_009(struct check *check, const struct model_modify *modify)
{
	static const char lost[] = "one packet or its response is lost: the connection ends with "
				   "IBV_WC_RETRY_EXC_ERR";
	static const char early[] = "one message arrives before its receive is posted: the "
				    "connection ends with IBV_WC_RNR_RETRY_EXC_ERR";
	const struct qp *qp = modify->object->qp;
	bool no_retry = qp && qp->set & ABI_QP_RETRY_CNT && !qp->retry_cnt;
	bool no_rnr_retry = qp && qp->set & ABI_QP_RNR_RETRY && !qp->rnr_retry;
	struct moment moment = moment_of(modify->event);
	struct finding *finding;
	char zeros[64], name[64];

	if (modify->event->call->failed || modify->to != ABI_QPS_RTS ||
	    modify->from == ABI_QPS_RTS || !qp || qp->type != ABI_QPT_RC)
		return;
	if (!*list_zeros(qp, zeros, sizeof(zeros))) {
		if (qp_retry_time(qp) >= PATIENCE * MINUTE)
			report_long_timeout(check, modify);
		else if (qp_retry_time(qp) && qp_retry_time(qp) < LEAST_RETRY_NS)
			report_short_timeout(check, modify);
		return;
	}
	finding = check_add_hazard(check, RULE_STATE_009, &moment, modify->object, "attr");
	if (!finding)
		return;
	finding_text(&finding->says, "%s went to RTS with %s.",
		     object_name_text(modify->object, name, sizeof(name)), zeros);
	if (qp->set & ABI_QP_TIMEOUT && !qp->timeout)
		finding_text(&finding->breaks,
			     "a packet or its response is lost: the request waits forever, and "
			     "no completion comes");
	else
		finding_text(&finding->breaks, "%s%s%s", no_retry ? lost : "",
			     no_retry && no_rnr_retry ? "; or " : "", no_rnr_retry ? early : "");
	finding_step(finding, "created", &modify->object->created);
	finding_step(finding, "changed state", &moment);
}

/* STATE-008, at the transition. */
void state_008(struct check *check, const struct model_modify *modify)
{
	const struct call *call = modify->event->call;
	const struct device *device = device_of(check, modify->object);
	struct moment moment = moment_of(modify->event);
	const struct device_port *port;
	const struct device_gid *gid;
	struct finding *finding;
	struct qp_path path;

	if (!(modify->mask & ABI_QP_AV) || !qp_read_path(call->args, &path) || !path.is_global)
		return;
	port = device_find_port(device, path.port);
	gid = device_find_gid(device, path.port, path.sgid_index);
	if (!port || !port->ethernet)
		return;
	if (call->failed ? call->ret != ETIMEDOUT
			 : !gid || !gid_is_link_local(gid->raw) || !gid_is_ipv4(path.dgid))
		return;
	finding = add_finding(check, RULE_STATE_008, modify->object, &moment);
	if (!finding)
		return;
	finding_text(&finding->where, "ibv_modify_qp(): attr->ah_attr.grh");
	describe_rtr(finding, modify, device, &path, gid);
	finding_step(finding, "created", &modify->object->created);
	finding_step(finding, call->failed ? "refused" : "changed state", &moment);
}

/*
 * STATE-008, at the first completion. It is not reported if the queue pair at the other end is
 * known: then there is a path, and the reason is another one.
 */
void state_008_unreached(struct check *check, const struct model_unreached *unreached)
{
	const struct life *object = unreached->object;
	const struct qp *qp = object->qp;
	const struct device *device = device_of(check, object);
	const struct device_port *port = device_find_port(device, qp->path.port);
	const struct device_gid *gid = device_find_gid(device, qp->path.port, qp->path.sgid_index);
	struct moment moment = { .id = unreached->event->id,
				 .verb = unreached->event->poll->verb,
				 .process = unreached->event->process,
				 .time = unreached->event->time };
	char name[64], own[128], peer[48], better[96];
	struct finding *finding;

	if (!(qp->set & ABI_QP_AV) || !qp->path.is_global || !port || !port->ethernet || !gid ||
	    !device_find_ipv4(device, qp->path.port) ||
	    (!gid_is_link_local(gid->raw) && gid->type != ABI_GID_TYPE_ROCE_V1) ||
	    (object->peer && peer_find_other(model_peers(check->model), object->peer)))
		return;
	finding = add_finding(check, RULE_STATE_008, object, &moment);
	if (!finding)
		return;
	finding_text(&finding->where, "%s(): wc[%u].status", verb_infos[moment.verb].name,
		     unreached->index);
	finding_text(&finding->says,
		     "%s sends to %s from %s, and the first completion reports no response "
		     "(IBV_WC_RETRY_EXC_ERR)%s.",
		     object_name_text(object, name, sizeof(name)), gid_text(qp->path.dgid, peer),
		     format_gid(gid, own, sizeof(own)),
		     suggest_gid(device, qp->path.port, better, sizeof(better)));
	finding_step(finding, "created", &object->created);
	finding_step(finding, "GID chosen", &qp->rtr);
	finding_step(finding, "not answered", &moment);
}

/* The RoCE v2 entry with the same address, or else with any IPv4 address. */
static const struct device_gid *find_routable(const struct device *device,
					      const struct device_gid *gid)
{
	for (size_t i = 0; !gid_is_link_local(gid->raw) && i < device->ngids; i++)
		if (device->gids[i].port == gid->port &&
		    device->gids[i].type == ABI_GID_TYPE_ROCE_V2 &&
		    !memcmp(device->gids[i].raw, gid->raw, DEVICE_GID))
			return &device->gids[i];
	return device_find_ipv4(device, gid->port);
}

/* The GID that the other end of @life sends from; NULL: not known. */
static const struct device_gid *find_other_gid(struct check *check, const struct life *life)
{
	const struct peer *other = peer_find_other(model_peers(check->model), life->peer);

	return other && other->connected && other->place.is_global
		       ? device_find_gid(other->device, other->port, other->sgid_index)
		       : NULL;
}

/* STATE-008: works only within the local network, or only on the software device. */
void state_008_type(struct check *check, const struct life *life)
{
	const struct qp *qp = life->kind == OBJECT_qp ? life->qp : NULL;
	const struct device *device = device_of(check, life);
	const struct device_port *port = qp ? device_find_port(device, qp->path.port) : NULL;
	const struct device_gid *gid, *better, *other;
	struct finding *finding;
	char name[64], own[128], address[48];
	bool differ;

	if (!port || !port->ethernet || qp->by_cm || !(qp->set & ABI_QP_AV) ||
	    !qp->path.is_global || !qp->rtr.id.thread || qp->status || !life->sq ||
	    !(life->sq->completed || (life->rq && life->rq->completed)))
		return;
	gid = device_find_gid(device, qp->path.port, qp->path.sgid_index);
	better = gid && gid->type == ABI_GID_TYPE_ROCE_V1 ? find_routable(device, gid) : NULL;
	if (!better)
		return;
	finding = check_add_hazard(check, RULE_STATE_008, &qp->rtr, life, "attr->ah_attr.grh");
	if (!finding)
		return;
	other = find_other_gid(check, life);
	differ = other && other->type == ABI_GID_TYPE_ROCE_V2;
	finding_text(&finding->says,
		     "%s sends from %s; the port has %s for RoCE v2 at sgid_index %u%s.",
		     object_name_text(life, name, sizeof(name)), format_gid(gid, own, sizeof(own)),
		     gid_text(better->raw, address), better->index,
		     differ ? ", and the other end sends by RoCE v2" : "");
	finding_text(&finding->breaks, "%s",
		     differ ? "the device is an adapter: a queue pair of RoCE v1 does not receive "
			      "what one of RoCE v2 sends, nor the other way round"
			    : "the other end is behind a router, or switches classify traffic by "
			      "IP headers (DSCP, ECN): frames of RoCE v1 have none");
	finding_step(finding, "created", &life->created);
	finding_step(finding, "GID chosen", &qp->rtr);
}
