/*
 * PERF: queues and attributes that allow less than the devices do
 *
 * Reported once per queue, when it ends. What is slow by intention, a latency test or a ping-pong,
 * must stay silent: model/serial.h says how they differ.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/model/device.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/steady.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/serial.h"
#include "analyzer/model/vectors.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"
#include "core/base/span.h"

enum {
	READS = 64,         /* fewer are over in a millisecond */
	LEAST_TURNS = 64,   /* posts by turns: fewer are over in a millisecond */
	OFTEN_PERCENT = 75, /* percent of the requests */
	READ_FACTOR = 4, /* READs in flight, in multiples of the limit: fewer do not show a limit */
	PACKETS = 8,     /* packets of a message: with fewer, headers cost a few percent */
	LEAST_MESSAGES = 64, /* messages of the queue, at least */
	SHORT_MTU = 2,       /* enum ibv_mtu: up to 512 bytes, headers are a tenth */
};

/* With a longer MTU headers are a twentieth, which only matters for this many bytes. */
static const uint64_t much = 32 << 20;

static const struct device *device_of(struct check *check, const struct life *qp)
{
	const struct life *context = model_context(check->model, qp);

	return context ? context->device : NULL;
}

/* PERF-006 */
void perf_006(struct check *check, const struct model_exit *end)
{
	struct finding *finding;

	for (const struct vectors *v = NULL; (v = vectors_next(check->model, end->process, v));) {
		if (v->several || v->cqs < 2 || v->threads < 2 || v->available < 2)
			continue;
		finding = check_add_finding(check, RULE_PERF_006, &v->created, NULL, "comp_vector");
		if (!finding)
			continue;
		finding_text(&finding->object, "%s", v->last);
		finding_text(&finding->says,
			     "Threads wait for the events of %" PRIu32 " CQs, which are all on "
			     "completion vector %" PRId64 "; the device has %" PRId64 ".",
			     v->cqs, v->vector, v->available);
		finding_step(finding, "the last created", &v->created);
	}
}

/* How many READs the device allows; less if the device at the other end is known. */
static int64_t allowed_reads(struct check *check, const struct life *qp)
{
	const struct device *own = device_of(check, qp);
	const struct peer *other = peer_find_other(model_peers(check->model), qp->peer);
	int64_t most = own ? own->max_qp_init_rd_atom : 0;

	if (other && other->device && other->device->known && other->device->max_qp_rd_atom < most)
		most = other->device->max_qp_rd_atom;
	return most;
}

/* PERF-007 */
void perf_007(struct check *check, const struct life *life)
{
	const struct queue *queue = life->sq;
	const struct qp *qp = life->qp;
	struct finding *finding;
	int64_t allowed;
	char name[64];

	if (!queue || !qp || queue->doubt || !(qp->set & ABI_QP_MAX_QP_RD_ATOMIC) ||
	    !qp->max_rd_atomic || queue->stats.reads < READS ||
	    queue->stats.reads_waiting * 2 < queue->stats.reads ||
	    queue->most_reads < READ_FACTOR * qp->max_rd_atomic)
		return;
	allowed = allowed_reads(check, life);
	if (allowed < READ_FACTOR * (int64_t)qp->max_rd_atomic)
		return;
	finding = check_add_life(check, RULE_PERF_007, life, "ibv_modify_qp(): attr.max_rd_atomic",
				 0);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%" PRIu64 " of %" PRIu64 " READs and atomics of %s were posted while %" PRIu32
		     " (max_rd_atomic) or more were outstanding, at most %" PRIu32 "; the device "
		     "allows %" PRId64 " at once.",
		     queue->stats.reads_waiting, queue->stats.reads,
		     object_name_text(life, name, sizeof(name)), qp->max_rd_atomic,
		     queue->most_reads, allowed);
	finding_set_last_post(finding, queue, life->process);
}

