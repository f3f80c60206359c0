/*
 * Checks the keys of requests
 *
 * Nearly all SGEs fit the key that the queue used last: a few comparisons. The device checks
 * neither an SGE of length 0 nor the SGEs of an inline send.
 *
 * A key that was never seen may come from a provider's own function, so its use is only remembered.
 * It is reported if the request completes with an error that a key causes.
 */
#include "analyzer/model/key_post.h"

#include "analyzer/model/abi.h"
#include "analyzer/model/key_judge.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/unordered.h"
#include "analyzer/model/window.h"

/* A post that is being checked. */
struct post_check {
	struct model *model;
	const struct trace_event *event;
	const struct post *post;
	struct life *queue;
	bool send;
	uint32_t i; /* index of the request */
};

static struct model_key describe_use(const struct post_check *l, int sge)
{
	const struct wr *wr = &l->post->wr[l->i];

	return (struct model_key){ .at = moment_of(l->event),
				   .queue = l->queue,
				   .index = l->i,
				   .sge = sge,
				   .opcode = l->send ? wr->opcode : -1,
				   .number = wr->sge[sge].lkey,
				   .addr = wr->sge[sge].addr,
				   .length = wr->sge[sge].length,
				   .ret = l->post->ret };
}

/* Report a use that @judgement found faulty, unless that is uncertain. */
static void report_fault(const struct post_check *l, const struct key_judgement *judgement,
			 const struct key *key, struct model_key *use)
{
	bool gone = judgement->fault == KEY_INVALID && key->state == KEY_DEAD;

	use->fault = gone ? KEY_GONE : judgement->fault;
	use->key = key;
	use->missing = use->fault == KEY_NO_ACCESS ? judgement->missing : 0;
	if (use->fault != KEY_FITS && use->fault != KEY_UNCERTAIN && use->fault != KEY_INVALID)
		l->model->watcher.key(l->model->watcher.arg, use);
}

static void add_suspect(const struct post_check *l, const struct model_key *use)
{
	struct keys *keys = &l->model->keys;

	keys->suspects[keys->nsuspects++ % KEYS_SUSPECT] =
		(struct suspect){ .at = use->at,
				  .queue = l->post->object,
				  .index = use->index,
				  .sge = use->sge,
				  .opcode = use->opcode,
				  .wr_id = l->post->wr[l->i].wr_id,
				  .handle = l->post->handle,
				  .number = use->number,
				  .addr = use->addr,
				  .length = use->length };
}

/* Check an element that the fast test did not accept. */
static void check_element(const struct post_check *l, int j, const struct key *key)
{
	struct model_key use = describe_use(l, j);
	const struct key_use access = { .pd = l->queue->pd,
					.addr = use.addr,
					.length = use.length,
					.needed = operation_needs(use.opcode),
					KEY_NOW };
	struct key_judgement judgement;

	key_judge(l->model, key, &access, &judgement);
	if (judgement.fault == KEY_UNKNOWN)
		add_suspect(l, &use);
	else
		report_fault(l, &judgement, key, &use);
}

/* An element's region is still registered, but all of its memory was unmapped. */
static __attribute__((noinline)) void check_released_element(const struct post_check *l, int j,
							     const struct key *key)
{
	const struct key_judgement judgement = { .fault = KEY_RELEASED };
	struct model_key use = describe_use(l, j);

	if (key->released.time < l->event->time)
		report_fault(l, &judgement, key, &use);
}

static inline bool element_fits(const struct key *key, const struct life *queue,
				const struct sge *sge, bool sink)
{
	uint64_t offset = sge->addr - key->addr;

	return key->state == KEY_LIVE && key->pd == queue->pd && offset <= key->length &&
	       sge->length <= key->length - offset &&
	       (!sink || key->access & ABI_ACCESS_LOCAL_WRITE);
}

static void check_sges(const struct post_check *l, const struct wr *wr)
{
	const struct keys *keys = &l->model->keys;
	typeof(l->queue->seen[0]) *seen = &l->queue->seen[l->send];
	bool sink = operation_needs(l->send ? wr->opcode : -1) != 0;

	for (uint32_t j = 0; j < wr->nsge; j++) {
		const struct sge *sge = &wr->sge[j];

		if (!seen->key || seen->changes != keys->changes || seen->key->lkey != sge->lkey) {
			seen->key = keys_find_lkey(keys, l->event->process, l->queue->context,
						   sge->lkey);
			seen->changes = keys->changes;
		}
		if (sge->length && (!seen->key || !element_fits(seen->key, l->queue, sge, sink)))
			check_element(l, (int)j, seen->key);
		else if (sge->length && __builtin_expect(seen->key->unmapped, 0))
			check_released_element(l, (int)j, seen->key);
	}
}

