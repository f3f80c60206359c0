/*
 * The level of a receive queue
 *
 *	level	64 63 64 63 62 63 62 61 62
 *	peaks	64    64       63       62	fell twice; full until the 4th column
 */
#include "analyzer/model/receive_level.h"

#include "analyzer/model/moment.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"

void receive_level_note_posts(struct queue *queue)
{
	struct queue_level *level = &queue->level;

	level->posted = true;
	if (queue->outstanding == queue->high && !level->is_full) {
		level->is_full = true;
		level->fills++;
	}
}

static void end_peak(struct queue_level *level, uint32_t peak)
{
	level->posted = false;
	if (!level->top)
		level->top = peak;
	level->rises += peak > level->peak && level->peak;
	level->falls += peak < level->peak;
	level->peak = peak;
}

void receive_level_note_completion(struct queue *queue, const struct life *qp,
				   const struct trace_event *event)
{
	struct queue_level *level = &queue->level;
	struct qp *of = qp ? qp->qp : NULL;

	if (level->posted)
		end_peak(level, queue->outstanding);
	if (level->is_full)
		level->full = moment_of(event);
	level->is_full = false;
	if (!of)
		return;
	if (of->fill != level->fills)
		of->consumed = 0;
	of->fill = level->fills;
	of->consumed++;
}

uint64_t receive_level_count_consumed(const struct queue *queue, const struct life *qp)
{
	return qp->qp && qp->qp->fill == queue->level.fills ? qp->qp->consumed : 0;
}
