#pragma once
/*
 * The state of one post: shared by the files that fill in, post and hold back requests.
 */
#include "replay/state/state.h"

enum { SGES_MAX = 4096 }; /* longer lists of SGEs are not replayed */

/* Memory for a list of requests; unused structures are stored for the next post. */
struct request_memory {
	struct request_memory *next;
	struct ibv_send_wr *send;
	struct ibv_recv_wr *recv;
	size_t nwr;
	struct ibv_sge *sges;
	struct ibv_data_buf *bufs; /* one for each of sges: inline data */
	size_t nsges;
};

struct post_in_progress {
	struct replay *r;
	const struct trace_event *event;
	const struct post *post;
	struct replica *replica;   /* QP, SRQ or WQ */
	struct requests *requests; /* the requests of its side */
	struct request_memory *wrs;
	bool built; /* by ibv_wr_*(), in the recording and in the replay */
	enum side side;
	struct ibv_sge *sge; /* next unused one */
	const char *missing; /* why the post is not possible; NULL: it is */
	uint32_t lacking;    /* the missing object that is the reason; 0: none */
	char text[160];
};

/* posts_fill.c: memory in @wrs for the requests of @post; 0 or -ENOMEM. */
int posts_reserve(struct request_memory *wrs, const struct post *post);

/*
 * Fill in the list, and note a request for each element, unless none of them will be posted
 * (ibv_wr_abort()). 0 or -errno; p->missing is set if an object has no counterpart in the replay.
 */
int posts_fill(struct post_in_progress *p);

/*
 * Could a completion with the recorded wr_id of request @wr of @qp belong to several requests? A
 * failed completion has no more information: neither its side, nor which of several unsignaled
 * requests it belongs to.
 */
static inline bool posts_is_ambiguous(const struct replica_qp *qp, enum side side,
				      const struct wr *wr)
{
	const struct requests *own = &qp->out[side], *other = &qp->out[!side];
	const struct request *before;

	if (qp->one_cq && requests_count(other) && other->last_wr_id == wr->wr_id)
		return true;
	if (side == SIDE_RECV || !requests_count(own))
		return false;
	before = &own->cells[(own->tail - 1) & (own->size - 1)];
	return before->wr_id == wr->wr_id && !before->signaled;
}

/* posts_fill.c: the total length of the buffers of @wr. */
uint32_t posts_length(const struct wr *wr);

/* posts_build.c: were the post's requests built by ibv_wr_*(), and can the replay build them? */
bool posts_are_built(const struct post_in_progress *p);

/* Build the batch; end it by ibv_wr_complete(), whose result is returned, or ibv_wr_abort(): 0. */
int posts_build(struct post_in_progress *p);

/*
 * posts_wait.c: the queue has too few free entries for the requests from @from on. Returns how many
 * requests of the post are posted, or will be posted once entries are free; or -ENOMEM.
 */
int64_t posts_wait(struct post_in_progress *p, uint32_t from);
