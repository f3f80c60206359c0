/*
 * The traffic that a trace was of, as packets of RoCE v2
 *
 *	post of a request       -->  its packets, from the PSN that the queue pair has come to
 *	completion of a request -->  what the other end sent: an acknowledgement with AETH, of a
 *	                             read the response, of an atomic its answer, of an error a NAK;
 *	                             before it the responses of earlier requests without completions
 *	receive, of a sender    -->  its packets, from the PSN that the queue pair expects
 *	that is not in the trace
 *
 * Requests that ended by a local error or a flush were not sent: a trace with errors is
 * read twice, to know these before their time comes. Memory grows with what is outstanding.
 *
 * Not here: queue pairs (flow.c), packets (message.c, roce.c), the file (pcapng.c).
 */
#include "cli/export/traffic.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/profile/profile.h"
#include "cli/export/flow.h"
#include "cli/export/pcapng.h"
#include "core/base/vec.h"
#include "core/wire/log.h"

const char traffic_inferred[] =
	"Made by verbatim from a trace of verbs, not captured on a wire. Inferred: requests leave "
	"when they are posted, and answers arrive when their completion is polled; nothing is lost "
	"or repeated, and one acknowledgement answers all requests before it; MSN, UDP source "
	"ports, MAC addresses, TTL where no hop limit was set, P_Keys, and 169.254.x.x for LID x "
	"where a path has no GID; PSNs from 0 where ibv_modify_qp() is not in the trace; a request "
	"that ended by a local error or a flush was not sent; requests of ends that are not in the "
	"trace are known by the receives that they filled only. Payload that was not captured is "
	"zeros, and the ICRC is of these.";

enum { CODE_READ = 0x0c, CODE_ACK = 0x11, CODE_ATOMIC_ACK = 0x12, CODE_SWAP, CODE_ADD };
enum { CODE_FLUSH = 0x1c, CODE_ATOMIC_WRITE };
enum { AETH_ACK = 0x1f, AETH_RNR = 0x20, AETH_NAK = 0x60 };
enum { HAS_RETH = 1, HAS_IMM = 2, HAS_INVALIDATE = 4, HAS_ATOMIC = 8, HAS_FLUSH = 16 };
enum { SEND_SOLICITED = 4, GRH = 40 };
enum { WC_IMM = 2, WC_INVALIDATE = 8, WC_RECV = 128, WC_RECV_WRITE = 129 };

/* What a work request becomes, by enum ibv_wr_opcode. */
static const struct kind {
	struct message_codes codes;
	unsigned int has;
	bool sent; /* it leaves the device */
} kinds[] = {
	[0] = { { 6, 7, 8, 0x0a }, HAS_RETH, true },
	[1] = { { 6, 7, 9, 0x0b }, HAS_RETH | HAS_IMM, true },
	[2] = { { 0, 1, 2, 4 }, 0, true },
	[3] = { { 0, 1, 3, 5 }, HAS_IMM, true },
	[4] = { { 0, 0, 0, CODE_READ }, HAS_RETH, true },
	[5] = { { 0, 0, 0, CODE_SWAP }, HAS_ATOMIC, true },
	[6] = { { 0, 0, 0, CODE_ADD }, HAS_ATOMIC, true },
	[9] = { { 0, 1, 0x16, 0x17 }, HAS_INVALIDATE, true },
	[14] = { { 0, 0, 0, CODE_FLUSH }, HAS_RETH | HAS_FLUSH, true },
	[15] = { { 0, 0, 0, CODE_ATOMIC_WRITE }, HAS_RETH, true },
};

static uint64_t request_key(struct event_id id, uint32_t index)
{
	return map_hash(event_key(id)) + index;
}

static uint32_t request_length(const struct wr *wr)
{
	uint64_t length = 0;

	for (uint32_t i = 0; i < wr->nsge; i++)
		length += wr->sge[i].length;
	return length < UINT32_MAX ? (uint32_t)length : UINT32_MAX;
}

static void add_headers(struct message *message, const struct flow *flow, const struct wr *wr,
			const struct kind *kind, uint32_t length)
{
	if (flow->transport == TRANSPORT_XRC)
		roce_add(&message->each, wr->remote_srqn & 0xffffff, 4);
	if (flow->transport == TRANSPORT_UD) {
		roce_add(&message->each, wr->remote_qkey >> 31 ? flow->qkey : wr->remote_qkey, 4);
		roce_add(&message->each, flow->number & 0xffffff, 4);
	}
	if (kind->has & HAS_FLUSH)
		roce_add(&message->start,
			 (wr->flush_type & 0xf) | (uint64_t)(wr->flush_level & 3) << 4, 4);
	if (kind->has & (HAS_RETH | HAS_ATOMIC)) {
		roce_add(&message->start, wr->remote_addr, 8);
		roce_add(&message->start, wr->rkey, 4);
	}
	if (kind->has & HAS_RETH)
		roce_add(&message->start, length, 4);
	if (kind->has & HAS_ATOMIC) {
		bool swap = kind->codes.only == CODE_SWAP;

		roce_add(&message->start, swap ? wr->swap : wr->compare_add, 8);
		roce_add(&message->start, swap ? wr->compare_add : 0, 8);
	}
	if (kind->has & (HAS_IMM | HAS_INVALIDATE))
		roce_add(&message->end, wr->imm, 4);
}

