#pragma once
/*
 * A line is the connection to the other replay while both run: a thread sends and receives.
 *
 * Any thread may send. Received messages are passed to the user in the thread of the line.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct line;
struct wire;

struct line_user {
	/* a message came: 0, or -EBADMSG if it is not valid, which ends the line */
	int (*take)(void *arg, uint16_t type, const uint8_t *bytes, size_t length);
	/* called from time to time, and before sending: it may send more; @now: ns */
	void (*before)(void *arg, int64_t now);
	/* the line has ended: -ECONNRESET, -EBADMSG, -ETIMEDOUT; not after line_close() */
	void (*lost)(void *arg, int err);
	void *arg;
};

/* Takes ownership of @wire, even on failure. Returns 0 or -errno after log_err(). */
int line_open(struct wire *wire, const struct line_user *user, struct line **ret_line);

/* Send the remaining messages, and close the line. Accepts NULL. */
void line_close(struct line *line);

/* The bytes are copied. If out of memory, the line is ended. */
void line_send(struct line *line, uint16_t type, const void *bytes, size_t length);

/* Make the line's thread call before() soon. */
void line_wake(struct line *line);
