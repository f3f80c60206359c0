#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/command.h"
#include "cli/doctor/doctor.h"
#include "tests/test.h"
#include "tests/transcript.h"

/* All findings so far, which are compared with doctor_test.txt. */
static struct text said;

static char root[32];

/* A file of the machine, with the folders above it. */
static void put_file(const char *name, const char *text, mode_t mode)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *at = strchr(path + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(path, 0755);
		*at = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
	fchmod(fd, mode);
	close(fd);
}

/* A device, and if @node is given, that file for it. */
static void put_device(const char *node, mode_t mode)
{
	put_file("/sys/class/infiniband/mlx5_0/node_type", "1: CA\n", 0644);
	put_file("/sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_0\n", 0644);
	put_file("/sys/class/misc/rdma_cm/dev", "10:122\n", 0644);
	if (node)
		put_file(node, "", mode);
}

static int make_root(void **state)
{
	(void)state;
	strcpy(root, "/tmp/doctor_test-XXXXXX");
	return mkdtemp(root) ? chmod(root, 0755) : -1;
}

static int remove_root(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static struct doctor doctor;

/* Append a text, without the root of the machine and the numbers of its owner. */
static void put_said(const char *text)
{
	size_t n = strlen(root);

	for (; *text; text++)
		if (n && !strncmp(text, root, n))
			text += n - 1;
		else if (!strncmp(text, "owner ", 6))
			text += 6 + strspn(text + 6, "0123456789:") - 1;
		else
			text_char(&said, *text);
}

/* The findings from @first on; one of a real folder is left out. */
static void note_findings(size_t first)
{
	for (size_t i = first; i < doctor.nfindings; i++) {
		const struct finding *f = &doctor.findings[i];

		if (!strncmp(f->text, "/dev/shm has", 12))
			continue;
		text_addf(&said, "%d ", (int)f->verdict);
		put_said(f->text);
		text_addf(&said, "%s%s\n", f->remedy ? "; " : "", f->remedy ?: "");
	}
}

/* The worst verdict of one check, after the checks that it depends on. */
static enum verdict worst_verdict(void (*look)(struct doctor *))
{
	enum verdict verdict = DOCTOR_OK;
	size_t first;

	doctor_fini(&doctor);
	doctor = (struct doctor){ .root = root, .check = "test" };
	doctor_check_devices(&doctor);
	first = look == doctor_check_devices ? 0 : doctor.nfindings;
	if (first)
		look(&doctor);
	note_findings(first);
	for (size_t i = first; i < doctor.nfindings; i++)
		if (doctor.findings[i].verdict > verdict)
			verdict = doctor.findings[i].verdict;
	return verdict;
}

static bool was_said(const char *text)
{
	for (size_t i = 0; i < doctor.nfindings; i++)
		if (strstr(doctor.findings[i].text, text) ||
		    (doctor.findings[i].remedy && strstr(doctor.findings[i].remedy, text)))
			return true;
	return false;
}

static void every_problem_has_a_remedy(void)
{
	for (size_t i = 0; i < doctor.nfindings; i++)
		if (doctor.findings[i].verdict == DOCTOR_PROBLEM)
			assert_non_null(doctor.findings[i].remedy);
}

static int free_doctor(void **state)
{
	(void)state;
	doctor_fini(&doctor);
	return 0;
}

GROUP(NULL, free_doctor);
FIXTURE(make_root, remove_root);

TEST(no_device_is_a_note)
{
	assert_int_equal(worst_verdict(doctor_check_devices), DOCTOR_NOTE);
	assert_int_equal(worst_verdict(doctor_check_nodes), DOCTOR_OK);
	assert_int_equal(worst_verdict(doctor_check_modules), DOCTOR_OK);
}

TEST(card_without_driver_is_a_problem)
{
	put_file("/sys/bus/pci/devices/0000:03:00.0/vendor", "0x15b3\n", 0644);
	put_file("/sys/bus/pci/devices/0000:03:00.0/class", "0x020000\n", 0644);
	assert_int_equal(worst_verdict(doctor_check_devices), DOCTOR_PROBLEM);
	assert_true(was_said("0000:03:00.0") && was_said("mlx5_ib"));
	put_file("/sys/bus/pci/devices/0000:03:00.0/infiniband/mlx5_0/x", "", 0644);
	assert_int_equal(worst_verdict(doctor_check_devices), DOCTOR_NOTE);
}

TEST(other_cards_are_not_meant)
{
	put_file("/sys/bus/pci/devices/0000:03:00.0/vendor", "0x8086\n", 0644);
	put_file("/sys/bus/pci/devices/0000:03:00.0/class", "0x020000\n", 0644);
	put_file("/sys/bus/pci/devices/0000:04:00.0/vendor", "0x15b3\n", 0644);
	put_file("/sys/bus/pci/devices/0000:04:00.0/class", "0x068000\n", 0644);
	assert_int_equal(worst_verdict(doctor_check_devices), DOCTOR_NOTE);
}

TEST(missing_node_is_a_problem)
{
	put_device("/dev/infiniband/rdma_cm", 0666);
	assert_int_equal(worst_verdict(doctor_check_nodes), DOCTOR_PROBLEM);
	assert_true(was_said("uverbs0 of mlx5_0 is missing"));
	every_problem_has_a_remedy();
	put_file("/dev/infiniband/uverbs0", "", 0666);
	assert_int_equal(worst_verdict(doctor_check_nodes), DOCTOR_OK);
}

TEST(closed_node_is_a_problem)
{
	put_device("/dev/infiniband/rdma_cm", 0666);
	put_file("/dev/infiniband/uverbs0", "", 0);
	if (!getuid())
		assert_int_equal(seteuid(65534), 0); /* root may open anything */
	assert_int_equal(worst_verdict(doctor_check_nodes), DOCTOR_PROBLEM);
	if (!getuid())
		assert_int_equal(seteuid(0), 0);
	assert_true(was_said("mode 0000"));
}

TEST(modules_that_lack_are_found)
{
	put_file("/sys/class/infiniband/mlx5_0/node_type", "1: CA\n", 0644);
	assert_int_equal(worst_verdict(doctor_check_modules), DOCTOR_PROBLEM);
	assert_true(was_said("modprobe ib_uverbs"));
	put_file("/sys/module/ib_uverbs/refcnt", "0\n", 0644);
	assert_int_equal(worst_verdict(doctor_check_modules), DOCTOR_NOTE);
	assert_true(was_said("modprobe rdma_ucm"));
	put_file("/sys/module/rdma_ucm/refcnt", "0\n", 0644);
	assert_int_equal(worst_verdict(doctor_check_modules), DOCTOR_OK);
}

TEST(little_memlock_is_a_problem_with_a_device)
{
	struct rlimit before, little = { 65536, 0 };

	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &before), 0);
	little.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &little), 0);
	put_file("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n", 0644);
	assert_int_equal(worst_verdict(doctor_check_memlock), DOCTOR_NOTE);
	put_device(NULL, 0);
	assert_int_equal(worst_verdict(doctor_check_memlock), DOCTOR_PROBLEM);
	assert_true(was_said("64 KiB") && was_said("ulimit -l"));
	put_file("/proc/self/status", "Name:\tx\nCapEff:\t0000000000004000\n", 0644);
	assert_int_equal(worst_verdict(doctor_check_memlock), DOCTOR_OK);
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &before), 0);
}

