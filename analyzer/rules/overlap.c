/*
 * MKEY-007 and MKEY-009: two outstanding requests with one buffer
 *
 * Hazards: whether bytes were lost depends on when messages come. Reported when the queue ends,
 * since only then is it known whether the program keeps its buffers apart at all. A program that
 * receives everything into one buffer does it on purpose, as ping-pongs do: it ignores the
 * contents. But a program that READs from different addresses needs what it gets, and so does one
 * whose atomics have different wr_ids, which return: these are the slots that wait for the values.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/model/overlap.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/slots.h"
#include "analyzer/model/stride.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"

enum { LEAST_PAIRS = 4, LAPS = 4 };

static struct finding *add_finding(struct check *check, enum rule_id rule, const struct life *life,
				   const struct overlap_pair *pair, bool certain)
{
	char where[64];
	struct finding *finding;

	snprintf(where, sizeof(where), "wr[%u].sg_list", pair->index);
	finding = certain ? check_add_finding(check, rule, &pair->later, life, where)
			  : check_add_hazard(check, rule, &pair->later, life, where);
	if (!finding)
		return NULL;
	finding_step(finding, "created", &life->created);
	finding_step(finding, "outstanding since", &pair->earlier);
	finding_step(finding, "posted", &pair->later);
	return finding;
}

static struct finding *add_pair(struct check *check, enum rule_id rule, const struct life *life,
				const struct overlap_pair *pair)
{
	return add_finding(check, rule, life, pair, false);
}

/* "READ wr_id 0x7, 1:23" */
static const char *name_request(int opcode, uint64_t wr_id, const struct moment *moment,
				char text[96])
{
	const char *name =
		opcode == QUEUE_RECEIVE ? "receive" : enum_name(enum_find("ibv_wr_opcode"), opcode);
	char id[32];

	snprintf(text, 96, "%s with wr_id 0x%" PRIx64 ", %s", name ? name : "request", wr_id,
		 event_id_text(moment->id, id));
	return text;
}

static void describe_pair(struct finding *finding, const struct life *life,
			  const struct overlap_pair *pair, const char *how, const char *other)
{
	char name[64], earlier[96], later[96], bytes[32], others[64] = "";

	if (pair->n > 1)
		snprintf(others, sizeof(others), ", and so %s %" PRIu64 " other%s",
			 pair->n == 2 ? "does" : "do", pair->n - 1, pair->n == 2 ? "" : "s");
	finding_text(&finding->says,
		     "%s: the %s, %s %s at 0x%" PRIx64 " of the %s, which was outstanding%s%s%s.",
		     object_name_text(life, name, sizeof(name)),
		     name_request(pair->later_opcode, pair->later_id, &pair->later, later), how,
		     words_format_bytes(pair->length, bytes), pair->addr,
		     name_request(pair->earlier_opcode, pair->earlier_id, &pair->earlier, earlier),
		     other ? " on " : "", other ? other : "", others);
}

static void report_filled(struct check *check, const struct life *life, const struct queue *queue)
{
	const struct overlaps *overlaps = queue->overlaps;
	struct finding *finding;

	if (!overlaps || !overlaps->filled.n || queue->buffer_told || queue->doubt ||
	    (!overlaps->apart && overlaps->filled.gathered < LEAST_PAIRS &&
	     overlaps->filled.returned < LEAST_PAIRS))
		return;
	finding = add_pair(check, RULE_MKEY_007, life, &overlaps->filled);
	if (!finding)
		return;
	describe_pair(finding, life, &overlaps->filled, "writes to the same", NULL);
	if (queue->send)
		finding_text(&finding->breaks, "the program uses what the first one has read");
	else
		finding_text(&finding->breaks,
			     "a second message comes before the first one has been read");
}

/*
 * Does a server have one buffer for its messages and answers? Not if two receives are outstanding
 * in it, as in ping-pongs. A client may have one: the message that it receives answers its own.
 */
static bool serves_from_one(const struct life *life)
{
	const struct overlaps *sends = life->sq ? life->sq->overlaps : NULL;

	return sends && sends->answers && !life->rq->overlaps->filled.n;
}

static void report_resent(struct check *check, const struct life *life, const struct queue *queue)
{
	const struct overlaps *overlaps = queue->overlaps;
	struct finding *finding;

	if (!overlaps || !overlaps->resent.n || queue->doubt ||
	    (!overlaps->apart && (overlaps->resent.n < LEAST_PAIRS || !serves_from_one(life))))
		return;
	finding = add_pair(check, RULE_MKEY_007, life, &overlaps->resent);
	if (!finding)
		return;
	describe_pair(finding, life, &overlaps->resent, "receives into", NULL);
	finding_text(&finding->breaks,
		     "a message comes before the send is complete: the send, or its retry, "
		     "transfers the bytes of that message");
}

