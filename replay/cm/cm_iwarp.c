/*
 * Queue pairs of an iWARP device, which librdmacm alone connects
 *
 *	recorded with librdmacm	by its rdma_connect() and rdma_accept(), which are replayed
 *	by ibv_modify_qp()	when the first of both is moved to RTR: one of them listens at an
 *				address of the device, the other connects there
 *
 * A queue pair is connected only once: its events after a reset and another connect are left out.
 * ibv_modify_qp() to RTR and RTS is not called then. Synthesized ends (synth.c, cm_synth.c) are not
 * connected: an iWARP reply needs a queue pair, which is then in RTS, and the first message must
 * come from the connecting side. If only one side was recorded, its connections are left out.
 */
#include <stdlib.h>

#include "core/base/vec.h"
#include "replay/cm/cm_priv.h"
#include "replay/state/cut.h"
#include "replay/report/pace.h"
#include "replay/state/recorded.h"

static const char by_librdmacm[] = "queue pairs of an iWARP device are connected by librdmacm";

/* Values of map joined. READY: this side was moved to RTR, too; WAS_READY: later it was reset. */
enum { JOINED = 1, READY, WAS_READY };

static bool is_iwarp(const struct ibv_device *device)
{
	return device->transport_type == IBV_TRANSPORT_IWARP;
}

bool cm_has_iwarp(const struct replay *r)
{
	const struct device *device;

	for (unsigned int i = 0; (device = devices_nth_used(r->devices, i)); i++)
		if (is_iwarp(device->device))
			return true;
	return false;
}

const char *cm_why_not_connected(const struct replay *r, const struct cm_end *end)
{
	if (!end || end->partner || end->refused || end->datagrams || !cm_has_iwarp(r))
		return NULL;
	return "peers cannot be synthesized on an iWARP device";
}

/* Stop replaying a queue pair whose identifier's connection is left out; returns why, or NULL. */
static const char *cut_unconnected_qp(struct replay *r, uint32_t qp)
{
	const char *why = NULL;
	uint64_t end;

	if (map_get(&r->cm->of_qp, qp, &end))
		why = cm_why_not_connected(r, cm_end_of(r, (uint32_t)end));
	if (why)
		cut_connection(r, qp, 0, why);
	return why;
}

bool cm_connects(const struct replay *r, uint32_t object)
{
	const struct replica *replica =
		object < r->nreplicas && object ? &r->replicas[object] : NULL;
	const struct ibv_qp *qp = replica && replica->qp ? replica->handle : NULL;

	return qp && r->cm && r->cm->driven && is_iwarp(qp->context->device);
}

static bool is_joined(const struct cm *cm, uint32_t qp)
{
	uint64_t at;

	return map_get(&cm->joined, qp, &at);
}

static bool is_joined_as(const struct cm *cm, uint32_t qp, uint64_t as)
{
	uint64_t at;

	return map_get(&cm->joined, qp, &at) && at == as;
}

/* Note that @a and @b are each other's peers. */
static void note_peers(struct replay *r, uint32_t a, uint32_t b)
{
	struct replica *one = replica_of(r, a), *other = replica_of(r, b);

	if (!one || !other || !one->qp || !other->qp || one->qp->peer == b)
		return;
	one->qp->peer = b;
	other->qp->peer = a;
	outcome_relate_objects(r->outcome, a, b);
	outcome_relate_objects(r->outcome, b, a);
}

int cm_note_connected(struct replay *r, const struct cm_end *end)
{
	const struct cm_end *partner = cm_end_of(r, end->partner);

	if (!end->qp || !cm_connects(r, end->qp))
		return 0;
	if (partner)
		note_peers(r, end->qp, partner->qp);
	return map_put(&r->cm->joined, end->qp, JOINED);
}

static struct rdma_conn_param make_parameters(const struct replay *r, uint32_t qp)
{
	return (struct rdma_conn_param){ .responder_resources = 1,
					 .initiator_depth = 1,
					 .retry_count = 7,
					 .rnr_retry_count = 7,
					 .qp_num = r->replicas[qp].number };
}