TEST(kernels_are_told_apart)
{
	static const struct {
		const char *release;
		enum verdict verdict;
	} kernels[] = {
		{ "6.1.0-13-amd64\n", DOCTOR_OK },
		{ "5.12.0\n", DOCTOR_OK },
		{ "5.11.22\n", DOCTOR_NOTE },
		{ "4.18.0-553.el8\n", DOCTOR_NOTE },
		{ "4.14.0\n", DOCTOR_NOTE },
		{ "4.13.99\n", DOCTOR_PROBLEM },
		{ "6.0\n", DOCTOR_OK },
		{ "3.15.0\n", DOCTOR_PROBLEM },
		{ "4.4.0\n", DOCTOR_PROBLEM },
		{ "3.10.0-1160.el7\n", DOCTOR_PROBLEM },
	};

	assert_int_equal(worst_verdict(doctor_check_kernel), DOCTOR_PROBLEM); /* no /proc */
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		put_file("/proc/sys/kernel/osrelease", kernels[i].release, 0644);
		assert_int_equal(worst_verdict(doctor_check_kernel), kernels[i].verdict);
		assert_int_equal(doctor_copies_on_fork(&doctor), kernels[i].verdict == DOCTOR_OK);
	}
}

TEST(yama_above_1_is_a_note)
{
	assert_int_equal(worst_verdict(doctor_check_ptrace), DOCTOR_OK);
	put_file("/proc/sys/kernel/yama/ptrace_scope", "1\n", 0644);
	assert_int_equal(worst_verdict(doctor_check_ptrace), DOCTOR_OK);
	put_file("/proc/sys/kernel/yama/ptrace_scope", "2\n", 0644);
	assert_int_equal(worst_verdict(doctor_check_ptrace), DOCTOR_NOTE);
}

