/*
 * The connection to the other replay while both run
 *
 *	any thread -> pending -> the line's thread -> socket -> other line's thread -> take()
 *
 * So no player waits for the network, and the messages of many steps go in one packet. A line is
 * lost if nothing arrives for a long time, since each end sends something every second.
 */
#include "replay/two_host/line.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/vec.h"
#include "core/wire/log.h"
#include "replay/two_host/wire.h"

#define TICK     100           /* ms */
#define SILENCE  30000000000ll /* ns */
#define PATIENCE 20000000000ll /* ns, until data can be sent */

struct head {
	uint32_t length;
	uint16_t type;
};

struct bytes {
	uint8_t *at;
	size_t used, size;
};

struct line {
	struct wire *wire;
	struct line_user user;
	pthread_t thread;
	int wake; /* eventfd */
	bool woken;
	pthread_mutex_t lock;
	/* protected by the lock */
	struct bytes pending; /* heads and messages */
	bool failed;          /* no memory */
	bool ended;
};

void line_wake(struct line *line)
{
	uint64_t one = 1;

	if (__atomic_exchange_n(&line->woken, true, __ATOMIC_SEQ_CST))
		return;
	while (write(line->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void put_bytes(struct bytes *to, const void *bytes, size_t length)
{
	if (length)
		memcpy(to->at + to->used, bytes, length);
	to->used += length;
}

void line_send(struct line *line, uint16_t type, const void *bytes, size_t length)
{
	const struct head head = { (uint32_t)length, type };
	struct bytes *to = &line->pending;

	pthread_mutex_lock(&line->lock);
	if (vec_reserve(to->at, to->size, to->used + sizeof(head) + length)) {
		line->failed = true;
	} else {
		put_bytes(to, &head, sizeof(head));
		put_bytes(to, bytes, length);
	}
	pthread_mutex_unlock(&line->lock);
	line_wake(line);
}

/* Send all messages that wait. */
static int send_pending(struct line *line, struct bytes *own)
{
	struct bytes taken;
	struct head head;
	int err = 0;

	pthread_mutex_lock(&line->lock);
	taken = line->pending;
	line->pending = *own;
	line->pending.used = 0;
	err = line->failed ? -ENOMEM : 0;
	pthread_mutex_unlock(&line->lock);
	for (size_t at = 0; at < taken.used && !err; at += sizeof(head) + head.length) {
		memcpy(&head, taken.at + at, sizeof(head));
		err = wire_send(line->wire, head.type, taken.at + at + sizeof(head), head.length,
				wire_now() + PATIENCE);
	}
	*own = taken;
	return err;
}

/*
 * Take the messages that have arrived, also those before the end of the connection; *@heard: when
 * the last one arrived. Returns 1 if there may be more.
 */
static int take_messages(struct line *line, int64_t *heard)
{
	int end = wire_fill(line->wire), err;
	const uint8_t *bytes;
	uint16_t type;
	size_t length;

	while ((err = wire_next(line->wire, &type, &bytes, &length)) > 0) {
		*heard = wire_now();
		err = line->user.take(line->user.arg, type, bytes, length);
		if (err)
			return err;
	}
	return err ? err : end;
}

static bool has_ended(struct line *line)
{
	bool ended;

	pthread_mutex_lock(&line->lock);
	ended = line->ended;
	pthread_mutex_unlock(&line->lock);
	return ended;
}

static void await_work(struct line *line, int ms)
{
	struct pollfd look[] = { { .fd = wire_fd(line->wire), .events = POLLIN },
				 { .fd = line->wake, .events = POLLIN } };
	uint64_t times;

	if (poll(look, 2, ms) > 0 && look[1].revents) {
		while (read(line->wake, &times, sizeof(times)) < 0 && errno == EINTR)
			;
		__atomic_store_n(&line->woken, false, __ATOMIC_SEQ_CST);
	}
}

static void *run_line(void *arg)
{
	struct line *line = arg;
	struct bytes own = { 0 };
	int64_t heard = wire_now(), now;
	int err, more = 0;
	bool ended;

	do {
		await_work(line, more ? 0 : TICK);
		ended = has_ended(line);
		now = wire_now();
		line->user.before(line->user.arg, now);
		more = err = take_messages(line, &heard);
		if (err >= 0)
			err = send_pending(line, &own);
		if (!err && now - heard > SILENCE)
			err = -ETIMEDOUT;
	} while (!err && !ended);
	if (err && !ended)
		line->user.lost(line->user.arg, err);
	free(own.at);
	return NULL;
}

int line_open(struct wire *wire, const struct line_user *user, struct line **ret_line)
{
	struct line *line = calloc(1, sizeof(*line));
	sigset_t all, before;
	int err;

	if (!line) {
		wire_close(wire);
		return log_err(-ENOMEM, "replay: talk to the other replay");
	}
	line->wire = wire;
	line->user = *user;
	pthread_mutex_init(&line->lock, NULL);
	line->wake = eventfd(0, EFD_CLOEXEC);
	err = line->wake < 0 ? errno : 0;
	sigfillset(&all); /* signals are for the main thread */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = err ?: pthread_create(&line->thread, NULL, run_line, line);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		if (line->wake >= 0)
			close(line->wake);
		wire_close(wire);
		free(line);
		return log_err(-err, "replay: talk to the other replay");
	}
	*ret_line = line;
	return 0;
}

void line_close(struct line *line)
{
	if (!line)
		return;
	pthread_mutex_lock(&line->lock);
	line->ended = true;
	pthread_mutex_unlock(&line->lock);
	line_wake(line);
	pthread_join(line->thread, NULL);
	close(line->wake);
	wire_close(line->wire);
	pthread_mutex_destroy(&line->lock);
	free(line->pending.at);
	free(line);
}
