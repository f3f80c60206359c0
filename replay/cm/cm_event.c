/*
 * Events of librdmacm: waits for the events that recorded calls got, and compares them
 *
 * Not here: receiving events, for any identifier (cm_end.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hex.h"
#include "replay/cm/cm_priv.h"
#include "replay/report/differ.h"
#include "replay/report/pace.h"
#include "replay/state/recorded_fault.h"

static const char no_event[] = "a request for an event that returned without one";
static const char still_waiting[] = "a call that waited for an event until its process ended";
static const char silence[] = "a connection without a response: the replay does not wait for it";
static const char padded[] = "the length of private data, which depends on the type of the link";

/*
 * librdmacm itself establishes an identifier that has a queue pair, when the program gets the
 * reply. If the trace begins later than the program, that queue pair may be missing.
 */
static void establish_id(struct replay *r, struct cm_end *end)
{
	struct cm_arrival *arrival = end->first;

	if (!arrival || arrival->type != RDMA_CM_EVENT_CONNECT_RESPONSE ||
	    (!end->qp && !end->completed))
		return;
	arrival->type = r->cm->lib.establish(end->id) ? RDMA_CM_EVENT_CONNECT_ERROR
						      : RDMA_CM_EVENT_ESTABLISHED;
}

/*
 * Wait until the partner is established: in the recording it was established before this return.
 */
static bool await_established(struct replay *r, struct cm_end *end, int64_t deadline)
{
	struct cm_end *partner = cm_end_of(r, end->partner);
	unsigned int turns = 0;

	for (cm_read_events(r); !end->first; cm_read_events(r)) {
		if (partner)
			establish_id(r, partner);
		if (!pace_wait(&turns, deadline))
			return false;
	}
	return true;
}

/* A recorded event, and the replayed one that is compared with it. */
struct comparison {
	struct replay *r;
	const struct trace_event *event;
	const struct args *there;
	const struct cm_arrival *here;
	uint32_t object;
	bool verbatim; /* the other end sends the recorded numbers unchanged */
};

static void compare_field(const struct comparison *c, const char *path, int64_t there, int64_t here)
{
	if (there != here)
		differ_check_numbers(c->r->outcome, c->event->id, c->event->call->verb, c->object,
				     path, there, here);
}

static void compare_argument(const struct comparison *c, enum arg arg, int64_t here)
{
	compare_field(c, arg_path(arg), (int64_t)args_number(c->there, arg), here);
}

static void print_bytes(const uint8_t *data, unsigned int length, char text[2 * CM_DATA + 1])
{
	for (unsigned int i = 0; i < length; i++)
		snprintf(text + 2 * i, 3, "%02x", data[i]);
	text[2 * length] = 0;
}

static unsigned int used_length(const uint8_t data[CM_DATA], unsigned int length)
{
	while (length && !data[length - 1])
		length--;
	return length;
}

/* Compare private data. InfiniBand pads it with zeros; bytes beyond the length are zero in both. */
static void compare_private(const struct comparison *c, const struct cm_parameters *of)
{
	uint8_t there[CM_DATA];
	bool known;
	uint8_t length = cm_copy_private_data(c->there, of, there, &known);
	uint8_t here = c->here->conn.private_data_len;
	char a[2 * CM_DATA + 1], b[2 * CM_DATA + 1];

	if (length != here)
		outcome_note_tolerated(c->r->outcome, padded);
	if (!known || !memcmp(there, c->here->data, sizeof(there)))
		return;
	print_bytes(there, used_length(there, length), a);
	print_bytes(c->here->data, used_length(c->here->data, here), b);
	differ_check_texts(c->r->outcome, c->event->id, c->event->call->verb, c->object,
			   arg_path(of->private_data), a, b);
}

/* The recorded number of the queue pair that is @here; @here itself if it is not in the trace. */
static uint32_t recorded_number(const struct comparison *c, uint32_t here)
{
	uint64_t id;

	if (c->verbatim || !map_get(&c->r->numbers, here, &id))
		return here;
	return trace_object(c->r->trace, (uint32_t)id)->number;
}

static void compare_connection(const struct comparison *c)
{
	const struct rdma_conn_param *here = &c->here->conn;
	const struct {
		enum arg arg;
		uint64_t here;
	} fields[] = {
		{ ARG(event.conn.responder_resources), here->responder_resources },
		{ ARG(event.conn.initiator_depth), here->initiator_depth },
		{ ARG(event.conn.flow_control), here->flow_control },
		{ ARG(event.conn.retry_count), here->retry_count },
		{ ARG(event.conn.rnr_retry_count), here->rnr_retry_count },
		{ ARG(event.conn.srq), here->srq },
		{ ARG(event.conn.qp_num), recorded_number(c, here->qp_num) },
	};

	compare_private(c, &cm_connection);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		compare_argument(c, fields[i].arg, (int64_t)fields[i].here);
}

