/*
 * Connections: changes of an id without a command of the program
 *
 * A message arrives, the peer's process ends, or a time limit has passed. Each of these is a
 * transition between the states in cm_conn.c, and usually causes an event.
 *
 * This file also destroys ids: the messages in the mailbox are processed first. A message may be a
 * request, whose new id is destroyed, too, if the program cannot get its event.
 */
#include "shim/soft/cm/cm_react.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/soft/cm/cm_away.h"
#include "shim/soft/cm/cm_channel.h"
#include "shim/soft/cm/cm_conn.h"
#include "shim/soft/cm/cm_event.h"
#include "shim/soft/cm/cm_id.h"
#include "shim/soft/cm/cm_mcast.h"
#include "shim/soft/cm/cm_path.h"
#include "shim/soft/fabric/process.h"

/* Answer the sender of @msg, since the receiver does not exist. */
static void answer_message(const struct cm_msg *msg, enum cm_type type, uint32_t status)
{
	struct cm_msg reply = {
		.type = type,
		.tid = msg->tid,
		.dst = msg->dst,
		.ps = msg->ps,
		.status = status,
	};

	reply.from.serial = msg->to;
	if (cm_name_is_remote(&msg->from))
		cm_remote_send(&msg->from, &reply);
	else
		cm_wire_send(&msg->from, &reply);
}

static bool is_from_peer(const struct cm_id *id, const struct cm_msg *msg)
{
	return cm_name_same_place(&id->peer, &msg->from);
}

/* Fill in the parameters: one side's responder resources are the other side's initiator depth. */
static void fill_conn(struct cm_event *event, const struct cm_msg *msg, uint8_t len)
{
	struct rdma_ucm_conn_param *conn = &event->resp.param.conn;

	memcpy(conn->private_data, msg->private_data, len);
	conn->private_data_len = len;
	conn->qp_num = msg->qpn;
	conn->srq = msg->srq;
	conn->responder_resources = msg->initiator_depth;
	conn->initiator_depth = msg->responder_resources;
	conn->flow_control = msg->flow_control;
	conn->retry_count = msg->retry_count;
	conn->rnr_retry_count = msg->rnr_retry_count;
	event->resp.ece = msg->ece;
}

static void fill_ud(struct cm_event *event, const struct cm_id *id, const struct cm_msg *msg,
		    uint8_t len)
{
	struct rdma_ucm_ud_param *ud = &event->resp.param.ud;

	memcpy(ud->private_data, msg->private_data, len);
	ud->private_data_len = len;
	ud->qp_num = msg->qpn;
	ud->qkey = msg->qkey;
	if (msg->type == CM_SIDR_REP)
		cm_path_fill_ah(id, &ud->ah_attr);
}

static void copy_parameters(struct cm_id *id, const struct cm_msg *msg)
{
	id->remote_qpn = msg->qpn;
	id->sq_psn = msg->psn;
	id->responder_resources = msg->initiator_depth;
	id->initiator_depth = msg->responder_resources;
	id->rnr_retry_count = msg->rnr_retry_count;
	id->ece = msg->ece;
}

static int make_child(struct cm_id *listener, const struct cm_msg *msg, struct cm_id **ret_id)
{
	uint8_t qp_type = listener->qp_type;
	struct cm_id *id;
	int err;

	if (msg->qp_type == IBV_QPT_XRC_SEND)
		qp_type = IBV_QPT_XRC_RECV;
	if (cm_name_is_remote(&msg->from) && msg->type == CM_REQ &&
	    msg->qp_type != IBV_QPT_XRC_SEND && msg->qp_type != qp_type)
		return -EINVAL;
	err = cm_id_new(listener->channel, listener->ps, qp_type, &id);
	if (err < 0)
		return err;
	id->device = true;
	id->src = msg->dst;
	id->dst = msg->src;
	id->tos = listener->tos;
	id->ack_timeout = listener->ack_timeout;
	id->qkey = CM_UDP_QKEY;
	id->peer = msg->from;
	id->tid = msg->tid;
	id->mtu = msg->mtu;
	id->retry_count = msg->retry_count;
	copy_parameters(id, msg);
	*ret_id = id;
	return 0;
}

/* The request of @id arrived again: repeat the answer, unless a timer of @id repeats it. */
static void repeat_answer(struct cm_id *listener, struct cm_id *id)
{
	struct cm_name name = cm_id_name(listener);

	if (listener->has_port)
		cm_port_note_accepted(listener->port, &name);
	if (id->unsent.type == CM_SIDR_REP || id->unsent.type == CM_REJ)
		cm_remote_send(&id->peer, &id->unsent);
}

