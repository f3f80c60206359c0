/*
 * Two ends of a wire, with an attacker between them
 *
 *	listener <-> socket pair <-> this thread <-> socket pair <-> peer
 *
 * Each end runs the handshake in a separate thread, since it waits for the other end.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "replay/two_host/wire.h"
#include "tests/test.h"

enum {
	HELLO = 48,
	RECORD = 5 /* before the bytes of one of TLS */,
	VERSION_AT = 8,
	MOST = 1 << 15
};

#define SOON 20000000ll    /* ns: nothing comes */
#define LATE 60000000000ll /* time limit for whatever must come */

static const char key[] = "a key that both have", other_key[] = "a key that one has..";

struct end {
	enum wire_role role;
	const char *key;
	int64_t patience;
	int ours, its; /* sockets */
	bool is_silent;
	int over[2]; /* a pipe, that ends with the thread */
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
	close(end->over[1]);
	return NULL;
}

static void begin_end(struct end *end, enum wire_role role, const char *its_key)
{
	int pair[2], over[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(pipe(over), 0);
	*end = (struct end){ .role = role, .key = its_key, .patience = LATE };
	end->ours = pair[0];
	end->its = pair[1];
	memcpy(end->over, over, sizeof(over));
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
	close(end->over[0]);
}

static void read_all(int fd, void *bytes, size_t n)
{
	assert_int_equal(recv(fd, bytes, n, MSG_WAITALL), n);
}

static void write_all(int fd, const void *bytes, size_t n)
{
	assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

static bool is_over(const struct end *end)
{
	struct pollfd look = { .fd = end->over[0], .events = POLLIN };

	return poll(&look, 1, 0) > 0;
}

/* Pass all data from @from to @to. */
static void carry_bytes(struct end *from, struct end *to)
{
	char bytes[MOST];
	ssize_t n = recv(from->ours, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n > 0)
		send(to->ours, bytes, (size_t)n, MSG_NOSIGNAL);
	if (n)
		return;
	shutdown(to->ours, SHUT_WR);
	from->is_silent = true;
}

/* Like a network, until the handshake of both has succeeded or failed. */
static void carry_greetings(void)
{
	for (;;) {
		bool listens = !is_over(&listener), connects = !is_over(&peer);
		struct pollfd look[] = {
			{ .fd = listener.is_silent ? -1 : listener.ours, .events = POLLIN },
			{ .fd = peer.is_silent ? -1 : peer.ours, .events = POLLIN },
			{ .fd = listens ? listener.over[0] : -1, .events = POLLIN },
			{ .fd = connects ? peer.over[0] : -1, .events = POLLIN },
		};

		if (!listens && !connects)
			return;
		poll(look, 4, -1);
		if (look[0].revents)
			carry_bytes(&listener, &peer);
		if (look[1].revents)
			carry_bytes(&peer, &listener);
	}
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

/* Read a TLS record from a socket; returns its length. */
static size_t take_record(int fd, char *record)
{
	size_t n;

	read_all(fd, record, RECORD);
	n = (size_t)(unsigned char)record[3] << 8 | (unsigned char)record[4];
	assert_true(RECORD + n <= MOST);
	read_all(fd, record + RECORD, n);
	return RECORD + n;
}

/* Read the data that the peer sends from its socket; returns its length. */
static size_t send_message(uint16_t type, const char *text, char message[MOST])
{
	assert_int_equal(wire_send(peer.wire, type, text, strlen(text), wire_now() + LATE), 0);
	return take_record(peer.ours, message);
}

/* The listener's result for it. */
static int take_message(const char *message, size_t n, uint16_t *ret_type, char text[64])
{
	const uint8_t *bytes;
	size_t length;
	int got, end;

	if (n)
		write_all(listener.ours, message, n);
	end = wire_fill(listener.wire);
	got = wire_next(listener.wire, ret_type, &bytes, &length);
	if (got > 0)
		snprintf(text, 64, "%.*s", (int)length, (const char *)bytes);
	return got ? got : end;
}

FIXTURE(open_both, close_both);

TEST(a_message_comes_as_it_was_sent)
{
	char message[MOST], text[64];
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
	char message[MOST], text[64];
	uint16_t type;
	size_t n = send_message(7, "hello", message);

	for (size_t i = 0; i + 1 < n; i++)
		assert_int_equal(take_message(message + i, 1, &type, text), 0);
	assert_int_equal(take_message(message + n - 1, 1, &type, text), 1);
	assert_string_equal(text, "hello");
}

TEST(each_changed_byte_is_noticed)
{
	char message[MOST], text[64];
	uint16_t type;
	size_t n = send_message(7, "hello", message);

	for (size_t i = RECORD; i < n; i++) { /* before it are the length and unused bytes */
		close_both(state);
		open_both(state);
		assert_int_equal(send_message(7, "hello", message), n);
		message[i] ^= 1;
		assert_int_equal(take_message(message, n, &type, text), -EBADMSG);
		assert_int_equal(take_message(message, 0, &type, text), -EBADMSG);
	}
}

TEST(another_length_is_noticed)
{
	char message[MOST], text[64];
	uint16_t type;
	size_t n = send_message(7, "hello", message);

	message[4]--;
	assert_int_equal(take_message(message, n, &type, text), -EBADMSG);
}

TEST(nothing_can_be_read)
{
	char message[MOST];
	size_t n = send_message(7, "a text that nobody else reads", message);

	assert_null(memmem(message, n, "nobody", 6));
}

TEST(a_message_that_comes_again_is_refused)
{
	char message[MOST], text[64];
	uint16_t type;
	size_t n = send_message(7, "hello", message);

	assert_int_equal(take_message(message, n, &type, text), 1);
	assert_int_equal(take_message(message, n, &type, text), -EBADMSG);
}

TEST(a_message_that_was_left_out_is_noticed)
{
	char message[MOST], text[64];
	uint16_t type;
	size_t n;

	send_message(7, "hello", message);
	n = send_message(7, "again", message);
	assert_int_equal(take_message(message, n, &type, text), -EBADMSG);
}

TEST(own_words_are_no_answer)
{
	char message[MOST];
	size_t n = send_message(7, "hello", message);

	write_all(peer.ours, message, n);
	assert_int_equal(wire_fill(peer.wire), -EBADMSG);
}

TEST(words_of_another_time_are_refused)
{
	char message[MOST], text[64];
	uint16_t type;
	size_t n = send_message(7, "hello", message);

	close_both(state);
	open_both(state);
	assert_int_equal(take_message(message, n, &type, text), -EBADMSG);
}

TEST(an_end_is_reported)
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

TEST(a_long_message_comes_as_it_was_sent)
{
	static char sent[WIRE_MOST], bytes[MOST];
	const uint8_t *got;
	size_t length, n = 0;
	uint16_t type;

	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (char)(i * 7 + (i >> 9));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(wire_send(peer.wire, 9, sent, sizeof(sent), wire_now() + LATE), 0);
		while (wire_next(listener.wire, &type, &got, &length) <= 0) {
			n = take_record(peer.ours, bytes);
			write_all(listener.ours, bytes, n);
			assert_int_equal(wire_fill(listener.wire), 0);
		}
		assert_int_equal(length, sizeof(sent));
		assert_memory_equal(got, sent, sizeof(sent));
	}
}

/* Data beyond the buffer stays in the socket until the buffer was emptied. */
TEST(many_messages_come_in_turns)
{
	static char sent[WIRE_MOST / 4], bytes[MOST];
	const uint8_t *got;
	size_t length, taken = 0;
	int more = 0, turns = 0;
	uint16_t type;

	for (int i = 0; i < 16; i++) {
		assert_int_equal(wire_send(peer.wire, 9, sent, sizeof(sent), wire_now() + LATE), 0);
		for (int part = 0; part < 2; part++) {
			size_t n = take_record(peer.ours, bytes);

			write_all(listener.ours, bytes, n);
		}
		/* the socket holds less than the buffer: it is left in both */
		if (i % 8 < 7)
			continue;
		do {
			more = wire_fill(listener.wire);
			assert_true(more >= 0);
			while (wire_next(listener.wire, &type, &got, &length) > 0)
				taken++;
			turns++;
		} while (more);
	}
	assert_int_equal(taken, 16);
	assert_true(turns > 2);
}

static void open_with(const char *mine, const char *its_key)
{
	begin_end(&listener, WIRE_LISTENER, mine);
	begin_end(&peer, WIRE_PEER, its_key);
	start_end(&listener);
	start_end(&peer);
	carry_greetings();
	join_end(&listener);
	join_end(&peer);
}

TEST_WITH(another_key_is_refused, NULL, NULL)
{
	(void)state;
	open_with(key, other_key);
	assert_int_equal(listener.err, -EKEYREJECTED);
	assert_string_equal(listener.why, "the other end does not have the same --key");
	assert_int_equal(peer.err, -EKEYREJECTED);
	assert_string_equal(peer.why, "the other end rejected the --key of this host");
	finish_end(&listener);
	finish_end(&peer);
}

TEST_WITH(a_key_may_be_long, NULL, NULL)
{
	char long_key[1024];

	(void)state;
	memset(long_key, 'k', sizeof(long_key));
	long_key[sizeof(long_key) - 1] = '\0';
	open_with(long_key, long_key);
	assert_int_equal(listener.err, 0);
	assert_int_equal(peer.err, 0);
	finish_end(&listener);
	finish_end(&peer);
	long_key[sizeof(long_key) - 2] = 'l';
	open_with(long_key, key);
	assert_int_equal(listener.err, -EKEYREJECTED);
	finish_end(&listener);
	finish_end(&peer);
}

/* A peer without the key must not get data to test keys against. */
TEST_WITH(the_listener_proves_nothing_before_the_peer, NULL, NULL)
{
	char bytes[HELLO], alert[MOST];

	(void)state;
	begin_end(&listener, WIRE_LISTENER, key);
	start_end(&listener);
	read_all(listener.ours, bytes, HELLO);
	bytes[VERSION_AT + 4] = WIRE_PEER;
	write_all(listener.ours, bytes, HELLO);
	memset(bytes, 0, sizeof(bytes));
	write_all(listener.ours, bytes, sizeof(bytes));
	assert_int_equal(join_end(&listener), -EKEYREJECTED);
	assert_true(recv(listener.ours, alert, sizeof(alert), 0) <= RECORD + 2);
	finish_end(&listener);
}

struct greeting {
	const char *name;
	const char *said; /* NULL: the listener's message, for data with @changed */
	size_t length, at;
	int changed, err;
	bool silent; /* the peer stays connected and sends nothing */
};

static const struct greeting greetings[] = {
	{ "web browser", "GET / HTTP/1.1\r\n\r\n", 18, 0, 0, -EPROTO, false },
	{ "nothing", "", 0, 0, 0, -ECONNRESET, false },
	{ "half a hello", "verbatim", 8, 0, 0, -ECONNRESET, false },
	{ "silence", "", 0, 0, 0, -ETIMEDOUT, true },
	{ "half a hello and silence", "verbatim", 8, 0, 0, -ETIMEDOUT, true },
	{ "another version", NULL, HELLO, VERSION_AT, WIRE_VERSION + 1, -EPROTONOSUPPORT, false },
	{ "an older version", NULL, HELLO, VERSION_AT, 2, -EPROTONOSUPPORT, false },
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