/* May a request posted after the bind, on the same queue pair, bring the key to the peer? */
static bool brings_key(const struct queue_request *request)
{
	return request->opcode != ABI_WR_RDMA_READ && request->opcode != ABI_WR_BIND_MW &&
	       request->opcode != ABI_WR_LOCAL_INV;
}

/* Is the key's bind outstanding, without a later request that may have sent the key to the peer? */
static bool is_binding(struct model *model, const struct key *key)
{
	const struct life *qp = model_find(model, key->process, OBJECT_qp, key->bind.qp);
	const struct queue *queue = qp && qp->state == LIFE_LIVE ? qp->sq : NULL;
	bool found = false;

	for (uint32_t i = 0; queue && !queue->doubt && i < queue->count; i++) {
		const struct queue_request *request = queue_at(queue, i);

		if (found && brings_key(request))
			return false;
		found |= !request->done && request->thread == key->bind.at.id.thread &&
			 request->n == key->bind.at.id.n && request->index == key->bind.index;
	}
	return found;
}

static struct model_key describe_remote(const struct post_check *l, const struct peer *other,
					uint64_t length)
{
	const struct wr *wr = &l->post->wr[l->i];

	return (struct model_key){ .at = moment_of(l->event),
				   .queue = l->queue,
				   .index = l->i,
				   .sge = -1,
				   .opcode = wr->opcode,
				   .number = wr->rkey,
				   .addr = wr->remote_addr,
				   .length = length,
				   .peer = other,
				   .ret = l->post->ret };
}

/* The peer must exist: keys that ended with its process are not a mistake. */
static void check_remote(const struct post_check *l, const struct key *key,
			 const struct peer *other, uint64_t length)
{
	struct model_key use = describe_remote(l, other, length);
	const struct key_use access = { .pd = other->pd,
					.addr = use.addr,
					.length = length,
					.needed = operation_needs_remote(use.opcode),
					KEY_NOW };
	struct key_judgement judgement;

	key_judge(l->model, key, &access, &judgement);
	if (judgement.life == KEY_FITS && !judgement.other_pd && key->kind == OBJECT_mw)
		judgement.fault = is_binding(l->model, key) ? KEY_BINDING : KEY_FITS;
	if (judgement.fault == KEY_UNKNOWN)
		add_suspect(l, &use);
	else
		report_fault(l, &judgement, key, &use);
}

/* Had the peer certainly gone when the request was posted, given the uncertainty of both clocks? */
static bool is_peer_gone(const struct post_check *l, const struct peer *other)
{
	return other->gone != INT64_MAX &&
	       other->gone + peer_slack(&l->model->peers, l->event->process, other->process) <=
		       l->event->time;
}

/* Report a remote range whose region is still registered, but whose memory the process released. */
static void check_released_range(const struct post_check *l, const struct key *key,
				 const struct peer *other, uint64_t length)
{
	const struct key_judgement judgement = { .fault = KEY_RELEASED };
	struct model_key use = describe_remote(l, other, length);

	if (key->released.time + peer_slack(&l->model->peers, l->event->process, other->process) <
	    l->event->time)
		report_fault(l, &judgement, key, &use);
}

static inline void count_remote(const struct post_check *l, struct key *key, uint64_t length)
{
	key->remote++;
	if (__builtin_expect(key->access & ABI_ACCESS_RELAXED_ORDERING, 0))
		unordered_note_write(l->queue->sq, l->event, &l->post->wr[l->i], key, length);
}

static void check_remote_range(const struct post_check *l, const struct wr *wr)
{
	struct peers *peers = &l->model->peers;
	const struct keys *keys = &l->model->keys;
	const struct peer *other = peer_find_other(peers, l->queue->peer);
	typeof(l->queue->seen[0]) *seen = &l->queue->seen[2];
	uint64_t changes = keys->changes + peers->changes, length = wr_bytes(wr);
	struct key *key;

	if (!other || is_peer_gone(l, other) || !length)
		return;
	if (!seen->key || seen->changes != changes || seen->key->rkey != wr->rkey) {
		seen->key = keys_find_rkey(keys, other->process, other->context, wr->rkey);
		seen->changes = changes;
	}
	key = seen->key;
	if (!key || key->state != KEY_LIVE || key->kind == OBJECT_mw || key->pd != other->pd ||
	    !key_holds(key, wr->remote_addr, length) ||
	    operation_needs_remote(wr->opcode) & ~key->access)
		check_remote(l, key, other, length);
	else if (!key->unmapped)
		count_remote(l, key, length);
	else
		check_released_range(l, key, other, length);
}