static void compare_datagrams(const struct comparison *c)
{
	compare_private(c, &cm_datagrams);
	compare_argument(c, ARG(event.ud.qp_num), recorded_number(c, c->here->ud.qp_num));
	compare_argument(c, ARG(event.ud.qkey), c->here->ud.qkey);
}

static void compare_event_text(const struct comparison *c, const char *field, const char *there,
			       const char *here)
{
	outcome_add_divergence(c->r->outcome, &(struct divergence){
						      .event = c->event->id,
						      .verb = c->event->call->verb,
						      .field = field,
						      .recorded = there,
						      .replayed = here,
						      .object = c->object,
						      .breaks = true,
					      });
}

static void compare_event(const struct comparison *c)
{
	const char *type = args_text(c->there, ARG(event.event));
	const char *here = c->r->cm->lib.event_str(c->here->type);
	char a[24], b[24];
	int64_t status = 0, value;

	args_get(c->there, ARG(event.status), &status);
	if (!type || strcmp(type, here)) {
		compare_event_text(c, "event.event", type ? type : "an unknown event", here);
		return;
	}
	if (status != c->here->status) {
		snprintf(a, sizeof(a), "%" PRId64, status);
		snprintf(b, sizeof(b), "%d", c->here->status);
		compare_event_text(c, "event.status", a, b);
	}
	if (args_get(c->there, ARG(event.conn.private_data_len), &value))
		compare_connection(c);
	else if (args_get(c->there, ARG(event.ud.private_data_len), &value))
		compare_datagrams(c);
	outcome_note_agreement(c->r->outcome, c->object);
}

static bool is_request(const char *type)
{
	return type && !strcmp(type, "RDMA_CM_EVENT_CONNECT_REQUEST");
}

/* Take over the identifier of the request that @asking sent. */
static void take_over_request(struct replay *r, struct cm_end *end, struct cm_end *asking)
{
	struct cm_end *asked = asking->asked;

	asking->asked = NULL;
	end->id = asked->id;
	end->datagrams = asked->datagrams;
	end->id->context = end;
	end->first = asked->first;
	end->last = end->first ? asked->last : &end->first;
	free(asked);
	if (end->object && asking->object) {
		outcome_relate_objects(r->outcome, end->object, asking->object);
		outcome_relate_objects(r->outcome, asking->object, end->object);
	}
}

/* The time of the last event of @process. */
static int64_t last_time(struct replay *r, uint32_t process)
{
	struct cm *cm = r->cm;

	if (!cm->last) {
		cm->last = calloc(r->nprocesses, sizeof(*cm->last));
		if (cm->last)
			trace_last_times(r->trace, cm->last, r->nprocesses);
	}
	return cm->last && process < r->nprocesses ? cm->last[process] : INT64_MAX;
}

/* Close the partner of @end: the kernel reported the partner's end earlier than the recorder. */
static void end_partner(struct replay *r, struct cm_end *end, const struct trace_event *event,
			const char *type)
{
	struct cm_end *partner = cm_end_of(r, end->partner);

	if (!type || !partner || !partner->id || partner->process == end->process ||
	    (strcmp(type, "RDMA_CM_EVENT_DISCONNECTED") && strcmp(type, "RDMA_CM_EVENT_REJECTED")))
		return;
	cm_read_events(r);
	if (!end->first && last_time(r, partner->process) < event->time)
		cm_close_end(r, partner);
}

/* Wait for the event that @end got according to @event. True: some event has come for @end. */
static bool await_event(struct replay *r, struct cm_end *end, const struct trace_event *event,
			const char *type)
{
	struct cm_end *asking;
	int64_t deadline;

	if (outcome_is_explained(r->outcome, end->object) && end->silent < 20)
		end->silent++;
	deadline = pace_now() + (r->options->timeout >> (end->silent < 20 ? end->silent : 20));
	cm_synth_prepare(r, end, event, deadline);
	end_partner(r, end, event, type);
	if (!is_request(type))
		return type && !strcmp(type, "RDMA_CM_EVENT_ESTABLISHED")
			       ? await_established(r, end, deadline)
			       : cm_await(r, end, deadline);
	asking = end->partner ? cm_end_of(r, end->partner) : end->far;
	if (!asking || end->id || !cm_await_request(r, asking, deadline))
		return false;
	take_over_request(r, end, asking);
	return end->first;
}

