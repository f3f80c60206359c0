#pragma once
/*
 * A tar archive compressed by zstd: the one door to libarchive. One thread.
 *
 * Names are those of files in a folder, without the folder. Owners, times and modes are none of the
 * files': every file is 0600 of nobody, at time 0.
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

/* All of it is in the file, and that on the disk; or @err, or -errno after log_err(). Frees. */
int archive_finish(struct archive_writer *writer, int err);

struct archive_reader;

/* An entry: a regular file. */
struct archive_found {
	const char *name; /* as it is there; valid until the next */
	long long bytes;
};

/*
 * Read the file @path. 0 or -errno after log_err(): -EINVAL it is no such archive. archive_next()
 * is 1, 0 at the end, or -EINVAL where it is damaged or has what is no regular file, or one with
 * holes. archive_read() gives the bytes of the entry: how many, 0 at its end.
 */
int archive_open(const char *path, struct archive_reader **ret_reader);
int archive_next(struct archive_reader *reader, struct archive_found *ret_found);
long long archive_read(struct archive_reader *reader, void *bytes, size_t size);

/* Accepts NULL. */
void archive_close(struct archive_reader *reader);
