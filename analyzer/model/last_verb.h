#pragma once
/*
 * The last verb of each thread and process: what a thread was about to do when its process ended.
 *
 * Only the application's own verbs count, not those that a verb calls.
 *
 * Not thread-safe.
 */
#include "analyzer/model/moment.h"

struct model;

/* A verb, or the end of one. */
struct last_point {
	struct event_id id; /* 0:0: none */
	int64_t time;
};

struct last_verb {
	struct last_point at; /* when it began */
	int64_t returned;     /* at.time while the verb is in progress */
	int64_t progress;     /* when a request was accepted or a completion polled; 0: never */
	uint64_t handle;      /* the object of the last data verb; 0: another event followed it */
	uint32_t process;
	enum verb verb;
	uint32_t stack;
};

/* The longest time between two verbs of a process; from.id is 0:0: it called at most one. */
struct last_silence {
	struct last_point from, to;
};

struct last_verb_process {
	uint32_t thread; /* the thread that called the last verb; 0: none */
	struct last_point at;
	struct last_silence silence;
	int64_t longest; /* duration of `silence`, ns */
	/* when a request of the process was accepted, and when it polled a completion; 0: never */
	int64_t posted, polled;
};

/*
 * Store the last verb of the thread and process of @event, which the model has processed. 0 or
 * -ENOMEM.
 */
int last_verb_note(struct model *model, const struct trace_event *event);

/* NULL: the thread or process called no verb. Valid until the next last_verb_note(). */
const struct last_verb *last_verb_of_thread(const struct model *model, uint32_t thread);
const struct last_verb *last_verb_of_process(const struct model *model, uint32_t process);

/* All zero if the process called no verb. */
struct last_verb_process last_verb_process(const struct model *model, uint32_t process);

/* The time of the last verb of @process; 0: it called none. */
int64_t last_verb_time(const struct model *model, uint32_t process);

/* When a request of @process was last accepted, or it last polled a completion; 0: never. */
int64_t last_verb_progress(const struct model *model, uint32_t process);

/* The kind of the object of @last; OBJECT_COUNT: it is not a data verb. */
enum object_kind last_verb_kind(const struct last_verb *last);

struct moment last_verb_moment(const struct last_verb *last);

void last_verb_fini(struct model *model);