/* Does a queue of @life receive or read into separate buffers? */
static bool separates_buffers(const struct life *life, const struct overlap_pair *pair)
{
	const struct overlaps *sends = life->sq ? life->sq->overlaps : NULL;

	return pair->apart || life->rq->overlaps->apart || (sends && sends->apart);
}

static void report_refilled(struct check *check, const struct life *life, const struct queue *queue)
{
	const struct overlap_pair *pair = queue->overlaps ? &queue->overlaps->refilled : NULL;
	struct finding *finding;

	if (!pair || !pair->n || queue->doubt || !separates_buffers(life, pair))
		return;
	finding = add_pair(check, RULE_MKEY_007, life, pair);
	if (!finding)
		return;
	describe_pair(finding, life, pair, "receives into", NULL);
	finding_text(
		&finding->breaks,
		"a message arrives before the program has used the data of the read, or that data "
		"arrives after the message: one overwrites the other");
}

/* A single pair may come from a test that does not care about the contents of its messages. */
static void report_received(struct check *check, const struct life *life)
{
	const struct overlap_pair *pair = life->sq->overlaps ? &life->sq->overlaps->received : NULL;
	struct finding *finding;

	if (!pair || pair->n < LEAST_PAIRS || life->sq->doubt || life->rq->doubt ||
	    !life->rq->overlaps || !life->rq->overlaps->apart)
		return;
	finding = add_pair(check, RULE_MKEY_007, life, pair);
	if (!finding)
		return;
	describe_pair(finding, life, pair, "sends", NULL);
	finding_text(
		&finding->breaks,
		"a message arrives before the send has left: the message is sent in place of the "
		"program's data");
}

/* WRITEs to buffers that the peer has posted as receives: reported if frequent. */
static void report_entered(struct check *check, const struct life *life)
{
	const struct overlap_pair *pair = life->sq->overlaps ? &life->sq->overlaps->entered : NULL;
	char name[64], earlier[96], later[96], bytes[32];
	struct finding *finding = pair && pair->n >= LEAST_PAIRS && !life->sq->doubt
					  ? add_pair(check, RULE_MKEY_007, life, pair)
					  : NULL;

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s: the %s, writes to %s at 0x%" PRIx64 " of the peer's %s, which was "
		     "outstanding, and so do %" PRIu64 " others.",
		     object_name_text(life, name, sizeof(name)),
		     name_request(pair->later_opcode, pair->later_id, &pair->later, later),
		     words_format_bytes(pair->length, bytes), pair->addr,
		     name_request(pair->earlier_opcode, pair->earlier_id, &pair->earlier, earlier),
		     pair->n - 1);
	finding_text(&finding->breaks,
		     "a message is received there: it overwrites what was written, or the write "
		     "overwrites the message");
}

/* A WRITE that comes late: its place has been posted as a receive since it was asked for. */
static void report_late(struct check *check, const struct life *life)
{
	const struct overlap_pair *pair = life->sq->overlaps ? &life->sq->overlaps->late : NULL;
	char name[64], earlier[96], later[96], bytes[32];
	struct finding *finding;

	if (!pair || !pair->n || life->sq->overlaps->entered.n >= LEAST_PAIRS || life->sq->doubt)
		return;
	finding = add_pair(check, RULE_MKEY_007, life, pair);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s: the %s, writes to %s at 0x%" PRIx64 " of the peer's %s. That place had "
		     "been written to before that, and the peer had posted the receive long after "
		     "its last message, and sent none since.",
		     object_name_text(life, name, sizeof(name)),
		     name_request(pair->later_opcode, pair->later_id, &pair->later, later),
		     words_format_bytes(pair->length, bytes), pair->addr,
		     name_request(pair->earlier_opcode, pair->earlier_id, &pair->earlier, earlier));
	finding_text(&finding->breaks,
		     "the write answers a request that the peer had given up: it overwrites what "
		     "the peer uses this memory for now. Memory is free again when the answer has "
		     "come, when its key is invalid, or when the queue pair is in ERR");
}

enum contents { CONTENTS_UNKNOWN, CONTENTS_SAME, CONTENTS_DIFFER };

static bool find_hash(struct check *check, const struct moment *post, uint32_t index,
		      uint64_t *ret_hash)
{
	struct payload payload;

	if (trace_payload(check->trace, post->id, index, &payload) != 1 || !payload.hashed)
		return false;
	*ret_hash = payload.hash;
	return true;
}

