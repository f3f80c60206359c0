#pragma once
/*
 * Calls that failed: their arguments, and the reason of the failure, as far as the model knows it.
 *
 * These functions are to be called at the return of the call, or at the post, after
 * model_process_event(). Texts are written to @text; they contain names from the trace, which are
 * foreign text.
 *
 * Not thread-safe.
 */
#include <stddef.h>

struct model;
struct trace_event;

/* The errno of a call, post, poll or notification that failed, -1: not known; 0 if it did not. */
int reason_error(const struct trace_event *event);

/* "ibv_modify_qp(qp1 -> RTS)" */
const char *reason_call(struct model *model, const struct trace_event *event, char *text,
			size_t size);

/*
 * "lacks IBV_QP_RNR_RETRY", "qp1 was in RTR": to be printed after the errno. NULL if nothing is
 * known. The table in reason.c has a row for each kind of failure.
 */
const char *reason_of(struct model *model, const struct trace_event *event, char *text,
		      size_t size);

/* The name of the object that an asynchronous event is about; NULL if it is not known. */
const char *reason_element(struct model *model, const struct trace_event *event, char *text,
			   size_t size);
