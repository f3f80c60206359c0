/*
 * Queue pairs as ends of traffic
 *
 * Each is identified by its object; attributes come from the model, which also knows what librdmacm
 * set.
 */
#include "cli/export/flow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/device.h"
#include "cli/export/pcapng.h"
#include "core/base/vec.h"

enum { HOPS = 64 };

void flow_put_lid(uint8_t gid[ROCE_GID], uint16_t lid)
{
	uint8_t made[ROCE_GID] = { [10] = 0xff, 0xff, 169, 254, (uint8_t)(lid >> 8), (uint8_t)lid };

	memcpy(gid, made, ROCE_GID);
}

static void set_way_from_path(struct packet_path *way, const struct device *device, uint32_t number,
			      const struct qp_path *path)
{
	const struct device_gid *own = device_find_gid(device, number, path->sgid_index);
	const struct device_port *port = device_find_port(device, number);

	if (path->is_global)
		memcpy(way->to, path->dgid, ROCE_GID);
	else
		flow_put_lid(way->to, path->dlid);
	if (path->is_global && own)
		memcpy(way->from, own->raw, ROCE_GID);
	else
		flow_put_lid(way->from, port ? port->lid : 0);
	way->traffic_class = path->is_global ? path->traffic_class : 0;
	way->hop_limit = path->is_global && path->hop_limit > 1 ? path->hop_limit : HOPS;
}

static struct packet_path reverse_way(const struct packet_path *way, uint32_t qp)
{
	struct packet_path back = *way;

	memcpy(back.from, way->to, ROCE_GID);
	memcpy(back.to, way->from, ROCE_GID);
	back.qp = qp;
	return back;
}

/* The interface of a port; its block is written before its first packet. */
static int find_interface(struct traffic *traffic, const struct life *context, uint32_t port,
			  uint32_t *ret_interface)
{
	const struct object *object = context ? trace_object(traffic->trace, context->id) : NULL;
	const struct object *device = object ? trace_object(traffic->trace, object->parent) : NULL;
	uint64_t key = (uint64_t)(device ? device->id : 0) << 16 | port, found;
	char name[96], shown[64] = "device";

	if (map_get(&traffic->interfaces, key, &found)) {
		*ret_interface = (uint32_t)found;
		return 0;
	}
	if (device)
		snprintf(shown, sizeof(shown), "%s", device->name);
	snprintf(name, sizeof(name), "%s/%u", shown, port);
	pcapng_write_interface(traffic->capture.file, name);
	*ret_interface = traffic->ninterfaces;
	return map_put(&traffic->interfaces, key, traffic->ninterfaces++);
}

static int add_flow(struct traffic *traffic, uint32_t object, struct flow **ret_flow)
{
	struct flow *flow = calloc(1, sizeof(*flow)), **slot;

	slot = flow ? vec_push(traffic->all, traffic->nall) : NULL;
	if (!slot || map_put(&traffic->flows, object, traffic->nall)) {
		if (slot)
			traffic->nall--;
		free(flow);
		return -ENOMEM;
	}
	*ret_flow = *slot = flow;
	return 0;
}

static uint8_t transport_of(int type)
{
	return type == QPT_UD                                         ? TRANSPORT_UD
	       : type == ABI_QPT_UC                                   ? TRANSPORT_UC
	       : type == ABI_QPT_XRC_SEND || type == ABI_QPT_XRC_RECV ? TRANSPORT_XRC
								      : 0;
}

static bool is_roce(const struct qp *qp)
{
	return !qp->iwarp &&
	       (qp->type == ABI_QPT_RC || qp->type == QPT_UD || qp->type == ABI_QPT_UC ||
		qp->type == ABI_QPT_XRC_SEND || qp->type == ABI_QPT_XRC_RECV);
}

int flow_find(struct traffic *traffic, const struct life *life, struct flow **ret_flow)
{
	const struct life *context;
	struct flow *flow;
	uint64_t at;
	int err;

	*ret_flow = NULL;
	if (!life || !life->id || !life->qp || !is_roce(life->qp))
		return 0;
	if (map_get(&traffic->flows, life->id, &at)) {
		*ret_flow = traffic->all[at - 1];
		return 0;
	}
	err = add_flow(traffic, life->id, &flow);
	if (err)
		return err;
	context = model_context(traffic->pass.model, life);
	flow->type = life->qp->type;
	flow->transport = transport_of(flow->type);
	flow->number = life->number;
	err = find_interface(traffic, context, life->qp->port ?: 1, &flow->there.interface);
	*ret_flow = flow;
	return err ? err : map_put(&traffic->numbers, life->number, 1);
}

