/*
 * replay/two_host/pair.c: how two replays begin and end together, and what each asks of the other
 *
 * What the other one says, and what is sent to it, is in a log; MINE and OWN are queue pairs of
 * this half, of which MINE is connected to the other.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/wire/log.h"
#include "replay/report/pace.h"
#include "replay/state/recorded.h"
#include "replay/two_host/admit.h"
#include "replay/two_host/meet.h"
#include "replay/two_host/pack.h"
#include "replay/two_host/pair_match.h"
#include "replay/two_host/pair_priv.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { MINE = 1, OWN, NOBJECTS, NOW = 7000, WAIT = 50000, PATIENCE = 40000 };

static char log_text[2048];
static struct replay replay;
static struct replay_options options;
static struct pair_options of_pair;
static struct outcome_state outcome;
static struct pair *pair;
static const char *fails;
static char line_memory, wire_memory;
static struct line *const line = (struct line *)(void *)&line_memory;
static struct wire *const wire = (struct wire *)(void *)&wire_memory;
static bool has_stopped, is_met;
static pair_condition *awaited;
static uint64_t awaited_a;
static int64_t awaited_for;
static uint32_t other, target, recorded;
static enum ibv_wc_status status;
static struct pair_port port;
static bool finds_port;
static uint32_t datagram;
static const struct pair_table *matched[2];
static uint32_t *matched_of[2];
static bool (*moves)(void *arg);

static void __attribute__((format(printf, 1, 2))) log_line(const char *format, ...)
{
	size_t used = strlen(log_text);
	va_list args;

	if (used)
		used += (size_t)snprintf(log_text + used, sizeof(log_text) - used, "; ");
	va_start(args, format);
	vsnprintf(log_text + used, sizeof(log_text) - used, format, args);
	va_end(args);
}

static void expect_log(const char *expected)
{
	assert_string_equal(log_text, expected);
	*log_text = 0;
}

static int result_of(const char *name)
{
	log_line("%s", name);
	return fails && !strcmp(fails, name) ? -EPERM : 0;
}

int64_t wire_now(void)
{
	return NOW;
}

bool pace_has_ended(void)
{
	return has_stopped;
}

void pace_set_other(bool (*as)(void *arg), void *arg)
{
	assert_ptr_equal(arg, as ? pair : NULL);
	moves = as;
}

bool pair_has_progress(void *arg)
{
	(void)arg;
	return true;
}

int meet_parse(const char *text, bool listen, struct meet_address *ret_address)
{
	(void)ret_address;
	log_line("parse %s%s", text, listen ? " to listen" : "");
	return fails && !strcmp(fails, "parse") ? -EINVAL : 0;
}

int meet_listen(const struct meet_address *at)
{
	(void)at;
	return result_of("listen") ?: 9;
}

int meet_connect(const struct meet_address *at, int64_t deadline, bool (*ended)(void), int *ret_fd)
{
	(void)at;
	assert_int_equal(deadline, NOW + WAIT);
	assert_ptr_equal(ended, pace_has_ended);
	*ret_fd = 8;
	return result_of("connect");
}

int admit_peer(int listener, const struct admit_options *admit, struct wire **ret_wire)
{
	assert_int_equal(listener, 9);
	assert_string_equal(admit->key, "key");
	assert_int_equal(admit->key_length, 3);
	assert_int_equal(admit->deadline, NOW + WAIT);
	assert_int_equal(admit->patience, 5000000000ll);
	assert_ptr_equal(admit->ended, pace_has_ended);
	*ret_wire = wire;
	return result_of("admit");
}

int wire_open(int fd, enum wire_role role, const void *key, size_t key_length, int64_t deadline,
	      char why[WIRE_WHY], struct wire **ret_wire)
{
	assert_int_equal(fd, 8);
	assert_int_equal(role, WIRE_PEER);
	assert_string_equal(key, "key");
	assert_int_equal(key_length, 3);
	assert_int_equal(deadline, NOW + 5000000000ll);
	strcpy(why, "because");
	*ret_wire = wire;
	return result_of("open");
}

void wire_close(struct wire *of)
{
	if (of)
		log_line("close the wire");
}

void line_close(struct line *of)
{
	if (of)
		log_line("close the line");
}

void line_send(struct line *to, uint16_t type, const void *bytes, size_t length)
{
	assert_ptr_equal(to, line);
	assert_int_equal(type, PAIR_BYE);
	/* a text has its length before it */
	log_line("bye %.*s", (int)length - 2, (const char *)bytes + 2);
}

