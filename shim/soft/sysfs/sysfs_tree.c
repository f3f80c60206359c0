/*
 * The location of the device's sysfs tree
 *
 * Paths below /sys and /dev of an RDMA device are redirected into a tree of real files, so that
 * opendir, readlink, openat and functions on descriptors work without special handling:
 *
 *	/sys/class/infiniband/verbatim0/fw_ver
 *	/dev/shm/verbatim-soft-UID.sys.PID/sys/class/infiniband/...
 *
 * Each process has a separate tree, since its environment describes the device. The tree is created
 * when it is first needed, and removed when the process ends. If the process was killed, or
 * executed another program, the next process that creates a tree, or has the same pid, removes the
 * old one: the file "start" in a tree has the start time of its process.
 *
 * This file does not use malloc(): the first open() may be called in a signal handler.
 *
 * Not here: the contents of the tree (sysfs.c), its users (libc.c).
 */
#include "shim/soft/sysfs/sysfs_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "shim/soft/fabric/process.h"
#include "shim/soft/sysfs/sysfs.h"

enum { ROOT_PATH = 64 };

static const char *const places[] = { "/dev/shm", "/tmp" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char root[ROOT_PATH];
static int owner; /* pid of the process that created the tree @root; 0: none */
static bool leaving;

/* Device and inodes of the files that represent device nodes. */
static dev_t root_dev;
static ino_t node_inos[SYSFS_NODES];

static bool begins_with(const char *path, const char *prefix)
{
	size_t len = strlen(prefix);

	return !strncmp(path, prefix, len) && (path[len] == '\0' || path[len] == '/');
}

bool sysfs_tree_watches(const char *path)
{
	if (!path || path[0] != '/')
		return false;
	while (path[1] == '/')
		path++;
	return !strncmp(path, "/sys/", 5) || !strncmp(path, "/dev/inf", 8);
}

static bool is_ours(const char *path)
{
	size_t i;

	for (i = 0; i < SYSFS_PATHS; i++)
		if (begins_with(path, sysfs_paths[i]))
			return true;
	return false;
}

/* Remove "//" and "/./"; false if it does not fit. */
static bool clean_path(const char *path, char out[SYSFS_TREE_PATH])
{
	size_t n = 0;

	while (*path) {
		if (path[0] == '/' && path[1] == '/') {
			path++;
		} else if (path[0] == '/' && path[1] == '.' && (path[2] == '/' || !path[2])) {
			path += 2;
		} else {
			if (n + ROOT_PATH >= SYSFS_TREE_PATH)
				return false;
			out[n++] = *path++;
		}
	}
	out[n] = '\0';
	return true;
}

/* Call @each for each entry of a directory. Returns their number. */
static unsigned int visit_dir(int dir, void (*each)(int dir, const char *name))
{
	struct {
		uint64_t ino;
		int64_t off;
		unsigned short reclen;
		unsigned char type;
		char name[];
	} * entry;
	char buf[2048] __attribute__((aligned(8)));
	unsigned int count = 0;
	long n, at;

	while ((n = syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0) {
		for (at = 0; at < n; at += entry->reclen) {
			entry = (void *)(buf + at);
			if (!strcmp(entry->name, ".") || !strcmp(entry->name, ".."))
				continue;
			each(dir, entry->name);
			count++;
		}
	}
	return count;
}

static void remove_tree(int dir, const char *name)
{
	int fd, tries;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	/* removing an entry may hide other entries from the traversal */
	for (tries = 0; tries < 16 && visit_dir(fd, remove_tree); tries++)
		lseek(fd, 0, SEEK_SET);
	close(fd);
	unlinkat(dir, name, AT_REMOVEDIR);
}

static void tree_name(char *name, size_t size, int pid)
{
	snprintf(name, size, "verbatim-soft-%u.sys.%d", (unsigned int)geteuid(), pid);
}

/* Open tree @name if it belongs to this user: in this directory any user may create files. */
static int open_tree(int dir, const char *name)
{
	int tree = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (tree < 0 || (fstat(tree, &st) == 0 && st.st_uid == geteuid()))
		return tree;
	close(tree);
	return -1;
}

/* Is the process of @tree alive? A tree without a start time is still being created. */
static bool owner_lives(int tree, int pid)
{
	uint64_t start = process_start(pid);
	char text[32];
	ssize_t n;
	int fd;

	fd = openat(tree, "start", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return start != 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return start && strtoull(text, NULL, 10) == start;
}

static void sweep_tree(int dir, const char *name)
{
	const char *dot = strrchr(name, '.');
	int pid = dot ? atoi(dot + 1) : 0;
	char expected[ROOT_PATH];
	int tree;

	tree_name(expected, sizeof(expected), pid);
	if (pid <= 0 || pid == getpid() || strcmp(name, expected))
		return;
	tree = open_tree(dir, name);
	if (tree < 0)
		return;
	if (!owner_lives(tree, pid))
		remove_tree(dir, name);
	close(tree);
}

static void sweep_place(const char *place)
{
	int fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	visit_dir(fd, sweep_tree);
	close(fd);
}

static int make_start(int dir)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)process_start(getpid()));

	return sysfs_put(dir, "start", text, n);
}

static int find_nodes(int dir)
{
	struct stat st;
	unsigned int i;

	for (i = 0; i < SYSFS_NODES; i++) {
		/* past the leading "/" */
		if (fstatat(dir, sysfs_nodes[i] + 1, &st, 0) < 0)
			return -errno;
		node_inos[i] = st.st_ino;
		root_dev = st.st_dev;
	}
	return 0;
}

