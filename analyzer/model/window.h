#pragma once
/*
 * Memory windows: the range of each key, and how long it is valid.
 *
 * A bind gives a window a key, which is valid for a range until an invalidation is executed, or
 * until the next bind. An invalidation is known to be executed when its completion, or the
 * completion of the receive with the message, was polled without an error.
 *
 * Not thread-safe.
 */
#include "analyzer/model/key.h"

struct model;
struct queue_request;
struct wc;
struct wr;

enum window_state {
	WINDOW_UNBOUND, /* never bound, or unbound by a bind of length 0: key->bind */
	WINDOW_BOUND,
	WINDOW_INVALIDATING, /* by a request that may or may not have been executed */
	WINDOW_INVALID,      /* both: key->invalid */
};

enum window_state window_state(const struct model *model, const struct key *key);

/*
 * The range and the rights of the key of a window that was bound before @time, as those of a
 * region. False, with *@ret_key untouched, if it is not certainly bound.
 */
bool window_make_key(const struct model *model, const struct key *key, int64_t time,
		     struct key *ret_key);

enum { WINDOW_TEXT = 96 };

/* "IBV_WR_LOCAL_INV 1:51, 64 ms earlier, invalidated it", of a key that is WINDOW_INVALID */
const char *window_invalid_text(const struct key *key, int64_t time, char text[WINDOW_TEXT]);

/* The window @key gets @rkey at once, without waiting for the success of the bind. */
int window_bind(struct keys *keys, struct key *key, const struct key_bind *bind, uint32_t rkey);

/* Request @i of a post to @queue invalidates an rkey of its own process or of its peer's. */
void window_note_invalidated(struct model *model, const struct trace_event *event,
			     const struct life *queue, uint32_t i);

/* The invalidating request has failed: the key is valid, or unknown for SEND_WITH_INV. */
void window_restore(struct model *model, const struct trace_event *event,
		    const struct queue_request *request);

/* Completion @wc of a receive of @qp reports that a key was invalidated. */
void window_note_remote_invalidation(struct model *model, const struct trace_event *event,
				     const struct life *qp, const struct wc *wc);