/* PERF-008 */
void perf_008(struct check *check, const struct life *life)
{
	const struct queue *queue = life->sq;
	const struct queue_serial *serial = queue ? &queue->serial : NULL;
	struct finding *finding;
	int64_t both;
	char name[64], flight[32], whole[32];

	if (!serial || queue->doubt || !life->qp || life->qp->type != ABI_QPT_RC ||
	    serial->turns < LEAST_TURNS || queue->limits.given < SERIAL_ROOM ||
	    queue->high >= SERIAL_ROOM || serial->turns * 100 < queue->posted * OFTEN_PERCENT)
		return;
	finding = check_add_life(check, RULE_PERF_008, life, "ibv_post_send(): wr", 0);
	if (!finding)
		return;
	both = span_limit(serial->flight_ns + serial->gap_ns);
	finding_text(&finding->says,
		     "%" PRIu64 " of %" PRIu64 " requests of %s were posted alone, directly after "
		     "the completion of the one before, though the queue has room for %" PRIu32 ". "
		     "One request was outstanding in %s of %s, %.0f %% of the time.",
		     serial->turns, queue->posted, object_name_text(life, name, sizeof(name)),
		     queue->limits.given, words_format_span(serial->flight_ns, flight),
		     words_format_span(both, whole),
		     100 * (double)serial->flight_ns / ((double)both + 1));
	finding_set_last_post(finding, queue, life->process);
}

/* PERF-008: the queue pairs of a process in turn. */
void perf_008_turns(struct check *check, const struct model_exit *end)
{
	const struct steady *steady = steady_of(check->model, end->process);
	const struct steady_turns *turns = steady ? &steady->turns : NULL;
	struct finding *finding;
	char flight[32], whole[32];
	int64_t both;

	if (!turns || turns->n < LEAST_TURNS || turns->n * 100 < steady->sends * OFTEN_PERCENT)
		return;
	finding = findings_add(check->findings, RULE_PERF_008,
			       findings_key(end->process, turns->last.stack, 1));
	if (!finding)
		return;
	finding_at(finding, &turns->last);
	finding_text(&finding->where, "ibv_post_send(): wr");
	both = span_limit(turns->flight_ns + turns->gap_ns);
	finding_text(&finding->says,
		     "%" PRIu64 " of %" PRIu64 " requests of the process were posted alone, "
		     "directly after the completion of one on another queue pair, though each "
		     "queue was empty. One request was outstanding in %s of %s, %.0f %% of the "
		     "time.",
		     turns->n, steady->sends, words_format_span(turns->flight_ns, flight),
		     words_format_span(both, whole),
		     100 * (double)turns->flight_ns / ((double)both + 1));
	finding_step(finding, "the last", &turns->last);
}

static uint32_t port_of(const struct qp *qp)
{
	return qp->set & ABI_QP_AV && qp->path.port ? qp->path.port : qp->port;
}

/* The active MTU of the port at the other end; 0: not known. */
static uint32_t other_mtu(struct check *check, const struct life *qp)
{
	const struct peer *other = peer_find_other(model_peers(check->model), qp->peer);
	const struct device_port *port =
		other ? device_find_port(other->device, other->port) : NULL;

	return port ? port->active_mtu : 0;
}

static uint32_t mtu_bytes(uint32_t mtu)
{
	return 128u << mtu;
}

static bool has_many_packets(const struct queue *queue, uint32_t mtu)
{
	return queue->posted >= LEAST_MESSAGES &&
	       queue->stats.bytes / queue->posted >= PACKETS * (uint64_t)mtu_bytes(mtu) &&
	       (mtu <= SHORT_MTU || queue->stats.bytes >= much);
}

/* PERF-009 */
void perf_009(struct check *check, const struct life *life)
{
	const struct queue *queue = life->sq;
	const struct qp *qp = life->qp;
	const struct device_port *port;
	struct finding *finding;
	uint32_t other;
	char name[64];

	if (!queue || !qp || queue->doubt || qp->iwarp || !(qp->set & ABI_QP_PATH_MTU) ||
	    (qp->type != ABI_QPT_RC && qp->type != ABI_QPT_UC) || !qp->path_mtu ||
	    !has_many_packets(queue, qp->path_mtu))
		return;
	port = device_find_port(device_of(check, life), port_of(qp));
	other = other_mtu(check, life);
	if (!port || port->active_mtu <= qp->path_mtu || (other && other <= qp->path_mtu))
		return;
	finding = check_add_life(check, RULE_PERF_009, life, "ibv_modify_qp(): attr.path_mtu", 0);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "path_mtu of %s is %" PRIu32 " bytes; the active MTU of %s is %" PRIu32
		     "%s. Its %" PRIu64 " requests had %" PRIu64 " packets each on average.",
		     object_name_text(life, name, sizeof(name)), mtu_bytes(qp->path_mtu),
		     other ? "the ports at both ends" : "its port",
		     mtu_bytes(other && other < port->active_mtu ? other : port->active_mtu),
		     other ? " or more" : ", and the port at the other end is not in the trace",
		     queue->posted, queue->stats.bytes / queue->posted / mtu_bytes(qp->path_mtu));
	finding_set_last_post(finding, queue, life->process);
}
