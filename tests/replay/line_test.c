/*
 * replay/two_host/line.c: messages from any thread to the other replay, and from it
 *
 * The wire is the test's: what the line sends is kept, and what it takes is put there. Tests wait
 * for the thread of the line, as long as it takes.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "replay/two_host/line.h"
#include "replay/two_host/wire.h"
#include "tests/test.h"

#define SECOND 1000000000ll

enum { MOST = 32 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static char wire_memory;
static struct wire *const wire = (struct wire *)(void *)&wire_memory;
static int fd;
static int64_t now;
static unsigned int nclosed;

/* under @lock */
static struct message {
	uint16_t type;
	size_t length;
	char text[16];
} sent[MOST], arriving[MOST];
static unsigned int nsent, narrived, ntaken, nbefore, nlost;
static int fill_result, take_result, send_result, lost;
static int64_t send_deadline;
static struct line *line, *sends_before;

static void note_change(void)
{
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

int wire_fd(const struct wire *of)
{
	assert_ptr_equal(of, wire);
	return fd;
}

int64_t wire_now(void)
{
	return __atomic_load_n(&now, __ATOMIC_SEQ_CST);
}

void wire_close(struct wire *of)
{
	assert_ptr_equal(of, wire);
	nclosed++;
}

int wire_send(struct wire *of, uint16_t type, const void *bytes, size_t length, int64_t deadline)
{
	struct message *m;
	int err;

	(void)of;
	pthread_mutex_lock(&lock);
	m = &sent[nsent++ % MOST];
	m->type = type;
	m->length = length;
	snprintf(m->text, sizeof(m->text), "%.*s", (int)length, (const char *)bytes);
	send_deadline = deadline;
	err = send_result;
	note_change();
	return err;
}

int wire_fill(struct wire *of)
{
	uint64_t times;
	int result;

	(void)of;
	pthread_mutex_lock(&lock);
	if (read(fd, &times, sizeof(times)) != sizeof(times))
		times = 0;
	result = fill_result;
	pthread_mutex_unlock(&lock);
	return result;
}

int wire_next(struct wire *of, uint16_t *ret_type, const uint8_t **ret_bytes, size_t *ret_length)
{
	const struct message *m;
	bool is;

	(void)of;
	pthread_mutex_lock(&lock);
	is = ntaken < narrived;
	m = &arriving[ntaken % MOST];
	*ret_type = m->type;
	*ret_bytes = (const uint8_t *)m->text;
	*ret_length = m->length;
	pthread_mutex_unlock(&lock);
	return is;
}

static int take_message(void *arg, uint16_t type, const uint8_t *bytes, size_t length)
{
	const struct message *m;
	int err;

	assert_ptr_equal(arg, &fd);
	pthread_mutex_lock(&lock);
	m = &arriving[ntaken++];
	assert_int_equal(type, m->type);
	assert_int_equal(length, m->length);
	assert_ptr_equal(bytes, m->text);
	err = take_result;
	note_change();
	return err;
}

static void run_before(void *arg, int64_t at)
{
	struct line *to;

	assert_ptr_equal(arg, &fd);
	assert_in_range(at, SECOND, wire_now());
	pthread_mutex_lock(&lock);
	nbefore++;
	to = sends_before;
	sends_before = NULL;
	note_change();
	if (to)
		line_send(to, 9, "before", 6);
}

static void note_lost(void *arg, int err)
{
	assert_ptr_equal(arg, &fd);
	pthread_mutex_lock(&lock);
	lost = err;
	nlost++;
	note_change();
}

static void await_count(const unsigned int *count, unsigned int n)
{
	pthread_mutex_lock(&lock);
	while (*count < n)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static int open_line(void **state)
{
	static const struct line_user user = { take_message, run_before, note_lost, &fd };

	(void)state;
	nsent = narrived = ntaken = nbefore = nlost = nclosed = 0;
	fill_result = take_result = send_result = lost = 0;
	sends_before = NULL;
	now = SECOND;
	fd = eventfd(0, EFD_NONBLOCK);
	return line_open(wire, &user, &line);
}

static int close_line(void **state)
{
	(void)state;
	line_close(line);
	assert_int_equal(nclosed, 1);
	close(fd);
	return 0;
}

FIXTURE(open_line, close_line);

/* Called before its effects are checked. */
static void end_line(void)
{
	line_close(line);
	line = NULL;
}

static void assert_sent(unsigned int i, uint16_t type, const char *text)
{
	assert_int_equal(sent[i].type, type);
	assert_int_equal(sent[i].length, strlen(text));
	assert_string_equal(sent[i].text, text);
}

TEST(messages_are_sent_in_order)
{
	(void)state;
	line_send(line, 1, "first", 5);
	line_send(line, 2, NULL, 0);
	line_send(line, 3, "third", 5);
	end_line(); /* remaining messages are sent, too */
	assert_int_equal(nsent, 3);
	assert_sent(0, 1, "first");
	assert_sent(1, 2, "");
	assert_sent(2, 3, "third");
	assert_int_equal(send_deadline, 21 * SECOND);
	assert_int_equal(nlost, 0);
}

TEST(many_messages_are_sent)
{
	char text[16];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "%d", i);
		line_send(line, (uint16_t)i, text, strlen(text));
	}
	end_line();
	assert_int_equal(nsent, 1000);
	assert_sent(999 % MOST, 999, "999");
	assert_sent(990 % MOST, 990, "990");
}

