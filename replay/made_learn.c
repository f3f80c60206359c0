/*
 * What is known of the other ends before the first event is replayed
 *
 *	control verbs    queue pairs, where they were connected to, their sequence numbers
 *	sends            how each ended: what succeeded names memory, what failed is kept
 *	completions      what was received, and which event told of it before it was polled
 *
 * Requests are kept until they end, which is a queue's depth at most; beyond that only
 * what is out of the ordinary, and a message for each completion event.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/wire/log.h"
#include "replay/learn.h"
#include "replay/made_priv.h"

enum { PAGE = 4096, GRH = 40, MULTICAST = 0xffffff };

/* Longer than any message may be: the length of a damaged trace. */
#define LONGEST (1ull << 31)

/* What happened last in the order of the trace, by object. */
struct told {
	struct event_id id; /* the event that told of a completion, until it is polled */
	bool solicited;     /* the queue was armed for these */
};

struct pass {
	struct replay *r;
	struct made *far;
	uint64_t longest;  /* receive of the recorded side */
	struct told *told; /* by object: completion queue, or queue pair */
};

static int64_t read_number(const struct args *args, const char *path)
{
	int64_t value = 0;

	args_get(args, path, &value);
	return value;
}

static struct ibv_ah_attr read_av(const struct args *in, bool connection)
{
	struct ibv_ah_attr av = { 0 };
	const char *gid;

	av.is_global = read_number(in, connection ? "attr.ah_attr.is_global" : "attr.is_global");
	av.dlid = (uint16_t)read_number(in, connection ? "attr.ah_attr.dlid" : "attr.dlid");
	gid = args_text(in, connection ? "attr.ah_attr.grh.dgid.raw" : "attr.grh.dgid.raw");
	if (!gid || !learn_gid(gid, &av.grh.dgid))
		av.is_global = 0;
	return av;
}

static int add_plan(struct replay *r, const struct call *call, const struct args *in,
		    const struct args *out)
{
	bool ex = call->verb == VERB_create_qp_ex;
	struct made_plan *plan;

	if (!replica_of(r, call->object) || r->far->plans[call->object])
		return 0;
	plan = calloc(1, sizeof(*plan));
	if (!plan)
		return -ENOMEM;
	plan->object = call->object;
	plan->process = trace_object(r->trace, call->object)->process;
	plan->type = (enum ibv_qp_type)read_number(in, ex ? "qp_init_attr_ex.qp_type"
							  : "qp_init_attr.qp_type");
	plan->depth = (uint32_t)read_number(out, ex ? "qp_init_attr_ex.cap.max_send_wr"
						    : "qp_init_attr.cap.max_send_wr");
	r->far->plans[call->object] = plan;
	return 0;
}

static int add_link(struct made_plan *plan, const struct call *call, const struct args *in)
{
	struct made_link *link;
	int64_t value;

	if (args_get(in, "attr.qkey", &value))
		plan->qkey = (uint32_t)value;
	if (args_get(in, "attr.dest_qp_num", &value)) {
		link = vec_push(plan->links, plan->nlinks);
		if (!link)
			return -ENOMEM;
		link->number = (uint32_t)value;
		link->av = read_av(in, true);
		link->time = call->begin;
	}
	if (plan->nlinks && args_get(in, "attr.sq_psn", &value))
		plan->links[plan->nlinks - 1].sq_psn = (uint32_t)value;
	return 0;
}

static int note_handle(struct replay *r, const struct call *call, const struct args *in)
{
	struct ibv_ah_attr *av = vec_push(r->far->avs, r->far->navs);

	if (!av)
		return -ENOMEM;
	*av = read_av(in, false);
	return map_put(&r->far->av_of, call->object, r->far->navs);
}

static int note_exclusive(struct replay *r, const struct trace_event *event, const struct args *in)
{
	uint64_t handle = (uint64_t)read_number(in, "srq_init_attr_ex.cq");
	const struct object *cq =
		trace_object_at(r->trace, event->process, OBJECT_cq, handle, event->call->begin);

	return cq && handle ? map_put(&r->far->exclusives, cq->id, event->call->object) : 0;
}

