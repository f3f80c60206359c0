#pragma once
/*
 * Facts and findings as sentences, added to a text. Not thread-safe.
 */
#include "analyzer/facts/facts.h"
#include "core/base/text.h"

struct finding;

/* "process 2 (server)" */
void sentence_process(struct text *t, struct trace *trace, uint32_t id);

/* "ibv_modify_qp(qp1 -> RTS) = EINVAL: lacks IBV_QP_RNR_RETRY" */
void sentence_put_fact(struct text *t, struct trace *trace, const struct fact *fact);

/* "IBV_WR_SEND of 256 bytes at 0x7f.. (lkey 0x10), wr_id 0x0, posted 1:42, 532 us earlier" */
void sentence_request(struct text *t, const struct first_error *error, const struct cause *cause);

/* The whole sentence for a completion in error. @cause may be NULL. */
void sentence_put_error(struct text *t, struct trace *trace, const struct first_error *error,
			const struct cause *cause);

/* What happened; for a hazard, also when the program breaks, and what would prove it. */
void sentence_put_finding(struct text *t, const struct finding *finding);
