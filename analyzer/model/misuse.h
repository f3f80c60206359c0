#pragma once
/*
 * Misuses recorded by `record --strict`: TRACE_MISUSE.
 *
 * Not thread-safe.
 */
#include "analyzer/model/lives.h"

struct model;

/* Misuse of an object that was about to be destroyed. */
struct misuse {
	struct {
		struct moment at; /* right before the destroy began; or none */
		uint32_t other;   /* thread; 0 not known */
		enum verb other_verb;
	} crowded;            /* another thread was using it */
	struct moment inside; /* the thread was polling the queue pair's CQ */
	char cq[LIFE_NAME];   /* name of that CQ */
};

/* 0 or -ENOMEM. */
int misuse_note(struct model *model, const struct trace_event *event);

/* The destroy failed: the object is unchanged. */
void misuse_forget(struct life *life);
