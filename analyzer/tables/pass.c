/*
 * One pass of the model over a trace
 */
#include "analyzer/tables/pass.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/queue.h"
#include "analyzer/rules/evidence.h"
#include "analyzer/rules/findings.h"
#include "core/wire/log.h"

/*
 * Can the events of @process be read alone? Not those of a forked child, which begins with copies
 * of its parent's objects.
 */
static bool is_readable_alone(struct trace *trace, uint32_t process)
{
	const struct process *p = trace_process(trace, process);

	return p && !p->parent;
}

/* The process of the wanted rows; 0: any. */
static uint32_t narrow_process(struct trace *trace, const struct computed_bounds *bounds)
{
	const struct object *object = trace_object(trace, bounds->object);
	uint32_t process = object ? object->process : bounds->process;

	return process && is_readable_alone(trace, process) ? process : 0;
}

int pass_init(struct pass *pass, struct trace *trace, const struct computed_bounds *bounds,
	      bool control, const struct model_watcher *watcher)
{
	struct trace_filter filter = { .control_only = control };
	int err;

	*pass = (struct pass){ .trace = trace };
	if (bounds) {
		filter.process = narrow_process(trace, bounds);
		filter.to = bounds->to > 0 && bounds->to < INT64_MAX ? bounds->to : 0;
		pass->cut = filter.to;
	}
	pass->findings = calloc(1, sizeof(*pass->findings));
	if (!pass->findings)
		return log_err(-ENOMEM, "read the trace");
	err = evidence_note_gaps(trace, pass->findings);
	if (!err)
		err = model_new(trace, watcher, &pass->model);
	if (!err && pass->findings->bypassed)
		model_set_bypassed(pass->model);
	return err ? err : cursor_open(trace, &filter, &pass->cursor);
}

void pass_fini(struct pass *pass)
{
	/*
	 * live objects are reported when they are freed, without an event, and their process has
	 * not ended
	 */
	pass->event = NULL;
	pass->process = 0;
	model_free(pass->model);
	cursor_close(pass->cursor);
	findings_free(pass->findings);
	*pass = (struct pass){ 0 };
}

static int end_process(struct pass *pass, uint32_t process)
{
	pass->event = NULL;
	pass->process = process;
	return model_end(pass->model, process, pass->now,
			 evidence_end(pass->trace, process, pass->findings));
}

int pass_step(struct pass *pass)
{
	int more = pass->cursor ? cursor_next(pass->cursor, &pass->event) : 0, err;

	if (more < 0)
		return more;
	if (more) {
		pass->now = pass->event->time;
		err = pass->event->kind != TRACE_EXIT
			      ? model_process_event(pass->model, pass->event)
		      : !pass->keeps ? end_process(pass, pass->event->process)
				     : 0;
		return err ? err : 1;
	}
	cursor_close(pass->cursor);
	pass->cursor = NULL;
	if (pass->cut || !trace_process(pass->trace, pass->ended + 1))
		return 0;
	err = end_process(pass, ++pass->ended);
	return err ? err : 1;
}

bool pass_ended(const struct pass *pass)
{
	const struct process *process = trace_process(pass->trace, pass->process);

	return process && (process->end >= 0 || process->ending);
}

const char *pass_doubt(unsigned int doubt)
{
	static const char *const words[] = {
		"older", "lost", "unseen", "stray", "guessed", "forked"
	};
	enum { WORDS = sizeof(words) / sizeof(words[0]) };
	static char texts[1 << WORDS][64];
	char *text = texts[doubt & ((1u << WORDS) - 1)];
	size_t used = 0;

	if (*text || !doubt)
		return *text ? text : NULL;
	for (size_t i = 0; i < WORDS; i++)
		if (doubt & 1u << i)
			used += (size_t)snprintf(text + used, 64 - used, "%s%s", used ? " " : "",
						 words[i]);
	return *text ? text : NULL;
}
