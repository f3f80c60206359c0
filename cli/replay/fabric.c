/*
 * A directory for the software device of one command
 *
 *	PARENT/verbatim-replay-XXXXXX    mkdtemp(3); locked by its maker, flock(2)
 *
 * The kernel releases the lock when the maker ends, in whatever way. So a directory that is not
 * locked has no owner, and the next maker removes it. It may thus remove a new directory that is
 * not locked yet; the maker of that one then creates another.
 */
#include "cli/replay/fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/wire/dir.h"

#define PREFIX "verbatim-replay-"

/* Remove the files in a fabric; the device creates no directories in it. */
static void clear_folder(int at)
{
	DIR *list = dir_list(at);

	for (struct dirent *d; list && (d = readdir(list));)
		unlinkat(at, d->d_name, 0);
	if (list)
		closedir(list);
}

/* Open and lock directory @name; -EWOULDBLOCK: its maker lives; or -errno. */
static int lock_dir(int parent, const char *name)
{
	int at = dir_open(parent, name), err;

	if (at < 0 || !flock(at, LOCK_EX | LOCK_NB))
		return at;
	err = -errno;
	close(at);
	return err;
}

/* Has @name the form that mkdtemp() produces? Other names with that prefix are the user's. */
static bool is_fabric(const char *name)
{
	return !strncmp(name, PREFIX, strlen(PREFIX)) && strlen(name) == strlen(PREFIX "XXXXXX") &&
	       !strpbrk(name + strlen(PREFIX), ".-_");
}

static void sweep_folder(const char *parent)
{
	DIR *list = opendir(parent);

	for (struct dirent *d; list && (d = readdir(list));) {
		int at = is_fabric(d->d_name) ? lock_dir(dirfd(list), d->d_name) : -ENOENT;

		if (at < 0)
			continue;
		clear_folder(at);
		unlinkat(dirfd(list), d->d_name, AT_REMOVEDIR);
		close(at);
	}
	if (list)
		closedir(list);
}

static bool is_gone(int at)
{
	struct stat st;

	return fstat(at, &st) || !st.st_nlink;
}

int fabric_make(const char *parent, struct fabric *ret_fabric)
{
	struct fabric made;

	sweep_folder(parent);
	do {
		if (snprintf(made.path, sizeof(made.path), "%s/" PREFIX "XXXXXX", parent) >=
		    (int)sizeof(made.path))
			return -ENAMETOOLONG;
		if (!mkdtemp(made.path))
			return -errno;
		made.lock = lock_dir(AT_FDCWD, made.path);
		if (made.lock >= 0 && is_gone(made.lock)) {
			close(made.lock);
			made.lock = -ENOENT;
		}
	} while (made.lock == -ENOENT || made.lock == -EWOULDBLOCK);
	if (made.lock < 0) {
		rmdir(made.path);
		return made.lock;
	}
	*ret_fabric = made;
	return 0;
}

void fabric_remove(struct fabric *fabric)
{
	clear_folder(fabric->lock);
	rmdir(fabric->path);
	close(fabric->lock);
}
