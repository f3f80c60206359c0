/*
 * verbatim attach: what a process that was not recorded waits for
 *
 *	/proc             threads, limits, descriptors             target.c
 *	RDMA netlink      the kernel's objects                     kernel.c
 *	shared memory     the objects of the software device       fabric.c
 *	ptrace            registers and stacks, in some 100 us     stop.c, unwind.c
 *	                  --> what it waits for                    reason.c
 *
 * Only recording (enter.c) writes into the process; no signal is sent to it.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/attach/core_file.h"
#include "cli/attach/enter.h"
#include "cli/attach/facts.h"
#include "cli/attach/handles.h"
#include "cli/attach/modules.h"
#include "cli/attach/print.h"
#include "cli/attach/reason.h"
#include "cli/cli.h"
#include "core/base/vec.h"
#include "core/wire/log.h"
#include "core/wire/regular.h"

struct settings {
	bool facts, no_stop;
	const char *core, *record;
	int64_t duration; /* ns */
	unsigned int json;
};

/* clang-format off */
const struct option_row cli_attach_options[] = {
	{ "facts", 0, NULL,
	  "do not search the memory of the process; read the other facts and stacks",
	  FLAG_AT(struct settings, facts) },
	{ "no-stop", 0, NULL, "stop no thread, not even for a moment; stacks may be shorter",
	  FLAG_AT(struct settings, no_stop) },
	{ "record", 0, "FILE", "record the process from now on, into the trace FILE",
	  TEXT_AT(struct settings, record) },
	{ "for", 0, "TIME", "how long to record", TIME_AT(struct settings, duration), .least = 1,
	  .otherwise = "until Ctrl-C" },
	{ "core", 0, "FILE", "describe a core file instead of a process",
	  TEXT_AT(struct settings, core) },
	CLI_FORMAT(struct settings),
	{ 0 },
};
/* clang-format on */

/* The process or core file that the argument names */

static bool parse_pid(const char *text, pid_t *ret_pid)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || pid <= 0 || pid > INT_MAX)
		return false;
	*ret_pid = (pid_t)pid;
	return true;
}

static bool has_library(const struct target *process, const char *name)
{
	for (size_t i = 0; i < process->nmaps; i++) {
		const char *last = strrchr(process->maps[i].path, '/');

		if (last && !strncmp(last + 1, name, strlen(name)))
			return true;
	}
	return false;
}

static bool uses_rdma(const struct facts *facts)
{
	const struct target *process = &facts->process;

	return has_library(process, "libibverbs.so") ||
	       has_library(process, "libverbatim-soft.so") ||
	       target_fd_count(process, TARGET_FD_UVERBS) ||
	       target_fd_count(process, TARGET_FD_RDMA_CM) || facts->kernel.n;
}

/* Refuse a process that cannot be examined. 0, or the exit status after one line. */
static int refuse_target(const struct facts *facts)
{
	const struct target *process = &facts->process;
	int pid = (int)process->pid;

	if (process->nthreads && process->threads[0].state == 'Z')
		log_why(0,
			"process %d is a zombie: it has ended, and its parent has not called "
			"wait() for it",
			pid);
	else if ((process->no_maps || process->no_fds) && process->uid != geteuid())
		log_why(0,
			"process %d belongs to user %u: run `verbatim attach` as that user, or as "
			"root",
			pid, process->uid);
	else if (process->no_maps || process->no_fds)
		log_why(0,
			"process %d cannot be read (set-user-ID, or PR_SET_DUMPABLE 0?): run "
			"`verbatim attach` as root",
			pid);
	else if (target_is_foreign(process))
		log_why(0,
			"process %d (%s) is of another architecture, such as a 32-bit program: its "
			"memory cannot be read here",
			pid, process->name);
	else if (!uses_rdma(facts) && !has_library(process, "ld-linux"))
		log_why(0,
			"process %d (%s) is statically linked and has opened no RDMA device: verbs "
			"that are linked into it cannot be seen",
			pid, process->name);
	else if (!uses_rdma(facts))
		log_why(0,
			"process %d (%s) is not an RDMA program: it has neither loaded libibverbs "
			"nor opened an RDMA device; is it the right process?",
			pid, process->name);
	else
		return CLI_FINE;
	return CLI_ENVIRONMENT;
}

/* Memory and stacks */

static int set_memory(struct facts *facts)
{
	const struct target *process = &facts->process;

	facts->ranges = calloc(process->nmaps + 1, sizeof(*facts->ranges));
	if (!facts->ranges)
		return -ENOMEM;
	for (size_t i = 0; i < process->nmaps; i++)
		facts->ranges[i] = (struct memory_range){
			process->maps[i].start,
			process->maps[i].end,
			process->maps[i].mode[1] == 'w',
			process->maps[i].mode[3] == 's',
		};
	facts->memory = (struct memory){
		.read = memory_read_process,
		.ranges = facts->ranges,
		.nranges = process->nmaps,
		.pid = process->pid,
	};
	return 0;
}

static int unwind_stacks(struct facts *facts, modules_open_fn *open_map)
{
	const struct target *process = &facts->process;
	struct unwind_module modules[UNWIND_MODULES];
	size_t n = modules_open(facts, open_map, modules);
	int err;

	err = unwind_all(&facts->memory, process->pid, facts->stops, process->nthreads, modules, n,
			 &facts->stacks, &facts->no_stacks);
	modules_close(modules, n);
	return err;
}

