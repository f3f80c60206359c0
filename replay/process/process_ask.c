/*
 * Starting, commanding and ending the replayed processes
 *
 * Process 0 is forked before any device is opened, and root processes are forked from it, so that
 * each begins as a program does. The others are forked from their parents.
 *
 * The end of a process is noticed through its pidfd. Its parent has to reap it; if the parent has
 * ended, the replaying process does.
 */
#include "replay/process/process_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "core/wire/log.h"
#include "replay/process/process_agent.h"

/*
 * Spins before a sleep. No sched_yield() between them: on a busy machine it returns only after the
 * time slices of all other threads, while a thread that is woken runs soon.
 */
enum { SPINS = 500, GRACE_MS = 5000 };

#define SLEEP_MOST_NS 20000000 /* ns */
#define ROOM_MOST     (16ul << 20)
#define ROOM_ALL      (64ul << 30) /* address space, not memory */
#define ROOM_LEAST    (1ul << 20)

struct replayed_process {
	uint32_t parent; /* the process that it was forked from */
	int pid, pidfd;  /* -1: none */
	bool started, ended;
	char how[96]; /* how it ended, if that was unexpected */
	pthread_mutex_t lock;
};

struct process_ask {
	struct trace *trace;
	const struct process_callbacks *handlers;
	struct process_wire *wire;
	size_t size;
	int alive; /* the writing end */
	struct replayed_process *replayed;
	uint32_t nprocesses, nthreads;
	uint32_t *home;       /* by thread: the process in which it was started; 0: none */
	pthread_mutex_t lock; /* protects the list of started processes */
};

static struct channel *channel_of(struct process_ask *ask, uint32_t process)
{
	return &ask->wire->channels[process];
}

static struct replayed_process *find_replayed(struct process_ask *ask, uint32_t process)
{
	return process < ask->nprocesses ? &ask->replayed[process] : NULL;
}

uint32_t process_ask_of(const struct process_ask *ask, const struct channel *channel)
{
	uint32_t i = (uint32_t)(channel - ask->wire->channels);

	return i < ask->nprocesses ? i : ask->home[i - ask->nprocesses];
}

static bool has_ended(const struct replayed_process *p, int ms)
{
	struct pollfd fd = { .fd = p->pidfd, .events = POLLIN };

	return p->pidfd >= 0 && poll(&fd, 1, ms) == 1;
}

#define ENDED_PROCESS "its process in the replay "

