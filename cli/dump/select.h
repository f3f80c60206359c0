#pragma once
/*
 * The events selected for a dump, and which of their lines are printed. Not thread-safe.
 */
#include "cli/dump/point.h"
#include "cli/dump/choice.h"
#include "cli/verb_list.h"
#include "core/store/read/trace.h"

enum { SELECT_EVENTS = 64 };

#define SELECT_CONTEXT UINT32_MAX /* not given */

struct select {
	struct trace_filter filter;
	struct point_range range;
	/* single events, as the user gave them, and those that were not passed yet; none: all */
	struct point asked[SELECT_EVENTS];
	struct event_id wanted[SELECT_EVENTS];
	size_t nasked, nwanted;
	struct point asked_around;
	const char *object; /* as the user gave it; NULL: any */
	uint32_t *objects;  /* their ids: several processes may have a qp2 */
	size_t nobjects;
	struct verb_list verbs;
	bool failed;
	struct choice choice;
	struct event_id around; /* thread 0: none */
	uint32_t context;       /* lines of each thread before and after it; SELECT_CONTEXT: 10 */
	uint32_t last;          /* 0: all */
};

int select_add_verbs(const char *text, void *verbs, char complaint[OPTIONS_COMPLAINT]);

/* clang-format off */
/* The option rows of a command whose settings have a struct select named select. */
#define SELECT_OPTIONS(settings)                                                            \
	{ "thread", 't', "T", "only events of this thread",                                 \
	  NUMBER_AT(settings, select.filter.thread), .least = 1 },                          \
	{ "process", 'p', "P", "only events of this process",                               \
	  NUMBER_AT(settings, select.filter.process), .least = 1 },                         \
	{ "object", 0, "NAME|ID",                                                           \
	  "only events of an object: qp2, qp2/1 of process 1, or its id",                   \
	  TEXT_AT(settings, select.object) },                                               \
	{ "verb", 0, "VERB[,VERB...]", "only these verbs, with or without ibv_",            \
	  PARSED_AT(settings, select.verbs, select_add_verbs) },                            \
	POINT_RANGE_OPTIONS(settings, select.range),                                        \
	{ "failed", 0, NULL, "only events that failed or never returned",                   \
	  FLAG_AT(settings, select.failed) },                                               \
	{ "status", 0, "STATUS[,STATUS...]",                                                \
	  "only completions with this status; error: all but success and flushes",          \
	  PARSED_AT(settings, select.choice.statuses, choice_add_status) },                 \
	{ "wr-id", 0, "N", "only requests and completions with this wr_id",                 \
	  PARSED_AT(settings, select.choice.wr_id, choice_read_wr_id) },                    \
	{ "around", 0, "EVENT", "only events next to event T:N, in all threads",            \
	  PARSED_AT(settings, select.asked_around, point_read_event) },                     \
	{ "context", 'C', "N", "with --around: lines of each thread before and after it",    \
	  NUMBER_AT(settings, select.context), .otherwise = "10" },                          \
	{ "last", 0, "N", "only the last N of these lines",                                 \
	  NUMBER_AT(settings, select.last), .least = 1 }
/* clang-format on */

/* Resolve @select for @trace. Returns 0, or an exit status after one line with the reason. */
int select_begin(const char *command, struct select *select, struct trace *trace);
void select_end(struct select *select);

/* Add an event that the user gave as T:N. Returns as option_parse. */
int select_add_event(struct select *select, const char *text, char complaint[OPTIONS_COMPLAINT]);

/* Note that a selected single event was reached. */
void select_remove_wanted(struct select *select, const struct trace_event *event);

/* The filter for a cursor. */
struct trace_filter select_filter(const struct select *select);

/* Is @event the one that --around names? */
bool select_is_around(const struct select *select, const struct trace_event *event);

/* Does @event match the selectors, apart from those that count lines? */
bool select_has(const struct select *select, struct trace *trace, const struct trace_event *event);

/* Is a first pass needed to know which lines are printed? */
static inline bool select_counts(const struct select *select)
{
	return select->around.thread || select->last;
}

/* The lines to print, numbered from 1. */
struct select_lines {
	uint64_t first, last;
};

/* Which of @n lines to print; with --around, @n counts those in the window. */
struct select_lines select_lines(const struct select *select, uint64_t n);
