/*
 * replay/data/posts_fill.c: recorded work requests, prepared for posting
 *
 * What other modules translate is set by the test: each adds a number of its own to what it is
 * given.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "replay/data/contents.h"
#include "replay/data/held_requests.h"
#include "replay/data/posting.h"
#include "replay/device/builder.h"
#include "replay/state/translate.h"
#include "replay/synth/synth.h"
#include "replay/two_host/pair.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { QP = 1, MR, GONE, NREPLICAS, REQUESTS = 4 };

enum {
	LOCAL = 0x10000000,
	REMOTE = 0x20000000,
	JOINED = 0x30000000,
	SYNTHESIZED = 0x40000000,
	SPAN = 0x50000000,
	SCRATCH = 0x60000000,
	KEY = 0x1000,
	NUMBER = 0x100
};

static struct replay replay;
static struct replica replicas[NREPLICAS];
static struct replica_qp qp;
static struct memory *memory[2];
static struct ibv_mw window;
static struct wr wrs[REQUESTS];
static struct post post;
static struct trace_event event;
static struct request_memory prepared;
static struct post_in_progress posting;

/* The results of the functions of other modules. */
static struct {
	bool joined, synthesized, no_window, no_handle, no_span, no_contents, must_signal;
	uint32_t srqn, window, joined_datagram, synthesized_datagram;
} found;

uint64_t translate_field(void *arg, const struct field_info *field, uint64_t recorded)
{
	struct translation *t = arg;

	assert_int_equal(t->time, event.time);
	assert_int_equal(field->kind, FIELD_OBJ);
	if (field->object == OBJECT_mw)
		return found.no_window ? 0 : (uintptr_t)&window;
	assert_int_equal(field->object, OBJECT_ah);
	if (found.no_handle) {
		snprintf(t->text, sizeof(t->text), "no handle");
		t->missing = t->text;
		t->missing_object = 9;
	}
	return recorded + NUMBER;
}

uint64_t translate_local(struct replay *r, uint32_t process, uint64_t addr, uint64_t length,
			 uint32_t *key)
{
	assert_ptr_equal(r, &replay);
	assert_int_equal(process, 1);
	assert_true(length);
	*key += KEY;
	return addr + LOCAL;
}

uint64_t translate_remote(struct replay *r, uint32_t process, uint64_t addr, uint32_t *key)
{
	assert_ptr_equal(r, &replay);
	assert_int_equal(process, 2);
	*key += KEY;
	return addr + REMOTE;
}

/* 0x2...: of the peer. */
uint32_t translate_rkey(struct replay *r, uint32_t process, uint32_t key)
{
	assert_ptr_equal(r, &replay);
	return key + (process << 28);
}

uint32_t translate_peer_process(const struct replay *r, const struct replica_qp *of,
				uint32_t process)
{
	assert_ptr_equal(r, &replay);
	assert_ptr_equal(of, &qp);
	return process + 1;
}

uint32_t translate_qpn(struct replay *r, uint32_t qpn, int64_t time)
{
	assert_ptr_equal(r, &replay);
	assert_int_equal(time, event.time);
	return qpn + NUMBER;
}

bool pair_is_joined(const struct replay *r, uint32_t object)
{
	assert_ptr_equal(r, &replay);
	assert_int_equal(object, QP);
	return found.joined;
}

void pair_translate_remote(struct replay *r, const struct trace_event *of, uint32_t index,
			   uint64_t *addr, uint32_t *rkey)
{
	assert_ptr_equal(r, &replay);
	assert_ptr_equal(of, &event);
	*addr += JOINED;
	*rkey += index;
}

uint32_t pair_find_datagram_qp(struct replay *r, const struct trace_event *of, const struct wr *wr)
{
	assert_ptr_equal(r, &replay);
	assert_ptr_equal(of, &event);
	assert_int_equal(wr->remote_qpn & ~0xffffffu, 0);
	return found.joined_datagram;
}

bool synth_has(const struct replay *r, uint32_t object)
{
	assert_ptr_equal(r, &replay);
	assert_int_equal(object, QP);
	return found.synthesized;
}

