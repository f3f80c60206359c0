/*
 * Event channels for completions that are delivered late
 *
 *	device's descriptor --> thread --> store of the CQ --> program's descriptor (an eventfd)
 *
 * The thread waits for events of the devices and for due times. It acknowledges a device's event
 * after it has polled the CQ until it was empty, so that the CQ cannot be destroyed meanwhile. Lock
 * order: the store of a CQ, then the mutex of `service`.
 */
#include "shim/trace/faults/backlog_channel.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "shim/trace/faults/original.h"
#include "shim/trace/faults/backlog.h"
#include "shim/trace/faults/service.h"

enum { CHANNELS = 256 };

/* An event of @cq that the program has not retrieved yet. */
struct event {
	struct event *next;
	struct ibv_cq *cq;
};

struct backlog_channel {
	struct ibv_comp_channel *channel; /* NULL: it was destroyed */
	int device, program;              /* descriptors of the device and of the program */
	/* ending: it is being destroyed; used: the thread uses it */
	bool ending, used;
	struct event *events, **last;
};

static struct service service;
static pthread_cond_t acked = PTHREAD_COND_INITIALIZER;
static pthread_cond_t unused = PTHREAD_COND_INITIALIZER;
static struct backlog_channel channels[CHANNELS];
static struct backlog *backlogs; /* stores of the CQs with channels */
static int bell = -1;            /* an eventfd that wakes the thread */

static struct backlog_channel *find_channel(const struct ibv_comp_channel *channel)
{
	for (int i = 0; i < CHANNELS; i++)
		if (channels[i].channel == channel)
			return &channels[i];
	return NULL;
}

struct backlog_channel *backlog_channel_find(const struct ibv_comp_channel *channel)
{
	struct backlog_channel *found;

	pthread_mutex_lock(&service.mutex);
	found = find_channel(channel);
	pthread_mutex_unlock(&service.mutex);
	return found;
}

static struct backlog *find_backlog(const struct ibv_cq *cq)
{
	struct backlog *backlog = backlogs;

	while (backlog && backlog->cq != cq)
		backlog = backlog->next;
	return backlog;
}

/* The thread */

/* Retrieve one event of the device, and the completions of the event's CQ. */
static void fetch_device_event(const struct ibv_comp_channel *channel, int device)
{
	int (*get)(struct ibv_comp_channel *, struct ibv_cq **, void **) =
		original_find(VERB_get_cq_event);
	void (*ack)(struct ibv_cq *, unsigned int) = original_find(VERB_ack_cq_events);
	struct ibv_comp_channel copy = *channel;
	struct backlog *backlog;
	struct ibv_cq *cq;
	void *context;

	copy.fd = device;
	if (!get || !ack || get(&copy, &cq, &context))
		return;
	pthread_mutex_lock(&service.mutex);
	backlog = find_backlog(cq);
	pthread_mutex_unlock(&service.mutex);
	if (backlog) {
		backlog_lock(backlog);
		backlog->owed = backlog->armed == BACKLOG_SOLICITED;
		backlog->drain(backlog);
		backlog_refresh(backlog);
		if (backlog->owed && backlog->armed == BACKLOG_SOLICITED && !backlog->n) {
			/* the program has already polled that completion */
			backlog->armed = BACKLOG_IDLE;
			backlog->owed = false;
			CALL_BACK(backlog_send)(backlog);
		}
		backlog_arm_device(backlog);
		backlog_unlock(backlog);
	}
	ack(cq, 1);
}

/*
 * If an event waits, mark the channel as used: the program cannot destroy it until
 * unclaim_channel(). False: ppoll() has returned for an earlier channel with this address and
 * descriptor.
 */
static bool claim_channel(const struct ibv_comp_channel *channel, int device)
{
	struct pollfd now = { device, POLLIN, 0 };
	struct backlog_channel *entry;
	bool may;

	pthread_mutex_lock(&service.mutex);
	entry = find_channel(channel);
	may = entry && !entry->ending && entry->device == device && poll(&now, 1, 0) > 0 &&
	      now.revents & POLLIN;
	if (may)
		entry->used = true;
	pthread_mutex_unlock(&service.mutex);
	return may;
}

static void unclaim_channel(const struct ibv_comp_channel *channel)
{
	pthread_mutex_lock(&service.mutex);
	find_channel(channel)->used = false;
	pthread_cond_broadcast(&unused);
	pthread_mutex_unlock(&service.mutex);
}