static int check_bind(const struct post_check *l, const struct wr *wr)
{
	struct keys *keys = &l->model->keys;
	struct key *key = keys_find_object(keys, l->event->process, OBJECT_mw, wr->bind_mw);
	const struct key_bind bind = { .at = moment_of(l->event),
				       .index = l->i,
				       .qp = l->post->handle,
				       .mr = wr->bind_mr,
				       .ends = !wr->bind_length,
				       .addr = wr->bind_addr,
				       .length = wr->bind_length,
				       .access = wr->bind_access };

	if (!key || key->state == KEY_DEAD)
		return 0;
	key->state = KEY_LIVE;
	return window_bind(keys, key, &bind, wr->bind_rkey);
}

/* The number of requests that the device has checked: up to the refused one. */
static uint32_t count_checked(const struct post *post)
{
	if (post->verb == VERB_wr_abort)
		return 0;
	return !post->ret ? post->nwr : post->bad < post->nwr ? post->bad : post->nwr;
}

int keys_check_post(struct model *model, const struct trace_event *event, struct life *queue)
{
	const struct post *post = event->post;
	struct post_check l = { model, event, post, queue, post_is_send(post), 0 };
	uint32_t n = count_checked(post);
	int err = 0;

	for (; l.i < n && !err && !model->keys.shared; l.i++) {
		const struct wr *wr = &post->wr[l.i];

		if (!l.send || !(wr->send_flags & ABI_SEND_INLINE))
			check_sges(&l, wr);
		if (l.send && operation_needs_remote(wr->opcode))
			check_remote_range(&l, wr);
		if (l.send && wr->opcode == ABI_WR_BIND_MW)
			err = check_bind(&l, wr);
		if (l.send &&
		    (wr->opcode == ABI_WR_LOCAL_INV || wr->opcode == ABI_WR_SEND_WITH_INV))
			window_note_invalidated(model, event, queue, l.i);
	}
	return err;
}

void keys_report_ah(struct model *model, const struct trace_event *event, const struct life *queue,
		    const struct life *ah, uint32_t i)
{
	const struct model_key use = { .fault = KEY_OTHER_AH,
				       .at = moment_of(event),
				       .queue = queue,
				       .index = i,
				       .sge = -1,
				       .opcode = event->post->wr[i].opcode,
				       .ah = ah,
				       .ret = event->post->ret };

	if (!model->keys.shared && i < count_checked(event->post))
		model->watcher.key(model->watcher.arg, &use);
}

/*
 * Is @s the request that failed? If several may have failed, it is the request with an unknown key
 * and the wr_id of @wc.
 */
static bool is_suspect_of(const struct suspect *s, uint32_t process, const struct wc *wc)
{
	if (s->at.process != process)
		return false;
	if (s->at.id.thread == wc->request.thread && s->at.id.n == wc->request.n)
		return s->index == wc->request_index;
	return wc->candidates > 1 && s->wr_id == wc->wr_id && wc->qp && s->queue == wc->qp;
}

static bool blames_key(int status, bool remote)
{
	if (remote)
		return status == ABI_WC_REM_ACCESS_ERR;
	return status == ABI_WC_LOC_PROT_ERR || status == ABI_WC_LOC_ACCESS_ERR;
}

bool keys_has_seen_all(struct model *model, const struct life *queue)
{
	const struct life *pd = model_find(model, queue->process, OBJECT_pd, queue->pd);

	return pd && pd->created.id.thread && !model->keys.shared;
}

static void report_suspect(struct model *model, const struct suspect *s, int status)
{
	struct model_key use = { .fault = KEY_UNKNOWN,
				 .at = s->at,
				 .index = s->index,
				 .sge = s->sge,
				 .opcode = s->opcode,
				 .number = s->number,
				 .addr = s->addr,
				 .length = s->length,
				 .status = status };
	const struct life *owner;

	use.queue = owner =
		model_find(model, s->at.process, verb_infos[s->at.verb].object, s->handle);
	if (!use.queue || use.queue->state != LIFE_LIVE)
		return;
	if (s->sge < 0) {
		use.peer = peer_find_other(&model->peers, owner->peer);
		owner = use.peer ? use.peer->life : NULL;
	}
	if (owner && keys_has_seen_all(model, owner))
		model->watcher.key(model->watcher.arg, &use);
}

void keys_note_error(struct model *model, const struct trace_event *event, const struct wc *wc)
{
	struct keys *keys = &model->keys;
	uint64_t n = keys->nsuspects < KEYS_SUSPECT ? keys->nsuspects : KEYS_SUSPECT;

	for (uint64_t i = 0; i < n && !keys->shared; i++) {
		struct suspect *s = &keys->suspects[i];

		if (blames_key(wc->status, s->sge < 0) && is_suspect_of(s, event->process, wc)) {
			report_suspect(model, s, wc->status);
			s->at.process = 0;
			return;
		}
	}
}