int pair_exchange(struct pair *p)
{
	assert_ptr_equal(p->wire, wire);
	p->wire = NULL;
	p->line = line;
	return result_of("talk");
}

void pair_send(struct pair *p, enum pair_message message, const uint64_t *numbers, size_t n)
{
	(void)p;
	log_line("%s", message == PAIR_READY ? "ready" : message == PAIR_END ? "end" : "?");
	if (n)
		log_line("%d", (int)numbers[0]);
}

int pair_send_table(struct pair *p)
{
	(void)p;
	return result_of("table");
}

bool pair_await(struct pair *p, pair_condition *is_so, uint64_t a, uint64_t b, int64_t patience)
{
	assert_int_equal(b, 0);
	awaited = is_so;
	awaited_a = a;
	awaited_for = patience;
	log_line("await");
	return is_met || is_so(p, a, b);
}

int64_t pair_wait_limit(const struct pair *p)
{
	(void)p;
	return PATIENCE;
}

int pair_learn(struct pair *p)
{
	p->mine.nlives = 2;
	p->mine.lives = calloc(2, sizeof(*p->mine.lives));
	p->mine.lives[0] = (struct pair_life){ .object = MINE, .number = 11, .connected = true };
	p->mine.lives[1] = (struct pair_life){ .object = OWN, .number = 12, .dest = 13 };
	p->mine.nstreams = 1;
	p->its.nlives = 2;
	p->its.lives = calloc(2, sizeof(*p->its.lives));
	p->its.lives[0] = (struct pair_life){ .number = 21, .process = 5 };
	p->its.lives[1] = (struct pair_life){ .number = 22, .process = 6 };
	p->its.nstreams = 2;
	p->its.streams = calloc(2, sizeof(*p->its.streams));
	p->its.streams[0] = (struct pair_stream){ .life = 1, .source = 3 };
	p->its.streams[1] = (struct pair_stream){ .life = 2 };
	p->its.nports = 1;
	p->its.ports = &port;
	return result_of("learn");
}

void pair_table_fini(struct pair_table *table)
{
	free(table->lives);
	free(table->streams);
}

void pair_match(const struct pair_table *a, const struct pair_table *b, uint32_t *of_a,
		uint32_t *of_b)
{
	matched[0] = a;
	matched[1] = b;
	matched_of[0] = of_a;
	matched_of[1] = of_b;
	pair->of_mine[0] = other;
	log_line("match");
}

const char *pair_match_why(const struct pair_table *mine, size_t i, const struct pair_table *its)
{
	assert_ptr_equal(mine, &pair->mine);
	assert_ptr_equal(its, &pair->its);
	return i ? "why" : "why not";
}

const struct pair_port *pair_match_port(const struct pair_table *table,
					const struct ibv_ah_attr *av)
{
	(void)av;
	assert_ptr_equal(table, &pair->its);
	return finds_port ? &port : NULL;
}

uint32_t pair_match_datagram(const struct pair_table *table, uint32_t number,
			     const struct ibv_ah_attr *av)
{
	(void)av;
	assert_ptr_equal(table, &pair->its);
	return number == 22 ? datagram : 0;
}

uint32_t pair_other_of(const struct pair *p, uint32_t object)
{
	assert_ptr_equal(p, pair);
	return object == MINE ? other : 0;
}

enum ibv_wc_status pair_status_of(const struct pair *p, const struct trace_event *event,
				  uint32_t index)
{
	(void)p;
	(void)event;
	(void)index;
	return status;
}

uint32_t pair_find_target(struct pair *p, const struct trace_event *event, const struct wr *wr)
{
	(void)p;
	(void)event;
	(void)wr;
	return target;
}

