/*
 * The recorder as a whole: what it records of small programs, and what these see
 *
 * Each scenario runs in a process of its own, with the recorder linked in and the software device
 * as its libibverbs: build/dropin. What its verbs return, and then all events of its rings, are in
 * recorder_test.txt: a field, a call, a count or a fault that is not as it was shows there.
 */
#define TEST_MAIN
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "core/wire/ring.h"
#include "core/wire/session.h"
#include "tests/shim/trace/recorder_programs.h"
#include "tests/transcript.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif

enum { RING = 4 << 20 };

static void record_hashes(struct session_page *page)
{
	page->payload = (struct payload_rule){ PAYLOAD_HASH, 7 };
}

static void record_bytes(struct session_page *page)
{
	page->payload = (struct payload_rule){ 5, 7 };
}

static void record_all_bytes(struct session_page *page)
{
	page->payload = (struct payload_rule){ PAYLOAD_FULL, 7 };
}

static void record_memory(struct session_page *page)
{
	page->memory = 1;
}

static void record_strictly(struct session_page *page)
{
	page->strict = 1;
}

static void record_second_qp(struct session_page *page)
{
	page->filter.on = page->filter.some_qps = page->filter.nnths = 1;
	page->filter.nths[0] = 2;
}

static void record_no_posts(struct session_page *page)
{
	page->filter.on = 1;
	page->filter.left_out[VERB_post_send / 64] |= 1ull << VERB_post_send % 64;
	page->filter.left_out[VERB_reg_mr / 64] |= 1ull << VERB_reg_mr % 64;
}

static void stop_at_errors(struct session_page *page)
{
	page->stop.on = page->stop.errors = page->stop.every = 1;
	page->stop.verbs[VERB_dealloc_pd / 64] |= 1ull << VERB_dealloc_pd % 64;
}

static void stop_at_statuses(struct session_page *page)
{
	page->stop.on = page->stop.every = 1;
	page->stop.statuses = 1 << IBV_WC_REM_ACCESS_ERR | 1 << IBV_WC_WR_FLUSH_ERR;
}

static void stop_once(struct session_page *page)
{
	stop_at_errors(page);
	page->stop.every = 0;
}

