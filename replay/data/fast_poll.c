/*
 * Polls whose completions are as recorded
 *
 *	CQ -> polled -> is it the next recorded one?
 *		yes: compared, done
 *		no:  left to polls_take(), with all after it
 */
#include <stdlib.h>
#include <string.h>

#include "replay/data/fast.h"
#include "replay/data/faults.h"
#include "replay/data/polls.h"
#include "replay/state/state.h"
#include "replay/schedule/bytecode.h"

/* The replayed source of a recorded completion. */
struct completion_source {
	struct replica *replica; /* of the queue pair */
	struct replica_qp *qp;
	enum side side;
	bool has_peer;
};

struct fast_poll {
	uint64_t changes; /* r->changes at the look-up */
	bool usable, owned;
	struct replica *cq;
	struct completion_source origins[];
};

static bool find_origin(const struct replay *r, const struct wc *wc, struct completion_source *o)
{
	*o = (struct completion_source){ .replica = replica_of((struct replay *)r, wc->qp) };
	if (!o->replica || !o->replica->qp || !o->replica->handle)
		return false;
	o->qp = o->replica->qp;
	o->side = wc->opcode & IBV_WC_RECV ? SIDE_RECV : SIDE_SEND;
	o->has_peer = replica_of((struct replay *)r, o->qp->peer);
	if (o->qp->cut || wc->status != IBV_WC_SUCCESS || !wc->request.thread || wc->parts)
		return false;
	return o->qp->type == IBV_QPT_RC ? o->side == SIDE_SEND || !o->qp->shared
					 : o->qp->type == IBV_QPT_UC && o->side == SIDE_SEND;
}

static bool is_usable(const struct replay *r, const struct trace_event *event, struct fast_poll *f)
{
	const struct poll *poll = event->poll;

	if (r->far || r->pair || r->contents || r->no_posts || r->needs || r->options->processes)
		return false;
	if (!event->process || event->process >= r->nprocesses || event->inner ||
	    poll->verb != VERB_poll_cq || !poll->nwc || poll->ret != (int)poll->nwc)
		return false;
	if (!f->cq || !f->cq->handle || polls_by_iterator(f->cq))
		return false;
	for (uint32_t i = 0; i < poll->nwc; i++)
		if (!find_origin(r, &poll->wc[i], &f->origins[i]))
			return false;
	if (!f->cq->unsorted)
		f->cq->unsorted = malloc(POLLS_BATCH * sizeof(*f->cq->unsorted));
	return f->cq->unsorted;
}

/* Are all queues of the poll used by this player only? */
static bool is_private_poll(const struct fast_poll *f, uint32_t n, uint32_t player)
{
	bool owned = f->cq->owner == player;

	for (uint32_t i = 0; i < n; i++)
		owned = owned && f->origins[i].replica->owner == player;
	return owned;
}

/* The cached state of the form, updated; NULL: the fast path is not possible. */
static struct fast_poll *prepare_poll(struct replay *r, struct ready_step *step)
{
	const struct poll *poll = step->event.poll;
	struct fast_poll *f = step->kept;

	if (__builtin_expect(!f, 0)) {
		f = step->kept = calloc(1, sizeof(*f) + poll->nwc * sizeof(*f->origins));
		if (!f)
			return NULL;
		step->changed = true;
	}
	if (step->changed || f->changes != r->changes) {
		f->cq = replica_as(r, poll->object, OBJECT_cq);
		f->changes = r->changes;
		f->usable = is_usable(r, &step->event, f);
		f->owned = f->usable && is_private_poll(f, poll->nwc, step->player);
	}
	step->changed = false;
	return f->usable && !f->cq->nunsorted ? f : NULL;
}

/* Is no earlier completion of the side still stored, neither a replayed nor a recorded one? */
static bool is_next_completion(const struct completion_source *o)
{
	const struct arrivals *in = &o->qp->in[o->side], *passed = &o->qp->passed[o->side];

	return in->head == in->tail && passed->head == passed->tail && !o->qp->late[SIDE_SEND] &&
	       !o->qp->late[SIDE_RECV];
}

