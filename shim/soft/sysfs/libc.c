/*
 * Functions of libc through which programs access the device's sysfs tree
 *
 * Programs look for a device below /sys and /dev before they call libibverbs, and librdmacm uses a
 * device file of the kernel. So this file replaces the functions of libc that take a path: a path
 * of the device is redirected into the tree of sysfs_tree.c; other paths are passed on unchanged to
 * the next function of that name. cm.c emulates the connection manager's file, netlink.c the
 * netlink that rdma(8) uses.
 *
 * Calls inside libc are not intercepted: opendir() does not call this open(), so each function is
 * replaced separately. On LP64 the functions with 64 in their names are aliases of those without.
 *
 * The functions may be called before the library's constructor, in a signal handler, and by this
 * library. Their C names differ from their symbols, so that inline functions and attributes of
 * headers do not interfere. The symbols have no version: references to libc's symbols have a
 * version, and would not bind to another one.
 */
#undef _FORTIFY_SOURCE /* a compiler may set it, and headers then define open() inline */

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "shim/soft/cm/cm.h"
#include "shim/soft/sysfs/netlink.h"
#include "shim/soft/sysfs/sysfs_tree.h"

#define EXPORT      __attribute__((visibility("default")))
#define unlikely(x) __builtin_expect(!!(x), 0)

_Static_assert(sizeof(struct stat) == sizeof(struct stat64) &&
		       sizeof(struct dirent) == sizeof(struct dirent64) && sizeof(off_t) == 8,
	       "the functions with 64 are aliases");

/* The highest descriptor of the connection manager so far. */
static int cm_high = -1;

/* clang-format off */
/* The replaced functions, and the aliases with the same code. */
#define FUNCTIONS(V) \
	V(open) V(openat) V(__open_2) V(__openat_2) V(fopen) V(freopen) \
	V(opendir) V(scandir) V(scandirat) V(readdir) V(glob) \
	V(chdir) V(getcwd) V(__getcwd_chk) V(get_current_dir_name) \
	V(stat) V(lstat) V(fstat) V(fstatat) V(statx) \
	V(__xstat) V(__lxstat) V(__fxstat) V(__fxstatat) \
	V(access) V(euidaccess) V(eaccess) V(faccessat) \
	V(readlink) V(readlinkat) V(__readlink_chk) V(__readlinkat_chk) \
	V(realpath) V(__realpath_chk) V(canonicalize_file_name) \
	V(getxattr) V(lgetxattr) V(listxattr) V(llistxattr) \
	V(inotify_add_watch) V(write) V(close) V(close_range) V(closefrom) \
	V(dup2) V(dup3) V(socket) V(send) V(sendto) V(sendmsg) \
	V(_exit)

#define ALIASES(V) \
	V(open64, open) V(openat64, openat) V(__open, open) V(__open64, open) \
	V(__open64_2, __open_2) V(__openat64_2, __openat_2) \
	V(fopen64, fopen) V(freopen64, freopen) \
	V(scandir64, scandir) V(scandirat64, scandirat) V(readdir64, readdir) \
	V(glob64, glob) V(stat64, stat) V(lstat64, lstat) V(fstat64, fstat) \
	V(fstatat64, fstatat) V(__xstat64, __xstat) V(__lxstat64, __lxstat) \
	V(__fxstat64, __fxstat) V(__fxstatat64, __fxstatat) \
	V(__write, write) V(__close, close) V(_Exit, _exit)
/* clang-format on */

#define V(name) NEXT_##name,
enum { FUNCTIONS(V) NUM_FUNCTIONS };
#undef V
#define V(name) #name,
static const char *const names[] = { FUNCTIONS(V) };
#undef V

static void *next[NUM_FUNCTIONS];

static long fail_unresolved(void)
{
	errno = ENOSYS;
	return -1;
}

static void *find_next(unsigned int i)
{
	void *found = dlsym(RTLD_NEXT, names[i]);
	void *libc;

	/* there is no next function if this library was loaded by dlopen(3) */
	if (!found) {
		libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
		found = libc ? dlsym(libc, names[i]) : NULL;
	}
	if (!found)
		found = fail_unresolved;
	__atomic_store_n(&next[i], found, __ATOMIC_RELAXED);
	return found;
}

static void *next_at(unsigned int i)
{
	void *found = __atomic_load_n(&next[i], __ATOMIC_RELAXED);

	return unlikely(!found) ? find_next(i) : found;
}

/* The next function with the same name. */
#define NEXT(name) ((typeof(&libc_##name))next_at(NEXT_##name))

/* Look up all functions now: a signal handler may call them later, and must not call dlsym(). */
__attribute__((constructor)) static void find_all(void)
{
	unsigned int i;

	for (i = 0; i < NUM_FUNCTIONS; i++)
		next_at(i);
}