/* clang-format off */
static const struct scenario {
	const char *name;
	void (*run)(void);
	const char *faults;
	void (*prepare)(struct session_page *);
	bool timed; /* the number of empty polls varies */
} scenarios[] = {
	{ "control", run_control, NULL, NULL, false },
	{ "data", run_data, NULL, NULL, false },
	{ "events", run_events, NULL, NULL, false },
	{ "builders", run_builders, NULL, NULL, false },
	{ "iterator", run_iterator, NULL, NULL, false },
	{ "processes", run_processes, NULL, NULL, false },
	{ "windows", run_windows, NULL, NULL, false },
	{ "datagrams", run_datagrams, NULL, NULL, false },
	{ "signals", run_signals, NULL, NULL, false },
	{ "shut in", run_shut_in, NULL, NULL, false },
	{ "payloads, hashes", run_payloads, NULL, record_hashes, false },
	{ "payloads, all bytes", run_payloads, NULL, record_all_bytes, false },
	{ "regions, all bytes", run_regions, NULL, record_all_bytes, false },
	{ "memory", run_memory, NULL, record_memory, false },
	{ "queues, all bytes", run_queues, NULL, record_all_bytes, false },
	{ "lookups", run_lookups, NULL, NULL, false },
	{ "control, stops at errors", run_control, NULL, stop_at_errors, false },
	{ "data, stops at a status", run_data, NULL, stop_at_statuses, false },
	{ "iterator, stops at a status", run_iterator, NULL, stop_at_statuses, false },
	{ "control, stops once", run_control, NULL, stop_once, false },
	{ "cut", run_cut, NULL, NULL, false },
	{ "data, delayed forever", run_data,
	  "opcode=RDMA_READ delay=1000s\nopcode=RECV n=9 delay=1000s\n", NULL, false },
	{ "builders, delayed forever", run_builders, "opcode=RDMA_READ delay=1000s\n", NULL,
	  false },
	{ "windows, delayed forever", run_windows, "opcode=BIND_MW n=2 delay=1000s\n", NULL,
	  false },
	{ "datagrams, delayed forever", run_datagrams,
	  "opcode=SEND delay=1000s\nopcode=RECV n=3 delay=1000s\n", NULL, false },
	{ "misuses", run_misuses, NULL, record_strictly, false },
	{ "builders, strict", run_builders, NULL, record_strictly, false },
	{ "iterator, strict", run_iterator, NULL, record_strictly, false },
	{ "datagrams, all bytes", run_datagrams, NULL, record_all_bytes, false },
	{ "shut in, all bytes", run_shut_in, NULL, record_all_bytes, false },
	{ "windows, status", run_windows, "opcode=BIND_MW n=1 status=MW_BIND_ERR\n"
	  "opcode=LOCAL_INV n=2 status=LOC_QP_OP_ERR\n", NULL, false },
	{ "windows, delay", run_windows, "opcode=LOCAL_INV n=1 delay=100us\n"
	  "opcode=BIND_MW n=2 delay=100us\n", NULL, true },
	{ "datagrams, status", run_datagrams, "opcode=SEND_WITH_IMM n=1 status=REM_OP_ERR\n"
	  "opcode=RECV n=2 status=LOC_PROT_ERR\n", NULL, false },
	{ "datagrams, never", run_datagrams, "opcode=SEND n=1 never\nopcode=RECV n=2.. never\n",
	  NULL, false },
	{ "builders, rate", run_builders, "rate=200MB\n", NULL, true },
	{ "builders, event", run_builders, "opcode=RDMA_READ event=QP_ACCESS_ERR\n", NULL, false },
	{ "builders, overrun", run_builders, "opcode=RDMA_READ event=CQ_ERR\n", NULL, false },
	{ "data, hashes", run_data, NULL, record_hashes, false },
	{ "data, five bytes", run_data, NULL, record_bytes, false },
	{ "builders, all bytes", run_builders, NULL, record_all_bytes, false },
	{ "iterator, all bytes", run_iterator, NULL, record_all_bytes, false },
	{ "data, strict", run_data, NULL, record_strictly, false },
	{ "data, second queue pair", run_data, NULL, record_second_qp, false },
	{ "data, no posts", run_data, NULL, record_no_posts, false },
	{ "control, errors", run_control,
	  "verb=reg_mr n=1 errno=ENOMEM\nverb=create_cq n=2 errno=ENOSPC\n"
	  "verb=dealloc_td n=1 errno=EBUSY\nverb=query_port n=2.. errno=EIO\n"
	  "verb=create_srq errno=EPERM\nverb=alloc_dm errno=ENOTSUP\n"
	  "verb=modify_cq delay=1us\nverb=destroy_cq n=1 errno=EBUSY\n"
	  "verb=ack_async_event errno=EIO\n", NULL, false },
	{ "open, errors", run_control, "verb=query_device errno=EACCES\nverb=any n=6.. errno=EIO\n",
	  NULL, false },
	{ "data, status", run_data,
	  "opcode=SEND n=2 status=RETRY_EXC_ERR vendor_err=0x81\n", NULL, false },
	{ "data, status of a receive", run_data,
	  "opcode=RECV n=3 status=LOC_LEN_ERR\n", NULL, false },
	{ "data, flush", run_data, "opcode=RDMA_READ status=WR_FLUSH_ERR\n", NULL, false },
	{ "data, refused", run_data,
	  "verb=post_send n=2 errno=ENOMEM\nverb=post_recv n=2 errno=EINVAL\n"
	  "verb=poll_cq n=3 errno=EIO\n", NULL, false },
	{ "data, delays", run_data,
	  "opcode=SEND n=2 delay=300us\nopcode=RECV n=2 delay=200us\nverb=poll_cq n=1 delay=1us\n"
	  "opcode=RDMA_WRITE rate=100MB\n", NULL, true },
	{ "data, late", run_data, "opcode=RDMA_WRITE late=300us\nopcode=RECV n=2 late=100us\n",
	  NULL, true },
	{ "data, after a mark", run_data,
	  "opcode=SEND mark=lists n=2 status=REM_OP_ERR\n"
	  "opcode=RECV phase=receives n=1..2 status=LOC_PROT_ERR\n", NULL, false },
	{ "data, by places", run_data,
	  "opcode=SEND at=recv_lists n=2 status=REM_OP_ERR\nverb=post_recv at=recv_lists every=2"
	  " errno=EPERM\nverb=post_send at=no_function errno=EIO\n"
	  "verb=poll_cq at=recorder_test.c:1 errno=EIO\n", NULL, false },
	{ "data, by queue pairs", run_data,
	  "qp=17 n=3 status=REM_OP_ERR\nopcode=RECV qp=18 n=3 errno=EIO\n"
	  "verb=poll_cq p=0.2 seed=4 errno=EIO\n", NULL, false },
	{ "processes, errors", run_processes,
	  "verb=reg_mr process=1 errno=EPERM\nverb=reg_mr thread=1 errno=ENOSPC\n"
	  "verb=dealloc_pd process=2 errno=EIO\n", NULL, false },
	{ "data, killed", run_data, "opcode=RDMA_READ kill\n", NULL, false },
	{ "data, event", run_data, "opcode=RDMA_READ event=QP_FATAL\n", NULL, false },
	{ "events, made", run_events, "opcode=SEND n=1 event=PORT_ERR\n", NULL, false },
	{ "events, late", run_events, "late=200us\n", NULL, true },
	{ "builders, status", run_builders,
	  "opcode=RDMA_WRITE status=REM_ACCESS_ERR\n", NULL, false },
	{ "builders, delay", run_builders, "opcode=SEND_WITH_IMM delay=200us\n", NULL, true },
	{ "builders, refused", run_builders, "verb=wr_complete n=2 errno=ENOMEM\n", NULL, false },
	{ "iterator, late", run_iterator, "late=100us\n", NULL, true },
	{ "extras", run_extras, NULL, NULL, false },
	{ "extras, late", run_extras, "late=100us\n", NULL, true },
	{ "extras, never", run_extras, "qp=4095 never\n", NULL, true },
	{ "iterator, status", run_iterator,
	  "opcode=SEND n=2 status=RNR_RETRY_EXC_ERR vendor_err=3\n",
	  NULL, false },
};
/* clang-format on */