TEST(no_shared_memory_is_a_problem)
{
	assert_int_equal(worst_verdict(doctor_check_shm), DOCTOR_PROBLEM);
	assert_true(was_said("VERBATIM_SESSIONS"));
	put_file("/dev/shm/x", "", 0644);
	worst_verdict(doctor_check_shm);
	assert_true(was_said("/dev/shm has"));
}

TEST(little_space_is_reported)
{
	worst_verdict(doctor_check_devices);
	doctor_fini(&doctor);
	doctor.findings = NULL;
	doctor.nfindings = 0;
	doctor_judge_space(&doctor, "here", 1ull << 30);
	doctor_judge_space(&doctor, "here", 64ull << 20);
	doctor_judge_space(&doctor, "here", 1 << 20);
	assert_int_equal(doctor.findings[0].verdict, DOCTOR_OK);
	assert_int_equal(doctor.findings[1].verdict, DOCTOR_NOTE);
	assert_int_equal(doctor.findings[2].verdict, DOCTOR_PROBLEM);
	assert_false(was_said("--shm-size"));
	put_file("/.dockerenv", "", 0644);
	doctor_judge_space(&doctor, "here", 64ull << 20);
	assert_true(was_said("--shm-size"));
	for (uint64_t bytes = 16 << 20; bytes <= 512 << 20; bytes *= 32) {
		doctor_judge_space(&doctor, "there", bytes - 1);
		doctor_judge_space(&doctor, "there", bytes);
	}
	note_findings(0);
}

/* A slow clock that is the best available one (an emulated processor) has no remedy. */
TEST(better_clock_is_advised_where_there_is_one)
{
	static const struct {
		bool invariant;
		const char *source;
		double ns;
		const char *remedy;
	} clocks[] = {
		{ true, "tsc", 20, NULL },
		{ false, "tsc", 147, NULL },
		{ false, "hpet", 900, "clock source" },
		{ false, "kvm-clock", 40, NULL },
	};

	worst_verdict(doctor_check_devices);
	for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		const struct finding *last;

		doctor_judge_clock(&doctor, clocks[i].invariant, clocks[i].source, clocks[i].ns);
		last = &doctor.findings[doctor.nfindings - 1];
		assert_int_equal(last->verdict, clocks[i].invariant ? DOCTOR_OK : DOCTOR_NOTE);
		assert_int_equal(!last->remedy, !clocks[i].remedy);
	}
	assert_true(was_said("clock source"));
	doctor_judge_clock(&doctor, false, "hpet", 100);
	doctor_judge_clock(&doctor, false, "hpet", 100.4);
	doctor_judge_clock(&doctor, true, "hpet", 900);
	note_findings(0);
}

