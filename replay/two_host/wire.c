/*
 * Messages between the two replays of a pair, by GnuTLS
 *
 * First both ends send, simultaneously, in the clear and with numbers little-endian:
 *
 *	hello    "verbatim" | version u32 | role u32 | 32 bytes of 0
 *
 * so that both ends can report a program that is not a replay, or one of another version. The hello
 * has the same length in all versions. Then TLS 1.3 with a pre-shared key and no certificates. The
 * listener is the server; the client must prove first that it has the key, so that a port scan gets
 * no data to test keys against. An exchange by (EC)DHE creates keys for each connection: a
 * pre-shared key that becomes known later does not reveal earlier messages. Inside TLS is any
 * number of
 *
 *	message  length u32 | type u16 | 0 u16 | bytes
 *
 * Not here: the messages (pair_exchange.c), how the replays find each other (meet.c, admit.c).
 */
#include "replay/two_host/wire.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/base/library.h"
/* clang-format off */
#define TLS_LIB(X) \
	X(gnutls_alert_send_appropriate) \
	X(gnutls_bye) \
	X(gnutls_credentials_set) \
	X(gnutls_deinit) \
	X(gnutls_error_is_fatal) \
	X(gnutls_handshake) \
	X(gnutls_init) \
	X(gnutls_malloc) \
	X(gnutls_priority_set_direct) \
	X(gnutls_psk_allocate_client_credentials) \
	X(gnutls_psk_allocate_server_credentials) \
	X(gnutls_psk_free_client_credentials) \
	X(gnutls_psk_free_server_credentials) \
	X(gnutls_psk_set_client_credentials) \
	X(gnutls_psk_set_server_credentials_function) \
	X(gnutls_record_get_direction) \
	X(gnutls_record_recv) \
	X(gnutls_record_send) \
	X(gnutls_session_get_ptr) \
	X(gnutls_session_set_ptr) \
	X(gnutls_strerror) \
	X(gnutls_transport_set_int2)
/* clang-format on */

static LIBRARY(TLS_LIB) lib;

enum { HEAD = 8, UNUSED = 32, MAGIC = 8, BUFFER = 2 * (HEAD + WIRE_MOST) };

static const char magic[MAGIC + 1] = "verbatim";

/* TLS 1.3 with a pre-shared key only; GnuTLS selects the ciphers. */
static const char tls_priority[] = "SECURE128:-VERS-ALL:+VERS-TLS1.3:-KX-ALL:+ECDHE-PSK:+DHE-PSK";

struct wire_hello {
	char magic[MAGIC];
	uint32_t version, role;
	uint8_t unused[UNUSED];
} __attribute__((packed));

struct wire {
	int fd;
	enum wire_role role;
	gnutls_session_t tls;
	gnutls_psk_client_credentials_t client;
	gnutls_psk_server_credentials_t server;
	gnutls_datum_t key; /* borrowed until the handshake is complete */
	int err;            /* once set, no data is accepted */
	size_t begin, end;  /* of the data in the buffer */
	uint8_t buffer[BUFFER];
	uint8_t message[HEAD + WIRE_MOST]; /* already sent */
};

int64_t wire_now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000000000ll + at.tv_nsec;
}

/* Wait until @fd is ready for @events: 0, or -ETIMEDOUT. */
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
send_reason(char why[WIRE_WHY], int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, WIRE_WHY, format, args);
	va_end(args);
	return err;
}

static enum wire_role other_role(enum wire_role role)
{
	return role == WIRE_LISTENER ? WIRE_PEER : WIRE_LISTENER;
}

static int check_hello(const struct wire_hello *hello, enum wire_role role, char why[WIRE_WHY])
{
	if (memcmp(hello->magic, magic, MAGIC))
		return send_reason(why, -EPROTO, "the other end is not a replay");
	if (le32toh(hello->version) != WIRE_VERSION)
		return send_reason(
			why, -EPROTONOSUPPORT,
			"the other replay speaks version %u, this one version %u: use the "
			"same verbatim on both hosts",
			le32toh(hello->version), WIRE_VERSION);
	if (le32toh(hello->role) != other_role(role))
		return send_reason(why, -EPROTO, "one host needs --listen, the other one --peer");
	return 0;
}

