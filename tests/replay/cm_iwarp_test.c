/*
 * replay/cm/cm_iwarp.c: queue pairs of an iWARP device, which librdmacm alone connects
 *
 * QP and PEER were connected by ibv_modify_qp(); ID_QP is that of identifier END.
 */
#include "tests/replay/cm_fake.h"

enum { QP = 1, PEER, ID_QP, END, PARTNER, NOT_REPLAYED };

static struct replica_qp queue_pairs[NOT_REPLAYED + 1];
static struct ibv_qp handles[NOT_REPLAYED + 1];
/* Deliver in turn the messages that the ends wait for. */
static void answer_both(void)
{
	for (uint32_t i = 0; i < replay.cm->nmade; i++) {
		const struct cm_end *asking = replay.cm->made[i];

		if (cm_nwaits == 1 && asking->id && asking->id->route.addr.dst_addr.sa_family)
			ask_listener(replay.cm->made[0]->id, ntohs(fake_get_src_port(asking->id)));
		if (cm_nwaits == 2 && asking->asked) {
			bring_event(RDMA_CM_EVENT_ESTABLISHED, asking->asked->id);
			bring_event(RDMA_CM_EVENT_ESTABLISHED, asking->id);
		}
	}
}

static int begin_iwarp(void **state)
{
	begin_cm(state);
	for (uint32_t i = QP; i <= NOT_REPLAYED; i++)
		add_object(i == END || i == PARTNER ? OBJECT_cm_id : OBJECT_qp, 1, 100 + i);
	drive_cm();
	memset(queue_pairs, 0, sizeof(queue_pairs));
	for (uint32_t i = QP; i <= ID_QP; i++) {
		handles[i] = (struct ibv_qp){ .context = &cm_context };
		cm_replicas[i] = (struct replica){ .handle = &handles[i],
						   .qp = &queue_pairs[i],
						   .made = true,
						   .number = 0x90 + i };
	}
	cm_replicas[NOT_REPLAYED] = (struct replica){ .made = true };
	cm_end_of(&replay, END)->qp = ID_QP;
	cm_end_of(&replay, END)->partner = PARTNER;
	map_put(&replay.cm->of_qp, ID_QP, END);
	cm_ibv_device.transport_type = IBV_TRANSPORT_IWARP;
	cm_list = &cm_interfaces[3];
	cm_on_wait = answer_both;
	return 0;
}

FIXTURE(begin_iwarp, end_cm);

static const char by_librdmacm[] = "queue pairs of an iWARP device are connected by librdmacm";

/* ibv_modify_qp(): "" if it is called, "needless", or the reason why it cannot be. */
static const char *modify_with(uint32_t qp, uint32_t peer, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr attr = { .qp_state = to };
	const char *needless = NULL, *why = NULL;

	if (!cm_modify(&replay, qp, peer, &attr, mask, &needless, &why)) {
		assert_null(needless);
		return "";
	}
	assert_string_equal(needless, by_librdmacm);
	return why ? why : "needless";
}

static const char *modify_qp(uint32_t qp, uint32_t peer, enum ibv_qp_state to)
{
	return modify_with(qp, peer, to, IBV_QP_STATE | (to == IBV_QPS_RTR ? IBV_QP_DEST_QPN : 0));
}

#define CONNECTED                                                                           \
	"create 1; bind 1 192.0.2.7:0; destroy 1; create 2; create 3; bind 2 192.0.2.7:0; " \
	"listen 2 1; resolve 3 - to 192.0.2.7:1001 2000; route 3 2000; "                    \
	"connect 3 1/1 0 7/7 0 qp 145 ''; accept 4 1/1 0 7/7 0 qp 146 ''; "                 \
	"related 1 to 2; related 2 to 1"

static void connect_both(void)
{
	assert_string_equal(modify_qp(QP, PEER, IBV_QPS_RTR), "needless");
	expect_log(CONNECTED);
}

