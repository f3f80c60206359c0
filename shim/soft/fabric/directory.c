/*
 * The directory of the fabric's files
 *
 *	DIR/fabric			the registry (fabric.c)
 *	DIR/node.NODE.INSTANCE.0	a process's segment
 *	DIR/pipe.NODE.INSTANCE.ID	events for a process (pipe.c)
 *	DIR/cm				owners of ports (cm_port.c)
 *	DIR/cmid.NODE.INSTANCE.SERIAL	messages to an id (cm_wire.c)
 *
 * No other user may enter the directory, since a process that can write a segment can make its
 * readers write to their own memory. So it must be a real directory, not a link, owned by this user
 * and closed to others; else it is refused.
 *
 * A missing directory is created with the sticky bit, which marks it as created by the fabric: if
 * its creator dies before it creates a file in it, the next process removes the directory. A
 * directory is renamed to DIR.gone.PID before it is removed; if the removing process dies, the next
 * process removes DIR.gone.PID.
 */
#include "shim/soft/fabric/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/soft/fabric/shared.h"

static char path[DIRECTORY_PATH];

static int choose_path(void)
{
	const char *given = getenv("VERBATIM_SOFT_FABRIC");
	int n;

	if (given && *given)
		n = snprintf(path, sizeof(path), "%s", given);
	else
		n = snprintf(path, sizeof(path), "/dev/shm/verbatim-soft-%u.%d",
			     (unsigned int)geteuid(), SHM_VERSION);
	if (n >= (int)sizeof(path))
		return -ENAMETOOLONG;
	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	return 0;
}

static int check_directory(bool *ret_made)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return -EPERM;
	*ret_made = st.st_mode & S_ISVTX;
	return 0;
}

/* Is @pid a number, and no living process has it? */
static bool is_dead_pid(const char *pid)
{
	char *end;
	long n = strtol(pid, &end, 10);

	return *pid >= '1' && *pid <= '9' && !*end && n <= INT32_MAX && kill(n, 0) < 0 &&
	       errno == ESRCH;
}

/*
 * Open directory @name, if it belongs to this user, is closed to others and is not a link. Returns
 * a descriptor or -errno.
 */
static int open_directory(int at, const char *name, struct stat *st)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, st) == 0 && st->st_uid == geteuid() && !(st->st_mode & 077))
		return fd;
	close(fd);
	return -EPERM;
}

static bool is_of_fabric(const char *name)
{
	unsigned long long instance;
	unsigned int node;

	return !strcmp(name, "fabric") || !strcmp(name, "cm") ||
	       sscanf(name, "%*[a-z].%u.%llu.", &node, &instance) == 2;
}

static DIR *list_directory(int at, const char *name, struct stat *st)
{
	int fd = open_directory(at, name, st);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

/* Remove a renamed directory with its files: no process uses it after the renaming. */
static void remove_renamed(int parent, const char *name)
{
	struct dirent *entry;
	struct stat st;
	DIR *dir = list_directory(parent, name, &st);

	while (dir && st.st_mode & S_ISVTX && (entry = readdir(dir)))
		if (is_of_fabric(entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir && st.st_mode & S_ISVTX)
		unlinkat(parent, name, AT_REMOVEDIR);
	if (dir)
		closedir(dir);
}

/* Remove renamed directories if the process that was removing them has died. */
static void sweep_renamed(void)
{
	char parent[DIRECTORY_PATH], last[DIRECTORY_PATH], prefix[DIRECTORY_PATH + 8];
	struct dirent *entry;
	DIR *dir;

	strcpy(parent, path);
	strcpy(last, path);
	snprintf(prefix, sizeof(prefix), "%s.gone.", basename(last));
	dir = opendir(dirname(parent));
	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (!strncmp(entry->d_name, prefix, strlen(prefix)) &&
		    is_dead_pid(entry->d_name + strlen(prefix)))
			remove_renamed(dirfd(dir), entry->d_name);
	closedir(dir);
}

static int open_fabric_dir(bool *ret_made)
{
	int err = choose_path();

	if (err < 0)
		return err;
	if (mkdir(path, 0700 | S_ISVTX) == 0)
		sweep_renamed();
	else if (errno != EEXIST)
		return -errno;
	return check_directory(ret_made);
}

/* Report an error only once: a program may open the device again and again. */
int directory_report_error(const char *file, const char *why, int err)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		fprintf(stderr,
			"verbatim-soft: %s%s: %s; VERBATIM_SOFT_FABRIC names another place\n", path,
			file, why ? why : strerror(-err));
	return err;
}

int directory_open(bool *ret_made)
{
	int err = open_fabric_dir(ret_made);

	if (err >= 0 || err == -EAGAIN)
		return err;
	return directory_report_error("",
				      err == -EPERM
					      ? "not a directory of this user that is closed to "
						"others (chmod 700)"
					      : NULL,
				      err);
}

void directory_remove(void)
{
	char gone[DIRECTORY_PATH + 40];

	snprintf(gone, sizeof(gone) - 8, "%s.gone.%d", path, (int)getpid());
	if (rename(path, gone) < 0)
		return;
	errno = 0;
	remove_renamed(AT_FDCWD, gone);
	if (errno != EMFILE)
		return;
	/* no descriptor is left to list it: remove the file that is most likely the only one */
	strcat(gone, "/fabric");
	unlink(gone);
	rmdir(dirname(gone));
}

void directory_remove_empty(void)
{
	rmdir(path);
}

const char *directory_path(void)
{
	return path;
}

void directory_sweep(bool (*keep)(uint32_t node, uint64_t instance))
{
	struct stat st;
	DIR *dir = list_directory(AT_FDCWD, path, &st);
	unsigned long long instance;
	struct dirent *entry;
	unsigned int node;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (sscanf(entry->d_name, "%*[a-z].%u.%llu.", &node, &instance) != 2)
			continue;
		if (!keep(node, instance))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	closedir(dir);
}

void directory_file(char file[DIRECTORY_FILE], const char *kind, uint32_t node, uint64_t instance,
		    uint32_t id)
{
	snprintf(file, DIRECTORY_FILE, "%s/%s.%u.%llu.%u", path, kind, node,
		 (unsigned long long)instance, id);
}
