/*
 * Messages between the two replays of a pair
 *
 * All numbers are little-endian. First both ends, at once:
 *
 *	hello    "verbatim" | version u32 | role u32 | nonce, 32 bytes
 *
 * then each proves that it has the key, the one that connected first, so that who only looks for
 * open ports gets nothing to try keys on:
 *
 *	proof    HMAC(key, "proof" | role u32 | hello of the listener | hello of the peer)
 *
 * and then any number of
 *
 *	message  length u32 | type u16 | 0 u16 | bytes | seal
 *	seal     HMAC(key of the direction, number u64 | all of the message before the seal)
 *
 * where the key of a direction is HMAC(key, "messages" | role of the sender | both hellos), and the
 * number counts the messages of that direction from 0. The roles keep an end from being answered
 * with its own words, the nonces with those of another time.
 *
 * Not here: what the messages are (pair_talk.c), how the two find each other (meet.c,
 * admit.c).
 */
#include "replay/pair/wire.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "replay/pair/seal.h"

enum { HEAD = 8, NONCE = 32, MAGIC = 8, BUFFER = 2 * (HEAD + WIRE_MOST + SEAL) };

static const char magic[MAGIC + 1] = "verbatim";

struct hello {
	char magic[MAGIC];
	uint32_t version, role;
	uint8_t nonce[NONCE];
} __attribute__((packed));

struct wire {
	int fd;
	struct seal *out, *in;
	uint64_t sent, received;
	bool broken;
	size_t begin, end; /* of what is in the buffer */
	uint8_t buffer[BUFFER];
	uint8_t message[HEAD + WIRE_MOST + SEAL]; /* that is sent */
};

int64_t wire_now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000000000ll + at.tv_nsec;
}

/* Wait until it is ready for @events: 0, or -ETIMEDOUT. */
static int await_ready(int fd, short events, int64_t deadline)
{
	struct pollfd look = { .fd = fd, .events = events };
	int64_t left;
	int n;

	do {
		left = deadline - wire_now();
		if (left <= 0)
			return -ETIMEDOUT;
		n = poll(&look, 1, left > 1000000000 ? 1000 : (int)(left / 1000000) + 1);
	} while (!n || (n < 0 && errno == EINTR));
	return n < 0 ? -errno : 0;
}

static int send_all(int fd, const void *bytes, size_t length, int64_t deadline)
{
	const char *at = bytes;

	while (length) {
		ssize_t n = send(fd, at, length, MSG_NOSIGNAL | MSG_DONTWAIT);
		int err = n < 0 ? -errno : 0;

		if (err == -EAGAIN)
			err = await_ready(fd, POLLOUT, deadline);
		else if (err == -EPIPE)
			err = -ECONNRESET;
		if (err && err != -EINTR)
			return err;
		if (n > 0) {
			at += n;
			length -= (size_t)n;
		}
	}
	return 0;
}

static int receive_all(int fd, void *bytes, size_t length, int64_t deadline)
{
	char *at = bytes;

	while (length) {
		ssize_t n = recv(fd, at, length, MSG_DONTWAIT);
		int err = n < 0 ? -errno : 0;

		if (err == -EAGAIN)
			err = await_ready(fd, POLLIN, deadline);
		if (err && err != -EINTR)
			return err;
		if (!n)
			return -ECONNRESET;
		if (n > 0) {
			at += n;
			length -= (size_t)n;
		}
	}
	return 0;
}

static int __attribute__((format(printf, 3, 4)))
tell_why(char why[WIRE_WHY], int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, WIRE_WHY, format, args);
	va_end(args);
	return err;
}

/* Both ends as each of them knows them. */
struct agreement {
	enum wire_role role;
	struct seal *key;
	struct hello listener, peer;
};

