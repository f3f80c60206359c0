#pragma once
/*
 * Calls that failed: what was asked for, and why it was refused, as far as the model knows.
 *
 * Both are asked at the call's return, or at the post, after model_event(). Texts are written to
 * @text; they hold names of the trace, which are foreign text.
 *
 * One thread.
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
 * "lacks IBV_QP_RNR_RETRY", "qp1 was in RTR": to be printed behind the errno. NULL if nothing is
 * known. A row of the table in reason.c for each kind of refusal.
 */
const char *reason_of(struct model *model, const struct trace_event *event, char *text,
		      size_t size);

/* The name of the object that an asynchronous event is about; NULL if it is not known. */
const char *reason_element(struct model *model, const struct trace_event *event, char *text,
			   size_t size);
