/*
 * A folder that is created under a temporary name beside its final path
 */
#include "cli/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/wire/log.h"

static int refuse_existing(const char *to)
{
	return log_why(-EEXIST, "%s already exists; choose another name", to);
}

int folder_make(struct folder *folder, const char *to)
{
	size_t n = strlen(to);
	struct stat st;

	while (n > 1 && to[n - 1] == '/')
		n--;
	if (!lstat(to, &st))
		return refuse_existing(to);
	if ((size_t)snprintf(folder->path, sizeof(folder->path), "%.*s.XXXXXX", (int)n, to) >=
	    sizeof(folder->path)) {
		folder->path[0] = '\0';
		return log_err(-ENAMETOOLONG, "write %s", to);
	}
	if (mkdtemp(folder->path))
		return 0;
	folder->path[0] = '\0';
	return log_err(-errno, "write %s", to);
}

/* Rename without replacing an existing file, even where the file system cannot guarantee that. */
static int rename_if_absent(const char *from, const char *to)
{
	struct stat st;

	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return errno == EEXIST ? refuse_existing(to) : log_err(-errno, "write %s", to);
	if (!lstat(to, &st))
		return refuse_existing(to);
	return rename(from, to) ? log_err(-errno, "write %s", to) : 0;
}

int folder_move_to(struct folder *folder, const char *to)
{
	int err = rename_if_absent(folder->path, to);

	if (!err)
		folder->path[0] = '\0';
	return err;
}

int folder_move_file(const struct folder *folder, const char *name, const char *to)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	return rename_if_absent(path, to);
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	remove(path);
	return 0;
}

void folder_remove(struct folder *folder)
{
	if (*folder->path)
		nftw(folder->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	folder->path[0] = '\0';
}
