/*
 * The trace file: recognising, locking and replacing it
 *
 * Only SQLite's header is read: the file is not trusted, and SQLite would already process it when
 * opening it as a database.
 *
 *	byte 0    "SQLite format 3", NUL
 *	16        page size, 2 bytes
 *	18, 19    2: a WAL is in use
 *	24, 92    change counter; its value when byte 28 was written
 *	28        pages of the file
 *	60        user_version: SCHEMA_VERSION
 *	68        application_id: SCHEMA_APPLICATION
 *
 * All big-endian: https://www.sqlite.org/fileformat.html, 1.3.
 */
#include "core/store/db/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/read_file.h"
#include "core/store/db/schema.h"
#include "core/wire/log.h"

static const char next[] = "give a file written by `verbatim record`";

static uint32_t get_be32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int check_header(const char *path, const uint8_t *head, int64_t bytes)
{
	uint32_t page = (uint32_t)head[16] << 8 | head[17];
	uint32_t version = get_be32(head + 60);

	if (page == 1)
		page = 65536;
	if (memcmp(head, "SQLite format 3", 16))
		return log_why(-EINVAL, "%s is not a trace; %s", path, next);
	if (get_be32(head + 68) != SCHEMA_APPLICATION)
		return log_why(-EINVAL, "%s is an SQLite file, but not a trace; %s", path, next);
	if (version < SCHEMA_OLDEST || version > SCHEMA_VERSION)
		return log_why(-EPROTO,
			       "%s is a trace of format %u, this verbatim reads formats "
			       "%d to %d; read it with the version that made it, or record again",
			       path, version, SCHEMA_OLDEST, SCHEMA_VERSION);
	if (get_be32(head + 24) == get_be32(head + 92) && head[18] == 1 &&
	    (int64_t)get_be32(head + 28) * page > bytes)
		return log_why(-EINVAL, "%s is truncated: %lld bytes of %lld; copy it again", path,
			       (long long)bytes, (long long)get_be32(head + 28) * page);
	return 0;
}

/*
 * Is there a journal or WAL beside the trace? A journal must be rolled back before anything is
 * read, and a WAL has part of the content. Both are in the directory of the file itself, not of a
 * link to it.
 */
static bool has_journal_or_wal(const char *path)
{
	static const char *const tails[] = { "-journal", "-wal" };
	char *real = realpath(path, NULL), name[4096 + 16];
	bool more = false;
	struct stat st;

	for (int i = 0; i < 2 && real; i++) {
		snprintf(name, sizeof(name), "%s%s", real, tails[i]);
		more |= !lstat(name, &st) && (!S_ISREG(st.st_mode) || st.st_size > 0);
	}
	free(real);
	return more;
}

int file_check(const char *path, bool *ret_unfinished)
{
	uint8_t head[100];
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	ssize_t n;

	if (fd < 0)
		return log_err(-errno, "open %s", path);
	if (fstat(fd, &st))
		err = log_err(-errno, "look at %s", path);
	else if (!S_ISREG(st.st_mode))
		err = log_why(-EINVAL, "%s is not a file; %s", path, next);
	else if (!st.st_size)
		err = log_why(-EINVAL, "%s is empty: nothing was recorded in it; %s", path, next);
	if (err)
		goto out;
	n = pread(fd, head, sizeof(head), 0);
	if (n < 0)
		err = log_err(-errno, "read %s", path);
	else if (n < (ssize_t)sizeof(head))
		err = log_why(-EINVAL, "%s is too short for a trace; %s", path, next);
	else
		err = check_header(path, head, st.st_size);
	if (!err)
		*ret_unfinished = head[18] == 2 || has_journal_or_wal(path);
out:
	close(fd);
	return err;
}

static bool has_trace(int fd)
{
	uint8_t head[100];

	return pread(fd, head, sizeof(head), 0) == sizeof(head) &&
	       !memcmp(head, "SQLite format 3", 16) && get_be32(head + 68) == SCHEMA_APPLICATION;
}

bool file_is_trace(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	bool is = fd >= 0 && has_trace(fd);

	if (fd >= 0)
		close(fd);
	return is;
}

/* Has another process locked the trace? A recorder holds its lock as long as it is alive. */
static bool is_locked(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return !fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK;
}

static int check_replaceable(const char *path, const struct stat *st)
{
	int fd, err = 0;

	if (S_ISLNK(st->st_mode))
		return log_why(-ELOOP, "%s is a symbolic link; give the file itself", path);
	if (!S_ISREG(st->st_mode))
		return log_why(-EEXIST, "%s is not a file; choose another name", path);
	if (st->st_uid != geteuid())
		return log_why(-EACCES, "%s belongs to another user; choose another name", path);
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return log_err(-errno, "open %s", path);
	if (!has_trace(fd))
		err = log_why(-EEXIST,
			      "%s is not a trace and will not be overwritten; choose "
			      "another name",
			      path);
	else if (is_locked(fd))
		err = log_why(-EBUSY, "%s is being recorded or read; choose another name", path);
	close(fd);
	return err;
}