int made_learn_call(struct replay *r, const struct trace_event *event, const struct args *in,
		    const struct args *out)
{
	const struct call *call = event->call;
	struct made_plan *plan;

	if (event->inner || call->ours || call->depth || call->failed || call->end < 0)
		return 0;
	switch (call->verb) {
	case VERB_create_qp:
	case VERB_create_qp_ex:
		return add_plan(r, call, in, out);
	case VERB_modify_qp:
		plan = call->object < r->nreplicas ? r->far->plans[call->object] : NULL;
		return plan ? add_link(plan, call, in) : 0;
	case VERB_create_ah:
		return note_handle(r, call, in);
	case VERB_create_srq_ex:
		return note_exclusive(r, event, in);
	case VERB_reg_mr:
	case VERB_reg_mr_iova:
	case VERB_reg_mr_iova2:
		return map_put(&r->far->access, call->object, (uint64_t)read_number(in, "access"));
	default:
		return 0;
	}
}

/* The device here that @object will be made on. */
static const struct device *device_of(const struct replay *r, uint32_t object)
{
	const struct object *o = trace_object(r->trace, object);

	/* a damaged trace may have a circle, so not more steps than kinds */
	for (int steps = 0; o && o->kind != OBJECT_device; steps++)
		o = steps < OBJECT_COUNT ? trace_object(r->trace, o->parent) : NULL;
	return devices_role(r->devices, o && o->name ? o->name : "");
}

/* Two addresses of one host: the GID says it where both have one, else the LID. */
static bool is_at(const struct made_host *host, const struct ibv_ah_attr *av)
{
	if (host->global && av->is_global)
		return !memcmp(&host->gid, &av->grh.dgid, sizeof(host->gid));
	return host->lid == av->dlid && (host->lid || host->global == (bool)av->is_global);
}

/* The host at that address, 1 + its index; 0 without memory. */
static uint32_t host_at(const struct pass *p, const struct made_plan *plan,
			const struct ibv_ah_attr *av)
{
	const struct device *device = device_of(p->r, plan->object);
	struct made *far = p->far;
	struct made_host *host;
	size_t i = 0;

	while (i < far->nhosts && !(far->hosts[i].device == device && is_at(&far->hosts[i], av)))
		i++;
	host = i < far->nhosts ? &far->hosts[i] : vec_push(far->hosts, far->nhosts);
	if (!host)
		return 0;
	if (!host->device)
		host->longest = PAGE;
	host->device = device;
	if (av->dlid)
		host->lid = av->dlid;
	if (av->is_global) {
		host->global = true;
		host->gid = av->grh.dgid;
	}
	return (uint32_t)i + 1;
}

static bool is_connected(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_UC || type == IBV_QPT_XRC_SEND ||
	       type == IBV_QPT_XRC_RECV;
}

/* Which of its connections lead out of the trace? */
static int resolve_links(struct pass *p, struct made_plan *plan)
{
	for (size_t i = 0; i < plan->nlinks && is_connected(plan->type); i++) {
		struct made_link *link = &plan->links[i];

		if (peers_find(p->r->peers, plan->object, link->number, &link->av, link->time))
			continue;
		link->host = host_at(p, plan, &link->av);
		if (!link->host)
			return -ENOMEM;
		plan->needed = true;
	}
	if (plan->type == IBV_QPT_UD)
		plan->nlinks = 0;
	return 0;
}

/* The host that it is connected to at this point of the trace, or NULL. */
static struct made_host *host_now(const struct pass *p, const struct made_plan *plan)
{
	const struct made_link *link = plan->at ? &plan->links[plan->at - 1] : NULL;

	return link && link->host ? &p->far->hosts[link->host - 1] : NULL;
}

static void note_length(struct made_host *host, uint64_t length)
{
	length = (length + PAGE - 1) & ~(PAGE - 1ull);
	if (length > host->longest && length <= LONGEST)
		host->longest = length;
}