/*
 * Make completions visible whose time has come, and send their events. Returns the next such time,
 * ns.
 */
static uint64_t refresh_all(void)
{
	uint64_t next = UINT64_MAX, due;
	struct backlog *all[CHANNELS * 4], *backlog;
	size_t n = 0;

	pthread_mutex_lock(&service.mutex);
	for (backlog = backlogs; backlog && n < sizeof(all) / sizeof(*all); backlog = backlog->next)
		all[n++] = backlog;
	pthread_mutex_unlock(&service.mutex);
	for (size_t i = 0; i < n; i++) {
		/*
		 * another thread may be between ibv_start_poll() and ibv_end_poll(): try again
		 * later
		 */
		if (pthread_mutex_trylock(&all[i]->mutex)) {
			next = plan_now() + 100000;
			continue;
		}
		backlog_refresh(all[i]);
		due = backlog_next_due(all[i]);
		next = due < next ? due : next;
		backlog_unlock(all[i]);
	}
	return next;
}

static void wait_until(struct pollfd *fds, nfds_t n, uint64_t due)
{
	uint64_t now = plan_now(), ns = due > now ? due - now : 0, rung;
	const struct timespec time = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	if (ppoll(fds, n, due == UINT64_MAX ? NULL : &time, NULL) > 0 && fds[0].revents)
		if (read(bell, &rung, sizeof(rung)) < 0)
			return;
}

static void serve_channels(void)
{
	struct ibv_comp_channel *polled[CHANNELS + 1];
	struct pollfd fds[CHANNELS + 1];

	for (;;) {
		nfds_t n = 1;

		fds[0] = (struct pollfd){ .fd = bell, .events = POLLIN };
		pthread_mutex_lock(&service.mutex);
		for (int i = 0; i < CHANNELS; i++)
			if (channels[i].channel && !channels[i].ending) {
				fds[n] = (struct pollfd){ channels[i].device, POLLIN, 0 };
				polled[n++] = channels[i].channel;
			}
		pthread_mutex_unlock(&service.mutex);
		wait_until(fds, n, refresh_all());
		for (nfds_t i = 1; i < n; i++)
			if (fds[i].revents & POLLIN && claim_channel(polled[i], fds[i].fd)) {
				fetch_device_event(polled[i], fds[i].fd);
				unclaim_channel(polled[i]);
			}
	}
}