static int exchange_hellos(int fd, enum wire_role role, int64_t deadline, char why[WIRE_WHY])
{
	struct wire_hello mine = { .version = htole32(WIRE_VERSION), .role = htole32(role) }, its;
	int err;

	memcpy(mine.magic, magic, MAGIC);
	err = send_all(fd, &mine, sizeof(mine), deadline);
	/* versions with other first words may send fewer */
	err = err ?: receive_all(fd, its.magic, sizeof(its.magic), deadline);
	if (!err && !memcmp(its.magic, magic, MAGIC))
		err = receive_all(fd, &its.version, sizeof(its) - MAGIC, deadline);
	if (err == -ETIMEDOUT)
		return send_reason(why, err, "the other end sends nothing");
	if (err)
		return send_reason(
			why, err,
			"the other end closed the connection before it identified itself");
	return check_hello(&its, role, why);
}

/* TLS */

static int copy_psk(gnutls_session_t tls, const char *name, gnutls_datum_t *ret_key)
{
	const struct wire *wire = lib.gnutls_session_get_ptr(tls);

	(void)name;
	ret_key->data = (*lib.gnutls_malloc)(wire->key.size);
	if (!ret_key->data)
		return -1;
	memcpy(ret_key->data, wire->key.data, wire->key.size);
	ret_key->size = wire->key.size;
	return 0;
}

static int set_key(struct wire *wire)
{
	int err;

	if (wire->role == WIRE_PEER) {
		err = lib.gnutls_psk_allocate_client_credentials(&wire->client);
		err = err
			      ?: lib.gnutls_psk_set_client_credentials(
					 wire->client, magic, &wire->key, GNUTLS_PSK_KEY_RAW);
		return err ?: lib.gnutls_credentials_set(wire->tls, GNUTLS_CRD_PSK, wire->client);
	}
	err = lib.gnutls_psk_allocate_server_credentials(&wire->server);
	if (err)
		return err;
	lib.gnutls_psk_set_server_credentials_function(wire->server, copy_psk);
	return lib.gnutls_credentials_set(wire->tls, GNUTLS_CRD_PSK, wire->server);
}

static int load_tls(char why[WIRE_WHY])
{
	static const char *const names[] = { TLS_LIB(LIBRARY_NAME) NULL };
	const char *missing = library_load("libgnutls.so.30", names, lib.functions);

	return missing ? send_reason(why, -ENOPKG, "install GnuTLS, which is needed here: %s",
				     missing)
		       : 0;
}

static int begin_tls(struct wire *wire, char why[WIRE_WHY])
{
	unsigned int side = wire->role == WIRE_LISTENER ? GNUTLS_SERVER : GNUTLS_CLIENT;
	int flags = fcntl(wire->fd, F_GETFL), err;

	if (flags < 0 || fcntl(wire->fd, F_SETFL, flags | O_NONBLOCK))
		return send_reason(why, -errno, "the connection cannot be used: %s",
				   strerror(errno));
	err = lib.gnutls_init(&wire->tls,
			      side | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS);
	if (err) {
		wire->tls = NULL;
	} else {
		lib.gnutls_session_set_ptr(wire->tls, wire);
		lib.gnutls_transport_set_int2(wire->tls, wire->fd, wire->fd);
		err = lib.gnutls_priority_set_direct(wire->tls, tls_priority, NULL)
			      ?: set_key(wire);
	}
	return err ? send_reason(
			     why, err == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : -ENOTSUP,
			     "GnuTLS, as configured on this machine, does not support TLS 1.3 with "
			     "a pre-shared key (%s)",
			     lib.gnutls_strerror(err))
		   : 0;
}

/* Convert an error number of GnuTLS to an errno. */
static int errno_of(ssize_t tls_error)
{
	switch (tls_error) {
	case GNUTLS_E_PULL_ERROR:
	case GNUTLS_E_PUSH_ERROR:
		return errno == EPIPE || !errno ? -ECONNRESET : -errno;
	case GNUTLS_E_PREMATURE_TERMINATION:
	case GNUTLS_E_SESSION_EOF:
	case GNUTLS_E_INVALID_SESSION:
	case GNUTLS_E_FATAL_ALERT_RECEIVED: /* the other replay has given up */
		return -ECONNRESET;
	case GNUTLS_E_MEMORY_ERROR:
		return -ENOMEM;
	default:
		return -EBADMSG;
	}
}

static int report_refusal(const struct wire *wire, int tls_error, char why[WIRE_WHY])
{
	int err = errno_of(tls_error);

	if (err == -ENOMEM)
		return send_reason(why, err, "no memory");
	if (err != -EBADMSG && tls_error != GNUTLS_E_FATAL_ALERT_RECEIVED)
		return send_reason(why, err, "the other end could not prove that it has the --key");
	if (err != -EBADMSG && wire->role == WIRE_PEER)
		return send_reason(why, -EKEYREJECTED,
				   "the other end rejected the --key of this host");
	return send_reason(why, -EKEYREJECTED, "the other end does not have the same --key");
}

