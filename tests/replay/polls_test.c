/*
 * To which request and side a completion belongs: polls_test.txt
 *
 * A queue pair with two requests in each of its queues gets a completion of each kind, in each
 * arrangement of its CQs, as if fast_poll.c had polled it; and messages from a peer.
 */
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "replay/data/polls.h"
#include "replay/state/state.h"
#include "tests/replay/objects.h"
#include "tests/test.h"
#include "tests/transcript.h"

enum { CQ = 1, OTHER_CQ, QP, PEER, SRQ, NREPLICAS, NUMBER = 0x111 };

static struct text out;
static struct replay replay;
static struct replica replicas[NREPLICAS];
static struct replica_qp queues[2];
static struct requests shared;
static struct ibv_cq cqs[2];
static struct ibv_qp qp;
static struct ibv_srq srq;
static struct ibv_wc polled[POLLS_BATCH];

static void end_queues(void)
{
	for (int i = 0; i < 2; i++) {
		for (int side = 0; side < SIDES; side++) {
			requests_fini(&queues[i].out[side]);
			free(queues[i].in[side].cells);
		}
		requests_fini(&queues[i].sent);
	}
	requests_fini(&shared);
	map_fini(&replay.numbers);
}

static void begin_queues(void)
{
	end_queues();
	memset(queues, 0, sizeof(queues));
	memset(replicas, 0, sizeof(replicas));
	memset(&shared, 0, sizeof(shared));
	replay = (struct replay){ .replicas = replicas, .nreplicas = NREPLICAS, .last = 77 };
	replicas[CQ] =
		(struct replica){ .handle = &cqs[0], .unsorted = polled, .polled = 55, .empty = 3 };
	replicas[OTHER_CQ].handle = &cqs[1];
	replicas[QP] = (struct replica){ .handle = &qp, .number = NUMBER, .qp = &queues[0] };
	replicas[PEER] = (struct replica){ .handle = &qp, .number = 0x222, .qp = &queues[1] };
	replicas[SRQ] = (struct replica){ .handle = &srq, .requests = &shared };
	qp = (struct ibv_qp){ .send_cq = &cqs[0], .recv_cq = &cqs[0] };
	queues[0].peer = PEER;
	assert_int_equal(map_put(&replay.numbers, NUMBER, QP), 0);
}

static void post_request(struct requests *to, uint64_t wr_id, uint32_t n, bool signaled,
			 uint32_t length)
{
	struct request *request = requests_add(to);

	assert_non_null(request);
	*request = (struct request){ .wr_id = wr_id,
				     .posted = wr_id,
				     .event = { 1, n },
				     .signaled = signaled,
				     .length = length };
}

/* wr_ids 7 and 8; those of sends are at 1:10 and 1:11, those of receives at 1:20 and 1:21. */
static void post_all(bool signaled)
{
	post_request(&queues[0].out[SIDE_SEND], 7, 10, signaled, 0);
	post_request(&queues[0].out[SIDE_SEND], 8, 11, true, 0);
	post_request(&queues[0].out[SIDE_RECV], 7, 20, false, 0);
	post_request(&queues[0].out[SIDE_RECV], 8, 21, false, 0);
}

static void put_side(const char *name, const struct requests *requests,
		     const struct arrivals *arrivals)
{
	text_addf(&out, " %s %u-%u", name, requests->head, requests->tail);
	for (uint32_t at = arrivals->head; at != arrivals->tail; at++) {
		const struct arrival *a = &arrivals->cells[at & (arrivals->size - 1)];

		text_addf(&out,
			  " [%u:%u wr_id %u sender %u:%u[%u] cq %u at %u polled %u empty %u%s%s]",
			  a->request.event.thread, (unsigned int)a->request.event.n,
			  (unsigned int)a->request.wr_id, a->sender.thread,
			  (unsigned int)a->sender.n, a->sender_index, a->cq, (unsigned int)a->time,
			  (unsigned int)a->polled, (unsigned int)a->empty,
			  a->tagged ? " tagged" : "", a->unasked ? " unasked" : "");
	}
}

static void poll_one(const struct ibv_wc *wc)
{
	polled[0] = *wc;
	replicas[CQ].nunsorted = 1;
	assert_int_equal(polls_take(&replay, &replicas[CQ], 1), 1);
	assert_int_equal(replicas[CQ].nunsorted, 0);
	put_side("sends", &queues[0].out[SIDE_SEND], &queues[0].in[SIDE_SEND]);
	put_side("receives", &queues[0].out[SIDE_RECV], &queues[0].in[SIDE_RECV]);
	text_addf(&out, " fresh %u\n", replicas[CQ].fresh);
}

/* The CQ is that of sends, of receives, of both or of none. */
static void arrange_queues(int how)
{
	qp.send_cq = &cqs[how & 1 ? 0 : 1];
	qp.recv_cq = &cqs[how & 2 ? 0 : 1];
}