static void receive_cm_request(struct cm_id *listener, struct cm_msg *msg)
{
	bool sidr = msg->type == CM_SIDR_REQ;
	struct cm_event *event;
	struct cm_id *id;

	id = cm_id_by_peer(&msg->from);
	if (id) { /* the request arrived again */
		if (cm_name_is_remote(&msg->from))
			repeat_answer(listener, id);
		return;
	}
	if (listener->state != CM_LISTENING || msg->ps != listener->ps ||
	    sidr != cm_conn_is_ud(listener) || make_child(listener, msg, &id) < 0) {
		answer_message(msg, sidr ? CM_SIDR_REP : CM_REJ,
			       sidr ? CM_SIDR_UNSUPPORTED : CM_REJ_INVALID_SERVICE_ID);
		return;
	}
	id->state = sidr ? CM_SIDR_REQ_RCVD : CM_REQ_RCVD;
	event = cm_id_event(listener, CM_EVENT_CONNECT_REQUEST, 0);
	if (!event) {
		cm_react_destroy_id(id);
		return;
	}
	event->request = id;
	event->resp.id = id->handle;
	if (sidr)
		fill_ud(event, id, msg, SIDR_REQ_BYTES);
	else
		fill_conn(event, msg, REQ_BYTES);
	if (!sidr)
		cm_conn_watch(id);
}

static void receive_reply(struct cm_id *id, struct cm_msg *msg)
{
	struct cm_event *event;

	if (id->state == CM_ESTABLISHED && cm_name_is_remote(&id->peer))
		cm_conn_send_status(id, CM_RTU, 0); /* REP arrived again: the first RTU was lost */
	if (id->state != CM_REQ_SENT)
		return;
	id->peer = msg->from; /* the listener's new id: it is in the same process */
	copy_parameters(id, msg);
	cm_conn_enter(id, CM_REP_RCVD);
	event = cm_id_event(id, CM_EVENT_CONNECT_RESPONSE, 0);
	if (event)
		fill_conn(event, msg, REP_BYTES);
}

static void receive_sidr_reply(struct cm_id *id, struct cm_msg *msg)
{
	struct cm_event *event;

	if (id->state != CM_SIDR_REQ_SENT)
		return;
	cm_conn_enter(id, CM_CLOSED);
	if (msg->status) {
		event = cm_id_event(id, CM_EVENT_UNREACHABLE, msg->status);
	} else {
		id->qkey = msg->qkey;
		event = cm_id_event(id, CM_EVENT_ESTABLISHED, 0);
	}
	if (event)
		fill_ud(event, id, msg, SIDR_REP_BYTES);
}

static void receive_reject(struct cm_id *id, struct cm_msg *msg)
{
	struct cm_event *event;

	switch (id->state) {
	case CM_REQ_SENT:
	case CM_REQ_RCVD:
	case CM_REP_SENT:
	case CM_REP_RCVD:
		cm_conn_enter(id, CM_CLOSED);
		event = cm_id_event(id, CM_EVENT_REJECTED, msg->status);
		if (event)
			fill_conn(event, msg, REJ_BYTES);
		break;
	case CM_ESTABLISHED: /* the peer was not established yet */
		cm_conn_end(id, CM_TIMEWAIT, CM_EVENT_DISCONNECTED, 0);
		break;
	default:
		break;
	}
}

static void receive_disconnect(struct cm_id *id)
{
	switch (id->state) {
	case CM_REP_SENT:
	case CM_REP_RCVD:
	case CM_ESTABLISHED:
	case CM_DREQ_SENT:
		cm_conn_end(id, CM_DREQ_RCVD, CM_EVENT_DISCONNECTED, 0);
		break;
	case CM_TIMEWAIT:
		cm_conn_send_status(id, CM_DREP, 0);
		break;
	default:
		break;
	}
}

static void dispatch_message(struct cm_id *id, struct cm_msg *msg)
{
	switch (msg->type) {
	case CM_REP:
		receive_reply(id, msg);
		break;
	case CM_RTU:
		if (id->state == CM_REP_SENT)
			cm_conn_end(id, CM_ESTABLISHED, CM_EVENT_ESTABLISHED, 0);
		break;
	case CM_REJ:
		receive_reject(id, msg);
		break;
	case CM_DREQ:
		id->tid = msg->tid;
		receive_disconnect(id);
		break;
	case CM_DREP:
		if (id->state == CM_DREQ_SENT)
			cm_conn_end(id, CM_TIMEWAIT, CM_EVENT_DISCONNECTED, 0);
		else if (id->state == CM_DREQ_RCVD)
			cm_conn_enter(id, CM_TIMEWAIT);
		break;
	case CM_SIDR_REP:
		receive_sidr_reply(id, msg);
		break;
	case CM_MRA:
		cm_conn_extend_wait(id);
		break;
	}
}

static void answer_unknown_id(const struct cm_msg *msg)
{
	switch (msg->type) {
	case CM_REQ:
		answer_message(msg, CM_REJ, CM_REJ_INVALID_SERVICE_ID);
		break;
	case CM_SIDR_REQ:
		answer_message(msg, CM_SIDR_REP, CM_SIDR_UNSUPPORTED);
		break;
	case CM_REP:
		answer_message(msg, CM_REJ, CM_REJ_INVALID_COMM_ID);
		break;
	case CM_DREQ:
		answer_message(msg, CM_DREP, 0);
		break;
	}
}

