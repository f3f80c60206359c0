/*
 * Brings the recorder into a running process, and takes it out again
 *
 *	begin    the list of its objects is written to the session's directory
 *		 dlopen(libverbatim.so), unless an earlier recording has left it there
 *		 verbatim_attach_begin()
 *	...      the recording (cli/record/recording.c)
 *	end      verbatim_attach_end()
 *		 which threads are inside the library still?
 *		 verbatim_attach_release()
 *
 * Not here: how a thread is borrowed for these calls (inject.c); what they do in the process
 * (shim/trace/verbs/attach.c).
 */
#include "cli/attach/enter.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/attach/exported.h"
#include "cli/attach/facts.h"
#include "cli/attach/inject.h"
#include "cli/attach/modules.h"
#include "cli/cli.h"
#include "cli/record/device.h"
#include "cli/record/record_running.h"
#include "core/base/read_file.h"
#include "core/base/vec.h"
#include "core/wire/attach.h"
#include "core/wire/log.h"

enum { SWEEPS = 10, SWEEP_NS = 10000000 };

static const char library_name[] = "libverbatim.so";

enum attach_function { BEGIN, END, RELEASE, FUNCTIONS };

struct entered_target {
	struct facts *facts;
	char library[PATH_MAX];
	uint64_t start, end; /* where the library is mapped; 0: it is not mapped */
	uint64_t dlopen, restorer;
	struct exported_function functions[FUNCTIONS];
	struct attach_request request;
};

/* Refusals */

/* The number in a line of /proc/PID/status; @nth of several. */
static unsigned long read_status(const char *text, const char *name, int nth)
{
	const char *at = strstr(text, name);
	char *end;
	unsigned long value = 0;

	if (!at)
		return 0;
	for (at += strlen(name); nth >= 0; nth--, at = end)
		value = strtoul(at, &end, 10);
	return value;
}

const char *enter_refuse_status(const char *status, unsigned long user)
{
	if (read_status(status, "\nTracerPid:", 0))
		return "is traced by another process, such as a debugger";
	if (read_status(status, "\nUid:", 0) != read_status(status, "\nUid:", 1) ||
	    read_status(status, "\nGid:", 0) != read_status(status, "\nGid:", 1))
		return "is set-user-ID";
	if (read_status(status, "\nUid:", 1) != user)
		return "belongs to another user, and could not write to this recording";
	if (read_status(status, "\nSeccomp:", 0))
		return "runs in a seccomp sandbox, which may forbid what the recorder does";
	return strstr(status, "shstk") ? "has shadow stacks" : NULL;
}

static const char *refuse_status(const struct target *process)
{
	const char *why;
	char path[64], *text;
	size_t bytes;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)process->pid);
	if (read_file(path, &text, &bytes))
		return "has ended";
	why = enter_refuse_status(text, geteuid());
	free(text);
	return why;
}

/* The first mapping of a file whose name begins with @name. */
static const struct target_map *find_map(const struct target *process, const char *name)
{
	for (size_t i = 0; i < process->nmaps; i++) {
		const char *last = strrchr(process->maps[i].path, '/');

		if (last && !process->maps[i].offset && !strncmp(last + 1, name, strlen(name)))
			return &process->maps[i];
	}
	return NULL;
}

const char *enter_refuse(const struct facts *facts)
{
#ifndef __x86_64__
	(void)facts;
	return "does not run on x86-64";
#else
	if (!find_map(&facts->process, "ld-linux"))
		return "is statically linked, or does not use glibc";
	return refuse_status(&facts->process);
#endif
}

/* Functions that are called in the process */

/* Has the process ended meanwhile? That is then reported, as the reason why something failed. */
static bool has_ended(const struct entered_target *entered)
{
	const struct target *process = &entered->facts->process;

	if (target_is_same(process))
		return false;
	log_why(-ESRCH, "process %d (%s) has ended", (int)process->pid, process->name);
	return true;
}