uint32_t recorded_datagram(const struct replay *r, uint32_t id, uint32_t number,
			   const struct ibv_ah_attr *av, int64_t time)
{
	(void)r;
	(void)number;
	assert_int_equal(id, 0);
	assert_null(av);
	assert_int_equal(time, 33);
	return recorded;
}

void devices_translate(const struct device *from, const struct device *to, uint8_t to_port,
		       struct ibv_ah_attr *av)
{
	(void)from;
	assert_int_equal(to_port, 1);
	av->dlid = to->ports[1].lid;
}

static void log_text_of(const char *what, const char *format, va_list args)
{
	char text[256];

	vsnprintf(text, sizeof(text), format, args);
	log_line("%s %s", what, text);
}

void outcome_note(struct outcome *to, const char *format, ...)
{
	va_list args;

	(void)to;
	va_start(args, format);
	log_text_of("note", format, args);
	va_end(args);
}

void outcome_note_gap(struct outcome *to, const char *format, ...)
{
	va_list args;

	(void)to;
	va_start(args, format);
	log_text_of("gap", format, args);
	va_end(args);
}

static int begin_pair(void **state)
{
	(void)state;
	log_silence(true);
	*log_text = 0;
	nobjects = 0;
	add_object(OBJECT_qp, 3, 0)->name = "qp1";
	add_object(OBJECT_qp, 4, 0)->name = "qp2";
	fails = NULL;
	has_stopped = false;
	is_met = true;
	other = 2;
	target = recorded = datagram = 0;
	status = IBV_WC_SUCCESS;
	finds_port = false;
	moves = NULL;
	port = (struct pair_port){ .here = { .lid = 44, .mtu = IBV_MTU_2048 } };
	of_pair = (struct pair_options){
		.peer = "host:1", .key = "key", .key_length = 3, .wait = WAIT
	};
	options = (struct replay_options){ .pair = &of_pair };
	outcome.stopped = false;
	replay = (struct replay){ .options = &options,
				  .outcome = (struct outcome *)(void *)&outcome,
				  .last = 33 };
	return 0;
}

static int end_pair(void **state)
{
	(void)state;
	pair_fini(&replay, 0);
	assert_null(replay.pair);
	log_silence(false);
	return 0;
}

FIXTURE(begin_pair, end_pair);

static int open_pair(void)
{
	int err = pair_open(&replay);

	pair = replay.pair;
	return err;
}

/* Up to the first event. */
static void meet_other(void)
{
	assert_int_equal(open_pair(), 0);
	assert_int_equal(pair_meet(&replay), 0);
	*log_text = 0;
}

TEST(a_replay_alone_does_nothing)
{
	uint32_t number;
	enum ibv_mtu mtu;

	(void)state;
	options.pair = NULL;
	assert_int_equal(pair_open(&replay), 0);
	assert_null(replay.pair);
	assert_int_equal(pair_meet(&replay), 0);
	assert_int_equal(pair_begin(&replay), 0);
	assert_int_equal(pair_end(&replay, true), 0);
	assert_false(pair_has(&replay, MINE, 0));
	assert_false(pair_is_joined(&replay, MINE));
	assert_false(pair_connect(&replay, MINE, &number, &mtu));
	assert_false(pair_translate_address(&replay, NULL, NULL));
	assert_int_equal(pair_find_datagram_qp(&replay, NULL, NULL), 0);
	assert_false(pair_has_datagram(&replay, 22, NULL));
	assert_int_equal(pair_find_source(&replay, &(struct wc){ .src_qp = 22 }), 0);
	expect_log("");
}

TEST(one_connects)
{
	(void)state;
	assert_int_equal(open_pair(), 0);
	expect_log("parse host:1; connect; open; talk");
	assert_int_equal(pair->role, WIRE_PEER);
	assert_int_equal(pair->credit.message, PAIR_CREDIT);
	assert_int_equal(pair->done.message, PAIR_DONE);
}