/* The request that completes next on its side; NULL: none. */
static struct request *find_request(const struct completion_source *o, uint32_t *ret_number)
{
	struct requests *out = &o->qp->out[o->side];
	uint32_t at = out->head;

	if (o->side == SIDE_SEND)
		while (at != out->tail && !out->cells[at & (out->size - 1)].signaled)
			at++;
	*ret_number = at;
	return at == out->tail ? NULL : &out->cells[at & (out->size - 1)];
}

static bool is_as_recorded(const struct wc *there, const struct ibv_wc *here)
{
	return here->status == IBV_WC_SUCCESS && (int)here->opcode == there->opcode &&
	       here->byte_len == there->byte_len && here->wc_flags == there->wc_flags &&
	       (!(here->wc_flags & IBV_WC_WITH_IMM) || there->imm == be32toh(here->imm_data)) &&
	       !(here->wc_flags & IBV_WC_WITH_INV);
}

/* If the completion is as recorded, complete its request. Returns whether it is. */
static bool complete_if_recorded(const struct completion_source *o, const struct wc *there,
				 const struct ibv_wc *here)
{
	struct request *request;
	uint32_t number;

	if (here->qp_num != o->replica->number || !is_as_recorded(there, here) ||
	    !is_next_completion(o))
		return false;
	request = find_request(o, &number);
	if (!request || request->posted != here->wr_id || request->done || request->forced ||
	    request->wr_id != there->wr_id || request->index != there->request_index ||
	    request->event.n != there->request.n || request->event.thread != there->request.thread)
		return false;
	requests_complete(&o->qp->out[o->side], number, o->side == SIDE_SEND);
	if (o->side == SIDE_RECV && o->has_peer)
		o->qp->received++;
	return true;
}

/* Store polled completions for polls_take(). */
static void store_unsorted(struct replica *cq, const struct ibv_wc *wcs, int n)
{
	memcpy(cq->unsorted, wcs, (unsigned int)n * sizeof(*wcs));
	cq->nunsorted = (unsigned int)n;
}

/*
 * Complete the requests of @wcs as long as they are as recorded. Returns whether all were; @done:
 * the number of completions of the poll that were compared, updated.
 */
static bool complete_all_recorded(struct replay *r, struct fast_poll *f, const struct poll *poll,
				  const struct ibv_wc *wcs, int n, uint32_t *done)
{
	for (int i = 0; i < n; i++, ++*done) {
		if (!complete_if_recorded(&f->origins[*done], &poll->wc[*done], &wcs[i])) {
			store_unsorted(f->cq, &wcs[i], n - i);
			return false;
		}
		outcome_note_agreement(r->outcome, poll->wc[*done].qp);
	}
	return true;
}

int fast_poll(struct replay *r, struct ready_step *step, uint32_t from, unsigned int spins,
	      bool alone)
{
	const struct poll *poll = step->event.poll;
	struct fast_poll *f = prepare_poll(r, step);
	struct ibv_wc wcs[POLLS_BATCH];
	uint32_t done = from;
	int n;

	if (!f || !(alone || f->owned) || r->holders ||
	    (r->failing && faults_are_due(r, &step->event)))
		return FAST_NOT;
	while (done < poll->nwc) {
		uint32_t most = poll->nwc - done < POLLS_BATCH ? poll->nwc - done : POLLS_BATCH;

		n = ibv_poll_cq(f->cq->handle, (int)most, wcs);
		if (n > 0 ? !complete_all_recorded(r, f, poll, wcs, n, &done) : n < 0 || !spins--)
			break;
	}
	f->cq->asked += done - from;
	outcome_count(r->outcome, OUTCOME_COMPLETIONS, done - from);
	return (int)done;
}
