/*
 * The events of a Perfetto trace, as lines
 *
 * 	track NUMBER [in PARENT] 'NAME' [pid P] [tid T] [counts UNIT]
 * 	TIME us begin|end|instant|is TRACK [NAME] [NOTE=VALUE...] [flow N...]
 */
#include "cli/export/perfetto.h"

#include <stdlib.h>

#include "analyzer/profile/profile.h"
#include "cli/export/tracks.h"
#include "tests/core/store/example.h"
#include "tests/transcript.h"

/* A field of a message. */
struct field {
	unsigned int number;
	uint64_t value;
	const uint8_t *at; /* of a string or a message, of @value bytes */
};

static char names[4][1024][32]; /* by the field that interns them and their number */

static uint64_t take_varint(const uint8_t **at)
{
	uint64_t value = 0;

	for (int shift = 0;; shift += 7) {
		value |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return value;
	}
}

/* The next field, or false at @end. */
static bool take_field(const uint8_t **at, const uint8_t *end, struct field *field)
{
	uint64_t tag;

	if (*at == end)
		return false;
	assert_true(*at < end);
	tag = take_varint(at);
	*field = (struct field){ .number = (unsigned int)(tag >> 3) };
	if ((tag & 7) == 1) {
		memcpy(&field->value, *at, 8);
		*at += 8;
		return true;
	}
	field->value = take_varint(at);
	if ((tag & 7) == 2) {
		field->at = *at;
		*at += field->value;
	} else {
		assert_int_equal(tag & 7, 0);
	}
	return true;
}

/* Field @number of a message; zero if it has none. */
static struct field find_field(const struct field *message, unsigned int number)
{
	const uint8_t *at = message->at;
	struct field field;

	while (at && take_field(&at, message->at + message->value, &field))
		if (field.number == number)
			return field;
	return (struct field){ 0 };
}

static void add_string(struct text *out, struct field field)
{
	text_addf(out, "'%.*s'", (int)field.value, field.at ? (const char *)field.at : "");
}

static void learn_names(const struct field *interned)
{
	const uint8_t *at = interned->at;
	struct field each;

	while (take_field(&at, interned->at + interned->value, &each)) {
		struct field id = find_field(&each, 1), name = find_field(&each, 2);

		assert_in_range(each.number, 1, 3);
		assert_in_range(id.value, 1, 1023);
		snprintf(names[each.number][id.value], 32, "%.*s", (int)name.value,
			 (const char *)name.at);
	}
}

/* KIND:NUMBER of a track. */
static void add_track_id(struct text *out, uint64_t id)
{
	text_addf(out, "%u:%" PRIx64, (unsigned int)(id >> 56), id & (UINT64_MAX >> 8));
}

static void add_descriptor(struct text *out, const struct field *track)
{
	struct field process = find_field(track, 3), thread = find_field(track, 4);
	struct field counter = find_field(track, 8);

	text_addf(out, "track ");
	add_track_id(out, find_field(track, 1).value);
	if (find_field(track, 5).number) {
		text_addf(out, " in ");
		add_track_id(out, find_field(track, 5).value);
	}
	text_addf(out, " ");
	add_string(out, find_field(track, 2));
	if (process.number) {
		text_addf(out, " pid %u ", (unsigned int)find_field(&process, 1).value);
		add_string(out, find_field(&process, 6));
	}
	if (thread.number) {
		text_addf(out, " pid %u tid %u ", (unsigned int)find_field(&thread, 1).value,
			  (unsigned int)find_field(&thread, 2).value);
		add_string(out, find_field(&thread, 5));
	}
	if (counter.number)
		text_addf(out, " counts %u", (unsigned int)find_field(&counter, 3).value);
	text_addf(out, "\n");
}

static void add_note(struct text *out, const struct field *note)
{
	struct field string = find_field(note, 6);

	text_addf(out, " %s=", names[3][find_field(note, 1).value]);
	if (string.number)
		add_string(out, string);
	else if (find_field(note, 4).value >> 32)
		text_addf(out, "POINTER");
	else
		text_addf(out, "%" PRId64, (int64_t)find_field(note, 4).value);
}

