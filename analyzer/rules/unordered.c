/*
 * MKEY-009: WRITEs that nothing announces in order, or that are not atomic
 *
 * Hazards: devices mostly carry them out in the order of their posts. Reported for a queue that
 * never sent a message itself, when it ends.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/model/queue.h"
#include "analyzer/model/read_release.h"
#include "analyzer/model/swapped.h"
#include "analyzer/model/unordered.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"

enum {
	LEAST_BATCHES = 3,
	TURNS = 3, /* changes of the queue pair after which the first one is used again */
};

/*
 * Was nearly each batch of WRITEs followed by a message on another queue pair? If only some are,
 * the messages may be about something else.
 */
static bool is_announced_elsewhere(const struct unordered *unordered)
{
	return unordered->nfollowed >= LEAST_BATCHES &&
	       unordered->nfollowed >= unordered->batches / 4 * 3;
}

static void report_elsewhere(struct check *check, const struct life *life)
{
	const struct unordered *unordered = life->sq->unordered;
	const struct object *object = trace_object(check->trace, unordered->other);
	struct finding *finding =
		check_add_hazard(check, RULE_MKEY_009, &unordered->send, life, "wr");
	char name[64], id[32];

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s only writes. %" PRIu64 " times, first at %s, a message followed on %s to "
		     "the same process while the write was outstanding.",
		     object_name_text(life, name, sizeof(name)), unordered->nfollowed,
		     event_id_text(unordered->send.id, id),
		     object && object->name ? object->name : "another queue pair");
	finding_text(&finding->breaks,
		     "the message arrives first, and its receiver reads what is written: requests "
		     "of two queue pairs have no order");
	finding_step(finding, "created", &life->created);
	finding_step(finding, "written", &unordered->write);
	finding_step(finding, "sent", &unordered->send);
}

/* Do WRITEs on this queue pair have a flag that is written on another queue pair? */
static bool is_flagged_elsewhere(const struct unordered *unordered)
{
	return !unordered->small && unordered->raised.n >= LEAST_BATCHES &&
	       unordered->raised.n >= unordered->batches / 4 * 3;
}

static void report_raised(struct check *check, const struct life *life)
{
	const struct unordered_raised *raised = &life->sq->unordered->raised;
	const struct object *object = trace_object(check->trace, raised->other);
	struct finding *finding = check_add_hazard(check, RULE_MKEY_009, &raised->flag, life, "wr");
	char name[64], id[32], bytes[32];

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s only writes. %" PRIu64 " times, first at %s, a small write (%s) followed "
		     "on %s to the same process while the larger one was outstanding.",
		     object_name_text(life, name, sizeof(name)), raised->n,
		     event_id_text(raised->flag.id, id), words_format_bytes(raised->length, bytes),
		     object && object->name ? object->name : "another queue pair");
	finding_text(
		&finding->breaks,
		"the small write is the flag of the larger one, and arrives first: its receiver "
		"reads what is still being written, since requests of two queue pairs have no "
		"order");
	finding_step(finding, "created", &life->created);
	finding_step(finding, "written", &raised->write);
	finding_step(finding, "flag written", &raised->flag);
}

static void report_flag(struct check *check, const struct life *life)
{
	const struct unordered_flag *flag = &life->sq->unordered->flag;
	const struct object *region = trace_object(check->trace, flag->region);
	struct finding *finding = check_add_hazard(check, RULE_MKEY_009, &flag->first, life, "wr");
	char name[64], bytes[32], before[32];

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s only writes. %" PRIu64 " times a small write (%s the first time) followed "
		     "a larger one (%s), as a flag follows its data. The flag is in %s, which was "
		     "registered with IBV_ACCESS_RELAXED_ORDERING.",
		     object_name_text(life, name, sizeof(name)), flag->n,
		     words_format_bytes(flag->length, bytes),
		     words_format_bytes(flag->before, before),
		     region && region->name ? region->name : "a region");
	finding_text(&finding->breaks,
		     "the receiver polls the flag in memory: with relaxed ordering the flag may "
		     "become visible before the data. A message, or IBV_WR_RDMA_WRITE_WITH_IMM, "
		     "comes after both");
	finding_step(finding, "created", &life->created);
	finding_step(finding, "written", &flag->first);
}

void mkey_009_unordered(struct check *check, const struct life *life)
{
	const struct queue *queue = life->sq;

	if (!queue || !queue->unordered || queue->doubt || queue->to_receives)
		return;
	if (is_announced_elsewhere(queue->unordered))
		report_elsewhere(check, life);
	else if (is_flagged_elsewhere(queue->unordered))
		report_raised(check, life);
	if (queue->unordered->flag.n >= LEAST_BATCHES)
		report_flag(check, life);
}

/* MKEY-009: a message lets the peer deregister what an earlier READ may still read. */
void mkey_009_release(struct check *check, const struct life *life)
{
	const struct read_release *release = life->sq ? life->sq->release : NULL;
	const struct object *region = release ? trace_object(check->trace, release->region) : NULL;
	struct finding *finding;
	char name[64], id[32];

	if (!release || release->n < LEAST_BATCHES || life->sq->doubt)
		return;
	finding = check_add_hazard(check, RULE_MKEY_009, &release->first_send, life, "wr");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s: %" PRIu64 " times, first at %s, a message was sent without "
		     "IBV_SEND_FENCE while an IBV_WR_RDMA_READ was outstanding, and the peer "
		     "deregistered its %s, which the READ reads, right after it had polled the "
		     "message.",
		     object_name_text(life, name, sizeof(name)), release->n,
		     event_id_text(release->first_send.id, id),
		     region && region->name ? region->name : "region");
	finding_text(&finding->breaks,
		     "the message arrives before all data was read: the READ fails with "
		     "IBV_WC_REM_ACCESS_ERR, or reads what the memory is used for by then");
	finding_step(finding, "created", &life->created);
	finding_step(finding, "read", &release->first_read);
	finding_step(finding, "sent", &release->first_send);
	finding_step(finding, "deregistered", &release->freed);
}

/* MKEY-009: a lock is taken by compare-and-swap, and released by a WRITE. */
void mkey_009_swapped(struct check *check, const struct life *life)
{
	struct swapped *word = life->sq ? life->sq->swaps : NULL;
	char name[64], id[32];
	const struct object *other;
	struct finding *finding;

	if (!word || word->reported || word->written < SWAPPED_HABIT ||
	    (word->turns < TURNS && !word->shared) || life->sq->doubt)
		return;
	word->reported = true;
	other = trace_object(check->trace, word->last == life->id ? word->other : word->last);
	finding = check_add_hazard(check, RULE_MKEY_009, &word->write, life, "wr");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s: %" PRIu64 " times, first at %s, the 8 bytes at 0x%" PRIx64
		     " of the peer were written by IBV_WR_RDMA_WRITE after a compare-and-swap of "
		     "them, as a lock is released; %s uses compare-and-swap there, too.",
		     object_name_text(life, name, sizeof(name)), word->written,
		     event_id_text(word->write.id, id), word->addr,
		     other && other->name ? other->name : "another queue pair");
	finding_text(&finding->breaks,
		     "the write comes while the device carries out an atomic of another queue "
		     "pair, which then writes the old value back: the lock is never released. Only "
		     "atomics are atomic to each other (IBV_ATOMIC_HCA)");
	finding_step(finding, "created", &life->created);
	finding_step(finding, "swapped", &word->swap);
	finding_step(finding, "written", &word->write);
}