static int prove_key(struct wire *wire, int64_t deadline, char why[WIRE_WHY])
{
	int tls_error, err = 0;

	do {
		tls_error = lib.gnutls_handshake(wire->tls);
		if (tls_error == GNUTLS_E_AGAIN)
			err = await_ready(wire->fd,
					  lib.gnutls_record_get_direction(wire->tls) ? POLLOUT
										     : POLLIN,
					  deadline);
	} while (!err && tls_error && !lib.gnutls_error_is_fatal(tls_error));
	wire->key = (gnutls_datum_t){ 0 };
	if (err)
		return send_reason(why, err, "the other end could not prove that it has the --key");
	if (!tls_error)
		return 0;
	lib.gnutls_alert_send_appropriate(wire->tls, tls_error);
	return report_refusal(wire, tls_error, why);
}

int wire_open(int fd, enum wire_role role, const void *key, size_t length, int64_t deadline,
	      char ret_why[WIRE_WHY], struct wire **ret_wire)
{
	struct wire *wire = calloc(1, sizeof(*wire));
	int err = wire ? load_tls(ret_why) : send_reason(ret_why, -ENOMEM, "no memory");

	if (err) {
		close(fd);
		free(wire);
		return err;
	}
	wire->fd = fd;
	wire->role = role;
	wire->key = (gnutls_datum_t){ (unsigned char *)key, (unsigned int)length };
	err = exchange_hellos(fd, role, deadline, ret_why) ?: begin_tls(wire, ret_why)
							   ?: prove_key(wire, deadline, ret_why);
	wire->err = err;
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
	if (wire->tls && !wire->err)
		lib.gnutls_bye(wire->tls, GNUTLS_SHUT_WR);
	if (wire->tls)
		lib.gnutls_deinit(wire->tls);
	if (wire->client)
		lib.gnutls_psk_free_client_credentials(wire->client);
	if (wire->server)
		lib.gnutls_psk_free_server_credentials(wire->server);
	close(wire->fd);
	free(wire);
}

int wire_fd(const struct wire *wire)
{
	return wire->fd;
}

int wire_send(struct wire *wire, uint16_t type, const void *bytes, size_t length, int64_t deadline)
{
	uint32_t size = htole32((uint32_t)length);
	uint8_t *m = wire->message;
	int err = 0;

	if (length > WIRE_MOST)
		return -EMSGSIZE;
	type = htole16(type);
	memcpy(m, &size, sizeof(size));
	memcpy(m + 4, &type, sizeof(type));
	memset(m + 6, 0, 2);
	if (length)
		memcpy(m + HEAD, bytes, length);
	for (size_t at = 0; at < HEAD + length && !err;) {
		ssize_t n = lib.gnutls_record_send(wire->tls, m + at, HEAD + length - at);

		if (n == GNUTLS_E_AGAIN)
			err = await_ready(wire->fd, POLLOUT, deadline);
		else if (n < 0 && lib.gnutls_error_is_fatal((int)n))
			err = errno_of(n);
		else if (n > 0)
			at += (size_t)n;
	}
	return err;
}

int wire_fill(struct wire *wire)
{
	if (wire->begin) {
		memmove(wire->buffer, wire->buffer + wire->begin, wire->end - wire->begin);
		wire->end -= wire->begin;
		wire->begin = 0;
	}
	while (!wire->err && wire->end < BUFFER) {
		ssize_t n = lib.gnutls_record_recv(wire->tls, wire->buffer + wire->end,
						   BUFFER - wire->end);

		if (n == GNUTLS_E_AGAIN)
			return 0;
		if (n > 0)
			wire->end += (size_t)n;
		else if (!n)
			wire->err = -ECONNRESET;
		else if (lib.gnutls_error_is_fatal((int)n))
			wire->err = errno_of(n);
	}
	return wire->err ? wire->err : 1;
}

int wire_next(struct wire *wire, uint16_t *ret_type, const uint8_t **ret_bytes, size_t *ret_length)
{
	const uint8_t *m = wire->buffer + wire->begin;
	size_t here = wire->end - wire->begin;
	uint32_t length;
	uint16_t type, zero;

	if (here < HEAD)
		return 0;
	memcpy(&length, m, sizeof(length));
	memcpy(&type, m + 4, sizeof(type));
	memcpy(&zero, m + 6, sizeof(zero));
	length = le32toh(length);
	if (length > WIRE_MOST || zero)
		return wire->err = -EBADMSG;
	if (here < HEAD + length)
		return 0;
	wire->begin += HEAD + length;
	*ret_type = le16toh(type);
	*ret_bytes = m + HEAD;
	*ret_length = length;
	return 1;
}
