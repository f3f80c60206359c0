/*
 * Connections: both ends change their states by messages
 *
 *	active				passive
 *	REQ_SENT	-- REQ -->	REQ_RCVD	CONNECT_REQUEST
 *	REP_RCVD	<-- REP --	REP_SENT	(accept)
 *	ESTABLISHED	-- RTU -->	ESTABLISHED	ESTABLISHED
 *
 *	DREQ_SENT	-- DREQ -->	DREQ_RCVD	DISCONNECTED
 *	TIMEWAIT	<-- DREP --	TIMEWAIT	(disconnect, too)
 *	CLOSED		TIMEWAIT_EXIT	CLOSED
 *
 * REJ ends a connection that is not yet established. For datagrams there is one request, SIDR_REQ,
 * and one reply, SIDR_REP. No message within the fabric is lost, so none is sent twice; if a
 * mailbox is full, the message is sent later. Time limits are for peers whose program does not
 * answer. The death of the peer's process counts as an answer. A message to another machine
 * (cm_away.c) that needs an answer is sent again until the answer arrives.
 *
 * A request for a port without a listener is held for a short time. Networks are slow, and some
 * programs depend on it: with -R, both ends of perftest start at the same time, and the client may
 * connect before the server listens.
 *
 * This file has the commands of the program; cm_react.c has the changes that no command causes.
 *
 * Source: chapter 12 of the InfiniBand specification, and the kernel's rdma_cm, which defines
 * events, status values and lengths of private data for programs.
 */
#include "shim/soft/cm/cm_conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "shim/soft/cm/cm_away.h"
#include "shim/soft/cm/cm_path.h"
#include "shim/soft/fabric/process.h"

/* Events of <rdma/rdma_cma.h>, which belongs to librdmacm. */
#include "shim/soft/cm/cm_event.h"
#include "shim/soft/cm/cm_channel.h"

#define MS            1000000ull
#define RESEND_NS     (20 * MS)
#define LOOK_NS       MS
#define PATIENCE_NS   (100 * MS)
#define AWAY_FIRST_NS (250 * MS)
#define AWAY_LAST_NS  (4000 * MS)
#define TIMEWAIT_NS   (4096ull << (CM_PATH_LIFETIME + 1))

uint64_t cm_response_ns = 65536 * MS; /* 16 times 4.096 s */

bool cm_conn_is_ud(const struct cm_id *id)
{
	return id->qp_type == IBV_QPT_UD;
}

static void unwatch_peer(struct cm_id *id)
{
	if (id->watching)
		cm_channel_unwatch(id->channel, &id->peer);
	id->watching = false;
}

/*
 * Watch the peer's process. A peer on another machine cannot be watched: time limits are used
 * instead.
 */
void cm_conn_watch(struct cm_id *id)
{
	if (cm_name_is_remote(&id->peer))
		return;
	id->watching = !cm_channel_watch(id->channel, &id->peer);
}

void cm_conn_enter(struct cm_id *id, enum cm_state state)
{
	uint64_t wait = 0;

	id->state = state;
	if (state == CM_REQ_SENT || state == CM_SIDR_REQ_SENT || state == CM_REP_SENT ||
	    state == CM_DREQ_SENT)
		wait = cm_response_ns;
	else if (cm_name_is_remote(&id->peer))
		id->resend = 0; /* the peer has answered the message */
	if (state == CM_TIMEWAIT)
		wait = TIMEWAIT_NS;
	/* a death in these states would make the channel readable without an event */
	if (state == CM_DREQ_RCVD || state == CM_TIMEWAIT || state == CM_CLOSED)
		unwatch_peer(id);
	id->deadline = wait ? process_now() + wait : 0;
}

void cm_conn_end(struct cm_id *id, enum cm_state state, int event, int status)
{
	cm_conn_enter(id, state);
	cm_id_event(id, event, status);
}

