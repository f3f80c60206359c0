/*
 * replay/cm/cm_bind.c: calls of librdmacm with an address
 *
 * 10.0.0.1 was an address of the recorded machine: here it is 192.0.2.7.
 */
#include "core/base/vec.h"
#include "tests/replay/cm_fake.h"

enum { END = 1, PEER };

static struct cm_end *end;

static void know_host(const char *there, const char *here)
{
	const char *texts[] = { there, here };

	for (unsigned int i = 0; i < 2; i++) {
		struct sockaddr_storage *host = vec_push(replay.cm->hosts, replay.cm->nhosts);

		assert_true(cm_address_parse(texts[i], host));
	}
}

static int begin_bind(void **state)
{
	begin_cm(state);
	add_object(OBJECT_cm_id, 1, 100 + END);
	add_object(OBJECT_cm_id, 1, 100 + PEER);
	drive_cm();
	know_host("10.0.0.1:0", "192.0.2.7:0");
	know_host("10.0.0.2:0", "192.0.2.7:0");
	end = cm_end_of(&replay, END);
	cm_open_end(&replay, end, cm_channel_of(&replay, 0), RDMA_PS_TCP);
	end->id->verbs = &cm_context;
	*cm_log = 0;
	return 0;
}

FIXTURE(begin_bind, end_cm);

static void replay_call(const struct trace_event *event, const char *expected)
{
	assert_int_equal(cm_replay(&replay, event), 0);
	expect_log(expected);
}

static struct trace_event *make_bind(const char *to, int error)
{
	char in[128];
	struct trace_event *event;

	snprintf(in, sizeof(in), "{\"id\":101,\"addr\":\"%s\"}", to);
	event = add_call(VERB_rdma_bind_addr, END, in, NULL);
	cm_calls[cm_ncalls - 1].failed = error;
	cm_calls[cm_ncalls - 1].error = error;
	return event;
}

static void bind_to(const char *to, const char *expected)
{
	replay_call(make_bind(to, 0), expected);
}

static void resolve_to(const char *src, const char *dst, const char *expected)
{
	char in[256];

	snprintf(in, sizeof(in),
		 "{\"id\":101,\"src_addr\":\"%s\",\"dst_addr\":\"%s\",\"timeout_ms\":30}", src,
		 dst);
	replay_call(add_call(VERB_rdma_resolve_addr, END, in, NULL), expected);
}

static const struct cm_place *place_of(const char *there)
{
	return cm_place_find(&replay, there, false, false);
}

TEST(a_recorded_port_is_a_free_one)
{
	uint64_t has;

	(void)state;
	bind_to("10.0.0.1:7", "bind 1 192.0.2.7:0");
	assert_int_equal(place_of("10.0.0.1:7")->port, htons(FIRST_PORT));
	assert_null(place_of("10.0.0.1:7")->keeper);
	assert_true(
		map_get(&replay.cm->ports, (uint64_t)RDMA_PS_TCP << 16 | htons(FIRST_PORT), &has));
	assert_ptr_equal((void *)(uintptr_t)has, end);
	/* the same address is bound again */
	bind_to("10.0.0.1:7", "bind 1 192.0.2.7:1000");
	bind_to("10.0.0.1:8", "bind 1 192.0.2.7:0");
}

TEST(a_port_that_the_system_chose_is_known_from_a_later_event)
{
	(void)state;
	bind_to("10.0.0.1:0", "bind 1 192.0.2.7:0");
	assert_int_equal(replay.cm->nplaces, 0);
	strcpy(end->src, "10.0.0.1:99");
	bind_to("10.0.0.1:0", "bind 1 192.0.2.7:0");
	assert_int_equal(place_of("10.0.0.1:99")->port, htons(FIRST_PORT + 1));
	strcpy(end->src, "10.0.0.1:98"); /* nobody connects to an end that connects */
	strcpy(end->dst, "10.0.0.2:7");
	bind_to("10.0.0.1:0", "bind 1 192.0.2.7:0");
	assert_null(place_of("10.0.0.1:98"));
}

