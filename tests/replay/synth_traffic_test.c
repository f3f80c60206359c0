/*
 * replay/synth/synth_traffic.c: what posts and completions show of ends that are not in the trace
 *
 * QP was connected to such an end; UD is a queue pair for datagrams. What completion events show is
 * another module's (synth_announced_test.c), memory too (synth_memory_test.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/state/recorded.h"
#include "replay/synth/synth_pass.h"
#include "replay/two_host/pair.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { QP = 1, UD, CQ, AH, NOBJECTS, PAGE = 4096 };

static struct range {
	uint32_t rkey;
	uint64_t addr, length;
	int access;
} ranges[16];
static unsigned int nranges, nannounced, nreturns, nmessages, ncalls, nevents;
static const struct synth_request *failed_request;
static unsigned int nfailures;

static struct replay replay;
static struct synthesized far;
static struct pass pass;
static struct synth_plan *plans[NOBJECTS];
static struct synth_plan connected, datagrams;
static struct announced_events announcements[NOBJECTS];
static struct synth_host hosts[2];
static struct synth_link links[2];
static struct ibv_ah_attr avs[1];
static uint32_t inside;
static bool is_paired;
static const struct ibv_ah_attr *host_of;
static uint32_t seq;

int synth_add_range(struct synth_host *host, uint32_t rkey, uint64_t addr, uint64_t length,
		    int access)
{
	assert_ptr_equal(host, &hosts[0]);
	ranges[nranges++] = (struct range){ rkey, addr, length, access };
	return 0;
}

uint32_t synth_host_at(const struct pass *p, const struct synth_plan *plan,
		       const struct ibv_ah_attr *av)
{
	assert_ptr_equal(p, &pass);
	assert_ptr_equal(plan, &datagrams);
	host_of = av;
	return 2;
}

struct synth_host *synth_host_now(const struct pass *p, const struct synth_plan *plan)
{
	(void)p;
	return plan == &connected && plan->at ? &hosts[0] : NULL;
}

struct synth_plan *synth_plan_now(const struct pass *p, uint32_t object)
{
	(void)p;
	return object == QP && connected.at ? &connected : object == UD ? &datagrams : NULL;
}

int synth_learn_announced(struct pass *p, const struct trace_event *poll)
{
	(void)p;
	assert_int_equal(poll->kind, TRACE_POLL);
	nannounced++;
	return 0;
}

int synth_learn_return(struct pass *p, const struct trace_event *event)
{
	(void)p;
	assert_int_equal(event->kind, TRACE_RETURN);
	nreturns++;
	return 0;
}

void synth_stop_note_event(struct pass *p, const struct trace_event *event)
{
	assert_ptr_equal(p, &pass);
	assert_non_null(event);
	nevents++;
}

int synth_stop_note_call(struct pass *p, const struct trace_event *event)
{
	(void)p;
	assert_true(event->kind == TRACE_CALL || event->kind == TRACE_RETURN);
	ncalls++;
	return 0;
}

int synth_stop_note_message(struct pass *p, struct synth_plan *plan,
			    const struct trace_event *event, uint32_t index)
{
	(void)p;
	assert_true(plan == &connected || plan == &datagrams);
	assert_int_equal(event->poll->wc[index].status, IBV_WC_SUCCESS);
	nmessages++;
	return 0;
}

int synth_stop_note_failed(struct pass *p, struct synth_plan *plan, const struct trace_event *event,
			   uint32_t index, const struct synth_request *request)
{
	(void)p;
	assert_ptr_equal(plan, &connected);
	assert_int_not_equal(event->poll->wc[index].status, IBV_WC_SUCCESS);
	failed_request = request;
	nfailures++;
	return 0;
}

uint32_t recorded_datagram(const struct replay *r, uint32_t id, uint32_t number,
			   const struct ibv_ah_attr *av, int64_t time)
{
	(void)r;
	(void)number;
	(void)av;
	(void)time;
	assert_int_equal(id, UD);
	return inside;
}

bool pair_has_datagram(const struct replay *r, uint32_t number, const struct ibv_ah_attr *av)
{
	(void)r;
	(void)number;
	(void)av;
	return is_paired;
}

static int begin_pass(void **state)
{
	(void)state;
	nobjects = 0;
	add_object(OBJECT_qp, 7, 0x10);
	add_object(OBJECT_qp, 7, 0x20);
	add_object(OBJECT_cq, 7, 0x30);
	add_object(OBJECT_ah, 7, 0x40);
	nranges = nannounced = nreturns = inside = seq = 0;
	nmessages = ncalls = nevents = nfailures = 0;
	failed_request = NULL;
	is_paired = false;
	memset(announcements, 0, sizeof(announcements));
	memset(hosts, 0, sizeof(hosts));
	memset(links, 0, sizeof(links));
	connected = (struct synth_plan){
		.object = QP, .type = IBV_QPT_RC, .links = links, .nlinks = 2, .at = 1
	};
	datagrams = (struct synth_plan){ .object = UD, .type = IBV_QPT_UD };
	plans[QP] = &connected;
	plans[UD] = &datagrams;
	avs[0] = (struct ibv_ah_attr){ .dlid = 9 };
	replay = (struct replay){ .nreplicas = NOBJECTS };
	far = (struct synthesized){ .plans = plans, .hosts = hosts, .nhosts = 2, .avs = avs };
	pass = (struct pass){ .r = &replay, .far = &far, .announcements = announcements };
	return map_put(&far.av_of, AH, 1);
}

static int end_pass(void **state)
{
	(void)state;
	free(connected.open);
	free(datagrams.links);
	free(far.fetched);
	map_fini(&far.av_of);
	map_fini(&far.failed);
	map_fini(&far.taken);
	map_fini(&far.reads);
	return 0;
}

FIXTURE(begin_pass, end_pass);

static struct event_id learn_posts(enum verb verb, uint32_t object, const struct wr *wrs,
				   uint32_t n, int ret)
{
	const struct post post = {
		.verb = verb, .object = object, .nwr = n, .wr = wrs, .ret = ret
	};
	const struct trace_event event = {
		.kind = TRACE_POST, .id = { 1, ++seq }, .process = 7, .post = &post
	};

	assert_int_equal(synth_learn_event(&pass, &event), 0);
	return event.id;
}

static struct event_id learn_send(uint32_t object, int opcode, uint32_t rkey, uint32_t length)
{
	const struct sge sges[2] = { { .length = length }, { .length = 1 } };
	const struct wr wr = { .opcode = opcode,
			       .rkey = rkey,
			       .remote_addr = 0x1000 * rkey,
			       .nsge = 2,
			       .sge = sges,
			       .ah = 0x40,
			       .remote_qpn = 33 };

	return learn_posts(VERB_post_send, object, &wr, 1, 0);
}

static struct event_id learn_wc(struct wc wc)
{
	const struct poll poll = { .object = CQ, .nwc = 1, .wc = &wc };
	const struct trace_event event = {
		.kind = TRACE_POLL, .id = { 2, ++seq }, .process = 7, .poll = &poll
	};

	assert_int_equal(synth_learn_event(&pass, &event), 0);
	return event.id;
}

static struct event_id complete_one(struct event_id request, enum ibv_wc_status status,
				    enum ibv_wc_opcode opcode)
{
	return learn_wc((struct wc){ .qp = QP,
				     .request = request,
				     .status = (int32_t)status,
				     .opcode = (int32_t)opcode });
}

static void modify_qp(uint32_t object, const char *attr)
{
	struct args *args = args_new(attr, strlen(attr));
	const struct call call = { .verb = VERB_modify_qp, .object = object, .args = args };
	const struct trace_event event = { .kind = TRACE_CALL, .call = &call };

	assert_int_equal(synth_learn_event(&pass, &event), 0);
	args_unref(args);
}

static uint64_t value_of(const struct map *map, struct event_id id)
{
	uint64_t value = UINT64_MAX;

	map_get(map, event_part_key(id, 0), &value);
	return value;
}

TEST(requests_that_succeeded_name_memory)
{
	static const struct {
		int opcode, access;
	} rows[] = { { IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE },
		     { IBV_WR_RDMA_WRITE_WITH_IMM, IBV_ACCESS_REMOTE_WRITE },
		     { IBV_WR_ATOMIC_WRITE, IBV_ACCESS_REMOTE_WRITE },
		     { IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ },
		     { IBV_WR_ATOMIC_CMP_AND_SWP, IBV_ACCESS_REMOTE_ATOMIC },
		     { IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC } };
	struct event_id last = { 0 };

	(void)state;
	learn_send(QP, IBV_WR_SEND, 99, 7);
	for (uint32_t i = 0; i < 6; i++)
		last = learn_send(QP, rows[i].opcode, i + 1, 7);
	learn_send(QP, IBV_WR_RDMA_WRITE, 50, 7); /* after it */
	complete_one(last, IBV_WC_SUCCESS, IBV_WC_FETCH_ADD);
	assert_int_equal(nranges, 6);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(ranges[i].rkey, i + 1);
		assert_int_equal(ranges[i].addr, 0x1000 * (i + 1));
		assert_int_equal(ranges[i].length, 8);
		assert_int_equal(ranges[i].access, rows[i].access);
	}
	assert_int_equal(nannounced, 1);
}