/* Compare the contents of the buffer at the two posts, as far as `record --payload` has them. */
static enum contents compare_contents(struct check *check, const struct overlap_pair *pair)
{
	uint64_t earlier, later;

	if (!trace_has_payloads(check->trace) ||
	    !find_hash(check, &pair->earlier, pair->earlier_index, &earlier) ||
	    !find_hash(check, &pair->later, pair->index, &later))
		return CONTENTS_UNKNOWN;
	return earlier == later ? CONTENTS_SAME : CONTENTS_DIFFER;
}

/*
 * Are the contents of @overlaps->reused, of which nothing was recorded, probably different? The
 * queue pair was created for inline messages, which such a one @fits; but a process that sends to
 * itself, as tests do, needs no contents. Or the messages differ otherwise.
 */
static bool differ_probably(const struct overlaps *overlaps, bool fits)
{
	return (fits && !overlaps->to_itself) || overlaps->others >= LEAST_PAIRS;
}

/*
 * Sends of one buffer, to a peer that receives them in different places. They may be alike on
 * purpose, as credits are and the messages of a benchmark, or come from a table.
 */
static void report_reused(struct check *check, const struct life *life)
{
	const struct overlaps *overlaps = life->sq->overlaps;
	const struct overlap_pair *pair = overlaps ? &overlaps->reused : NULL;
	bool fits = pair && pair->length <= life->sq->limits.inline_asked;
	enum contents contents;
	struct finding *finding;

	if (!pair || pair->n < LEAST_PAIRS || life->sq->doubt ||
	    (!fits && (overlaps->sent_apart || overlaps->deep < LEAST_PAIRS)))
		return;
	contents = compare_contents(check, pair);
	if (contents == CONTENTS_SAME ||
	    (contents == CONTENTS_UNKNOWN && !differ_probably(overlaps, fits)))
		return;
	finding = add_finding(check, RULE_MKEY_007, life, pair, contents == CONTENTS_DIFFER);
	if (!finding)
		return;
	describe_pair(finding, life, pair, "sends the same", NULL);
	if (contents == CONTENTS_DIFFER) {
		finding_text(&finding->says,
			     "%s The buffer had other contents at the second post: without "
			     "IBV_SEND_INLINE, both requests may have sent these.",
			     finding->says ?: "");
		return;
	}
	finding_text(&finding->settles, "record --payload hash");
	finding_text(&finding->breaks,
		     "the program fills the buffer anew in between: without IBV_SEND_INLINE the "
		     "device reads the buffer when it sends the request, or sends it again, so "
		     "several messages may carry the last contents");
}

/* "qp2", or "process 2 qp1" if @life is of another process */
static const char *name_other(const struct check *check, const struct life *life, uint32_t id,
			      char text[64])
{
	const struct object *object = trace_object(check->trace, id);

	if (!object || !object->name)
		return "another queue pair";
	if (object->process == life->process)
		snprintf(text, 64, "%s", object->name);
	else
		snprintf(text, 64, "process %" PRIu32 " %s", object->process, object->name);
	return text;
}

/* A receive in the buffer of another queue pair's send, or a send from that of its receive. */
static void report_crossed(struct check *check, const struct life *life,
			   const struct overlap_pair *pair, const char *how, const char *breaks)
{
	char other[64];
	struct finding *finding =
		pair->n >= LEAST_PAIRS ? add_pair(check, RULE_MKEY_007, life, pair) : NULL;

	if (!finding)
		return;
	describe_pair(finding, life, pair, how, name_other(check, life, pair->other, other));
	finding_text(&finding->breaks, "%s", breaks);
}

/* WRITEs with immediate data to bytes that an earlier one wrote, and that were not read yet. */
static void report_overwritten(struct check *check, const struct life *life,
			       const struct overlap_pair *pair)
{
	char name[64], earlier[96], later[96], bytes[32], other[64];
	bool same = pair->other == life->id;
	struct finding *finding =
		pair->n < LEAST_PAIRS || compare_contents(check, pair) == CONTENTS_SAME
			? NULL
			: add_pair(check, RULE_MKEY_007, life, pair);

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s: the %s, writes to %s at 0x%" PRIx64 " of the peer, where the %s%s%s, had "
		     "written: its receive had not been polled. So do %" PRIu64 " others.",
		     object_name_text(life, name, sizeof(name)),
		     name_request(pair->later_opcode, pair->later_id, &pair->later, later),
		     words_format_bytes(pair->length, bytes), pair->addr,
		     name_request(pair->earlier_opcode, pair->earlier_id, &pair->earlier, earlier),
		     same ? "" : " on ", same ? "" : name_other(check, life, pair->other, other),
		     pair->n - 1);
	finding_text(&finding->settles, "record --payload hash");
	finding_text(&finding->breaks,
		     "the peer needs what each of them wrote: it finds the bytes of the later one");
}