static void fini_facts(struct facts *facts)
{
	stop_free(facts->stops, facts->process.nthreads);
	free(facts->stacks);
	free(facts->ranges);
	fabric_fini(&facts->fabric);
	handles_fini(&facts->handles);
	core_rings_fini(&facts->rings);
	kernel_fini(&facts->kernel);
	target_fini(&facts->process);
}

/* Record the process, or refuse to. Returns the exit status. */
static int record_target(struct facts *facts, const struct settings *set)
{
	const char *why = enter_refuse(facts);

	if (!why)
		return enter_record(facts, set->record, set->duration);
	log_why(0, "process %d (%s) %s: it cannot be recorded while it runs",
		(int)facts->process.pid, facts->process.name, why);
	return CLI_ENVIRONMENT;
}

static int attach_to(pid_t pid, const struct settings *set)
{
	struct facts facts = { .memory = { .pid = pid } };
	struct reasons reasons;
	int err = target_read(pid, &facts.process), status;

	if (err)
		return CLI_ENVIRONMENT;
	err = kernel_read(pid, &facts.kernel);
	status = err ? CLI_ENVIRONMENT : refuse_target(&facts);
	if (!err && !status)
		err = set_memory(&facts);
	if (!err && !status && set->record) {
		err = fabric_read(&facts.process, &facts.fabric)
			      ?: handles_find(&facts, &facts.handles);
		if (err)
			log_err(err, "read process %d", (int)pid);
		status = err ? CLI_ENVIRONMENT : record_target(&facts, set);
		fini_facts(&facts);
		return status;
	}
	if (!err && !status)
		err = stop_all(&facts.process, &facts.memory, !set->no_stop, &facts.stops);
	if (!err && !status)
		err = unwind_stacks(&facts, modules_open_file);
	if (!err && !status)
		err = fabric_read(&facts.process, &facts.fabric);
	if (!err && !status && !set->facts) {
		facts.searched = true;
		err = handles_find(&facts, &facts.handles);
	}
	if (!err && !status && !target_is_same(&facts.process))
		err = log_why(-ESRCH, "process %d ended while it was read", (int)pid);
	else if (err)
		log_err(err, "read process %d", (int)pid);
	if (!err && !status) {
		reasons_find(&facts, &reasons);
		print_facts(&facts, &reasons, set->json);
	}
	fini_facts(&facts);
	return err ? CLI_ENVIRONMENT : status;
}

/* Cores */

/* The file of a mapping in a core, if its first bytes are those of the core's memory. */
static int open_core_module(const struct facts *facts, const struct target_map *map)
{
	char theirs[1024], ours[sizeof(theirs)];
	uint64_t size;
	int fd;

	if (map->offset || map->path[0] != '/' ||
	    !memory_get(&facts->memory, map->start, theirs, sizeof(theirs)))
		return -1;
	fd = regular_open(map->path, REGULAR_BINARY, &size);
	if (fd >= 0 && pread(fd, ours, sizeof(ours), 0) == sizeof(ours) &&
	    !memcmp(ours, theirs, sizeof(ours)))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Everything about a core that is open. Returns the exit status. */
static int describe_memory(const char *path, const struct settings *set, struct facts *facts)
{
	struct reasons reasons;
	int err;

	if (!uses_rdma(facts)) {
		log_why(0,
			"%s is a core of process %d (%s), which is not an RDMA program: it has not "
			"loaded libibverbs",
			path, (int)facts->process.pid, facts->process.name);
		return CLI_ENVIRONMENT;
	}
	err = unwind_stacks(facts, open_core_module);
	if (!err)
		err = handles_find(facts, &facts->handles);
	if (!err)
		err = core_rings_read(&facts->process, &facts->memory, &facts->rings);
	if (err) {
		log_err(err, "read %s", path);
		return CLI_ENVIRONMENT;
	}
	reasons_find(facts, &reasons);
	print_facts(facts, &reasons, set->json);
	return CLI_FINE;
}

static int describe_core(const char *path, const struct settings *set)
{
	struct facts facts = { .is_core = true, .searched = true };
	struct core_file core;
	int err = core_file_open(path, &core, &facts.process, &facts.stops), status;

	if (err)
		return err == -EINVAL ? CLI_TRACE : CLI_ENVIRONMENT;
	facts.memory = core_file_memory(&core);
	facts.signal = core.signal;
	facts.missing = core.missing;
	status = describe_memory(path, set, &facts);
	fini_facts(&facts);
	core_file_close(&core);
	return status;
}

int cli_attach(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	pid_t pid;

	cli_parse(argc, argv, &set, &arguments);
	if (set.core && set.record)
		return cli_misuse("attach",
				  "--record needs a running process, not the core file of --core");
	if (set.record && (set.facts || set.no_stop))
		return cli_misuse("attach", "--record does not describe the process: leave out "
					    "--facts and --no-stop");
	if (set.duration && !set.record)
		return cli_misuse("attach", "--for limits --record: give --record FILE, too");
	if (set.core && arguments.n)
		return cli_refuse_argument("attach", arguments.at[0]);
	if (set.core)
		return describe_core(set.core, &set);
	if (!arguments.n)
		return cli_misuse("attach", "no PID given");
	if (arguments.n > 1)
		return cli_refuse_argument("attach", arguments.at[1]);
	if (!parse_pid(arguments.at[0], &pid))
		return cli_misuse("attach", "'%.60s' is not a PID", arguments.at[0]);
	return attach_to(pid, &set);
}