#define OURS(ret, name, params)                       \
	EXPORT ret libc_##name params __asm__(#name); \
	ret libc_##name params

/* Define a function whose argument @path is replaced. */
#define REDIRECT(ret, name, params, args)                    \
	OURS(ret, name, params)                              \
	{                                                    \
		char buf[SYSFS_TREE_PATH];                   \
		const char *to = sysfs_tree_path(path, buf); \
                                                             \
		return NEXT(name) args;                      \
	}

#define REDIRECT_AT(ret, name, params, args)                         \
	OURS(ret, name, params)                                      \
	{                                                            \
		char buf[SYSFS_TREE_PATH];                           \
		const char *to = sysfs_tree_path_at(dir, path, buf); \
                                                                     \
		return NEXT(name) args;                              \
	}

/* clang-format off */
REDIRECT(FILE *, fopen, (const char *path, const char *mode), (to, mode))
REDIRECT(FILE *, freopen, (const char *path, const char *mode, FILE *file),
	 (to, mode, file))
REDIRECT(DIR *, opendir, (const char *path), (to))
REDIRECT(int, scandir,
	 (const char *path, struct dirent ***list,
	  int (*filter)(const struct dirent *),
	  int (*order)(const struct dirent **, const struct dirent **)),
	 (to, list, filter, order))
REDIRECT_AT(int, scandirat,
	    (int dir, const char *path, struct dirent ***list,
	     int (*filter)(const struct dirent *),
	     int (*order)(const struct dirent **, const struct dirent **)),
	    (dir, to, list, filter, order))
REDIRECT(int, chdir, (const char *path), (to))
REDIRECT(int, access, (const char *path, int mode), (to, mode))
REDIRECT(int, euidaccess, (const char *path, int mode), (to, mode))
REDIRECT(int, eaccess, (const char *path, int mode), (to, mode))
REDIRECT_AT(int, faccessat, (int dir, const char *path, int mode, int flags),
	    (dir, to, mode, flags))
REDIRECT(ssize_t, readlink, (const char *path, char *link, size_t size),
	 (to, link, size))
REDIRECT_AT(ssize_t, readlinkat,
	    (int dir, const char *path, char *link, size_t size),
	    (dir, to, link, size))
REDIRECT(ssize_t, __readlink_chk,
	 (const char *path, char *link, size_t size, size_t room),
	 (to, link, size, room))
REDIRECT_AT(ssize_t, __readlinkat_chk,
	    (int dir, const char *path, char *link, size_t size, size_t room),
	    (dir, to, link, size, room))
REDIRECT(ssize_t, getxattr,
	 (const char *path, const char *name, void *value, size_t size),
	 (to, name, value, size))
REDIRECT(ssize_t, lgetxattr,
	 (const char *path, const char *name, void *value, size_t size),
	 (to, name, value, size))
REDIRECT(ssize_t, listxattr, (const char *path, char *list, size_t size),
	 (to, list, size))
REDIRECT(ssize_t, llistxattr, (const char *path, char *list, size_t size),
	 (to, list, size))
REDIRECT(int, inotify_add_watch, (int fd, const char *path, uint32_t mask),
	 (fd, to, mask))
/* clang-format on */

/* If the real path is in the tree, return the path that it represents. */
OURS(char *, realpath, (const char *path, char *resolved))
{
	char buf[SYSFS_TREE_PATH];

	return sysfs_tree_strip(NEXT(realpath)(sysfs_tree_path(path, buf), resolved));
}

OURS(char *, __realpath_chk, (const char *path, char *resolved, size_t room))
{
	char buf[SYSFS_TREE_PATH];

	return sysfs_tree_strip(NEXT(__realpath_chk)(sysfs_tree_path(path, buf), resolved, room));
}

OURS(char *, canonicalize_file_name, (const char *path))
{
	char buf[SYSFS_TREE_PATH];

	return sysfs_tree_strip(NEXT(canonicalize_file_name)(sysfs_tree_path(path, buf)));
}

OURS(char *, getcwd, (char *path, size_t size))
{
	return sysfs_tree_strip(NEXT(getcwd)(path, size));
}

OURS(char *, __getcwd_chk, (char *path, size_t size, size_t room))
{
	return sysfs_tree_strip(NEXT(__getcwd_chk)(path, size, room));
}

OURS(char *, get_current_dir_name, (void))
{
	return sysfs_tree_strip(NEXT(get_current_dir_name)());
}