void flow_refresh(struct traffic *traffic, struct flow *flow, const struct life *life)
{
	const struct life *context = model_context(traffic->pass.model, life);
	const struct qp *qp = life->qp;
	uint32_t mtu = qp->set & ABI_QP_PATH_MTU && qp->path_mtu - 1 < 5 ? 128u << qp->path_mtu
									 : ROCE_PAYLOAD;

	flow->there.mtu = flow->type == QPT_UD ? ROCE_PAYLOAD : mtu;
	flow->there.port = (uint16_t)(0xc000 | (life->number & 0x3fff));
	flow->there.qp = qp->dest_qp_num;
	flow->qkey = qp->qkey;
	flow->rnr_timer = qp->min_rnr_timer & 0x1f;
	set_way_from_path(&flow->there, context ? context->device : NULL, qp->port ?: 1, &qp->path);
	flow->back = reverse_way(&flow->there, life->number);
}

/* A modify has returned: it may have set PSNs. */
static int learn_psns(struct traffic *traffic, const struct trace_event *event)
{
	const struct life *life =
		model_life(traffic->pass.model, event->process, OBJECT_qp, event->call->handle);
	uint32_t mask = life ? qp_read_change(life, event->call->args).mask : 0;
	struct flow *flow;
	int err = flow_find(traffic, life, &flow);

	if (err || !flow)
		return err;
	if (mask & ABI_QP_SQ_PSN) {
		flow->psn = life->qp->sq_psn;
		flow->messages = 0;
		flow->nrequests = flow->first = 0;
	}
	if (mask & ABI_QP_RQ_PSN)
		flow->expected = life->qp->rq_psn;
	return 0;
}

/* An address handle. */
static int learn_ah_path(struct traffic *traffic, const struct trace_event *event)
{
	const struct args *args = event->call->args;
	struct qp_path path = { .is_global = args_number(args, ARG(attr.is_global)) != 0,
				.sgid_index = (uint8_t)args_number(args, ARG(attr.grh.sgid_index)),
				.hop_limit = (uint8_t)args_number(args, ARG(attr.grh.hop_limit)),
				.dlid = (uint16_t)args_number(args, ARG(attr.dlid)),
				.port = (uint8_t)args_number(args, ARG(attr.port_num)) };
	const char *gid = args_text(args, ARG(attr.grh.dgid.raw));
	struct qp_path *known;

	if (gid)
		place_parse_gid(gid, path.dgid);
	known = event->call->object ? vec_push(traffic->known, traffic->nknown) : NULL;
	if (!event->call->object)
		return 0;
	if (!known)
		return -ENOMEM;
	*known = path;
	return map_put(&traffic->paths, event->call->object, traffic->nknown);
}

int flow_learn(struct traffic *traffic, const struct trace_event *event)
{
	if (event->call->failed)
		return 0;
	if (event->call->verb == VERB_modify_qp)
		return learn_psns(traffic, event);
	return event->call->verb == VERB_create_ah ? learn_ah_path(traffic, event) : 0;
}

struct packet_path flow_find_way(struct traffic *traffic, const struct flow *flow,
				 const struct life *qp, uint32_t process, const struct wr *wr)
{
	const struct life *context = model_context(traffic->pass.model, qp), *ah;
	struct qp_path path = { 0 };
	struct packet_path way = flow->there;
	uint64_t at;

	if (flow->type != QPT_UD)
		return way;
	ah = model_life(traffic->pass.model, process, OBJECT_ah, wr->ah);
	if (ah && map_get(&traffic->paths, ah->id, &at))
		path = traffic->known[at - 1];
	set_way_from_path(&way, context ? context->device : NULL, path.port ?: qp->qp->port ?: 1,
			  &path);
	way.qp = wr->remote_qpn;
	return way;
}

void flow_free_all(struct traffic *traffic)
{
	for (size_t i = 0; i < traffic->nall; i++) {
		free(traffic->all[i]->requests);
		free(traffic->all[i]);
	}
	free(traffic->all);
	free(traffic->known);
	map_fini(&traffic->flows);
	map_fini(&traffic->interfaces);
	map_fini(&traffic->numbers);
	map_fini(&traffic->paths);
	map_fini(&traffic->unsent);
	text_fini(&traffic->comment);
}
