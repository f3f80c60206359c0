#pragma once
/*
 * The requests and completions of a dump selected with --status and --wr-id. Any thread.
 */
#include "cli/options.h"
#include "core/store/read/trace.h"

/* Zeroed: all are selected. */
struct choice {
	struct choice_statuses {
		bool given, errors; /* errors: all statuses except success and flushes */
		uint64_t known;     /* bits 1 << enum ibv_wc_status */
	} statuses;
	struct choice_wr_id {
		bool given;
		uint64_t is;
	} wr_id;
};

/* For the rows of options. */
int choice_add_status(const char *text, void *statuses, char complaint[OPTIONS_COMPLAINT]);
int choice_read_wr_id(const char *text, void *wr_id, char complaint[OPTIONS_COMPLAINT]);

/* Are only some requests and completions selected? */
static inline bool choice_given(const struct choice *choice)
{
	return choice->statuses.given || choice->wr_id.given;
}

/* A request has no status. */
bool choice_has_wr(const struct choice *choice, const struct wr *wr);
bool choice_has_wc(const struct choice *choice, const struct wc *wc);

/* Is one of the event's requests or completions selected? Without a selector, all events are. */
bool choice_has_event(const struct choice *choice, const struct trace_event *event);