void synth_remote_address(struct replay *r, const struct trace_event *of, uint32_t index,
			  uint64_t *addr, uint32_t *rkey)
{
	assert_ptr_equal(r, &replay);
	assert_ptr_equal(of, &event);
	*addr += SYNTHESIZED;
	*rkey += 2 * index;
}

uint32_t synth_window_key(struct replay *r, const struct trace_event *of, uint32_t index)
{
	assert_ptr_equal(r, &replay);
	assert_ptr_equal(of, &event);
	return found.window ? found.window + index : 0;
}

uint32_t synth_srqn(struct replay *r, uint32_t object, uint32_t srqn)
{
	assert_ptr_equal(r, &replay);
	assert_int_equal(object, QP);
	return found.srqn ? found.srqn + srqn : 0;
}

uint32_t synth_datagram_qpn(struct replay *r, uint32_t object, uint32_t qpn)
{
	assert_ptr_equal(r, &replay);
	assert_int_equal(object, QP);
	return found.synthesized_datagram ? found.synthesized_datagram + qpn : 0;
}

void *memory_span(const struct memory *of, uint64_t addr, uint64_t length)
{
	assert_ptr_equal(of, memory[1]);
	assert_true(length);
	return found.no_span ? NULL : (void *)(uintptr_t)(addr + SPAN);
}

void *memory_scratch(struct memory *of, uint64_t length)
{
	assert_ptr_equal(of, memory[1]);
	return (void *)(uintptr_t)(SCRATCH + length);
}

int contents_fill(struct replay *r, const struct trace_event *of, uint32_t i, struct ibv_sge *sges)
{
	assert_ptr_equal(r, &replay);
	assert_ptr_equal(of, &event);
	assert_ptr_equal(sges, prepared.send[i].sg_list);
	return found.no_contents ? -1 : 0;
}

uint32_t contents_note_buffers(struct replay *r, uint32_t process, const struct wr *wr)
{
	assert_ptr_equal(r, &replay);
	assert_int_equal(process, 1);
	return 70 + (uint32_t)wr->wr_id;
}

uint32_t contents_fetch(struct replay *r, const struct trace_event *of, const struct wr *wr,
			const struct replica_qp *by)
{
	assert_ptr_equal(r, &replay);
	assert_ptr_equal(of, &event);
	assert_ptr_equal(by, &qp);
	return 80 + (uint32_t)wr->wr_id;
}

bool held_must_signal(struct requests *requests, bool signaled)
{
	assert_ptr_equal(requests, posting.requests);
	return found.must_signal && !signaled;
}

static int begin_post(void **state)
{
	(void)state;
	nobjects = 0;
	add_object(OBJECT_qp, 1, 0x100);
	add_object(OBJECT_mr, 1, 0x200);
	add_object(OBJECT_mr, 1, 0x300);
	memset(&found, 0, sizeof(found));
	memset(replicas, 0, sizeof(replicas));
	memset(wrs, 0, sizeof(wrs));
	memory[1] = (void *)&memory[1];
	qp = (struct replica_qp){ .type = IBV_QPT_RC };
	replicas[QP].qp = &qp;
	replicas[MR] = (struct replica){ .handle = &replicas[MR],
					 .recorded_base = 0x7000,
					 .replayed_base = 0x9000 };
	replay = (struct replay){ .replicas = replicas, .nreplicas = NREPLICAS, .memory = memory };
	post = (struct post){ .verb = VERB_post_send, .object = QP, .nwr = 1, .wr = wrs };
	event = (struct trace_event){
		.kind = TRACE_POST, .id = { 1, 40 }, .process = 1, .time = 500, .post = &post
	};
	posting = (struct post_in_progress){ .r = &replay,
					     .event = &event,
					     .post = &post,
					     .replica = &replicas[QP],
					     .requests = &qp.out[SIDE_SEND],
					     .wrs = &prepared,
					     .side = SIDE_SEND };
	return 0;
}