static void describe_end(int status, char *text, size_t size)
{
	if (status >= 0 && WIFSIGNALED(status))
		snprintf(text, size, ENDED_PROCESS "ended by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else if (status >= 0 && WIFEXITED(status))
		snprintf(text, size, ENDED_PROCESS "exited with status %d", WEXITSTATUS(status));
	else
		snprintf(text, size, ENDED_PROCESS "ended");
}

static int reap_process(struct process_ask *ask, struct replayed_process *p)
{
	struct channel *c = channel_of(ask, p->parent);
	int status = -1;

	if (waitpid(p->pid, &status, WNOHANG) == p->pid)
		return status;
	if (p == &ask->replayed[0] || !process_ask_runs(ask, p->parent))
		return -1;
	process_ask_lock(ask, c);
	c->args[0] = (uint64_t)p->pid;
	if (!process_ask(ask, c, PROCESS_REAP))
		status = (int)c->ret;
	process_ask_unlock(ask, c);
	return status;
}

static void note_lost(struct process_ask *ask, uint32_t process)
{
	struct replayed_process *p = &ask->replayed[process];
	char how[sizeof(p->how)];

	if (__atomic_exchange_n(&p->ended, true, __ATOMIC_SEQ_CST))
		return;
	describe_end(reap_process(ask, p), how, sizeof(how));
	memcpy(p->how, how, sizeof(how));
	ask->handlers->lost(process, p->how + strlen(ENDED_PROCESS));
}

/* False if the process has ended instead. */
static bool await_answer(struct process_ask *ask, struct channel *c, uint32_t number)
{
	uint32_t process = process_ask_of(ask, c), answered;

	for (unsigned int turn = 0; (answered = process_load(c->answered)) != number; turn++) {
		if (turn < SPINS) {
			__builtin_ia32_pause();
			continue;
		}
		process_store(c->we_sleep, 1);
		if (process_load(c->answered) == answered)
			process_sleep(&c->answered, answered, SLEEP_MOST_NS);
		process_store(c->we_sleep, 0);
		if (process_load(c->answered) == answered &&
		    has_ended(&ask->replayed[process], 0)) {
			note_lost(ask, process);
			return false;
		}
	}
	return true;
}

int process_ask(struct process_ask *ask, struct channel *c, enum process_command command)
{
	if (process_load(ask->replayed[process_ask_of(ask, c)].ended))
		return -ESRCH;
	c->command = command;
	process_store(c->asked, c->asked + 1);
	if (process_load(c->agent_sleeps))
		process_wake(&c->asked);
	return await_answer(ask, c, c->asked) ? 0 : -ESRCH;
}

void process_ask_lock(struct process_ask *ask, const struct channel *c)
{
	uint32_t i = (uint32_t)(c - ask->wire->channels);

	if (i < ask->nprocesses)
		pthread_mutex_lock(&ask->replayed[i].lock);
}

void process_ask_unlock(struct process_ask *ask, const struct channel *c)
{
	uint32_t i = (uint32_t)(c - ask->wire->channels);

	if (i < ask->nprocesses)
		pthread_mutex_unlock(&ask->replayed[i].lock);
}

bool process_ask_runs(const struct process_ask *ask, uint32_t process)
{
	const struct replayed_process *p = &ask->replayed[process];

	return process < ask->nprocesses && p->started && !process_load(p->ended);
}

bool process_ask_descends(const struct process_ask *ask, uint32_t process, uint32_t of)
{
	for (uint32_t steps = 0; process && steps < ask->nprocesses; steps++) {
		if (process == of)
			return true;
		process = ask->replayed[process].parent;
	}
	return false;
}

static void note_started(struct process_ask *ask, uint32_t child, uint32_t parent, int pid)
{
	struct replayed_process *p = &ask->replayed[child];

	p->pid = pid;
	p->parent = parent;
	p->started = true;
	p->ended = pid < 0;
	p->pidfd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
}

static void fork_from(struct process_ask *ask, uint32_t child, uint32_t parent, struct channel *c)
{
	struct replayed_process *p = &ask->replayed[child];

	process_ask_lock(ask, c);
	c->args[0] = child;
	if (process_ask(ask, c, PROCESS_FORK))
		snprintf(p->how, sizeof(p->how), "its parent process has ended");
	else if (c->ret < 0)
		snprintf(p->how, sizeof(p->how), "a process could not be forked: %s",
			 strerror(c->error));
	note_started(ask, child, parent, *p->how ? -1 : (int)c->ret);
	if (parent && !*p->how)
		ask->handlers->forked(child, parent);
	process_ask_unlock(ask, c);
}

/* The parent process; 0: it is a root. */
static uint32_t parent_of(struct process_ask *ask, uint32_t child)
{
	const struct process *process = trace_process(ask->trace, child);
	uint32_t parent = process ? process->parent : 0;

	return parent != child && parent < ask->nprocesses && process_ask_runs(ask, parent) ? parent
											    : 0;
}

void process_ask_fork(struct process_ask *ask, uint32_t child, uint32_t thread)
{
	uint32_t parent = parent_of(ask, child);
	struct replayed_process *p = find_replayed(ask, child);
	struct channel *c;

	if (!p || !child || p->started)
		return;
	c = process_ask_channel(ask, parent, thread);
	pthread_mutex_lock(&ask->lock);
	if (!p->started)
		fork_from(ask, child, parent, c);
	pthread_mutex_unlock(&ask->lock);
}

const char *process_ask_why_not(struct process_ask *ask, uint32_t process)
{
	struct replayed_process *p = find_replayed(ask, process);

	if (!p)
		return "its process is not in the trace";
	if (!p->started)
		process_ask_fork(ask, process, 0);
	if (!process_load(p->ended))
		return NULL;
	return *p->how ? p->how : "its process has ended";
}

static void start_thread(struct process_ask *ask, uint32_t process, uint32_t thread)
{
	struct channel *c = channel_of(ask, process);

	process_ask_lock(ask, c);
	c->args[0] = ask->nprocesses + thread;
	ask->home[thread] = process;
	if (process_ask(ask, c, PROCESS_START) || c->ret)
		ask->home[thread] = 0;
	process_ask_unlock(ask, c);
}

struct channel *process_ask_channel(struct process_ask *ask, uint32_t process, uint32_t thread)
{
	const struct thread *t = thread ? trace_thread(ask->trace, thread) : NULL;

	if (!t || !process || t->process != process || thread >= ask->nthreads)
		return channel_of(ask, process);
	if (!ask->home[thread]) {
		pthread_mutex_lock(&ask->lock);
		start_thread(ask, process, thread);
		pthread_mutex_unlock(&ask->lock);
	}
	return ask->home[thread] == process ? channel_of(ask, ask->nprocesses + thread)
					    : channel_of(ask, process);
}

void process_ask_end(struct process_ask *ask, uint32_t process, enum process_ending ending)
{
	struct replayed_process *p = find_replayed(ask, process);
	struct channel *c;

	if (!p || !process_ask_runs(ask, process))
		return;
	c = channel_of(ask, process);
	process_ask_lock(ask, c);
	c->args[0] = ending;
	process_ask(ask, c, PROCESS_END);
	process_ask_unlock(ask, c);
	if (__atomic_exchange_n(&p->ended, true, __ATOMIC_SEQ_CST))
		return;
	if (p->pidfd >= 0 && !has_ended(p, GRACE_MS)) {
		kill(p->pid, SIGKILL);
		has_ended(p, GRACE_MS);
	}
	reap_process(ask, p);
}

static int count_trace(struct process_ask *ask)
{
	for (ask->nprocesses = 1; trace_process(ask->trace, ask->nprocesses);)
		ask->nprocesses++;
	for (ask->nthreads = 1; trace_thread(ask->trace, ask->nthreads);)
		ask->nthreads++;
	ask->replayed = calloc(ask->nprocesses, sizeof(*ask->replayed));
	ask->home = calloc(ask->nthreads, sizeof(*ask->home));
	if (!ask->replayed || !ask->home)
		return -ENOMEM;
	for (uint32_t i = 0; i < ask->nprocesses; i++) {
		pthread_mutex_init(&ask->replayed[i].lock, NULL);
		ask->replayed[i].pid = ask->replayed[i].pidfd = -1;
	}
	return 0;
}

/* Map the channels, followed by their buffers. */
static int map_wire(struct process_ask *ask)
{
	size_t n = ask->nprocesses + ask->nthreads, page = 4096, head, room = ROOM_ALL / n;
	char *at;

	room = (room < ROOM_MOST ? room : ROOM_MOST) & ~(page - 1);
	room = room > ROOM_LEAST ? room : ROOM_LEAST;
	head = (sizeof(*ask->wire) + n * sizeof(struct channel) + page - 1) & ~(page - 1);
	ask->size = head + n * room;
	at = mmap(NULL, ask->size, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	ask->wire = (struct process_wire *)at;
	ask->wire->nprocesses = ask->nprocesses;
	ask->wire->nchannels = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		ask->wire->channels[i].room = at + head + i * room;
		ask->wire->channels[i].size = room;
	}
	return 0;
}

/* Signals that end a replay must reach only the replaying process, which ends the others. */
static void run_first_agent(struct process_ask *ask)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		signal(ends[i], SIG_IGN);
	close(ask->alive);
	process_agent_run(ask->wire, 0);
}