TEST(queue_pairs_are_connected_when_the_first_is_ready)
{
	(void)state;
	assert_string_equal(modify_qp(QP, PEER, IBV_QPS_INIT), "");
	connect_both();
	assert_int_equal(queue_pairs[QP].peer, PEER);
	assert_int_equal(queue_pairs[PEER].peer, QP);
	assert_string_equal(modify_qp(PEER, QP, IBV_QPS_RTR), "needless");
	assert_string_equal(modify_qp(QP, PEER, IBV_QPS_RTS), "needless");
	assert_string_equal(modify_qp(PEER, QP, IBV_QPS_INIT), "needless"); /* it is beyond that */
	expect_log("");
}

TEST(other_changes_are_made)
{
	(void)state;
	assert_string_equal(modify_qp(QP, PEER, IBV_QPS_ERR), "");
	assert_string_equal(modify_qp(QP, PEER, IBV_QPS_SQD), "");
	assert_string_equal(modify_with(QP, PEER, IBV_QPS_RTR, IBV_QP_DEST_QPN), "");
	assert_string_equal(modify_with(QP, PEER, IBV_QPS_RTR, IBV_QP_STATE), "needless");
	expect_log("");
	cm_ibv_device.transport_type = IBV_TRANSPORT_IB;
	assert_string_equal(modify_qp(QP, PEER, IBV_QPS_RTR), "");
	assert_false(cm_has_iwarp(&replay));
}

TEST(only_queue_pairs_of_the_replay_are_connected)
{
	(void)state;
	assert_true(cm_connects(&replay, QP));
	assert_false(cm_connects(&replay, 0));
	assert_false(cm_connects(&replay, NOT_REPLAYED));
	assert_false(cm_connects(&replay, NOT_REPLAYED + 1));
	replay.cm->driven = false;
	assert_false(cm_connects(&replay, QP));
	replay.cm->driven = true;
	cm_ibv_device.transport_type = IBV_TRANSPORT_IB;
	assert_false(cm_connects(&replay, QP));
}

TEST(a_queue_pair_is_connected_once)
{
	(void)state;
	connect_both();
	assert_string_equal(modify_qp(QP, PEER, IBV_QPS_RESET), "");
	assert_string_equal(modify_qp(QP, PEER, IBV_QPS_RTR),
			    "a queue pair of an iWARP device is connected only once");
	expect_log("cut 1 for 0: a queue pair of an iWARP device is connected only once");
	/* the other was not ready before its reset: it goes on */
	assert_string_equal(modify_qp(PEER, QP, IBV_QPS_RESET), "");
	assert_string_equal(modify_qp(PEER, QP, IBV_QPS_RTR), "needless");
	expect_log("");
}

static void expect_cut(uint32_t peer, const char *why)
{
	char cut[128];

	snprintf(cut, sizeof(cut), "cut 1 for 0: %s", why);
	assert_string_equal(modify_qp(QP, peer, IBV_QPS_RTR), why);
	expect_log(cut);
}

TEST(a_queue_pair_without_a_peer_is_left_out)
{
	(void)state;
	expect_cut(QP, "a queue pair of an iWARP device is not connected to itself");
	expect_cut(0, "peers of queue pairs cannot be synthesized on an iWARP device");
	expect_cut(NOT_REPLAYED, "the peer of its queue pair was not created in the replay");
	queue_pairs[PEER].cut = "why";
	expect_cut(PEER, "the peer of its queue pair is not replayed");
}

TEST(a_peer_that_is_not_created_yet_is_waited_for)
{
	(void)state;
	cm_replicas[PEER] = (struct replica){ 0 };
	assert_string_equal(modify_qp(QP, PEER, IBV_QPS_RTR), "needless");
	expect_log("");
}

static const char failed[] = "librdmacm could not connect its queue pair in the replay";