static int end_post(void **state)
{
	(void)state;
	for (int side = 0; side < SIDES; side++)
		free(qp.out[side].cells);
	free(prepared.send);
	free(prepared.recv);
	free(prepared.sges);
	free(prepared.bufs);
	prepared = (struct request_memory){ 0 };
	return 0;
}

FIXTURE(begin_post, end_post);

/* The first of the requests, filled in. */
static const struct ibv_send_wr *fill_sends(uint32_t n)
{
	post.nwr = n;
	assert_int_equal(posts_reserve(&prepared, &post), 0);
	assert_int_equal(posts_fill(&posting), 0);
	return prepared.send;
}

static const struct ibv_send_wr *fill_send(int opcode)
{
	wrs[0].opcode = opcode;
	posting.missing = NULL;
	posting.lacking = 0;
	return fill_sends(1);
}

TEST(a_list_is_a_list)
{
	const struct ibv_send_wr *to;

	for (int i = 0; i < 3; i++)
		wrs[i] = (struct wr){ .wr_id = 5 + (uint64_t)i,
				      .opcode = IBV_WR_SEND,
				      .send_flags = i == 1 ? IBV_SEND_SIGNALED : 0 };
	to = fill_sends(3);
	assert_ptr_equal(to[0].next, &to[1]);
	assert_ptr_equal(to[1].next, &to[2]);
	assert_null(to[2].next);
	assert_int_equal(to[1].wr_id, 6);
	assert_int_equal(to[1].send_flags, IBV_SEND_SIGNALED);
	assert_int_equal(qp.out[SIDE_SEND].tail, 3);
	assert_int_equal(qp.out[SIDE_SEND].cells[2].index, 2);
	assert_true(qp.out[SIDE_SEND].cells[1].signaled);
	assert_false(qp.out[SIDE_SEND].cells[2].signaled);
	assert_int_equal(qp.out[SIDE_SEND].last_wr_id, 7);
}

TEST(buffers_and_keys_are_translated)
{
	const struct sge sges[] = { { 0x100, 8, 1 }, { 0x200, 16, 2 } };
	const struct ibv_send_wr *to;

	wrs[0] = (struct wr){ .opcode = IBV_WR_SEND, .num_sge = 2, .nsge = 2, .sge = sges };
	wrs[1] = (struct wr){ .opcode = IBV_WR_SEND, .num_sge = 1, .nsge = 1, .sge = sges };
	to = fill_sends(2);
	assert_int_equal(to[0].num_sge, 2);
	assert_int_equal(to[0].sg_list[1].addr, 0x200 + LOCAL);
	assert_int_equal(to[0].sg_list[1].length, 16);
	assert_int_equal(to[0].sg_list[1].lkey, 2 + KEY);
	assert_ptr_equal(to[1].sg_list, to[0].sg_list + 2);
	assert_int_equal(to[1].sg_list[0].addr, 0x100 + LOCAL);
	assert_int_equal(qp.out[SIDE_SEND].cells[0].length, 24);
	assert_int_equal(posts_length(&wrs[1]), 8);
}

/* Keys are not used. */
TEST(inline_data_are_of_the_memory_or_of_any)
{
	const struct sge sges[] = { { 0x100, 8, 1 } };
	const struct ibv_send_wr *to;

	wrs[0] = (struct wr){ .send_flags = IBV_SEND_INLINE, .num_sge = 1, .nsge = 1, .sge = sges };
	to = fill_send(IBV_WR_SEND);
	assert_int_equal(to->sg_list[0].addr, 0x100 + SPAN);
	assert_int_equal(to->sg_list[0].lkey, 0);
	found.no_span = true;
	to = fill_send(IBV_WR_SEND);
	assert_int_equal(to->sg_list[0].addr, SCRATCH + 8);
}

