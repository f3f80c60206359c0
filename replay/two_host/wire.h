#pragma once
/*
 * Messages between the two replays of a pair, over one stream socket.
 *
 * TLS 1.3 with a pre-shared key: both ends prove that they have it before anything else is read,
 * and nobody else can read, change, drop, repeat or insert messages. The format is at the top of
 * wire.c.
 *
 * A struct wire is used by one thread at a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_VERSION = 5, WIRE_MOST = 1 << 16 /* bytes of a message */, WIRE_WHY = 128 };

enum wire_role { WIRE_LISTENER = 1, WIRE_PEER = 2 };

struct wire;

/*
 * Take @fd, and authenticate the other end until @deadline (CLOCK_MONOTONIC, ns). Closes @fd on
 * every failure. Returns 0, or -errno with the reason in @ret_why, printing nothing: -EKEYREJECTED
 * if the other end does not have this key, -EPROTONOSUPPORT if it has another version, -EPROTO if
 * it is not a replay, -ENOTSUP if this machine's configuration of GnuTLS forbids it, -ETIMEDOUT,
 * -ECONNRESET.
 */
int wire_open(int fd, enum wire_role role, const void *key, size_t length, int64_t deadline,
	      char ret_why[WIRE_WHY], struct wire **ret_wire);

/* Accepts NULL. */
void wire_close(struct wire *wire);

int wire_fd(const struct wire *wire);

/*
 * Send a message, waiting for buffer space until @deadline. Returns 0 or -errno, without a message.
 */
int wire_send(struct wire *wire, uint16_t type, const void *bytes, size_t length, int64_t deadline);

/*
 * Read what has arrived, without waiting. Returns 0; 1 if there may be more data, for which
 * messages must be taken first; -ECONNRESET at the end, -EBADMSG if the data was altered, or
 * another -errno, and then the same at each later call. Complete messages can still be taken.
 */
int wire_fill(struct wire *wire);

/*
 * The next complete message, valid until the next call: 1, 0 if there is none, or -EBADMSG if it is
 * not a valid message.
 */
int wire_next(struct wire *wire, uint16_t *ret_type, const uint8_t **ret_bytes, size_t *ret_length);

/* The clock of the deadlines. */
int64_t wire_now(void);
