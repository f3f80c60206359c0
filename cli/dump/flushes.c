/*
 * Runs of flushed completions of one queue pair
 */
#include "cli/dump/flushes.h"

#include <inttypes.h>

#include "analyzer/facts/first_errors.h"
#include "cli/format.h"

bool flushes_only(const struct trace_event *event)
{
	const struct poll *poll = event->poll;

	if (event->kind != TRACE_POLL || !poll->nwc)
		return false;
	for (uint32_t i = 0; i < poll->nwc; i++)
		if (poll->wc[i].status != FIRST_FLUSH || poll->wc[i].qp != poll->wc[0].qp ||
		    poll->wc[i].qp_num != poll->wc[0].qp_num)
			return false;
	return true;
}

void flushes_begin(struct flushes *run, const struct trace_event *event)
{
	const struct wc *wc = &event->poll->wc[0];

	*run = (struct flushes){ .open = true,
				 .process = event->process,
				 .qp = wc->qp,
				 .qp_num = wc->qp_num,
				 .began = event->time };
}

bool flushes_add(struct flushes *run, const struct trace_event *event)
{
	const struct wc *wc;

	if (!run->open || !flushes_only(event))
		return false;
	wc = &event->poll->wc[0];
	if (event->process != run->process || wc->qp != run->qp || wc->qp_num != run->qp_num)
		return false;
	run->more += event->poll->nwc;
	run->last = event->id;
	run->ended = event->time;
	return true;
}

void flushes_print(FILE *out, const struct flushes *run)
{
	char id[32], time[FORMAT_TEXT];

	if (run->more)
		fprintf(out, "and %" PRIu64 " more flushed, the last at %s, %s later", run->more,
			event_id_text(run->last, id), format_time(run->ended - run->began, time));
}
