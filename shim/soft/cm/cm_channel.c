/*
 * Event channels
 *
 * The program polls an epoll(7) descriptor, which watches
 *
 *	the mailbox		messages (cm_wire.c)
 *	a timer			expired as long as an event waits; else set to the
 *				next time limit of an id
 *	processes		pidfds of the processes to which our ids are
 *				connected, so that a death is noticed at once
 *
 * So no thread is needed: whatever happens makes the descriptor readable, and the next command of
 * the program processes it.
 */
#include "shim/soft/cm/cm_channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/process.h"
#include "shim/soft/fabric/registry.h"
#include "shim/soft/fabric/segment.h"

struct cm_watch {
	struct cm_watch *next;
	struct cm_name process; /* serial is not used */
	unsigned int refs;
	int pidfd;
	bool dead;
	bool notified; /* the ids connected to the process were notified */
};

enum { AT_ONCE = 1, READY_MAX = 16 };

static struct cm_channel *channels[CM_CHANNEL_FDS]; /* indexed by descriptor */
static uint32_t last_number;

struct cm_channel *cm_channel_at(int fd)
{
	struct cm_channel *channel;

	if (fd < 0 || fd >= CM_CHANNEL_FDS)
		return NULL;
	channel = __atomic_load_n(&channels[fd], __ATOMIC_ACQUIRE);
	/* a child inherits the table, but the channels in it belong to the parent */
	return channel && channel->epoch == process_epoch() ? channel : NULL;
}

void cm_channel_show(struct cm_channel *channel)
{
	__atomic_store_n(&channels[channel->fd], channel, __ATOMIC_RELEASE);
}

void cm_channel_hide(struct cm_channel *channel)
{
	__atomic_store_n(&channels[channel->fd], NULL, __ATOMIC_RELEASE);
}

void cm_channel_forget_all(void)
{
	memset(channels, 0, sizeof(channels));
}

static int add_to_set(struct cm_channel *channel, int fd, void *ptr)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = ptr };

	return epoll_ctl(channel->fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_descriptors(struct cm_channel *channel)
{
	int err;

	channel->fd = epoll_create1(EPOLL_CLOEXEC);
	channel->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (channel->fd < 0 || channel->timer < 0)
		return -errno;
	channel->box = cm_wire_open(channel->number);
	if (channel->box < 0)
		return channel->box;
	err = add_to_set(channel, channel->box, NULL);
	return err < 0 ? err : add_to_set(channel, channel->timer, NULL);
}

int cm_channel_new(struct cm_channel **ret_channel)
{
	struct cm_channel *channel = calloc(1, sizeof(*channel));
	int err;

	if (!channel)
		return -ENOMEM;
	channel->box = -1;
	channel->number = ++last_number;
	channel->epoch = process_epoch();
	channel->last = &channel->first;
	err = open_descriptors(channel);
	if (err < 0) {
		if (channel->fd >= 0)
			close(channel->fd);
		cm_channel_free(channel);
		return err;
	}
	*ret_channel = channel;
	return 0;
}

static void free_watch(struct cm_watch *watch)
{
	if (watch->pidfd >= 0)
		close(watch->pidfd);
	free(watch);
}

/* Free a channel, but not its descriptor, which the program closes. */
void cm_channel_free(struct cm_channel *channel)
{
	struct cm_watch *watch;
	struct cm_event *event;

	while ((event = cm_channel_get(channel)))
		free(event);
	while ((watch = channel->watches)) {
		channel->watches = watch->next;
		free_watch(watch);
	}
	if (channel->box >= 0)
		cm_wire_close(channel->box, channel->number);
	if (channel->timer >= 0)
		close(channel->timer);
	free(channel);
}

static bool same_process(const struct cm_name *a, const struct cm_name *b)
{
	return a->node == b->node && a->instance == b->instance;
}

static bool is_self(const struct cm_name *process)
{
	return process->node == segment_own->node && process->instance == segment_own->instance;
}

static struct cm_watch **find_watch(struct cm_channel *channel, const struct cm_name *process)
{
	struct cm_watch **p = &channel->watches;

	while (*p && !same_process(&(*p)->process, process))
		p = &(*p)->next;
	return p;
}

int cm_channel_watch(struct cm_channel *channel, const struct cm_name *peer)
{
	struct cm_watch *watch = *find_watch(channel, peer);

	if (is_self(peer))
		return 0;
	if (watch) {
		watch->refs++;
		watch->notified = false;
		return 0;
	}
	watch = calloc(1, sizeof(*watch));
	if (!watch)
		return -ENOMEM;
	watch->process = *peer;
	watch->refs = 1;
	watch->pidfd = node_pidfd(peer->node, peer->instance);
	watch->dead = watch->pidfd == -ESRCH;
	watch->next = channel->watches;
	channel->watches = watch;
	if (watch->pidfd >= 0)
		add_to_set(channel, watch->pidfd, watch);
	return 0;
}

void cm_channel_unwatch(struct cm_channel *channel, const struct cm_name *peer)
{
	struct cm_watch **p = find_watch(channel, peer), *watch = *p;

	if (!watch || --watch->refs)
		return;
	*p = watch->next;
	/*
	 * remove it: if a child has a copy of the pidfd, closing ours would leave it in the epoll
	 * set
	 */
	if (watch->pidfd >= 0)
		epoll_ctl(channel->fd, EPOLL_CTL_DEL, watch->pidfd, NULL);
	free_watch(watch);
}

bool cm_channel_is_ready(struct cm_channel *channel)
{
	struct epoll_event ready[READY_MAX];
	int i, n = epoll_wait(channel->fd, ready, READY_MAX, 0);

	for (i = 0; i < n; i++)
		if (ready[i].data.ptr)
			((struct cm_watch *)ready[i].data.ptr)->dead = true;
	return n > 0;
}

static struct cm_watch *find_dead(const struct cm_channel *channel)
{
	struct cm_watch *watch = channel->watches;

	while (watch && (!watch->dead || watch->notified))
		watch = watch->next;
	return watch;
}

bool cm_channel_take_dead(struct cm_channel *channel, struct cm_name *ret_process)
{
	struct cm_watch *watch = find_dead(channel);

	if (!watch)
		return false;
	watch->notified = true;
	if (watch->pidfd >= 0)
		epoll_ctl(channel->fd, EPOLL_CTL_DEL, watch->pidfd, NULL);
	*ret_process = watch->process;
	return true;
}

static uint64_t next_time(const struct cm_channel *channel)
{
	const struct cm_id *id;
	uint64_t next = 0;

	if (channel->first || find_dead(channel))
		return AT_ONCE;
	for (id = channel->ids; id; id = id->next)
		if (cm_id_due(id) && (!next || cm_id_due(id) < next))
			next = cm_id_due(id);
	return next;
}

void cm_channel_arm(struct cm_channel *channel)
{
	uint64_t next = next_time(channel);
	struct itimerspec at = {
		.it_value = { next / 1000000000, next % 1000000000 },
	};

	if (next == channel->armed)
		return;
	channel->armed = next;
	timerfd_settime(channel->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

void cm_channel_put(struct cm_channel *channel, struct cm_event *event)
{
	event->next = NULL;
	*channel->last = event;
	channel->last = &event->next;
}

struct cm_event *cm_channel_get(struct cm_channel *channel)
{
	struct cm_event *event = channel->first;

	if (event) {
		channel->first = event->next;
		if (!channel->first)
			channel->last = &channel->first;
	}
	return event;
}
