#pragma once
/*
 * The recorder's events in CTF, as LTTng writes it. Only ctf.c uses babeltrace2.
 *
 * Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

/* An event of a tracepoint of the recorder (shim/lttng/points.h); fields that it lacks are 0. */
struct ctf_event {
	const char *name; /* without "verbatim:" */
	uint32_t pid, tid, seq;
	uint64_t since, time;                  /* CLOCK_MONOTONIC, ns */
	uint64_t start, realtime, fingerprint; /* thread_begin, thread_end */
	uint64_t fork_time;                    /* process */
	const uint64_t *raw; /* struct event_*, or struct ring_head; not trusted */
	size_t words;
};

/* Called in the order of time. A result other than 0 ends reading. */
struct ctf_visitor {
	int (*event)(void *arg, const struct ctf_event *event);
	/* LTTng's buffers had no space for @events events of any tracepoint */
	int (*discarded)(void *arg, uint64_t events);
	void *arg;
};

/*
 * Read all CTF traces in @dir and below it. Returns 0; the visitor's result; or after log_err():
 * -ENOENT and the like if there is no @dir, -EPROTO if it holds no CTF trace, -EBADMSG if one is
 * truncated or damaged: the events before that were passed to the visitor.
 */
int ctf_read(const char *dir, const struct ctf_visitor *visitor);