static void expect_failure(void)
{
	assert_string_equal(modify_qp(QP, PEER, IBV_QPS_RTR), failed);
	*cm_log = 0;
	map_remove(&replay.cm->joined, QP);
	assert_int_equal(queue_pairs[QP].peer, 0);
}

TEST(each_step_of_a_connection_may_fail)
{
	static const char *const steps[] = { "create_id",    "bind_addr",     "listen",
					     "resolve_addr", "resolve_route", "connect" };

	(void)state;
	for (unsigned int i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		cm_fails = steps[i];
		expect_failure();
	}
	cm_fails = NULL;
	cm_on_wait = NULL;
	cm_silent = true;
	expect_failure();
	cm_list = NULL;
	expect_failure();
}

TEST(both_ends_must_be_established)
{
	(void)state;
	cm_fails = "accept";
	expect_failure();
}

TEST(a_connection_that_is_not_established_fails)
{
	(void)state;
	cm_on_wait = NULL;
	assert_string_equal(modify_qp(QP, PEER, IBV_QPS_RTR), failed);
	assert_null(strstr(cm_log, "accept"));
	assert_int_equal(cm_deadline, CM_NOW + CM_TIMEOUT);
	*cm_log = 0;
}

TEST(a_device_that_was_an_iwarp_one_needs_no_connection)
{
	(void)state;
	cm_was_iwarp = true; /* the program called rdma_connect() */
	assert_string_equal(modify_qp(QP, PEER, IBV_QPS_RTR), "");
	map_put(&replay.cm->joined, QP, 1);
	assert_string_equal(modify_qp(QP, PEER, IBV_QPS_RTR), "needless");
	expect_log("");
}

TEST(queue_pairs_of_identifiers_are_connected_by_these)
{
	const struct cm_end *end = cm_end_of(&replay, END);

	(void)state;
	assert_string_equal(modify_qp(ID_QP, QP, IBV_QPS_RTR), "needless");
	expect_log("");
	assert_int_equal(cm_note_connected(&replay, end), 0);
	expect_log("");
	cm_end_of(&replay, PARTNER)->qp = QP;
	assert_int_equal(cm_note_connected(&replay, end), 0);
	expect_log("related 3 to 1; related 1 to 3");
	assert_int_equal(queue_pairs[ID_QP].peer, QP);
	assert_int_equal(cm_note_connected(&replay, end), 0); /* known */
	expect_log("");
	assert_string_equal(modify_qp(ID_QP, QP, IBV_QPS_INIT), "needless");
}

TEST(an_identifier_without_a_queue_pair_of_iwarp_is_not_noted)
{
	(void)state;
	assert_int_equal(cm_note_connected(&replay, cm_end_of(&replay, PARTNER)), 0);
	cm_ibv_device.transport_type = IBV_TRANSPORT_IB;
	assert_int_equal(cm_note_connected(&replay, cm_end_of(&replay, END)), 0);
	assert_int_equal(replay.cm->joined.used, 0);
}

TEST(an_identifier_without_its_other_end_is_left_out)
{
	static const char why[] = "peers cannot be synthesized on an iWARP device";
	struct cm_end *end = cm_end_of(&replay, END);

	(void)state;
	assert_null(cm_why_not_connected(&replay, NULL));
	assert_null(cm_why_not_connected(&replay, end));
	end->partner = 0;
	assert_string_equal(cm_why_not_connected(&replay, end), why);
	assert_string_equal(modify_qp(ID_QP, 0, IBV_QPS_INIT), why);
	expect_log("cut 3 for 0: peers cannot be synthesized on an iWARP device");
	end->refused = true;
	assert_null(cm_why_not_connected(&replay, end));
	end->refused = false;
	end->datagrams = true;
	assert_null(cm_why_not_connected(&replay, end));
	end->datagrams = false;
	cm_ibv_device.transport_type = IBV_TRANSPORT_IB;
	assert_null(cm_why_not_connected(&replay, end));
}
