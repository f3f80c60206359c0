/*
 * Files altered independent of their type, and files that may lie beside a trace
 *
 * A journal is a real one, of an unfinished transaction, with a super-journal's name appended;
 * likewise a WAL.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/mutate.h"

const char *mutate_path(const char *dir, const char *name)
{
	static char paths[4][512];
	static unsigned int turn;
	char *path = paths[turn++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

/* The file may be a FIFO or a link: mutate_session() creates some. */
int mutate_read(const char *path, uint8_t **ret_bytes, size_t *ret_n)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	ssize_t n = -1;
	uint8_t *bytes;

	if (fd < 0)
		return -errno;
	bytes = fstat(fd, &st) || !S_ISREG(st.st_mode) ? NULL : malloc((size_t)st.st_size + 1);
	if (bytes)
		n = read(fd, bytes, (size_t)st.st_size);
	close(fd);
	if (n < 0) {
		free(bytes);
		return -EIO;
	}
	*ret_n = (size_t)n;
	*ret_bytes = bytes;
	return 0;
}

int mutate_write(const char *path, const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		      0600);
	ssize_t written;

	if (fd < 0)
		return -errno;
	written = write(fd, bytes, n);
	close(fd);
	return written == (ssize_t)n ? 0 : -EIO;
}

/* Change or truncate the file; the first kilobytes more often than the rest. */
static void spoil_file(const char *path, struct dice *dice)
{
	uint8_t *bytes;
	size_t n, most;

	if (mutate_read(path, &bytes, &n))
		return;
	most = dice_roll(dice, 2) && n > 4096 ? 4096 : n;
	dice_spoil(dice, bytes, most);
	if (!dice_roll(dice, 6))
		n = dice_roll(dice, (uint32_t)n + 1);
	mutate_write(path, bytes, n);
	free(bytes);
}

void mutate_bytes(const char *dir, struct dice *dice)
{
	spoil_file(mutate_path(dir, "t.db"), dice);
}

void mutate_file(const char *dir, struct dice *dice)
{
	spoil_file(mutate_path(dir, "text"), dice);
}

static void copy_bytes(const char *from, const char *to)
{
	uint8_t *bytes;
	size_t n;

	if (mutate_read(from, &bytes, &n))
		return;
	mutate_write(to, bytes, n);
	free(bytes);
}

static uint32_t sum_of(const char *text)
{
	uint32_t sum = 0;

	while (*text)
		sum += (uint8_t)*text++;
	return sum;
}

/* https://www.sqlite.org/fileformat.html, 3: page, name, its length, its sum, the magic */
static void name_super(const char *journal, const char *name)
{
	static const uint8_t magic[8] = { 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7 };
	uint32_t words[] = { htobe32(0x40000000 / 4096 + 1), htobe32((uint32_t)strlen(name)),
			     htobe32(sum_of(name)) };
	FILE *file = fopen(journal, "a");

	if (!file)
		return;
	fwrite(words, 4, 1, file);
	fwrite(name, strlen(name), 1, file);
	fwrite(words + 1, 4, 2, file);
	fwrite(magic, sizeof(magic), 1, file);
	fclose(file);
}

/* The trace of a writer that died in the middle. */
static void interrupt_writer(const char *dir, const char *mode, const char *suffix)
{
	const char *from = mutate_path(dir, "t.db"), *half = mutate_path(dir, "half");
	char beside[512], kept[512];
	sqlite3 *db;

	if (sqlite3_open(from, &db)) {
		sqlite3_close(db);
		return;
	}
	snprintf(beside, sizeof(beside), "%s%s", from, suffix);
	snprintf(kept, sizeof(kept), "%s%s", half, suffix);
	sqlite3_exec(db, mode, NULL, NULL, NULL);
	sqlite3_exec(db,
		     "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE;"
		     "UPDATE call SET ret = 7; UPDATE meta SET value = 'x' WHERE key = 'command';"
		     "CREATE TABLE filler AS SELECT randomblob(3000) FROM call LIMIT 50;"
		     "DELETE FROM ref",
		     NULL, NULL, NULL);
	copy_bytes(from, half);
	copy_bytes(beside, kept);
	sqlite3_close(db);
	rename(half, from);
	unlink(beside);
	rename(kept, beside);
}

void mutate_journal(const char *dir, struct dice *dice)
{
	char victim[512];
	uint32_t kind = dice_roll(dice, 8);

	snprintf(victim, sizeof(victim), "%s/" MUTATE_VICTIM, dir);
	if (kind < 2) {
		interrupt_writer(dir, "PRAGMA journal_mode = WAL", "-wal");
		if (kind)
			spoil_file(mutate_path(dir, "t.db-wal"), dice);
		if (!dice_roll(dice, 3))
			mutate_write(mutate_path(dir, "t.db-shm"), "\0", 1);
		return;
	}
	interrupt_writer(dir, "PRAGMA journal_mode = DELETE", "-journal");
	if (kind < 5)
		name_super(mutate_path(dir, "t.db-journal"), victim);
	if (kind == 4 || kind == 5)
		spoil_file(mutate_path(dir, "t.db-journal"), dice);
	if (kind == 6)
		spoil_file(mutate_path(dir, "t.db"), dice);
	if (kind == 7 && !unlink(mutate_path(dir, "t.db-journal")))
		(void)!symlink(victim, mutate_path(dir, "t.db-journal"));
}
