#pragma once
/*
 * The state of a trace at a moment: the model after all events up to it.
 *
 * Not thread-safe.
 */
#include "analyzer/report/report.h"
#include "analyzer/tables/pass.h"
#include "cli/query/question.h"

enum { VIEW_TEXT = 256 };

struct view {
	struct trace *trace;
	struct pass pass;
	struct model *model;  /* the pass' */
	struct report report; /* for names of places */
	struct instant at;    /* the moment of the view */
	enum verb verb;       /* of that event; VERB_COUNT: none */
	const char *instead;  /* why it is earlier than requested; NULL: it is not */
};

/*
 * Read @trace up to @at. Without @ends, objects that ended processes left stay alive. @watcher may
 * be NULL. Returns 0 and a view for view_close(); -ENOENT if the trace does not have the event; or
 * -errno after log_err().
 */
int view_open(struct trace *trace, struct instant at, bool ends,
	      const struct model_watcher *watcher, struct view *ret_view);

/* Accepts a zeroed @view. */
void view_close(struct view *view);

/* "after 3:1042 ibv_modify_qp() at 83.6 ms", "at the end" */
const char *view_when(const struct view *view, char text[VIEW_TEXT]);

/* "to_rts (app.c:20)"; "" if it is not known. */
const char *view_place(const struct view *view, uint32_t stack, char text[VIEW_TEXT]);

/* "1:20 ibv_create_qp() at 12.3 ms by to_rts (app.c:20)"; NULL if there is no such event. */
const char *view_moment(const struct view *view, const struct moment *moment, char text[VIEW_TEXT]);
