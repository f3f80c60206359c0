/*
 * Completion channels and events
 *
 * Completion events and asynchronous events arrive through a pipe (pipe.c), as records that
 * identify an object by slot and serial number. A record whose object was destroyed is skipped.
 * Destroying an object removes its records from the pipe, and waits until the program has
 * acknowledged the events that it got.
 */
#include "shim/soft/verbs/event.h"

#include <stdlib.h>
#include <unistd.h>

#include "shim/soft/fabric/pipe.h"
#include "shim/soft/verbs/enter.h"

EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct soft_channel *channel;
	int fd;
	int err;

	err = soft_enter(context, "create_comp_channel");
	if (err)
		return soft_fail(err);
	channel = calloc(1, sizeof(*channel));
	if (!channel)
		return soft_fail(ENOMEM);
	fd = pipe_open(&channel->id);
	if (fd < 0) {
		free(channel);
		return soft_fail(fd);
	}
	channel->channel.context = context;
	channel->channel.fd = fd;
	return &channel->channel;
}

EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *ibchannel)
{
	struct soft_channel *channel = (struct soft_channel *)ibchannel;
	int err;

	err = soft_enter(ibchannel->context, "destroy_comp_channel");
	if (err)
		return err;
	if (__atomic_load_n(&ibchannel->refcnt, __ATOMIC_ACQUIRE))
		return EBUSY;
	pipe_close(ibchannel->fd, channel->id);
	free(channel);
	return 0;
}

static bool is_record(const struct pipe_event *event)
{
	return event->kind >= PIPE_COMPLETION && event->kind < PIPE_END;
}

/*
 * Read one record; -1 and errno as from read(2). Any process of this user can write to the pipe, so
 * invalid data is skipped byte by byte.
 */
static int next_event(int fd, struct pipe_event *event)
{
	char *bytes = (char *)event;
	size_t have = 0;
	ssize_t n;

	for (;;) {
		n = read(fd, bytes + have, sizeof(*event) - have);
		if (n <= 0)
			break;
		have += n;
		if (have < sizeof(*event))
			continue;
		if (is_record(event))
			return 0;
		memmove(bytes, bytes + 1, --have);
	}
	if (n == 0)
		errno = EIO;
	return -1;
}

static struct soft_cq *cq_at(const struct pipe_event *event)
{
	struct soft_cq *cq = event->index < SHM_CQ_MAX ? soft_cqs[event->index] : NULL;

	return cq && cq->serial == event->serial ? cq : NULL;
}

static struct soft_cq *find_event_cq(const struct pipe_event *event)
{
	struct soft_cq *cq;

	pthread_mutex_lock(&soft_mutex);
	cq = event->kind == PIPE_COMPLETION ? cq_at(event) : NULL;
	if (cq)
		cq->events++;
	pthread_mutex_unlock(&soft_mutex);
	return cq;
}

EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **ret_cq,
			    void **cq_context)
{
	struct pipe_event event;
	struct soft_cq *cq;
	int err;

	err = soft_enter(channel->context, "get_cq_event");
	if (err) {
		errno = err;
		return -1;
	}
	do {
		if (next_event(channel->fd, &event) < 0)
			return -1;
		cq = find_event_cq(&event);
	} while (!cq);
	cqring_await_lock(&cq->ring);
	*ret_cq = (struct ibv_cq *)&cq->ex;
	*cq_context = cq->ex.cq_context;
	return 0;
}

EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

static bool set_event_cq(const struct pipe_event *event, struct ibv_async_event *out)
{
	struct soft_cq *cq = cq_at(event);

	if (!cq)
		return false;
	cq->async_events++;
	out->element.cq = (struct ibv_cq *)&cq->ex;
	return true;
}

static bool set_event_qp(const struct pipe_event *event, struct ibv_async_event *out)
{
	struct soft_qp *qp = event->index < SHM_QP_MAX ? soft_qps[event->index] : NULL;

	if (!qp || qp->serial != event->serial)
		return false;
	qp->events++;
	out->element.qp = &qp->ex.qp_base;
	if (qp->wq) {
		out->event_type = IBV_EVENT_WQ_FATAL;
		out->element.wq = &qp->wq->wq;
	}
	return true;
}

static bool set_event_srq(const struct pipe_event *event, struct ibv_async_event *out)
{
	struct soft_srq *srq = event->index < SHM_SRQ_MAX ? soft_srqs[event->index] : NULL;

	if (!srq || srq->shm->serial != event->serial)
		return false;
	srq->events++;
	out->element.srq = &srq->srq;
	return true;
}

/* The kind of object to which events of @type belong. */
static uint32_t kind_of(uint32_t type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR:
		return PIPE_CQ;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return PIPE_QP;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return PIPE_SRQ;
	default:
		return type <= IBV_EVENT_WQ_FATAL ? PIPE_PORT : PIPE_END;
	}
}

static bool fill_async_event(const struct pipe_event *event, struct ibv_async_event *out)
{
	bool taken = false;

	/* invalid: the acknowledgement would count for another kind of object, or not at all */
	if (event->kind != kind_of(event->type))
		return false;
	out->event_type = event->type;
	pthread_mutex_lock(&soft_mutex);
	switch (event->kind) {
	case PIPE_CQ:
		taken = set_event_cq(event, out);
		break;
	case PIPE_QP:
		taken = set_event_qp(event, out);
		break;
	case PIPE_SRQ:
		taken = set_event_srq(event, out);
		break;
	case PIPE_PORT:
		out->element.port_num = event->index;
		taken = true;
		break;
	}
	pthread_mutex_unlock(&soft_mutex);
	return taken;
}

EXPORT int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *out)
{
	struct pipe_event event;
	int err;

	err = soft_enter(context, "get_async_event");
	if (err) {
		errno = err;
		return -1;
	}
	do {
		if (next_event(context->async_fd, &event) < 0)
			return -1;
	} while (!fill_async_event(&event, out));
	return 0;
}

static void ack_event(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *count)
{
	pthread_mutex_lock(mutex);
	++*count;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_cq *cq = event->element.cq;
	struct ibv_qp *qp = event->element.qp;
	struct ibv_srq *srq = event->element.srq;
	struct ibv_wq *wq = event->element.wq;

	switch (kind_of(event->event_type)) {
	case PIPE_CQ:
		ack_event(&cq->mutex, &cq->cond, &cq->async_events_completed);
		break;
	case PIPE_QP:
		ack_event(&qp->mutex, &qp->cond, &qp->events_completed);
		break;
	case PIPE_SRQ:
		ack_event(&srq->mutex, &srq->cond, &srq->events_completed);
		break;
	default:
		if (event->event_type == IBV_EVENT_WQ_FATAL)
			ack_event(&wq->mutex, &wq->cond, &wq->events_completed);
		break;
	}
}

void event_wait_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
		     uint32_t given)
{
	pthread_mutex_lock(mutex);
	while (*completed != given)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}
