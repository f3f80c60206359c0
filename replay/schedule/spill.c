/*
 * A file without a name, for data that does not fit into memory
 */
#include "replay/schedule/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/wire/log.h"

static const char *find_directory(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir ? dir : "/var/tmp";
}

/* Create a file with a name: not every file system can create files without one (O_TMPFILE). */
static int open_named(const char *dir)
{
	char path[4096];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/verbatim-XXXXXX", dir) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

static int open_spill(struct spill *spill)
{
	const char *dir = find_directory();

	spill->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (spill->fd < 0)
		spill->fd = open_named(dir);
	if (spill->fd >= 0)
		return 0;
	return log_err(-errno,
		       "make a file in %s for the compiled trace; TMPDIR names another "
		       "directory",
		       dir);
}

int spill_put(struct spill *spill, const void *bytes, size_t n, uint64_t *ret_at)
{
	int err = spill->fd < 0 ? open_spill(spill) : 0;

	for (size_t done = 0; !err && done < n;) {
		ssize_t now = pwrite(spill->fd, (const char *)bytes + done, n - done,
				     (off_t)(spill->end + done));

		if (now >= 0)
			done += (size_t)now;
		else if (errno != EINTR)
			err = log_err(-errno,
				      "write the compiled trace into a file in %s; TMPDIR "
				      "names another directory",
				      find_directory());
	}
	if (err)
		return err;
	*ret_at = spill->end;
	spill->end += n;
	return 0;
}

int spill_get(const struct spill *spill, uint64_t at, void *bytes, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t now = pread(spill->fd, (char *)bytes + done, n - done, (off_t)(at + done));

		if (now > 0)
			done += (size_t)now;
		else if (!now || errno != EINTR)
			return log_err(now ? -errno : -EIO, "read the compiled trace");
	}
	return 0;
}

void spill_expect(const struct spill *spill, uint64_t at, size_t n)
{
	posix_fadvise(spill->fd, (off_t)at, (off_t)n, POSIX_FADV_WILLNEED);
}

void spill_close(struct spill *spill)
{
	if (spill->fd >= 0)
		close(spill->fd);
	spill->fd = -1;
}
