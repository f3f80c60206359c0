#pragma once
/*
 * The times when ports and devices were down or changed, as asynchronous events reported.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

struct outages;
struct trace;
struct trace_event;

/* The failed request of a queue pair, as one end of it sees it. */
struct outage_victim {
	uint32_t process;
	uint64_t context; /* handle */
	uint32_t port;    /* 0: not known */
	uint32_t status;  /* enum ibv_wc_status */
	int64_t posted, failed;
	int64_t slack; /* uncertainty of the two times; 0 at the end that posted the request */
};

/* NULL if out of memory. */
struct outages *outages_new(void);

/* Accepts NULL. */
void outages_free(struct outages *outages);

/* ibv_get_async_event() has returned an event. */
void outages_note_event(struct outages *outages, const struct trace_event *event);

/*
 * "port 1 was down: IBV_EVENT_PORT_ERR 1:47, 16 ms earlier", "the GIDs of port 1 had changed": an
 * event of the victim's port or device between the post and the failure, or shortly after; a change
 * also shortly before the post. @of_peer: name the process. The caller frees the text; NULL:
 * nothing is known, or a link failure cannot cause this status.
 */
char *outages_describe(const struct outages *outages, const struct outage_victim *victim,
		       bool of_peer);

/*
 * "device rxe0 of this machine was removed at some time of the recording", of the victim's machine,
 * or (@of_peer) of the peer's, if the program read no event of it. NULL as above. The caller frees
 * the text.
 */
char *outages_describe_removed(struct trace *trace, const struct outage_victim *victim,
			       bool of_peer);