/* The process must see the same file, whatever its root directory is. */
static int open_library(const struct entered_target *entered)
{
	struct stat ours, theirs;
	int fd = target_open(&entered->facts->process, entered->library, &theirs);

	if (fd >= 0 && !stat(entered->library, &ours) && ours.st_ino == theirs.st_ino)
		return fd;
	if (fd >= 0)
		close(fd);
	if (has_ended(entered))
		return -ESRCH;
	return log_why(-ENOENT,
		       "the process cannot open %s: if it runs in a container, make the "
		       "file visible there",
		       entered->library);
}

static int find_exports(struct entered_target *entered)
{
	const struct target *process = &entered->facts->process;
	const struct target_map *libc = find_map(process, "libc.so.6");
	struct exported_function open = { "dlopen", 0 };
	struct stat st;
	int fd, err;

	fd = libc ? target_open(process, libc->path, &st) : -ENOENT;
	if (fd < 0 || st.st_ino != libc->inode) {
		if (fd >= 0)
			close(fd);
		if (has_ended(entered))
			return -ESRCH;
		return log_why(-ENOENT, "the process has loaded a C library that is no longer the "
					"file at its path (upgraded?): restart the process");
	}
	err = exported_find(fd, &open, 1, &entered->restorer);
	close(fd);
	if (err || !open.value || !entered->restorer)
		return log_why(-ENOSYS, "the C library of the process is not glibc 2.34 or newer, "
					"which attach --record needs");
	entered->dlopen = libc->start + open.value;
	entered->restorer += libc->start;
	fd = open_library(entered);
	if (fd < 0)
		return fd;
	entered->functions[BEGIN].name = ATTACH_BEGIN;
	entered->functions[END].name = ATTACH_END;
	entered->functions[RELEASE].name = ATTACH_RELEASE;
	err = exported_find(fd, entered->functions, FUNCTIONS, NULL);
	close(fd);
	return err ? log_err(err, "read %s", entered->library) : 0;
}

static void find_library(struct entered_target *entered)
{
	const struct target *process = &entered->facts->process;

	entered->start = entered->end = 0;
	for (size_t i = 0; i < process->nmaps; i++) {
		if (strcmp(process->maps[i].path, entered->library) != 0)
			continue;
		if (!entered->start)
			entered->start = process->maps[i].start;
		entered->end = process->maps[i].end;
	}
}

/* Threads and mappings, as they are now. */
static int reread_target(struct entered_target *entered)
{
	struct target now;
	int err;

	if (!target_is_same(&entered->facts->process))
		return -ESRCH;
	err = target_read(entered->facts->process.pid, &now);
	if (err)
		return err;
	target_fini(&entered->facts->process);
	entered->facts->process = now;
	find_library(entered);
	return 0;
}

/* Calls */

struct injected_calls {
	struct inject_process in;
	struct unwind_module modules[UNWIND_MODULES];
};

static struct injected_calls *prepare_calls(const struct entered_target *entered,
					    void (*idle)(void *), void *of)
{
	struct injected_calls *calls = calloc(1, sizeof(*calls));

	if (!calls)
		return NULL;
	calls->in = (struct inject_process){
		.process = &entered->facts->process,
		.memory = &entered->facts->memory,
		.modules = calls->modules,
		.nmodules = modules_open(entered->facts, modules_open_file, calls->modules),
		.restorer = entered->restorer,
		.idle = idle,
		.of = of,
	};
	return calls;
}

static void end_calls(struct injected_calls *calls)
{
	if (!calls)
		return;
	modules_close(calls->modules, calls->in.nmodules);
	free(calls);
}

static int report_no_thread(const struct entered_target *entered, int err, const char *why)
{
	int pid = (int)entered->facts->process.pid;

	if (has_ended(entered))
		return -ESRCH;
	if (err == -EAGAIN)
		return log_why(err,
			       "no thread of process %d can start the recorder now, try again; the "
			       "last thread tried: %s",
			       pid, why);
	return log_err(err, "start the recorder in a thread of process %d", pid);
}

static int load_library(struct entered_target *entered, struct inject *inject)
{
	char path[PATH_MAX];
	int err;

	find_library(entered);
	if (entered->start)
		return 0;
	snprintf(path, sizeof(path), "%s", entered->library);
	err = inject_call(inject, entered->dlopen, path, strlen(path) + 1, RTLD_NOW | RTLD_LOCAL);
	if (!err)
		err = reread_target(entered);
	if (!err && !entered->start)
		return log_why(-ENOEXEC, "the process cannot load %s", entered->library);
	return err ? log_err(err, "load %s in the process", entered->library) : 0;
}