static int start_first_process(struct process_ask *ask)
{
	int fds[2], pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	ask->wire->alive = fds[0];
	ask->alive = fds[1];
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	fflush(NULL); /* or an exiting child writes the same data again */
	pid = fork();
	if (!pid)
		run_first_agent(ask);
	close(fds[0]);
	if (pid < 0)
		return -errno;
	note_started(ask, 0, 0, pid);
	return 0;
}

int process_ask_new(struct trace *trace, const struct process_callbacks *handlers,
		    struct process_ask **ret_ask)
{
	struct process_ask *ask = calloc(1, sizeof(*ask));
	int err;

	if (!ask)
		return log_err(-ENOMEM, "prepare processes");
	*ask = (struct process_ask){
		.trace = trace, .handlers = handlers, .alive = -1, .lock = PTHREAD_MUTEX_INITIALIZER
	};
	err = count_trace(ask) ?: map_wire(ask) ?: start_first_process(ask);
	if (err) {
		process_ask_free(ask);
		return log_err(err, "start a process to replay others in");
	}
	*ret_ask = ask;
	return 0;
}

/* End all processes; kill those that do not end by themselves, since they hang in a device. */
static void end_all(struct process_ask *ask)
{
	if (ask->alive >= 0)
		close(ask->alive);
	for (uint32_t i = 0; i < ask->nprocesses; i++) {
		struct replayed_process *p = &ask->replayed[i];

		if (p->started && !p->ended && !has_ended(p, GRACE_MS))
			kill(p->pid, SIGKILL);
		if (p->pidfd >= 0)
			close(p->pidfd);
	}
	if (ask->replayed[0].pid > 0)
		waitpid(ask->replayed[0].pid, NULL, 0);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

void process_ask_free(struct process_ask *ask)
{
	if (!ask)
		return;
	if (ask->replayed && ask->wire)
		end_all(ask);
	if (ask->wire)
		munmap(ask->wire, ask->size);
	free(ask->replayed);
	free(ask->home);
	free(ask);
}
