/*
 * A tar archive compressed by zstd
 *
 * Only this format and this filter of libarchive are enabled for reading, since the file is
 * untrusted.
 */
#include "cli/bundle/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/library.h"
#include "core/wire/log.h"

/* clang-format off */
#define ARCHIVE_LIB(X) \
	X(archive_entry_filetype) \
	X(archive_entry_free) \
	X(archive_entry_hardlink) \
	X(archive_entry_new) \
	X(archive_entry_pathname) \
	X(archive_entry_set_filetype) \
	X(archive_entry_set_mtime) \
	X(archive_entry_set_pathname) \
	X(archive_entry_set_perm) \
	X(archive_entry_set_size) \
	X(archive_entry_size) \
	X(archive_entry_size_is_set) \
	X(archive_entry_sparse_count) \
	X(archive_entry_symlink) \
	X(archive_errno) \
	X(archive_error_string) \
	X(archive_read_data) \
	X(archive_read_free) \
	X(archive_read_new) \
	X(archive_read_next_header) \
	X(archive_read_open_fd) \
	X(archive_read_support_filter_zstd) \
	X(archive_read_support_format_tar) \
	X(archive_write_add_filter_zstd) \
	X(archive_write_close) \
	X(archive_write_data) \
	X(archive_write_free) \
	X(archive_write_header) \
	X(archive_write_new) \
	X(archive_write_open_fd) \
	X(archive_write_set_bytes_in_last_block) \
	X(archive_write_set_bytes_per_block) \
	X(archive_write_set_format_pax_restricted)
/* clang-format on */

static LIBRARY(ARCHIVE_LIB) lib;

/* 0 or -errno after log_note(). */
static int load_libarchive(void)
{
	static const char *const names[] = { ARCHIVE_LIB(LIBRARY_NAME) NULL };
	const char *why = library_load("libarchive.so.13", names, lib.functions);

	if (why)
		log_note("install libarchive, which reads and writes bundles: %s", why);
	return why ? -ENOPKG : 0;
}

enum { BLOCK = 1 << 16 };

struct archive_writer {
	struct archive *archive;
	char *path;
	int fd;
};

struct archive_reader {
	struct archive *archive;
	char *path;
	int fd;
};

static int fail_writing(const struct archive_writer *writer)
{
	int err = lib.archive_errno(writer->archive);

	return log_err(err > 0 ? -err : -EIO, "write %s", writer->path);
}

static int begin_archive(struct archive_writer *writer)
{
	struct archive *archive = writer->archive;

	if (lib.archive_write_add_filter_zstd(archive) ||
	    lib.archive_write_set_format_pax_restricted(archive) ||
	    lib.archive_write_set_bytes_per_block(archive, BLOCK) ||
	    lib.archive_write_set_bytes_in_last_block(archive, 1) ||
	    lib.archive_write_open_fd(archive, writer->fd))
		return fail_writing(writer);
	return 0;
}

static void free_writer(struct archive_writer *writer)
{
	lib.archive_write_free(writer->archive);
	if (writer->fd >= 0)
		close(writer->fd);
	free(writer->path);
	free(writer);
}

int archive_create(const char *path, struct archive_writer **ret_writer)
{
	struct archive_writer *writer;
	int err = load_libarchive();

	if (err)
		return err;
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return log_err(-ENOMEM, "write %s", path);
	writer->archive = lib.archive_write_new();
	writer->path = strdup(path);
	writer->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (writer->fd < 0)
		err = log_err(-errno, "write %s", path);
	else if (!writer->archive || !writer->path)
		err = log_err(-ENOMEM, "write %s", path);
	else
		err = begin_archive(writer);
	if (err)
		free_writer(writer);
	else
		*ret_writer = writer;
	return err;
}

static int put_header(struct archive_writer *writer, const char *name, long long bytes)
{
	struct archive_entry *entry = lib.archive_entry_new();
	int err = 0;

	if (!entry)
		return log_err(-ENOMEM, "write %s", writer->path);
	lib.archive_entry_set_pathname(entry, name);
	lib.archive_entry_set_size(entry, bytes);
	lib.archive_entry_set_filetype(entry, AE_IFREG);
	lib.archive_entry_set_perm(entry, 0600);
	lib.archive_entry_set_mtime(entry, 0, 0);
	if (lib.archive_write_header(writer->archive, entry) != ARCHIVE_OK)
		err = fail_writing(writer);
	lib.archive_entry_free(entry);
	return err;
}

