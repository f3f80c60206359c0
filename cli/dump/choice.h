#pragma once
/*
 * Requests and completions of a dump that were asked for: --status and --wr-id. Any thread.
 */
#include "cli/options.h"
#include "core/store/read/trace.h"

/* Zeroed all are. */
struct choice {
	struct choice_statuses {
		bool given, errors; /* errors: all but success and flushes */
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

/* Is there something that not all requests and completions have? */
static inline bool choice_given(const struct choice *choice)
{
	return choice->statuses.given || choice->wr_id.given;
}

/* A request has no status. */
bool choice_has_wr(const struct choice *choice, const struct wr *wr);
bool choice_has_wc(const struct choice *choice, const struct wc *wc);

/* Is one of the event's requests or completions among them? All events are if none was given. */
bool choice_has_event(const struct choice *choice, const struct trace_event *event);
