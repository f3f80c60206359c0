/*
 * Recorded completions that are compared with no replayed one, and for each the replayed ones that
 * may match it
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/data/expect_priv.h"

static uint32_t id_of(const struct replay *r, const struct replica *replica)
{
	return replica ? (uint32_t)(replica - r->replicas) : 0;
}

int expect_note_unmatched(const struct expected_wc *e, enum unmatched_reason kind, const char *why)
{
	struct unmatched_wcs *s = e->r->strangers;

	if (!s)
		s = e->r->strangers = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	if (s->n < UNMATCHED_MAX) {
		s->kept[s->n++] = (struct unmatched_wc){ .event = e->event->id,
							 .verb = e->event->poll->verb,
							 .kind = kind,
							 .index = e->index,
							 .cq = id_of(e->r, e->cq),
							 .qp = e->wc->qp,
							 .wc = *e->wc,
							 .why = why };
		s->unfound++;
	} else if (kind == UNMATCHED_QUEUE || kind == UNMATCHED_SENDER) {
		outcome_note_skipped(e->r->outcome, e->event->id, e->event->poll->verb, e->wc->qp,
				     why);
	}
	return 0;
}

void expect_fini(struct replay *r)
{
	free(r->strangers);
	r->strangers = NULL;
}

/* Did other datagrams come from this sender? Then the sender was not recorded. */
static bool has_other_datagrams(const struct unmatched_wcs *s, const struct unmatched_wc *k)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->kept[i].qp == k->qp && s->kept[i].wc.src_qp == k->wc.src_qp;
	return n > 1;
}

static bool is_same_datagram(const struct wc *there, const struct ibv_wc *here)
{
	return here->status == IBV_WC_SUCCESS && there->byte_len == here->byte_len &&
	       (!(there->wc_flags & IBV_WC_WITH_IMM) || there->imm == be32toh(here->imm_data));
}

static bool may_match_arrival(const struct unmatched_wcs *s, const struct unmatched_wc *k,
			      uint32_t qp, enum side side, const struct arrival *a)
{
	switch (k->kind) {
	case UNMATCHED_LOST:
		return k->cq == a->cq;
	case UNMATCHED_QUEUE:
		return k->cq == a->cq && k->wc.wr_id == a->request.wr_id &&
		       k->wc.status == (int)a->wc.status &&
		       (k->wc.status || !(k->wc.opcode & IBV_WC_RECV) == (side == SIDE_SEND));
	default:
		return k->qp == qp && side == SIDE_RECV && is_same_datagram(&k->wc, &a->wc) &&
		       !has_other_datagrams(s, k);
	}
}

struct unmatched_wc *expect_find_unmatched(struct unmatched_wcs *s, uint32_t qp, enum side side,
					   const struct arrival *a)
{
	for (size_t i = 0; s && s->unfound && i < s->n; i++)
		if (!s->kept[i].found && may_match_arrival(s, &s->kept[i], qp, side, a))
			return &s->kept[i];
	return NULL;
}