TEST(a_port_that_is_in_use_is_another)
{
	(void)state;
	bind_to("10.0.0.1:7", "bind 1 192.0.2.7:0");
	cm_fails = "bind_addr";
	cm_error = EADDRINUSE;
	bind_to("10.0.0.1:7", "bind 1 192.0.2.7:1000; bind 1 192.0.2.7:0");
	assert_int_equal(cm_told.ret, -1);
	replay_call(make_bind("10.0.0.1:7", EADDRINUSE), "bind 1 192.0.2.7:1000"); /* as recorded */
	bind_to("10.0.0.1:8", "bind 1 192.0.2.7:0");
	cm_error = EINVAL;
	bind_to("10.0.0.1:7", "bind 1 192.0.2.7:1000");
	assert_null(place_of("10.0.0.1:8"));
}

TEST(a_synthesized_end_leaves_its_port)
{
	struct cm_end *keeper = cm_synth_new(&replay);

	(void)state;
	cm_open_end(&replay, keeper, cm_channel_of(&replay, 0), RDMA_PS_TCP);
	cm_place_note(&replay, "10.0.0.1:7", false, false, htons(50), keeper);
	*cm_log = 0;
	bind_to("10.0.0.1:7", "destroy 2; bind 1 192.0.2.7:50");
	assert_null(place_of("10.0.0.1:7")->keeper);
}

TEST(addresses_that_failed_are_not_translated)
{
	(void)state;
	replay_call(make_bind("10.0.0.1:7", EADDRNOTAVAIL), "bind 1 10.0.0.1:7");
	replay_call(make_bind("10.0.0.1:7", ENODEV), "bind 1 10.0.0.1:7");
	replay_call(make_bind("10.0.0.1:7", EACCES), "bind 1 192.0.2.7:0");
	assert_int_equal(cm_told.calls, 3);
}

TEST(another_program_may_have_used_the_port)
{
	(void)state;
	replay_call(make_bind("10.0.0.1:7", EADDRINUSE),
		    "tolerated an address of a program that i");
	assert_int_equal(cm_told.calls, 0);
	cm_place_note(&replay, "10.0.0.1:7", false, false, htons(50), NULL);
	replay_call(make_bind("10.0.0.1:7", EADDRINUSE), "bind 1 192.0.2.7:50");
}

TEST(families_other_than_ip_are_tolerated)
{
	(void)state;
	bind_to("[fe80::1]/0x0000000001061d2f", "tolerated an address of a family other t");
	resolve_to("10.0.0.1:0", "family 16", "tolerated an address of a family other t");
	assert_int_equal(cm_told.calls, 0);
}

TEST(a_destination_is_where_the_trace_listens)
{
	(void)state;
	cm_place_note(&replay, "10.0.0.2:7", false, false, htons(50), NULL);
	resolve_to("none", "10.0.0.2:7", "resolve 1 - to 192.0.2.7:50 30");
	resolve_to("10.0.0.1:0", "10.0.0.2:7", "resolve 1 192.0.2.7:0 to 192.0.2.7:50 30");
	/* a port of its own is bound before */
	resolve_to("10.0.0.1:9", "10.0.0.2:7",
		   "bind 1 192.0.2.7:0; resolve 1 - to 192.0.2.7:50 30");
	assert_non_null(place_of("10.0.0.1:9"));
}

TEST(ports_of_datagrams_are_other_ports)
{
	(void)state;
	cm_place_note(&replay, "10.0.0.2:7", false, false, htons(50), NULL);
	end->datagrams = true;
	resolve_to("none", "10.0.0.2:7",
		   "create 2; bind 2 192.0.2.7:0; listen 2 0; resolve 1 - to 192.0.2.7:1000 30");
	assert_int_equal(place_of("10.0.0.2:7")->port, htons(50));
	assert_int_equal(cm_place_find(&replay, "10.0.0.2:7", true, false)->port,
			 htons(FIRST_PORT));
}