TEST(one_listens)
{
	(void)state;
	of_pair.listen = "1";
	assert_int_equal(open_pair(), 0);
	expect_log("parse 1 to listen; listen; admit; talk");
	assert_int_equal(pair->role, WIRE_LISTENER);
}

static const struct step_row {
	const char *name;
	bool listens;
	int err;
	const char *log;
} steps[] = {
	{ "parse", false, -EINVAL, "parse host:1" },
	{ "connect", false, -EPERM, "parse host:1; connect" },
	{ "open", false, -EPERM, "parse host:1; connect; open" },
	{ "talk", false, -EPERM, "parse host:1; connect; open; talk" },
	{ "listen", true, -EPERM, "parse 1 to listen; listen" },
	{ "admit", true, -EPERM, "parse 1 to listen; listen; admit" },
};

static void expect_failure(void **state)
{
	const struct step_row *row = *state;

	begin_pair(state);
	of_pair.listen = row->listens ? "1" : NULL;
	fails = row->name;
	assert_int_equal(open_pair(), row->err);
	expect_log(row->log);
	end_pair(state);
}

TEST_ROWS(steps, expect_failure);

#define CONNECTED                                                                          \
	"note qp1 of process 3, number 11, is connected to number 22 of process 6 on the " \
	"other host"

TEST(halves_exchange_their_tables_and_match_them)
{
	uint64_t at;

	(void)state;
	open_pair();
	*log_text = 0;
	assert_int_equal(pair_meet(&replay), 0);
	expect_log("learn; table; await; match; " CONNECTED);
	assert_int_equal(awaited_for, WAIT);
	assert_ptr_equal(matched[0], &pair->its);
	assert_ptr_equal(matched[1], &pair->mine);
	assert_ptr_equal(matched_of[0], pair->of_its);
	assert_ptr_equal(matched_of[1], pair->of_mine);
	assert_true(map_get(&pair->streams, 1ull << 32 | 3, &at));
	assert_int_equal(at, 1);
	assert_true(map_get(&pair->streams, 2ull << 32, &at));
	assert_int_equal(at, 2);
	assert_int_equal(pair->unmatched, 0);
	assert_false(awaited(pair, 0, 0));
	pair->its_table = true;
	assert_true(awaited(pair, 0, 0));
}

TEST(both_match_in_the_same_order)
{
	(void)state;
	of_pair.listen = "1";
	meet_other();
	assert_ptr_equal(matched[0], &pair->mine);
	assert_ptr_equal(matched[1], &pair->its);
	assert_ptr_equal(matched_of[0], pair->of_mine);
	assert_ptr_equal(matched_of[1], pair->of_its);
}

TEST(a_queue_pair_without_its_peer_is_reported)
{
	(void)state;
	other = 0;
	open_pair();
	*log_text = 0;
	assert_int_equal(pair_meet(&replay), 0);
	expect_log("learn; table; await; match; note qp1 of process 3, connected to number 0, has "
		   "no peer in the trace of the other host (why not): the replay synthesizes it; "
		   "gap no queue pair of this trace has its peer in the trace of the other host");
	assert_int_equal(pair->unmatched, 1);
}

TEST(tables_that_do_not_come_are_an_error)
{
	(void)state;
	open_pair();
	*log_text = 0;
	of_pair.wait = 10;
	fails = "learn";
	assert_int_equal(pair_meet(&replay), -EPERM);
	expect_log("learn");
	pair_table_fini(&pair->mine);
	pair_table_fini(&pair->its);
	fails = NULL;
	is_met = false;
	assert_int_equal(pair_meet(&replay), -ETIMEDOUT);
	assert_int_equal(awaited_for, PATIENCE); /* the longer of both */
	expect_log("learn; table; await");
	assert_null(pair->of_mine);
}

