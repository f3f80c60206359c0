#pragma once
/*
 * A tar archive compressed by zstd: the only module that uses libarchive. Not thread-safe.
 *
 * Names are names of files in a folder, without the folder. Owners, times and modes of the files
 * are not stored: every entry has mode 0600, owner nobody and time 0.
 */
#include <stddef.h>
#include <stdint.h>

struct archive_writer;

/* Write into the new file @path. 0 or -errno after log_err(). */
int archive_create(const char *path, struct archive_writer **ret_writer);
int archive_add_bytes(struct archive_writer *writer, const char *name, const void *bytes, size_t n);

/* The file @path, which has @bytes bytes. */
int archive_add_file(struct archive_writer *writer, const char *name, const char *path,
		     long long bytes);

/*
 * Finish: everything is written to the disk. Returns @err, if set, or 0 or -errno after log_err().
 * Frees the writer.
 */
int archive_finish(struct archive_writer *writer, int err);

struct archive_reader;

/* An entry: a regular file. */
struct archive_member {
	const char *name; /* as in the archive; valid until the next entry is read */
	long long bytes;
};

/*
 * Read the file @path. 0 or -errno after log_err(): -EINVAL if it is not such an archive.
 * archive_next() returns 1, 0 at the end, or -EINVAL if the archive is damaged or an entry is not a
 * regular file, or has holes. archive_read() reads bytes of the entry and returns their number, 0
 * at its end.
 */
int archive_open(const char *path, struct archive_reader **ret_reader);
int archive_next(struct archive_reader *reader, struct archive_member *ret_found);
long long archive_read(struct archive_reader *reader, void *bytes, size_t size);

/* Accepts NULL. */
void archive_close(struct archive_reader *reader);