/* Where a datagram that names no address comes from: the host that is known already. */
static uint32_t host_of_datagrams(const struct pass *p, const struct made_plan *plan,
				  const struct ibv_ah_attr *av)
{
	static const struct ibv_ah_attr anywhere;
	const struct device *device = device_of(p->r, plan->object);

	if (av && (av->is_global || av->dlid))
		return host_at(p, plan, av);
	for (size_t i = 0; i < p->far->nhosts; i++)
		if (p->far->hosts[i].device == device)
			return (uint32_t)i + 1;
	return host_at(p, plan, &anywhere);
}

/* Datagram queue pair @qpn at @av (NULL: not known) is not in the trace. */
static int note_datagrams(struct pass *p, struct made_plan *plan, uint32_t qpn,
			  const struct ibv_ah_attr *av, uint64_t length)
{
	struct made_link *link = plan->links;

	while (link < plan->links + plan->nlinks && link->number != qpn)
		link++;
	if (link == plan->links + plan->nlinks) {
		link = vec_push(plan->links, plan->nlinks);
		if (!link)
			return -ENOMEM;
		link->host = host_of_datagrams(p, plan, av);
		link->number = qpn;
	}
	if (!link->host)
		return -ENOMEM;
	note_length(&p->far->hosts[link->host - 1], length + GRH);
	plan->needed = true;
	return 0;
}

static uint64_t length_of(const struct wr *wr)
{
	uint64_t length = 0;

	for (uint32_t i = 0; i < wr->nsge; i++)
		length += wr->sge[i].length;
	return length;
}

/* The address of a recorded handle, as far as it is known. */
static const struct ibv_ah_attr *find_av(const struct pass *p, const struct trace_event *event,
					 uint64_t handle)
{
	const struct object *ah =
		trace_object_at(p->r->trace, event->process, OBJECT_ah, handle, event->time);
	uint64_t i;

	return ah && map_get(&p->far->av_of, ah->id, &i) ? &p->far->avs[i - 1] : NULL;
}

static struct made_link *find_link(const struct made_plan *plan, uint32_t number)
{
	for (size_t i = 0; i < plan->nlinks; i++)
		if (plan->links[i].number == number)
			return &plan->links[i];
	return NULL;
}

static int learn_datagram(struct pass *p, struct made_plan *plan, const struct trace_event *event,
			  const struct wr *wr)
{
	const struct ibv_ah_attr *av = find_av(p, event, wr->ah);
	uint32_t peer;
	int err;

	if (wr->remote_qpn == MULTICAST || wr->remote_qpn <= 1)
		return 0;
	peer = peers_find(p->r->peers, 0, wr->remote_qpn, av, event->time);
	if (peer && p->far->plans[peer])
		p->far->plans[peer]->sent_to++;
	if (peer)
		return 0;
	err = note_datagrams(p, plan, wr->remote_qpn, av, length_of(wr));
	if (!err)
		find_link(plan, wr->remote_qpn)->named = true;
	return err;
}

static int open_request(struct made_plan *plan, const struct trace_event *event, uint32_t index)
{
	const struct wr *wr = &event->post->wr[index];

	if (plan->first && plan->first * 2 >= plan->nopen) {
		plan->nopen -= plan->first;
		memmove(plan->open, plan->open + plan->first, plan->nopen * sizeof(*plan->open));
		plan->first = 0;
	}
	if (vec_reserve(plan->open, plan->room, plan->nopen + 1))
		return -ENOMEM;
	plan->open[plan->nopen++] = (struct made_request){ .event = event_key(event->id),
							   .index = index,
							   .opcode = wr->opcode,
							   .rkey = wr->rkey,
							   .addr = wr->remote_addr,
							   .length = length_of(wr) };
	return 0;
}

static void note_receives(struct pass *p, const struct post *post)
{
	for (uint32_t i = 0; i < post->nwr; i++)
		if (length_of(&post->wr[i]) > p->longest)
			p->longest = length_of(&post->wr[i]);
}

