/*
 * Results for a file: made in memory and then written in one piece, or written as they are made
 */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/wire/log.h"

static int write_file(const char *path, int fd, const struct text *text)
{
	FILE *file = fdopen(fd, "w");
	int err = 0;

	if (!file) {
		err = log_err(-errno, "write %s", path);
		close(fd);
		return err;
	}
	if (fwrite(text->at, 1, text->used, file) != text->used || fflush(file))
		err = log_err(-errno, "write %s", path);
	if (fclose(file) && !err)
		err = log_err(-errno, "write %s", path);
	return err;
}

/* A file of its own that takes the place of @path when it is whole. */
static int replace_file(const char *path, const struct text *text)
{
	char *other = NULL;
	mode_t mask = umask(0);
	int fd, err;

	umask(mask);
	if (asprintf(&other, "%s.XXXXXX", path) < 0)
		return log_err(-ENOMEM, "write %s", path);
	fd = mkstemp(other);
	if (fd < 0 || fchmod(fd, 0666 & ~mask)) {
		err = log_err(-errno, "write %s", path);
		if (fd >= 0)
			close(fd);
	} else {
		err = write_file(path, fd, text);
	}
	if (!err && rename(other, path))
		err = log_err(-errno, "write %s", path);
	if (err && fd >= 0)
		unlink(other);
	free(other);
	return err;
}

/* A pipe or a device stays what it is. */
static int put_file(const char *path, const struct text *text)
{
	struct stat st;
	int fd;

	if (stat(path, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return replace_file(path, text);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? log_err(-errno, "write %s", path) : write_file(path, fd, text);
}

static int print_text(const struct text *text)
{
	for (size_t at = 0; at < text->used;) {
		ssize_t n = write(STDOUT_FILENO, text->at + at, text->used - at);

		if (n < 0 && errno != EINTR)
			return log_err(-errno, "write to standard output");
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int output_put(const char *path, const struct text *text)
{
	return path ? put_file(path, text) : print_text(text);
}

/* A file beside @path, with the rights that a new file has. */
static int make_other(const char *path, char **ret_other)
{
	mode_t mask = umask(0);
	char *other = NULL;
	int fd;

	umask(mask);
	if (asprintf(&other, "%s.XXXXXX", path) < 0)
		return log_err(-ENOMEM, "write %s", path);
	fd = mkstemp(other);
	if (fd >= 0 && !fchmod(fd, 0666 & ~mask)) {
		*ret_other = other;
		return fd;
	}
	log_err(-errno, "write %s", path);
	if (fd >= 0) {
		unlink(other);
		close(fd);
	}
	free(other);
	return -EIO;
}

static int open_path(const char *path, char **ret_other)
{
	struct stat st;
	int fd;

	if (!path)
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	else if (stat(path, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return make_other(path, ret_other);
	else
		fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? log_err(-errno, "write %s", path ?: "to standard output") : fd;
}

int output_open(const char *path, struct output *ret_output)
{
	struct output output = { .path = path };
	int fd = open_path(path, &output.other);

	if (fd < 0)
		return fd;
	output.file = fdopen(fd, "w");
	if (!output.file) {
		close(fd);
		return output_close(&output, log_err(-ENOMEM, "write %s", path ?: "the result"));
	}
	*ret_output = output;
	return 0;
}

int output_close(struct output *output, int err)
{
	const char *name = output->path ?: "to standard output";

	if (output->file) {
		bool failed = ferror(output->file);

		if ((fclose(output->file) || failed) && !err)
			err = log_err(errno ? -errno : -EIO, "write %s", name);
	}
	if (output->other && !err && rename(output->other, output->path))
		err = log_err(-errno, "write %s", name);
	if (output->other && err)
		unlink(output->other);
	free(output->other);
	*output = (struct output){ 0 };
	return err;
}