static int put_bytes(struct archive_writer *writer, const void *bytes, size_t n)
{
	la_ssize_t put = lib.archive_write_data(writer->archive, bytes, n);

	return put < 0 || (size_t)put != n ? fail_writing(writer) : 0;
}

int archive_add_bytes(struct archive_writer *writer, const char *name, const void *bytes, size_t n)
{
	return put_header(writer, name, (long long)n) ?: put_bytes(writer, bytes, n);
}

int archive_add_file(struct archive_writer *writer, const char *name, const char *path,
		     long long bytes)
{
	FILE *file = fopen(path, "rbe");
	char block[BLOCK];
	int err;
	size_t n;

	if (!file)
		return log_err(-errno, "read %s", path);
	err = put_header(writer, name, bytes);
	while (!err && (n = fread(block, 1, sizeof(block), file)) > 0) {
		err = put_bytes(writer, block, n);
		bytes -= (long long)n;
	}
	if (!err && (ferror(file) || bytes))
		err = log_why(-EIO, "%s changed while it was read; try again", path);
	fclose(file);
	return err;
}

int archive_finish(struct archive_writer *writer, int err)
{
	if (!err && lib.archive_write_close(writer->archive) != ARCHIVE_OK)
		err = fail_writing(writer);
	if (!err && fsync(writer->fd))
		err = log_err(-errno, "write %s", writer->path);
	free_writer(writer);
	return err;
}

/* Reading */

static int fail_reading(const struct archive_reader *reader)
{
	const char *why = lib.archive_error_string(reader->archive);

	return log_why(-EINVAL,
		       "%s is not a bundle, or is damaged or truncated (%s); copy it "
		       "again",
		       reader->path, why ? why : "libarchive");
}

static int begin_reading(struct archive_reader *reader)
{
	struct archive *archive = reader->archive;

	if (lib.archive_read_support_filter_zstd(archive) ||
	    lib.archive_read_support_format_tar(archive) ||
	    lib.archive_read_open_fd(archive, reader->fd, BLOCK))
		return fail_reading(reader);
	return 0;
}

int archive_open(const char *path, struct archive_reader **ret_reader)
{
	struct archive_reader *reader;
	struct stat st;
	int err = load_libarchive();

	if (err)
		return err;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return log_err(-ENOMEM, "read %s", path);
	reader->archive = lib.archive_read_new();
	reader->path = strdup(path);
	reader->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (reader->fd < 0 || fstat(reader->fd, &st))
		err = log_err(-errno, "open %s", path);
	else if (!reader->archive || !reader->path)
		err = log_err(-ENOMEM, "read %s", path);
	else if (!S_ISREG(st.st_mode))
		err = log_why(-EINVAL,
			      "%s is not a file; give a file written by `verbatim "
			      "bundle`",
			      path);
	else
		err = begin_reading(reader);
	if (err)
		archive_close(reader);
	else
		*ret_reader = reader;
	return err;
}

void archive_close(struct archive_reader *reader)
{
	if (!reader)
		return;
	lib.archive_read_free(reader->archive);
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader->path);
	free(reader);
}

int archive_next(struct archive_reader *reader, struct archive_member *ret_found)
{
	struct archive_entry *entry;
	int code = lib.archive_read_next_header(reader->archive, &entry);

	if (code == ARCHIVE_EOF)
		return 0;
	if (code != ARCHIVE_OK)
		return fail_reading(reader);
	ret_found->name = lib.archive_entry_pathname(entry);
	ret_found->bytes = lib.archive_entry_size(entry);
	if (!ret_found->name || lib.archive_entry_filetype(entry) != AE_IFREG ||
	    lib.archive_entry_hardlink(entry) || lib.archive_entry_symlink(entry) ||
	    !lib.archive_entry_size_is_set(entry))
		return log_why(-EINVAL, "%s: entry '%s' is not a file; nothing was unpacked",
			       reader->path, ret_found->name ? ret_found->name : "");
	/* holes would be read as zeros: a tiny file could claim any length */
	if (lib.archive_entry_sparse_count(entry))
		return log_why(-EINVAL, "%s: entry '%s' is sparse; nothing was unpacked",
			       reader->path, ret_found->name);
	return 1;
}

long long archive_read(struct archive_reader *reader, void *bytes, size_t size)
{
	la_ssize_t n = lib.archive_read_data(reader->archive, bytes, size);

	return n < 0 ? fail_reading(reader) : (long long)n;
}
