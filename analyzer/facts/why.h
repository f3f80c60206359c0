#pragma once
/*
 * Why the other end did not answer, or refused a request, derived from the attributes of both ends.
 *
 * The caller frees the sentences; NULL: the reason is not known. Not thread-safe.
 */
#include <stdint.h>

struct life;
struct model;
struct model_complete;
struct peer;
struct peers;
struct qp;
struct queue_request;
struct trace;

/*
 * The reason why @qp got no response: advice if @peer, in RTR or RTS, could have responded; or, if
 * @peer is NULL, the facts about its dest_qp_num.
 */
char *explain_no_response(struct trace *trace, const struct peers *peers, const struct life *qp,
			  const struct peer *peer);

/* The address that @qp was given is not that of any port. */
char *explain_unknown_address(const struct life *qp);

/* XRC: no SRQ of the trace has the number that a request was sent to; NULL: not known. */
char *explain_no_srq(struct trace *trace, struct model *model,
		     const struct model_complete *complete, const struct peer *peer);

/* @request was refused by @peer (NULL: not known), the queue pair @name of its process. */
char *explain_refusal(const struct queue_request *request, const struct peer *peer,
		      const char *name);

/* The reason why a READ or an atomic of @qp failed: its max_rd_atomic is 0. */
char *explain_failed_read(const struct queue_request *request, const struct life *qp,
			  const struct peer *peer);

/* A window was not bound, or a key not invalidated: IBV_WC_MW_BIND_ERR. */
char *explain_failed_window(struct trace *trace, struct model *model,
			    const struct model_complete *complete);

/* A send failed because of its length: longer than its port allows, or an atomic not of 8 bytes. */
char *explain_too_long(struct model *model, const struct model_complete *complete);

/*
 * A message did not fit into its receive, which has the same message number at the peer. One of the
 * two has failed, the other is still outstanding.
 */
char *explain_short_receive(const struct model_complete *complete, const struct peer *peer);