/* An edited trace may have less of a list than the request says. */
TEST(a_list_that_is_partly_known_is_empty_behind_that)
{
	const struct sge sges[] = { { 0x100, 8, 1 } };
	const struct ibv_send_wr *to;

	wrs[0] = (struct wr){ .num_sge = 3, .nsge = 1, .sge = sges };
	to = fill_send(IBV_WR_SEND);
	assert_int_equal(to->num_sge, 3);
	assert_int_equal(to->sg_list[0].length, 8);
	assert_int_equal(to->sg_list[1].length, 0);
	assert_int_equal(to->sg_list[2].addr, 0);
	assert_int_equal(prepared.nsges, 3);
	wrs[0].num_sge = -1;
	to = fill_send(IBV_WR_SEND);
	assert_int_equal(to->num_sge, -1);
	assert_int_equal(to->sg_list[0].length, 8);
	wrs[0] = (struct wr){ .num_sge = 2 };
	to = fill_send(IBV_WR_SEND);
	assert_non_null(to->sg_list);
	assert_int_equal(to->sg_list[1].length, 0);
}

TEST(remote_memory_is_that_of_the_peer)
{
	const struct ibv_send_wr *to;

	wrs[0] = (struct wr){ .remote_addr = 0x40, .rkey = 3, .imm = 0x55 };
	to = fill_send(IBV_WR_RDMA_READ);
	assert_int_equal(to->wr.rdma.remote_addr, 0x40 + REMOTE);
	assert_int_equal(to->wr.rdma.rkey, 3 + KEY);
	assert_int_equal(to->imm_data, 0);
	to = fill_send(IBV_WR_RDMA_WRITE_WITH_IMM);
	assert_int_equal(to->wr.rdma.remote_addr, 0x40 + REMOTE);
	assert_int_equal(to->imm_data, htonl(0x55));
	to = fill_send(IBV_WR_SEND_WITH_IMM);
	assert_int_equal(to->imm_data, htonl(0x55));
	assert_int_equal(to->wr.rdma.remote_addr, 0);
	wrs[0].compare_add = 11;
	wrs[0].swap = 12;
	to = fill_send(IBV_WR_ATOMIC_CMP_AND_SWP);
	assert_int_equal(to->wr.atomic.remote_addr, 0x40 + REMOTE);
	assert_int_equal(to->wr.atomic.rkey, 3 + KEY);
	assert_int_equal(to->wr.atomic.compare_add, 11);
	assert_int_equal(to->wr.atomic.swap, 12);
}

TEST(remote_memory_of_another_host_or_of_a_synthesized_peer)
{
	const struct ibv_send_wr *to;

	for (int i = 0; i < 2; i++)
		wrs[i] = (struct wr){ .opcode = IBV_WR_RDMA_WRITE, .remote_addr = 0x40, .rkey = 3 };
	found.synthesized = true;
	to = fill_sends(2);
	assert_int_equal(to[1].wr.rdma.remote_addr, 0x40 + SYNTHESIZED);
	assert_int_equal(to[1].wr.rdma.rkey, 3 + 2);
	found.joined = true;
	to = fill_sends(2);
	assert_int_equal(to[1].wr.rdma.remote_addr, 0x40 + JOINED);
	assert_int_equal(to[1].wr.rdma.rkey, 3 + 1);
}

TEST(keys_are_invalidated_where_they_are)
{
	const struct ibv_send_wr *to;

	wrs[0] = wrs[1] = (struct wr){ .opcode = IBV_WR_SEND_WITH_INV, .imm = 7 };
	assert_int_equal(fill_send(IBV_WR_LOCAL_INV)->invalidate_rkey, 7 + (1 << 28));
	assert_int_equal(fill_send(IBV_WR_SEND_WITH_INV)->invalidate_rkey, 7 + (2 << 28));
	found.window = 0x60;
	to = fill_sends(2);
	assert_int_equal(to[1].invalidate_rkey, 0x61);
	found.joined = true;
	to = fill_sends(2);
	assert_int_equal(to[1].invalidate_rkey, 7 + 1);
}

