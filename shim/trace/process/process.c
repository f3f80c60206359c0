/*
 * Recording a process
 *
 * The first ring of a process starts with EVENT_PROCESS and an EVENT_MODULE for each object file
 * with which the program was started (modules.c).
 *
 * A fork is recorded in the parent, before it happens, with a number; the child records the same
 * number when it calls its first verb. spawn.c handles forks that pthread_atfork() does not report,
 * and other ways to create a process.
 */
#include "shim/trace/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/wire/clock.h"
#include "core/wire/session.h"
#include "shim/trace/base/forks.h"
#include "shim/trace/base/libc.h"
#include "shim/trace/base/next.h"
#include "shim/trace/base/permit.h"
#include "shim/trace/base/started.h"
#include "shim/trace/base/tap.h"
#include "shim/trace/interpose/import.h"
#include "shim/trace/objects/descriptors.h"
#include "shim/trace/process/surroundings.h"
#include "shim/trace/process/user.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/ring/rings.h"
#include "shim/trace/ring/vfork.h"
#include "shim/trace/stack/libunwind.h"
#include "shim/trace/stack/modules.h"
#include "shim/trace/stack/stack.h"

enum {
	CMD_MAX = 4096,
	PATH_BYTES = 1024,
};

static atomic_bool written;
static _Atomic uint32_t forks; /* number of forks so far */
static pid_t self;             /* pid of the recorded process */
static pid_t forked_from;

/* Data for a child that the thread which created it has stored. */
static struct origin {
	uint32_t seq; /* number of the fork; 0: not known */
	uint64_t ticks;
} origin;

static __thread uint32_t announced_seq __attribute__((tls_model("initial-exec")));
static struct origin process_origin; /* origin of this process */
static __thread struct origin announced __attribute__((tls_model("initial-exec")));

/*
 * Do everything that takes the loader's lock now, once per image: later a thread that holds this
 * lock may wait for a verb.
 */
static void prepare_loader(void)
{
	static bool done;

	forks_hold();
	if (!done) {
		next_find_all();
		stack_load();
		import_scan_all();
	}
	done = true;
	forks_release();
}

void process_begin(pid_t before)
{
	self = getpid();
	forked_from = before == self ? 0 : before;
	if (!origin.ticks)
		/* no data: created by a bare system call */
		origin = (struct origin){ 0, record_ticks() };
	process_origin = origin;
	origin = (struct origin){ 0 };
	atomic_store(&written, false);
	forks_hold();
	prepare_loader();
	stack_begin();
	forks_release();
}

/*
 * Prepare at once only if the program is linked with verbs; another program may never call one, and
 * uses the loader at its first verb.
 */
__attribute__((constructor)) static void prepare_process(void)
{
	const char *dir = getenv(SESSION_ENV);

	started_remember();
	if (!dir || !*dir)
		return;
	libc_find_all();
	if (started_has_verbs())
		prepare_loader();
}

/*
 * Read a file. libc's open() and read() are cancellation points, and may be interposed;
 * start_recording() has disabled cancellation.
 */
static size_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, size);
	close(fd);
	return n > 0 ? (size_t)n : 0;
}

static size_t words_for(size_t bytes)
{
	return (bytes + 7) / 8;
}

static void write_process(void)
{
	struct event_process *event =
		record_reserve(sizeof(*event) + PATH_BYTES + CMD_MAX + SURROUNDINGS_BYTES + 16);
	char *text;
	ssize_t exe;

	if (!event)
		return;
	text = (char *)(event + 1);
	record_head(&event->head, EVENT_PROCESS, record_ticks());
	event->pid = (uint32_t)getpid();
	event->ppid = (uint32_t)getppid();
	event->forked_from = (uint32_t)forked_from;
	event->fork_seq = forked_from ? process_origin.seq : 0;
	event->fork_ticks = forked_from ? process_origin.ticks : 0;
	exe = readlink("/proc/self/exe", text, PATH_BYTES);
	event->exe_bytes = exe > 0 ? (uint16_t)exe : 0;
	event->cmd_bytes =
		(uint16_t)read_file("/proc/self/cmdline", text + event->exe_bytes, CMD_MAX);
	text += event->exe_bytes + event->cmd_bytes;
	event->environ_bytes = (uint16_t)surroundings_environ(text);
	surroundings_limits(event);
	event->pad = 0;
	event->pad2 = 0;
	text += event->environ_bytes;
	record_commit(&event->head, words_for((size_t)(text - (char *)event)));
}

