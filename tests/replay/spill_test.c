#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "replay/schedule/spill.h"
#include "tests/test.h"

/* How the file system behaves: bytes of a transfer at most (0: any), and what fails next. */
static size_t most;
static int interrupts, fails;
static bool has_names;
static struct {
	off_t at, n;
	int advice;
} expected;

static long transfer_bytes(long call, int fd, uintptr_t bytes, size_t n, off_t at)
{
	if (interrupts || fails) {
		errno = interrupts ? EINTR : fails;
		interrupts -= interrupts > 0;
		return -1;
	}
	return syscall(call, fd, bytes, most && n > most ? most : n, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
	return transfer_bytes(SYS_pwrite64, fd, (uintptr_t)bytes, n, at);
}

ssize_t pread(int fd, void *bytes, size_t n, off_t at)
{
	return transfer_bytes(SYS_pread64, fd, (uintptr_t)bytes, n, at);
}

int posix_fadvise(int fd, off_t at, off_t n, int advice)
{
	assert_true(fd >= 0);
	expected.at = at;
	expected.n = n;
	expected.advice = advice;
	return 0;
}

int open(const char *path, int flags, ...)
{
	if (has_names && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
}

static int begin_files(void **state)
{
	(void)state;
	most = 0;
	interrupts = fails = 0;
	has_names = false;
	return 0;
}

FIXTURE(begin_files, NULL);

TEST(what_was_put_comes_back)
{
	struct spill spill = SPILL_NONE;
	uint64_t first, second;
	char back[8];

	assert_int_equal(spill_put(&spill, "abcdefg", 8, &first), 0);
	assert_int_equal(spill_put(&spill, "hij", 4, &second), 0);
	spill_expect(&spill, second, 4);
	assert_int_equal(expected.at, 8);
	assert_int_equal(expected.n, 4);
	assert_int_equal(expected.advice, POSIX_FADV_WILLNEED);
	assert_int_equal(spill_get(&spill, second, back, 4), 0);
	assert_string_equal(back, "hij");
	assert_int_equal(spill_get(&spill, first, back, 8), 0);
	assert_string_equal(back, "abcdefg");
	spill_close(&spill);
}

TEST(behind_the_end_is_an_error)
{
	struct spill spill = SPILL_NONE;
	uint64_t at;
	char back[8];

	assert_int_equal(spill_put(&spill, "abc", 4, &at), 0);
	assert_int_equal(spill_get(&spill, at, back, 8), -EIO);
	spill_close(&spill);
}

TEST(no_directory_is_an_error)
{
	struct spill spill = SPILL_NONE;
	uint64_t at = 7;

	setenv("TMPDIR", "/no/such/directory", 1);
	assert_int_equal(spill_put(&spill, "abc", 4, &at), -ENOENT);
	assert_int_equal(at, 7);
	unsetenv("TMPDIR");
	spill_close(&spill);
}

TEST(a_file_that_was_never_made_is_closed)
{
	struct spill spill = SPILL_NONE;

	spill_close(&spill);
	assert_int_equal(spill.fd, -1);
}

TEST(short_and_interrupted_transfers_go_on)
{
	struct spill spill = SPILL_NONE;
	uint64_t first, second;
	char back[16];

	most = 3;
	interrupts = 2;
	assert_int_equal(spill_put(&spill, "0123", 4, &first), 0);
	assert_int_equal(spill_put(&spill, "abcdefghij", 11, &second), 0);
	interrupts = 1;
	assert_int_equal(spill_get(&spill, second, back, 11), 0);
	assert_string_equal(back, "abcdefghij");
	assert_int_equal(spill_get(&spill, second + 4, back, 7), 0);
	assert_string_equal(back, "efghij");
	spill_close(&spill);
}

TEST(errors_of_the_file_are_returned)
{
	struct spill spill = SPILL_NONE;
	uint64_t at, next = 77;
	char back[4];

	assert_int_equal(spill_put(&spill, "abc", 4, &at), 0);
	fails = ENOSPC;
	assert_int_equal(spill_put(&spill, "def", 4, &next), -ENOSPC);
	assert_int_equal(next, 77);
	assert_int_equal(spill_get(&spill, at, back, 4), -ENOSPC);
	fails = 0;
	assert_int_equal(spill_put(&spill, "ghi", 4, &next), 0);
	assert_int_equal(next, 4);
	spill_close(&spill);
	assert_int_equal(spill.fd, -1);
}

TEST(the_file_has_no_name_and_is_not_inherited)
{
	for (int i = 0; i < 2; i++) {
		struct spill spill = SPILL_NONE;
		struct stat stat;
		uint64_t at;

		has_names = i;
		assert_int_equal(spill_put(&spill, "abc", 4, &at), 0);
		assert_int_equal(fstat(spill.fd, &stat), 0);
		assert_int_equal(stat.st_nlink, 0);
		assert_int_equal(stat.st_mode & 0777, 0600);
		assert_int_equal(fcntl(spill.fd, F_GETFD), FD_CLOEXEC);
		spill_close(&spill);
	}
}

TEST(a_long_path_is_an_error)
{
	struct spill spill = SPILL_NONE;
	static char path[4097 - sizeof("/verbatim-XXXXXX") + 1];
	uint64_t at;

	has_names = true;
	memset(path, '/', sizeof(path) - 1);
	setenv("TMPDIR", path, 1);
	assert_int_equal(spill_put(&spill, "abc", 4, &at), -ENAMETOOLONG);
	setenv("TMPDIR", "", 1);
	assert_int_equal(spill_put(&spill, "abc", 4, &at), 0);
	unsetenv("TMPDIR");
	spill_close(&spill);
}
