/*
 * Two ends of a wire, with somebody between them
 *
 *	listener <-> socket pair <-> this thread <-> socket pair <-> peer
 *
 * Each end agrees in a thread of its own, since that waits for the other end.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "replay/pair/wire.h"
#include "tests/test.h"

enum { HELLO = 48, PROOF = 32, SEAL = 32, HEAD = 8, VERSION_AT = 8 };

#define SOON 20000000ll    /* ns: nothing comes */
#define LATE 60000000000ll /* what comes, does so before that */

static const char key[] = "a key that both have", other_key[] = "a key that one has..";

struct end {
	enum wire_role role;
	const char *key;
	int64_t patience;
	int ours, its; /* sockets */
	pthread_t thread;
	struct wire *wire;
	int err;
	char why[WIRE_WHY];
};

static struct end listener, peer;

static void *open_end(void *arg)
{
	struct end *end = arg;

	end->err = wire_open(end->its, end->role, end->key, strlen(end->key),
			     wire_now() + end->patience, end->why, &end->wire);
	return NULL;
}

static void begin_end(struct end *end, enum wire_role role, const char *its_key)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	*end = (struct end){ .role = role, .key = its_key, .patience = LATE };
	end->ours = pair[0];
	end->its = pair[1];
}

static void start_end(struct end *end)
{
	assert_int_equal(pthread_create(&end->thread, NULL, open_end, end), 0);
}

static int join_end(struct end *end)
{
	pthread_join(end->thread, NULL);
	return end->err;
}

static void finish_end(struct end *end)
{
	wire_close(end->wire);
	close(end->ours);
}

static void read_all(int fd, void *bytes, size_t n)
{
	assert_int_equal(recv(fd, bytes, n, MSG_WAITALL), n);
}

static void write_all(int fd, const void *bytes, size_t n)
{
	assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

static void carry_bytes(struct end *from, struct end *to, size_t n)
{
	char bytes[HELLO];

	read_all(from->ours, bytes, n);
	write_all(to->ours, bytes, n);
}

/* As a network does it. */
static void carry_greetings(void)
{
	carry_bytes(&listener, &peer, HELLO);
	carry_bytes(&peer, &listener, HELLO);
	carry_bytes(&peer, &listener, PROOF);
	carry_bytes(&listener, &peer, PROOF);
}

static int open_both(void **state)
{
	(void)state;
	begin_end(&listener, WIRE_LISTENER, key);
	begin_end(&peer, WIRE_PEER, key);
	start_end(&listener);
	start_end(&peer);
	carry_greetings();
	assert_int_equal(join_end(&listener), 0);
	assert_int_equal(join_end(&peer), 0);
	return 0;
}

static int close_both(void **state)
{
	(void)state;
	finish_end(&listener);
	finish_end(&peer);
	return 0;
}

/* What the peer sends, taken off its socket: its length. */
static size_t send_message(uint16_t type, const char *text, char message[128])
{
	size_t n = HEAD + strlen(text) + SEAL;

	assert_int_equal(wire_send(peer.wire, type, text, strlen(text), wire_now() + LATE), 0);
	read_all(peer.ours, message, n);
	return n;
}

/* What the listener makes of it. */
static int take_message(const char *message, size_t n, uint16_t *ret_type, char text[64])
{
	const uint8_t *bytes;
	size_t length;
	int got;

	if (n)
		write_all(listener.ours, message, n);
	assert_int_equal(wire_fill(listener.wire), 0);
	got = wire_next(listener.wire, ret_type, &bytes, &length);
	if (got > 0)
		snprintf(text, 64, "%.*s", (int)length, (const char *)bytes);
	return got;
}

FIXTURE(open_both, close_both);

TEST(a_message_comes_as_it_was_sent)
{
	char message[128], text[64];
	uint16_t type;
	size_t n = send_message(7, "hello", message);

	assert_int_equal(take_message(message, n, &type, text), 1);
	assert_int_equal(type, 7);
	assert_string_equal(text, "hello");
	n = send_message(8, "", message);
	assert_int_equal(take_message(message, n, &type, text), 1);
	assert_int_equal(type, 8);
	assert_string_equal(text, "");
}

TEST(a_part_of_a_message_is_none)
{
	char message[128], text[64];
	uint16_t type;
	size_t n = send_message(7, "hello", message);

	for (size_t i = 0; i + 1 < n; i++)
		assert_int_equal(take_message(message + i, 1, &type, text), 0);
	assert_int_equal(take_message(message + n - 1, 1, &type, text), 1);
	assert_string_equal(text, "hello");
}

TEST(each_changed_byte_is_noticed)
{
	char message[128], text[64];
	uint16_t type;
	size_t n = HEAD + 5 + SEAL;

	for (size_t i = 4; i < n; i++) { /* behind the length */
		assert_int_equal(send_message(7, "hello", message), n);
		message[i] ^= 1;
		assert_int_equal(take_message(message, n, &type, text), -EBADMSG);
		assert_int_equal(take_message(message, 0, &type, text), -EBADMSG);
		close_both(state);
		open_both(state);
	}
}

TEST(another_length_is_noticed)
{
	static const uint32_t lengths[] = { 0, 4, WIRE_MOST + 1, UINT32_MAX };
	char message[128], text[64];
	uint16_t type;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		size_t n = send_message(7, "hello", message);

		memcpy(message, &lengths[i], sizeof(lengths[i]));
		assert_int_equal(take_message(message, n, &type, text), -EBADMSG);
		close_both(state);
		open_both(state);
	}
}