static int learn_post(struct pass *p, const struct trace_event *event)
{
	const struct post *post = event->post;
	struct made_plan *plan =
		post->object < p->r->nreplicas ? p->far->plans[post->object] : NULL;
	struct made_host *host = plan ? host_now(p, plan) : NULL;
	int err = 0;
	if (!post_is_send(post))
		note_receives(p, post);
	if (!plan || !post_is_send(post))
		return 0;
	for (uint32_t i = 0; i < post_taken(post) && !err; i++) {
		if (plan->type == IBV_QPT_UD) {
			err = learn_datagram(p, plan, event, &post->wr[i]);
		} else if (host) {
			note_length(host, length_of(&post->wr[i]));
			host->bind |= post->wr[i].opcode == IBV_WR_SEND_WITH_INV;
			err = open_request(plan, event, i);
		}
	}
	return err;
}

static int access_of(int opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_ATOMIC_WRITE:
		return IBV_ACCESS_REMOTE_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_ACCESS_REMOTE_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_ACCESS_REMOTE_ATOMIC;
	default:
		return 0;
	}
}

/* Requests before @end succeeded. */
static int close_requests(struct pass *p, struct made_plan *plan, size_t end)
{
	struct made_host *host = host_now(p, plan);
	int err = 0;

	for (; plan->first < end && !err; plan->first++) {
		const struct made_request *request = &plan->open[plan->first];
		int access = access_of(request->opcode);

		if (access && host)
			err = made_add_range(host, request->rkey, request->addr, request->length,
					     access);
	}
	return err;
}

/* The place of the request that @wc completes among those that are open; SIZE_MAX. */
static size_t find_request(const struct made_plan *plan, const struct wc *wc)
{
	for (size_t i = plan->first; wc->request.thread && i < plan->nopen; i++)
		if (plan->open[i].event == event_key(wc->request) &&
		    plan->open[i].index == wc->request_index)
			return i;
	return SIZE_MAX;
}

static int note_fetched(struct pass *p, const struct trace_event *event, uint32_t index)
{
	const struct wc *wc = &event->poll->wc[index];
	struct made_fetch *fetch;

	if (!p->r->contents || wc->status != IBV_WC_SUCCESS ||
	    (wc->opcode != IBV_WC_RDMA_READ && wc->opcode != IBV_WC_COMP_SWAP &&
	     wc->opcode != IBV_WC_FETCH_ADD))
		return 0;
	fetch = vec_push(p->far->fetched, p->far->nfetched);
	if (!fetch)
		return -ENOMEM;
	*fetch = (struct made_fetch){ event->id, index };
	return map_put(&p->far->reads, made_key(wc->request, wc->request_index), p->far->nfetched);
}

/* A completion of a queue pair that is connected to a made end. */
static int learn_connected(struct pass *p, struct made_plan *plan, const struct trace_event *event,
			   uint32_t index)
{
	const struct wc *wc = &event->poll->wc[index];
	size_t at = find_request(plan, wc);
	int err;

	if (at == SIZE_MAX && wc->status == IBV_WC_SUCCESS && wc->opcode & IBV_WC_RECV) {
		note_length(host_now(p, plan), wc->byte_len);
		return 0;
	}
	if (at == SIZE_MAX && (wc->status == IBV_WC_SUCCESS || wc->status == IBV_WC_WR_FLUSH_ERR))
		return 0;
	if (at == SIZE_MAX) {
		note_length(host_now(p, plan), p->longest + 1);
		return map_put(&p->far->taken, made_key(event->id, index), 1);
	}
	if (wc->status == IBV_WC_SUCCESS)
		return close_requests(p, plan, at + 1) ?: note_fetched(p, event, index);
	err = close_requests(p, plan, at);
	plan->first = plan->nopen; /* what is behind it is flushed */
	if (err || wc->status == IBV_WC_WR_FLUSH_ERR)
		return err;
	return map_put(&p->far->failed, made_key(wc->request, wc->request_index),
		       (uint64_t)wc->status);
}

