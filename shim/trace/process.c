/*
 * What the trace knows of a process
 *
 * The first ring of a process starts with EVENT_PROCESS and an EVENT_MODULE
 * for each object file that is mapped; when the loader's counters say that
 * files were loaded or unloaded since, the list is written again (a module is
 * named by where it lies: what is written twice says the same).
 *
 * A fork is recorded in the parent, before it happens, with a number; the
 * child repeats the number when it calls its first verb. What fork() cannot be
 * told by pthread_atfork(), and what is not fork(), comes from spawn.c.
 */
#include "shim/trace/process.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/trace/import.h"
#include "shim/trace/record.h"
#include "shim/trace/stack.h"
#include "shim/trace/tap.h"

enum { CMD_MAX = 4096, PATH_BYTES = 1024, HOLDER_YIELDS = 100000 };

static atomic_bool written;
static atomic_ullong modules_seen; /* of dlpi_adds and dlpi_subs */
static _Atomic uint32_t forks;     /* numbers given out */
static pid_t self;                 /* of the recorded process */
static uint64_t image;
static pid_t forked_from;

/* What a child was told by the thread that made it. */
static struct origin {
	uint32_t seq;   /* 0: nobody told us */
	uint64_t ticks;
} origin;

static __thread uint32_t announced_seq __attribute__((tls_model("initial-exec")));
static struct origin process_origin; /* of this process */
static __thread struct origin announced __attribute__((tls_model("initial-exec")));

static atomic_uint holders;        /* threads where a fork would do harm */
static atomic_bool forking;

void process_begin(pid_t before)
{
	self = getpid();
	image = record_ticks();
	forked_from = before == self ? 0 : before;
	if (!origin.ticks)
		origin = (struct origin){ 0, record_ticks() }; /* a raw clone() */
	process_origin = origin;
	origin = (struct origin){ 0 };
	atomic_store(&written, false);
	atomic_store(&modules_seen, 0);
}

uint64_t process_image(void)
{
	return image;
}

/* libc's open() and read() are cancellation points and may be someone's own; record_start()
 * has switched cancellation off. */
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
	struct event_process *event = record_reserve(sizeof(*event) + PATH_BYTES + CMD_MAX + 16);
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
	event->cmd_bytes = (uint16_t)read_file("/proc/self/cmdline", text + event->exe_bytes, CMD_MAX);
	event->pad = 0;
	record_commit(&event->head,
		      sizeof(*event) / 8 + words_for((size_t)event->exe_bytes + event->cmd_bytes));
}

/* A header may name notes that were not loaded: they are not there to be read. */
static bool is_loaded(const struct dl_phdr_info *info, const ElfW(Phdr) *note)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_R && note->p_vaddr >= ph->p_vaddr &&
		    note->p_vaddr + note->p_memsz <= ph->p_vaddr + ph->p_memsz)
			return true;
	}
	return false;
}

/* The note that names the build, in a loaded segment. */
static const ElfW(Nhdr) *find_build_id(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const char *at = (const char *)info->dlpi_addr + ph->p_vaddr;
		const char *end = at + ph->p_memsz;

		if (ph->p_type != PT_NOTE || !is_loaded(info, ph))
			continue;
		while (at + sizeof(ElfW(Nhdr)) < end) {
			const ElfW(Nhdr) *note = (const void *)at;

			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			    note->n_descsz <= 32 && at + sizeof(*note) + 4 + note->n_descsz <= end &&
			    !memcmp(note + 1, "GNU", 4))
				return note;
			at += sizeof(*note) + ((note->n_namesz + 3) & ~3u) +
			      ((note->n_descsz + 3) & ~3u);
		}
	}
	return NULL;
}

static void module_range(const struct dl_phdr_info *info, struct event_module *event)
{
	event->base = info->dlpi_addr;
	event->start = UINT64_MAX;
	event->end = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD)
			continue;
		if (start < event->start)
			event->start = start;
		if (start + ph->p_memsz > event->end)
			event->end = start + ph->p_memsz;
	}
}

static size_t module_path(const struct dl_phdr_info *info, char *text)
{
	size_t n = strnlen(info->dlpi_name, PATH_BYTES);
	ssize_t exe;

	if (n) {
		memcpy(text, info->dlpi_name, n);
		return n;
	}
	exe = readlink("/proc/self/exe", text, PATH_BYTES); /* the program itself has no name */
	return exe > 0 ? (size_t)exe : 0;
}