/*
 * Remove the journal and the WAL of @path, which somebody else may have created; with @all, also
 * @path.
 */
static int remove_wal_files(const char *path, bool all)
{
	static const char *const tails[] = { "-wal", "-shm", "-journal", "" };
	char name[4096 + 16];
	struct stat st;
	int err = 0;

	for (int i = 0; i < 3 + all; i++) {
		snprintf(name, sizeof(name), "%s%s", path, tails[i]);
		if (unlink(name) && !err && !lstat(name, &st))
			err = log_why(-EEXIST,
				      "%s already exists and cannot be removed; choose another "
				      "name",
				      name);
	}
	return err;
}

static bool name_old_file(const char *path, char old[FILE_BESIDE])
{
	return snprintf(old, FILE_BESIDE, "%s.old", path) < FILE_BESIDE;
}

int file_check_replace(const char *path)
{
	char old[FILE_BESIDE];
	struct stat st;
	int err;

	if (lstat(path, &st))
		return 0;
	err = check_replaceable(path, &st);
	if (err)
		return err;
	if (!name_old_file(path, old))
		return log_err(-ENAMETOOLONG, "write %s", path);
	return lstat(old, &st) ? 0 : check_replaceable(old, &st);
}

int file_create_replacing(const char *path)
{
	int fd, err = file_check_replace(path);

	if (!err)
		err = remove_wal_files(path, true);
	if (err)
		return err;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return log_err(-errno, "make %s", path);
	close(fd);
	return 0;
}

/*
 * Rename a trace with its journal and WAL; the trace last, so that a process that finds it also
 * finds them.
 */
static int move_trace(const char *from, const char *to)
{
	static const char *const tails[] = { "-wal", "-journal", "" };
	char old[FILE_BESIDE + 16], new[FILE_BESIDE + 16];

	for (int i = 0; i < 3; i++) {
		snprintf(old, sizeof(old), "%s%s", from, tails[i]);
		snprintf(new, sizeof(new), "%s%s", to, tails[i]);
		if (rename(old, new) && (errno != ENOENT || !*tails[i]))
			return log_err(-errno, "move %s to %s", old, new);
	}
	return 0;
}

int file_keep_old(const char *path, const char *name)
{
	char old[FILE_BESIDE];

	if (!name_old_file(name, old) || !file_is_trace(path))
		return 0;
	return remove_wal_files(old, true) ?: move_trace(path, old);
}

static bool name_before_file(const char *path, char before[FILE_BESIDE])
{
	return snprintf(before, FILE_BESIDE, "%s.before", path) < FILE_BESIDE;
}

int file_set_aside(const char *path)
{
	char before[FILE_BESIDE];
	struct stat st;
	int err = file_check_replace(path);

	if (err || lstat(path, &st))
		return err;
	if (!name_before_file(path, before))
		return log_err(-ENAMETOOLONG, "write %s", path);
	err = file_check_replace(before);
	if (!err && lstat(before, &st))
		err = remove_wal_files(before, false) ?: move_trace(path, before);
	return err ? err : 1;
}

void file_forget_before(const char *path)
{
	char before[FILE_BESIDE];

	if (name_before_file(path, before))
		file_keep_old(before, path);
}

void file_restore_before(const char *path)
{
	char before[FILE_BESIDE];
	struct stat st;

	file_remove(path);
	if (name_before_file(path, before) && !lstat(before, &st))
		move_trace(before, path);
}

int file_make_beside(const char *to, char beside[FILE_BESIDE])
{
	if (snprintf(beside, FILE_BESIDE, "%s.part", to) >= FILE_BESIDE)
		return log_err(-ENAMETOOLONG, "write %s", to);
	return file_check_replace(to) ?: file_create_replacing(beside);
}

int file_sync(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = fsync(fd) ? -errno : 0;
	close(fd);
	return err;
}

int file_replace(const char *from, const char *to, bool sync)
{
	int err = sync ? file_sync(from) : 0;

	if (err)
		return log_err(err, "write %s", to);
	err = file_keep_old(to, to) ?: remove_wal_files(to, false);
	if (!err && rename(from, to))
		err = log_err(-errno, "write %s", to);
	return err;
}

void file_remove(const char *path)
{
	log_silence(true);
	remove_wal_files(path, true);
	log_silence(false);
}

void file_boot_id(char text[64])
{
	char *id = NULL;
	size_t bytes = 0;

	text[0] = '\0';
	if (read_file("/proc/sys/kernel/random/boot_id", &id, &bytes))
		return;
	snprintf(text, 64, "%.*s", (int)strcspn(id, "\n"), id);
	free(id);
}