static int call_function(struct entered_target *entered, struct inject *inject,
			 enum attach_function function)
{
	struct attach_request *request = &entered->request;
	int err;

	request->result = ATTACH_PENDING;
	err = inject_call(inject, entered->start + entered->functions[function].value, request,
			  sizeof(*request), 0);
	return err ? log_err(err, "call %s() in the process", entered->functions[function].name)
		   : 0;
}

/* The list of objects */

static bool add_object(struct attach_object **all, size_t *n, struct attach_object object)
{
	struct attach_object *added = vec_push(*all, *n);

	if (added)
		*added = object;
	return added;
}

/* Is @mr a live region? Freed memory may look like one, but the device knows its regions. */
static bool is_region(const struct facts *facts, const struct handle_mr *mr)
{
	bool any = false;

	for (size_t i = 0; i < facts->fabric.nmrs; i++)
		if (facts->fabric.mrs[i].lkey == mr->lkey)
			return true;
	for (size_t i = 0; i < facts->kernel.n; i++) {
		const struct kernel_object *object = &facts->kernel.objects[i];

		any |= object->kind == KERNEL_MR;
		if (object->kind == KERNEL_MR && object->length == mr->length)
			return true;
	}
	return !facts->fabric.instance && !any;
}

static int list_objects(const struct facts *facts, struct attach_object **all, size_t *n)
{
	const struct handles *h = &facts->handles;
	bool ok = true;

#define ADD(kind, object, context, number) \
	(ok = ok &&                        \
	      add_object(all, n, (struct attach_object){ (object)->at, context, kind, number }))
	for (size_t i = 0; i < h->ncontexts; i++)
		ADD(ATTACH_CONTEXT, &h->contexts[i], h->contexts[i].at,
		    (uint32_t)h->contexts[i].cmd_fd);
	for (size_t i = 0; i < h->nmrs; i++)
		if (is_region(facts, &h->mrs[i]))
			ADD(ATTACH_MR, &h->mrs[i], h->mrs[i].context, h->mrs[i].lkey);
	for (size_t i = 0; i < h->ncqs; i++)
		ADD(ATTACH_CQ, &h->cqs[i], h->cqs[i].context, (uint32_t)h->cqs[i].cqe);
	for (size_t i = 0; i < h->nqps; i++)
		if (!h->qps[i].gone)
			ADD(ATTACH_QP, &h->qps[i], h->qps[i].context, h->qps[i].qpn);
#undef ADD
	return ok ? 0 : -ENOMEM;
}

static int write_objects(struct entered_target *entered, const char *dir)
{
	struct attach_object *all = NULL;
	char path[PATH_MAX];
	size_t n = 0;
	int fd, err = list_objects(entered->facts, &all, &n);

	snprintf(path, sizeof(path), "%s/%s", dir, ATTACH_OBJECTS);
	entered->request.bytes = n * sizeof(*all);
	fd = err ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, all, entered->request.bytes) != (ssize_t)entered->request.bytes)
		err = err ?: -errno ?: -EIO;
	if (fd >= 0)
		close(fd);
	free(all);
	return err ? log_err(err, "write %s", path) : 0;
}

/* Begin and end */

static int check_begin_result(const struct entered_target *entered)
{
	int err = entered->request.result;

	if (err == -EALREADY)
		return log_why(err, "process %d is already being recorded",
			       (int)entered->facts->process.pid);
	if (err == -EPROTO)
		return log_why(err, "the process has loaded the recorder of another version of "
				    "verbatim: use that version, or restart the process");
	return err ? log_err(err, "record in process %d", (int)entered->facts->process.pid) : 0;
}

static int inject_begin_calls(struct entered_target *entered, const struct injected_calls *calls)
{
	struct inject *inject = NULL;
	const char *why;
	int err = inject_begin(&calls->in, &inject, &why);

	if (err)
		return report_no_thread(entered, err, why);
	err = load_library(entered, inject);
	if (!err)
		err = call_function(entered, inject, BEGIN);
	inject_end(inject);
	return err ?: check_begin_result(entered);
}

