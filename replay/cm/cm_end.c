/*
 * Identifiers in the replay: creation, destruction, and their events
 *
 * Events are stored with their identifier until a recorded call gets them, since events of
 * different identifiers may come in another order. A connection request is stored with the end that
 * sent it, which its source port identifies.
 *
 * Events are acknowledged as soon as they have been copied, so that no destroy waits for them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "replay/cm/cm_priv.h"
#include "replay/device/dispatch.h"
#include "replay/report/pace.h"
#include "replay/state/recorded_fault.h"

struct rdma_event_channel *cm_channel_of(struct replay *r, uint32_t object)
{
	struct cm *cm = r->cm;
	struct cm_channel *add;

	for (size_t i = 0; i < cm->nchannels; i++)
		if (cm->channels[i].object == object)
			return cm->channels[i].channel;
	add = vec_push(cm->channels, cm->nchannels);
	if (!add)
		return NULL;
	add->object = object;
	add->channel = cm->lib.create_event_channel();
	if (add->channel)
		fcntl(add->channel->fd, F_SETFL, fcntl(add->channel->fd, F_GETFL) | O_NONBLOCK);
	return add->channel;
}

static void store_arrival(struct cm_end *end, struct cm_arrival *arrival)
{
	*end->last = arrival;
	end->last = &arrival->next;
}

static void copy_event(const struct rdma_cm_event *event, struct cm_arrival *arrival)
{
	const void *data;

	arrival->type = event->event;
	arrival->status = event->status;
	arrival->datagrams = event->id->qp_type == IBV_QPT_UD;
	if (arrival->datagrams)
		arrival->ud = event->param.ud;
	else
		arrival->conn = event->param.conn;
	data = arrival->datagrams ? arrival->ud.private_data : arrival->conn.private_data;
	if (arrival->datagrams)
		arrival->conn.private_data_len = arrival->ud.private_data_len;
	if (data)
		memcpy(arrival->data, data, arrival->conn.private_data_len);
}

static uint64_t port_key(enum rdma_port_space ps, uint16_t port)
{
	return (uint64_t)ps << 16 | port;
}

int cm_note_port(struct replay *r, struct cm_end *end)
{
	uint16_t port = r->cm->lib.get_src_port(end->id);

	return port ? map_put(&r->cm->ports, port_key(end->id->ps, port), (uintptr_t)end) : 0;
}

/* The end of this replay that sent the request @id; NULL: another program, which is rejected. */
static struct cm_end *find_asking_end(struct replay *r, struct rdma_cm_id *id)
{
	uint64_t end;

	if (!map_get(&r->cm->ports, port_key(id->ps, r->cm->lib.get_dst_port(id)), &end))
		return NULL;
	return (struct cm_end *)(uintptr_t)end;
}

static void note_cm_request(struct replay *r, struct rdma_cm_id *id, struct cm_arrival *arrival)
{
	struct cm_end *asking = find_asking_end(r, id), *asked;

	asked = asking && !asking->asked ? calloc(1, sizeof(*asked)) : NULL;
	if (!asked) {
		r->cm->lib.destroy_id(id);
		free(arrival);
		return;
	}
	asked->id = id;
	asked->datagrams = arrival->datagrams;
	asked->last = &asked->first;
	id->context = asked;
	asking->asked = asked;
	store_arrival(asked, arrival);
}

static void note_cm_arrival(struct replay *r, struct rdma_cm_event *event)
{
	struct cm_arrival *arrival = calloc(1, sizeof(*arrival));
	struct rdma_cm_id *id = event->id;
	bool request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;

	if (arrival)
		copy_event(event, arrival);
	r->cm->lib.ack_cm_event(event);
	if (!arrival)
		return;
	if (request)
		note_cm_request(r, id, arrival);
	else if (id->context && arrival->type == RDMA_CM_EVENT_ADDR_RESOLVED)
		cm_note_port(r, id->context); /* known from here on */
	if (!request && id->context)
		store_arrival(id->context, arrival);
	else if (!request)
		free(arrival);
}

void cm_read_events(struct replay *r)
{
	struct rdma_cm_event *event;

	for (size_t i = 0; i < r->cm->nchannels; i++) {
		struct rdma_event_channel *channel = r->cm->channels[i].channel;
		struct pollfd p = { .fd = channel ? channel->fd : -1, .events = POLLIN };

		while (channel && poll(&p, 1, 0) == 1 && !r->cm->lib.get_cm_event(channel, &event))
			note_cm_arrival(r, event);
	}
}

