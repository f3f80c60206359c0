/*
 * verbatim doctor: kernel, memory and processes, and what recording needs
 */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/record/device.h"
#include "cli/doctor/doctor.h"
#include "cli/format.h"
#include "core/wire/budget.h"
#include "core/wire/clock.h"
#include "core/base/size.h"

enum {
	SPACE_NONE = 16 << 20, /* bytes: a session and the rings of a few threads */
	SPACE_LITTLE = 512 << 20,
	BUDGET_MUCH = 2, /* rings that need more than 1/2 of a program's memory limit get a note */
	READS = 4096,    /* of the clock */
	SLOW_NS = 100,
};

/* Is the kernel at least @major.@minor? */
static bool is_at_least(const char *release, int major, int minor)
{
	int a = 0, b = 0;

	sscanf(release, "%d.%d", &a, &b);
	return a > major || (a == major && b >= minor);
}

bool doctor_copies_on_fork(const struct doctor *doctor)
{
	char release[128];

	return doctor_read_line(doctor, "/proc/sys/kernel/osrelease", release, sizeof(release)) &&
	       is_at_least(release, 5, 12);
}

void doctor_check_kernel(struct doctor *doctor)
{
	char release[128];

	if (!doctor_read_line(doctor, "/proc/sys/kernel/osrelease", release, sizeof(release)))
		doctor_report(
			doctor, DOCTOR_PROBLEM, "mount it: 'mount -t proc proc /proc'",
			"/proc is missing: the recorder cannot see which processes are alive");
	else if (!is_at_least(release, 4, 14))
		doctor_report(doctor, DOCTOR_PROBLEM,
			      "use Linux 4.14 or newer (the recorder needs MADV_WIPEONFORK)",
			      "Linux %s is too old", release);
	else if (!doctor_copies_on_fork(doctor))
		doctor_report(doctor, DOCTOR_NOTE, "programs that fork need ibv_fork_init()",
			      "Linux %s has no copy-on-fork for pinned pages (5.12 and newer have "
			      "it)",
			      release);
	else
		doctor_report(doctor, DOCTOR_OK, NULL, "Linux %s", release);
}