static void receive_message(struct cm_channel *channel, struct cm_msg *msg)
{
	struct cm_id *id = cm_id_by_serial(msg->to);

	if (!id) {
		answer_unknown_id(msg);
		return;
	}
	if (msg->type == CM_REQ || msg->type == CM_SIDR_REQ) {
		receive_cm_request(id, msg);
	} else {
		/* a peer that withdraws its request knows only the listener */
		if (id->state == CM_LISTENING)
			id = cm_id_by_peer(&msg->from);
		if (id && is_from_peer(id, msg))
			dispatch_message(id, msg);
	}
	if (id && id->channel != channel)
		cm_channel_arm(id->channel);
}

/* Process the messages in the mailbox. */
static void drain_mailbox(struct cm_channel *channel)
{
	struct cm_msg msg;

	while (cm_wire_recv(channel->box, &msg))
		receive_message(channel, &msg);
}

static void drop_events(struct cm_id *id)
{
	struct cm_event *event;

	while ((event = cm_id_take_event(id->channel, id))) {
		if (event->request == id)
			cm_id_request_done(event);
		else if (event->request)
			cm_react_destroy_id(event->request);
		free(event);
	}
}

/*
 * The order matters: after the name is removed, no more messages arrive (cm_wire.c). If the peer's
 * mailbox is full, the id stays in its channel until its last message is sent.
 */
void cm_react_destroy_id(struct cm_id *id)
{
	struct cm_name name = cm_id_name(id);

	cm_conn_hang_up(id);
	if (id->has_port)
		cm_port_release(id->port, &name);
	cm_wire_remove_name(id->serial);
	drain_mailbox(id->channel);
	drop_events(id);
	cm_mcast_free_all(id);
	cm_id_drop_handle(id);
	id->destroyed = true;
	if (!id->resend)
		cm_id_free(id);
}

static void move_watch(struct cm_id *id, struct cm_channel *from)
{
	if (!id->watching)
		return;
	cm_channel_unwatch(from, &id->peer);
	cm_conn_watch(id);
}

int cm_react_migrate_id(struct cm_id *id, struct cm_channel *channel)
{
	struct cm_channel *from = id->channel;
	struct cm_event *event;
	int err;

	if (from == channel)
		return 0;
	err = cm_wire_add_name(channel->number, id->serial);
	if (err < 0)
		return err;
	cm_id_change_channel(id, channel);
	while ((event = cm_id_take_event(from, id))) {
		cm_channel_put(channel, event);
		if (event->request)
			cm_react_migrate_id(event->request, channel);
	}
	drain_mailbox(from);
	move_watch(id, from);
	cm_channel_arm(from);
	return 0;
}

static void resend_message(struct cm_id *id)
{
	if (cm_conn_send(id, &id->unsent) != -ENOENT)
		return;
	if (id->state == CM_REQ_SENT || id->state == CM_SIDR_REQ_SENT)
		cm_conn_refuse(id, false);
	else if (id->state == CM_DREQ_SENT)
		cm_conn_end(id, CM_TIMEWAIT, CM_EVENT_DISCONNECTED, 0);
}

static void check_time(struct cm_id *id)
{
	if (id->resend && id->resend <= process_now()) {
		if (id->held)
			cm_conn_retry(id);
		else
			resend_message(id);
	}
	if (id->destroyed && !id->resend) {
		cm_id_free(id);
		return;
	}
	if (!id->deadline || id->deadline > process_now())
		return;
	switch (id->state) {
	case CM_DREQ_SENT:
		cm_conn_end(id, CM_TIMEWAIT, CM_EVENT_DISCONNECTED, -ETIMEDOUT);
		break;
	case CM_TIMEWAIT:
		cm_conn_end(id, CM_CLOSED, CM_EVENT_TIMEWAIT_EXIT, 0);
		break;
	default:
		cm_conn_end(id, CM_CLOSED, CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		break;
	}
}

/* @process has ended: all ids that are connected to it stop watching it. */
static void notify_peer_death(struct cm_channel *channel, const struct cm_name *process)
{
	struct cm_id *id, *next;

	for (id = channel->ids; id; id = next) {
		next = id->next;
		if (id->watching && id->peer.node == process->node &&
		    id->peer.instance == process->instance)
			cm_conn_note_peer_death(id);
	}
}

static void check_times(struct cm_channel *channel)
{
	uint64_t now = process_now();
	struct cm_id *id, *next;

	for (id = channel->ids; id; id = next) {
		next = id->next;
		if (cm_id_due(id) && cm_id_due(id) <= now)
			check_time(id);
	}
}

/* Process messages first: those of a dead process precede its death. */
void cm_react_run(struct cm_channel *channel)
{
	struct cm_name process;

	if (cm_channel_is_ready(channel))
		drain_mailbox(channel);
	while (cm_channel_take_dead(channel, &process))
		notify_peer_death(channel, &process);
	check_times(channel);
}