static void read_ring(struct ring_text *r, struct session *session, uint32_t index)
{
	const struct event_head *event;
	char path[SESSION_PATH + 16];
	struct ring ring = { 0 };
	uint64_t before = 0;
	int bytes;

	session_ring_path(session, index, path);
	bytes = ring_open(&ring, path);
	if (bytes < 0) {
		text_addf(r->out, "ring %u is not opened: %d\n", index, bytes);
		return;
	}
	text_addf(r->out,
		  "ring %u dropped %" PRIu64 " filtered %" PRIu64 " uncounted %" PRIu64 "\n", index,
		  ring.head->dropped, ring.head->filtered, ring.head->uncounted);
	while ((bytes = ring_peek(&ring, &event)) > 0) {
		assert_true(event->ticks >= before);
		before = event->ticks;
		ring_text_add(r, event, (size_t)bytes);
		ring_step(&ring, (size_t)bytes);
	}
	assert_int_equal(bytes, 0);
	ring_close(&ring);
}

static void read_rings(struct text *out, struct session *session, const struct scenario *scenario)
{
	struct ring_text *r = calloc(1, sizeof(*r));

	r->out = out;
	r->timed = scenario->timed;
	r->brief = scenario->faults || scenario->prepare;
	for (uint32_t i = 0; i < session_count_rings(session); i++)
		read_ring(r, session, i);
	free(r);
}

static void write_faults(const char *path, const char *rules)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(rules, file);
	assert_int_equal(fclose(file), 0);
	setenv("VERBATIM_FAULTS", path, 1);
}

static void show_stop(struct text *out, struct session_page *page)
{
	struct stop_spot *spot = &page->spot;

	text_addf(out,
		  "\tstops: state %u n %u %s error %d status %u qp_num %u wr_id %" PRIu64 "%s\n",
		  spot->state, spot->n, spot->verb < VERB_COUNT ? verb_infos[spot->verb].name : "-",
		  spot->error, spot->status, spot->qp_num, spot->wr_id,
		  spot->nframes ? " stack" : "");
	atomic_store(&spot->state, page->stop.every ? STOP_FREE : STOP_OVER);
}

/* The status of the process when it has ended; if it stops, it is continued. */
static int await_end(struct text *out, pid_t pid, struct session_page *page)
{
	int status;

	while (waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status)) {
		show_stop(out, page);
		kill(pid, SIGCONT);
	}
	return status;
}

/* This program again, as @scenario; its output. */
static void run_anew(struct text *out, const struct scenario *scenario, struct session_page *page)
{
	char *const argv[] = { "recorder_test", "run", (char *)scenario->name, NULL };
	posix_spawn_file_actions_t actions;
	int file = memfd_create("output", MFD_CLOEXEC), status;
	char bytes[4096];
	off_t at = 0;
	ssize_t n;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, file, 1);
	assert_int_equal(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	status = await_end(out, pid, page);
	for (; (n = pread(file, bytes, sizeof(bytes), at)) > 0; at += n)
		text_add(out, bytes, (size_t)n);
	close(file);
	text_addf(out, "status %d\n", status);
}

static void run_recorded(struct text *out, const struct scenario *scenario)
{
	char faults[sizeof(fabric_dir) + 8];
	struct session session = { 0 };

	assert_int_equal(session_create(&session, NULL, RING, ON_FULL_WAIT), 0);
	if (scenario->prepare)
		scenario->prepare(session.page);
	snprintf(faults, sizeof(faults), "%s.faults", fabric_dir);
	unsetenv("VERBATIM_FAULTS");
	if (scenario->faults)
		write_faults(faults, scenario->faults);
	setenv(SESSION_ENV, session.dir, 1);
	text_addf(out, "\n%s\n", scenario->name);
	run_anew(out, scenario, session.page);
	read_rings(out, &session, scenario);
	session_remove(&session);
	unlink(faults);
}

TEST(recordings_are_as_they_were)
{
	struct text out = { 0 };

	if (SANITIZED)
		skip();
	assert_int_equal(fabric_setup(NULL), 0);
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		run_recorded(&out, &scenarios[i]);
	assert_int_equal(fabric_teardown(NULL), 0);
	transcript_expect(__FILE__, &out);
}

static int run_scenario(const char *name)
{
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		if (!strcmp(scenarios[i].name, name)) {
			timed = scenarios[i].timed;
			scenarios[i].run();
		}
	return fflush(stdout) ? 1 : 0;
}

/* build/tests/shim/trace/recorder_test: build/dropin */
static void use_device(const char *program)
{
	const char *end = strstr(program, "tests/");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*sdropin", end ? (int)(end - program) : 0, program);
	setenv("LD_LIBRARY_PATH", path, 1);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "run"))
		return run_scenario(argv[2]);
	use_device(argv[0]);
	return test_run(argv);
}
