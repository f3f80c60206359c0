/*
 * "peer of QP": the other end of a queue pair, and whether their attributes match
 */
#include <stdio.h>
#include <string.h>

#include "analyzer/model/device.h"
#include "analyzer/model/qp.h"
#include "cli/query/answer.h"

/* A value of this end, and the corresponding value of the other end. */
#define EACH_PAIR(X)                                                    \
	X("sq_psn", SQ_PSN, sq_psn)                                     \
	X("rq_psn", RQ_PSN, rq_psn)                                     \
	X("dest_qp_num", DEST_QPN, dest_qp_num)                         \
	X("path_mtu", PATH_MTU, path_mtu)                               \
	X("max_rd_atomic", MAX_QP_RD_ATOMIC, max_rd_atomic)             \
	X("max_dest_rd_atomic", MAX_DEST_RD_ATOMIC, max_dest_rd_atomic) \
	X("rnr_retry", RNR_RETRY, rnr_retry)                            \
	X("min_rnr_timer", MIN_RNR_TIMER, min_rnr_timer)                \
	X("timeout", TIMEOUT, timeout)                                  \
	X("retry_cnt", RETRY_CNT, retry_cnt)

/* Add a value as other commands print it: QP numbers and PSNs in hexadecimal, the MTU in bytes. */
static void add_number(struct table *table, const struct qp *qp, uint32_t bit, uint32_t value)
{
	bool is_hex = bit & (ABI_QP_DEST_QPN | ABI_QP_SQ_PSN | ABI_QP_RQ_PSN);
	bool is_mtu = bit == ABI_QP_PATH_MTU && value >= 1 && value <= 5;
	char text[16];

	snprintf(text, sizeof(text), is_hex ? "0x%x" : "%u", is_mtu ? 128u << value : value);
	table_text(table, qp && qp->set & bit ? text : NULL);
}

static void add_state(struct table *table, const struct life *life)
{
	table_text(table, life && life->qp ? qp_state_name(qp_state(life)) : "gone");
}

static void list_ends(struct answer *answer, const struct life *life, const struct life *other)
{
	static const struct column columns[] = { { "attribute", COLUMN_TEXT },
						 { "this_end", COLUMN_TEXT },
						 { "the_other", COLUMN_TEXT },
						 { 0 } };
	const struct qp *one = life->qp, *two = other ? other->qp : NULL;
	struct table *table = table_new("both ends", columns);

	table_text(table, "state");
	add_state(table, life);
	add_state(table, other);
#define ADD_PAIR(name, bit, member)                                  \
	table_text(table, name);                                     \
	add_number(table, one, ABI_QP_##bit, one ? one->member : 0); \
	add_number(table, two, ABI_QP_##bit, two ? two->member : 0);
	EACH_PAIR(ADD_PAIR)
#undef ADD_PAIR
	answer_table(answer, table);
}

/* Print queue pairs with that number and address, connected to another one, or not yet. */
static void print_candidates(struct answer *answer, const struct view *view,
			     const struct peer *peer)
{
	const struct peer *meant = peer_find_intended(model_peers(view->model), peer);
	char process[PROCESS_TEXT];

	if (!meant || !meant->life)
		return;
	if (meant->connected)
		answer_note(answer, "%s of %s has this number, but its dest_qp_num is 0x%x",
			    meant->life->name, process_id_text(meant->process, process),
			    meant->dest);
	else
		answer_note(answer, "%s of %s has this number, but is not connected yet",
			    meant->life->name, process_id_text(meant->process, process));
}

static void print_unknown(struct answer *answer, const struct view *view, const struct peer *peer)
{
	char gid[48];

	if (!peer || !peer->connected)
		answer_note(answer, "unknown: the trace has no modify to RTR of this queue pair");
	else if (peer->place.is_global)
		answer_note(answer,
			    "unknown: it was connected to qp_num 0x%x at GID %s, which matches no "
			    "queue pair of the trace",
			    peer->dest, gid_text(peer->place.gid, gid));
	else
		answer_note(answer,
			    "unknown: it was connected to qp_num 0x%x at LID 0x%x, which matches "
			    "no queue pair of the trace",
			    peer->dest, peer->place.lid);
	if (peer && peer->connected)
		print_candidates(answer, view, peer);
}

void answer_peer(struct answer *answer, const struct view *view, const struct object *object,
		 const struct life *life)
{
	struct peer *peer = life ? life->peer : NULL;
	struct peer *other = peer ? peer_find_other(model_peers(view->model), peer) : NULL;
	const struct object *found = other ? trace_object(view->trace, other->id) : NULL;
	struct table *facts;
	char text[VIEW_TEXT];

	if (object->kind != OBJECT_qp) {
		answer_note(answer, "%s is not a queue pair", object->name);
		return;
	}
	if (!found) {
		print_unknown(answer, view, peer);
		return;
	}
	facts = properties_new("peer");
	properties_add(facts, "peer", "%s, qp_num 0x%x", name_object(view->trace, found, text),
		       other->number);
	if (view_moment(view, &life->qp->rtr, text))
		properties_add(facts, "set by", "%s", text);
	answer_table(answer, facts);
	list_ends(answer, life, other->life);
}
