#pragma once
/*
 * Which queue pair a number means, and which requests failed.
 *
 * Not thread-safe.
 */
#include "cli/emit/program.h"

struct links {
	const struct connections *connections; /* the trace's */
	const struct queue_table *queues;      /* the trace's queue table, if it is known */
	/* from a connecting event to the time at which its thread had last polled a message */
	struct map last_polled;
	struct map srqs;   /* from the number of an SRQ to its object */
	struct map failed; /* from a request to 1 + its status */
	struct map silent; /* queue pairs whose peer did not respond (IBV_WC_RETRY_EXC_ERR) */
	struct map heard;  /* from a thread to the time at which it polled its last message */
};

/* 0 or -errno after log_err(). */
int links_init(struct links *links, struct program *program);

int links_learn(struct links *links, struct program *program, const struct trace_event *event);
void links_fini(struct links *links);

/* The object of the queue pair that @qp is connected to at @time; 0: it is not in the trace. */
uint32_t links_find(const struct links *links, uint32_t qp, int64_t time);

/* Was the queue pair connected at @time, to any number? */
bool links_is_connected(const struct links *links, uint32_t qp, int64_t time);

/*
 * The event that connects @qp, if it comes after @time and its thread got no message in between:
 * then the current action can wait for it. 0:0: there is none.
 */
struct event_id links_next_connection(const struct links *links, uint32_t qp, int64_t time);

/* The queue pair of that number that a datagram of @qp goes to by address handle @ah; or 0. */
uint32_t links_find_target(const struct links *links, uint32_t qp, uint32_t number, uint32_t ah,
			   int64_t time);

/* The queue pair that the datagram of a completion comes from; or 0. */
uint32_t links_find_sender(const struct links *links, const struct wc *wc, int64_t time);

/* The SRQ of that number, as ibv_get_srq_num() returned it; or 0. */
uint32_t links_find_srq(const struct links *links, uint32_t number);

/*
 * The status of the completion of request @i of the post @id; IBV_WC_SUCCESS also if it has no
 * completion.
 */
int links_find_status(const struct links *links, struct event_id id, uint32_t i);
