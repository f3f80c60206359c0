#pragma once
/*
 * One post on its way: shared by the files that fill, post and hold back requests.
 */
#include "replay/state/state.h"

enum { SGES_MAX = 4096 }; /* longer lists of SGEs are not filled in */

/* Room for a list; one that is not in use is kept for the next post. */
struct wrs {
	struct wrs *next;
	struct ibv_send_wr *send;
	struct ibv_recv_wr *recv;
	size_t nwr;
	struct ibv_sge *sges;
	struct ibv_data_buf *bufs; /* as many as sges: of inline data */
	size_t nsges;
};

struct posting {
	struct replay *r;
	const struct trace_event *event;
	const struct post *post;
	struct replica *replica;   /* QP, SRQ or WQ */
	struct requests *requests; /* of its side */
	struct wrs *wrs;
	bool built; /* by ibv_wr_*(), there and here */
	enum side side;
	struct ibv_sge *sge; /* next free */
	const char *missing; /* why it cannot be posted here; NULL */
	uint32_t lacking;    /* the object that it needs for that; 0 */
	char text[160];
};

/* posts_fill.c: room in @wrs for the requests of @post; 0 or -ENOMEM. */
int posts_reserve(struct wrs *wrs, const struct post *post);

/*
 * Fill the list, and note a request for each element, unless none of them will be posted
 * (ibv_wr_abort()). 0 or -errno; p->missing is set where something has no counterpart here.
 */
int posts_fill(struct posting *p);

/*
 * Would the recorded wr_id of request @wr of @qp not tell which request a completion
 * is of? A failed completion says no more: not its side, and not which of several without a signal
 * it was.
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

/* posts_fill.c: bytes of all its buffers. */
uint32_t posts_length(const struct wr *wr);

/* posts_build.c: were its requests built, and can they be built here? */
bool posts_are_built(const struct posting *p);

/* Build and end it by ibv_wr_complete(), whose result is returned, or ibv_wr_abort(): 0. */
int posts_build(struct posting *p);

/*
 * posts_wait.c: the queue has no room for the requests from @from on. Returns how many of the post
 * are posted, or will be when there is room; or -ENOMEM.
 */
int64_t posts_wait(struct posting *p, uint32_t from);
