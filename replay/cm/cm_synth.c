/*
 * The other end of a connection of librdmacm, if it is not in the trace
 *
 *	recorded side got	the synthesized end
 *	CONNECT_REQUEST		connects, with the private data and parameters of that event
 *	ESTABLISHED		accepts the request, with the data of the event; or completes it
 *	CONNECT_RESPONSE	accepts
 *	REJECTED		rejects, with the private data; without a listener, creates none
 *	DISCONNECTED		disconnects
 *
 * Each action is done just before the recorded event that shows it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "replay/cm/cm_priv.h"

struct cm_end *cm_synth_new(struct replay *r)
{
	struct cm_end **slot = vec_push(r->cm->made, r->cm->nmade);

	if (!slot)
		return NULL;
	*slot = calloc(1, sizeof(**slot));
	if (!*slot) {
		r->cm->nmade--;
		return NULL;
	}
	(*slot)->last = &(*slot)->first;
	return *slot;
}

/* An end bound to the replacement of recorded address @there; with @listens it listens there. */
static struct cm_end *make_listener(struct replay *r, enum rdma_port_space ps,
				    const struct sockaddr_storage *there, bool listens)
{
	const struct cm_lib *lib = &r->cm->lib;
	struct sockaddr_storage here = *there;
	struct cm_end *made = cm_synth_new(r);

	if (!made || cm_open_end(r, made, cm_channel_of(r, 0), ps))
		return NULL;
	cm_address_translate(r, &here);
	*cm_address_port(&here) = 0;
	if (lib->bind_addr(made->id, (struct sockaddr *)&here) ||
	    (listens && lib->listen(made->id, 0)))
		return NULL;
	return made;
}

/*
 * Create an end that listens, or that reserves a port if there was no listener; the port is also
 * reserved for a listener of the trace that does not exist yet.
 */
uint16_t cm_synth_listen(struct replay *r, struct cm_end *end, const struct sockaddr_storage *dst)
{
	struct cm_end *made =
		make_listener(r, end->id->ps, dst, !end->refused && !cm_has_listener(r, end));

	return made ? r->cm->lib.get_src_port(made->id) : 0;
}

/* The parameters that this end must pass so that the other end gets the recorded ones. */
static struct rdma_conn_param mirror_parameters(const struct args *out, uint8_t data[CM_DATA])
{
	int64_t value;
	bool known;
	const struct cm_parameters *args = args_get(out, ARG(event.ud.private_data_len), &value)
						   ? &cm_datagrams
						   : &cm_connection;
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = cm_copy_private_data(out, args, data, &known),
		.responder_resources = (uint8_t)args_number(out, args->initiator_depth),
		.initiator_depth = (uint8_t)args_number(out, args->responder_resources),
		.flow_control = (uint8_t)args_number(out, args->flow_control),
		.retry_count = (uint8_t)args_number(out, args->retry_count),
		.rnr_retry_count = (uint8_t)args_number(out, args->rnr_retry_count),
		.srq = (uint8_t)args_number(out, args->srq),
		.qp_num = (uint32_t)args_number(out, args->qp_num),
	};

	return param;
}

/*
 * The address of the listener that got the request of @end: that of the trace; or, if it ended
 * before the trace begins, a synthesized one.
 */
static bool find_listener(struct replay *r, const struct cm_end *end, enum rdma_port_space ps,
			  struct sockaddr_storage *ret_address)
{
	const struct cm_place *place = cm_place_find(r, end->src, ps == RDMA_PS_UDP, false);
	struct cm_end *made = NULL;
	uint16_t port;

	if (!cm_address_parse(end->src, ret_address))
		return false;
	if (!place && !end->listener)
		made = make_listener(r, ps, ret_address, true);
	if (!place && !made)
		return false;
	port = place ? place->port : r->cm->lib.get_src_port(made->id);
	if (made && cm_place_note(r, end->src, ps == RDMA_PS_UDP, false, port, made))
		return false;
	cm_address_translate(r, ret_address);
	*cm_address_port(ret_address) = port;
	return true;
}

