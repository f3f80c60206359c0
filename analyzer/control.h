#pragma once
/*
 * The insides of a model, for the files that make it up: model.c (data verbs,
 * processes) and control.c (control verbs).
 *
 * One thread.
 */
#include "analyzer/handles.h"
#include "analyzer/model.h"

/* A destroy that has begun. */
struct pending {
	struct model_destroy destroy;
	struct life *life;
	struct pending *next;
};

/* A process that inherited what another had. */
struct forked {
	uint32_t process;
	struct mark mark;
	struct forked *next;
};

struct model {
	struct trace *trace;
	struct model_watcher watcher;
	struct lives lives;
	struct handles handles;
	struct pending *pending;
	struct forked *forks;
	bool binds; /* there was an ibv_bind_mw() */
	bool *in_cm; /* by thread: it is inside a call of librdmacm */
	uint32_t nin_cm;
};

/* model.c: tell the watcher, where there is an object; @path as in struct model_use. */
void model_used(struct model *model, const struct trace_event *event, enum verb verb,
		const struct life *life, const char *path, unsigned int index);

/* A call of the application, and its return. 0 or -errno after log_err(). */
int control_call(struct model *model, const struct trace_event *event);
int control_return(struct model *model, const struct trace_event *event);

/* The destroys of @process that have not returned, nor ever will; 0: of all, and nobody is told. */
void control_end(struct model *model, uint32_t process, int64_t time, bool ended);