static void add_event(struct text *out, const struct field *event, uint64_t time)
{
	static const char *const types[] = { "?", "begin", "end", "instant", "is" };
	struct field name = find_field(event, 10), each;
	const uint8_t *at = event->at;

	text_addf(out, "%" PRIu64 " %s ", time, types[find_field(event, 9).value]);
	add_track_id(out, find_field(event, 11).value);
	if (find_field(event, 30).number)
		text_addf(out, " %" PRIu64, find_field(event, 30).value);
	if (name.number)
		text_addf(out, " %s.%s", names[1][find_field(event, 3).value],
			  names[2][name.value]);
	while (take_field(&at, event->at + event->value, &each)) {
		if (each.number == 4)
			add_note(out, &each);
		if (each.number == 47)
			text_addf(out, " flow %" PRIu64, each.value);
	}
	text_addf(out, "\n");
}

static void add_packet(struct text *out, const struct field *packet)
{
	struct field interned = find_field(packet, 12), track = find_field(packet, 60);
	struct field event = find_field(packet, 11);

	assert_int_equal(find_field(packet, 10).value, 1);
	assert_int_equal(find_field(packet, 13).value, interned.number ? 1 : 2);
	if (interned.number)
		learn_names(&interned);
	if (track.number)
		add_descriptor(out, &track);
	if (event.number)
		add_event(out, &event, find_field(packet, 8).value);
}

/* Boot time 0 is when the recording began. */
static void check_clocks(const struct field *packet)
{
	struct field clocks = find_field(packet, 6), clock;
	const uint8_t *at = clocks.at;

	assert_true(take_field(&at, clocks.at + clocks.value, &clock));
	assert_int_equal(find_field(&clock, 1).value, 6);
	assert_int_equal(find_field(&clock, 2).value, 0);
	assert_true(take_field(&at, clocks.at + clocks.value, &clock));
	assert_int_equal(find_field(&clock, 1).value, 1);
	assert_true(find_field(&clock, 2).value == EXAMPLE_REALTIME);
}

/* What was written, without the calls that make objects. */
static void expect_events(const struct profile_select *select, const char *wanted)
{
	struct text text = { 0 };
	struct field packet;
	char *buffer = NULL;
	const uint8_t *at;
	size_t n;
	FILE *file = open_memstream(&buffer, &n);

	memset(names, 0, sizeof(names));
	assert_int_equal(perfetto_write(file, example.trace, select), 0);
	fclose(file);
	at = (const uint8_t *)buffer;
	for (int i = 0; take_field(&at, (const uint8_t *)buffer + n, &packet); i++) {
		assert_int_equal(packet.number, 1);
		add_packet(&text, &packet);
		if (i == 1)
			check_clocks(&packet);
	}
	transcript_compare(text.at ?: "", wanted);
	text_fini(&text);
	free(buffer);
}

static void post_send(struct example_end *end, uint64_t us, uint64_t wr_id, int opcode,
		      uint32_t length)
{
	struct example_wr wr = { .wr_id = wr_id,
				 .opcode = opcode,
				 .flags = IBV_SEND_SIGNALED,
				 .lengths = { length },
				 .rdma = { 0x20000, 0x22 } };

	wr.parts = opcode == IBV_WR_RDMA_WRITE ? WR_RDMA : 0;
	example_at(us);
	example_post(end, wr);
}

static const struct profile_select late = { .from = 90000 };

static void expect_late(const char *wanted)
{
	example_open(&example);
	expect_events(&late, wanted);
	example_end(&example);
}