static struct message_codes on_transport(struct message_codes codes, uint8_t transport)
{
	codes.first |= transport;
	codes.middle |= transport;
	codes.last |= transport;
	codes.only |= transport;
	return codes;
}

static int add_payload(struct traffic *traffic, struct message *message, struct event_id id,
		       uint32_t index, const char *kind)
{
	struct payload payload;
	int found = traffic->has_payloads && !traffic->capture.off
			    ? trace_payload(traffic->trace, id, index, &payload)
			    : 0;

	if (found < 1 || !payload.kind || strcmp(payload.kind, kind) ||
	    payload.nbytes < payload.before)
		return found < 0 ? found : 0;
	message->payload = (const uint8_t *)payload.bytes + payload.before;
	message->npayload = payload.nbytes - payload.before;
	return 0;
}

static void name_packets(struct traffic *traffic, struct event_id id, uint32_t index,
			 const char *what)
{
	char text[32];

	text_cut(&traffic->comment, 0);
	text_addf(&traffic->comment, "%s[%u] %s", event_id_text(id, text), index, what);
	traffic->capture.comment = traffic->comment.at ?: "";
}

static int keep_request(struct flow *flow, const struct request *request)
{
	if (flow->first && flow->first == flow->nrequests)
		flow->first = flow->nrequests = 0;
	if (flow->first > flow->nrequests / 2 && flow->nrequests == flow->size) {
		flow->nrequests -= flow->first;
		memmove(flow->requests, flow->requests + flow->first,
			flow->nrequests * sizeof(*request));
		flow->first = 0;
	}
	if (vec_reserve(flow->requests, flow->size, flow->nrequests + 1))
		return -ENOMEM;
	flow->requests[flow->nrequests++] = *request;
	return 0;
}

static int send_request(struct traffic *traffic, struct flow *flow, const struct life *life,
			const struct trace_event *event, uint32_t index)
{
	const struct wr *wr = &event->post->wr[index];
	const struct kind *kind = &kinds[wr->opcode];
	bool answered = !flow->transport || flow->transport == TRANSPORT_XRC;
	bool reads = kind->codes.only == CODE_READ;
	struct request request = { event->id, index, flow->psn, request_length(wr),
				   kind->codes.only };
	struct way way = flow_way(traffic, flow, life, event->process, wr);
	struct message message = { .codes = on_transport(kind->codes, flow->transport),
				   .psn = flow->psn,
				   .solicited = wr->send_flags & SEND_SOLICITED,
				   .acknowledge = answered };
	int err = 0;

	add_headers(&message, flow, wr, kind,
		    kind->has & HAS_FLUSH ? (uint32_t)wr->flush_length : request.length);
	if (!reads && !(kind->has & (HAS_ATOMIC | HAS_FLUSH))) {
		message.length = request.length;
		err = add_payload(traffic, &message, event->id, index, "send");
	}
	name_packets(traffic, event->id, index, verb_infos[event->post->verb].name);
	message_write(&traffic->capture, &way, &message);
	flow->psn += reads ? message_packets(request.length, way.mtu)
			   : message_packets(message.length, way.mtu);
	return err || !answered ? err : keep_request(flow, &request);
}

static int take_post(struct traffic *traffic, const struct trace_event *event)
{
	const struct post *post = event->post;
	const struct life *life;
	struct flow *flow;
	uint64_t unsent;
	int err;

	if (!post_is_send(post))
		return 0;
	life = model_life(traffic->pass.model, event->process, OBJECT_qp, post->handle);
	err = flow_find(traffic, life, &flow);
	if (!err && flow)
		flow_refresh(traffic, flow, life);
	if (!flow)
		traffic->left_out += post_taken(post);
	for (uint32_t i = 0; !err && flow && i < post_taken(post); i++) {
		unsigned int opcode = (unsigned int)post->wr[i].opcode;

		if (opcode < sizeof(kinds) / sizeof(*kinds) && kinds[opcode].sent &&
		    !map_get(&traffic->unsent, request_key(event->id, i), &unsent))
			err = send_request(traffic, flow, life, event, i);
	}
	return err;
}