TEST(why_the_other_one_does_not_answer_is_reported)
{
	(void)state;
	meet_other();
	is_met = false;
	assert_int_equal(pair_begin(&replay), -ETIMEDOUT);
	assert_null(moves);
	has_stopped = true;
	assert_int_equal(pair_begin(&replay), -ECANCELED);
	pair->err = -EBADMSG;
	assert_int_equal(pair_begin(&replay), -EREMOTEIO);
	pair->err = -ETIMEDOUT;
	assert_int_equal(pair_begin(&replay), -ETIMEDOUT);
	pair->err = -EPIPE;
	assert_int_equal(pair_begin(&replay), -EPIPE);
	strcpy(pair->bye, "early: it failed");
	assert_int_equal(pair_begin(&replay), -ECONNRESET);
	assert_string_equal(pair->bye, "early: it failed");
}

TEST(both_begin_when_both_are_ready)
{
	(void)state;
	meet_other();
	assert_int_equal(pair_begin(&replay), 0);
	expect_log("ready; await");
	assert_int_equal(pair->moved, NOW);
	assert_ptr_equal(moves, pair_has_progress);
	assert_false(awaited(pair, 0, 0));
	pair->its_ready = true;
	assert_true(awaited(pair, 0, 0));
}

TEST(both_end_when_both_are_done)
{
	(void)state;
	assert_int_equal(open_pair(), 0);
	*log_text = 0;
	assert_int_equal(pair_end(&replay, true), 0);
	expect_log("end; 1; await");
	assert_false(awaited(pair, 0, 0));
	pair->its_end = true;
	assert_true(awaited(pair, 0, 0));
	pair->its_differs = true;
	assert_int_equal(pair_end(&replay, false), 0);
	expect_log("end; 0; await; note the replay on the other host differs: see its report");
	is_met = false;
	pair->its_end = false;
	assert_int_equal(pair_end(&replay, false), -ETIMEDOUT);
	expect_log("end; 0; await");
	pair->line = NULL; /* it was lost */
	assert_int_equal(pair_end(&replay, false), 0);
	expect_log("");
}

TEST(a_replay_that_stopped_waits_no_longer)
{
	(void)state;
	open_pair();
	*log_text = 0;
	outcome.stopped = true;
	assert_int_equal(pair_end(&replay, false), 0);
	pair->err = -ECONNRESET;
	assert_int_equal(pair_end(&replay, false), -ECONNRESET);
	pair->its_end = true;
	assert_int_equal(pair_end(&replay, false), 0);
	expect_log("");
}

static void expect_bye(int err, bool stops, const char *expected)
{
	open_pair();
	*log_text = 0;
	has_stopped = stops;
	pair_fini(&replay, err);
	has_stopped = false;
	expect_log(expected);
	assert_null(moves);
}

TEST(the_other_host_gets_the_reason_for_an_early_end)
{
	(void)state;
	expect_bye(0, false, "close the line");
	expect_bye(0, true, "close the line");
	expect_bye(-EIO, false, "bye early: Input/output error; close the line");
	expect_bye(-EIO, true, "bye early, as requested; close the line");
	expect_bye(-ECANCELED, false, "bye early, as requested; close the line");
	fails = "open";
	expect_bye(-EPERM, false, "close the wire");
}

TEST(a_connection_leads_to_the_other_host_or_not)
{
	struct pair_own_life own[] = { { .next = 2, .time = 10 }, { .time = 20 } };
	uint32_t first[NOBJECTS] = { [MINE] = 1 };

	(void)state;
	meet_other();
	pair->own = malloc(sizeof(own));
	pair->first = malloc(sizeof(first));
	memcpy(pair->own, own, sizeof(own));
	memcpy(pair->first, first, sizeof(first));
	assert_true(pair_has(&replay, MINE, 10));
	assert_false(pair_has(&replay, MINE, 20)); /* that one is within the trace */
	assert_false(pair_has(&replay, MINE, 15));
	assert_false(pair_has(&replay, OWN, 10));
	pair->of_mine[1] = 1;
	assert_true(pair_has(&replay, MINE, 20));
	assert_true(pair_is_joined(&replay, MINE));
	assert_false(pair_is_joined(&replay, OWN));
}

