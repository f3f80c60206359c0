#pragma once
/*
 * Batches of completions of an extended CQ: what ibv_start_poll() begins, ibv_next_poll() goes on
 * with, and ibv_end_poll() ends, which is no event.
 *
 * So a batch is known to have been open only from its start to the last completion of it.
 *
 * One thread.
 */
#include "analyzer/model/lives.h"

struct model;

/* Of a CQ whose completions were iterated over. */
struct batch {
	bool started;          /* ever */
	struct moment start;   /* the last ibv_start_poll() that found a completion */
	struct moment gone;    /* since then, by its thread: a queue pair of the CQ was destroyed */
	struct moment created; /* that queue pair */
	char name[LIFE_NAME];
};

/* A poll of @cq, which may be NULL. 0 or -ENOMEM. */
int batch_poll_seen(struct model *model, const struct trace_event *event, struct life *cq);

/* @qp was destroyed. */
void batch_lost_qp(struct model *model, const struct life *qp, const struct moment *destroy);