static int learn_received_datagram(struct pass *p, struct made_plan *plan,
				   const struct trace_event *event, const struct wc *wc)
{
	const struct ibv_ah_attr av = { .dlid = wc->slid };
	int err;

	if (wc->status != IBV_WC_SUCCESS || !(wc->opcode & IBV_WC_RECV) || wc->src_qp <= 1)
		return 0;
	if (peers_find(p->r->peers, 0, wc->src_qp, &av, event->time)) {
		plan->heard++;
		return 0;
	}
	err = note_datagrams(p, plan, wc->src_qp, &av, wc->byte_len);
	if (!err)
		find_link(plan, wc->src_qp)->heard++;
	return err;
}

static struct made_plan *plan_of(const struct pass *p, uint32_t object)
{
	struct made_plan *plan = object < p->r->nreplicas ? p->far->plans[object] : NULL;

	if (!plan)
		return NULL;
	return plan->type == IBV_QPT_UD || host_now(p, plan) ? plan : NULL;
}

/* @told told of message @index of @event. */
static int note_early(struct pass *p, const struct trace_event *event, uint32_t index,
		      const struct told *told)
{
	const struct wc *wc = &event->poll->wc[index];
	struct made_early *early = vec_push(p->far->early, p->far->nearly);
	uint64_t next = 0;

	if (!early)
		return -ENOMEM;
	map_get(&p->far->early_at, event_key(told->id), &next);
	*early = (struct made_early){ .next = (uint32_t)next,
				      .poll = event->id,
				      .index = index,
				      .qp = wc->qp,
				      .length = wc->byte_len,
				      .imm = wc->imm,
				      .src_qp = wc->src_qp,
				      .flags = (uint16_t)wc->wc_flags,
				      .write = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM,
				      .solicited = told->solicited };
	return map_put(&p->far->early_at, event_key(told->id), p->far->nearly);
}

static bool is_message(const struct pass *p, const struct wc *wc)
{
	return wc->status == IBV_WC_SUCCESS && wc->opcode & IBV_WC_RECV && plan_of(p, wc->qp);
}

/*
 * Messages that an event told of: those of the first poll behind it. From the last to the first,
 * since each is put before the others.
 */
static int learn_told(struct pass *p, const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	struct told *cq = poll->object < p->r->nreplicas ? &p->told[poll->object] : NULL;
	int err = 0;

	for (uint32_t i = poll->nwc; i-- > 0 && !err;) {
		const struct wc *wc = &poll->wc[i];
		struct told *told = cq && cq->id.thread ? cq : NULL;

		if (!is_message(p, wc))
			continue;
		if (!told && p->told[wc->qp].id.thread)
			told = &p->told[wc->qp];
		if (told)
			err = note_early(p, event, i, told);
	}
	for (uint32_t i = 0; i < poll->nwc; i++)
		if (is_message(p, &poll->wc[i]))
			p->told[poll->wc[i].qp].id.thread = 0;
	if (cq && poll->nwc)
		cq->id.thread = 0;
	return err;
}

static int learn_poll(struct pass *p, const struct trace_event *event)
{
	int err = learn_told(p, event);

	for (uint32_t i = 0; i < event->poll->nwc && !err; i++) {
		const struct wc *wc = &event->poll->wc[i];
		struct made_plan *plan = plan_of(p, wc->qp);

		if (plan)
			err = plan->type == IBV_QPT_UD ? learn_received_datagram(p, plan, event, wc)
						       : learn_connected(p, plan, event, i);
	}
	return err;
}

static void note_told(struct pass *p, const struct trace_event *event, enum object_kind kind,
		      const char *path)
{
	const struct object *o =
		trace_object_at(p->r->trace, event->process, kind,
				(uint64_t)read_number(event->call->out, path), event->time);

	if (o && !p->told[o->id].id.thread)
		p->told[o->id].id = event->id;
}

