/*
 * "state of OBJECT": its kind, its attributes, the call that made it
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/model/device.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/window.h"
#include "analyzer/model/words.h"
#include "cli/format.h"
#include "cli/query/answer.h"

/* Attributes that are numbers: bit of enum ibv_qp_attr_mask, member, format as in dump. */
#define EACH_QP_NUMBER(X)                               \
	X(PORT, port, "%u")                             \
	X(PKEY_INDEX, pkey_index, "%u")                 \
	X(QKEY, qkey, "0x%x")                           \
	X(DEST_QPN, dest_qp_num, "0x%x")                \
	X(RQ_PSN, rq_psn, "0x%x")                       \
	X(SQ_PSN, sq_psn, "0x%x")                       \
	X(MAX_QP_RD_ATOMIC, max_rd_atomic, "%u")        \
	X(MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, "%u") \
	X(MIN_RNR_TIMER, min_rnr_timer, "%u")           \
	X(TIMEOUT, timeout, "%u")                       \
	X(RETRY_CNT, retry_cnt, "%u")                   \
	X(RNR_RETRY, rnr_retry, "%u")

static void add_moment(struct table *facts, const struct view *view, const char *property,
		       const struct moment *moment)
{
	char text[VIEW_TEXT];

	if (view_moment(view, moment, text))
		properties_add(facts, property, "%s", text);
}

static void add_access(struct table *properties, const char *property, uint32_t access)
{
	char text[VIEW_TEXT];

	properties_add(properties, property, "%s", name_access(access, text));
}

static void add_path(struct table *facts, const struct qp *qp)
{
	char gid[48];

	if (!(qp->set & ABI_QP_AV))
		return;
	if (qp->path.is_global)
		properties_add(facts, "address", "GID %s, sgid_index %u, hop_limit %u, port %u",
			       gid_text(qp->path.dgid, gid), qp->path.sgid_index,
			       qp->path.hop_limit, qp->path.port);
	else
		properties_add(facts, "address", "LID 0x%x, port %u", qp->path.dlid, qp->path.port);
}

/* The members of struct ibv_ah_attr. */
static void add_ah(struct table *facts, const struct life *life)
{
	const struct qp_path *path = life->path;
	char gid[48];

	if (!path)
		return;
	properties_add(facts, "port_num", "%u", path->port);
	properties_add(facts, "dlid", "0x%x", path->dlid);
	properties_add(facts, "sl", "%u", path->sl);
	properties_add(facts, "src_path_bits", "%u", path->src_path_bits);
	properties_add(facts, "static_rate", "%u", path->static_rate);
	properties_add(facts, "is_global", "%u", path->is_global != 0);
	if (!path->is_global)
		return;
	properties_add(facts, "dgid", "%s", gid_text(path->dgid, gid));
	if (path->back)
		properties_add(facts, "sgid_index", "of the GID that the datagram was sent to");
	else
		properties_add(facts, "sgid_index", "%u", path->sgid_index);
	properties_add(facts, "flow_label", "0x%x", path->flow_label);
	properties_add(facts, "traffic_class", "%u", path->traffic_class);
	if (!path->back)
		properties_add(facts, "hop_limit", "%u", path->hop_limit);
}

static void add_mtu(struct table *facts, uint32_t mtu)
{
	if (mtu >= 1 && mtu <= 5)
		properties_add(facts, "path_mtu", "%u", 128u << mtu);
	else
		properties_add(facts, "path_mtu", "%u, which does not exist", mtu);
}