static void report_crossings(struct check *check, const struct life *life)
{
	const struct overlaps *receives =
		life->rq && life->rq->owner == life && !life->rq->doubt ? life->rq->overlaps : NULL;
	const struct overlaps *sends = life->sq && !life->sq->doubt ? life->sq->overlaps : NULL;

	if (receives && receives->apart)
		report_crossed(check, life, &receives->kept, "receives into",
			       "a message comes before the send is complete: the send, or its "
			       "retry, transfers the bytes of that message");
	if (!sends)
		return;
	report_crossed(check, life, &sends->lent, "sends",
		       "a message arrives before the send has left: the message is sent in place "
		       "of the program's data");
	if (sends->imm_apart)
		report_overwritten(check, life, &sends->overrun);
	if (sends->overrun.n < LEAST_PAIRS)
		report_overwritten(check, life, &sends->trampled);
}

/* MKEY-007 */
void mkey_007_overlap(struct check *check, const struct life *life)
{
	if (life->rq && life->rq->owner == life) {
		report_filled(check, life, life->rq);
		report_resent(check, life, life->rq);
		report_refilled(check, life, life->rq);
		if (life->sq)
			report_received(check, life);
	}
	if (life->sq) {
		report_filled(check, life, life->sq);
		report_reused(check, life);
		report_entered(check, life);
		report_late(check, life);
	}
	report_crossings(check, life);
}

/*
 * WRITEs to slots of a ring that had not been returned. The messages of the peer return slots if
 * there were as many as WRITEs, but for those at the end.
 */
void mkey_007_slots(struct check *check, const struct life *life)
{
	const struct slots *slots = life->sq ? life->sq->slots : NULL;
	char name[64], id[32];
	struct finding *finding;

	if (!slots || slots->irregular || slots->period < 2 || slots->over < LEAST_PAIRS ||
	    slots->writes < LAPS * slots->period || slots->ahead > 2 * slots->period ||
	    slots->returned + slots->period < slots->writes || life->sq->doubt || !life->rq ||
	    life->rq->doubt)
		return;
	finding =
		check_add_hazard(check, RULE_MKEY_007, &slots->first, life, "wr.rdma.remote_addr");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s writes to %u places of the peer in turn, and the peer sends a message for "
		     "each write. %" PRIu64 " times, first at %s, it wrote to a place again before "
		     "the message for the write before: write %" PRIu64 ", to 0x%" PRIx64
		     ", came after %" PRIu64 " messages.",
		     object_name_text(life, name, sizeof(name)), slots->period, slots->over,
		     event_id_text(slots->first.id, id), slots->written, slots->addr,
		     slots->before);
	finding_text(&finding->breaks,
		     "the peer has not yet read what is there: it is overwritten");
	finding_step(finding, "created", &life->created);
	finding_step(finding, "written", &slots->first);
}

/* "each to the same 4 KiB at 0x7f00", "4 KiB each, to places 2 KiB apart from 0x7f00 on" */
static void describe_place(const struct stride *stride, char *text, size_t size)
{
	char bytes[32], apart[32];
	int64_t remote = stride->longest_remote;

	words_format_bytes(stride->first.length, bytes);
	if (!remote)
		snprintf(text, size, "the same %s at 0x%" PRIx64 " of the peer", bytes,
			 stride->first.remote);
	else
		snprintf(text, size,
			 "places of the peer that are only %s apart, with %s each, from 0x%" PRIx64
			 " on",
			 words_format_bytes((uint64_t)(remote < 0 ? -remote : remote), apart),
			 bytes, stride->first.remote);
}

/* MKEY-007: WRITEs whose local address advances, and the remote one does not, or not enough. */
void mkey_007_stride(struct check *check, const struct life *life)
{
	const struct stride *stride = life->sq ? life->sq->stride : NULL;
	char name[64], id[32], place[160];
	struct finding *finding;

	if (!stride || stride->longest < LEAST_PAIRS || life->sq->doubt)
		return;
	finding = check_add_hazard(check, RULE_MKEY_007, &stride->first.moment, life,
				   "wr.rdma.remote_addr");
	if (!finding)
		return;
	finding->todo = "Add the length of each request to remote_addr, too. Or, if each is to go "
			"to the same place, wait until the peer has used the one before.";
	describe_place(stride, place, sizeof(place));
	finding_text(&finding->says,
		     "%s: %" PRIu64 " IBV_WR_RDMA_WRITEs in a row, outstanding together, from %s "
		     "on, write from successive buffers, but to %s: remote_addr %s.",
		     object_name_text(life, name, sizeof(name)), stride->longest + 1,
		     event_id_text(stride->first.moment.id, id), place,
		     stride->longest_remote ? "advanced by less than the length"
					    : "did not advance with the buffer");
	finding_text(&finding->breaks,
		     "the peer needs more than the last one: each overwrites the one before");
	finding_step(finding, "created", &life->created);
	finding_step(finding, "posted", &stride->first.moment);
}