struct cm_arrival *cm_arrival_take(struct cm_end *end)
{
	struct cm_arrival *arrival = end->first;

	if (!arrival)
		return NULL;
	end->first = arrival->next;
	if (!end->first)
		end->last = &end->first;
	arrival->next = NULL;
	return arrival;
}

void cm_arrivals_drop(struct cm_end *end)
{
	struct cm_arrival *arrival;

	while ((arrival = cm_arrival_take(end)))
		free(arrival);
}

bool cm_await(struct replay *r, struct cm_end *end, int64_t deadline)
{
	unsigned int turns = 0;

	for (cm_read_events(r); !end->first; cm_read_events(r))
		if (!pace_wait(&turns, deadline))
			return false;
	return true;
}

bool cm_await_type(struct replay *r, struct cm_end *end, enum rdma_cm_event_type type,
		   int64_t deadline)
{
	while (cm_await(r, end, deadline)) {
		struct cm_arrival *arrival = cm_arrival_take(end);
		bool is = arrival->type == type;

		free(arrival);
		if (is)
			return true;
	}
	return false;
}

bool cm_await_request(struct replay *r, struct cm_end *end, int64_t deadline)
{
	unsigned int turns = 0;

	for (cm_read_events(r); !end->asked; cm_read_events(r))
		if (!pace_wait(&turns, deadline))
			return false;
	return true;
}

int cm_open_end(struct replay *r, struct cm_end *end, struct rdma_event_channel *channel,
		enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	if (!channel || r->cm->lib.create_id(channel, &id, end, ps))
		return channel ? -errno : -ENODEV;
	end->id = id;
	end->datagrams = id->qp_type == IBV_QPT_UD;
	return 0;
}

/* Leave all groups: only then librdmacm frees its state of them. */
static void leave_groups(struct replay *r, struct cm_end *end)
{
	for (size_t i = 0; end->id && i < end->ngroups; i++)
		r->cm->lib.leave_multicast(end->id, (struct sockaddr *)&end->groups[i]);
	free(end->groups);
	end->groups = NULL;
	end->ngroups = 0;
}

void cm_close_end(struct replay *r, struct cm_end *end)
{
	if (end->asked) {
		cm_close_end(r, end->asked);
		free(end->asked);
		end->asked = NULL;
	}
	leave_groups(r, end);
	if (end->id) {
		uint64_t has;
		uint64_t key = (uint64_t)end->id->ps << 16 | r->cm->lib.get_src_port(end->id);

		if (map_get(&r->cm->ports, key, &has) && has == (uintptr_t)end)
			map_remove(&r->cm->ports, key);
		r->cm->lib.destroy_id(end->id);
	}
	end->id = NULL;
	end->waits = false;
	cm_arrivals_drop(end);
}

const struct cm_parameters cm_connection = CM_PARAMETERS(event.conn);
const struct cm_parameters cm_datagrams = { .private_data = ARG(event.ud.private_data),
					    .private_data_len = ARG(event.ud.private_data_len),
					    .qp_num = ARG(event.ud.qp_num) };

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

uint8_t cm_copy_private_data(const struct args *args, const struct cm_parameters *of,
			     uint8_t data[CM_DATA], bool *ret_known)
{
	uint8_t length = (uint8_t)args_number(args, of->private_data_len);
	const char *hex = args_text(args, of->private_data);

	memset(data, 0, CM_DATA);
	*ret_known = !length || hex;
	for (unsigned int i = 0; hex && i < length && hex[2 * i] && hex[2 * i + 1]; i++) {
		int high = digit_of(hex[2 * i]), low = digit_of(hex[2 * i + 1]);

		if (high < 0 || low < 0) {
			*ret_known = false;
			break;
		}
		data[i] = (uint8_t)(high << 4 | low);
	}
	return length;
}

void cm_fail_queue(struct replay *r, uint32_t qp)
{
	const struct replica *replica = qp ? replica_of(r, qp) : NULL;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	const uint64_t args[16] = { replica ? (uintptr_t)replica->handle : 0, (uintptr_t)&attr,
				    IBV_QP_STATE };

	if (args[0])
		dispatch_call(VERB_modify_qp, args);
}

void cm_end_connection(struct replay *r, uint32_t qp)
{
	cm_fail_queue(r, qp);
	for (uint32_t i = 1; r->cm && i < r->cm->nends; i++) {
		const struct cm_end *end = r->cm->ends[i];

		if (end && end->id && end->qp == qp) {
			r->cm->lib.disconnect(end->id);
			recorded_faults_count(r);
			return;
		}
	}
}
