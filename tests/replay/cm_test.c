/* replay/cm/cm.c: whether calls of librdmacm are replayed, and what the report says of them. */
#include "tests/replay/cm_fake.h"

enum { END = 1, OTHER, REQUEST };

static int load_error;

int cm_lib_load(struct cm_lib *lib)
{
	drive_cm();
	replay.cm->driven = false;
	assert_ptr_equal(lib, &replay.cm->lib);
	return load_error;
}

static int begin_all(void **state)
{
	begin_cm(state);
	load_error = 0;
	add_object(OBJECT_cm_id, 1, 100 + END);
	add_object(OBJECT_cm_id, 2, 100 + OTHER);
	add_object(OBJECT_cm_id, 2, 100 + REQUEST);
	replay.nreplicas = nobjects + 1;
	replay.cm_calls = 1200;
	return 0;
}

FIXTURE(begin_all, end_cm);

static void begin_replay(bool driven)
{
	assert_int_equal(cm_begin(&replay), 0);
	assert_int_equal(replay.cm->driven, driven);
}

#define LEFT_OUT                                                                            \
	"note 1,200 calls of librdmacm are not repeated, and neither are their events and " \
	"private data; the verbs inside are replayed "

TEST(a_trace_without_librdmacm_needs_none)
{
	(void)state;
	replay.cm_calls = 0;
	assert_int_equal(cm_begin(&replay), 0);
	assert_null(replay.cm);
	assert_null(cm_early_listeners(&replay));
	cm_clear(&replay, 0);
	cm_fini(&replay);
	assert_int_equal(cm_replay(&replay, add_call(VERB_rdma_connect, END, "{}", NULL)), 0);
	cm_ibv_device.transport_type = IBV_TRANSPORT_IWARP; /* iWARP needs librdmacm */
	load_error = -ENOENT;
	begin_replay(false);
	expect_log("");
}

TEST(calls_are_replayed_if_all_is_there)
{
	(void)state;
	begin_replay(true);
	assert_int_equal(cm_nids, 2); /* two addresses are tried */
	assert_null(strstr(cm_log, "note"));
	*cm_log = 0;
}

TEST(the_user_may_want_the_verbs_alone)
{
	(void)state;
	cm_options.cm = CM_VERBS;
	begin_replay(false);
	expect_log(LEFT_OUT "(as requested)");
}

TEST(librdmacm_may_not_be_installed)
{
	(void)state;
	load_error = -ENOENT;
	replay.cm_calls = 1;
	begin_replay(false);
	expect_log("note 1 call of librdmacm is not repeated, and neither are their events and "
		   "private data; the verbs inside are replayed (librdmacm.so.1 is not installed)");
}

TEST(a_machine_may_have_no_connection_manager)
{
	(void)state;
	cm_fails = "create_event_channel";
	begin_replay(false);
	expect_log(LEFT_OUT "(this machine has no connection manager)");
}

TEST(the_device_may_have_no_address)
{
	(void)state;
	cm_fails = "create_id";
	begin_replay(false);
	expect_log(LEFT_OUT "(the connection manager finds no address of the device)");
}

TEST(half_of_a_pair_is_part_of_the_other_host)
{
	(void)state;
	replay.pair = (struct pair *)(void *)&load_error;
	begin_replay(false);
	expect_log(LEFT_OUT "(part of the other host's trace)");
	replay.pair = NULL;
}

TEST(ends_are_paired_before_they_are_replayed)
{
	(void)state;
	assert_int_equal(cm_learn_begin(&replay), 0);
	strcpy(cm_end_of(&replay, END)->src, "10.0.0.1:1");
	strcpy(cm_end_of(&replay, END)->dst, "10.0.0.2:2");
	strcpy(cm_end_of(&replay, REQUEST)->dst, "10.0.0.1:1");
	strcpy(cm_end_of(&replay, REQUEST)->src, "10.0.0.2:2");
	cm_end_of(&replay, REQUEST)->passive = true;
	begin_replay(true);
	*cm_log = 0;
	assert_int_equal(cm_end_of(&replay, END)->partner, REQUEST);
}

static void open_all(void)
{
	begin_replay(true);
	cm_nids = 0;
	for (uint32_t i = END; i <= REQUEST; i++)
		cm_open_end(&replay, cm_end_of(&replay, i), cm_channel_of(&replay, 0), RDMA_PS_TCP);
	*cm_log = 0;
}

TEST(a_process_that_ends_closes_its_identifiers)
{
	(void)state;
	open_all();
	cm_clear(&replay, 1);
	expect_log("destroy 1");
	cm_clear(&replay, 2);
	expect_log("destroy 2; destroy 3");
	cm_clear(&replay, 0);
	expect_log("");
}

TEST(synthesized_peers_are_counted)
{
	(void)state;
	open_all();
	cm_end_of(&replay, REQUEST)->far = cm_synth_new(&replay);
	cm_fini(&replay);
	expect_log("note synthesized the peer of 1 connection of librdmacm, with its recorded "
		   "private data; destroy 1; destroy 2; destroy 3");
	assert_null(replay.cm);
	assert_int_equal(cm_nchannels, 0);
}

TEST(both_kinds_of_synthesized_peers_are_counted)
{
	struct cm_end *made;

	(void)state;
	open_all();
	made = cm_synth_new(&replay);
	cm_open_end(&replay, made, cm_channel_of(&replay, 0), RDMA_PS_TCP);
	*cm_log = 0;
	cm_end_of(&replay, REQUEST)->far = made;
	cm_end_of(&replay, END)->answered = true;
	cm_place_note(&replay, "0.0.0.0:7", false, false, htons(50), NULL);
	cm_fini(&replay);
	expect_log("note synthesized the peer of 2 connections of librdmacm, with its recorded "
		   "private data; destroy 1; destroy 2; destroy 3; destroy 4; "
		   "note addresses of librdmacm: 0.0.0.0:7 is 0.0.0.0:50");
}

TEST(calls_that_were_not_replayed_are_not_reported)
{
	(void)state;
	load_error = -ENOENT;
	begin_replay(false);
	*cm_log = 0;
	cm_end_of(&replay, END)->answered = true;
	cm_place_note(&replay, "0.0.0.0:7", false, false, htons(50), NULL);
	cm_fini(&replay);
	expect_log("");
}