static void make_seal(const struct agreement *a, const char *label, enum wire_role role,
		      uint8_t ret_seal[SEAL])
{
	uint32_t number = htole32(role);

	seal_add(a->key, label, strlen(label));
	seal_add(a->key, &number, sizeof(number));
	seal_add(a->key, &a->listener, sizeof(a->listener));
	seal_add(a->key, &a->peer, sizeof(a->peer));
	seal_end(a->key, ret_seal);
}

static enum wire_role other_role(enum wire_role role)
{
	return role == WIRE_LISTENER ? WIRE_PEER : WIRE_LISTENER;
}

static int judge_hello(const struct hello *hello, enum wire_role role, char why[WIRE_WHY])
{
	if (memcmp(hello->magic, magic, MAGIC))
		return tell_why(why, -EPROTO, "what is at the other end is no replay");
	if (le32toh(hello->version) != WIRE_VERSION)
		return tell_why(why, -EPROTONOSUPPORT,
				"the other replay speaks version %u, this one version %u: use the "
				"same verbatim on both hosts",
				le32toh(hello->version), WIRE_VERSION);
	if (le32toh(hello->role) != other_role(role))
		return tell_why(why, -EPROTO, "one host needs --listen, the other one --peer");
	return 0;
}

static int exchange_hellos(int fd, struct agreement *a, int64_t deadline, char why[WIRE_WHY])
{
	struct hello *mine = a->role == WIRE_LISTENER ? &a->listener : &a->peer;
	struct hello *its = a->role == WIRE_LISTENER ? &a->peer : &a->listener;
	int err;

	memcpy(mine->magic, magic, MAGIC);
	mine->version = htole32(WIRE_VERSION);
	mine->role = htole32(a->role);
	err = seal_random(mine->nonce, NONCE);
	if (err)
		return tell_why(why, err, "there are no random numbers");
	err = send_all(fd, mine, sizeof(*mine), deadline);
	/* whose first words are others may say fewer of them */
	err = err ?: receive_all(fd, its->magic, sizeof(its->magic), deadline);
	if (!err && !memcmp(its->magic, magic, MAGIC))
		err = receive_all(fd, &its->version, sizeof(*its) - MAGIC, deadline);
	if (err == -ETIMEDOUT)
		return tell_why(why, err, "the other end says nothing");
	if (err)
		return tell_why(why, err,
				"the other end closed the connection before it said who it is");
	return judge_hello(its, a->role, why);
}

static int send_proof(int fd, const struct agreement *a, int64_t deadline)
{
	uint8_t proof[SEAL];

	make_seal(a, "proof", a->role, proof);
	return send_all(fd, proof, sizeof(proof), deadline);
}

static int check_proof(int fd, const struct agreement *a, int64_t deadline)
{
	uint8_t proof[SEAL], expected[SEAL];
	int err = receive_all(fd, proof, sizeof(proof), deadline);

	if (err)
		return err;
	make_seal(a, "proof", other_role(a->role), expected);
	return seal_is_same(proof, expected) ? 0 : -EKEYREJECTED;
}

static int prove_key(int fd, const struct agreement *a, int64_t deadline, char why[WIRE_WHY])
{
	int err;

	if (a->role == WIRE_LISTENER)
		err = check_proof(fd, a, deadline) ?: send_proof(fd, a, deadline);
	else
		err = send_proof(fd, a, deadline) ?: check_proof(fd, a, deadline);
	if (err == -EKEYREJECTED)
		return tell_why(why, err, "the other end does not have the same --key");
	if (err == -ECONNRESET && a->role == WIRE_PEER)
		return tell_why(why, -EKEYREJECTED, "the other end has refused our --key");
	return err ? tell_why(why, err, "the other end does not prove that it has the --key") : 0;
}

static struct seal *make_direction(const struct agreement *a, enum wire_role sender)
{
	uint8_t key[SEAL];
	struct seal *seal;

	make_seal(a, "messages", sender, key);
	seal = seal_new(key, sizeof(key));
	explicit_bzero(key, sizeof(key));
	return seal;
}

