/*
 * What replays of recordings of the software device report, on the same device: soft_test.txt
 *
 * The device is linked into this program, so that all of a replay runs in a process of its own
 * without a preloaded library. Each replay starts the program again. The traces in
 * tests/replay/contents have the bytes of all messages; the command `alter TRACE SQL`, which is
 * only here, changes them.
 */
#define TEST_MAIN
#include <sqlite3.h>
#include <unistd.h>

#define RUN_ANEW
#include "tests/cli/run.h"

#define FABRIC_ENV "VERBATIM_REPLAY_FABRIC" /* cli/replay/replay_child.c */

/* Lines with what differs between two replays: times, addresses, numbers of the device. */
static const char *const varying[] = {
	"\"seconds\"",
	"\"longest_wait_ns\"",
	"\"least\"",
	"\"handle\"",
	"\"address\"",
	"choice of a receive from a shared",
	"the number of completion vectors",
	"numbers assigned",
	"a queue shorter",
	"since the machine has",
	"recorded in ",
	"  issued  ",
	"  lateness  ",
	"  delayed  ",
	"addresses of librdmacm",
	" to warm up: replayed in ",
	"a completion event for a completion that came before",
	"a buffer that was reused before",
	"that was posted again before",
};

static bool line_varies(const char *line, size_t n)
{
	for (size_t i = 0; i < sizeof(varying) / sizeof(*varying); i++)
		if (memmem(line, n, varying[i], strlen(varying[i])))
			return true;
	return false;
}

static void drop_varying(char *text)
{
	char *to = text;

	for (char *line = text, *next; *line; line = next) {
		size_t n = strcspn(line, "\n");

		next = line + n + (line[n] == '\n');
		if (line_varies(line, n))
			continue;
		memmove(to, line, (size_t)(next - line));
		to += next - line;
	}
	*to = '\0';
}

static int link_there(const char *target, const char *name)
{
	char path[sizeof(run_folder) + 32];

	snprintf(path, sizeof(path), "%s/%s", run_folder, name);
	return symlink(target, path);
}

static int make_folder(const char *name)
{
	char path[sizeof(run_folder) + 16];

	snprintf(path, sizeof(path), "%s/%s", run_folder, name);
	return mkdir(path, 0700);
}

static int put_file(const char *name, const char *text)
{
	char path[sizeof(run_folder) + 32];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", run_folder, name);
	file = fopen(path, "w");
	return !file || fputs(text, file) < 0 || fclose(file);
}

/* Traffic that no trace has, and divergences to be ignored. */
static int put_files(void)
{
	return put_file("one.model", "model 1\nranks 3\nflow 0>1\n  requests 40\n  rate 20000/s\n"
				     "  send SEND 64 75%\n  send RDMA_WRITE 4k 25%\n"
				     "flow 1>2\n  requests 30\n  rate 10000/s\n"
				     "  send RDMA_READ 1k 100%\n") ||
	       put_file("none.model", "model 1\nranks 2\n") ||
	       put_file("all.tolerate", "ibv_poll_cq\n") ||
	       put_file("some.tolerate", "# nothing\nRDMA_WRITE status=REM_ACCESS_ERR\n");
}

/* The traces, some of them as a suite, and a fabric for the device. */
static int make_folders(void)
{
	char *traces = realpath("tests/conformance/soft", NULL);
	char *contents = realpath("tests/replay/contents", NULL);
	int err = !traces || !contents || link_there(traces, "soft") ||
		  link_there(contents, "contents") || make_folder("fabric") ||
		  make_folder("some") || link_there("../soft/rc.db", "some/rc.db") ||
		  link_there("../soft/ud.db", "some/ud.db") ||
		  link_there("../soft/refused.db", "some/refused.db") || put_files();

	free(traces);
	free(contents);
	return err;
}

static int begin_replays(void **state)
{
	char fabric[sizeof(run_folder) + 16];
	int err;

	(void)state;
	snprintf(run_folder, sizeof(run_folder), "%s-XXXXXX", make_path("run"));
	if (!mkdtemp(run_folder))
		return -1;
	err = make_folders();
	snprintf(fabric, sizeof(fabric), "%s/fabric", run_folder);
	setenv("VERBATIM_SOFT_FABRIC", fabric, 1);
	setenv(FABRIC_ENV, "shared", 1);
	run_mask = drop_varying;
	return err;
}

GROUP(begin_replays, run_end);

TEST(replays_are_those_of_the_transcript)
{
	run_transcript(__FILE__);
}

static int alter_trace(const char *path, const char *sql)
{
	sqlite3 *db = NULL;
	int err = sqlite3_open(path, &db) || sqlite3_exec(db, sql, NULL, NULL, NULL);

	if (err)
		printf("%s\n", sqlite3_errmsg(db));
	sqlite3_close(db);
	return err;
}

int main(int argc, char **argv)
{
	const struct command *command = getenv(FABRIC_ENV) ? command_find(argv[1]) : NULL;
	int status;

	if (argc == 4 && !strcmp(argv[1], "alter"))
		return alter_trace(argv[2], argv[3]);
	if (!command)
		return test_run(argv);
	status = command->run(argc - 1, argv + 1);
	fflush(stdout);
	return status;
}
