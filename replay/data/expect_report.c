/*
 * Reports of completions that do not come, or come in another order
 */
#include <inttypes.h>
#include <stdio.h>

#include "replay/report/differ.h"
#include "replay/state/recorded.h"
#include "replay/data/expect_priv.h"

uint32_t expect_sender(const struct expected_wc *e)
{
	if (e->qp->type != IBV_QPT_UD || e->wc->status != IBV_WC_SUCCESS)
		return 0;
	return recorded_datagram(e->r, e->wc->qp, e->wc->src_qp, NULL, e->event->time);
}

/* Is @qp connected? Then messages after a missing one consume other requests than recorded. */
static bool is_connected(const struct replica_qp *qp)
{
	return qp->type != IBV_QPT_UD && qp->type != IBV_QPT_RAW_PACKET;
}

static enum divergence_class class_of_missing(const struct wc *wc)
{
	return wc->status == IBV_WC_SUCCESS ? DIVERGENCE_FAILED_REPLAYED : DIVERGENCE_OTHER;
}

enum { EXPLAINED = 6 }; /* how often the wait is halved after an explaining divergence */

#define RETRIES_MAX 300000000000 /* ns, whatever the trace says */

/* How long the transport may retry before it gives up: twice as long as in the recording. */
static int64_t retry_time(const struct expected_wc *e)
{
	const struct wc *wc = e->wc;
	int64_t ns = e->event->time - wc->posted_at;

	if (!wc->request.thread || ns < 0 ||
	    (wc->status != IBV_WC_RETRY_EXC_ERR && wc->status != IBV_WC_RNR_RETRY_EXC_ERR))
		return 0;
	return 2 * (ns < RETRIES_MAX ? ns : RETRIES_MAX);
}

int64_t expect_wait_time(const struct expected_wc *e)
{
	unsigned int shift = e->qp->missed < 10 ? e->qp->missed : 10;

	if (shift < EXPLAINED && outcome_is_explained(e->r->outcome, e->wc->qp))
		shift = EXPLAINED;
	return (e->r->options->timeout >> shift) + retry_time(e);
}

void expect_report_missing(struct expected_wc *e, bool waited)
{
	const struct wc *wc = e->wc;
	char field[64], status[96], there[160], here[64] = "none: its request is unsignalled";

	value_text(enum_find("ibv_wc_status"), wc->status, status);
	snprintf(there, sizeof(there), "%s of wr_id 0x%" PRIx64, status, wc->wr_id);
	if (waited)
		snprintf(here, sizeof(here), "no completion in %.1f s",
			 (double)expect_wait_time(e) / 1e9);
	snprintf(field, sizeof(field), "wc[%u]", e->index);
	outcome_add_divergence(e->r->outcome, &(struct divergence){ .event = e->event->id,
								    .verb = e->event->poll->verb,
								    .field = field,
								    .recorded = there,
								    .replayed = here,
								    .about = wc->request,
								    .object = wc->qp,
								    .peer = expect_sender(e),
								    .class = class_of_missing(wc),
								    .breaks = is_connected(e->qp),
								    .symptom = waited });
	e->qp->missed += waited;
	expect_note_spare(e);
}

void expect_report_order(const struct expected_wc *e, const struct arrival *a, const char *there)
{
	char field[64];

	snprintf(field, sizeof(field), "wc[%u] order", e->index);
	outcome_add_divergence(e->r->outcome, &(struct divergence){ .event = e->event->id,
								    .verb = e->event->poll->verb,
								    .field = field,
								    .recorded = there,
								    .replayed = "before it",
								    .about = a->request.event,
								    .object = e->wc->qp });
}

void expect_report_extra(struct replay *r, struct event_id event, const struct arrival *a)
{
	bool failed = a->wc.status != IBV_WC_SUCCESS;
	uint64_t qp = 0;
	char here[96];

	map_get(&r->numbers, a->wc.qp_num, &qp);

	value_text(enum_find("ibv_wc_status"), a->wc.status, here);
	outcome_add_divergence(
		r->outcome, &(struct divergence){ .event = event,
						  .verb = VERB_poll_cq,
						  .field = "wc",
						  .recorded = "no completion",
						  .replayed = here,
						  .about = a->request.event,
						  .object = (uint32_t)qp,
						  .class = failed ? DIVERGENCE_FAILED_REPLAYED
								  : DIVERGENCE_OTHER,
						  .breaks = failed,
						  .symptom = a->wc.status == IBV_WC_WR_FLUSH_ERR });
}
