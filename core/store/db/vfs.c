/*
 * The files that SQLite may access
 *
 * By default, SQLite trusts the files beside a database: it plays a journal back into it, then
 * deletes the super-journal that the journal names, whatever file that is. Anybody who can write to
 * the directory can create such a journal. So SQLite accesses files only through this table of
 * functions:
 *
 *	opened for reading   the file itself, no journal and no WAL
 *	opened for writing   the file itself, NAME-journal and NAME-wal in the directory
 *			     that contains the file, never through a link
 *	anything else        temporary files without a name; no other name can be
 *			     opened, checked or deleted
 *
 * An existing journal or WAL is refused if another user may have created or written it, if it has a
 * second name, or if it names a super-journal, which this program never writes.
 *
 * The locks are on the bytes that SQLite locks, so that other programs see them, but they belong to
 * the open file description (F_OFD_SETLK): closing another descriptor of the file does not release
 * them.
 *
 * Not here: shared memory for a WAL, which is not needed since the file is locked exclusively
 * (PRAGMA locking_mode=EXCLUSIVE); names of files (sql_path()).
 */
#include "core/store/db/vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/store/db/sqlite.h"
#include "core/wire/log.h"

enum {
	LOCK_AT = 0x40000000, /* https://www.sqlite.org/fileformat.html: the lock-byte page */
	LOCK_RESERVED = LOCK_AT + 1,
	LOCK_SHARED = LOCK_AT + 2,
	LOCK_END = LOCK_AT + 512,
	SECTOR = 4096,
};

/* A trace that is open for writing, and the directory of its journal and WAL. */
struct vfs_place {
	struct vfs_place *next;
	int dir;
	size_t length; /* of @path */
	char path[];
};

struct file {
	sqlite3_file base;
	int fd;
	struct vfs_place *place; /* NULL: opened for reading, or not the trace itself */
};

static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;
static struct vfs_place *places;

static __thread int failure; /* errno of this thread's last call that failed */

int vfs_error(void)
{
	return failure;
}

/* Store errno and return @code, for a call that has just failed. */
static int note_failure(int code)
{
	failure = errno;
	return code;
}

