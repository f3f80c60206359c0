/*
 * The verbs that replays call: verbs_test.txt
 *
 * A replay may report nothing although it posts something else than the recorded program. So each
 * replay below is itself recorded, on the software device, by a process of its own, and all events
 * of its rings are compared: each call with its arguments, each request and each completion.
 */
#define TEST_MAIN
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "core/wire/ring.h"
#include "core/wire/session.h"
#include "tests/shim/trace/ring_text.h"
#include "tests/transcript.h"

enum { RING = 8 << 20, RINGS = 16, WORDS = 16, SHOWN = 200 };

#define FABRIC_ENV "VERBATIM_REPLAY_FABRIC" /* cli/replay/replay_child.c */

static const char *const replays[] = {
	"replay each_way",
	"replay two_ends",
	"replay every_verb",
	"replay every_verb_roce",
	"replay xrc",
	"replay limits",
	"replay statuses_send",
	"replay refused",
	"replay rdma_server",
	"replay rc_timestamps",
	"replay --only qp1/1 each_way",
	"replay --from 1:100 --to 1:180 each_way",
	"replay --last 40 srq",
	"replay --loop 2 each_way",
	"replay --faults none statuses_write",
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif

static char libraries[2 * PATH_MAX + 64];

static void split_words(char *text, char *words[WORDS])
{
	int n = 0;

	words[n++] = program_invocation_short_name;
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		words[n++] = word;
	words[n] = NULL;
}

/* Run @command, recorded. */
static int run_replay(const char *command)
{
	posix_spawn_file_actions_t actions;
	char text[512], *words[WORDS];
	int status = -1;
	pid_t pid;

	snprintf(text, sizeof(text), "%s.db", command);
	split_words(text, words);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	setenv("LD_PRELOAD", libraries, 1);
	posix_spawn_file_actions_addchdir_np(&actions, "tests/conformance/soft");
	assert_int_equal(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, words, environ), 0);
	unsetenv("LD_PRELOAD");
	posix_spawn_file_actions_destroy(&actions);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* The text of a thread's events. */
static struct text read_ring(struct session *session, uint32_t index)
{
	struct text out = { 0 };
	struct ring_text *r = calloc(1, sizeof(*r));
	const struct event_head *event;
	char path[SESSION_PATH + 16];
	struct ring ring = { 0 };
	int bytes;

	session_ring_path(session, index, path);
	assert_true(ring_open(&ring, path) >= 0);
	r->out = &out;
	r->timed = r->loose = true;
	while ((bytes = ring_peek(&ring, &event)) > 0) {
		ring_text_add(r, event, (size_t)bytes);
		ring_step(&ring, (size_t)bytes);
	}
	assert_int_equal(bytes, 0);
	ring_close(&ring);
	free(r);
	return out;
}

/* The first lines, and a digest of the others. */
static void show_ring(struct text *out, const char *name, const char *text)
{
	const char *rest = text;
	uint64_t digest = 0;
	size_t n = 0, more = 0;

	for (; *rest && n < SHOWN; n++)
		rest += strcspn(rest, "\n") + 1;
	text_addf(out, "%s\n", name);
	text_add(out, text, (size_t)(rest - text));
	for (const char *c = rest; *c; c++) {
		digest = (digest ^ (uint8_t)*c) * 0x100000001b3;
		more += *c == '\n';
	}
	if (more)
		text_addf(out, "\tand %zu lines %016" PRIx64 "\n", more, digest);
}

static int compare_texts(const void *a, const void *b)
{
	const struct text *one = a, *other = b;

	return strcmp(one->at ?: "", other->at ?: "");
}

/* The rings of all threads, in the order of their texts. */
static void show_rings(struct text *out, struct session *session)
{
	uint32_t n = session_count_rings(session);
	struct text rings[RINGS] = { 0 };
	char name[32];

	assert_true(n <= RINGS);
	for (uint32_t i = 0; i < n; i++)
		rings[i] = read_ring(session, i);
	qsort(rings, n, sizeof(*rings), compare_texts);
	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "thread %u", i + 1);
		if (rings[i].used)
			show_ring(out, name, rings[i].at);
		text_fini(&rings[i]);
	}
}

static void record_replay(struct text *out, const char *command)
{
	struct session session = { 0 };

	assert_int_equal(session_create(&session, NULL, RING, ON_FULL_WAIT), 0);
	setenv(SESSION_ENV, session.dir, 1);
	text_addf(out, "\n%s\n", command);
	text_addf(out, "status %d\n", run_replay(command));
	unsetenv(SESSION_ENV);
	show_rings(out, &session);
	session_remove(&session);
}

TEST(replays_call_the_verbs_of_the_transcript)
{
	char fabric[] = "/dev/shm/verbatim-soft-test.XXXXXX";
	struct text out = { 0 };

	if (SANITIZED)
		skip();
	assert_non_null(mkdtemp(fabric));
	setenv("VERBATIM_SOFT_FABRIC", fabric, 1);
	setenv(FABRIC_ENV, "shared", 1);
	for (size_t i = 0; i < sizeof(replays) / sizeof(*replays); i++)
		record_replay(&out, replays[i]);
	unsetenv(FABRIC_ENV);
	assert_int_equal(rmdir(fabric), 0);
	transcript_expect(__FILE__, &out);
}

/* The libraries are beside the folder of tests. */
static void find_libraries(const char *program)
{
	const char *end = strstr(program, "tests/");
	char path[PATH_MAX], here[PATH_MAX];

	snprintf(path, sizeof(path), "./%.*s", end ? (int)(end - program) : 0, program);
	if (realpath(path, here))
		snprintf(libraries, sizeof(libraries), "%s/libverbatim.so:%s/libverbatim-soft.so",
			 here, here);
}

int main(int argc, char **argv)
{
	const struct command *command = getenv(FABRIC_ENV) ? command_find(argv[1]) : NULL;
	int status;

	if (command) {
		status = command->run(argc - 1, argv + 1);
		fflush(stdout);
		return status;
	}
	find_libraries(argv[0]);
	return test_run(argv);
}
