#pragma once
/*
 * Batches of completions of an extended CQ: ibv_start_poll() begins one, ibv_next_poll() continues
 * it, and ibv_end_poll(), which is not recorded, ends it.
 *
 * So a batch is known to have been open only from its start to its last completion.
 *
 * Not thread-safe.
 */
#include "analyzer/model/lives.h"

struct model;

/* The current batch of a CQ. */
struct batch {
	bool started;          /* the CQ has had a batch */
	struct moment start;   /* the last ibv_start_poll() that found a completion */
	struct moment gone;    /* a queue pair of the CQ was destroyed later by the same thread */
	struct moment created; /* creation of that queue pair */
	char name[LIFE_NAME];
};

/* A poll of @cq, which may be NULL. 0 or -ENOMEM. */
int batch_note_poll(struct model *model, const struct trace_event *event, struct life *cq);

/* @qp was destroyed. */
void batch_note_lost_qp(struct model *model, const struct life *qp, const struct moment *destroy);