static void open_wakeup(void)
{
	bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/* In a child: forget the parent's channels, whose events belong to the parent. */
static void forget_parent(void)
{
	for (int i = 0; i < CHANNELS; i++) {
		channels[i].ending = true;
		channels[i].used = false;
	}
	backlogs = NULL;
	bell = -1;
}

static struct service service = { .mutex = PTHREAD_MUTEX_INITIALIZER,
				  .open = open_wakeup,
				  .serve = serve_channels,
				  .in_child = forget_parent };

static void wake_service(void)
{
	const uint64_t one = 1;
	int saved = errno;

	if (write(bell, &one, sizeof(one)) < 0)
		errno = saved; /* a full eventfd also wakes the thread */
}

/* Channels */

void backlog_channel_add(struct ibv_comp_channel *channel)
{
	struct backlog_channel *entry;
	int fd;

	original_find(VERB_get_cq_event);
	original_find(VERB_ack_cq_events);
	service_start(&service);
	fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	pthread_mutex_lock(&service.mutex);
	entry = fd < 0 ? NULL : find_channel(NULL);
	if (entry) {
		*entry = (struct backlog_channel){ .channel = channel,
						   .device = channel->fd,
						   .program = fd };
		entry->last = &entry->events;
		channel->fd = fd;
	} else if (fd >= 0) {
		close(fd);
	}
	pthread_mutex_unlock(&service.mutex);
	wake_service();
}

void backlog_channel_lend(struct ibv_comp_channel *channel)
{
	struct backlog_channel *entry = channel ? backlog_channel_find(channel) : NULL;

	if (entry)
		channel->fd = entry->device;
}

void backlog_channel_return(struct ibv_comp_channel *channel)
{
	struct backlog_channel *entry = channel ? backlog_channel_find(channel) : NULL;

	if (entry)
		channel->fd = entry->program;
}

struct backlog_channel *backlog_channel_begin_destroy(struct ibv_comp_channel *channel)
{
	struct backlog_channel *entry;

	pthread_mutex_lock(&service.mutex);
	entry = channel ? find_channel(channel) : NULL;
	if (entry)
		entry->ending = true;
	while (entry && entry->used)
		pthread_cond_wait(&unused, &service.mutex);
	if (entry)
		channel->fd = entry->device;
	pthread_mutex_unlock(&service.mutex);
	return entry;
}

void backlog_channel_undo_destroy(struct backlog_channel *entry)
{
	pthread_mutex_lock(&service.mutex);
	entry->ending = false;
	entry->channel->fd = entry->program;
	pthread_mutex_unlock(&service.mutex);
	wake_service();
}

void backlog_channel_end_destroy(struct backlog_channel *entry)
{
	pthread_mutex_lock(&service.mutex);
	entry->channel = NULL;
	close(entry->program);
	pthread_mutex_unlock(&service.mutex);
	wake_service();
}

/* CQs */

void backlog_channel_add_cq(struct backlog *backlog)
{
	if (!backlog->cq->channel)
		return;
	pthread_mutex_lock(&service.mutex);
	backlog->channel = find_channel(backlog->cq->channel);
	backlog->next = backlogs;
	backlog->unacked = 0;
	backlogs = backlog;
	pthread_mutex_unlock(&service.mutex);
}

/* Drop the events of @cq that the program has not retrieved: they need no acknowledgement. */
static void drop_events(struct backlog_channel *channel, const struct ibv_cq *cq)
{
	struct event **at = &channel->events, *event;

	while ((event = *at))
		if (event->cq == cq) {
			*at = event->next;
			free(event);
		} else {
			at = &event->next;
		}
	channel->last = at;
}

void backlog_channel_remove_cq(struct backlog *backlog)
{
	struct backlog **at = &backlogs;

	if (!backlog->channel)
		return;
	pthread_mutex_lock(&service.mutex);
	while (backlog->unacked)
		pthread_cond_wait(&acked, &service.mutex);
	drop_events(backlog->channel, backlog->cq);
	while (*at && *at != backlog)
		at = &(*at)->next;
	if (*at)
		*at = backlog->next;
	pthread_mutex_unlock(&service.mutex);
}

static void send_event(struct backlog *backlog)
{
	struct backlog_channel *channel = backlog->channel;
	struct event *event = channel ? calloc(1, sizeof(*event)) : NULL;
	const uint64_t one = 1;

	if (!event)
		return;
	event->cq = backlog->cq;
	pthread_mutex_lock(&service.mutex);
	*channel->last = event;
	channel->last = &event->next;
	if (write(channel->program, &one, sizeof(one)) < 0)
		/* cannot fail: an eventfd is full only after 2^64 events */
		channel->last = &event->next;
	pthread_mutex_unlock(&service.mutex);
}

static struct ibv_cq *take_first_event(struct ibv_comp_channel *channel)
{
	struct backlog_channel *entry;
	struct ibv_cq *cq = NULL;
	struct event *event;
	struct backlog *backlog;

	pthread_mutex_lock(&service.mutex);
	entry = find_channel(channel);
	event = entry ? entry->events : NULL;
	if (event) {
		cq = event->cq;
		entry->events = event->next;
		if (!entry->events)
			entry->last = &entry->events;
		backlog = find_backlog(cq);
		if (backlog)
			backlog->unacked++;
	}
	pthread_mutex_unlock(&service.mutex);
	free(event);
	return cq;
}

int backlog_channel_get(struct ibv_comp_channel *channel, struct ibv_cq **ret_cq,
			void **ret_context)
{
	struct ibv_cq *cq;
	uint64_t one;

	do {
		if (read(channel->fd, &one, sizeof(one)) < 0)
			return -1;
		cq = take_first_event(channel);
	} while (!cq); /* the CQ of the event was destroyed */
	*ret_cq = cq;
	*ret_context = cq->cq_context;
	return 0;
}

void backlog_channel_ack(struct ibv_cq *cq, unsigned int n)
{
	struct backlog *backlog;

	pthread_mutex_lock(&service.mutex);
	backlog = find_backlog(cq);
	if (backlog)
		backlog->unacked -= n < backlog->unacked ? n : backlog->unacked;
	pthread_cond_broadcast(&acked);
	pthread_mutex_unlock(&service.mutex);
}

REGISTER(backlog_send, send_event)
REGISTER(backlog_wake, wake_service)