static void report_no_event(struct replay *r, const struct trace_event *event, struct cm_end *end,
			    const char *type)
{
	end->silent++;
	differ_report_no_event(r->outcome, event->id, event->call->verb, end->object, "event.event",
			       type ? type : "an event");
}

/* Why the replay cannot cause events of @type; NULL: it can. */
static const char *why_not_caused(const char *type)
{
	if (type && (!strcmp(type, "RDMA_CM_EVENT_DEVICE_REMOVAL") ||
		     !strcmp(type, "RDMA_CM_EVENT_ADDR_CHANGE")))
		return "a device that is removed, or an address that changes";
	return NULL;
}

/* Give @arrival the type with this name. */
static bool set_type(const struct replay *r, struct cm_arrival *arrival, const char *type)
{
	for (int each = 0; each <= RDMA_CM_EVENT_TIMEWAIT_EXIT; each++)
		if (!strcmp(r->cm->lib.event_str((enum rdma_cm_event_type)each), type)) {
			arrival->type = (enum rdma_cm_event_type)each;
			return true;
		}
	return false;
}

static bool ends_connection(enum rdma_cm_event_type type)
{
	return type == RDMA_CM_EVENT_REJECTED || type == RDMA_CM_EVENT_UNREACHABLE ||
	       type == RDMA_CM_EVENT_CONNECT_ERROR || type == RDMA_CM_EVENT_DISCONNECTED;
}

/* In the recording event @came came, but the recorder gave the program another one. */
static void change_event(struct replay *r, const struct trace_event *event, struct cm_end *end,
			 struct cm_arrival *arrival, const char *came)
{
	const struct args *out = event->call->out;
	const char *type = args_text(out, ARG(event.event));
	int64_t status = 0;

	if (!type || strcmp(came, r->cm->lib.event_str(arrival->type)) ||
	    !set_type(r, arrival, type))
		return;
	args_get(out, ARG(event.status), &status);
	arrival->status = (int)status;
	recorded_fault_count_event(r, event, end->object, type);
	if (!ends_connection(arrival->type))
		return;
	arrival->conn.private_data = NULL;
	arrival->conn.private_data_len = 0;
	memset(arrival->data, 0, sizeof(arrival->data));
	cm_fail_queue(r, end->qp);
}

/* Does the event report that no answer came? On a network, that takes minutes. */
static bool is_silence(const struct args *out, const char *type)
{
	int64_t status = 0;

	args_get(out, ARG(event.status), &status);
	return type && !strcmp(type, "RDMA_CM_EVENT_UNREACHABLE") && status == -ETIMEDOUT;
}

static int get_event(struct replay *r, const struct trace_event *event, struct cm_end *end)
{
	const struct args *out = event->call->out;
	const char *type = args_text(out, ARG(event.event)), *why = why_not_caused(type);
	struct cm_arrival *arrival;
	struct cm_end *partner;
	char came[64];
	bool changed = recorded_fault_cm_event(r, event->id, came);

	if (!why && type && strncmp(type, "RDMA_CM_EVENT_ADDR", 18) &&
	    strncmp(type, "RDMA_CM_EVENT_ROUTE", 19))
		why = cm_why_not_connected(r, end);
	if (!why && !is_request(type) && !end->id)
		why = "its identifier does not exist in the replay";
	if (why) {
		outcome_note_skipped(r->outcome, event->id, event->call->verb, end->object, why);
		return 0;
	}
	outcome_count_call(r->outcome, event->call->verb);
	outcome_count(r->outcome, OUTCOME_EVENTS, 1);
	if (!changed && is_silence(out, type)) {
		outcome_note_tolerated(r->outcome, silence);
		return 0;
	}
	if (!await_event(r, end, event, changed ? came : type)) {
		report_no_event(r, event, end, type);
		return 0;
	}
	establish_id(r, end);
	arrival = cm_arrival_take(end);
	if (changed)
		change_event(r, event, end, arrival, came);
	partner = cm_end_of(r, end->partner);
	compare_event(&(struct comparison){ r, event, out, arrival, end->object,
					    !partner || partner->foreign_queue });
	free(arrival);
	return 0;
}

int cm_get_event(struct replay *r, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct cm_end *end;
	int64_t id = 0;
	int err;

	if (call->end < 0 || call->failed) {
		outcome_note_tolerated(r->outcome, call->end < 0 ? still_waiting : no_event);
		return 0;
	}
	err = args_parse(call->out);
	if (err)
		return err;
	args_get(call->out, ARG(event.id), &id);
	end = cm_end_at(r, event, (uint64_t)id, call->end);
	if (end)
		return get_event(r, event, end);
	outcome_note_skipped(r->outcome, event->id, call->verb, 0,
			     "its identifier is not in the trace");
	return 0;
}