static void add_aeth(struct roce_fields *fields, uint8_t syndrome, uint32_t messages)
{
	roce_add(fields, (uint32_t)syndrome << 24 | (messages & 0xffffff), 4);
}

/* What the other end sent for a request that was done; @wc: that which says so, NULL: none does. */
static int answer_request(struct traffic *traffic, struct flow *flow, const struct request *request,
			  struct event_id poll, const uint32_t *wc)
{
	bool reads = request->code == CODE_READ;
	bool atomic = request->code == CODE_SWAP || request->code == CODE_ADD;
	struct message message = { .psn = request->psn };
	uint64_t value = 0;
	int err = 0;

	flow->messages++;
	if (!reads && !atomic && !wc)
		return 0; /* a later acknowledgement is its, too */
	if (wc && (reads || atomic))
		err = add_payload(traffic, &message, poll, *wc, reads ? "read" : "atomic");
	add_aeth(&message.start, AETH_ACK, flow->messages);
	if (reads) {
		message.codes = (struct message_codes){ 0x0d, 0x0e, 0x0f, 0x10 };
		message.length = request->length;
		if (message_packets(request->length, flow->back.mtu) > 1)
			add_aeth(&message.end, AETH_ACK, flow->messages);
	} else {
		message.codes.only = atomic ? CODE_ATOMIC_ACK : CODE_ACK;
		message.psn += message_packets(atomic ? 0 : request->length, flow->back.mtu) - 1;
	}
	if (atomic && message.npayload == sizeof(value))
		memcpy(&value, message.payload, sizeof(value));
	if (atomic)
		roce_add(&message.start, value, sizeof(value));
	message.codes = on_transport(message.codes, flow->transport);
	message_write(&traffic->capture, &flow->back, &message);
	return err;
}

/* A NAK, where what the requester was told came from the other end. */
static void refuse_request(struct traffic *traffic, struct flow *flow,
			   const struct request *request, int status)
{
	static const uint8_t syndromes[] = {
		[9] = AETH_NAK | 1, [10] = AETH_NAK | 2, [11] = AETH_NAK | 3, [13] = AETH_RNR
	};
	struct message message = { .codes = { .only = CODE_ACK }, .psn = request->psn };
	uint8_t syndrome = (unsigned int)status < sizeof(syndromes) ? syndromes[status] : 0;

	if (!syndrome)
		return;
	if (syndrome == AETH_RNR)
		syndrome |= (uint8_t)flow->rnr_timer;
	message.codes = on_transport(message.codes, flow->transport);
	add_aeth(&message.start, syndrome, flow->messages);
	message_write(&traffic->capture, &flow->back, &message);
}

/* The outstanding request that @wc ends; requests before it are done, too. */
static const struct request *find_request(const struct flow *flow, const struct wc *wc)
{
	for (size_t i = flow->first; i < flow->nrequests; i++)
		if (flow->requests[i].id.n == wc->request.n &&
		    flow->requests[i].id.thread == wc->request.thread &&
		    flow->requests[i].index == wc->request_index)
			return &flow->requests[i];
	return NULL;
}

static int end_requests(struct traffic *traffic, struct flow *flow, const struct request *last,
			struct event_id poll, uint32_t index, int status)
{
	int err = 0;

	for (; !err && &flow->requests[flow->first] < last; flow->first++)
		err = answer_request(traffic, flow, &flow->requests[flow->first], poll, NULL);
	if (!err && !status)
		err = answer_request(traffic, flow, last, poll, &index);
	else if (!err)
		refuse_request(traffic, flow, last, status);
	flow->first++;
	return err;
}

/* A receive that an end filled which is not in the trace. */
static int receive_message(struct traffic *traffic, struct flow *flow, const struct wc *wc,
			   struct event_id poll, uint32_t index)
{
	bool write = wc->opcode == WC_RECV_WRITE, datagram = flow->type == QPT_UD;
	unsigned int opcode = write                          ? 1
			      : wc->wc_flags & WC_IMM        ? 3
			      : wc->wc_flags & WC_INVALIDATE ? 9
							     : 2;
	uint32_t head = datagram && wc->byte_len >= GRH ? GRH : 0;
	struct message message = { .codes = on_transport(kinds[opcode].codes, flow->transport),
				   .psn = flow->expected,
				   .length = wc->byte_len - head,
				   .acknowledge = !flow->transport };
	struct way way = flow->back;
	struct wr wr = { .imm = wc->imm, .remote_qkey = flow->qkey };
	struct flow sender = { .transport = flow->transport, .number = wc->src_qp };
	int err = 0;