TEST(calls_are_slices_of_their_threads)
{
	const struct profile_select begin = { .to = 6000 };

	example_begin(&example);
	example_open(&example);
	expect_events(&begin, "track 1:1 'app --flag' pid 100 'app --flag'\n"
			      "track 2:1 in 1:1 'thread-101' pid 100 tid 101 'thread-101'\n"
			      "1001 begin 2:1 verbs.ibv_get_device_list event='1:2'\n"
			      "1002 end 2:1 ret=POINTER\n"
			      "1003 begin 2:1 verbs.ibv_open_device event='1:4'\n"
			      "1004 end 2:1 ret=POINTER\n"
			      "1005 begin 2:1 verbs.ibv_query_port event='1:6'\n"
			      "1006 end 2:1 ret=0\n"
			      "1007 begin 2:1 verbs.ibv_query_gid event='1:8'\n"
			      "1008 end 2:1 ret=0\n"
			      "1009 begin 2:1 verbs.ibv_alloc_pd event='1:10'\n"
			      "1010 end 2:1 ret=POINTER\n"
			      "1011 begin 2:1 verbs.ibv_reg_mr event='1:12'\n"
			      "1012 end 2:1 ret=POINTER\n"
			      "track 5:1 in 1:1 'pinned bytes' counts 3\n"
			      "1012 is 5:1 65536\n"
			      "1013 begin 2:1 verbs.ibv_create_cq event='1:14'\n"
			      "1014 end 2:1 ret=POINTER\n"
			      "track 1:2 'app --flag' pid 200 'app --flag'\n"
			      "track 2:2 in 1:2 'thread-201' pid 200 tid 201 'thread-201'\n"
			      "1016 begin 2:2 verbs.ibv_get_device_list event='2:2'\n"
			      "1017 end 2:2 ret=POINTER\n"
			      "1018 begin 2:2 verbs.ibv_open_device event='2:4'\n"
			      "1019 end 2:2 ret=POINTER\n"
			      "1020 begin 2:2 verbs.ibv_query_port event='2:6'\n"
			      "1021 end 2:2 ret=0\n"
			      "1022 begin 2:2 verbs.ibv_query_gid event='2:8'\n"
			      "1023 end 2:2 ret=0\n"
			      "1024 begin 2:2 verbs.ibv_alloc_pd event='2:10'\n"
			      "1025 end 2:2 ret=POINTER\n"
			      "1026 begin 2:2 verbs.ibv_reg_mr event='2:12'\n"
			      "1027 end 2:2 ret=POINTER\n"
			      "track 5:2 in 1:2 'pinned bytes' counts 3\n"
			      "1027 is 5:2 65536\n"
			      "1028 begin 2:2 verbs.ibv_create_cq event='2:14'\n"
			      "1029 end 2:2 ret=POINTER\n");
	example_end(&example);
}

TEST(registered_bytes_are_counted)
{
	struct example_end *end = &example.ends[1];

	example_begin(&example);
	example_at(100);
	make_verb(&end->m, VERB_dereg_mr, MAKE_ARGS(MAKE_PTR(&end->mr)), 0, 0);
	expect_late("track 1:2 'app --flag' pid 200 'app --flag'\n"
		    "track 2:2 in 1:2 'thread-201' pid 200 tid 201 'thread-201'\n"
		    "100000 begin 2:2 verbs.ibv_dereg_mr event='2:16'\n"
		    "100001 end 2:2 ret=0\n"
		    "track 5:2 in 1:2 'pinned bytes' counts 3\n"
		    "100001 is 5:2 0\n");
}

TEST(calls_that_did_not_return_end_with_the_trace)
{
	struct example_end *end = &example.ends[0];
	uint32_t call;

	example_begin(&example);
	example_at(100);
	make_call(&end->m, VERB_dealloc_pd, 0, 0, MAKE_ARGS(MAKE_PTR(&end->pd)));
	example_at(110);
	call = make_call(&end->m, VERB_destroy_cq, 1, 0, MAKE_ARGS(MAKE_PTR(&end->cq)));
	example_at(120);
	make_return(&end->m, call, VERB_destroy_cq, MAKE_ARGS(MAKE_PTR(&end->cq)), EBUSY, EBUSY);
	expect_late("track 1:1 'app --flag' pid 100 'app --flag'\n"
		    "track 2:1 in 1:1 'thread-101' pid 100 tid 101 'thread-101'\n"
		    "100000 begin 2:1 verbs.ibv_dealloc_pd event='1:16'\n"
		    "110000 begin 2:1 verbs.ibv_destroy_cq event='1:17'\n"
		    "120000 end 2:1 ret=16\n"
		    "120000 end 2:1\n");
}

