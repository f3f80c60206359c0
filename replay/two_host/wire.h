#pragma once
/*
 * Messages between the two replays of a pair, over one stream socket.
 *
 * TLS 1.3 with a pre-shared key: both ends prove that they have it before anything else is read,
 * and no message can be read, changed, left out, repeated or put in by others. The format is at the
 * top of wire.c.
 *
 * A struct wire is used by one thread at a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_VERSION = 4, WIRE_MOST = 1 << 16 /* bytes of a message */, WIRE_WHY = 128 };

enum wire_role { WIRE_LISTENER = 1, WIRE_PEER = 2 };

struct wire;

/*
 * Take @fd, and agree with the other end until @deadline (CLOCK_MONOTONIC, ns). Closes @fd in any
 * case that fails. Returns 0, or -errno with the reason in @ret_why, printing nothing:
 * -EKEYREJECTED where the other end does not have this key, -EPROTONOSUPPORT where it is of another
 * version, -EPROTO where it is no replay, -ENOTSUP where GnuTLS is kept from it by this machine's
 * configuration, -ETIMEDOUT, -ECONNRESET.
 */
int wire_open(int fd, enum wire_role role, const void *key, size_t length, int64_t deadline,
	      char ret_why[WIRE_WHY], struct wire **ret_wire);

/* Accepts NULL. */
void wire_close(struct wire *wire);

int wire_fd(const struct wire *wire);

/* Send a message, waiting for room until @deadline. Returns 0 or -errno, without a word. */
int wire_send(struct wire *wire, uint16_t type, const void *bytes, size_t length, int64_t deadline);

/*
 * Take what has arrived, without waiting: 0; 1 where there may be more than there is room for until
 * messages are taken; -ECONNRESET at the end, -EBADMSG where it is not as it was sent, or another
 * -errno, and the same again. Messages that were complete before can still be taken.
 */
int wire_fill(struct wire *wire);

/*
 * The next message that is complete, valid until the next call: 1, 0 if there is none, or -EBADMSG
 * where it is no message.
 */
int wire_next(struct wire *wire, uint16_t *ret_type, const uint8_t **ret_bytes, size_t *ret_length);

/* The clock of the deadlines. */
int64_t wire_now(void);