TEST(the_number_of_the_other_end_is_waited_for)
{
	uint32_t number = 0;
	enum ibv_mtu mtu = 0;

	(void)state;
	meet_other();
	pair->there[1].number = 0x99;
	assert_false(pair_connect(&replay, OWN, &number, &mtu));
	expect_log("");
	assert_true(pair_connect(&replay, MINE, &number, &mtu));
	expect_log("await");
	assert_int_equal(number, 0x99);
	assert_int_equal(mtu, IBV_MTU_2048);
	assert_int_equal(awaited_a, 1);
	assert_int_equal(awaited_for, PATIENCE);
	assert_false(awaited(pair, 1, 0));
	pair->there[1].made = true;
	assert_true(awaited(pair, 1, 0));
	assert_false(awaited(pair, 0, 0));
}

TEST(addresses_are_those_of_its_port)
{
	struct ibv_ah_attr av = { .dlid = 3 };
	const struct device from = { 0 };

	(void)state;
	meet_other();
	assert_false(pair_translate_address(&replay, &from, &av));
	assert_int_equal(av.dlid, 3);
	finds_port = true;
	assert_true(pair_translate_address(&replay, &from, &av));
	assert_int_equal(av.dlid, 44);
	av.dlid = 3;
	pair_translate_path(&replay, MINE, &from, &av);
	assert_int_equal(av.dlid, 44);
}

static struct wr request;
static const struct post post = { .object = MINE, .nwr = 1, .wr = &request };
static const struct trace_event event = { .kind = TRACE_POST, .id = { 1, 2 }, .post = &post };

static void expect_remote(uint64_t addr, uint32_t rkey, const char *log)
{
	uint64_t at = 0x1000;
	uint32_t key = 7;

	pair_translate_remote(&replay, &event, 0, &at, &key);
	assert_int_equal(at, addr);
	assert_int_equal(key, rkey);
	expect_log(log);
}

TEST(memory_of_the_other_host_has_its_key)
{
	static const struct sge sges[] = { { .length = 0 }, { .length = 1 } };
	uint64_t key = 6ull << 32 | 7;

	(void)state;
	meet_other();
	request = (struct wr){ .opcode = IBV_WR_RDMA_WRITE, .nsge = 2, .sge = sges };
	expect_remote(0x1000, 7, "await");
	assert_int_equal(awaited_a, key);
	assert_false(awaited(pair, key, 0));
	pair->keys = calloc(2, sizeof(*pair->keys));
	pair->keys[1] =
		(struct pair_key){ .rkey = 8, .recorded_base = 0x800, .replayed_base = 0x10800 };
	map_put(&pair->key_of, key, 2);
	assert_true(awaited(pair, key, 0));
	expect_remote(0x11000, 8, "await");
	status = IBV_WC_REM_ACCESS_ERR; /* it was refused: there may be no such key */
	expect_remote(0x11000, 8, "");
	status = IBV_WC_SUCCESS;
	request.nsge = 1; /* without bytes it needs none */
	expect_remote(0x11000, 8, "");
	request.opcode = IBV_WR_SEND_WITH_INV;
	expect_remote(0x11000, 8, "await");
}

TEST(datagrams_have_the_numbers_of_the_other_host)
{
	struct wc wc = { .qp = MINE, .src_qp = 22 };

	(void)state;
	meet_other();
	pair->there[1].number = 0x99;
	assert_int_equal(pair_find_datagram_qp(&replay, &event, &request), 0);
	target = 2;
	assert_int_equal(pair_find_datagram_qp(&replay, &event, &request), 0x99);
	assert_false(pair_has_datagram(&replay, 22, NULL));
	assert_int_equal(pair_find_source(&replay, &wc), 0);
	datagram = 2;
	assert_true(pair_has_datagram(&replay, 22, NULL));
	assert_false(pair_has_datagram(&replay, 21, NULL));
	assert_int_equal(pair_find_source(&replay, &wc), 0x99);
	recorded = OWN; /* this half has that number, too */
	assert_int_equal(pair_find_source(&replay, &wc), 0);
	recorded = MINE; /* MINE does not send to itself */
	assert_int_equal(pair_find_source(&replay, &wc), 0x99);
	*log_text = 0;
}