static bool has_mode(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

static int open_cm(int flags)
{
	int fd = cm_open(flags);
	int high = __atomic_load_n(&cm_high, __ATOMIC_RELAXED);

	while (fd > high && !__atomic_compare_exchange_n(&cm_high, &high, fd, true,
							 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return fd;
}

OURS(int, open, (const char *path, int flags, ...))
{
	char buf[SYSFS_TREE_PATH];
	const char *to = sysfs_tree_path(path, buf);
	mode_t mode = 0;
	va_list ap;

	if (has_mode(flags)) {
		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
	}
	if (unlikely(to != path) && sysfs_tree_is_cm(to))
		return open_cm(flags);
	return NEXT(open)(to, flags, mode);
}

OURS(int, openat, (int dir, const char *path, int flags, ...))
{
	char buf[SYSFS_TREE_PATH];
	const char *to = sysfs_tree_path_at(dir, path, buf);
	mode_t mode = 0;
	va_list ap;

	if (has_mode(flags)) {
		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
	}
	if (unlikely(to != path) && sysfs_tree_is_cm(to))
		return open_cm(flags);
	return NEXT(openat)(dir, to, flags, mode);
}

/* Programs that are built with _FORTIFY_SOURCE call it. */
OURS(int, __open_2, (const char *path, int flags))
{
	char buf[SYSFS_TREE_PATH];
	const char *to = sysfs_tree_path(path, buf);

	if (unlikely(to != path) && sysfs_tree_is_cm(to))
		return open_cm(flags);
	return NEXT(__open_2)(to, flags);
}

OURS(int, __openat_2, (int dir, const char *path, int flags))
{
	char buf[SYSFS_TREE_PATH];
	const char *to = sysfs_tree_path_at(dir, path, buf);

	if (unlikely(to != path) && sysfs_tree_is_cm(to))
		return open_cm(flags);
	return NEXT(__openat_2)(dir, to, flags);
}

OURS(int, socket, (int domain, int type, int protocol))
{
	int fd;

	if (!netlink_is_rdma(domain, protocol))
		return NEXT(socket)(domain, type, protocol);
	fd = NEXT(socket)(domain, type, NETLINK_USERSOCK);
	netlink_note(fd);
	return fd;
}

OURS(ssize_t, send, (int fd, const void *buf, size_t len, int flags))
{
	if (unlikely(netlink_is_ours(fd)))
		return netlink_send(fd, buf, len);
	return NEXT(send)(fd, buf, len, flags);
}

OURS(ssize_t, sendto,
     (int fd, const void *buf, size_t len, int flags, const struct sockaddr *to, socklen_t size))
{
	if (unlikely(netlink_is_ours(fd)))
		return netlink_send(fd, buf, len);
	return NEXT(sendto)(fd, buf, len, flags, to, size);
}

/* Only requests in one piece are emulated. */
OURS(ssize_t, sendmsg, (int fd, const struct msghdr *msg, int flags))
{
	if (unlikely(netlink_is_ours(fd)) && msg->msg_iovlen == 1)
		return netlink_send(fd, msg->msg_iov->iov_base, msg->msg_iov->iov_len);
	return NEXT(sendmsg)(fd, msg, flags);
}

static bool is_cm(int fd)
{
	return unlikely(fd <= __atomic_load_n(&cm_high, __ATOMIC_RELAXED)) && fd >= 0 &&
	       cm_owns(fd);
}

OURS(ssize_t, write, (int fd, const void *buf, size_t len))
{
	return is_cm(fd) ? cm_write(fd, buf, len) : NEXT(write)(fd, buf, len);
}

OURS(int, close, (int fd))
{
	if (is_cm(fd))
		cm_close(fd);
	return NEXT(close)(fd);
}

static void close_cms(unsigned int first, unsigned int last)
{
	int64_t fd, high = __atomic_load_n(&cm_high, __ATOMIC_RELAXED);

	for (fd = first; fd <= high && fd <= last; fd++)
		if (cm_owns(fd))
			cm_close(fd);
}

OURS(int, close_range, (unsigned int first, unsigned int last, int flags))
{
	if (!flags)
		close_cms(first, last);
	return NEXT(close_range)(first, last, flags);
}

OURS(void, closefrom, (int first))
{
	close_cms(first < 0 ? 0 : first, UINT32_MAX);
	NEXT(closefrom)(first);
}

/* dup2() and dup3() also close their second argument. */
OURS(int, dup2, (int from, int to))
{
	if (from != to && is_cm(to))
		cm_close(to);
	return NEXT(dup2)(from, to);
}

OURS(int, dup3, (int from, int to, int flags))
{
	if (from != to && is_cm(to))
		cm_close(to);
	return NEXT(dup3)(from, to, flags);
}

/* If a file represents a character device, report the device instead. */
static int disguise_node(int result, int fd, struct stat *st)
{
	dev_t rdev;

	if (result == 0 && (is_cm(fd) ? sysfs_tree_cm_node(&rdev)
				      : sysfs_tree_node(st->st_dev, st->st_ino, &rdev))) {
		st->st_mode = S_IFCHR | 0666;
		st->st_rdev = rdev;
		st->st_size = 0;
		st->st_blocks = 0;
	}
	return result;
}

#define STAT(name, params, args)                               \
	OURS(int, name, params)                                \
	{                                                      \
		char buf[SYSFS_TREE_PATH];                     \
		const char *to = sysfs_tree_path(path, buf);   \
                                                               \
		return disguise_node(NEXT(name) args, -1, st); \
	}

/* clang-format off */
STAT(stat, (const char *path, struct stat *st), (to, st))
STAT(lstat, (const char *path, struct stat *st), (to, st))
STAT(__xstat, (int version, const char *path, struct stat *st), (version, to, st))
STAT(__lxstat, (int version, const char *path, struct stat *st), (version, to, st))
/* clang-format on */

OURS(int, fstat, (int fd, struct stat *st))
{
	return disguise_node(NEXT(fstat)(fd, st), fd, st);
}

OURS(int, __fxstat, (int version, int fd, struct stat *st))
{
	return disguise_node(NEXT(__fxstat)(version, fd, st), fd, st);
}

/* @dir if the call refers to the descriptor itself and not to a path; else -1. */
static int resolve_fd(int dir, const char *path, int flags)
{
	return flags & AT_EMPTY_PATH && (!path || !*path) ? dir : -1;
}

OURS(int, fstatat, (int dir, const char *path, struct stat *st, int flags))
{
	char buf[SYSFS_TREE_PATH];
	const char *to = sysfs_tree_path_at(dir, path, buf);

	return disguise_node(NEXT(fstatat)(dir, to, st, flags), resolve_fd(dir, path, flags), st);
}

OURS(int, __fxstatat, (int version, int dir, const char *path, struct stat *st, int flags))
{
	char buf[SYSFS_TREE_PATH];
	const char *to = sysfs_tree_path_at(dir, path, buf);

	return disguise_node(NEXT(__fxstatat)(version, dir, to, st, flags),
			     resolve_fd(dir, path, flags), st);
}

OURS(int, statx, (int dir, const char *path, int flags, unsigned int mask, struct statx *stx))
{
	char buf[SYSFS_TREE_PATH];
	const char *to = sysfs_tree_path_at(dir, path, buf);
	int result = NEXT(statx)(dir, to, flags, mask, stx);
	struct stat st;

	if (result != 0)
		return result;
	st.st_mode = 0;
	st.st_dev = makedev(stx->stx_dev_major, stx->stx_dev_minor);
	st.st_ino = stx->stx_ino;
	disguise_node(result, resolve_fd(dir, path, flags), &st);
	if (st.st_mode) {
		stx->stx_mode = st.st_mode;
		stx->stx_rdev_major = major(st.st_rdev);
		stx->stx_rdev_minor = minor(st.st_rdev);
		stx->stx_size = 0;
		stx->stx_blocks = 0;
	}
	return 0;
}

OURS(struct dirent *, readdir, (DIR * dir))
{
	struct dirent *entry = NEXT(readdir)(dir);

	if (entry && sysfs_tree_is_node(entry->d_ino) && entry->d_type == DT_REG)
		entry->d_type = DT_UNKNOWN; /* a program that needs the type then calls stat() */
	return entry;
}

static void close_dir(void *dir)
{
	closedir(dir);
}

/* glob() with replaced functions in its structure; the program must not see them. */
OURS(int, glob, (const char *pattern, int flags, int (*failed)(const char *, int), glob_t *g))
{
	glob_t ours;
	int result;

	if (flags & GLOB_ALTDIRFUNC || !sysfs_tree_watches(pattern))
		return NEXT(glob)(pattern, flags, failed, g);
	ours = *g;
	ours.gl_opendir = (void *(*)(const char *))libc_opendir;
	ours.gl_readdir = (struct dirent * (*)(void *)) libc_readdir;
	ours.gl_closedir = close_dir;
	ours.gl_stat = libc_stat;
	ours.gl_lstat = libc_lstat;
	result = NEXT(glob)(pattern, flags | GLOB_ALTDIRFUNC, failed, &ours);
	g->gl_pathc = ours.gl_pathc;
	g->gl_pathv = ours.gl_pathv;
	g->gl_offs = ours.gl_offs;
	g->gl_flags = ours.gl_flags & ~GLOB_ALTDIRFUNC;
	return result;
}

/* _exit() runs no destructors. A child of vfork() has no separate tree. */
OURS(void, _exit, (int status))
{
	sysfs_tree_exit();
	NEXT(_exit)(status);
}

#define V(other, name)                                                 \
	EXPORT extern typeof(libc_##name) libc_##other __asm__(#other) \
		__attribute__((alias(#name)));
/* clang-format off */
ALIASES(V)
/* clang-format on */
#undef V
