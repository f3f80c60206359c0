#pragma once
/*
 * Answers of `verbatim query`: facts and lists, as text or as JSON, and shared functions.
 *
 * Not thread-safe.
 */
#include "cli/query/view.h"
#include "cli/table.h"
#include "core/base/text.h"

struct queue_request;

struct answer {
	struct trace *trace;
	const struct question *question;
	const char *text;   /* of the question */
	unsigned int begun; /* answers */
	struct text notes;  /* notes of the answer, in JSON */
	bool json;
	uint32_t most;    /* rows of a list; 0: all */
	int64_t from, to; /* lists have elements that began at `from' or later, and before `to' */
};

/* The state of @object, in @view; @life is NULL if the model does not know it. */
void answer_state(struct answer *answer, const struct view *view, const struct object *object,
		  const struct life *life);
void answer_outstanding(struct answer *answer, const struct view *view, const struct object *object,
			const struct life *life);
void answer_peer(struct answer *answer, const struct view *view, const struct object *object,
		 const struct life *life);

/* The regions that cover memory, in @view. */
void answer_covers(struct answer *answer, const struct view *view);
void answer_registered(struct answer *answer, const struct view *view);

/* An answer about a request, which reads the trace itself. Returns the exit status. */
int answer_path(struct answer *answer);

/* Begin an answer about @object in @view, each of which may be NULL; end it; end all. */
void answer_begin(struct answer *answer, const struct view *view, const struct object *object);
void answer_end(struct answer *answer);
void answer_close(struct answer *answer);

/* A table of properties; add a property. */
struct table *properties_new(const char *name);
void properties_add(struct table *facts, const char *property, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Print a table and free it. */
void answer_table(struct answer *answer, struct table *table);

/* A line of text; an element of "notes" in JSON. */
void answer_note(struct answer *answer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Should row @i of a list be shown? */
static inline bool answer_shows(struct answer *answer, uint64_t i)
{
	return !answer->most || i < answer->most;
}

/* Is @time, when an element of a list began, in the requested range? */
static inline bool answer_ranges(const struct answer *answer, int64_t time)
{
	return time >= answer->from && time < answer->to;
}

/* Note how many rows of a list of @n were not shown. */
void answer_more(struct answer *answer, uint64_t n);

/* The number of a process, with the trace if there are several. */
void answer_process(struct table *table, uint32_t process);

/* "qp1 of process 2 (server)" */
const char *name_object(struct trace *trace, const struct object *object, char text[VIEW_TEXT]);

/* "LOCAL_WRITE|REMOTE_READ", of enum ibv_access_flags; "0" */
const char *name_access(uint32_t access, char text[VIEW_TEXT]);

/* "mr1+0x40", "lkey 0x8002, which is not known" */
const char *name_memory(const struct view *view, const struct life *queue, const struct sge *sge,
			char text[VIEW_TEXT]);

/* "process 2 mr1+0x40", "rkey 0x3"; "-" if @request accesses no remote memory */
const char *name_remote(const struct view *view, const struct life *queue,
			const struct queue_request *request, char text[VIEW_TEXT]);