static void show_statuses(void)
{
	for (int status = 0; status <= IBV_WC_TM_RNDV_INCOMPLETE + 1; status++)
		for (int how = 0; how < 4; how++)
			for (uint64_t wr_id = 7; wr_id <= 9; wr_id++) {
				struct ibv_wc wc = { .wr_id = wr_id,
						     .status = (enum ibv_wc_status)status,
						     .opcode = IBV_WC_RECV,
						     .qp_num = NUMBER };

				begin_queues();
				post_all(true);
				arrange_queues(how);
				text_addf(&out, "status %d, CQ of %d, wr_id %d:", status, how,
					  (int)wr_id);
				poll_one(&wc);
			}
}

static void show_opcodes(void)
{
	static const enum ibv_wc_opcode opcodes[] = { IBV_WC_SEND,      IBV_WC_RDMA_WRITE,
						      IBV_WC_RDMA_READ, IBV_WC_BIND_MW,
						      IBV_WC_RECV,      IBV_WC_RECV_RDMA_WITH_IMM };

	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++)
		for (int signaled = 0; signaled < 2; signaled++)
			for (uint64_t wr_id = 7; wr_id <= 9; wr_id++) {
				struct ibv_wc wc = { .wr_id = wr_id,
						     .opcode = opcodes[i],
						     .qp_num = NUMBER };

				begin_queues();
				post_all(signaled);
				text_addf(&out, "opcode %d, first send signaled %d, wr_id %d:",
					  (int)opcodes[i], signaled, (int)wr_id);
				poll_one(&wc);
			}
}

/* Only one of the queues has the request, or it was completed already. */
static void show_one_side(void)
{
	for (int side = 0; side < SIDES; side++)
		for (int done = 0; done < 2; done++) {
			struct ibv_wc wc = { .wr_id = 7,
					     .status = IBV_WC_WR_FLUSH_ERR,
					     .qp_num = NUMBER };

			begin_queues();
			post_request(&queues[0].out[side], 7, 30, true, 0);
			post_request(&queues[0].out[side], 7, 31, true, 0);
			queues[0].out[side].cells[0].done = done;
			text_addf(&out, "only side %d, first done %d:", side, done);
			poll_one(&wc);
		}
}

static void show_forced(void)
{
	for (int status = 0; status < 2; status++) {
		struct ibv_wc wc = { .wr_id = 7, .qp_num = NUMBER };

		wc.status = status ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS;
		begin_queues();
		post_all(true);
		queues[0].out[SIDE_SEND].cells[0].forced = true;
		text_addf(&out, "forced, status %d:", status);
		poll_one(&wc);
	}
}

static void show_shared(void)
{
	for (uint32_t number = 0; number < 3; number++)
		for (int status = 0; status < 2; status++) {
			struct ibv_wc wc = { .wr_id = request_cookie(SRQ, SIDE_RECV, number),
					     .opcode = IBV_WC_RECV,
					     .qp_num = NUMBER };

			wc.status = status ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS;
			begin_queues();
			post_all(true);
			post_request(&shared, request_cookie(SRQ, SIDE_RECV, 0), 40, false, 0);
			post_request(&shared, request_cookie(SRQ, SIDE_RECV, 1), 41, false, 0);
			replay.leaving = number == 1;
			text_addf(&out, "shared %u, status %d:", number, status);
			poll_one(&wc);
			text_addf(&out, "\tshared %u-%u\n", shared.head, shared.tail);
		}
}

/* Messages of a peer: of 100, 200 and 200 bytes, of which some may be lost. */
static void show_senders(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	static const uint32_t lengths[] = { 100, 140, 200, 240, 300 };

	for (size_t type = 0; type < 3; type++)
		for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
			struct ibv_wc wc = { .wr_id = 7,
					     .opcode = IBV_WC_RECV,
					     .qp_num = NUMBER,
					     .src_qp = 0x222,
					     .byte_len = lengths[i] };
			struct requests *sent;

			begin_queues();
			post_all(true);
			queues[0].type = types[type];
			sent = types[type] == IBV_QPT_UD ? &queues[0].sent : &queues[1].sent;
			for (uint32_t n = 0; n < 3; n++)
				post_request(sent, n == 1 ? 0x222 : 0x222 + n, 50 + n, false,
					     n ? 200 : 100);
			text_addf(&out, "message of %u on type %d:", lengths[i], (int)types[type]);
			poll_one(&wc);
			text_addf(&out, "\tsent %u-%u\n", sent->head, sent->tail);
		}
}

static void show_strangers(void)
{
	struct ibv_wc wc = { .wr_id = 7, .qp_num = 0x999 };

	begin_queues();
	post_all(true);
	text_addf(&out, "another queue pair:");
	poll_one(&wc);
	wc.qp_num = NUMBER;
	replicas[CQ].last = &replicas[PEER];
	text_addf(&out, "after a completion of another:");
	poll_one(&wc);
	wc.wr_id = 8;
	text_addf(&out, "the next one:");
	poll_one(&wc);
	replicas[CQ].handle = NULL;
	replicas[CQ].nunsorted = 1;
	assert_int_equal(polls_take(&replay, &replicas[CQ], 1), 0);
}

TEST(owners_are_those_of_the_transcript)
{
	show_statuses();
	show_opcodes();
	show_one_side();
	show_forced();
	show_shared();
	show_senders();
	show_strangers();
	end_queues();
	transcript_expect(__FILE__, &out);
}