/* WRITEs to memory that an earlier request reads from the peer: reported if frequent. */
static void report_overtaken(struct check *check, const struct life *life)
{
	const struct overlap_pair *pair = &life->sq->overlaps->overtaken;
	char name[64], earlier[96], later[96];
	struct finding *finding =
		pair->n >= LEAST_PAIRS ? add_pair(check, RULE_MKEY_009, life, pair) : NULL;

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s: the %s, writes to the peer's memory at 0x%" PRIx64
		     ", where the %s, which was outstanding, reads, and so do %" PRIu64 " "
		     "others.",
		     object_name_text(life, name, sizeof(name)),
		     name_request(pair->later_opcode, pair->later_id, &pair->later, later),
		     pair->addr,
		     name_request(pair->earlier_opcode, pair->earlier_id, &pair->earlier, earlier),
		     pair->n - 1);
	finding_text(&finding->breaks,
		     "the write is carried out first: without IBV_SEND_FENCE a device need not "
		     "wait for the earlier request, which reads what was written");
}

/*
 * WRITEs of two queue pairs to the same bytes: reported if frequent. If all go to one place, nobody
 * may read the data, as in a benchmark.
 */
static void report_collided(struct check *check, const struct life *life)
{
	const struct overlap_pair *pair = &life->sq->overlaps->collided;
	char name[64], earlier[96], later[96], bytes[32], other[64];
	struct finding *finding = pair->n >= LEAST_PAIRS && life->sq->overlaps->plain_apart &&
						  compare_contents(check, pair) != CONTENTS_SAME
					  ? add_pair(check, RULE_MKEY_009, life, pair)
					  : NULL;

	if (!finding)
		return;
	finding->todo =
		"Give each queue pair its own part of the peer's memory, or post the second "
		"write after the completion of the first one was polled.";
	finding_text(&finding->says,
		     "%s: the %s, writes to %s at 0x%" PRIx64 " of the peer, to which the %s on "
		     "%s, which was outstanding, writes other bytes, and so do %" PRIu64 " others.",
		     object_name_text(life, name, sizeof(name)),
		     name_request(pair->later_opcode, pair->later_id, &pair->later, later),
		     words_format_bytes(pair->length, bytes), pair->addr,
		     name_request(pair->earlier_opcode, pair->earlier_id, &pair->earlier, earlier),
		     name_other(check, life, pair->other, other), pair->n - 1);
	finding_text(&finding->breaks,
		     "the peer needs one of the two, or both: requests of two queue pairs have no "
		     "order, so what is there at last may be either, or parts of both");
}

/* Report a send of data that a READ of another queue pair may not have brought yet. */
static void report_other_read(struct check *check, const struct life *life)
{
	const struct overlap_pair *pair = &life->sq->overlaps->abroad;
	const struct object *object = trace_object(check->trace, pair->other);
	const char *other = object && object->name ? object->name : "another queue pair";
	struct finding *finding = pair->n ? add_pair(check, RULE_MKEY_009, life, pair) : NULL;

	if (!finding)
		return;
	describe_pair(finding, life, pair, "sends", other);
	finding_text(&finding->breaks,
		     "the data of the earlier request arrives after the send has left: requests of "
		     "two queue pairs have no order, and IBV_SEND_FENCE does not help");
}

/* MKEY-009 */
void mkey_009(struct check *check, const struct life *life)
{
	const struct queue *queue = life->sq;
	struct finding *finding;

	if (!queue || !queue->overlaps || queue->doubt)
		return;
	report_other_read(check, life);
	report_overtaken(check, life);
	report_collided(check, life);
	if (!queue->overlaps->unfenced.n)
		return;
	finding = add_pair(check, RULE_MKEY_009, life, &queue->overlaps->unfenced);
	if (!finding)
		return;
	describe_pair(finding, life, &queue->overlaps->unfenced, "sends", NULL);
	finding_text(&finding->breaks,
		     "the data of the earlier request arrives after the send has left: without "
		     "IBV_SEND_FENCE a device need not wait for it");
}