int wire_open(int fd, enum wire_role role, const void *key, size_t length, int64_t deadline,
	      char ret_why[WIRE_WHY], struct wire **ret_wire)
{
	struct agreement a = { .role = role, .key = seal_new(key, length) };
	struct wire *wire = calloc(1, sizeof(*wire));
	int err = wire && a.key ? 0 : tell_why(ret_why, -ENOMEM, "no memory");

	if (wire)
		wire->fd = fd;
	else
		close(fd);
	if (!err)
		err = exchange_hellos(fd, &a, deadline, ret_why)
			      ?: prove_key(fd, &a, deadline, ret_why);
	if (!err) {
		wire->out = make_direction(&a, role);
		wire->in = make_direction(&a, other_role(role));
		if (!wire->out || !wire->in)
			err = tell_why(ret_why, -ENOMEM, "no memory");
	}
	seal_free(a.key);
	if (err)
		wire_close(wire);
	else
		*ret_wire = wire;
	return err;
}

void wire_close(struct wire *wire)
{
	if (!wire)
		return;
	seal_free(wire->out);
	seal_free(wire->in);
	close(wire->fd);
	free(wire);
}

int wire_fd(const struct wire *wire)
{
	return wire->fd;
}

static void seal_message(struct seal *seal, uint64_t number, const uint8_t *message, size_t length,
			 uint8_t ret_seal[SEAL])
{
	number = htole64(number);
	seal_add(seal, &number, sizeof(number));
	seal_add(seal, message, length);
	seal_end(seal, ret_seal);
}

int wire_send(struct wire *wire, uint16_t type, const void *bytes, size_t length, int64_t deadline)
{
	uint32_t size = htole32((uint32_t)length);
	uint8_t *m = wire->message;

	if (length > WIRE_MOST)
		return -EMSGSIZE;
	type = htole16(type);
	memcpy(m, &size, sizeof(size));
	memcpy(m + 4, &type, sizeof(type));
	memset(m + 6, 0, 2);
	if (length)
		memcpy(m + HEAD, bytes, length);
	seal_message(wire->out, wire->sent++, m, HEAD + length, m + HEAD + length);
	return send_all(wire->fd, m, HEAD + length + SEAL, deadline);
}

int wire_fill(struct wire *wire)
{
	ssize_t n;

	if (wire->begin) {
		memmove(wire->buffer, wire->buffer + wire->begin, wire->end - wire->begin);
		wire->end -= wire->begin;
		wire->begin = 0;
	}
	if (wire->end == BUFFER) /* a message is shorter than that */
		return 0;
	n = recv(wire->fd, wire->buffer + wire->end, BUFFER - wire->end, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	wire->end += (size_t)n;
	return n ? 0 : -ECONNRESET;
}

int wire_next(struct wire *wire, uint16_t *ret_type, const uint8_t **ret_bytes, size_t *ret_length)
{
	const uint8_t *m = wire->buffer + wire->begin;
	size_t here = wire->end - wire->begin;
	uint8_t expected[SEAL];
	uint32_t length;
	uint16_t type, zero;

	if (wire->broken)
		return -EBADMSG;
	if (here < HEAD)
		return 0;
	memcpy(&length, m, sizeof(length));
	length = le32toh(length);
	wire->broken = length > WIRE_MOST;
	if (wire->broken)
		return -EBADMSG;
	if (here < HEAD + length + SEAL)
		return 0;
	seal_message(wire->in, wire->received++, m, HEAD + length, expected);
	memcpy(&type, m + 4, sizeof(type));
	memcpy(&zero, m + 6, sizeof(zero));
	wire->broken = !seal_is_same(expected, m + HEAD + length) || zero;
	if (wire->broken)
		return -EBADMSG;
	wire->begin += HEAD + length + SEAL;
	*ret_type = le16toh(type);
	*ret_bytes = m + HEAD;
	*ret_length = length;
	return 1;
}