TEST(a_window_is_bound_to_its_region)
{
	const struct ibv_send_wr *to;

	window.rkey = 0x12345678;
	wrs[0] = (struct wr){ .bind_mw = 0x80,
			      .bind_rkey = 0x99,
			      .bind_mr = 0x200,
			      .bind_addr = 0x7010,
			      .bind_length = 32,
			      .bind_access = IBV_ACCESS_REMOTE_READ };
	to = fill_send(IBV_WR_BIND_MW);
	assert_null(posting.missing);
	assert_ptr_equal(to->bind_mw.mw, &window);
	assert_int_equal(to->bind_mw.rkey, 0x12345699);
	assert_ptr_equal(to->bind_mw.bind_info.mr, &replicas[MR]);
	assert_int_equal(to->bind_mw.bind_info.addr, 0x9010);
	assert_int_equal(to->bind_mw.bind_info.length, 32);
	assert_int_equal(to->bind_mw.bind_info.mw_access_flags, IBV_ACCESS_REMOTE_READ);
}

/* A bind of no region invalidates the window. */
TEST(a_window_may_be_bound_to_nothing)
{
	const struct ibv_send_wr *to;

	wrs[0] = (struct wr){ .bind_mw = 0x80, .bind_addr = 0x7010 };
	to = fill_send(IBV_WR_BIND_MW);
	assert_null(posting.missing);
	assert_null(to->bind_mw.bind_info.mr);
	assert_int_equal(to->bind_mw.bind_info.addr, 0x7010);
}

TEST(a_bind_needs_its_window_and_its_region)
{
	wrs[0] = (struct wr){ .bind_mw = 0x80, .bind_mr = 0x300 };
	fill_send(IBV_WR_BIND_MW);
	assert_string_equal(posting.missing,
			    "the region of its memory window was not created in the replay");
	assert_int_equal(posting.lacking, GONE);
	wrs[0].bind_mr = 0x400; /* of no object */
	fill_send(IBV_WR_BIND_MW);
	assert_string_equal(posting.missing,
			    "the region of its memory window was not created in the replay");
	assert_int_equal(posting.lacking, 0);
	wrs[0].bind_mr = 0x200;
	found.no_window = true;
	fill_send(IBV_WR_BIND_MW);
	assert_string_equal(posting.missing, "its memory window was not created in the replay");
}

TEST(a_datagram_has_an_address)
{
	const struct ibv_send_wr *to;

	qp.type = IBV_QPT_UD;
	wrs[0] = (struct wr){ .ah = 0x70, .remote_qpn = 0x33, .remote_qkey = 0x44 };
	to = fill_send(IBV_WR_SEND);
	assert_int_equal((uintptr_t)to->wr.ud.ah, 0x70 + NUMBER);
	assert_int_equal(to->wr.ud.remote_qpn, 0x33 + NUMBER);
	assert_int_equal(to->wr.ud.remote_qkey, 0x44);
	assert_null(posting.missing);
	found.synthesized_datagram = 0x5000;
	assert_int_equal(fill_send(IBV_WR_SEND)->wr.ud.remote_qpn, 0x5033);
	found.joined_datagram = 0x6000;
	assert_int_equal(fill_send(IBV_WR_SEND)->wr.ud.remote_qpn, 0x6000);
	found.joined_datagram = found.synthesized_datagram = 0;
	wrs[0].remote_qpn = 0xffffff; /* multicast */
	assert_int_equal(fill_send(IBV_WR_SEND)->wr.ud.remote_qpn, 0xffffff);
	found.no_handle = true;
	fill_send(IBV_WR_SEND);
	assert_string_equal(posting.missing, "no handle");
	assert_int_equal(posting.lacking, 9);
}

TEST(xrc_names_a_shared_queue)
{
	wrs[0] = (struct wr){ .remote_srqn = 4 };
	assert_int_equal(fill_send(IBV_WR_SEND)->qp_type.xrc.remote_srqn, 0);
	qp.type = IBV_QPT_XRC_SEND;
	assert_int_equal(fill_send(IBV_WR_SEND)->qp_type.xrc.remote_srqn, 4);
	assert_int_equal(map_put(&replay.srqns, 4, 0x4444), 0);
	assert_int_equal(fill_send(IBV_WR_SEND)->qp_type.xrc.remote_srqn, 0x4444);
	found.srqn = 0x100;
	assert_int_equal(fill_send(IBV_WR_SEND)->qp_type.xrc.remote_srqn, 0x104);
	map_fini(&replay.srqns);
}

