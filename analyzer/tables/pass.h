#pragma once
/*
 * One pass of the model over a trace, step by step: for tables that are made of it, and for whoever
 * stops at a moment.
 *
 * One thread.
 */
#include "analyzer/model/model.h"
#include "core/store/vtab/made.h"

struct pass {
	struct trace *trace;
	struct model *model;
	struct cursor *cursor;
	struct findings *findings;       /* what evidence is missing */
	const struct trace_event *event; /* the current one; NULL: a process ends */
	uint32_t process;                /* that ends */
	int64_t now;
	uint32_t ended; /* after the last event the processes end: so many have */
	bool cut;       /* it goes up to a time: they do not; may be set after pass_init(), */
	bool keeps;     /* and so that no process ends */
};

/*
 * Begin. @bounds may narrow it to a process, and to events up to a time; NULL: it does not.
 * @control: without the data plane. Returns 0, or -errno after log_err(); then @pass is to be given
 * to pass_fini(), too.
 */
int pass_init(struct pass *pass, struct trace *trace, const struct made_bounds *bounds,
	      bool control, const struct model_watcher *watcher);
void pass_fini(struct pass *pass);

/* Give the model the next event: 1, 0 at the end, -errno. */
int pass_step(struct pass *pass);

/* Has the process that ends done so, or does only the trace end? */
bool pass_ended(const struct pass *pass);

/* "lost guessed": enum queue_doubt; NULL: none. */
const char *pass_doubt(unsigned int doubt, char text[64]);