static int learn_connection(struct pass *p, const struct call *call)
{
	struct made_plan *plan =
		call->object < p->r->nreplicas ? p->far->plans[call->object] : NULL;
	int64_t value;

	if (!plan || !is_connected(plan->type) || !args_get(call->args, "attr.dest_qp_num", &value))
		return 0;
	if (plan->at < plan->nlinks)
		plan->at++;
	return 0;
}

static int learn_event(struct pass *p, const struct trace_event *event)
{
	const struct call *call = event->call;

	if (event->inner)
		return 0;
	switch (event->kind) {
	case TRACE_POST:
		return learn_post(p, event);
	case TRACE_POLL:
		return learn_poll(p, event);
	case TRACE_NOTIFY:
		if (event->notify->object < p->r->nreplicas)
			p->told[event->notify->object].solicited = event->notify->solicited_only;
		return 0;
	case TRACE_CALL:
		if (call->verb == VERB_modify_qp && !call->failed && !call->ours && !call->depth)
			return learn_connection(p, call);
		return 0;
	case TRACE_RETURN:
		if (call->failed)
			return 0;
		if (call->verb == VERB_get_cq_event)
			note_told(p, event, OBJECT_cq, "cq");
		else if (call->verb == VERB_get_async_event &&
			 read_number(call->out, "event.event_type") == IBV_EVENT_COMM_EST)
			note_told(p, event, OBJECT_qp, "event.element");
		return 0;
	default:
		return 0;
	}
}

static int learn_events(struct pass *p)
{
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(p->r->trace, NULL, &cursor);

	while (err >= 0 && (err = cursor_next(cursor, &event)) > 0) {
		err = learn_event(p, event);
		if (err)
			break;
	}
	cursor_close(cursor);
	return err;
}

/*
 * Datagrams of a number that nobody in the trace has, while as many that were sent within the trace
 * did not come from who sent them: the number is wrong, and nobody is missing.
 */
static void drop_strangers(struct made_plan *plan)
{
	uint64_t strange = 0;

	for (size_t i = 0; i < plan->nlinks; i++)
		strange += plan->links[i].named ? 0 : plan->links[i].heard;
	if (plan->type != IBV_QPT_UD || !strange || plan->sent_to < plan->heard + strange)
		return;
	plan->needed = false;
	for (size_t i = 0; i < plan->nlinks; i++) {
		if (!plan->links[i].named)
			plan->links[i].host = 0;
		plan->needed = plan->needed || plan->links[i].host;
	}
}

/* Requests that never completed were carried out, as far as one knows. */
static int end_learning(struct pass *p)
{
	bool needed = false;
	int err = 0;

	for (uint32_t i = 0; i < p->r->nreplicas && !err; i++) {
		struct made_plan *plan = p->far->plans[i];

		if (!plan)
			continue;
		err = close_requests(p, plan, plan->nopen);
		free(plan->open);
		plan->open = NULL;
		plan->at = 0;
		drop_strangers(plan);
		needed = needed || plan->needed;
	}
	if (!needed && !err)
		made_fini(p->r);
	return err;
}

static bool is_worth_a_pass(const struct pass *p)
{
	for (uint32_t i = 0; i < p->r->nreplicas; i++) {
		const struct made_plan *plan = p->far->plans[i];

		if (plan && (plan->needed || plan->type == IBV_QPT_UD))
			return true;
	}
	return false;
}

int made_learn_traffic(struct replay *r)
{
	struct pass p = { .r = r, .far = r->far };
	int err = 0;

	for (uint32_t i = 0; i < r->nreplicas && !err; i++)
		if (r->far->plans[i])
			err = resolve_links(&p, r->far->plans[i]);
	p.told = calloc(r->nreplicas, sizeof(*p.told));
	if (!p.told)
		err = -ENOMEM;
	if (!err && is_worth_a_pass(&p))
		err = learn_events(&p);
	free(p.told);
	if (!err)
		err = end_learning(&p);
	return err == -ENOMEM ? log_err(err, "learn of the other ends") : err;
}