/* Yama: Documentation/admin-guide/LSM/Yama.rst */
void doctor_check_ptrace(struct doctor *doctor)
{
	char scope[16];

	if (!doctor_read_line(doctor, "/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope)))
		doctor_report(doctor, DOCTOR_OK, NULL, "Yama does not restrict ptrace");
	else if (atoi(scope) <= 1)
		doctor_report(doctor, DOCTOR_OK, NULL,
			      "Yama's ptrace scope is %s: the software device can copy between "
			      "processes",
			      scope);
	else
		doctor_report(
			doctor, DOCTOR_NOTE, "'sysctl kernel.yama.ptrace_scope=1' for full speed",
			"Yama's ptrace scope is %s: the software device copies through shared "
			"memory, which is slower, and no debugger can attach",
			scope);
}

static bool is_in_container(const struct doctor *doctor)
{
	return doctor_has(doctor, "/.dockerenv") || doctor_has(doctor, "/run/.containerenv") ||
	       getenv("container") || getenv("KUBERNETES_SERVICE_HOST");
}

void doctor_judge_space(struct doctor *doctor, const char *where, uint64_t free_bytes)
{
	char text[FORMAT_TEXT];

	format_bytes(free_bytes, text);
	if (free_bytes >= SPACE_LITTLE)
		doctor_report(doctor, DOCTOR_OK, NULL, "%s has %s free", where, text);
	else
		doctor_report(
			doctor, free_bytes < SPACE_NONE ? DOCTOR_PROBLEM : DOCTOR_NOTE,
			is_in_container(doctor)
				? "start the container with --shm-size=1g or --ipc=host; or use "
				  "another folder: VERBATIM_SESSIONS, VERBATIM_SOFT_FABRIC"
				: "free some space, or use another folder (VERBATIM_SESSIONS), or "
				  "smaller rings (--ring-size)",
			"%s has only %s free (a recorded thread needs 36 KiB to 4 MiB)", where,
			text);
}

static void check_space(struct doctor *doctor, const char *where, const char *path)
{
	struct statvfs fs;

	if (statvfs(path, &fs))
		doctor_report(doctor, DOCTOR_PROBLEM, "create it, or choose another",
			      "%s cannot be used", where);
	else if (access(path, W_OK | X_OK))
		doctor_report(doctor, DOCTOR_PROBLEM,
			      "choose a folder of your own, or 'chmod 1777' "
			      "it",
			      "%s cannot be written by this user", where);
	else
		doctor_judge_space(doctor, where, (uint64_t)fs.f_bavail * fs.f_frsize);
}

void doctor_check_shm(struct doctor *doctor)
{
	char path[PATH_MAX];

	doctor_path(doctor, path, "/dev/shm");
	if (access(path, F_OK))
		doctor_report(
			doctor, DOCTOR_PROBLEM,
			"'mount -t tmpfs tmpfs /dev/shm' (also in a container); or set "
			"VERBATIM_SOFT_FABRIC and VERBATIM_SESSIONS to a folder of your own",
			"/dev/shm is missing: no shared memory for the software device and rings");
	else
		check_space(doctor, "/dev/shm", path);
}

/* Rings are charged to the recorded program, which may run in another control group than ours. */
void doctor_check_memory(struct doctor *doctor)
{
	char self[PATH_MAX], groups[PATH_MAX], limit[FORMAT_TEXT], budget[FORMAT_TEXT];
	const char *given = getenv("VERBATIM_RING_BUDGET");
	uint64_t most, rings;

	doctor_path(doctor, self, "/proc/self/cgroup");
	doctor_path(doctor, groups, "/sys/fs/cgroup");
	most = budget_cgroup_limit(self, groups);
	rings = given && *given ? size_parse(given) : budget_choose_default(most);
	format_bytes(rings, budget);
	if (most == UINT64_MAX)
		doctor_report(
			doctor, DOCTOR_OK, NULL,
			"no memory cgroup limits programs started here: the rings of a program "
			"may use %s",
			budget);
	else if (rings > most / BUDGET_MUCH)
		doctor_report(doctor, DOCTOR_NOTE, "reduce the size of rings: VERBATIM_RING_BUDGET",
			      "the rings of a program may use %s of the %s that its memory cgroup "
			      "allows",
			      budget, format_bytes(most, limit));
	else
		doctor_report(doctor, DOCTOR_OK, NULL,
			      "the rings of a program may use %s of the %s that its memory cgroup "
			      "allows",
			      budget, format_bytes(most, limit));
}

void doctor_check_session(struct doctor *doctor)
{
	const char *given = getenv("VERBATIM_SESSIONS");
	char where[PATH_MAX];

	if (!given || !*given)
		return; /* sessions are in /dev/shm: already reported */
	snprintf(where, sizeof(where), "VERBATIM_SESSIONS=%s", given);
	check_space(doctor, where, given);
}

/* Check the fabric's folder by the software device's rules, which are a copy: no code is shared. */
void doctor_check_fabric(struct doctor *doctor)
{
	const char *given = getenv("VERBATIM_SOFT_FABRIC");
	struct stat st;

	if (!given || !*given || lstat(given, &st)) /* otherwise the device makes a directory */
		return;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
		doctor_report(
			doctor, DOCTOR_PROBLEM,
			"'chmod 700' it, or choose one that does not "
			"exist",
			"VERBATIM_SOFT_FABRIC=%s is not a private directory of this user (mode "
			"700): the software device cannot be opened",
			given);
	else
		doctor_report(doctor, DOCTOR_OK, NULL, "processes meet in VERBATIM_SOFT_FABRIC=%s",
			      given);
}

void doctor_check_guest(struct doctor *doctor)
{
	static const char *const names[] = { "libverbatim.so", "libverbatim-soft.so",
					     "dropin/libibverbs.so.1" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (device_find_library(names[i], path)) {
			doctor_report(
				doctor, DOCTOR_PROBLEM,
				"'make install' installs it next to the command; its path must "
				"not contain blanks or colons",
				"%s cannot be found or preloaded", names[i]);
			return;
		}
	device_find_library(names[0], path);
	doctor_report(doctor, DOCTOR_OK, NULL, "%s", path);
}

void doctor_check_preload(struct doctor *doctor)
{
	const char *before = getenv("LD_PRELOAD");
	char line[256];

	if (before && *before)
		doctor_report(doctor, DOCTOR_NOTE, "unset it if a recording looks odd",
			      "LD_PRELOAD=%s stays in effect; verbatim's libraries precede it",
			      before);
	if (doctor_read_line(doctor, "/etc/ld.so.preload", line, sizeof(line)))
		doctor_report(doctor, DOCTOR_NOTE, "look into it if a recording looks odd",
			      "/etc/ld.so.preload loads %s into every program", line);
}

/* The pid of the daemon with pid file @file, 0 if it does not run. */
static int daemon_of(const struct doctor *doctor, const char *file)
{
	char line[32], proc[64];
	int pid = 0;

	if (doctor_read_line(doctor, file, line, sizeof(line)))
		pid = atoi(line);
	snprintf(proc, sizeof(proc), "/proc/%d", pid);
	return pid > 0 && doctor_has(doctor, proc) ? pid : 0;
}

void doctor_check_lttng(struct doctor *doctor)
{
	const char *home = getenv("LTTNG_HOME") ? getenv("LTTNG_HOME") : getenv("HOME");
	int pid = daemon_of(doctor, "/var/run/lttng/lttng-sessiond.pid");
	char own[PATH_MAX];

	snprintf(own, sizeof(own), "%s/.lttng/lttng-sessiond.pid", home ? home : "");
	if (!pid)
		pid = daemon_of(doctor, own);
	if (pid)
		doctor_report(doctor, DOCTOR_OK, NULL, "lttng-sessiond runs (pid %d)", pid);
	else
		doctor_report(doctor, DOCTOR_OK, NULL,
			      "no lttng-sessiond runs; only recording with LTTng needs one");
}

static double read_cost(uint32_t kind)
{
	uint64_t start = clock_monotonic();

	for (int i = 0; i < READS; i++) {
		uint64_t ticks = clock_ticks(kind);

		__asm__ volatile("" : : "r"(ticks));
	}
	return (double)(clock_monotonic() - start) / READS;
}

void doctor_judge_clock(struct doctor *doctor, bool invariant, const char *source, double ns)
{
	bool remedy = ns > SLOW_NS && strcmp(source, "tsc");

	if (invariant)
		doctor_report(
			doctor, DOCTOR_OK, NULL,
			"events are timed by the time stamp counter, which is invariant: %.0f "
			"ns per read (kernel clock: %s)",
			ns, source);
	else
		doctor_report(doctor, DOCTOR_NOTE,
			      remedy ? "boot with a better clock source (tsc)" : NULL,
			      "the time stamp counter is not invariant: events are timed by "
			      "CLOCK_MONOTONIC (%s), %.0f ns per read",
			      source, ns);
}

void doctor_check_clock(struct doctor *doctor)
{
	struct clock clock;
	char source[64];

	clock_init(&clock);
	if (!doctor_read_line(doctor,
			      "/sys/devices/system/clocksource/clocksource0/current_clocksource",
			      source, sizeof(source)))
		strcpy(source, "unknown");
	doctor_judge_clock(doctor, clock.kind == CLOCK_KIND_TSC, source, read_cost(clock.kind));
}