void cm_conn_extend_wait(struct cm_id *id)
{
	if (id->state != CM_REQ_SENT && id->state != CM_REP_SENT)
		return;
	id->deadline = process_now() + cm_response_ns;
	id->pause = AWAY_LAST_NS;
	id->resend = process_now() + AWAY_LAST_NS;
}

void cm_conn_note_peer_death(struct cm_id *id)
{
	switch (id->state) {
	case CM_REQ_SENT:
	case CM_REP_SENT:
	case CM_REP_RCVD:
	case CM_SIDR_REQ_SENT:
		cm_conn_end(id, CM_CLOSED, CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		break;
	case CM_ESTABLISHED:
	case CM_DREQ_SENT:
		cm_conn_end(id, CM_TIMEWAIT, CM_EVENT_DISCONNECTED, 0);
		break;
	default:
		cm_conn_enter(id, CM_CLOSED);
		break;
	}
}

/* The destination of a request was the address of the id that answers it. */
static struct cm_msg make_message(const struct cm_id *id, enum cm_type type)
{
	return (struct cm_msg){
		.type = type,
		.tid = type == CM_DREQ ? 0 : id->tid,
		.from.serial = id->serial,
		.dst = id->src,
		.ps = id->ps,
	};
}

static void set_private(struct cm_msg *msg, const void *data, size_t len)
{
	memcpy(msg->private_data, data, len);
	msg->private_len = len;
}

static bool wants_answer(const struct cm_msg *msg)
{
	return msg->type == CM_REQ || msg->type == CM_REP || msg->type == CM_DREQ ||
	       msg->type == CM_SIDR_REQ;
}

/*
 * Send a message that may get lost: it is sent again until it is answered or the time limit has
 * passed.
 */
static int send_to_wire(struct cm_id *id, struct cm_msg *msg)
{
	bool again = id->resend && id->unsent.type == msg->type;

	id->pause = again ? 2 * id->pause : AWAY_FIRST_NS;
	if (id->pause > AWAY_LAST_NS)
		id->pause = AWAY_LAST_NS;
	id->unsent = *msg;
	id->resend = wants_answer(msg) ? process_now() + id->pause : 0;
	cm_remote_send(&id->peer, msg);
	return 0;
}

/* Send a message. It replaces an unsent one, whose information it includes. */
int cm_conn_send(struct cm_id *id, struct cm_msg *msg)
{
	int err;

	if (cm_name_is_remote(&id->peer))
		return send_to_wire(id, msg);
	err = cm_wire_send(&id->peer, msg);
	id->resend = 0;
	if (err != -EAGAIN)
		return err;
	id->unsent = *msg;
	id->resend = process_now() + RESEND_NS;
	return 0;
}

int cm_conn_send_status(struct cm_id *id, enum cm_type type, uint32_t status)
{
	struct cm_msg msg = make_message(id, type);

	msg.status = status;
	if (type == CM_DREQ)
		msg.qpn = id->remote_qpn;
	return cm_conn_send(id, &msg);
}

static void set_parameters(struct cm_id *id, struct cm_msg *msg,
			   const struct rdma_ucm_conn_param *param)
{
	id->responder_resources = param->responder_resources;
	id->initiator_depth = param->initiator_depth;
	msg->psn = id->rq_psn;
	msg->qpn = param->qp_num;
	msg->srq = param->srq;
	msg->qp_type = id->qp_type;
	msg->responder_resources = param->responder_resources;
	msg->initiator_depth = param->initiator_depth;
	msg->flow_control = param->flow_control;
	msg->retry_count = param->retry_count < 7 ? param->retry_count : 7;
	msg->rnr_retry_count = param->rnr_retry_count < 7 ? param->rnr_retry_count : 7;
	set_private(msg, param->private_data, param->private_data_len);
}

void cm_conn_refuse(struct cm_id *id, bool full)
{
	id->held = id->resend = 0;
	if (cm_conn_is_ud(id))
		cm_conn_end(id, CM_CLOSED, CM_EVENT_UNREACHABLE,
			    full ? CM_SIDR_REJECTED : CM_SIDR_UNSUPPORTED);
	else
		cm_conn_end(id, CM_CLOSED, CM_EVENT_REJECTED,
			    full ? CM_REJ_CONSUMER_DEFINED : CM_REJ_INVALID_SERVICE_ID);
}

struct request {
	struct cm_id *id;
	struct cm_msg msg;
};

static int send_request(const struct cm_name *to, void *arg)
{
	struct request *request = arg;

	request->id->peer = *to;
	return cm_conn_send(request->id, &request->msg);
}

static void wait_for_answer(struct cm_id *id)
{
	cm_conn_enter(id, cm_conn_is_ud(id) ? CM_SIDR_REQ_SENT : CM_REQ_SENT);
}

static void note_sent(struct cm_id *id)
{
	id->held = 0;
	wait_for_answer(id);
	cm_conn_watch(id);
}

static void hold_request(struct cm_id *id, const struct cm_msg *msg)
{
	id->unsent = *msg;
	id->resend = process_now() + LOOK_NS;
	wait_for_answer(id);
}

static int send_or_hold(struct cm_id *id, const struct cm_msg *msg)
{
	struct request request = { .id = id, .msg = *msg };
	int err;

	if (cm_name_is_remote(&id->peer))
		err = cm_conn_send(id, &request.msg);
	else
		err = cm_port_request(id->ps, &id->dst, send_request, &request);

	if (!err)
		note_sent(id);
	else if (err == -ENOENT && id->held > process_now())
		hold_request(id, msg);
	else if (err == -ENOENT || err == -ENOSPC)
		cm_conn_refuse(id, err == -ENOSPC);
	else
		return err;
	return 0;
}

void cm_conn_retry(struct cm_id *id)
{
	struct cm_msg msg = id->unsent;

	if (send_or_hold(id, &msg) < 0)
		cm_conn_refuse(id, false);
}

int cm_conn_connect(struct cm_id *id, const struct rdma_ucm_connect *cmd)
{
	const struct rdma_ucm_conn_param *param = &cmd->conn_param;
	struct cm_msg msg;

	if (!param->valid || id->state != CM_ROUTE_RESOLVED ||
	    param->private_data_len > (cm_conn_is_ud(id) ? SIDR_REQ_BYTES : REQ_BYTES))
		return -EINVAL;
	msg = make_message(id, cm_conn_is_ud(id) ? CM_SIDR_REQ : CM_REQ);
	msg.src = id->src;
	msg.dst = id->dst;
	msg.ece = cmd->ece;
	set_parameters(id, &msg, param);
	id->retry_count = msg.retry_count;
	id->held = process_now() + PATIENCE_NS;
	return send_or_hold(id, &msg);
}

static int accept_connection(struct cm_id *id, const struct rdma_ucm_accept *cmd)
{
	struct cm_msg msg = make_message(id, CM_REP);

	if (cmd->conn_param.private_data_len > REP_BYTES)
		return -EINVAL;
	msg.ece = cmd->ece;
	set_parameters(id, &msg, &cmd->conn_param);
	id->uid = cmd->uid;
	cm_conn_enter(id, CM_REP_SENT);
	if (cm_conn_send(id, &msg) == -ENOENT)
		cm_conn_end(id, CM_CLOSED, CM_EVENT_REJECTED, CM_REJ_INVALID_COMM_ID);
	return 0;
}

static int accept_datagrams(struct cm_id *id, const struct rdma_ucm_accept *cmd)
{
	struct cm_msg msg = make_message(id, CM_SIDR_REP);

	if (cmd->conn_param.private_data_len > SIDR_REP_BYTES)
		return -EINVAL;
	set_parameters(id, &msg, &cmd->conn_param);
	msg.qkey = id->qkey;
	id->uid = cmd->uid;
	cm_conn_send(id, &msg);
	cm_conn_enter(id, CM_CLOSED);
	return 0;
}

/* The active side reports that it is ready; a DREQ may have arrived before. */
static int establish_active(struct cm_id *id)
{
	if (id->state == CM_DREQ_RCVD)
		return 0;
	if (id->state != CM_REP_RCVD)
		return -EINVAL;
	cm_conn_enter(id, CM_ESTABLISHED);
	cm_conn_send_status(id, CM_RTU, 0);
	return 0;
}

int cm_conn_accept(struct cm_id *id, const struct rdma_ucm_accept *cmd)
{
	if (!cmd->conn_param.valid)
		return establish_active(id);
	if (id->state == CM_REQ_RCVD)
		return accept_connection(id, cmd);
	if (id->state == CM_SIDR_REQ_RCVD)
		return accept_datagrams(id, cmd);
	return -EINVAL;
}

int cm_conn_reject(struct cm_id *id, const struct rdma_ucm_reject *cmd)
{
	uint8_t reason = cmd->reason ? cmd->reason : CM_REJ_CONSUMER_DEFINED;
	bool sidr = id->state == CM_SIDR_REQ_RCVD;
	struct cm_msg msg = make_message(id, sidr ? CM_SIDR_REP : CM_REJ);

	if ((reason != CM_REJ_CONSUMER_DEFINED && reason != CM_REJ_VENDOR_OPTION) ||
	    cmd->private_data_len > (sidr ? SIDR_REP_BYTES : REJ_BYTES))
		return -EINVAL;
	if (!sidr && id->state != CM_REQ_RCVD && id->state != CM_REP_SENT &&
	    id->state != CM_REP_RCVD)
		return -EINVAL;
	msg.status = sidr ? CM_SIDR_REJECTED : reason;
	set_private(&msg, cmd->private_data, cmd->private_data_len);
	cm_conn_send(id, &msg);
	cm_conn_enter(id, CM_CLOSED);
	return 0;
}

int cm_conn_disconnect(struct cm_id *id)
{
	if (id->state < CM_REQ_SENT)
		return -EINVAL;
	if (id->state == CM_DREQ_RCVD) {
		cm_conn_send_status(id, CM_DREP, 0);
		cm_conn_enter(id, CM_TIMEWAIT);
	} else if (id->state == CM_ESTABLISHED) {
		cm_conn_enter(id, CM_DREQ_SENT);
		if (cm_conn_send_status(id, CM_DREQ, 0) == -ENOENT)
			cm_conn_end(id, CM_TIMEWAIT, CM_EVENT_DISCONNECTED, 0);
	}
	return 0;
}

int cm_conn_notify(struct cm_id *id, uint32_t event)
{
	if (event != IBV_EVENT_COMM_EST)
		return -EINVAL;
	if (id->state == CM_ESTABLISHED)
		return -EISCONN;
	if (id->state != CM_REP_SENT)
		return -EINVAL;
	cm_conn_end(id, CM_ESTABLISHED, CM_EVENT_ESTABLISHED, 0);
	return 0;
}

/* Drop a connection request that was not sent yet. */
static void drop_request(struct cm_id *id)
{
	id->held = id->resend = 0;
	cm_conn_enter(id, CM_CLOSED);
}

/* The id is destroyed: notify the peer as the kernel would. */
void cm_conn_hang_up(struct cm_id *id)
{
	if (id->held) {
		drop_request(id);
		return;
	}
	switch (id->state) {
	case CM_REQ_SENT:
		cm_conn_send_status(id, CM_REJ, CM_REJ_CONSUMER_DEFINED);
		break;
	case CM_REQ_RCVD:
	case CM_REP_SENT:
	case CM_REP_RCVD:
		cm_conn_send_status(id, CM_REJ, CM_REJ_CONSUMER_DEFINED);
		break;
	case CM_ESTABLISHED:
		cm_conn_send_status(id, CM_DREQ, 0);
		break;
	case CM_DREQ_RCVD:
		cm_conn_send_status(id, CM_DREP, 0);
		break;
	case CM_SIDR_REQ_RCVD:
		cm_conn_send_status(id, CM_SIDR_REP, CM_SIDR_REJECTED);
		break;
	default:
		break;
	}
	cm_conn_enter(id, CM_CLOSED);
}
