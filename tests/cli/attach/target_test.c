#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/attach/target.h"
#include "core/wire/log.h"
#include "tests/test.h"

TEST(map_with_a_path)
{
	char line[] = "7f00-7fff r-xp 00002000 fe:01 1234                       /lib/a b.so";
	struct target_map map;

	assert_true(target_parse_map(line, &map));
	assert_int_equal(map.start, 0x7f00);
	assert_int_equal(map.end, 0x7fff);
	assert_int_equal(map.offset, 0x2000);
	assert_int_equal(map.major, 0xfe);
	assert_int_equal(map.inode, 1234);
	assert_string_equal(map.mode, "r-xp");
	assert_string_equal(map.path, "/lib/a b.so");
}

TEST(map_without_a_path)
{
	char line[] = "1000-2000 rw-p 00000000 00:00 0 ";
	struct target_map map;

	assert_true(target_parse_map(line, &map));
	assert_string_equal(map.path, "");
}

TEST(other_lines_are_no_maps)
{
	static const char *const lines[] = { "", "x", "2000-1000 rw-p 0 00:00 0 ", "1000-2000",
					     "1000-1000 rw-p 0 00:00 0 /x" };
	struct target_map map;
	char line[64];

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		strcpy(line, lines[i]);
		assert_false(target_parse_map(line, &map));
	}
}

TEST(system_call_with_arguments)
{
	struct target_thread thread = { 0 };

	assert_true(target_parse_syscall("202 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffe 0x7f12\n", &thread));
	assert_int_equal(thread.syscall, 202);
	for (uint64_t i = 0; i < TARGET_ARGUMENTS; i++)
		assert_int_equal(thread.arguments[i], i + 1);
	assert_int_equal(thread.sp, 0x7ffe);
	assert_int_equal(thread.pc, 0x7f12);
}

TEST(sleeping_outside_of_a_system_call)
{
	struct target_thread thread = { 0 };

	assert_true(target_parse_syscall("-1 0x7ffe 0x7f12\n", &thread));
	assert_int_equal(thread.syscall, -1);
	assert_int_equal(thread.sp, 0x7ffe);
	assert_int_equal(thread.pc, 0x7f12);
	assert_false(target_parse_syscall("-1 0x7ffe\n", &thread));
	assert_true(target_parse_syscall("0 0x0 0x0 0x0 0x0 0x0 0x0 0x1 0x2\n", &thread));
	assert_int_equal(thread.syscall, 0);
}

TEST(running_thread_has_no_system_call)
{
	struct target_thread thread = { .syscall = -2 };

	assert_false(target_parse_syscall("running\n", &thread));
	assert_false(target_parse_syscall("202 0x1\n", &thread));
	assert_false(target_parse_syscall("202 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffe\n", &thread));
	assert_false(target_parse_syscall("", &thread));
	assert_int_equal(thread.syscall, -2);
}

TEST(limits_with_and_without_an_end)
{
	static const char text[] = "Limit            Soft Limit   Hard Limit   Units\n"
				   "Max locked memory  65536      unlimited    bytes\n"
				   "Max open files     1024       x            files\n";
	uint64_t soft = 7, hard = 7;

	assert_true(target_parse_limit(text, "Max locked memory", &soft, &hard));
	assert_int_equal(soft, 65536);
	assert_true(hard == UINT64_MAX);
	assert_false(target_parse_limit(text, "Max open files", &soft, &hard));
	assert_false(target_parse_limit(text, "Max of all", &soft, &hard));
	assert_int_equal(soft, 65536);
}

static const struct kind_row {
	const char *name, *target;
	enum target_fd_kind kind;
} kinds[] = {
	{ "kind_uverbs", "/dev/infiniband/uverbs3", TARGET_FD_UVERBS },
	{ "kind_rdma_cm", "/dev/infiniband/rdma_cm", TARGET_FD_RDMA_CM },
	{ "kind_event", "anon_inode:[infinibandevent]", TARGET_FD_COMP_EVENT },
	{ "kind_soft_pipe", "/dev/shm/fabric/pipe.0.1.2", TARGET_FD_SOFT_PIPE },
	{ "kind_socket", "socket:[12]", TARGET_FD_SOCKET },
	{ "kind_other", "/home/pipe", TARGET_FD_OTHER },
	{ "kind_empty", "", TARGET_FD_OTHER },
};

static void has_kind(void **state)
{
	const struct kind_row *row = *state;

	assert_int_equal(target_fd_kind_of(row->target), row->kind);
}
TEST_ROWS(kinds, has_kind);

TEST(read_itself)
{
	struct target target;

	assert_int_equal(target_read(getpid(), &target), 0);
	assert_int_equal(target.pid, getpid());
	assert_int_equal(target.uid, getuid());
	assert_true(target.nthreads >= 1 && target.nmaps > 3 && target.nfds >= 1);
	assert_true(target_is_same(&target));
	assert_non_null(target_map_at(&target, (uintptr_t)&target));
	assert_null(target_map_at(&target, 1));
	assert_non_null(target_fd_find(&target, 0));
	target_fini(&target);
}

TEST(ended_process_is_another)
{
	struct target target;
	siginfo_t info;
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	assert_int_equal(target_read(pid, &target), 0);
	assert_true(target_is_same(&target));
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_false(target_is_same(&target)); /* a zombie */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(target_is_same(&target));
	target_fini(&target);
}

TEST(no_process_is_esrch)
{
	struct target target = { .pid = 7 };

	log_silence(true);
	assert_int_equal(target_read(INT_MAX, &target), -ESRCH);
	log_silence(false);
	assert_int_equal(target.pid, 7);
}

TEST(only_regular_files_are_opened)
{
	struct target target = { .pid = getpid() };
	struct stat st;
	int fd = target_open(&target, "/proc/self/exe", &st);

	assert_true(fd < 0); /* a link */
	assert_int_equal(target_open(&target, "/dev/null", &st), -EPROTO);
	assert_int_equal(target_open(&target, "/no/such/file", &st), -ENOENT);
	fd = target_open(&target, "/etc/passwd", &st);
	assert_true(fd >= 0);
	close(fd);
}