static int fd_of(sqlite3_file *file)
{
	return ((struct file *)file)->fd;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The directory of @name if it is the journal or WAL of a trace that is open for writing; or -1. */
static int dir_of(const char *name)
{
	int dir = -1;

	pthread_mutex_lock(&places_lock);
	for (struct vfs_place *p = places; p && dir < 0; p = p->next)
		if (!strncmp(name, p->path, p->length) &&
		    (!strcmp(name + p->length, "-journal") || !strcmp(name + p->length, "-wal")))
			dir = p->dir;
	pthread_mutex_unlock(&places_lock);
	return dir;
}

static void place_free(struct vfs_place *place)
{
	if (!place)
		return;
	pthread_mutex_lock(&places_lock);
	for (struct vfs_place **p = &places; *p; p = &(*p)->next)
		if (*p == place) {
			*p = place->next;
			break;
		}
	pthread_mutex_unlock(&places_lock);
	close(place->dir);
	free(place);
}

static int open_dir(const char *path)
{
	size_t length = (size_t)(base_of(path) - path);
	char dir[4096];

	if (length >= sizeof(dir)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	snprintf(dir, sizeof(dir), "%.*s", length ? (int)length : 1, length ? path : ".");
	return open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int place_new(const char *path, struct vfs_place **ret_place)
{
	struct vfs_place *place = malloc(sizeof(*place) + strlen(path) + 1);

	if (!place)
		return -ENOMEM;
	place->length = strlen(path);
	strcpy(place->path, path);
	place->dir = open_dir(path);
	if (place->dir < 0) {
		free(place);
		return -errno;
	}
	pthread_mutex_lock(&places_lock);
	place->next = places;
	places = place;
	pthread_mutex_unlock(&places_lock);
	*ret_place = place;
	return 0;
}

/* Does the journal end with the name of a super-journal? fileformat.html, 3. */
static bool has_super_journal(int fd, off_t size)
{
	static const unsigned char magic[8] = { 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7 };
	unsigned char end[8];

	return pread(fd, end, sizeof(end), size - (off_t)sizeof(end)) == sizeof(end) &&
	       !memcmp(end, magic, sizeof(end));
}

/* Returns the reason not to trust this file, or NULL. */
static const char *distrust_file(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return "cannot be checked";
	if (!S_ISREG(st.st_mode))
		return "is not a file";
	if (st.st_uid != geteuid())
		return "belongs to another user";
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return "can be written to by other users";
	if (st.st_nlink > 1)
		return "has a second hard link";
	if (has_super_journal(fd, st.st_size))
		return "names other files to be deleted";
	return NULL;
}

/* Open a journal or WAL. Returns its descriptor or -errno, -EINVAL after log_err(). */
static int open_journal(int dir, const char *path, bool make)
{
	const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
	const char *name = base_of(path), *why;
	int fd = make ? openat(dir, name, flags | O_CREAT | O_EXCL, 0600) : -1;

	if (fd >= 0)
		return fd; /* this process has just created it */
	if (make && errno != EEXIST)
		return -errno;
	fd = openat(dir, name, flags);
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	why = fd >= 0          ? distrust_file(fd)
	      : errno == ELOOP ? "is a link"
			       : "cannot be opened by this user";
	if (!why)
		return fd;
	if (fd >= 0)
		close(fd);
	return log_why(-EINVAL,
		       "%s %s: it is ignored; remove it, or copy the trace elsewhere without it",
		       path, why);
}

static int check_beside(int dir, const char *path, const char *tail)
{
	char name[4096 + 16];
	int fd;

	snprintf(name, sizeof(name), "%s%s", path, tail);
	fd = open_journal(dir, name, false);
	if (fd >= 0)
		close(fd);
	return fd >= 0 || fd == -ENOENT ? 0 : fd;
}

/* Check a trace to be opened. Only this function follows a link to it, once. */
static int check_trace(int dir, const char *path)
{
	struct stat st;

	if (fstatat(dir, base_of(path), &st, AT_SYMLINK_NOFOLLOW))
		return log_err(-errno, "look at %s", path);
	if (st.st_uid != geteuid())
		return log_why(-EACCES,
			       "%s must be completed, since its recorder died: open it "
			       "once as its owner",
			       path);
	if (!S_ISREG(st.st_mode) || st.st_mode & (S_IWGRP | S_IWOTH) || st.st_nlink > 1)
		return log_why(-EINVAL,
			       "%s must be completed, since its recorder died, but others can "
			       "write to it, or it has a second hard link; copy it, and its -wal "
			       "and -journal, to a directory of your own",
			       path);
	return 0;
}

int vfs_check(const char *path)
{
	char *real = realpath(path, NULL);
	int dir = real ? open_dir(real) : -1, err;

	if (dir < 0) {
		err = log_err(-errno, "look at %s", path);
		free(real);
		return err;
	}
	err = check_trace(dir, real);
	if (!err)
		err = check_beside(dir, real, "-journal");
	if (!err)
		err = check_beside(dir, real, "-wal");
	close(dir);
	free(real);
	return err;
}

/* Methods of files: sqlite3_io_methods, of version 1 */

static int close_file(sqlite3_file *base)
{
	struct file *file = (struct file *)base;

	close(file->fd);
	place_free(file->place);
	return SQLITE_OK;
}

static int read_file(sqlite3_file *file, void *bytes, int want, sqlite3_int64 at)
{
	int done = 0;

	while (done < want) {
		ssize_t n =
			pread(fd_of(file), (char *)bytes + done, (size_t)(want - done), at + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return note_failure(SQLITE_IOERR_READ);
		if (!n)
			break;
		done += (int)n;
	}
	if (done >= want)
		return SQLITE_OK;
	memset((char *)bytes + done, 0, (size_t)(want - done));
	return SQLITE_IOERR_SHORT_READ;
}

static int write_file(sqlite3_file *file, const void *bytes, int want, sqlite3_int64 at)
{
	int done = 0;

	while (done < want) {
		ssize_t n = pwrite(fd_of(file), (const char *)bytes + done, (size_t)(want - done),
				   at + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (!n)
			errno = ENOSPC;
		if (n <= 0)
			return note_failure(errno == ENOSPC || errno == EDQUOT
						    ? SQLITE_FULL
						    : SQLITE_IOERR_WRITE);
		done += (int)n;
	}
	return SQLITE_OK;
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 size)
{
	return ftruncate(fd_of(file), size) ? note_failure(SQLITE_IOERR_TRUNCATE) : SQLITE_OK;
}

static int sync_file(sqlite3_file *file, int flags)
{
	(void)flags;
	return fdatasync(fd_of(file)) ? note_failure(SQLITE_IOERR_FSYNC) : SQLITE_OK;
}

static int size_file(sqlite3_file *file, sqlite3_int64 *ret_size)
{
	struct stat st;

	if (fstat(fd_of(file), &st))
		return note_failure(SQLITE_IOERR_FSTAT);
	*ret_size = st.st_size;
	return SQLITE_OK;
}

static int set_lock(sqlite3_file *file, short type, off_t from, off_t to)
{
	struct flock lock = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = from, .l_len = to - from
	};

	if (!fcntl(fd_of(file), F_OFD_SETLK, &lock))
		return SQLITE_OK;
	return errno == EACCES || errno == EAGAIN || errno == EINTR || errno == ENOLCK
		       ? SQLITE_BUSY
		       : SQLITE_IOERR_LOCK;
}

/*
 * Any write lock excludes all other locks: a trace that is being written has one writer and no
 * readers.
 */
static int lock_file(sqlite3_file *file, int level)
{
	if (level <= SQLITE_LOCK_SHARED)
		return set_lock(file, F_RDLCK, LOCK_SHARED, LOCK_END);
	return set_lock(file, F_WRLCK, LOCK_AT, LOCK_END);
}

static int unlock_file(sqlite3_file *file, int level)
{
	if (level == SQLITE_LOCK_NONE)
		return set_lock(file, F_UNLCK, LOCK_AT, LOCK_END);
	set_lock(file, F_UNLCK, LOCK_AT, LOCK_SHARED);
	return set_lock(file, F_RDLCK, LOCK_SHARED, LOCK_END);
}

static int check_lock(sqlite3_file *file, int *ret_held)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_RESERVED, .l_len = 1
	};

	if (fcntl(fd_of(file), F_OFD_GETLK, &lock))
		return SQLITE_IOERR_CHECKRESERVEDLOCK;
	*ret_held = lock.l_type != F_UNLCK;
	return SQLITE_OK;
}

static int control_file(sqlite3_file *file, int what, void *arg)
{
	(void)file;
	(void)what;
	(void)arg;
	return SQLITE_NOTFOUND;
}

static int sector_of_file(sqlite3_file *file)
{
	(void)file;
	return SECTOR;
}

/* The same claim as SQLite's own VFS: a power failure changes only bytes that are being written. */
static int traits_of_file(sqlite3_file *file)
{
	(void)file;
	return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = close_file,
	.xRead = read_file,
	.xWrite = write_file,
	.xTruncate = truncate_file,
	.xSync = sync_file,
	.xFileSize = size_file,
	.xLock = lock_file,
	.xUnlock = unlock_file,
	.xCheckReservedLock = check_lock,
	.xFileControl = control_file,
	.xSectorSize = sector_of_file,
	.xDeviceCharacteristics = traits_of_file,
};

/* Methods of the VFS, which take names: sqlite3_vfs */

static sqlite3_vfs *real_vfs(sqlite3_vfs *vfs)
{
	return vfs->pAppData;
}

static int open_trace(const char *name, bool write, struct file *file)
{
	const int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
	struct stat st;
	int err = write ? place_new(name, &file->place) : 0;

	if (err)
		return err;
	file->fd = write ? openat(file->place->dir, base_of(name), O_RDWR | flags)
			 : open(name, O_RDONLY | flags);
	err = file->fd < 0 ? -errno : 0;
	if (!err && (fstat(file->fd, &st) || !S_ISREG(st.st_mode))) {
		close(file->fd);
		err = -EINVAL;
	}
	if (err)
		place_free(file->place);
	return err;
}

static int open_name(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags,
		     int *ret_flags)
{
	struct file *file = (struct file *)base;
	int dir, err;

	base->pMethods = NULL;
	if (!name) /* a temporary file, which is unlinked before it is used */
		return real_vfs(vfs)->xOpen(real_vfs(vfs), name, base, flags, ret_flags);
	*file = (struct file){ .fd = -1 };
	if (flags & SQLITE_OPEN_MAIN_DB) {
		err = open_trace(name, flags & SQLITE_OPEN_READWRITE, file);
	} else if (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) {
		dir = dir_of(name);
		file->fd = dir < 0 ? -EACCES : open_journal(dir, name, flags & SQLITE_OPEN_CREATE);
		err = file->fd < 0 ? file->fd : 0;
	} else {
		err = -EACCES;
	}
	errno = -err;
	if (err)
		return SQLITE_CANTOPEN;
	base->pMethods = &methods;
	if (ret_flags)
		*ret_flags = flags;
	return SQLITE_OK;
}

static int delete_name(sqlite3_vfs *vfs, const char *name, int sync)
{
	int dir = dir_of(name), fd;

	(void)vfs;
	if (dir < 0)
		return SQLITE_IOERR_DELETE;
	if (unlinkat(dir, base_of(name), 0))
		return errno == ENOENT ? SQLITE_IOERR_DELETE_NOENT : SQLITE_IOERR_DELETE;
	fd = sync ? openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	return SQLITE_OK;
}

/* An empty journal counts as none, as in SQLite's own VFS. */
static int access_name(sqlite3_vfs *vfs, const char *name, int flags, int *ret_there)
{
	struct stat st;
	int dir = dir_of(name);

	(void)vfs;
	(void)flags;
	*ret_there = dir >= 0 && !fstatat(dir, base_of(name), &st, AT_SYMLINK_NOFOLLOW) &&
		     (!S_ISREG(st.st_mode) || st.st_size > 0);
	return SQLITE_OK;
}

static int full_name(sqlite3_vfs *vfs, const char *name, int size, char *full)
{
	return real_vfs(vfs)->xFullPathname(real_vfs(vfs), name, size, full);
}

static int get_randomness(sqlite3_vfs *vfs, int n, char *bytes)
{
	return real_vfs(vfs)->xRandomness(real_vfs(vfs), n, bytes);
}

static int sleep_for(sqlite3_vfs *vfs, int microseconds)
{
	return real_vfs(vfs)->xSleep(real_vfs(vfs), microseconds);
}

static int get_time(sqlite3_vfs *vfs, double *ret_days)
{
	return real_vfs(vfs)->xCurrentTime(real_vfs(vfs), ret_days);
}

static int get_error(sqlite3_vfs *vfs, int size, char *text)
{
	(void)vfs;
	(void)size;
	(void)text;
	return errno;
}

/* Without xDl functions, so that no extension can be loaded. */
static sqlite3_vfs vfs = {
	.iVersion = 1,
	.zName = "verbatim",
	.xOpen = open_name,
	.xDelete = delete_name,
	.xAccess = access_name,
	.xFullPathname = full_name,
	.xRandomness = get_randomness,
	.xSleep = sleep_for,
	.xCurrentTime = get_time,
	.xGetLastError = get_error,
};

static void register_vfs(void)
{
	sqlite3_vfs *real = sqlite3_vfs_find(NULL);

	if (!real)
		return;
	vfs.pAppData = real;
	vfs.mxPathname = real->mxPathname;
	vfs.szOsFile = real->szOsFile > (int)sizeof(struct file) ? real->szOsFile
								 : (int)sizeof(struct file);
	sqlite3_vfs_register(&vfs, 0);
}

const char *vfs_name(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_vfs);
	return vfs.zName;
}