TEST(a_message_that_comes_again_is_refused)
{
	char message[128], text[64];
	uint16_t type;
	size_t n = send_message(7, "hello", message);

	assert_int_equal(take_message(message, n, &type, text), 1);
	assert_int_equal(take_message(message, n, &type, text), -EBADMSG);
}

TEST(a_message_that_was_left_out_is_noticed)
{
	char message[128], text[64];
	uint16_t type;
	size_t n;

	send_message(7, "hello", message);
	n = send_message(7, "again", message);
	assert_int_equal(take_message(message, n, &type, text), -EBADMSG);
}

TEST(own_words_are_no_answer)
{
	char message[128];
	const uint8_t *bytes;
	size_t n = send_message(7, "hello", message), length;
	uint16_t type;

	write_all(peer.ours, message, n);
	assert_int_equal(wire_fill(peer.wire), 0);
	assert_int_equal(wire_next(peer.wire, &type, &bytes, &length), -EBADMSG);
}

TEST(words_of_another_time_are_refused)
{
	char message[128], text[64];
	uint16_t type;
	size_t n = send_message(7, "hello", message);

	close_both(state);
	open_both(state);
	assert_int_equal(take_message(message, n, &type, text), -EBADMSG);
}

TEST(an_end_is_told)
{
	close(peer.ours);
	peer.ours = dup(0);
	close(listener.ours);
	listener.ours = dup(0);
	assert_int_equal(wire_fill(listener.wire), -ECONNRESET);
	assert_int_equal(wire_send(peer.wire, 1, "", 0, wire_now() + LATE), -ECONNRESET);
}

TEST(more_than_a_message_may_have_is_not_sent)
{
	static char long_one[WIRE_MOST + 1];

	assert_int_equal(wire_send(peer.wire, 1, long_one, sizeof(long_one), wire_now() + LATE),
			 -EMSGSIZE);
}

TEST_WITH(another_key_is_refused, NULL, NULL)
{
	(void)state;
	begin_end(&listener, WIRE_LISTENER, key);
	begin_end(&peer, WIRE_PEER, other_key);
	start_end(&listener);
	start_end(&peer);
	carry_bytes(&listener, &peer, HELLO);
	carry_bytes(&peer, &listener, HELLO);
	carry_bytes(&peer, &listener, PROOF);
	assert_int_equal(join_end(&listener), -EKEYREJECTED);
	close(peer.ours); /* as the listener has */
	peer.ours = dup(0);
	assert_int_equal(join_end(&peer), -EKEYREJECTED);
	finish_end(&listener);
	finish_end(&peer);
}

/* So who has no key gets nothing to try keys on. */
TEST_WITH(the_listener_proves_nothing_before_the_peer, NULL, NULL)
{
	char bytes[HELLO + 1];

	(void)state;
	begin_end(&listener, WIRE_LISTENER, key);
	listener.patience = LATE;
	start_end(&listener);
	read_all(listener.ours, bytes, HELLO);
	bytes[VERSION_AT + 4] = WIRE_PEER;
	write_all(listener.ours, bytes, HELLO);
	memset(bytes, 0, PROOF);
	write_all(listener.ours, bytes, PROOF);
	assert_int_equal(join_end(&listener), -EKEYREJECTED);
	assert_int_equal(recv(listener.ours, bytes, sizeof(bytes), 0), 0);
	finish_end(&listener);
}

struct greeting {
	const char *name;
	const char *said; /* NULL: what the listener says, with @changed there */
	size_t length, at;
	int changed, err;
	bool silent; /* and stays there */
};

static const struct greeting greetings[] = {
	{ "web browser", "GET / HTTP/1.1\r\n\r\n", 18, 0, 0, -EPROTO, false },
	{ "nothing", "", 0, 0, 0, -ECONNRESET, false },
	{ "half a hello", "verbatim", 8, 0, 0, -ECONNRESET, false },
	{ "silence", "", 0, 0, 0, -ETIMEDOUT, true },
	{ "half a hello and silence", "verbatim", 8, 0, 0, -ETIMEDOUT, true },
	{ "another version", NULL, HELLO, VERSION_AT, WIRE_VERSION + 1, -EPROTONOSUPPORT, false },
	{ "another listener", NULL, HELLO, VERSION_AT + 4, WIRE_LISTENER, -EPROTO, false },
	{ "hello and no proof", NULL, HELLO, VERSION_AT + 4, WIRE_PEER, -ECONNRESET, false },
	{ "hello and silence", NULL, HELLO, VERSION_AT + 4, WIRE_PEER, -ETIMEDOUT, true },
};

static void a_stranger_is_refused(void **state)
{
	const struct greeting *g = *state;
	char bytes[HELLO];

	begin_end(&listener, WIRE_LISTENER, key);
	listener.patience = g->silent ? SOON : LATE;
	start_end(&listener);
	read_all(listener.ours, bytes, HELLO);
	bytes[g->at] = (char)g->changed;
	write_all(listener.ours, g->said ?: bytes, g->length);
	if (!g->silent)
		shutdown(listener.ours, SHUT_WR);
	assert_int_equal(join_end(&listener), g->err);
	assert_true(*listener.why);
	assert_null(listener.wire);
	finish_end(&listener);
}

TEST_ROWS(greetings, a_stranger_is_refused);

TEST_WITH(close_accepts_null, NULL, NULL)
{
	(void)state;
	wire_close(NULL);
}