TEST(a_flush_needs_its_builder_and_a_recorded_peer)
{
	const struct ibv_send_wr *to;

	wrs[0] = (struct wr){ .remote_addr = 0x40,
			      .rkey = 3,
			      .flush_length = 77,
			      .flush_level = 1,
			      .flush_type = 2 };
	fill_send(BUILDER_FLUSH);
	assert_string_equal(posting.missing, "a flush can be posted only by ibv_wr_flush()");
	posting.built = true;
	to = fill_send(BUILDER_FLUSH);
	assert_null(posting.missing);
	assert_int_equal(to->wr.atomic.remote_addr, 0x40 + REMOTE);
	assert_int_equal(to->wr.atomic.rkey, 3 + KEY);
	assert_int_equal(to->wr.atomic.compare_add, 77);
	assert_int_equal(to->wr.atomic.swap, 1 << 8 | 2);
	found.synthesized = true;
	fill_send(BUILDER_FLUSH);
	assert_string_equal(posting.missing,
			    "a synthesized peer has no region that allows flushes");
}

TEST(headers_for_segmentation_are_missing)
{
	fill_send(IBV_WR_TSO);
	assert_string_equal(posting.missing, "headers for segmentation are not in the trace");
}

/* The eight bytes are an inline element, as the recorder notes them; a damaged trace has others. */
TEST(an_atomic_write_has_its_bytes)
{
	static const struct damage {
		uint32_t flags, num_sge, nsge, length;
	} all[] = { { IBV_SEND_INLINE, 1, 1, 8 },
		    { 0, 1, 1, 8 },
		    { IBV_SEND_INLINE, 0, 0, 8 },
		    { IBV_SEND_INLINE, 2, 2, 8 },
		    { IBV_SEND_INLINE, 1, 1, 4 } };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct sge elements[2] = { { .length = all[i].length }, { .length = 8 } };

		wrs[0] = (struct wr){ .send_flags = (int)all[i].flags,
				      .num_sge = (int)all[i].num_sge,
				      .nsge = all[i].nsge,
				      .sge = elements };
		fill_send(IBV_WR_ATOMIC_WRITE);
		if (i)
			assert_string_equal(posting.missing, "the eight bytes that it writes are "
							     "not in the trace");
		else
			assert_null(posting.missing);
	}
}

TEST(a_request_may_have_to_be_signaled)
{
	const struct request *request;

	found.must_signal = true;
	assert_int_equal(fill_send(IBV_WR_SEND)->send_flags, IBV_SEND_SIGNALED);
	request = requests_get(&qp.out[SIDE_SEND], 0);
	assert_true(request->forced && request->signaled);
	qp.signals_all = true;
	assert_int_equal(fill_send(IBV_WR_SEND)->send_flags, 0);
	request = requests_get(&qp.out[SIDE_SEND], 1);
	assert_true(request->signaled && !request->forced);
}

/* A completion of the second one could be of the first, too. */
TEST(an_ambiguous_request_gets_a_number_of_its_own)
{
	const struct ibv_send_wr *to;

	wrs[0] = wrs[1] = (struct wr){ .wr_id = 5, .opcode = IBV_WR_SEND };
	to = fill_sends(2);
	assert_int_equal(to[0].wr_id, 5);
	assert_int_equal(to[1].wr_id, request_cookie(QP, SIDE_SEND, 1));
	assert_int_equal(requests_get(&qp.out[SIDE_SEND], 1)->wr_id, 5);
	assert_int_equal(requests_get(&qp.out[SIDE_SEND], 1)->posted, to[1].wr_id);
}

TEST(an_aborted_request_is_not_outstanding)
{
	post.verb = VERB_wr_abort;
	wrs[0].wr_id = 5;
	assert_int_equal(fill_send(IBV_WR_SEND)->wr_id, 5);
	assert_int_equal(qp.out[SIDE_SEND].tail, 0);
}

