/*
 * A session with an infinitely fast collector
 *
 * It reads nothing: it moves the reader's position of each ring far ahead, so that the writer never
 * finds it full. The slow-down of a program is then caused only by the recorder in it.
 *
 *	hold [PROGRAM ARG...]  runs PROGRAM with VERBATIM_DIR, then prints to
 *			       stderr how many events and bytes were written
 *
 * The rings are overwritten, so this is not a recording.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/wire/ring.h"
#include "core/wire/session.h"

enum { RINGS = 256, FAR = 62 };

static struct session session;
static struct ring rings[RINGS];

static void open_new(void)
{
	char path[SESSION_PATH + 16];
	uint32_t n = session_count_rings(&session);

	for (uint32_t i = 0; i < n && i < RINGS; i++) {
		if (rings[i].head)
			continue;
		session_ring_path(&session, i, path);
		if (!ring_open(&rings[i], path))
			atomic_store(&rings[i].head->head, 1ull << FAR);
	}
}

static uint64_t bytes_written(void)
{
	uint64_t bytes = 0;

	for (int i = 0; i < RINGS; i++)
		if (rings[i].head)
			bytes += atomic_load(&rings[i].head->tail);
	return bytes;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 500000 };
	int status;
	pid_t pid;

	if (argc < 2 || session_create(&session, NULL, RING_BYTES, ON_FULL_WAIT))
		return 1;
	setenv(SESSION_ENV, session.dir, 1);
	pid = fork();
	if (!pid) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	while (!waitpid(pid, &status, WNOHANG)) {
		open_new();
		nanosleep(&pause, NULL);
	}
	open_new();
	fprintf(stderr, "hold: %llu bytes\n", (unsigned long long)bytes_written());
	session_remove(&session);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