TEST(a_message_is_sent_soon)
{
	(void)state;
	for (unsigned int i = 1; i <= 3; i++) {
		line_send(line, 1, "a", 1);
		await_count(&nsent, i);
	}
}

TEST(the_user_may_send_before)
{
	(void)state;
	pthread_mutex_lock(&lock);
	sends_before = line;
	pthread_mutex_unlock(&lock);
	line_wake(line);
	await_count(&nsent, 1);
	assert_sent(0, 9, "before");
}

TEST(a_wake_has_the_user_called)
{
	unsigned int before;

	(void)state;
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&lock);
		before = nbefore;
		pthread_mutex_unlock(&lock);
		line_wake(line);
		line_wake(line);
		await_count(&nbefore, before + 1);
	}
}

/* Deliver @texts as received messages; @result is what the next read from the wire returns. */
static void bring_messages(const char *const *texts, unsigned int n, int result)
{
	uint64_t one = 1;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < n; i++) {
		struct message *m = &arriving[narrived++];

		*m = (struct message){ .type = (uint16_t)narrived, .length = strlen(texts[i]) };
		snprintf(m->text, sizeof(m->text), "%s", texts[i]);
	}
	fill_result = result;
	assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
	pthread_mutex_unlock(&lock);
}

TEST(messages_are_taken_as_they_come)
{
	(void)state;
	bring_messages((const char *const[]){ "a", "bc", "" }, 3, 0);
	await_count(&ntaken, 3);
	bring_messages((const char *const[]){ "d" }, 1, 0);
	await_count(&ntaken, 4);
	line_send(line, 1, "e", 1); /* the line still sends */
	await_count(&nsent, 1);
	assert_int_equal(nlost, 0);
}

static void expect_lost(int err)
{
	await_count(&nlost, 1);
	end_line();
	assert_int_equal(lost, err);
	assert_int_equal(nlost, 1);
}

TEST(messages_before_the_end_count)
{
	(void)state;
	bring_messages((const char *const[]){ "a", "b" }, 2, -ECONNRESET);
	expect_lost(-ECONNRESET);
	assert_int_equal(ntaken, 2);
}

TEST(a_message_that_is_not_valid_ends_the_line)
{
	(void)state;
	pthread_mutex_lock(&lock);
	take_result = -EBADMSG;
	pthread_mutex_unlock(&lock);
	bring_messages((const char *const[]){ "a", "b" }, 2, 0);
	expect_lost(-EBADMSG);
	assert_int_equal(ntaken, 1);
}

TEST(a_message_that_cannot_be_sent_ends_the_line)
{
	(void)state;
	pthread_mutex_lock(&lock);
	send_result = -EPIPE;
	pthread_mutex_unlock(&lock);
	line_send(line, 1, "a", 1);
	expect_lost(-EPIPE);
	assert_int_equal(nsent, 1);
}

TEST(silence_ends_the_line)
{
	(void)state;
	__atomic_store_n(&now, 31 * SECOND, __ATOMIC_SEQ_CST); /* 30 seconds may pass */
	line_wake(line);
	bring_messages((const char *const[]){ "a" }, 1, 0);
	await_count(&ntaken, 1);
	__atomic_store_n(&now, 61 * SECOND + 1, __ATOMIC_SEQ_CST);
	expect_lost(-ETIMEDOUT);
}

TEST(close_accepts_null)
{
	(void)state;
	line_close(NULL);
}