/* A request takes the first free lane; a completion ends all requests before its own. */
TEST(requests_are_slices_in_lanes)
{
	struct example_end *end = &example.ends[0];

	example_begin_connected(&example, IBV_QPT_RC, true, false);
	post_send(end, 100, 1, IBV_WR_SEND, 10);
	post_send(end, 110, 2, IBV_WR_RDMA_WRITE, 20);
	post_send(end, 120, 3, IBV_WR_SEND_WITH_IMM, 30);
	example_at(130);
	example_poll(end, 2, 0, IBV_WC_RDMA_WRITE, 0);
	post_send(end, 140, 4, 12, 40);
	post_send(end, 150, 5, 13, 50);
	post_send(end, 160, 6, 15, 60);
	example_at(170);
	example_poll(end, 6, IBV_WC_REM_ACCESS_ERR, 0, 0);
	post_send(end, 180, 7, IBV_WR_SEND, 70);
	expect_late("track 1:1 'app --flag' pid 100 'app --flag'\n"
		    "track 2:1 in 1:1 'thread-101' pid 100 tid 101 'thread-101'\n"
		    "100000 instant 2:1 verbs.ibv_post_send event='1:24' ret=0 flow 1\n"
		    "track 3:1600000 in 1:1 'qp1 sends 1'\n"
		    "100000 begin 3:1600000 verbs.SEND event='1:24[0]' wr_id=1 bytes=10 flow 1\n"
		    "track 4:b in 1:1 'qp1 outstanding' counts 2\n"
		    "100000 is 4:b 1\n"
		    "110000 instant 2:1 verbs.ibv_post_send event='1:25' ret=0 flow 2\n"
		    "track 3:1600001 in 1:1 'qp1 sends 2'\n"
		    "110000 begin 3:1600001 verbs.RDMA_WRITE event='1:25[0]' wr_id=2 bytes=20 flow "
		    "2\n"
		    "110000 is 4:b 2\n"
		    "120000 instant 2:1 verbs.ibv_post_send event='1:26' ret=0 flow 3\n"
		    "track 3:1600002 in 1:1 'qp1 sends 3'\n"
		    "120000 begin 3:1600002 verbs.SEND_WITH_IMM event='1:26[0]' wr_id=3 bytes=30 fl"
		    "ow 3\n"
		    "120000 is 4:b 3\n"
		    "130000 instant 2:1 verbs.ibv_poll_cq event='1:27' ret=1 flow 2\n"
		    "130000 end 3:1600000\n"
		    "130000 end 3:1600001 status=0\n"
		    "130000 is 4:b 1\n"
		    "140000 instant 2:1 verbs.ibv_post_send event='1:28' ret=0 flow 4\n"
		    "140000 begin 3:1600000 verbs.request event='1:28[0]' wr_id=4 bytes=40 flow 4\n"
		    "140000 is 4:b 2\n"
		    "150000 instant 2:1 verbs.ibv_post_send event='1:29' ret=0 flow 5\n"
		    "150000 begin 3:1600001 verbs.request event='1:29[0]' wr_id=5 bytes=50 flow 5\n"
		    "150000 is 4:b 3\n"
		    "160000 instant 2:1 verbs.ibv_post_send event='1:30' ret=0 flow 6\n"
		    "track 3:1600003 in 1:1 'qp1 sends 4'\n"
		    "160000 begin 3:1600003 verbs.ATOMIC_WRITE event='1:30[0]' wr_id=6 bytes=60 flo"
		    "w 6\n"
		    "160000 is 4:b 4\n"
		    "170000 instant 2:1 verbs.ibv_poll_cq event='1:31' ret=1 flow 6\n"
		    "170000 end 3:1600002\n"
		    "170000 end 3:1600000\n"
		    "170000 end 3:1600001\n"
		    "170000 end 3:1600003 status=10\n"
		    "170000 is 4:b 0\n"
		    "180000 instant 2:1 verbs.ibv_post_send event='1:32' ret=0 flow 7\n"
		    "180000 begin 3:1600000 verbs.SEND event='1:32[0]' wr_id=7 bytes=70 flow 7\n"
		    "180000 is 4:b 1\n"
		    "180000 end 3:1600000\n");
}