/* Connect to the listener that got the request of @end. */
static void ask_listener(struct replay *r, struct cm_end *end, const struct trace_event *event,
			 int64_t deadline)
{
	const struct args *out = event->call->out;
	const struct cm_lib *lib = &r->cm->lib;
	struct sockaddr_storage dst;
	struct rdma_conn_param param;
	uint8_t data[CM_DATA];
	int64_t datagrams;
	enum rdma_port_space ps =
		args_get(out, ARG(event.ud.qp_num), &datagrams) ? RDMA_PS_UDP : RDMA_PS_TCP;
	struct cm_end *made = find_listener(r, end, ps, &dst) ? cm_synth_new(r) : NULL;

	if (!made || cm_open_end(r, made, cm_channel_of(r, 0), ps))
		return;
	if (lib->resolve_addr(made->id, NULL, (struct sockaddr *)&dst, 2000) ||
	    !cm_await_type(r, made, RDMA_CM_EVENT_ADDR_RESOLVED, deadline) ||
	    lib->resolve_route(made->id, 2000) ||
	    !cm_await_type(r, made, RDMA_CM_EVENT_ROUTE_RESOLVED, deadline))
		return;
	end->far = made;
	param = mirror_parameters(out, data);
	lib->connect(made->id, &param);
}

/* Answer the request of @end. */
static void answer_request(struct replay *r, struct cm_end *end, const struct trace_event *event,
			   bool accepts, int64_t deadline)
{
	struct rdma_conn_param param;
	uint8_t data[CM_DATA];

	if (end->answered || !cm_await_request(r, end, deadline))
		return;
	end->answered = true;
	param = mirror_parameters(event->call->out, data);
	if (accepts)
		r->cm->lib.accept(end->asked->id, &param);
	else
		r->cm->lib.reject(end->asked->id, param.private_data, param.private_data_len);
}

/* The synthesized end, which has connected, got the reply: complete or reject the connection. */
static void answer_reply(struct replay *r, struct cm_end *end, const struct trace_event *event,
			 bool accepts, int64_t deadline)
{
	struct rdma_conn_param param;
	uint8_t data[CM_DATA];

	if (!end->far || !cm_await_type(r, end->far, RDMA_CM_EVENT_CONNECT_RESPONSE, deadline))
		return;
	param = mirror_parameters(event->call->out, data);
	if (accepts)
		r->cm->lib.establish(end->far->id);
	else
		r->cm->lib.reject(end->far->id, param.private_data, param.private_data_len);
}

static void disconnect_peer(struct replay *r, struct cm_end *end)
{
	struct cm_end *far = end->far ? end->far : end->asked;

	cm_read_events(r);
	if (far && far->id && !end->first)
		r->cm->lib.disconnect(far->id);
}

/* Does the answer of a synthesized end cause events of @type? */
static bool is_answer(const struct cm_end *end, const char *type)
{
	return !strcmp(type, "RDMA_CM_EVENT_ESTABLISHED") ||
	       !strcmp(type, "RDMA_CM_EVENT_CONNECT_RESPONSE") ||
	       (!strcmp(type, "RDMA_CM_EVENT_REJECTED") && !end->refused) ||
	       (!strcmp(type, "RDMA_CM_EVENT_UNREACHABLE") && end->datagrams);
}

void cm_synth_prepare(struct replay *r, struct cm_end *end, const struct trace_event *event,
		      int64_t deadline)
{
	const char *type = args_text(event->call->out, ARG(event.event));
	bool accepts;

	if (end->partner || !type)
		return;
	accepts = strcmp(type, "RDMA_CM_EVENT_REJECTED") != 0 &&
		  strcmp(type, "RDMA_CM_EVENT_UNREACHABLE") != 0;
	if (!strcmp(type, "RDMA_CM_EVENT_CONNECT_REQUEST"))
		ask_listener(r, end, event, deadline);
	else if (!strcmp(type, "RDMA_CM_EVENT_DISCONNECTED"))
		disconnect_peer(r, end);
	else if (is_answer(end, type) && end->passive)
		answer_reply(r, end, event, accepts, deadline);
	else if (is_answer(end, type))
		answer_request(r, end, event, accepts, deadline);
}
