/*
 * Asynchronous events that the recorder injects
 *
 *	async_inject() --> made --> async_get() --> got --> async_ack()
 *
 * The program's descriptor is an epoll(7) of the device's descriptor and of `bell`, an eventfd that
 * is readable while an injected event of the context waits. While the library uses the context, it
 * needs the device's descriptor in `async_fd`. A thread of the program that reads the field at that
 * moment gets the device's descriptor, and is not woken by injected events.
 */
#include "shim/trace/faults/async.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/wire/desc.h"
#include "core/wire/event_object.h"
#include "shim/trace/faults/original.h"
#include "shim/trace/faults/connected.h"

struct async_event {
	struct async_event *next;
	struct ibv_context *context;
	struct ibv_async_event event;
	bool got; /* the program has retrieved the event, but not acknowledged it */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t acked = PTHREAD_COND_INITIALIZER;
static struct async_event *all;
static struct ibv_context *last_opened;

enum { CONTEXTS = 64 };

static struct opened_context {
	struct ibv_context *context; /* NULL: free */
	int device, program, bell;   /* descriptors */
} opened[CONTEXTS];
static unsigned int lent;

static struct opened_context *find_opened(const struct ibv_context *context)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (opened[i].context == context)
			return &opened[i];
	return NULL;
}

/* Create an epoll(7) of both descriptors. Returns it, or -1. */
static int make_descriptor(int device, int bell)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd >= 0 && (epoll_ctl(fd, EPOLL_CTL_ADD, device, &event) ||
			epoll_ctl(fd, EPOLL_CTL_ADD, bell, &event))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void async_note_opened(struct ibv_context *context)
{
	struct opened_context *entry;

	if (!plan_has(FAULT_EVENT))
		return;
	pthread_mutex_lock(&mutex);
	last_opened = context;
	entry = find_opened(NULL);
	if (entry) {
		entry->device = context->async_fd;
		entry->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		entry->program = make_descriptor(context->async_fd, entry->bell);
		entry->context = entry->program < 0 ? NULL : context;
		if (!entry->context && entry->bell >= 0)
			close(entry->bell);
	}
	if (entry && entry->context && !lent)
		context->async_fd = entry->program;
	pthread_mutex_unlock(&mutex);
}

void async_forget_context(struct ibv_context *context)
{
	struct opened_context *entry;

	pthread_mutex_lock(&mutex);
	entry = find_opened(context);
	if (entry) {
		context->async_fd = entry->device;
		close(entry->program);
		close(entry->bell);
		entry->context = NULL;
	}
	if (last_opened == context)
		last_opened = NULL;
	pthread_mutex_unlock(&mutex);
}

static void set_descriptors(bool device)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (opened[i].context)
			opened[i].context->async_fd = device ? opened[i].device : opened[i].program;
}

void async_lend(void)
{
	if (!plan_has(FAULT_EVENT))
		return;
	pthread_mutex_lock(&mutex);
	if (!lent++)
		set_descriptors(true);
	pthread_mutex_unlock(&mutex);
}

void async_return(void)
{
	if (!plan_has(FAULT_EVENT))
		return;
	pthread_mutex_lock(&mutex);
	if (!--lent)
		set_descriptors(false);
	pthread_mutex_unlock(&mutex);
}

static bool fails_qp(int type)
{
	return type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR ||
	       type == IBV_EVENT_QP_ACCESS_ERR;
}

/* Set the object of an event. False: the queue pair or SRQ does not have that kind of object. */
static bool set_element(struct ibv_async_event *event, struct ibv_qp *qp, struct ibv_srq *srq)
{
	switch (event_object(event->event_type)) {
	case OBJECT_cq:
		return (event->element.cq = qp ? qp->send_cq : NULL);
	case OBJECT_srq:
		return (event->element.srq = srq ?: qp ? qp->srq : NULL);
	case OBJECT_qp:
		return (event->element.qp = qp);
	default:
		event->element.port_num = 1;
		return true;
	}
}

static void add_injected(struct ibv_context *context, const struct ibv_async_event *event)
{
	struct async_event *made = calloc(1, sizeof(*made)), **at;
	const uint64_t one = 1;
	struct opened_context *entry;

	if (!made)
		return;
	made->context = context;
	made->event = *event;
	pthread_mutex_lock(&mutex);
	for (at = &all; *at; at = &(*at)->next)
		;
	*at = made;
	entry = find_opened(context);
	if (entry && write(entry->bell, &one, sizeof(one)) < 0)
		errno = 0; /* the bell is already readable */
	pthread_mutex_unlock(&mutex);
}

static const char *event_name(int type)
{
	const char *name = enum_name(enum_find("ibv_event_type"), type);

	return name ? name + strlen("IBV_EVENT_") : "";
}

