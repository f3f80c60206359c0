/*
 * Only the replay with the key is admitted, whatever else connects before, meanwhile or after
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/wire/log.h"
#include "replay/two_host/admit.h"
#include "replay/two_host/wire.h"
#include "tests/test.h"

#define SOON 20000000ll    /* ns: nothing comes */
#define LATE 60000000000ll /* time limit for whatever must come */

static const char key[] = "a key that both have", other_key[] = "a key that one has..";

static struct sockaddr_in at;
static int listener;
static struct admit_options options;
static struct wire *in, *out;
static pthread_t thread;
static bool is_ended;

static bool has_ended(void)
{
	return __atomic_load_n(&is_ended, __ATOMIC_RELAXED);
}

static int open_listener(void **state)
{
	socklen_t length = sizeof(at);

	(void)state;
	at = (struct sockaddr_in){ .sin_family = AF_INET };
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, length), 0);
	assert_int_equal(listen(listener, 64), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &length), 0);
	options = (struct admit_options){ .key = key,
					  .key_length = strlen(key),
					  .deadline = wire_now() + LATE,
					  .patience = LATE,
					  .ended = has_ended };
	is_ended = false;
	in = out = NULL;
	return 0;
}

static int close_wires(void **state)
{
	(void)state;
	wire_close(in);
	wire_close(out);
	return 0;
}

static int connect_one(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static int enter_with(const char *its_key)
{
	char why[WIRE_WHY];

	return wire_open(connect_one(), WIRE_PEER, its_key, strlen(its_key), wire_now() + LATE, why,
			 &out);
}

static void *run_admit(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)admit_peer(listener, &options, &in);
}

static void start_admit(void)
{
	assert_int_equal(pthread_create(&thread, NULL, run_admit, NULL), 0);
}

static int join_admit(void)
{
	void *err;

	pthread_join(thread, &err);
	return (int)(intptr_t)err;
}

static bool is_closed(int fd)
{
	char bytes[256];

	while (recv(fd, bytes, sizeof(bytes), 0) > 0) /* its hello */
		;
	return true;
}

FIXTURE(open_listener, close_wires);

TEST(a_host_with_the_key_is_let_in)
{
	start_admit();
	assert_int_equal(enter_with(key), 0);
	assert_int_equal(join_admit(), 0);
	assert_non_null(in);
}

TEST(after_another_key_the_listener_goes_on)
{
	start_admit();
	assert_int_equal(enter_with(other_key), -EKEYREJECTED);
	assert_int_equal(enter_with(key), 0);
	assert_int_equal(join_admit(), 0);
}

TEST(silence_is_ended)
{
	int fd = connect_one();

	options.patience = SOON;
	start_admit();
	assert_true(is_closed(fd));
	close(fd);
	__atomic_store_n(&is_ended, true, __ATOMIC_RELAXED);
	assert_int_equal(join_admit(), -ECANCELED);
}

TEST(more_silent_ones_than_there_is_room_for_hold_nobody_up)
{
	int fds[48];

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		fds[i] = connect_one();
	start_admit();
	assert_int_equal(enter_with(key), 0);
	assert_int_equal(join_admit(), 0);
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		assert_true(is_closed(fds[i]));
		close(fds[i]);
	}
}

TEST(without_a_peer_it_ends_in_time)
{
	log_silence(true);
	options.deadline = wire_now() + SOON;
	assert_int_equal(admit_peer(listener, &options, &in), -ETIMEDOUT);
	log_silence(false);
}

TEST(it_ends_when_told_to)
{
	is_ended = true;
	assert_int_equal(admit_peer(listener, &options, &in), -ECANCELED);
}