static int fill_tree(const char *path)
{
	int err, dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0)
		return -errno;
	err = make_start(dir);
	if (!err)
		err = sysfs_make(dir);
	if (!err)
		err = find_nodes(dir);
	close(dir);
	return err;
}

static bool make_tree_in(const char *place)
{
	char name[ROOT_PATH];

	tree_name(name, sizeof(name), getpid());
	snprintf(root, sizeof(root), "%s/%.40s", place, name);
	remove_tree(AT_FDCWD, root);
	if (mkdir(root, 0755) < 0)
		return false;
	sweep_place(place);
	if (fill_tree(root) == 0)
		return true;
	remove_tree(AT_FDCWD, root);
	return false;
}

/* Does the tree still exist? A user may have removed it. */
static bool is_present(void)
{
	return owner == getpid() && access(root, F_OK) == 0;
}

static bool find_root(char *buf)
{
	sigset_t all, old;
	size_t i;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_mutex_lock(&mutex);
	if (!leaving && !is_present()) {
		owner = 0;
		for (i = 0; i < COUNT(places) && !owner; i++)
			if (make_tree_in(places[i]))
				owner = getpid();
	}
	strcpy(buf, owner ? root : "");
	pthread_mutex_unlock(&mutex);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return buf[0];
}

static const char *translate_path(const char *path, char buf[SYSFS_TREE_PATH])
{
	char cleaned[SYSFS_TREE_PATH];
	int saved = errno;
	bool found;

	if (!clean_path(path, cleaned) || !is_ours(cleaned))
		return path;
	found = find_root(buf);
	errno = saved;
	if (!found)
		return path;
	strcat(buf, cleaned);
	return buf;
}

const char *sysfs_tree_path(const char *path, char buf[SYSFS_TREE_PATH])
{
	return __builtin_expect(sysfs_tree_watches(path), 0) ? translate_path(path, buf) : path;
}

static bool is_root(int dir)
{
	struct stat slash, st;

	return fstatat(AT_FDCWD, "/", &slash, 0) == 0 &&
	       (dir == AT_FDCWD ? fstatat(dir, ".", &st, 0) : fstat(dir, &st)) == 0 &&
	       slash.st_dev == st.st_dev && slash.st_ino == st.st_ino;
}

const char *sysfs_tree_path_at(int dir, const char *path, char buf[SYSFS_TREE_PATH])
{
	char absolute[SYSFS_TREE_PATH] = "/";
	int saved = errno;
	const char *to = path;

	if (!path || path[0] == '/')
		return sysfs_tree_path(path, buf);
	/* hwloc opens "sys/class/..." relative to "/" */
	if ((strncmp(path, "sys/", 4) && strncmp(path, "dev/inf", 7)) ||
	    strlen(path) + 2 > sizeof(absolute) || !is_root(dir))
		goto out;
	strcat(absolute, path);
	to = sysfs_tree_path(absolute, buf);
	if (to == absolute)
		to = path;
out:
	errno = saved;
	return to;
}

char *sysfs_tree_strip(char *path)
{
	size_t len = strlen(root);

	if (path && owner && len && begins_with(path, root))
		memmove(path, path + len, strlen(path + len) + 1);
	return path;
}

bool sysfs_tree_is_cm(const char *to)
{
	size_t len = strlen(root);

	return !strncmp(to, root, len) && !strcmp(to + len, sysfs_nodes[SYSFS_CM]);
}

bool sysfs_tree_node(dev_t dev, ino_t ino, dev_t *ret_rdev)
{
	unsigned int i;

	if (!root_dev || dev != root_dev)
		return false;
	for (i = 0; i < SYSFS_NODES; i++) {
		if (node_inos[i] == ino) {
			*ret_rdev = sysfs_number(i);
			return true;
		}
	}
	return false;
}

bool sysfs_tree_is_node(ino_t ino)
{
	dev_t unused;

	return root_dev && sysfs_tree_node(root_dev, ino, &unused);
}

bool sysfs_tree_cm_node(dev_t *ret_rdev)
{
	*ret_rdev = sysfs_number(SYSFS_CM);
	return true;
}

void sysfs_tree_exit(void)
{
	if (owner != getpid() || pthread_mutex_trylock(&mutex))
		return;
	leaving = true;
	owner = 0;
	remove_tree(AT_FDCWD, root);
	pthread_mutex_unlock(&mutex);
}

/* In a child: another thread may have held the mutex, and the tree belongs to the parent. */
static void fork_child(void)
{
	pthread_mutex_init(&mutex, NULL);
}

/*
 * An existing tree with this pid belongs to a dead process, or to the program that this process
 * executed before: remove it.
 */
__attribute__((constructor)) static void init_tree(void)
{
	char path[ROOT_PATH], name[ROOT_PATH];
	size_t i;

	pthread_atfork(NULL, NULL, fork_child);
	tree_name(name, sizeof(name), getpid());
	for (i = 0; i < COUNT(places); i++) {
		snprintf(path, sizeof(path), "%s/%.40s", places[i], name);
		if (!owner && access(path, F_OK) == 0)
			remove_tree(AT_FDCWD, path);
	}
}

__attribute__((destructor)) static void remove_own_tree(void)
{
	sysfs_tree_exit();
}