TEST(contents_that_cannot_be_put_are_invalid)
{
	found.no_contents = true;
	assert_int_equal(posts_reserve(&prepared, &post), 0);
	assert_int_equal(posts_fill(&posting), -EINVAL);
}

/* Only those that tell when their bytes are there. */
TEST(contents_of_sends_are_fetched)
{
	replay.contents = (void *)&replay;
	wrs[0] = (struct wr){ .wr_id = 1, .send_flags = IBV_SEND_SIGNALED };
	wrs[1] = (struct wr){ .wr_id = 2 };
	fill_sends(2);
	assert_int_equal(requests_get(&qp.out[SIDE_SEND], 0)->landing, 81);
	assert_int_equal(requests_get(&qp.out[SIDE_SEND], 1)->landing, 0);
	found.must_signal = true;
	wrs[0] = (struct wr){ .wr_id = 3 };
	fill_send(IBV_WR_SEND);
	assert_int_equal(requests_get(&qp.out[SIDE_SEND], 2)->landing, 0);
}

TEST(receives_have_buffers_and_a_landing)
{
	const struct sge sges[] = { { 0x100, 8, 1 } };

	post.verb = VERB_post_recv;
	post.nwr = 2;
	posting.side = SIDE_RECV;
	posting.requests = &qp.out[SIDE_RECV];
	replay.contents = (void *)&replay;
	for (int i = 0; i < 2; i++)
		wrs[i] = (struct wr){ .wr_id = 1 + (uint64_t)i,
				      .opcode = -1,
				      .send_flags = IBV_SEND_SIGNALED,
				      .num_sge = 1,
				      .nsge = 1,
				      .sge = sges };
	assert_int_equal(posts_reserve(&prepared, &post), 0);
	assert_int_equal(posts_fill(&posting), 0);
	assert_ptr_equal(prepared.recv[0].next, &prepared.recv[1]);
	assert_null(prepared.recv[1].next);
	assert_int_equal(prepared.recv[1].num_sge, 1);
	assert_int_equal(prepared.recv[1].sg_list[0].addr, 0x100 + LOCAL);
	assert_int_equal(prepared.recv[1].wr_id, 2);
	assert_int_equal(requests_get(&qp.out[SIDE_RECV], 1)->landing, 72);
	assert_false(requests_get(&qp.out[SIDE_RECV], 1)->signaled);
}

/* A shared queue and a work queue have no queue pair. */
TEST(a_queue_without_a_queue_pair_numbers_its_requests)
{
	post.verb = VERB_post_srq_recv;
	posting.side = SIDE_RECV;
	posting.requests = &qp.out[SIDE_RECV];
	replicas[QP].qp = NULL;
	assert_int_equal(posts_reserve(&prepared, &post), 0);
	assert_int_equal(posts_fill(&posting), 0);
	assert_int_equal(prepared.recv[0].wr_id, request_cookie(QP, SIDE_RECV, 0));
	assert_int_equal(requests_get(&qp.out[SIDE_RECV], 0)->landing, 0);
}

/* The memory of a list is used again, and grows. */
TEST(memory_is_reserved_once)
{
	const struct sge sges[] = { { 0x100, 8, 1 }, { 0x200, 16, 2 } };
	const struct ibv_send_wr *send;

	wrs[0] = (struct wr){ .num_sge = 2, .nsge = 2, .sge = sges };
	post.nwr = 2;
	assert_int_equal(posts_reserve(&prepared, &post), 0);
	send = prepared.send;
	assert_int_equal(prepared.nwr, 2);
	assert_int_equal(prepared.nsges, 2);
	post.nwr = 1;
	assert_int_equal(posts_reserve(&prepared, &post), 0);
	assert_ptr_equal(prepared.send, send);
	assert_int_equal(prepared.nwr, 2);
	wrs[1] = wrs[0];
	post.nwr = 4;
	assert_int_equal(posts_reserve(&prepared, &post), 0);
	assert_int_equal(prepared.nwr, 4);
	assert_int_equal(prepared.nsges, 4);
}