TEST(a_failed_request_is_kept_and_those_after_it_name_nothing)
{
	struct event_id ids[4], poll;

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		ids[i] = learn_send(QP, IBV_WR_RDMA_WRITE, i + 1, 7);
	poll = complete_one(ids[1], IBV_WC_REM_ACCESS_ERR, 0);
	assert_ptr_equal(failed_request, &connected.open[1]);
	assert_int_equal(failed_request->post.n, ids[1].n);
	complete_one(ids[2], IBV_WC_WR_FLUSH_ERR, 0);
	complete_one(ids[3], IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE); /* damage */
	assert_int_equal(nranges, 1);
	assert_int_equal(ranges[0].rkey, 1);
	assert_int_equal(value_of(&far.failed, ids[1]), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(far.failed.used, 1);
	assert_int_equal(value_of(&far.taken, poll), UINT64_MAX);
	assert_int_equal(nfailures, 2);
}

TEST(a_flushed_send_had_no_receive)
{
	struct event_id sent, wrote;

	(void)state;
	sent = learn_send(QP, IBV_WR_SEND, 0, 7);
	complete_one(sent, IBV_WC_WR_FLUSH_ERR, 0);
	assert_int_equal(value_of(&far.failed, sent), IBV_WC_WR_FLUSH_ERR);
	wrote = learn_send(QP, IBV_WR_RDMA_WRITE, 1, 7);
	complete_one(wrote, IBV_WC_WR_FLUSH_ERR, 0);
	assert_int_equal(value_of(&far.failed, wrote), UINT64_MAX); /* the write uses no receive */
	complete_one((struct event_id){ 9, 9 }, IBV_WC_WR_FLUSH_ERR, 0);
	assert_null(failed_request);
	assert_int_equal(far.failed.used, 1);
	assert_int_equal(far.taken.used, 0);
	assert_int_equal(nranges, 0);
}

TEST(what_stops_a_queue_pair_is_noted_elsewhere)
{
	struct event_id id;

	(void)state;
	modify_qp(QP, "{\"attr\":{\"qp_state\":\"IBV_QPS_ERR\"}}");
	assert_int_equal(ncalls, 1);
	id = learn_send(QP, IBV_WR_RDMA_WRITE, 1, 7);
	connected.open[0].time = 35;
	complete_one(id, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	assert_int_equal(connected.life.alive, 35);
	assert_int_equal(nmessages, 0);
	learn_wc((struct wc){ .qp = QP, .opcode = IBV_WC_RECV, .byte_len = 1 });
	assert_int_equal(nmessages, 1);
	assert_int_equal(nevents, 4);
}

TEST(a_receive_in_error_was_taken_by_a_message)
{
	const struct sge sge = { .length = 2 * PAGE };
	const struct wr wr = { .nsge = 1, .sge = &sge };
	struct event_id poll;

	(void)state;
	learn_posts(VERB_post_srq_recv, CQ, &wr, 1, 0);
	poll = complete_one((struct event_id){ 9, 9 }, IBV_WC_LOC_LEN_ERR, IBV_WC_RECV);
	assert_int_equal(value_of(&far.taken, poll), 1);
	assert_int_equal(hosts[0].longest, 3 * PAGE); /* longer than the longest receive */
}

TEST(the_longest_message_is_known_in_pages)
{
	(void)state;
	learn_send(QP, IBV_WR_SEND, 0, 4);
	assert_int_equal(hosts[0].longest, PAGE);
	learn_send(QP, IBV_WR_SEND, 0, PAGE - 1);
	assert_int_equal(hosts[0].longest, PAGE);
	learn_send(QP, IBV_WR_SEND, 0, PAGE);
	assert_int_equal(hosts[0].longest, 2 * PAGE);
	learn_wc((struct wc){ .qp = QP, .opcode = IBV_WC_RECV, .byte_len = 2 * PAGE + 1 });
	assert_int_equal(hosts[0].longest, 3 * PAGE);
	learn_wc((struct wc){ .qp = QP, .opcode = IBV_WC_RECV, .byte_len = 1u << 31 });
	assert_int_equal(hosts[0].longest, 1u << 31);
	learn_wc((struct wc){ .qp = QP, .opcode = IBV_WC_RECV, .byte_len = (1u << 31) + 1 });
	assert_int_equal(hosts[0].longest, 1u << 31); /* damage */
	assert_int_equal(far.taken.used, 0);
	assert_int_equal(nranges, 0);
}

TEST(a_message_that_invalidates_needs_a_window)
{
	(void)state;
	learn_send(QP, IBV_WR_SEND_WITH_IMM, 0, 4);
	assert_false(hosts[0].bind);
	learn_send(QP, IBV_WR_SEND_WITH_INV, 0, 4);
	learn_send(QP, IBV_WR_SEND, 0, 4);
	assert_true(hosts[0].bind);
}

TEST(bytes_that_were_fetched_are_known_by_their_request)
{
	static const enum ibv_wc_opcode opcodes[] = { IBV_WC_RDMA_READ, IBV_WC_COMP_SWAP,
						      IBV_WC_FETCH_ADD, IBV_WC_RDMA_WRITE };
	struct event_id ids[4], polls[4];

	(void)state;
	replay.contents = (struct contents *)(void *)&far;
	for (uint32_t i = 0; i < 4; i++) {
		ids[i] = learn_send(QP, IBV_WR_RDMA_READ, i + 1, 7);
		polls[i] = complete_one(ids[i], IBV_WC_SUCCESS, opcodes[i]);
	}
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(value_of(&far.reads, ids[i]), i + 1);
		assert_int_equal(far.fetched[i].poll.n, polls[i].n);
		assert_int_equal(far.fetched[i].index, 0);
	}
	assert_int_equal(far.nfetched, 3);
	replay.contents = NULL;
	ids[0] = learn_send(QP, IBV_WR_RDMA_READ, 1, 7);
	complete_one(ids[0], IBV_WC_SUCCESS, IBV_WC_RDMA_READ);
	assert_int_equal(far.nfetched, 3);
}

TEST(a_request_of_a_list_is_found_by_its_index)
{
	const struct wr wrs[3] = { { .opcode = IBV_WR_RDMA_READ, .rkey = 1 },
				   { .opcode = IBV_WR_RDMA_READ, .rkey = 2 },
				   { .opcode = IBV_WR_RDMA_READ, .rkey = 3 } };
	struct event_id id = learn_posts(VERB_post_send, QP, wrs, 3, 0);

	(void)state;
	learn_wc((struct wc){ .qp = QP, .request = id, .request_index = 1 });
	assert_int_equal(nranges, 2);
	assert_int_equal(connected.nopen - connected.first, 1);
}

TEST(posts_that_do_not_count_are_passed_over)
{
	const struct wr wr = { .opcode = IBV_WR_RDMA_READ, .rkey = 1 };
	struct post post = { .verb = VERB_post_send, .object = QP, .nwr = 1, .wr = &wr };
	const struct trace_event event = { .kind = TRACE_POST, .inner = true, .post = &post };

	(void)state;
	learn_posts(VERB_post_send, QP, &wr, 1, ENOMEM);
	learn_posts(VERB_post_send, CQ, &wr, 1, 0);
	learn_posts(VERB_post_send, NOBJECTS, &wr, 1, 0);
	assert_int_equal(synth_learn_event(&pass, &event), 0);
	connected.at = 0; /* not connected */
	learn_posts(VERB_post_send, QP, &wr, 1, 0);
	assert_int_equal(connected.nopen, 0);
}

TEST(many_requests_are_found_as_they_end)
{
	struct event_id ids[40];

	(void)state;
	for (uint32_t i = 0; i < 40; i++) {
		ids[i] = learn_send(QP, IBV_WR_RDMA_WRITE, i + 1, 7);
		if (i % 3 == 2)
			complete_one(ids[i - 1], IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
		nranges = i < 30 ? 0 : nranges;
	}
	assert_int_equal(nranges, 9);
	for (uint32_t i = 0; i < 9; i++)
		assert_int_equal(ranges[i].rkey, 30 + i);
	assert_true(connected.nopen < 12);
}

TEST(each_connection_is_the_next_link)
{
	(void)state;
	connected.at = 0;
	modify_qp(QP, "{\"attr\":{\"dest_qp_num\":5}}");
	assert_int_equal(connected.at, 1);
	modify_qp(QP, "{\"attr\":{\"qp_state\":\"IBV_QPS_RTS\"}}");
	assert_int_equal(connected.at, 1);
	modify_qp(QP, "{\"attr\":{\"dest_qp_num\":5}}");
	modify_qp(QP, "{\"attr\":{\"dest_qp_num\":5}}");
	assert_int_equal(connected.at, 2);
	modify_qp(UD, "{\"attr\":{\"dest_qp_num\":5}}");
	assert_int_equal(datagrams.at, 0);
}

TEST(calls_that_did_nothing_connect_nothing)
{
	static const char text[] = "{\"attr\":{\"dest_qp_num\":5}}";
	struct args *args = args_new(text, strlen(text));
	struct call call = { .object = QP, .args = args };
	const struct trace_event event = { .kind = TRACE_CALL, .call = &call };

	(void)state;
	for (int i = 0; i < 4; i++) {
		call.verb = i ? VERB_modify_qp : VERB_query_qp;
		call.failed = i == 1;
		call.ours = i == 2;
		call.depth = i == 3;
		assert_int_equal(synth_learn_event(&pass, &event), 0);
		assert_int_equal(connected.at, 1);
	}
	args_unref(args);
}

TEST(a_datagram_to_an_unknown_number_is_for_another_host)
{
	const struct synth_link *link;

	(void)state;
	learn_send(UD, IBV_WR_SEND, 0, 2 * PAGE - 42);
	assert_true(datagrams.needed);
	assert_int_equal(datagrams.nlinks, 1);
	link = datagrams.links;
	assert_int_equal(link->number, 33);
	assert_int_equal(link->host, 2);
	assert_true(link->named);
	assert_ptr_equal(host_of, &avs[0]);
	assert_int_equal(hosts[1].longest, 2 * PAGE); /* with its header */
	avs[0].is_global = 1;
	learn_send(UD, IBV_WR_SEND, 0, 2 * PAGE - 40);
	assert_int_equal(datagrams.nlinks, 1);
	assert_int_equal(hosts[1].longest, 3 * PAGE);
	assert_int_equal(datagrams.links[0].av.dlid, 9);
	assert_int_equal(connected.sent_to, 0);
}

TEST(a_datagram_within_the_trace_or_the_pair_needs_no_other_end)
{
	const struct wr multicast = { .opcode = IBV_WR_SEND, .ah = 0x40, .remote_qpn = 0xffffff };
	struct wr other = multicast;

	(void)state;
	inside = UD;
	learn_send(UD, IBV_WR_SEND, 0, 7);
	assert_int_equal(datagrams.sent_to, 1);
	inside = 0;
	is_paired = true;
	learn_send(UD, IBV_WR_SEND, 0, 7);
	is_paired = false;
	learn_posts(VERB_post_send, UD, &multicast, 1, 0);
	other.remote_qpn = 1;
	learn_posts(VERB_post_send, UD, &other, 1, 0);
	assert_false(datagrams.needed);
	other.remote_qpn = 2;
	learn_posts(VERB_post_send, UD, &other, 1, 0);
	assert_true(datagrams.needed);
	assert_int_equal(datagrams.sent_to, 1);
}

static void hear_datagram(uint32_t from)
{
	learn_wc((struct wc){ .qp = UD,
			      .opcode = IBV_WC_RECV,
			      .src_qp = from,
			      .slid = 12,
			      .byte_len = PAGE - 40 });
}

TEST(a_datagram_from_an_unknown_number_is_from_another_host)
{
	(void)state;
	hear_datagram(1);
	assert_false(datagrams.needed);
	hear_datagram(44);
	hear_datagram(44);
	assert_true(datagrams.needed);
	assert_int_equal(datagrams.nlinks, 1);
	assert_int_equal(datagrams.links[0].number, 44);
	assert_int_equal(datagrams.links[0].heard, 2);
	assert_false(datagrams.links[0].named);
	assert_int_equal(hosts[1].longest, PAGE);
	hear_datagram(45);
	assert_int_equal(datagrams.nlinks, 2);
	assert_int_equal(datagrams.links[1].heard, 1);
	is_paired = true;
	hear_datagram(46);
	assert_int_equal(datagrams.nlinks, 2);
}

TEST(a_datagram_from_inside_is_counted)
{
	(void)state;
	inside = QP;
	hear_datagram(44);
	assert_int_equal(datagrams.heard, 1);
	assert_false(datagrams.needed);
	inside = UD; /* its own number, but nobody has sent that many */
	datagrams.sent_to = 1;
	hear_datagram(44);
	assert_int_equal(datagrams.heard, 1);
	assert_true(datagrams.needed);
	datagrams.sent_to = 2;
	hear_datagram(44);
	assert_int_equal(datagrams.heard, 2);
}

TEST(a_datagram_that_failed_or_was_sent_shows_no_sender)
{
	(void)state;
	learn_wc((struct wc){ .qp = UD, .opcode = IBV_WC_SEND, .src_qp = 44 });
	learn_wc((struct wc){
		.qp = UD, .opcode = IBV_WC_RECV, .src_qp = 44, .status = IBV_WC_WR_FLUSH_ERR });
	assert_int_equal(datagrams.nlinks, 0);
}

TEST(an_arming_is_noted)
{
	struct notify notify = { .object = CQ, .solicited_only = 1 };
	struct trace_event event = { .kind = TRACE_NOTIFY, .notify = &notify };

	(void)state;
	assert_int_equal(synth_learn_event(&pass, &event), 0);
	assert_true(announcements[CQ].solicited);
	notify.solicited_only = 0;
	assert_int_equal(synth_learn_event(&pass, &event), 0);
	assert_false(announcements[CQ].solicited);
	notify.object = NOBJECTS;
	assert_int_equal(synth_learn_event(&pass, &event), 0);
	event.kind = TRACE_RETURN;
	assert_int_equal(synth_learn_event(&pass, &event), 0);
	assert_int_equal(nreturns, 1);
	event.kind = TRACE_EXIT;
	assert_int_equal(synth_learn_event(&pass, &event), 0);
	assert_int_equal(nreturns, 1);
}
