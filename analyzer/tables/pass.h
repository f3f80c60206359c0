#pragma once
/*
 * One pass of the model over a trace, step by step: for tables that are derived from it, and for
 * queries of the state at a time.
 *
 * Not thread-safe.
 */
#include "analyzer/model/model.h"
#include "core/store/vtab/computed.h"

struct pass {
	struct trace *trace;
	struct model *model;
	struct cursor *cursor;
	struct findings *findings;       /* which evidence is missing */
	const struct trace_event *event; /* the current one; NULL: a process ends */
	uint32_t process;                /* the process that ends */
	int64_t now;
	uint32_t ended; /* processes whose end was passed, after the last event */
	/* the pass ends before the end of the trace: no process ends then; may be set later */
	bool cut;
	bool keeps; /* do not end processes: the model must still have their objects */
};

/*
 * Begin. @bounds may narrow it to a process, and to events up to a time; NULL: all. @control:
 * without the data plane. Returns 0, or -errno after log_err(); call pass_fini() in either case.
 */
int pass_init(struct pass *pass, struct trace *trace, const struct computed_bounds *bounds,
	      bool control, const struct model_watcher *watcher);
void pass_fini(struct pass *pass);

/* Pass the next event to the model: 1, 0 at the end, -errno. */
int pass_step(struct pass *pass);

/* Did the process end itself, or does only the trace end? */
bool pass_ended(const struct pass *pass);

/* "lost guessed": enum queue_doubt; NULL: none. Never freed, and the same for the same doubts. */
const char *pass_doubt(unsigned int doubt);
