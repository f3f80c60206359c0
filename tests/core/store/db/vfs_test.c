#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/stat.h>

#include "core/store/db/sql.h"
#include "core/store/db/vfs.h"
#include "tests/test.h"

static char dir[64], path[128], beside[128], other[128];
static sqlite3 *db;

static void make_file(const char *name)
{
	int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static int make_files(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/verbatim-test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/t.db", dir);
	snprintf(beside, sizeof(beside), "%s/t.db-journal", dir);
	snprintf(other, sizeof(other), "%s/precious", dir);
	make_file(path);
	make_file(other);
	db = NULL;
	return sql_open(path, SQLITE_OPEN_READWRITE, &db);
}

static int remove_file(void **state)
{
	(void)state;
	sqlite3_close(db);
	unlink(path);
	unlink(beside);
	unlink(other);
	return rmdir(dir);
}

static sqlite3_vfs *open_vfs(void)
{
	return sqlite3_vfs_find(vfs_name());
}

/* The result for SQLite when it opens @name as a file of that kind. */
static int open_as(const char *name, int flags)
{
	sqlite3_file *file = calloc(1, (size_t)open_vfs()->szOsFile);
	int status = open_vfs()->xOpen(open_vfs(), name, file, flags, NULL);

	if (!status)
		file->pMethods->xClose(file);
	free(file);
	return status;
}

enum { JOURNAL = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE };

FIXTURE(make_files, remove_file);

TEST(super_journal_is_never_opened_or_deleted)
{
	assert_int_equal(open_as(other, SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_READONLY),
			 SQLITE_CANTOPEN);
	assert_int_equal(open_vfs()->xDelete(open_vfs(), other, 0), SQLITE_IOERR_DELETE);
	assert_int_equal(access(other, F_OK), 0);
}

TEST(no_other_name_is_looked_at)
{
	int there = 1;

	assert_int_equal(open_vfs()->xAccess(open_vfs(), "/", SQLITE_ACCESS_EXISTS, &there),
			 SQLITE_OK);
	assert_int_equal(there, 0);
	assert_int_equal(open_as(other, JOURNAL), SQLITE_CANTOPEN);
	assert_int_equal(open_as(other, SQLITE_OPEN_TEMP_DB | SQLITE_OPEN_READWRITE),
			 SQLITE_CANTOPEN);
}

TEST(journal_is_ours_alone)
{
	struct stat st;

	umask(0);
	assert_int_equal(open_as(beside, JOURNAL), SQLITE_OK);
	assert_int_equal(stat(beside, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(vfs_check(path), 0);
	assert_int_equal(chmod(beside, 0620), 0);
	assert_int_equal(open_as(beside, JOURNAL), SQLITE_CANTOPEN);
	assert_int_equal(vfs_check(path), -EINVAL);
}

TEST(journal_behind_a_link_is_refused)
{
	assert_int_equal(symlink(other, beside), 0);
	assert_int_equal(open_as(beside, JOURNAL), SQLITE_CANTOPEN);
	assert_int_equal(vfs_check(path), -EINVAL);
}

TEST(reader_has_no_journal)
{
	sqlite3_close(db);
	db = NULL;
	make_file(beside);
	assert_int_equal(sql_open(path, SQLITE_OPEN_READONLY, &db), 0);
	assert_int_equal(open_as(beside, JOURNAL), SQLITE_CANTOPEN);
	assert_int_equal(open_vfs()->xDelete(open_vfs(), beside, 0), SQLITE_IOERR_DELETE);
}

TEST(nothing_is_left_of_a_closed_database)
{
	sqlite3_close(db);
	db = NULL;
	assert_int_equal(open_as(beside, JOURNAL), SQLITE_CANTOPEN);
}

TEST(writer_keeps_readers_out)
{
	sqlite3 *reader;

	assert_int_equal(sql_exec(db, "CREATE TABLE t(x); BEGIN IMMEDIATE"), 0);
	assert_int_equal(sql_open(path, SQLITE_OPEN_READONLY, &reader), 0);
	assert_int_equal(sqlite3_exec(reader, "SELECT * FROM t", NULL, NULL, NULL), SQLITE_BUSY);
	assert_int_equal(sql_exec(db, "COMMIT"), 0);
	assert_int_equal(sqlite3_exec(reader, "SELECT * FROM t", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(reader);
}

/* SQLite's own functions, as used by other programs, see our locks. */
TEST(other_programs_see_the_lock)
{
	sqlite3 *plain;

	assert_int_equal(sql_exec(db, "CREATE TABLE t(x); BEGIN IMMEDIATE"), 0);
	assert_int_equal(sqlite3_open_v2(path, &plain, SQLITE_OPEN_READONLY, "unix"), SQLITE_OK);
	assert_int_equal(sqlite3_exec(plain, "SELECT * FROM t", NULL, NULL, NULL), SQLITE_BUSY);
	assert_int_equal(sql_exec(db, "COMMIT"), 0);
	assert_int_equal(sqlite3_exec(plain, "SELECT * FROM t", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(plain);
}