/* The n-th message of one end is the n-th that the other receives; not after an error. */
TEST(messages_flow_to_their_receives)
{
	struct example_end *one = &example.ends[0], *two = &example.ends[1];

	example_begin_connected(&example, IBV_QPT_RC, true, false);
	example_at(100);
	for (uint64_t i = 0; i < 4; i++)
		example_receive(two, i, 100);
	post_send(one, 110, 1, IBV_WR_SEND, 10);
	post_send(one, 120, 2, IBV_WR_RDMA_WRITE, 20);
	post_send(one, 130, 3, IBV_WR_SEND, 30);
	example_at(140);
	example_poll(two, 0, 0, IBV_WC_RECV, 10);
	example_at(150);
	example_poll(two, 1, 0, IBV_WC_RECV, 30);
	example_at(160);
	example_poll(two, 2, 0, IBV_WC_RECV, 30);
	post_send(one, 170, 4, IBV_WR_SEND, 30);
	example_at(180);
	example_poll(one, 4, IBV_WC_RETRY_EXC_ERR, 0, 0);
	post_send(one, 190, 5, IBV_WR_SEND, 30);
	example_at(200);
	example_poll(two, 3, 0, IBV_WC_RECV, 30);
	expect_late(
		"track 1:2 'app --flag' pid 200 'app --flag'\n"
		"track 2:2 in 1:2 'thread-201' pid 200 tid 201 'thread-201'\n"
		"100000 instant 2:2 verbs.ibv_post_recv event='2:24' ret=0 flow 1\n"
		"track 3:1900000 in 1:2 'qp1 receives 1'\n"
		"100000 begin 3:1900000 verbs.receive event='2:24[0]' wr_id=0 bytes=100 flow 1\n"
		"track 4:c in 1:2 'qp1 outstanding' counts 2\n"
		"100000 is 4:c 1\n"
		"100001 instant 2:2 verbs.ibv_post_recv event='2:25' ret=0 flow 2\n"
		"track 3:1900001 in 1:2 'qp1 receives 2'\n"
		"100001 begin 3:1900001 verbs.receive event='2:25[0]' wr_id=1 bytes=100 flow 2\n"
		"100001 is 4:c 2\n"
		"100002 instant 2:2 verbs.ibv_post_recv event='2:26' ret=0 flow 3\n"
		"track 3:1900002 in 1:2 'qp1 receives 3'\n"
		"100002 begin 3:1900002 verbs.receive event='2:26[0]' wr_id=2 bytes=100 flow 3\n"
		"100002 is 4:c 3\n"
		"100003 instant 2:2 verbs.ibv_post_recv event='2:27' ret=0 flow 4\n"
		"track 3:1900003 in 1:2 'qp1 receives 4'\n"
		"100003 begin 3:1900003 verbs.receive event='2:27[0]' wr_id=3 bytes=100 flow 4\n"
		"100003 is 4:c 4\n"
		"track 1:1 'app --flag' pid 100 'app --flag'\n"
		"track 2:1 in 1:1 'thread-101' pid 100 tid 101 'thread-101'\n"
		"110000 instant 2:1 verbs.ibv_post_send event='1:24' ret=0 flow 5\n"
		"track 3:1600000 in 1:1 'qp1 sends 1'\n"
		"110000 begin 3:1600000 verbs.SEND event='1:24[0]' wr_id=1 bytes=10 flow 5\n"
		"track 4:b in 1:1 'qp1 outstanding' counts 2\n"
		"110000 is 4:b 1\n"
		"120000 instant 2:1 verbs.ibv_post_send event='1:25' ret=0 flow 6\n"
		"track 3:1600001 in 1:1 'qp1 sends 2'\n"
		"120000 begin 3:1600001 verbs.RDMA_WRITE event='1:25[0]' wr_id=2 bytes=20 flow "
		"6\n"
		"120000 is 4:b 2\n"
		"130000 instant 2:1 verbs.ibv_post_send event='1:26' ret=0 flow 7\n"
		"track 3:1600002 in 1:1 'qp1 sends 3'\n"
		"130000 begin 3:1600002 verbs.SEND event='1:26[0]' wr_id=3 bytes=30 flow 7\n"
		"130000 is 4:b 3\n"
		"140000 instant 2:2 verbs.ibv_poll_cq event='2:28' ret=1 flow 1 flow 5\n"
		"140000 end 3:1900000 status=0\n"
		"140000 is 4:c 3\n"
		"150000 instant 2:2 verbs.ibv_poll_cq event='2:29' ret=1 flow 2 flow 7\n"
		"150000 end 3:1900001 status=0\n"
		"150000 is 4:c 2\n"
		"160000 instant 2:2 verbs.ibv_poll_cq event='2:30' ret=1 flow 3\n"
		"160000 end 3:1900002 status=0\n"
		"160000 is 4:c 1\n"
		"170000 instant 2:1 verbs.ibv_post_send event='1:27' ret=0 flow 8\n"
		"track 3:1600003 in 1:1 'qp1 sends 4'\n"
		"170000 begin 3:1600003 verbs.SEND event='1:27[0]' wr_id=4 bytes=30 flow 8\n"
		"170000 is 4:b 4\n"
		"180000 instant 2:1 verbs.ibv_poll_cq event='1:28' ret=1 flow 8\n"
		"180000 end 3:1600000\n"
		"180000 end 3:1600001\n"
		"180000 end 3:1600002\n"
		"180000 end 3:1600003 status=12\n"
		"180000 is 4:b 0\n"
		"190000 instant 2:1 verbs.ibv_post_send event='1:29' ret=0 flow 9\n"
		"190000 begin 3:1600000 verbs.SEND event='1:29[0]' wr_id=5 bytes=30 flow 9\n"
		"190000 is 4:b 1\n"
		"200000 instant 2:2 verbs.ibv_poll_cq event='2:31' ret=1 flow 4\n"
		"200000 end 3:1900003 status=0\n"
		"200000 is 4:c 0\n"
		"200000 end 3:1600000\n");
}