static int begin_recording(void *arg, const char *dir, void (*idle)(void *), void *of)
{
	struct entered_target *entered = arg;
	struct injected_calls *calls;
	int err = write_objects(entered, dir) ?: find_exports(entered);

	if (err)
		return err;
	snprintf(entered->request.dir, sizeof(entered->request.dir), "%s", dir);
	entered->request.version = ATTACH_VERSION;
	calls = prepare_calls(entered, idle, of);
	err = calls ? inject_begin_calls(entered, calls) : -ENOMEM;
	end_calls(calls);
	return err;
}

static int inject_and_call(struct entered_target *entered, const struct injected_calls *calls,
			   enum attach_function function)
{
	struct inject *inject = NULL;
	const char *why;
	int err = inject_begin(&calls->in, &inject, &why);

	if (err)
		return report_no_thread(entered, err, why);
	err = call_function(entered, inject, function);
	inject_end(inject);
	return err;
}

/* Reduce @threads to the threads that were inside the library. Returns their number. */
static size_t select_threads(struct target_thread *threads, size_t n,
			     const struct attach_request *request)
{
	size_t some = 0;

	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < request->ninside && k < ATTACH_INSIDE; k++)
			if ((uint32_t)threads[i].tid == request->inside[k]) {
				threads[some++] = threads[i];
				break;
			}
	return some;
}

/*
 * Threads leave the library in microseconds, except one that waits for an event. A thread that has
 * left does not enter it again.
 */
static int find_inside(struct entered_target *entered, const struct injected_calls *calls)
{
	static const struct timespec pause = { 0, SWEEP_NS };
	const struct target *process = &entered->facts->process;
	struct attach_request *request = &entered->request;
	struct inject_process in = calls->in;
	struct target some = *process;

	some.threads = calloc(process->nthreads + 1, sizeof(*some.threads));
	if (!some.threads)
		return -ENOMEM;
	memcpy(some.threads, process->threads, process->nthreads * sizeof(*some.threads));
	in.process = &some;
	for (int i = 0; i < SWEEPS; i++) {
		for (size_t k = 0; k < some.nthreads; k++)
			target_read_call(some.pid, &some.threads[k]);
		request->ninside = (uint32_t)inject_find_inside(&in, entered->start, entered->end,
								request->inside, ATTACH_INSIDE);
		if (!request->ninside || request->ninside > ATTACH_INSIDE)
			break;
		some.nthreads = select_threads(some.threads, some.nthreads, request);
		nanosleep(&pause, NULL);
		if (in.idle)
			in.idle(in.of);
	}
	free(some.threads);
	return 0;
}

static int inject_end_calls(struct entered_target *entered, const struct injected_calls *calls)
{
	int err = inject_and_call(entered, calls, END);

	if (err)
		return err;
	err = find_inside(entered, calls) ?: inject_and_call(entered, calls, RELEASE);
	if (!err && entered->request.ninside)
		log_note("%u thread%s still in a verb: memory of the recorder stays until it "
			 "returns",
			 entered->request.ninside, entered->request.ninside == 1 ? " is" : "s are");
	return err;
}

static int end_recording(void *arg, void (*idle)(void *), void *of)
{
	struct entered_target *entered = arg;
	struct injected_calls *calls;
	int err = reread_target(entered);

	if (err == -ESRCH)
		return 0;
	calls = err ? NULL : prepare_calls(entered, idle, of);
	if (!err)
		err = calls ? inject_end_calls(entered, calls) : -ENOMEM;
	end_calls(calls);
	if (err)
		log_note("the recorder is still loaded in process %d, but inactive: run `verbatim "
			 "attach --record` again to remove it",
			 (int)entered->facts->process.pid);
	return err;
}

int enter_record(struct facts *facts, const char *path, int64_t duration)
{
	struct entered_target entered = { .facts = facts };
	struct recording_running running = {
		.pid = facts->process.pid,
		.duration = duration,
		.begin = begin_recording,
		.end = end_recording,
		.arg = &entered,
	};
	if (device_find_library(library_name, entered.library))
		return CLI_ENVIRONMENT;
	return record_running_program(&running, path, facts->process.name,
				      facts->fabric.instance != 0);
}