/* Connect @asking, with queue pair @qp, to @listening at an address of the device of @qp. */
static bool connect_locally(struct replay *r, struct cm_end *asking, struct cm_end *listening,
			    uint32_t qp, int64_t deadline)
{
	const struct ibv_qp *here = r->replicas[qp].handle;
	struct rdma_conn_param param = make_parameters(r, qp);
	const struct cm_lib *lib = &r->cm->lib;
	struct sockaddr_storage own;

	if (!cm_address_find_own(r, ibv_get_device_name(here->context->device), &own) ||
	    cm_open_end(r, listening, cm_channel_of(r, 0), RDMA_PS_TCP) ||
	    cm_open_end(r, asking, cm_channel_of(r, 0), RDMA_PS_TCP) ||
	    lib->bind_addr(listening->id, (struct sockaddr *)&own) || lib->listen(listening->id, 1))
		return false;
	*cm_address_port(&own) = lib->get_src_port(listening->id);
	return !lib->resolve_addr(asking->id, NULL, (struct sockaddr *)&own, 2000) &&
	       cm_await_type(r, asking, RDMA_CM_EVENT_ADDR_RESOLVED, deadline) &&
	       !lib->resolve_route(asking->id, 2000) &&
	       cm_await_type(r, asking, RDMA_CM_EVENT_ROUTE_RESOLVED, deadline) &&
	       !lib->connect(asking->id, &param) && cm_await_request(r, asking, deadline);
}

/* Connect by librdmacm. The identifiers exist until the end: their destruction disconnects. */
static bool connect_by_cm(struct replay *r, uint32_t qp, uint32_t peer)
{
	int64_t deadline = pace_now() + r->options->timeout;
	struct cm_end *listening = cm_synth_new(r), *asking = cm_synth_new(r);
	struct rdma_conn_param param = make_parameters(r, peer);

	if (!listening || !asking || map_put(&r->cm->joined, qp, JOINED) ||
	    map_put(&r->cm->joined, peer, JOINED))
		return false;
	return connect_locally(r, asking, listening, qp, deadline) &&
	       !r->cm->lib.accept(asking->asked->id, &param) &&
	       cm_await_type(r, asking->asked, RDMA_CM_EVENT_ESTABLISHED, deadline) &&
	       cm_await_type(r, asking, RDMA_CM_EVENT_ESTABLISHED, deadline);
}

/* Connect queue pair @qp, which was connected to @peer (0: not in the trace) by ibv_modify_qp(). */
static const char *connect_pair(struct replay *r, uint32_t qp, uint32_t peer)
{
	const struct replica *other = replica_of(r, peer);
	const char *why = NULL;

	if (is_joined(r->cm, qp) && !is_joined_as(r->cm, qp, WAS_READY))
		return NULL;
	if (is_joined(r->cm, qp))
		why = "a queue pair of an iWARP device is connected only once";
	else if (peer == qp)
		why = "a queue pair of an iWARP device is not connected to itself";
	else if (!peer)
		why = "peers of queue pairs cannot be synthesized on an iWARP device";
	else if (other->qp && other->qp->cut)
		why = "the peer of its queue pair is not replayed";
	else if (!other->handle && other->made)
		why = "the peer of its queue pair was not created in the replay";
	else if (other->handle && !connect_by_cm(r, qp, peer))
		why = "librdmacm could not connect its queue pair in the replay";
	if (why)
		cut_connection(r, qp, 0, why);
	else
		note_peers(r, qp, peer);
	return why;
}

static const char *note_ready(struct replay *r, uint32_t qp)
{
	return is_joined(r->cm, qp) && map_put(&r->cm->joined, qp, READY) ? "no memory" : NULL;
}

bool cm_modify(struct replay *r, uint32_t qp, uint32_t peer, const struct ibv_qp_attr *attr,
	       int mask, const char **ret_needless, const char **ret_why)
{
	uint64_t of_program;

	if (!(mask & IBV_QP_STATE) || !cm_connects(r, qp) || attr->qp_state > IBV_QPS_RTS)
		return false;
	if (attr->qp_state == IBV_QPS_RESET) {
		if (is_joined_as(r->cm, qp, READY))
			map_put(&r->cm->joined, qp, WAS_READY);
		return false;
	}
	*ret_why = cut_unconnected_qp(r, qp);
	if (*ret_why) {
		*ret_needless = by_librdmacm;
		return true;
	}
	if (attr->qp_state == IBV_QPS_INIT ||
	    devices_was_iwarp(r->devices, recorded_device_name(r, qp))) {
		*ret_needless = is_joined(r->cm, qp) ? by_librdmacm : NULL;
		return *ret_needless;
	}
	*ret_needless = by_librdmacm;
	if (mask & IBV_QP_DEST_QPN && !map_get(&r->cm->of_qp, qp, &of_program))
		*ret_why = connect_pair(r, qp, peer) ?: note_ready(r, qp);
	return true;
}
