/*
 * Finds the other replay among the connecting hosts
 *
 *	listener -> accept -> a thread for each: hello, proof (wire.c) -> done -> take the first
 *
 * Any program may connect: a port scan, a browser, a replay with another key. Each connection has a
 * few seconds, in parallel with the others, so that a silent one delays no other. If there are too
 * many connections, the oldest is dropped.
 *
 * A thread owns its incoming_peer from the start until it has written to @done, and is joined then.
 */
#include "replay/two_host/admit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/wire/log.h"
#include "replay/two_host/meet.h"
#include "replay/two_host/wire.h"

enum { LOOK_MS = 100 /* ms */, INCOMING_MAX = 16, NOTES = 16 };

struct incoming {
	const struct admit_options *options;
	bool here;
	uint64_t number; /* counts all incoming */
	int fd;          /* the thread's */
	int shut;        /* a duplicate of fd, for shutdown(): the thread may close fd */
	int done;
	pthread_t thread;
	char name[MEET_NAME];
	/* set when the thread is done */
	int err;
	char why[WIRE_WHY];
	struct wire *wire;
};

struct admit {
	const struct admit_options *options;
	int listener;
	int done[2]; /* pipe of struct incoming * */
	struct incoming incoming[INCOMING_MAX];
	size_t here;
	uint64_t came, refused;
	struct wire *wire;
};

static void *open_incoming_wire(void *arg)
{
	struct incoming *v = arg;
	const struct admit_options *o = v->options;

	v->err = wire_open(v->fd, WIRE_LISTENER, o->key, o->key_length, wire_now() + o->patience,
			   v->why, &v->wire);
	/* the pipe has room for all incoming */
	while (write(v->done, &v, sizeof(v)) < 0 && errno == EINTR)
		;
	return NULL;
}

static int start_thread(struct incoming *v)
{
	sigset_t all, before;
	int err;

	sigfillset(&all); /* signals are for the main thread */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&v->thread, NULL, open_incoming_wire, v);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

static void note_refusal(struct admit *a, const char *name, const char *why)
{
	if (a->refused < NOTES)
		log_note("replay: connection from %s rejected: %s", name, why);
	else if (a->refused == NOTES)
		log_note("replay: further rejected connections are only counted");
	a->refused++;
}

static void accept_peer(struct admit *a, const struct incoming *v)
{
	a->wire = v->wire;
	log_info("replay: connected to the other replay at %s", v->name);
}

/* Join the thread of a incoming_peer that is done, and admit or refuse the incoming_peer. */
static void check_incoming(struct admit *a)
{
	struct incoming *v = NULL;
	ssize_t n;

	do
		n = read(a->done[0], &v, sizeof(v));
	while (n < 0 && errno == EINTR);
	pthread_join(v->thread, NULL);
	close(v->shut);
	v->here = false;
	a->here--;
	if (v->err && !a->wire)
		note_refusal(a, v->name, v->why);
	else if (!v->err && !a->wire)
		accept_peer(a, v);
	else if (!v->err)
		wire_close(v->wire);
}

static struct incoming *find_oldest(struct admit *a)
{
	struct incoming *oldest = NULL;

	for (size_t i = 0; i < INCOMING_MAX; i++)
		if (a->incoming[i].here && (!oldest || a->incoming[i].number < oldest->number))
			oldest = &a->incoming[i];
	return oldest;
}

static struct incoming *find_free_incoming(struct admit *a)
{
	size_t i = 0;

	if (a->here == INCOMING_MAX) {
		shutdown(find_oldest(a)->shut, SHUT_RDWR);
		check_incoming(a);
	}
	while (a->incoming[i].here)
		i++;
	return &a->incoming[i];
}

static void accept_incoming(struct admit *a)
{
	struct incoming *v = find_free_incoming(a);
	int err = 0;

	if (a->wire) /* the dropped connection was the other replay */
		return;
	*v = (struct incoming){ .options = a->options, .done = a->done[1] };
	v->fd = meet_accept(a->listener, v->name);
	if (v->fd < 0) { /* the incoming_peer has hung up, or no descriptor is free: retry later */
		if (v->fd != -EAGAIN && v->fd != -ECONNABORTED)
			poll(NULL, 0, LOOK_MS);
		return;
	}
	v->number = a->came++;
	v->shut = fcntl(v->fd, F_DUPFD_CLOEXEC, 0);
	err = v->shut < 0 ? -errno : start_thread(v);
	v->here = !err;
	a->here += v->here;
	if (!err)
		return;
	note_refusal(a, v->name, strerror(-err));
	close(v->fd);
	if (v->shut >= 0)
		close(v->shut);
}

static int report_no_peer(const struct admit *a)
{
	if (!a->refused)
		return log_why(-ETIMEDOUT,
			       "replay: no other replay has connected: start it with --peer on the "
			       "other host, or wait longer (--peer-wait)");
	return log_why(-ETIMEDOUT,
		       "replay: no other replay with the same --key has connected (%llu "
		       "rejected): start it with --peer on the other host, or wait longer "
		       "(--peer-wait)",
		       (unsigned long long)a->refused);
}

static int await_peer(struct admit *a)
{
	struct pollfd look[] = { { .fd = a->done[0], .events = POLLIN },
				 { .fd = a->listener, .events = POLLIN } };

	while (!a->wire) {
		bool late = wire_now() > a->options->deadline;

		if (a->options->ended())
			return -ECANCELED;
		if (late && !a->here)
			return report_no_peer(a);
		if (poll(look, late ? 1 : 2, LOOK_MS) <= 0)
			continue;
		if (look[0].revents)
			check_incoming(a);
		else if (!late && look[1].revents)
			accept_incoming(a);
	}
	return 0;
}

int admit_peer(int listener, const struct admit_options *options, struct wire **ret_wire)
{
	struct admit a = { .options = options, .listener = listener };
	int err;

	if (pipe2(a.done, O_CLOEXEC)) {
		err = -errno;
		close(listener);
		return log_err(err, "replay: wait for the other replay");
	}
	err = await_peer(&a);
	close(listener);
	for (size_t i = 0; i < INCOMING_MAX; i++)
		if (a.incoming[i].here)
			shutdown(a.incoming[i].shut, SHUT_RDWR);
	while (a.here)
		check_incoming(&a);
	close(a.done[0]);
	close(a.done[1]);
	if (a.wire)
		err = 0; /* the other replay was admitted while stopping */
	if (!err)
		*ret_wire = a.wire;
	return err;
}