TEST(a_shared_receive_queue_has_lanes_of_its_own)
{
	struct example_end *end = &example.ends[1];

	example_begin(&example);
	example_create_srq(end);
	example_create_qp(end, IBV_QPT_RC, 0x222, true);
	example_at(100);
	example_receive(end, 1, 64);
	example_receive(end, 2, 65);
	example_at(110);
	example_poll(end, 2, 0, IBV_WC_RECV, 64);
	expect_late("track 1:2 'app --flag' pid 200 'app --flag'\n"
		    "track 2:2 in 1:2 'thread-201' pid 200 tid 201 'thread-201'\n"
		    "100000 instant 2:2 verbs.ibv_post_srq_recv event='2:20' ret=0 flow 1\n"
		    "track 3:1700000 in 1:2 'srq1 receives 1'\n"
		    "100000 begin 3:1700000 verbs.receive event='2:20[0]' wr_id=1 bytes=64 flow 1\n"
		    "track 4:b in 1:2 'srq1 outstanding' counts 2\n"
		    "100000 is 4:b 1\n"
		    "100001 instant 2:2 verbs.ibv_post_srq_recv event='2:21' ret=0 flow 2\n"
		    "track 3:1700001 in 1:2 'srq1 receives 2'\n"
		    "100001 begin 3:1700001 verbs.receive event='2:21[0]' wr_id=2 bytes=65 flow 2\n"
		    "100001 is 4:b 2\n"
		    "110000 instant 2:2 verbs.ibv_poll_cq event='2:22' ret=1 flow 2\n"
		    "110000 end 3:1700001 status=0\n"
		    "110000 is 4:b 1\n"
		    "110000 end 3:1700000\n");
}