void process_write(void)
{
	if (atomic_exchange(&written, true))
		return;
	write_process();
	if (!forked_from) /* a child continues with the modules that its parent has written */
		modules_write_started();
	import_report();
}

static void fork_write(enum event_fork_how how, uint32_t seq, uint64_t ticks)
{
	struct event_descriptor staying[EVENT_FORK_DESCRIPTORS];
	struct event_fork *event;
	struct stack stack;
	size_t n = 0;

	stack_take(&stack);
	if (permit_has(NEED_FORK))
		n = descriptors_list_staying(staying);
	event = record_reserve(sizeof(*event) + STACK_FRAMES * 8 + sizeof(staying));
	if (!event)
		return;
	record_head(&event->head, EVENT_FORK, ticks);
	event->fork_seq = seq;
	event->how = (uint16_t)how;
	event->nframes = (uint16_t)stack.nframes;
	event->modules = stack.modules;
	event->ndescriptors = (uint32_t)n;
	memcpy(event + 1, stack.frames, stack.nframes * sizeof(*stack.frames));
	memcpy((uint64_t *)(event + 1) + stack.nframes, staying, n * sizeof(*staying));
	record_commit(&event->head, (sizeof(*event) + n * sizeof(*staying)) / 8 + event->nframes);
}

bool process_is_recorded(void)
{
	return recording_is_on() && permit_getpid() == self;
}

uint32_t process_fork(enum event_fork_how how)
{
	int saved = errno;
	uint32_t seq = 0;

	if (how == FORK_EXEC || how == FORK_POSIX_SPAWN)
		user_exec();
	if (vfork_is_child()) {
		if (how == FORK_EXEC)
			vfork_exec(permit_getpid());
	} else if (process_is_recorded() && !recorder.busy && record_ready()) {
		seq = atomic_fetch_add(&forks, 1) + 1;
		announced = (struct origin){ seq, record_ticks() };
		fork_write(how, seq, announced.ticks);
	}
	errno = saved;
	return seq;
}

void process_write_fork(uint32_t seq, pid_t pid, int error)
{
	int saved = errno;

	if (seq && process_is_recorded() && record_ready())
		record_write_fork_result(seq, pid, error);
	errno = saved;
}

/* @seq 0: the child uses the time of its origin, whose thread has not called a verb. */
void process_begin_child(uint32_t seq)
{
	if (seq)
		origin = announced;
	else
		origin.seq = 0;
}

void process_exit(enum event_exit_how how, int status)
{
	struct event_exit *event;

	if (!process_is_recorded() || recorder.busy)
		return;
	record_abandon();
	if (!record_ready())
		return;
	event = record_reserve(sizeof(*event));
	if (!event)
		return;
	record_head(&event->head, EVENT_EXIT, record_ticks());
	event->how = how;
	event->status = status;
	record_commit(&event->head, sizeof(*event) / 8);
	if (how == EXIT_AT_ONCE && tap_get())
		verbatim_tap_end(); /* end the tap here: no destructor will */
}

/* Called before a fork; one at a time, since join.c holds its lock. */
static void before_fork(void)
{
	forks_before();
	libunwind_before_fork();
}

static void after_fork_child(void)
{
	forks_after_child();
	libunwind_after_fork();
}

void process_watch_forks(void)
{
	pthread_atfork(before_fork, forks_after_parent, after_fork_child);
}

static void announce_fork(void)
{
	announced_seq = process_fork(FORK_FORK);
}

uint32_t process_take_announced(void)
{
	uint32_t seq = announced_seq;

	announced_seq = 0;
	return seq;
}

static void note_announced_child(void)
{
	process_begin_child(announced_seq);
}

static void announce_exit(int status, void *unused)
{
	(void)unused;
	process_exit(EXIT_EXIT, status);
}

void process_announce_forks(void)
{
	pthread_atfork(announce_fork, NULL, note_announced_child);
}

void process_announce_exit(void)
{
	on_exit(announce_exit, NULL);
}
