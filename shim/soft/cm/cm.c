/*
 * The connection manager's device
 *
 * A descriptor is an event channel (cm_channel.c). A program writes a command, a structure of
 * <rdma/rdma_user_cm.h>, to it; most commands write their answer to an address in the command
 * (cm_command.c).
 *
 * One lock protects everything, since connections are rare. No thread sleeps while it holds the
 * lock, and a thread that holds it cannot be cancelled: programs cancel their event threads.
 *
 * Not here: operations on ids (cm_route.c, cm_conn.c, cm_mcast.c, cm_path.c), delivery of messages
 * (cm_wire.c).
 */
#include "shim/soft/cm/cm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/soft/cm/cm_channel.h"
#include "shim/soft/cm/cm_command.h"
#include "shim/soft/cm/cm_id.h"
#include "shim/soft/cm/cm_react.h"
#include "shim/soft/fabric/process.h"
#include "shim/soft/verbs/context.h"

enum { MOMENTS = 50 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t claimed, epoch; /* epoch of the process to which the other variables belong */
static unsigned int open_channels;

static int lock_cm(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_mutex_lock(&mutex);
	return state;
}

static void unlock_cm(int state)
{
	pthread_mutex_unlock(&mutex);
	pthread_setcancelstate(state, NULL);
}

/* Is it a signal that a running thread raises itself? None arrives while the thread sleeps. */
static bool is_fault(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
	       signal == SIGTRAP || signal == SIGSYS || signal == SIGABRT;
}

/*
 * Would the kernel restart the call after a signal handler? It restarts write() if the handler has
 * SA_RESTART, but never poll(). Since the signal is not known, all handlers must have the flag.
 */
static bool is_restarted_by_kernel(void)
{
	struct sigaction act;
	int i;

	for (i = 1; i < NSIG; i++)
		if (!is_fault(i) && sigaction(i, NULL, &act) == 0 && act.sa_handler != SIG_DFL &&
		    act.sa_handler != SIG_IGN && !(act.sa_flags & SA_RESTART))
			return false;
	return true;
}

/*
 * Sleep until something may have happened, for example that another thread has closed the channel;
 * a cancellation point.
 */
static int wait_for_event(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && flags & O_NONBLOCK)
		return -EAGAIN;
	if (poll(&p, 1, -1) >= 0)
		return 0;
	return errno == EINTR && is_restarted_by_kernel() ? 0 : -errno;
}

/*
 * Sleep forever: another thread has closed the channel on which this one sleeps. The kernel would
 * not wake this thread, and programs rely on that.
 */
static int pause_forever(void)
{
	do
		pause();
	while (is_restarted_by_kernel());
	return -EINTR;
}

/* @number: number of the channel that the first attempt found; 0: this is the first attempt. */
static int run_on_channel(int fd, uint32_t *number, const struct cm_command *command,
			  const char *buf, const struct rdma_ucm_cmd_hdr *hdr)
{
	struct cm_channel *channel;
	int err, state = lock_cm();

	channel = cm_channel_at(fd);
	if (!channel || (*number && *number != channel->number)) {
		unlock_cm(state);
		return *number ? pause_forever() : -EBADF;
	}
	*number = channel->number;
	err = cm_command_run(channel, command, buf + sizeof(*hdr), hdr->in, hdr->out);
	if (hdr->cmd == RDMA_USER_CM_CMD_GET_EVENT) {
		channel->reading = !err;
		channel->reader = pthread_self();
	}
	unlock_cm(state);
	return err;
}

static int execute_command(int fd, const void *buf, size_t len)
{
	const struct cm_command *command;
	struct rdma_ucm_cmd_hdr hdr;
	uint32_t number = 0;
	int err = cm_command_find(buf, len, &hdr, &command);

	if (err < 0)
		return err;
	for (;;) {
		err = run_on_channel(fd, &number, command, buf, &hdr);
		if (err != -EAGAIN || hdr.cmd != RDMA_USER_CM_CMD_GET_EVENT)
			return err;
		err = wait_for_event(fd);
		if (err < 0)
			return err;
	}
}

ssize_t cm_write(int fd, const void *buf, size_t len)
{
	int err = execute_command(fd, buf, len);

	if (err < 0) {
		errno = -err;
		return -1;
	}
	return len;
}

bool cm_owns(int fd)
{
	return cm_channel_at(fd);
}

static int open_channel(int flags)
{
	struct cm_channel *channel;
	int err = cm_channel_new(&channel);

	if (err < 0)
		return err;
	if (channel->fd >= CM_CHANNEL_FDS)
		err = -EMFILE;
	else if (flags & O_NONBLOCK && fcntl(channel->fd, F_SETFL, O_NONBLOCK) < 0)
		err = -errno;
	if (err < 0) {
		close(channel->fd);
		cm_channel_free(channel);
		return err;
	}
	if (!(flags & O_CLOEXEC))
		fcntl(channel->fd, F_SETFD, 0);
	cm_channel_show(channel);
	open_channels++;
	return channel->fd;
}

static void forget_all(void)
{
	pthread_mutex_init(&mutex, NULL);
	cm_channel_forget_all();
	open_channels = 0;
	cm_id_forget();
	cm_port_forget();
}

/*
 * In a child, before it opens a channel: forget the inherited state, including a locked mutex. One
 * thread does this, the others wait.
 */
static void forget_inherited(void)
{
	uint32_t now = process_epoch(), last = __atomic_load_n(&claimed, __ATOMIC_RELAXED);

	if (last != now && __atomic_compare_exchange_n(&claimed, &last, now, false,
						       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
		if (last)
			forget_all();
		__atomic_store_n(&epoch, now, __ATOMIC_RELEASE);
	}
	/* pairs with the store_release above */
	while (__atomic_load_n(&epoch, __ATOMIC_ACQUIRE) != now)
		sched_yield();
}

int cm_open(int flags)
{
	int state, fd = soft_join();

	if (fd < 0) {
		errno = -fd;
		return -1;
	}
	forget_inherited();
	state = lock_cm();
	fd = open_channel(flags);
	unlock_cm(state);
	if (fd < 0) {
		soft_leave();
		errno = -fd;
		return -1;
	}
	return fd;
}

/*
 * Wait until the thread that handles an event calls again for the next event. The kernel takes so
 * long to close a connection that this thread always returns before its channel is closed. This
 * device closes it at once, so the thread could use a descriptor that was reused.
 */
static int await_reader(int fd, int state)
{
	const struct timespec moment = { .tv_nsec = 200000 };
	struct cm_channel *channel;
	int n;

	for (n = 0; n < MOMENTS; n++) {
		channel = cm_channel_at(fd);
		if (!channel || !channel->reading || pthread_equal(channel->reader, pthread_self()))
			break;
		unlock_cm(state);
		nanosleep(&moment, NULL);
		state = lock_cm();
	}
	return state;
}

static void close_channel(struct cm_channel *channel)
{
	struct cm_id *id;

	cm_react_run(channel);
	while ((id = channel->ids)) {
		if (id->destroyed)
			cm_id_free(id);
		else
			cm_react_destroy_id(id);
	}
	cm_channel_hide(channel);
	cm_channel_free(channel);
	if (!--open_channels)
		cm_port_close();
}

void cm_close(int fd)
{
	struct cm_channel *channel;
	int saved = errno, state = lock_cm();

	state = await_reader(fd, state);
	channel = cm_channel_at(fd);
	if (channel)
		close_channel(channel);
	unlock_cm(state);
	if (channel)
		soft_leave();
	errno = saved;
}