/* One of the requests is refused. */
TEST(each_request_of_a_list_has_its_slice)
{
	static const struct example_wr wrs[] = { { 1, IBV_WR_SEND, .lengths = { 4, 5 } },
						 { 2, IBV_WR_RDMA_READ, .lengths = { 6 } },
						 { 3, IBV_WR_SEND, .lengths = { 7 } } };
	struct example_end *end = &example.ends[0];

	example_begin_connected(&example, IBV_QPT_RC, true, false);
	example_at(100);
	example_post_list(end, VERB_post_send, &end->qp, wrs, 3, 3);
	example_at(110);
	make_poll(&end->m, &end->cq, 0,
		  (const struct event_wc[]){ example_wc(end, 1, 0, 0, 0),
					     example_wc(end, 2, 0, 0, 0) },
		  2);
	expect_late(
		"track 1:1 'app --flag' pid 100 'app --flag'\n"
		"track 2:1 in 1:1 'thread-101' pid 100 tid 101 'thread-101'\n"
		"100000 instant 2:1 verbs.ibv_post_send event='1:24' ret=12 flow 1 flow 2\n"
		"track 3:1600000 in 1:1 'qp1 sends 1'\n"
		"100000 begin 3:1600000 verbs.SEND event='1:24[0]' wr_id=1 bytes=9 flow 1\n"
		"track 3:1600001 in 1:1 'qp1 sends 2'\n"
		"100000 begin 3:1600001 verbs.RDMA_READ event='1:24[1]' wr_id=2 bytes=6 flow 2\n"
		"track 4:b in 1:1 'qp1 outstanding' counts 2\n"
		"100000 is 4:b 2\n"
		"110000 instant 2:1 verbs.ibv_poll_cq event='1:25' ret=2 flow 1 flow 2\n"
		"110000 end 3:1600000 status=0\n"
		"110000 is 4:b 1\n"
		"110000 end 3:1600001 status=0\n"
		"110000 is 4:b 0\n");
}

/* In 10 ms each, up to the last one with requests and the first without. */
TEST(requests_are_counted_in_windows)
{
	struct example_end *end = &example.ends[0];
	const struct profile_select from = { .from = 40000000 };

	example_begin_connected(&example, IBV_QPT_RC, true, false);
	post_send(end, 40000, 1, IBV_WR_SEND, 10);
	post_send(end, 49999, 2, IBV_WR_SEND, 10);
	post_send(end, 50000, 3, IBV_WR_SEND, 10);
	post_send(end, 79999, 4, IBV_WR_SEND, 10);
	post_send(end, 80000, 5, IBV_WR_SEND, 10);
	example_open(&example);
	expect_events(
		&from,
		"track 6:0 'requests/s' counts 2\n"
		"10000000 is 6:0 0\n"
		"track 1:1 'app --flag' pid 100 'app --flag'\n"
		"track 2:1 in 1:1 'thread-101' pid 100 tid 101 'thread-101'\n"
		"40000000 instant 2:1 verbs.ibv_post_send event='1:24' ret=0 flow 1\n"
		"track 3:1600000 in 1:1 'qp1 sends 1'\n"
		"40000000 begin 3:1600000 verbs.SEND event='1:24[0]' wr_id=1 bytes=10 flow 1\n"
		"track 4:b in 1:1 'qp1 outstanding' counts 2\n"
		"40000000 is 4:b 1\n"
		"49999000 instant 2:1 verbs.ibv_post_send event='1:25' ret=0 flow 2\n"
		"track 3:1600001 in 1:1 'qp1 sends 2'\n"
		"49999000 begin 3:1600001 verbs.SEND event='1:25[0]' wr_id=2 bytes=10 flow 2\n"
		"49999000 is 4:b 2\n"
		"50000000 is 6:0 200\n"
		"50000000 instant 2:1 verbs.ibv_post_send event='1:26' ret=0 flow 3\n"
		"track 3:1600002 in 1:1 'qp1 sends 3'\n"
		"50000000 begin 3:1600002 verbs.SEND event='1:26[0]' wr_id=3 bytes=10 flow 3\n"
		"50000000 is 4:b 3\n"
		"60000000 is 6:0 100\n"
		"70000000 is 6:0 0\n"
		"79999000 instant 2:1 verbs.ibv_post_send event='1:27' ret=0 flow 4\n"
		"track 3:1600003 in 1:1 'qp1 sends 4'\n"
		"79999000 begin 3:1600003 verbs.SEND event='1:27[0]' wr_id=4 bytes=10 flow 4\n"
		"79999000 is 4:b 4\n"
		"80000000 is 6:0 100\n"
		"80000000 instant 2:1 verbs.ibv_post_send event='1:28' ret=0 flow 5\n"
		"track 3:1600004 in 1:1 'qp1 sends 5'\n"
		"80000000 begin 3:1600004 verbs.SEND event='1:28[0]' wr_id=5 bytes=10 flow 5\n"
		"80000000 is 4:b 5\n"
		"80000000 end 3:1600000\n"
		"80000000 end 3:1600001\n"
		"80000000 end 3:1600002\n"
		"80000000 end 3:1600003\n"
		"80000000 end 3:1600004\n");
	example_end(&example);
}

