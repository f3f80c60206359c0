#pragma once
/*
 * The cause of the first error of a queue pair, derived from its keys and its other end.
 *
 * Facts that are known when the completion is polled are stored then; the fate of the other end is
 * added when the trace ends, or on request while it is being written.
 *
 * Not thread-safe.
 */
#include "analyzer/facts/first_errors.h"
#include "analyzer/model/watcher.h"

struct model;
struct causes;

struct cause {
	uint32_t process, qp; /* the other end; qp: object; 0: not known */
	char lkey[64];        /* of the request's first element: "mr2 of pd1"; "": not known */
	char rkey[96];        /* "process 2 mr1, deregistered 2.0 ms earlier" */
	bool worked;          /* a request had completed on the queue pair before */
	bool datagrams;       /* the queue pair is UD */
	bool xrc;             /* the queue pair sends by XRC */
	char *name;           /* of the other end: "process 2 (server) qp1"; NULL: not known */
	char *port;           /* "port 1 was down: IBV_EVENT_PORT_ERR 1:47, 16 ms earlier"; NULL */
	/* "lkey 0x8002 is mr2 of pd1; qp1 is in pd2"; NULL: the keys are valid */
	char *key;
	/* "killed by SIGKILL, last verb at 582 ms"; NULL: nothing to report */
	char *peer;
};

int causes_new(struct trace *trace, const struct first_list *errors, struct causes **ret_causes);

/* Accepts NULL. */
void causes_free(struct causes *causes);

/* A completion in error; call it before first_errors_note_poll(). */
void causes_note_error(struct causes *causes, struct model *model,
		       const struct model_complete *complete);

/*
 * The errors that first_errors_note_poll() has added belong to the completions of
 * causes_note_error().
 */
void causes_bind_errors(struct causes *causes);

/* ibv_get_async_event() has returned an event: the port may be down. */
void causes_note_event(struct causes *causes, const struct trace_event *event);

/* ibv_modify_qp() has succeeded, called by the application or a library. */
void causes_note_modify(struct causes *causes, const struct trace_event *event);

/* Receives were posted: perhaps the first ones of a peer whose empty queue caused an error. */
void causes_note_post(struct causes *causes, const struct trace_event *event);

/* Complete the sentences about the other ends. */
void causes_finish(struct causes *causes, const struct model *model);

/* For errors->all[i]; NULL: nothing is known. */
const struct cause *causes_of(const struct causes *causes, size_t i);