TEST(a_source_that_cannot_be_bound_ends_the_call)
{
	(void)state;
	cm_fails = "bind_addr";
	cm_error = EACCES;
	resolve_to("10.0.0.1:9", "10.0.0.2:7", "bind 1 192.0.2.7:0");
	assert_int_equal(cm_told.ret, -1);
	assert_int_equal(cm_told.err, EACCES);
}

TEST(a_destination_outside_the_trace_is_synthesized)
{
	(void)state;
	resolve_to("none", "10.0.0.2:7",
		   "create 2; bind 2 192.0.2.7:0; listen 2 0; resolve 1 - to 192.0.2.7:1000 30");
	assert_ptr_equal(place_of("10.0.0.2:7")->keeper, replay.cm->made[0]);
	assert_int_equal(place_of("10.0.0.2:7")->port, htons(FIRST_PORT));
	resolve_to("none", "10.0.0.2:7", "resolve 1 - to 192.0.2.7:1000 30"); /* once */
	end->refused = true; /* nothing listens there */
	resolve_to("none", "10.0.0.2:7",
		   "create 3; bind 3 192.0.2.7:0; resolve 1 - to 192.0.2.7:1002 30");
	assert_non_null(cm_place_find(&replay, "10.0.0.2:7", false, true));
	cm_fails = "create_id";
	resolve_to("none", "10.0.0.2:8", "");
	assert_int_equal(cm_told.ret, -1);
}

TEST(destinations_that_were_not_found_stay)
{
	(void)state;
	resolve_to("none", "0.0.0.0:7", "resolve 1 - to 0.0.0.0:7 30");
	end->lost = true;
	resolve_to("none", "10.0.0.2:7", "resolve 1 - to 10.0.0.2:7 30");
	assert_int_equal(replay.cm->nplaces, 0);
}

static void join_group(const char *group, const char *expected)
{
	char in[128];

	snprintf(in, sizeof(in), "{\"id\":101,\"addr\":\"%s\"}", group);
	replay_call(add_call(VERB_rdma_join_multicast, END, in, NULL), expected);
}

static void leave_group(const char *group, const char *expected)
{
	char in[128];

	snprintf(in, sizeof(in), "{\"id\":101,\"addr\":\"%s\"}", group);
	replay_call(add_call(VERB_rdma_leave_multicast, END, in, NULL), expected);
}

TEST(groups_that_were_not_left_are_left_at_the_end)
{
	(void)state;
	join_group("224.0.0.1:0", "join 1 224.0.0.1:0");
	join_group("224.0.0.2:0", "join 1 224.0.0.2:0");
	join_group("224.0.0.3:0", "join 1 224.0.0.3:0");
	join_group("none", "tolerated an address of a family other t");
	leave_group("224.0.0.1:0", "leave 1 224.0.0.1:0");
	leave_group("none", "tolerated an address of a family other t");
	cm_fails = "leave_multicast";
	leave_group("224.0.0.2:0", "leave 1 224.0.0.2:0");
	cm_fails = "join_multicast";
	join_group("224.0.0.4:0", "join 1 224.0.0.4:0");
	assert_int_equal(end->ngroups, 2);
	cm_close_end(&replay, end);
	expect_log("leave 1 224.0.0.3:0; leave 1 224.0.0.2:0; destroy 1");
	assert_int_equal(end->ngroups, 0);
}

TEST(a_group_that_was_joined_twice_is_left_at_once)
{
	(void)state;
	join_group("224.0.0.1:0", "join 1 224.0.0.1:0");
	join_group("224.0.0.1:0", "join 1 224.0.0.1:0");
	leave_group("224.0.0.1:0", "leave 1 224.0.0.1:0");
	assert_int_equal(end->ngroups, 0);
}