TEST(ring_budget_is_held_against_the_memory_limit)
{
	unsetenv("VERBATIM_RING_BUDGET");
	assert_int_equal(worst_verdict(doctor_check_memory), DOCTOR_OK);
	assert_true(was_said("no memory cgroup"));
	put_file("/proc/self/cgroup", "4:memory:/a\n", 0644);
	put_file("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "104857600\n", 0644);
	assert_int_equal(worst_verdict(doctor_check_memory), DOCTOR_OK);
	assert_true(was_said("25 MiB of the 100 MiB"));
	setenv("VERBATIM_RING_BUDGET", "80M", 1);
	assert_int_equal(worst_verdict(doctor_check_memory), DOCTOR_NOTE);
	assert_true(was_said("VERBATIM_RING_BUDGET"));
	setenv("VERBATIM_RING_BUDGET", "50M", 1);
	assert_int_equal(worst_verdict(doctor_check_memory), DOCTOR_OK);
	setenv("VERBATIM_RING_BUDGET", "52428801", 1);
	assert_int_equal(worst_verdict(doctor_check_memory), DOCTOR_NOTE);
	setenv("VERBATIM_RING_BUDGET", "", 1);
	assert_int_equal(worst_verdict(doctor_check_memory), DOCTOR_OK);
	unsetenv("VERBATIM_RING_BUDGET");
}

static const char *in_root(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", root, name);
	return path;
}

TEST(folders_of_sessions_must_be_writable)
{
	unsetenv("VERBATIM_SESSIONS");
	assert_int_equal(worst_verdict(doctor_check_session), DOCTOR_OK);
	assert_int_equal(doctor.nfindings, 1); /* of devices */
	setenv("VERBATIM_SESSIONS", "", 1);
	assert_int_equal(worst_verdict(doctor_check_session), DOCTOR_OK);
	setenv("VERBATIM_SESSIONS", in_root("/absent"), 1);
	assert_int_equal(worst_verdict(doctor_check_session), DOCTOR_PROBLEM);
	put_file("/folder/x", "", 0644);
	chmod(in_root("/folder"), 0);
	setenv("VERBATIM_SESSIONS", in_root("/folder"), 1);
	if (!getuid())
		assert_int_equal(setresuid(65534, 65534, 0),
				 0); /* access(2) asks for the real one */
	assert_int_equal(worst_verdict(doctor_check_session), DOCTOR_PROBLEM);
	if (geteuid() == 65534)
		assert_int_equal(setresuid(0, 0, 0), 0);
	chmod(in_root("/folder"), 0755);
	unsetenv("VERBATIM_SESSIONS");
}

TEST(a_fabric_must_be_private)
{
	unsetenv("VERBATIM_SOFT_FABRIC");
	assert_int_equal(worst_verdict(doctor_check_fabric), DOCTOR_OK);
	setenv("VERBATIM_SOFT_FABRIC", in_root("/fabric"), 1);
	assert_int_equal(worst_verdict(doctor_check_fabric), DOCTOR_OK);
	assert_int_equal(doctor.nfindings, 1);
	mkdir(in_root("/fabric"), 0700);
	assert_int_equal(worst_verdict(doctor_check_fabric), DOCTOR_OK);
	assert_int_equal(doctor.nfindings, 2);
	chmod(in_root("/fabric"), 0710);
	assert_int_equal(worst_verdict(doctor_check_fabric), DOCTOR_PROBLEM);
	chmod(in_root("/fabric"), 0701);
	assert_int_equal(worst_verdict(doctor_check_fabric), DOCTOR_PROBLEM);
	put_file("/file", "", 0700);
	setenv("VERBATIM_SOFT_FABRIC", in_root("/file"), 1);
	assert_int_equal(worst_verdict(doctor_check_fabric), DOCTOR_PROBLEM);
	unsetenv("VERBATIM_SOFT_FABRIC");
}

TEST(devices_are_listed_with_their_drivers)
{
	put_device("/dev/infiniband/uverbs0", 0666);
	put_file("/sys/class/infiniband/siw0/x", "", 0644);
	put_file("/sys/class/infiniband/mlx5_0/device/driver/x", "", 0644);
	put_file("/dev/infiniband/rdma_cm", "", 0666);
	assert_int_equal(symlink("../../bus/module/mlx5_core",
				 in_root("/sys/class/infiniband/mlx5_0/device/driver/module")),
			 0);
	worst_verdict(doctor_check_devices);
	worst_verdict(doctor_check_nodes);
	worst_verdict(doctor_check_modules);
}

/* Firewalls are noticed by either of two files. */
TEST(a_firewall_is_a_note)
{
	setenv("VERBATIM_SOFT_WIRE", "lo,all", 1);
	put_file("/sys/class/net/lo/mtu", "65536", 0644);
	put_file("/sys/class/net/lo/flags", "0x9\n", 0644);
	assert_int_equal(worst_verdict(doctor_check_wire), DOCTOR_OK);
	put_file("/proc/net/ip_tables_names", "filter\n", 0644);
	assert_int_equal(worst_verdict(doctor_check_wire), DOCTOR_NOTE);
	put_file("/proc/net/ip_tables_names", "", 0644);
	assert_int_equal(worst_verdict(doctor_check_wire), DOCTOR_OK);
	put_file("/sys/module/nf_tables/x", "", 0644);
	assert_int_equal(worst_verdict(doctor_check_wire), DOCTOR_NOTE);
	setenv("VERBATIM_SOFT_WIRE", "lo,alle", 1);
	assert_int_equal(worst_verdict(doctor_check_wire), DOCTOR_PROBLEM);
	unsetenv("VERBATIM_SOFT_WIRE");
}

TEST(an_interface_that_is_down_is_a_problem)
{
	setenv("VERBATIM_SOFT_WIRE", "lo", 1);
	put_file("/sys/class/net/lo/mtu", "65536", 0644);
	put_file("/sys/class/net/lo/flags", "0x9\n", 0644);
	assert_int_equal(worst_verdict(doctor_check_wire), DOCTOR_OK);
	put_file("/sys/class/net/lo/flags", "0x8\n", 0644);
	assert_int_equal(worst_verdict(doctor_check_wire), DOCTOR_PROBLEM);
	assert_true(was_said("lo is down"));
	unsetenv("VERBATIM_SOFT_WIRE");
}

TEST(daemon_that_is_gone_does_not_run)
{
	put_file("/var/run/lttng/lttng-sessiond.pid", "4711\n", 0644);
	worst_verdict(doctor_check_lttng);
	assert_true(was_said("no lttng-sessiond"));
	put_file("/proc/4711/stat", "", 0644);
	worst_verdict(doctor_check_lttng);
	assert_true(was_said("runs (pid 4711)"));
}

TEST(preloads_of_others_are_reported)
{
	unsetenv("LD_PRELOAD");
	assert_int_equal(worst_verdict(doctor_check_preload), DOCTOR_OK);
	setenv("LD_PRELOAD", "", 1);
	assert_int_equal(worst_verdict(doctor_check_preload), DOCTOR_OK);
	put_file("/etc/ld.so.preload", "/lib/libsnoopy.so\n", 0644);
	assert_int_equal(worst_verdict(doctor_check_preload), DOCTOR_NOTE);
	assert_true(was_said("libsnoopy"));
}

/* The verdict of the worst finding about a program. */
static enum verdict worst_of(const char *program)
{
	doctor_fini(&doctor);
	doctor = (struct doctor){ .root = root, .program = program };
	doctor_run(&doctor, doctor_program_checks);
	every_problem_has_a_remedy();
	return doctor_count(&doctor, DOCTOR_PROBLEM) ? DOCTOR_PROBLEM
	       : doctor_count(&doctor, DOCTOR_NOTE)  ? DOCTOR_NOTE
						     : DOCTOR_OK;
}

TEST(absent_program_is_a_problem)
{
	assert_int_equal(worst_of("no-such-program-anywhere"), DOCTOR_PROBLEM);
	assert_int_equal(doctor.nfindings, 1);
	put_file("/plain", "x", 0644);
	assert_int_equal(worst_of(in_root("/plain")), DOCTOR_PROBLEM);
	assert_true(was_said("chmod +x"));
}

TEST(script_is_followed)
{
	put_file("/script", "#!/usr/bin/env sh\nexit 0\n", 0755);
	assert_int_not_equal(worst_of(in_root("/script")), DOCTOR_PROBLEM);
	assert_true(was_said("a script") && was_said("/sh is checked"));
}

TEST(script_of_itself_ends)
{
	char text[PATH_MAX + 8];

	snprintf(text, sizeof(text), "#!%s\n", in_root("/loop"));
	put_file("/loop", text, 0755);
	assert_int_equal(worst_of(in_root("/loop")), DOCTOR_NOTE);
}

TEST(damaged_programs_are_survived)
{
	static const unsigned char half[] = "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\76\0";
	unsigned char file[512];
	char path[PATH_MAX];

	for (unsigned int seed = 0; seed < 500; seed++) {
		FILE *f;

		srand(seed);
		for (size_t i = 0; i < sizeof(file); i++)
			file[i] = (unsigned char)(rand() % (seed % 2 ? 256 : 64));
		memcpy(file, half, sizeof(half) - 1);
		file[54] = 56; /* size of a program header */
		file[55] = 0;
		snprintf(path, sizeof(path), "%s/damaged", root);
		f = fopen(path, "we");
		assert_non_null(f);
		fwrite(file, 1, seed % sizeof(file), f);
		fclose(f);
		chmod(path, 0755);
		worst_of(path);
	}
}

TEST(program_of_32_bit_is_a_problem)
{
	char head[65] = "\177ELF\1\1\1";

	memset(head + 7, 'x', 57);
	put_file("/small", head, 0755);
	assert_int_equal(worst_of(in_root("/small")), DOCTOR_PROBLEM);
	assert_true(was_said("32-bit"));
}

TEST(our_own_is_linked_with_verbs)
{
	assert_int_not_equal(worst_of("/proc/self/exe"), DOCTOR_PROBLEM);
	assert_true(was_said("linked with libibverbs"));
}

/* The rows of the table are for 127.0.0.1, whose interface every machine has. */
struct network {
	const char *name, *wire, *mtu;
	const char *port; /* of a socket, in hexadecimal digits */
	bool rxe;
	enum verdict verdict;
};

static const struct network networks[] = {
	{ "none", NULL, "65536", "12B7", true, DOCTOR_OK },
	{ "long_packets", "127.0.0.1", "65536", "12B8", false, DOCTOR_OK },
	{ "without_sysfs", "lo", NULL, "12B8", false, DOCTOR_OK },
	{ "by_name", "lo", "4196", "0035", false, DOCTOR_OK },
	{ "shorter_packets", "lo", "4195", "0035", false, DOCTOR_NOTE },
	{ "too_short", "lo", "355", "0035", false, DOCTOR_PROBLEM },
	{ "port_in_use", "lo", "65536", "12B7", false, DOCTOR_NOTE },
	{ "port_of_the_kernel", "lo", "65536", "12B7", true, DOCTOR_PROBLEM },
	{ "no_such_interface", "none0", "65536", "0035", false, DOCTOR_PROBLEM },
	{ "no_such_address", "192.0.2.1", "65536", "0035", false, DOCTOR_PROBLEM },
};

static void what_hinders_the_wire_is_found(void **state)
{
	const struct network *n = *state;
	char line[128];

	make_root(NULL); /* rows have no fixture */
	snprintf(line, sizeof(line), "  sl  local_address\n   7: 0100007F:%s 00000000:0000 07\n",
		 n->port);
	put_file("/proc/net/udp", line, 0644);
	if (n->mtu)
		put_file("/sys/class/net/lo/mtu", n->mtu, 0644);
	put_file("/sys/class/net/lo/flags", "0x9\n", 0644);
	if (n->rxe)
		put_file("/sys/module/rdma_rxe/refcnt", "1\n", 0644);
	if (n->wire)
		setenv("VERBATIM_SOFT_WIRE", n->wire, 1);
	assert_int_equal(worst_verdict(doctor_check_wire), n->verdict);
	every_problem_has_a_remedy();
	unsetenv("VERBATIM_SOFT_WIRE");
	assert_int_equal(remove_root(NULL), 0);
}

TEST_ROWS(networks, what_hinders_the_wire_is_found);

/* What the command prints about this machine. */
static void run_doctor(char *format, char *to, size_t size)
{
	char *words[] = { "doctor", "--format", format, NULL };
	int file = memfd_create("output", MFD_CLOEXEC), status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(file, 1);
		status = cli_doctor(3, words);
		fflush(stdout);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	memset(to, 0, size);
	assert_true(pread(file, to, size - 1, 0) > 0);
	close(file);
}

/* The next value in quotes, cut off at its end. */
static char *take_value(char **at)
{
	char *begin = strstr(*at, "\": \"") + 4, *end = strchr(begin, '"');

	assert_non_null(end);
	*end = '\0';
	*at = end + 1;
	return begin;
}

TEST_WITH(both_formats_have_the_same_findings, NULL, NULL)
{
	static char text[32 << 10], json[32 << 10];
	char *line = text, *at = json, wanted[128];
	size_t n;

	run_doctor("text", text, sizeof(text));
	run_doctor("json", json, sizeof(json));
	for (n = 0; (at = strstr(at, "{\"verdict\"")); n++) {
		const char *verdict = take_value(&at), *check = take_value(&at);
		const char *finding = take_value(&at);

		snprintf(wanted, sizeof(wanted), "%-8s %-8s %.12s", verdict, check, finding);
		assert_int_equal(strncmp(line, wanted, strlen(wanted)), 0);
		line += strcspn(line, "\n");
		assert_int_equal(*line++, '\n');
	}
	assert_true(n > 3);
	assert_int_equal(*line, '\0');
}

TEST_LAST(findings_are_those_of_the_transcript)
{
	transcript_expect(__FILE__, &said);
}
