#pragma once
/*
 * Registrations and new queue pairs while a program is at work.
 *
 * A process is in steady state from its HOT_POSTS-th post to its last: what comes
 * before is set-up, what comes after tear-down. Only calls of the thread that posts
 * count, as only they keep it from posting.
 *
 * One thread.
 */
#include <stdint.h>

#include "analyzer/model/lives.h"

enum { HOT_POSTS = 1000 };

struct model;
struct trace_event;

struct hot {
	uint64_t posts;
	uint32_t thread;      /* of the last post */
	int64_t since, until; /* steady state */
	uint64_t calls;       /* in it, and their time */
	int64_t ns;
	struct moment longest;
	int64_t longest_ns;
	uint64_t waiting_calls; /* since the last post */
	int64_t waiting_ns;
};

/* A post of the application. 0 or -ENOMEM. */
int hot_post(struct model *model, const struct trace_event *event);

/* A control verb of the application has returned. */
void hot_call(struct model *model, const struct trace_event *event);

/* The process has ended. */
void hot_forget(struct model *model, uint32_t process);

/* What is known of @process; NULL: it has posted nothing. */
const struct hot *hot_of(const struct model *model, uint32_t process);
