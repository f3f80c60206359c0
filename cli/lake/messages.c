/*
 * The messages of a trace
 *
 * The model reports when requests are posted and retired; the peer of a queue pair is that of table
 * `connection` when the request was posted.
 */
#include "cli/lake/messages.h"

#include "analyzer/model/clocks.h"
#include "analyzer/model/queue.h"
#include "analyzer/tables/pass.h"
#include "cli/cli.h"
#include "cli/folder.h"
#include "cli/open_all.h"
#include "core/model/operation.h"
#include "core/store/finish/connections.h"
#include "core/store/read/joint.h"
#include "core/wire/hash.h"
#include "core/wire/log.h"

struct messages {
	const struct messages_callbacks *taker;
	struct pass pass;
	const struct connections *connections;
	bool seen; /* the taker has the current event */
};

bool message_puts(int opcode)
{
	return opcode == ABI_WR_RDMA_WRITE || opcode == ABI_WR_ATOMIC_WRITE ||
	       operation_takes_receive(opcode);
}

/* Pass the event on before the model's callbacks for it. */
static void pass_event_once(struct messages *m, const struct trace_event *event)
{
	if (!m->seen)
		m->taker->event(m->taker->arg, event);
	m->seen = true;
}

static void find_peer(const struct messages *m, struct message *message, int64_t time)
{
	const struct object *peer;

	if (message->qp)
		message->peer_qp = connections_peer(m->connections, message->qp, time);
	peer = trace_object(m->pass.trace, message->peer_qp);
	message->peer = peer ? peer->process : 0;
}

static struct message describe_request(const struct queue *queue,
				       const struct queue_request *request, const struct life *qp)
{
	struct event_id id = queue_id(request);
	uint64_t name[] = { id.thread, id.n, request->index };
	struct message message = { .id = hash_of(name, sizeof(name), 0),
				   .process = queue->owner ? queue->owner->process : 0,
				   .thread = id.thread,
				   .qp = qp ? qp->id : 0,
				   .opcode = request->opcode,
				   .time = request->time };

	for (uint32_t i = 0; i < request->nsge; i++)
		message.bytes += queue_sge(queue, request, i)->length;
	return message;
}

static void pass_posted(void *arg, const struct model_post *post)
{
	struct messages *m = arg;
	const struct queue *queue = post->queue;

	pass_event_once(m, post->event);
	for (uint32_t i = 0; queue && i < post->taken && post->taken <= queue->count; i++) {
		const struct queue_request *request =
			queue_at(queue, queue->count - post->taken + i);
		struct message message = describe_request(
			queue, request,
			post->object && post->object->kind == OBJECT_qp ? post->object : NULL);

		find_peer(m, &message, message.time);
		m->taker->posted(m->taker->arg, &message);
	}
}

static void end_message(struct messages *m, const struct model_complete *complete,
			const struct queue_request *request, int status)
{
	const struct wc *wc = &complete->event->poll->wc[complete->index];
	struct message message = describe_request(complete->queue, request, complete->qp);

	if (request->opcode == MESSAGE_RECEIVE && !status)
		message.bytes = wc->byte_len;
	message.thread = complete->event->id.thread;
	message.time = complete->event->time;
	message.status = status;
	find_peer(m, &message, message.time);
	m->taker->completed(m->taker->arg, &message);
}

static void pass_completed(void *arg, const struct model_complete *complete)
{
	const struct queue *queue = complete->queue;
	struct messages *m = arg;

	pass_event_once(m, complete->event);
	if (!complete->request)
		return;
	for (uint32_t i = 0; queue->send && queue_at(queue, i) != complete->request; i++)
		if (!queue_at(queue, i)->done && !queue_at(queue, i)->signalled)
			end_message(m, complete, queue_at(queue, i), MESSAGE_RETIRED);
	end_message(m, complete, complete->request,
		    (int)complete->event->poll->wc[complete->index].status);
}

int messages_read(struct trace *trace, const struct messages_callbacks *taker)
{
	struct messages m = { .taker = taker };
	struct model_watcher watcher = {
		.post = pass_posted, .complete = pass_completed, .states_only = true, .arg = &m
	};
	int err = trace_connections(trace, &m.connections), more = 0;

	if (!err)
		err = pass_init(&m.pass, trace, NULL, false, &watcher);
	while (!err && (more = pass_step(&m.pass)) > 0) {
		if (m.pass.event)
			pass_event_once(&m, m.pass.event);
		m.seen = false;
	}
	if (m.pass.model)
		pass_fini(&m.pass);
	return err ? err : more;
}

int messages_export(const struct arguments *arguments, const char *to,
		    int (*write)(struct trace *trace, const char *folder))
{
	struct folder folder = { 0 };
	struct trace *trace;
	int status = cli_open_all("export", arguments, &trace), err;

	if (status)
		return status;
	cli_show_progress("export", trace);
	cli_report_loss(trace);
	err = trace_nparts(trace) > 1 ? clocks_join(trace) : 0;
	if (!err)
		err = folder_make(&folder, to);
	if (!err)
		err = write(trace, folder.path);
	if (!err)
		err = folder_move_to(&folder, to);
	status = err ? (int)cli_status(err) : CLI_FINE;
	folder_remove(&folder);
	trace_close(trace);
	return status;
}