static int write_module(struct dl_phdr_info *info, size_t size, void *unused)
{
	const ElfW(Nhdr) *note = find_build_id(info);
	struct event_module *event = record_reserve(sizeof(*event) + PATH_BYTES + 64);
	char *text;

	(void)size;
	(void)unused;
	if (!event)
		return 0;
	text = (char *)(event + 1);
	record_head(&event->head, EVENT_MODULE, record_ticks());
	module_range(info, event);
	event->path_bytes = (uint16_t)module_path(info, text);
	event->build_id_bytes = note ? (uint16_t)note->n_descsz : 0;
	event->pad = 0;
	if (event->build_id_bytes)
		memcpy(text + event->path_bytes, (const char *)(note + 1) + 4, note->n_descsz);
	record_commit(&event->head, sizeof(*event) / 8 + words_for((size_t)event->path_bytes +
								   event->build_id_bytes));
	return 0;
}

static int count_modules(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(unsigned long long *)arg = info->dlpi_adds + info->dlpi_subs;
	return 1;
}

void process_modules(void)
{
	unsigned long long now = 0;

	process_hold_forks();
	dl_iterate_phdr(count_modules, &now);
	if (atomic_exchange_explicit(&modules_seen, now, memory_order_relaxed) != now) {
		dl_iterate_phdr(write_module, NULL);
		import_look();
	}
	process_allow_forks();
}

void process_write(void)
{
	if (!atomic_exchange(&written, true))
		write_process();
}

static void fork_write(enum event_fork_how how, uint32_t seq, uint64_t ticks)
{
	struct event_fork *event;

	process_modules();
	event = record_reserve(sizeof(*event) + STACK_FRAMES * 8);
	if (!event)
		return;
	record_head(&event->head, EVENT_FORK, ticks);
	event->fork_seq = seq;
	event->how = (uint16_t)how;
	event->nframes = (uint16_t)stack_take((uint64_t *)(event + 1), STACK_FRAMES);
	record_commit(&event->head, sizeof(*event) / 8 + event->nframes);
}

void process_spawned(uint32_t seq, pid_t pid, int error)
{
	struct event_spawned *event = record_reserve(sizeof(*event));

	if (!event)
		return;
	record_head(&event->head, EVENT_SPAWNED, record_ticks());
	event->fork_seq = seq;
	event->pid = (int32_t)pid;
	event->error = error;
	event->pad = 0;
	record_commit(&event->head, sizeof(*event) / 8);
}

/* Not the child of a vfork: what it does is not its parent's doing. */
static bool is_recorded(void)
{
	return record_on() && getpid() == self;
}

uint32_t process_fork(enum event_fork_how how)
{
	int saved = errno;
	uint32_t seq = 0;

	if (record_in_vfork()) {
		if (how == FORK_EXEC)
			record_vforked(getpid());
	} else if (is_recorded() && !recorder.busy && record_ready()) {
		seq = atomic_fetch_add(&forks, 1) + 1;
		announced = (struct origin){ seq, record_ticks() };
		fork_write(how, seq, announced.ticks);
	}
	errno = saved;
	return seq;
}

void process_forked(uint32_t seq, pid_t pid, int error)
{
	int saved = errno;

	if (seq && is_recorded() && record_ready())
		process_spawned(seq, pid, error);
	errno = saved;
}

/* Without a number: of a child that called no verb, and goes on as what that was. */
void process_child(uint32_t seq)
{
	if (seq)
		origin = announced;
	else
		origin.seq = 0;
}

void process_exit(enum event_exit_how how, int status)
{
	struct event_exit *event;

	if (!is_recorded() || recorder.busy)
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
		verbatim_tap_end(); /* no destructor will */
}

void process_hold_forks(void)
{
	if (recorder.forks_held++)
		return;
	for (;;) {
		atomic_fetch_add(&holders, 1);
		if (!atomic_load(&forking))
			return;
		atomic_fetch_sub(&holders, 1);
		sched_yield();
	}
}

void process_allow_forks(void)
{
	if (!--recorder.forks_held)
		atomic_fetch_sub(&holders, 1);
}

/* Not for ever: a holder may have been left by a longjmp out of a signal handler. */
static void wait_for_holders(void)
{
	unsigned int ours = recorder.forks_held ? 1 : 0;

	atomic_store(&forking, true);
	for (int i = 0; atomic_load(&holders) > ours && i < HOLDER_YIELDS; i++)
		sched_yield();
}

/* One fork at a time: join.c holds its lock. */
static void before_fork(void)
{
	wait_for_holders();
}

static void after_fork_parent(void)
{
	atomic_store(&forking, false);
}

static void after_fork_child(void)
{
	atomic_store(&holders, recorder.forks_held ? 1 : 0);
	atomic_store(&forking, false);
}

void process_watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

static void announce_fork(void)
{
	announced_seq = process_fork(FORK_FORK);
}

static void announced_child(void)
{
	process_child(announced_seq);
}

static void announce_exit(int status, void *unused)
{
	(void)unused;
	process_exit(EXIT_EXIT, status);
}

void process_announce_forks(void)
{
	pthread_atfork(announce_fork, NULL, announced_child);
	on_exit(announce_exit, NULL);
}