	if (datagram)
		flow_put_lid(way.from, wc->slid);
	add_headers(&message, &sender, &wr, &kinds[opcode], message.length);
	if (!write)
		err = add_payload(traffic, &message, poll, index, "recv");
	message_write(&traffic->capture, &way, &message);
	flow->expected += message_packets(message.length, way.mtu);
	return err;
}

static bool is_foreign(const struct traffic *traffic, const struct flow *flow, const struct wc *wc)
{
	uint32_t number = flow->type == QPT_UD ? wc->src_qp : flow->there.qp;
	uint64_t found;

	return !wc->status && (wc->opcode == WC_RECV || wc->opcode == WC_RECV_WRITE) &&
	       flow->transport != TRANSPORT_XRC && !map_get(&traffic->numbers, number, &found);
}

static int take_completion(struct traffic *traffic, const struct trace_event *event, uint32_t index)
{
	const struct wc *wc = &event->poll->wc[index];
	const struct object *object = trace_object(traffic->trace, wc->qp);
	const struct life *life =
		object ? model_life(traffic->pass.model, object->process, OBJECT_qp, object->handle)
		       : NULL;
	const struct request *request;
	struct flow *flow;
	int err = flow_find(traffic, life, &flow);

	if (err || !flow || life->id != wc->qp)
		return err;
	flow_refresh(traffic, flow, life);
	request = wc->request.thread ? find_request(flow, wc) : NULL;
	if (!request && !is_foreign(traffic, flow, wc))
		return 0;
	name_packets(traffic, event->id, index, verb_infos[event->poll->verb].name);
	return request ? end_requests(traffic, flow, request, event->id, index, wc->status)
		       : receive_message(traffic, flow, wc, event->id, index);
}

static bool is_asked_for(const struct traffic *traffic, const struct trace_event *event)
{
	const struct profile_select *select = traffic->select;

	return event->time >= select->from && (!select->to || event->time < select->to) &&
	       (!select->process || event->process == select->process);
}

static int take_event(struct traffic *traffic, const struct trace_event *event)
{
	int err = 0;

	traffic->capture.time = traffic->start + (uint64_t)event->time;
	traffic->capture.off = !is_asked_for(traffic, event);
	if (event->kind == TRACE_RETURN)
		return flow_learn(traffic, event);
	if (event->inner || event->carried)
		return 0;
	if (event->kind == TRACE_POST)
		return take_post(traffic, event);
	for (uint32_t i = 0; event->kind == TRACE_POLL && !err && i < event->poll->nwc; i++)
		err = take_completion(traffic, event, i);
	return err;
}

/* Status of a request that never left: local errors, a flush. */
static bool is_unsent(int status)
{
	return status == 1 || status == 2 || status == 3 || status == 4 || status == 5 ||
	       status == 6;
}

static int find_unsent(struct traffic *traffic)
{
	const struct trace_event *event;
	struct cursor *cursor = NULL;
	int more = cursor_open(traffic->trace, NULL, &cursor);

	if (more)
		return more;
	while ((more = cursor_next(cursor, &event)) > 0)
		for (uint32_t i = 0; event->kind == TRACE_POLL && i < event->poll->nwc; i++) {
			const struct wc *wc = &event->poll->wc[i];

			if (is_unsent(wc->status) && wc->request.thread &&
			    map_put(&traffic->unsent, request_key(wc->request, wc->request_index),
				    1)) {
				cursor_close(cursor);
				return -ENOMEM;
			}
		}
	cursor_close(cursor);
	return more;
}

static int run_traffic(struct traffic *traffic)
{
	static const struct model_watcher nothing;
	int more = trace_has_errors(traffic->trace) ? find_unsent(traffic) : 0, err = more;

	if (!err)
		err = pass_init(&traffic->pass, traffic->trace, NULL, false, &nothing);
	while (!err && (more = pass_step(&traffic->pass)) > 0)
		if (traffic->pass.event)
			err = take_event(traffic, traffic->pass.event);
	pass_fini(&traffic->pass);
	return err ? err : more;
}

int traffic_write(FILE *file, struct trace *trace, const struct profile_select *select)
{
	const char *start = trace_meta(trace, "realtime");
	struct traffic traffic = { .trace = trace,
				   .select = select,
				   .capture = { .file = file },
				   .has_payloads = trace_has_payloads(trace),
				   .start = start ? strtoull(start, NULL, 10) : 0 };
	int err;

	pcapng_section(file, traffic_inferred, "verbatim " VERBATIM_VERSION);
	err = run_traffic(&traffic);
	if (!err && traffic.left_out)
		log_note("export: %" PRIu64 " requests of queue pairs that are not RoCE's, or were "
			 "not made in the trace, have no packets",
			 traffic.left_out);
	if (err == -ENOMEM)
		log_err(err, "make the packets");
	flow_free_all(&traffic);
	return err;
}