/* Add the attributes that the program has set; other attributes are not known. */
static void add_attributes(struct table *facts, const struct qp *qp)
{
#define ADD_NUMBER(bit, member, format) \
	if (qp->set & ABI_QP_##bit)     \
		properties_add(facts, #member, format, qp->member);
	EACH_QP_NUMBER(ADD_NUMBER)
#undef ADD_NUMBER
	if (qp->set & ABI_QP_PATH_MTU)
		add_mtu(facts, qp->path_mtu);
	if (qp->set & ABI_QP_ACCESS_FLAGS)
		add_access(facts, "qp_access_flags", qp->access);
	add_path(facts, qp);
}

static void add_queue(struct table *facts, const char *property, const struct queue *queue)
{
	char room[32] = "", doubt[64] = "";

	if (!queue)
		return;
	if (queue->limits.given || queue->limits.asked)
		snprintf(room, sizeof(room), " of %u", queue->limits.given ?: queue->limits.asked);
	if (queue->doubt)
		snprintf(doubt, sizeof(doubt), "; NOT CERTAIN: %s",
			 words_explain_doubt(queue->doubt));
	properties_add(facts, property, "%u%s outstanding, %u of them signalled; maximum %u%s",
		       queue->outstanding, room, queue->signalled, queue->high, doubt);
}

static void add_qp(struct table *facts, const struct view *view, const struct life *life)
{
	const struct qp *qp = life->qp;
	char since[VIEW_TEXT];

	if (!qp)
		return;
	if (life->kind == OBJECT_qp)
		properties_add(facts, "type", "%s, qp_num 0x%x", qp_type_name(qp->type),
			       life->number);
	if (qp->changing)
		properties_add(facts, "state", "being modified");
	else if (qp->state != QP_UNKNOWN && life->kind == OBJECT_qp)
		properties_add(facts, "state", "%s%s%s%s", qp_state_name(qp->state),
			       qp->error_reported ? " by an error" : "",
			       view_moment(view, &qp->moved, since) ? " since " : "",
			       view_moment(view, &qp->moved, since) ? since : "");
	else if (life->kind == OBJECT_qp)
		properties_add(facts, "state", "not known");
	add_attributes(facts, qp);
}

static void add_cq(struct table *facts, const struct life *life)
{
	const struct queue_cq *cq = life->cq;

	if (!cq)
		return;
	properties_add(facts, "entries", "%u, requested %u", cq->given, cq->asked);
	properties_add(facts, "queues", "%u complete here", cq->queues);
	properties_add(facts, "may complete",
		       "%" PRIu64 " requests outstanding, %" PRIu64 " of them signalled; maximum "
		       "%" PRIu64,
		       cq->could, cq->signalled, cq->high);
	properties_add(facts, "events", "%" PRIu64 " retrieved, but not acknowledged",
		       life->events);
}

static void add_range(struct table *facts, uint64_t addr, uint64_t length, uint32_t access)
{
	properties_add(facts, "range", "0x%" PRIx64 " to 0x%" PRIx64 ", %" PRIu64 " bytes", addr,
		       addr + length, length);
	add_access(facts, "access", access);
}

static void add_window(struct table *facts, const struct view *view, const struct key *key)
{
	enum window_state state = window_state(view->model, key);

	if (state == WINDOW_UNBOUND) {
		add_moment(facts, view, "unbound", &key->bind.at);
		return;
	}
	add_range(facts, key->bind.addr, key->bind.length, key->bind.access);
	add_moment(facts, view, "bound", &key->bind.at);
	if (state != WINDOW_BOUND)
		add_moment(facts, view,
			   state == WINDOW_INVALID ? "invalidated" : "perhaps invalidated",
			   &key->invalid.at);
}

static void add_region(struct table *facts, const struct view *view, const struct life *life)
{
	const struct key *key =
		keys_find_object(model_keys(view->model), life->process, life->kind, life->handle);
	struct queue_users named;
	char id[32];

	if (!key)
		return;
	if (key->kind == OBJECT_mw)
		add_window(facts, view, key);
	else
		add_range(facts, key->addr, key->length, key->access);
	properties_add(facts, "keys", "lkey 0x%x, rkey 0x%x", key->lkey, key->rkey);
	if (life->pinned)
		properties_add(facts, "pinned", "%" PRIu64 " bytes", life->pinned);
	named = queues_find_users(view->model, life);
	if (named.n)
		properties_add(facts, "in flight", "%" PRIu64 " requests use it, the first %s",
			       named.n, event_id_text(queue_id(named.request), id));
}

static void add_parents(struct table *facts, const struct life *life)
{
	for (const struct life_link *link = life->parents; link; link = link->next_parent)
		properties_add(facts, "depends on", "%s", link->parent->name);
}

/* The objects that prevent it from being destroyed, by kind. */
static void add_children(struct table *facts, const struct life *life)
{
	unsigned int n[OBJECT_COUNT] = { 0 };

	for (const struct life_link *link = life_first_child(life); link;
	     link = life_next_child(life, link))
		n[link->child->kind]++;
	for (int kind = 0; kind < OBJECT_COUNT; kind++)
		if (n[kind])
			properties_add(facts, "is needed by", "%u %s", n[kind], object_names[kind]);
}

static void add_life(struct table *facts, const struct view *view, const struct life *life)
{
	static const char *const states[] = {
		[LIFE_LIVE] = "alive",
		[LIFE_DYING] = "being destroyed",
		[LIFE_GONE] = "destroyed",
		[LIFE_CLOSED] = "its context was closed",
	};

	properties_add(facts, "life", "%s%s", states[life->state],
		       life->inherited ? ", inherited from the parent process" : "");
	add_qp(facts, view, life);
	add_queue(facts, "send queue", life->sq);
	add_queue(facts, life->kind == OBJECT_qp && life->qp && life->qp->srq ? "SRQ" : "receives",
		  life->rq);
	add_cq(facts, life);
	add_region(facts, view, life);
	add_ah(facts, life);
	add_parents(facts, life);
	add_children(facts, life);
	add_moment(facts, view, "made", &life->created);
	add_moment(facts, view, "destroy began", &life->ending);
	add_moment(facts, view, "destroy failed", &life->refused);
}

void answer_state(struct answer *answer, const struct view *view, const struct object *object,
		  const struct life *life)
{
	struct table *facts = properties_new("state");

	properties_add(facts, "kind", "%s, handle 0x%" PRIx64, object_names[object->kind],
		       object->handle);
	if (life)
		add_life(facts, view, life);
	else
		properties_add(facts, "life",
			       "unknown: it was created before the recording, or imported");
	answer_table(answer, facts);
}
