/*
 * Output files: a path as the user gave it, and the file that exists there
 */
#include "core/store/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/store/db/file.h"
#include "core/wire/log.h"

enum { MODE = 0600 };

/*
 * Report a failed write. -EFBIG is replaced by -EIO, since it would mean that the trace is too
 * large.
 */
static int fail_write(const char *path)
{
	int err = log_err(errno ? -errno : -EIO, "write %s", path);

	return err == -EFBIG ? -EIO : err;
}

/* The descriptor that @path names, or -1. A file open on it must not be truncated. */
static int find_descriptor(const char *path)
{
	static const char *const before[] = { "/dev/fd/", "/proc/self/fd/" };

	if (!strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
		size_t n = strlen(before[i]);

		if (!strncmp(path, before[i], n) && path[n] && strlen(path + n) < 8 &&
		    strspn(path + n, "0123456789") == strlen(path + n))
			return atoi(path + n);
	}
	return -1;
}

/* Is @path a pipe or a device, or a link to one? */
static bool is_stream(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* Can a file be created beside @path, and renamed to it? 0 or -errno. */
static int check_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat st;
	char *folder;
	int err;

	if (!lstat(path, &st) && S_ISDIR(st.st_mode))
		return -EISDIR;
	if (asprintf(&folder, "%.*s.", slash ? (int)(slash + 1 - path) : 0, path) < 0)
		return -ENOMEM;
	err = faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) ? -errno : 0;
	free(folder);
	return err;
}

int outfile_check(const char *path)
{
	if (find_descriptor(path) >= 0)
		return 0;
	if (file_is_trace(path))
		return -EEXIST;
	return is_stream(path) ? 0 : check_folder(path);
}

static mode_t choose_mode(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid()
		       ? st.st_mode & 0777
		       : MODE;
}

static int make_other(const char *path, char **ret_other)
{
	char *other = NULL;
	int fd;

	if (asprintf(&other, "%s.XXXXXX", path) < 0)
		return log_err(-ENOMEM, "write %s", path);
	fd = mkostemp(other, O_CLOEXEC);
	if (fd >= 0 && !fchmod(fd, choose_mode(path))) {
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
	int fd = find_descriptor(path);

	if (fd >= 0)
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	else if (is_stream(path))
		fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	else
		return make_other(path, ret_other);
	return fd < 0 ? log_err(-errno, "write %s", path) : fd;
}

int outfile_open(const char *path, struct outfile *ret_outfile)
{
	struct outfile out = { .path = path };
	int fd, err = outfile_check(path);

	if (err == -EEXIST)
		return log_why(err,
			       "%s is a trace and will not be overwritten; choose another "
			       "name",
			       path);
	if (err)
		return log_err(err, "write %s", path);
	fd = open_path(path, &out.other);
	if (fd < 0)
		return fd;
	out.file = fdopen(fd, "w");
	if (!out.file) {
		close(fd);
		return outfile_close(&out, log_err(-ENOMEM, "write %s", path));
	}
	*ret_outfile = out;
	return 0;
}

int outfile_close(struct outfile *out, int err)
{
	if (out->file) {
		bool failed = ferror(out->file);

		errno = 0;
		if ((fclose(out->file) || failed) && !err)
			err = fail_write(out->path);
	}
	if (out->other && !err && rename(out->other, out->path))
		err = fail_write(out->path);
	if (out->other && err)
		unlink(out->other);
	free(out->other);
	*out = (struct outfile){ 0 };
	return err;
}