void async_inject(const struct planned_fault *planned, struct ibv_qp *qp, struct ibv_srq *srq)
{
	struct ibv_async_event event = { .event_type = (enum ibv_event_type)planned->fault.value };
	struct ibv_context *context = qp ? qp->context : srq ? srq->context : last_opened;
	int saved = errno;

	if (!context || !set_element(&event, qp, srq))
		return;
	plan_note(planned, "the event %s", event_name(planned->fault.value));
	if (planned->fault.value == IBV_EVENT_CQ_ERR)
		connected_fail_users(qp->send_cq);
	else if (qp && fails_qp(planned->fault.value))
		original_fail_qp(qp);
	add_injected(context, &event);
	errno = saved;
}

int async_raise(struct ibv_context *context, const struct ibv_async_event *event)
{
	const struct planned_fault planned = { .line = 0 };
	int type = (int)event->event_type;
	bool open;

	pthread_mutex_lock(&mutex);
	open = find_opened(context);
	pthread_mutex_unlock(&mutex);
	if (!open)
		return EINVAL;
	plan_note(&planned, "the event %s", event_name(type));
	if (type == IBV_EVENT_CQ_ERR)
		connected_fail_users(event->element.cq);
	else if (fails_qp(type))
		original_fail_qp(event->element.qp);
	add_injected(context, event);
	return 0;
}

/* Take the first event for the context of @own that the program has not retrieved. */
static bool take_injected(const struct opened_context *own, struct ibv_async_event *event)
{
	bool found = false, more = false;
	uint64_t rung;

	pthread_mutex_lock(&mutex);
	for (struct async_event *made = all; made; made = made->next) {
		if (made->got || made->context != own->context)
			continue;
		if (found) {
			more = true;
			continue;
		}
		*event = made->event;
		found = made->got = true;
	}
	if (!more && read(own->bell, &rung, sizeof(rung)) < 0)
		errno = 0; /* the bell was not readable */
	pthread_mutex_unlock(&mutex);
	return found;
}

static int get_device_event(async_get_fn *behind, struct ibv_context *context,
			    struct ibv_async_event *event)
{
	int ret;

	async_lend();
	ret = behind(context, event);
	async_return();
	return ret;
}

static bool find_descriptors(const struct ibv_context *context, struct opened_context *ret_opened)
{
	struct opened_context *entry;

	pthread_mutex_lock(&mutex);
	entry = find_opened(context);
	if (entry)
		*ret_opened = *entry;
	pthread_mutex_unlock(&mutex);
	return entry;
}

int async_get(async_get_fn *behind, struct ibv_context *context, struct ibv_async_event *event)
{
	int saved = errno, ready = 0;
	struct pollfd fds[2];
	struct opened_context own;
	bool waits;

	if (!find_descriptors(context, &own))
		return behind(context, event);
	waits = !(fcntl(own.program, F_GETFL) & O_NONBLOCK);
	fds[0] = (struct pollfd){ own.device, POLLIN, 0 };
	fds[1] = (struct pollfd){ own.bell, POLLIN, 0 };
	for (;;) {
		if (take_injected(&own, event)) {
			errno = saved;
			return 0;
		}
		ready = poll(fds, 2, waits ? -1 : 0);
		if (ready > 0 && fds[0].revents) {
			errno = saved;
			return get_device_event(behind, context, event);
		}
		if (ready <= 0) {
			errno = ready ? errno : EAGAIN;
			return -1;
		}
	}
}

static bool is_for_object(const struct async_event *made, const void *object)
{
	enum object_kind kind = event_object(made->event.event_type);

	return (kind == OBJECT_cq || kind == OBJECT_qp || kind == OBJECT_srq) &&
	       made->event.element.qp == object;
}

bool async_ack(const struct ibv_async_event *event)
{
	struct async_event **at = &all, *found;
	bool made;

	pthread_mutex_lock(&mutex);
	while (*at && !((*at)->got && (*at)->event.event_type == event->event_type &&
			(*at)->event.element.qp == event->element.qp))
		at = &(*at)->next;
	found = *at;
	if (found)
		*at = found->next;
	pthread_cond_broadcast(&acked);
	pthread_mutex_unlock(&mutex);
	made = found;
	free(found);
	return made;
}

static struct async_event **find_injected(const void *object, bool got)
{
	struct async_event **at = &all;

	while (*at && !((*at)->got == got && is_for_object(*at, object)))
		at = &(*at)->next;
	return at;
}

void async_release(const void *object)
{
	struct async_event **at, *made;

	pthread_mutex_lock(&mutex);
	while (*find_injected(object, true))
		pthread_cond_wait(&acked, &mutex);
	while (*(at = find_injected(object, false))) {
		made = *at;
		*at = made->next;
		free(made);
	}
	pthread_mutex_unlock(&mutex);
}
