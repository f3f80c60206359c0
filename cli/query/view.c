/*
 * A trace at a moment
 */
#include "cli/query/view.h"

#include <errno.h>
#include <stdio.h>

#include "analyzer/report/places.h"
#include "cli/format.h"
#include "core/wire/log.h"

/* A call takes effect when it returns. */
static bool is_reached(const struct view *view, const struct trace_event *event)
{
	struct event_id id = view->at.id;

	if (!id.thread || event->id.thread != id.thread || event->id.n != id.n)
		return false;
	return event->kind != TRACE_PROCESS && event->kind != TRACE_EXIT &&
	       (event->kind != TRACE_CALL || event->call->end < 0);
}

/* Returns 1 when the moment is reached, 0 at the end, or -errno. */
static int step_to_moment(struct view *view)
{
	int more;

	while ((more = pass_step(&view->pass)) == 1) {
		const struct trace_event *event = view->pass.event;

		if (!event || !is_reached(view, event))
			continue;
		view->at.time = event->time;
		view->verb = trace_verb(event);
		return 1;
	}
	return more;
}

int view_open(struct trace *trace, struct instant at, bool ends,
	      const struct model_watcher *watcher, struct view *ret_view)
{
	static const struct model_watcher none;
	struct computed_bounds bounds = { .to = at.id.thread ? 0 : at.time > 0 ? at.time : 1 };
	int err;

	*ret_view = (struct view){ .trace = trace,
				   .at = at,
				   .verb = VERB_COUNT,
				   .report = { .out = stdout, .trace = trace } };
	err = symbols_open(&ret_view->report.symbols);
	if (!err)
		err = pass_init(&ret_view->pass, trace, &bounds, false, watcher ?: &none);
	if (!err) {
		ret_view->model = ret_view->pass.model;
		ret_view->pass.cut = true;
		ret_view->pass.keeps = !ends;
		err = step_to_moment(ret_view);
	}
	if (!err && at.id.thread)
		err = -ENOENT;
	if (err < 0)
		view_close(ret_view);
	return err < 0 ? err : 0;
}

void view_close(struct view *view)
{
	pass_fini(&view->pass);
	symbols_close(view->report.symbols);
	*view = (struct view){ 0 };
}

const char *view_when(const struct view *view, char text[VIEW_TEXT])
{
	char id[32], time[FORMAT_TEXT];

	if (view->instead)
		snprintf(text, VIEW_TEXT, "%s", view->instead);
	else if (view->at.id.thread)
		snprintf(text, VIEW_TEXT, "after %s %s%s at %s", event_id_text(view->at.id, id),
			 view->verb < VERB_COUNT ? verb_infos[view->verb].name : "",
			 view->verb < VERB_COUNT ? "()" : "", format_time(view->at.time, time));
	else if (view->at.time == INT64_MAX)
		snprintf(text, VIEW_TEXT, "at the end");
	else
		snprintf(text, VIEW_TEXT, "at %s", format_time(view->at.time, time));
	return text;
}

const char *view_place(const struct view *view, uint32_t stack, char text[VIEW_TEXT])
{
	return place_line(&view->report, stack, text, VIEW_TEXT);
}

const char *view_moment(const struct view *view, const struct moment *moment, char text[VIEW_TEXT])
{
	char id[32], time[FORMAT_TEXT], place[VIEW_TEXT / 2];
	bool call = moment->verb < VERB_COUNT;

	if (!moment->id.thread)
		return NULL;
	place_line(&view->report, moment->stack, place, sizeof(place));
	snprintf(text, VIEW_TEXT, "%s%s%s%s at %s%s%s", event_id_text(moment->id, id),
		 call ? " " : "", call ? verb_infos[moment->verb].name : "", call ? "()" : "",
		 format_time(moment->time, time), *place ? " by " : "", place);
	return text;
}
