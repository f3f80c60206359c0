#pragma once
/*
 * Stories about posts to a queue pair with room for ROOM sends and receives, and polls.
 */
#include "tests/analyzer/story.h"

enum { ROOM = 4 };

static struct ibv_qp_cap cap = { ROOM, ROOM, 1, 1, 16 };

/* A queue pair that was requested with @asked, and got @given. */
static inline void create_roomy(struct story *s, struct ibv_qp_cap asked, struct ibv_qp_cap given)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = &a_cq, .recv_cq = &a_cq, .cap = asked, .qp_type = IBV_QPT_RC
	};
	struct story_call call = story_call(s, 0, VERB_create_qp, 4, W(&a_pd), W(&attr));

	attr.cap = given;
	story_return(s, &call, W(&a_qp));
}

static inline void begin_with(struct story *s, struct ibv_qp_cap asked, struct ibv_qp_cap given)
{
	story_with_cq(s);
	create_roomy(s, asked, given);
}

static inline void end_well(struct story *s)
{
	destroy_qp(s, 0);
	destroy_cq(s, 0);
	dealloc_pd(s, 0);
	close_context(s);
	story_exit(s, STORY_PID, 0);
}

/* The parameters of a post; the rest is 0. */
struct posted {
	enum verb verb;
	uint64_t wr_id; /* of the first; the next ones follow, */
	bool same;      /* or have the same */
	uint32_t n;
	uint32_t flags; /* of each */
	uint32_t nsge;  /* of each; 0 means 1 */
	uint32_t length;
	uint64_t buffer; /* of the first; 0: the same as its number */
	int ret;
	uint32_t bad; /* 1 + index */
};

static inline void post_list(struct story *s, int thread, const struct posted *p)
{
	struct event_post *event = (struct event_post *)s->words;
	uint64_t *at = (uint64_t *)(event + 1);

	event->object = W(&a_qp);
	event->verb = (unsigned int)p->verb & 0x1ff;
	event->nwr = (uint16_t)p->n;
	event->ret = p->ret & 0x1fff;
	event->bad = p->bad & 0x1ff;
	for (uint32_t i = 0; i < p->n; i++) {
		struct event_wr *wr = (struct event_wr *)at;

		wr->wr_id = p->wr_id + (p->same ? 0 : i);
		wr->opcode = IBV_WR_SEND;
		wr->flags = (uint8_t)(p->flags);
		wr->nsge = (uint8_t)(p->nsge ? p->nsge : 1);
		at += sizeof(*wr) / 8;
		for (uint32_t j = 0; j < wr->nsge; j++) {
			struct event_sge sge = { 0x1000 + 64 * (p->buffer ? p->buffer + i
									  : p->wr_id + i),
						 p->length ? p->length : 64, 0x10 };

			memcpy(at, &sge, sizeof(sge));
			at += sizeof(sge) / 8;
		}
	}
	story_event(s, thread, EVENT_POST, (size_t)(at - s->words));
}

static inline void post_sends(struct story *s, uint64_t wr_id, uint32_t n, uint32_t flags)
{
	post_list(
		s, 0,
		&(struct posted){ .verb = VERB_post_send, .wr_id = wr_id, .n = n, .flags = flags });
}

static inline void refuse_send(struct story *s, uint64_t wr_id, uint32_t flags, int error)
{
	post_list(s, 0,
		  &(struct posted){ .verb = VERB_post_send,
				    .wr_id = wr_id,
				    .n = 1,
				    .flags = flags,
				    .ret = error,
				    .bad = 1 });
}

static inline void poll_sends(struct story *s, uint64_t wr_id, int n)
{
	for (int i = 0; i < n; i++)
		story_poll(s, 0, &a_cq, wr_id + (uint64_t)i, IBV_WC_SUCCESS, a_qp.qp_num);
}

static inline void poll_receive(struct story *s, int thread, uint64_t wr_id)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&a_cq);
	event->ret = 1;
	event->nwc = 1;
	wc->wr_id = wr_id;
	wc->opcode = IBV_WC_RECV;
	wc->qp_num = a_qp.qp_num;
	story_event(s, thread, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}