TEST(a_part_is_of_a_process)
{
	const struct profile_select part = { .from = 99000, .to = 119000, .process = 2 };

	example_begin_connected(&example, IBV_QPT_RC, true, false);
	for (uint64_t us = 90; us <= 120; us += 10)
		for (int i = 0; i < EXAMPLE_ENDS; i++)
			post_send(&example.ends[i], us + (uint64_t)i, us, IBV_WR_SEND, 1);
	example_open(&example);
	expect_events(&part,
		      "track 1:2 'app --flag' pid 200 'app --flag'\n"
		      "track 2:2 in 1:2 'thread-201' pid 200 tid 201 'thread-201'\n"
		      "101000 instant 2:2 verbs.ibv_post_send event='2:25' ret=0 flow 1\n"
		      "track 3:1800000 in 1:2 'qp1 sends 1'\n"
		      "101000 begin 3:1800000 verbs.SEND event='2:25[0]' wr_id=100 bytes=1 flow 1\n"
		      "track 4:c in 1:2 'qp1 outstanding' counts 2\n"
		      "101000 is 4:c 1\n"
		      "111000 instant 2:2 verbs.ibv_post_send event='2:26' ret=0 flow 2\n"
		      "track 3:1800001 in 1:2 'qp1 sends 2'\n"
		      "111000 begin 3:1800001 verbs.SEND event='2:26[0]' wr_id=110 bytes=1 flow 2\n"
		      "111000 is 4:c 2\n"
		      "111000 end 3:1800000\n"
		      "111000 end 3:1800001\n");
	example_end(&example);
}

/* As many as are outstanding are kept, not all that were. */
TEST(many_requests_are_followed)
{
	struct example_end *end = &example.ends[0];
	const struct profile_select last = { .from = 0, .process = 1 };
	char *buffer = NULL;
	size_t n, found = 0;
	FILE *file = open_memstream(&buffer, &n);

	example_begin_connected(&example, IBV_QPT_RC, true, false);
	for (uint64_t i = 0; i < 300; i++) {
		post_send(end, 100 + i, i, IBV_WR_SEND, 1);
		if (i >= 20)
			example_poll(end, i - 20, 0, IBV_WC_SEND, 0);
	}
	example_open(&example);
	assert_int_equal(perfetto_write(file, example.trace, &last), 0);
	fclose(file);
	example_end(&example);
	for (size_t i = 0; i + 8 < n; i++)
		found += !memcmp(buffer + i, "sends ", 6);
	assert_int_equal(found, 21); /* lanes: 20 are outstanding when the next is posted */
	free(buffer);
}
