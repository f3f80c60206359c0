#pragma once
/*
 * The first line of every report: the first completion error of each queue pair that is not a
 * flush, with its work request. Such a completion has only wr_id, status, qp_num and vendor_err;
 * the rest comes from the post.
 *
 * Not thread-safe.
 */
#include "core/store/read/trace.h"

/* enum ibv_wc_status */
enum { FIRST_SUCCESS = 0, FIRST_FLUSH = 5 };

/* Does the user know a finding or fact already (report/known.h)? Bits; several may be set. */
enum finding_known {
	FINDING_NEW,
	FINDING_SUPPRESSED = 1,
	FINDING_BASELINE = 2,
	FINDING_UNCERTAIN = 4, /* reported before it was known which events are missing */
};

/* A work request that may have failed. */
struct first_request {
	struct event_id id; /* the post; 0:0: not known, and the following fields are not valid */
	uint32_t index;     /* in the list of the post */
	int64_t posted_at;
	uint32_t stack; /* of the post, 0 not known */
	bool is_recv;
	int opcode; /* enum ibv_wr_opcode; -1 a receive */
	uint32_t nsge;
	struct sge sge; /* the first */
	uint64_t remote_addr;
	uint32_t rkey;
};

/* The first completion error of a queue pair that is not a flush. */
struct first_error {
	uint32_t process, qp; /* object, 0 unknown */
	uint32_t qp_num;
	char name[32];         /* "qp1"; empty: not known */
	struct event_id event; /* poll */
	uint32_t index;        /* of the completion in the poll */
	uint32_t poll_stack;   /* where it was polled; 0 not known */
	int64_t time;
	int status;
	uint32_t vendor_err;
	uint64_t wr_id;
	uint32_t candidates; /* number of requests with that wr_id that may have failed */
	struct first_request request;
	struct first_request other; /* the candidate on the other side (send or receive), if any */
	uint64_t flushes;           /* completions flushed after it */
	unsigned int known;         /* enum finding_known */
};

struct first_list {
	struct first_error *all;
	size_t n;
};

struct first_errors;

/* Adds the errors to @errors. Returns 0 or -ENOMEM after log_err(). */
int first_errors_new(struct trace *trace, struct first_list *errors,
		     struct first_errors **ret_first);

/* Accepts NULL. */
void first_errors_free(struct first_errors *first);

/* Examine a poll. Returns 0 or -errno after log_err(). */
int first_errors_note_poll(struct first_errors *first, const struct trace_event *event);

/* An SGE of request @index of post @id is not in its memory region. */
void first_errors_note_invalid_sge(struct first_errors *first, struct event_id id, uint32_t index);

/* Look up the work requests in the trace. Returns 0 or -errno after log_err(). */
int first_errors_finish(struct first_errors *first);
