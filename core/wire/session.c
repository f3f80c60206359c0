/*
 * A session: a directory with one page, and a ring for each thread
 *
 * mkdtemp() creates the directory (mode 0700, with an unpredictable name). A process that joins
 * checks that it is a directory of its own user, not writable by others and not a link, and
 * accesses it through a descriptor (dir.h). The directory is opened again each time and recognised
 * by its inode: a program may close descriptors that it did not open. session_remove() removes all
 * of it. Without a collector the user chooses the directory: other users may see it, but not the
 * files in it.
 *
 * A pid alone does not identify a process: pids are reused. A pid together with the start time in
 * /proc/PID/stat does.
 *
 * Not here: the contents of a ring (ring.c), its reader (cli/record/collector.c).
 */
#include "core/wire/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/wire/budget.h"
#include "core/wire/desc.h"
#include "core/wire/dir.h"
#include "core/wire/ring.h"
#include "core/base/size.h"

#define MAGIC 0x6e6f697373655376ull /* "vSession" */

/* characters that mkdtemp() uses in place of an X */
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

#define VERSION         16
#define TEXT_OF(number) #number
#define MARK(number)    "verbatim session " TEXT_OF(number)

enum { GROW_BYTES = 1 << 20 };

/* In each binary that contains this file, for session_is_known(). */
__attribute__((used)) static const char mark[] = MARK(VERSION);

const char *session_parent(void)
{
	const char *given = getenv("VERBATIM_SESSIONS");

	if (given && *given)
		return given;
	return access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
}

static int create_file(int at, const char *name)
{
	int fd = openat(at, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), err;

	if (fd < 0)
		return -errno;
	err = -posix_fallocate(fd, 0, sizeof(struct session_page));
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Before the kernel has random bytes the clock is used, since seeds need only differ. */
static uint64_t make_seed(void)
{
	struct timespec now;
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed))
		return seed;
	clock_gettime(CLOCK_REALTIME, &now);
	return ((uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec) * 0x9e3779b97f4a7c15ull ^
	       (uint64_t)getpid();
}

/* Open a file, which must belong to this user and be at least as long as a page. */
static int open_file(int at, const char *name)
{
	uint64_t bytes;
	int fd = dir_open_file(at, name, O_RDWR, &bytes);

	if (fd < 0 || bytes >= sizeof(struct session_page))
		return fd;
	close(fd);
	return -EPROTO;
}

/* Map the page. Takes ownership of @fd, which may be -errno. */
static int map_page(struct session *session, int fd)
{
	void *page;
	int err = 0;

	if (fd < 0)
		return fd;
	page = mmap(NULL, sizeof(struct session_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		err = -errno;
	else
		session->page = page;
	close(fd);
	return err;
}

/* Make @dir the session's directory. Returns a descriptor of @dir, or -errno. */
static int enter_dir(struct session *session, const char *dir)
{
	int at = dir_open(AT_FDCWD, dir);
	struct stat st;

	if (at >= 0 && !fstat(at, &st)) {
		session->device = st.st_dev;
		session->inode = st.st_ino;
	}
	return at;
}

int session_open_dir(const struct session *session)
{
	struct session there = { 0 };
	int at = enter_dir(&there, session->dir);

	if (at < 0 || (there.device == session->device && there.inode == session->inode))
		return at;
	close(at);
	return -ESTALE;
}

_Static_assert(offsetof(struct session_page, rings) == SESSION_SHARED,
	       "what programs only read has a page of its own");

/* @n with its complement in the upper half: any other value comes from a stray store. */
static uint64_t pack_count(uint32_t n)
{
	return (uint64_t)~n << 32 | n;
}

uint32_t session_count_rings(const struct session *session)
{
	/* pairs with the exchange in session_new_ring() */
	uint64_t count = atomic_load_explicit(&session->page->rings, memory_order_acquire);

	return count == pack_count((uint32_t)count) && (uint32_t)count < SESSION_RINGS
		       ? (uint32_t)count
		       : SESSION_RINGS;
}

uint32_t session_new_ring(struct session *session)
{
	_Atomic uint64_t *rings = &session->page->rings;
	uint64_t count = atomic_load(rings);

	while (count == pack_count((uint32_t)count)) {
		if ((uint32_t)count >= SESSION_RINGS)
			break;
		if (atomic_compare_exchange_weak(rings, &count, pack_count((uint32_t)count + 1)))
			return (uint32_t)count;
	}
	if (count == pack_count(SESSION_RINGS))
		return SESSION_RINGS;
	return SESSION_RINGS / 2 + (uint32_t)make_seed() % (SESSION_RINGS / 2);
}

static void fill_page(struct session_page *page, uint64_t ring_bytes, enum session_on_full on_full)
{
	page->version = VERSION;
	page->on_full = on_full;
	page->fingerprint = verbs_fingerprint;
	page->ring_bytes = ring_bytes;
	page->max_wait = SESSION_MAX_WAIT * 1000000000ull;
	page->ring_budget = budget_choose_default(budget_cgroup_limit(NULL, NULL));
	if (on_full != ON_FULL_GROW) {
		page->collector = (uint32_t)getpid();
		page->collector_start = session_process_start(getpid());
	}
	page->payload.seed = make_seed();
	clock_init(&page->clock);
	atomic_store_explicit(&page->rings, pack_count(0), memory_order_relaxed);
	atomic_store_explicit(&page->state, SESSION_RUNNING, memory_order_relaxed);
	/* pairs with the load in session_join() */
	__atomic_store_n(&page->magic, MAGIC, __ATOMIC_RELEASE);
}

/* Copy the fields that are used later, reading each word once. Returns 0 or -EPROTO. */
static int copy_page(struct session *session)
{
	const struct session_page *page = session->page;

	session->clock = page->clock;
	session->collector = page->collector;
	session->collector_start = page->collector_start;
	/* prevents the compiler from reading the page instead of the copy below */
	atomic_signal_fence(memory_order_seq_cst);
	return clock_is_sound(&session->clock) ? 0 : -EPROTO;
}

/* Lock the page of a new session: session_is_locked(). Returns 0 or -errno. */
static int lock_page(struct session *session, int at)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = openat(at, "session", O_RDWR | O_NOFOLLOW | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	session->lock = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* from 3 on, since 0 means none */
	err = session->lock < 0 || fcntl(session->lock, F_OFD_SETLK, &whole) ? -errno : 0;
	close(fd);
	return err;
}

bool session_is_locked(int at)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	uint64_t bytes;
	int fd = dir_open_file(at, "session", O_RDONLY, &bytes);
	bool locked = fd >= 0 && !fcntl(fd, F_OFD_GETLK, &whole) && whole.l_type != F_UNLCK;

	if (fd >= 0)
		close(fd);
	return locked;
}

int session_create(struct session *session, const char *parent, uint64_t ring_bytes,
		   enum session_on_full on_full)
{
	struct session made = { 0 };
	char from_root[PATH_MAX]; /* the program may change its directory */
	int at, err;

	if (!realpath(parent ? parent : session_parent(), from_root))
		return -errno;
	if (snprintf(made.dir, sizeof(made.dir), "%s/verbatim-%u-XXXXXX", from_root,
		     (unsigned int)getuid()) >= (int)sizeof(made.dir))
		return -ENAMETOOLONG;
	if (!mkdtemp(made.dir))
		return -errno;
	at = enter_dir(&made, made.dir);
	err = at < 0 ? at : map_page(&made, create_file(at, "session"));
	if (!err)
		err = lock_page(&made, at);
	if (at >= 0)
		close(at);
	else
		rmdir(made.dir);
	if (err) {
		session_remove(&made);
		return err;
	}
	fill_page(made.page, ring_bytes, on_full);
	copy_page(&made);
	*session = made;
	return 0;
}

static uint64_t read_size_variable(const char *name)
{
	const char *text = getenv(name);

	return text ? size_parse(text) : 0;
}

static uint64_t half_free_space(const char *dir)
{
	struct statvfs fs;

	return statvfs(dir, &fs) ? UINT64_MAX : (uint64_t)fs.f_bavail * fs.f_frsize / 2;
}

static void read_command(char text[SESSION_TEXT])
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, SESSION_TEXT - 1);

	for (ssize_t i = 0; i + 1 < n; i++)
		if (!text[i])
			text[i] = ' ';
	if (fd >= 0)
		close(fd);
}

static void fill_own_page(struct session *session)
{
	uint64_t asked = read_size_variable("VERBATIM_RING_SIZE"), bytes = RING_MIN;

	if (!asked || asked > RING_MAX)
		asked = GROW_BYTES;
	while (bytes < asked)
		bytes *= 2;
	session->page->limit = read_size_variable("VERBATIM_LIMIT");
	if (!session->page->limit)
		session->page->limit = half_free_space(session->dir);
	payload_parse(getenv("VERBATIM_PAYLOAD"), &session->page->payload.keep);
	read_command(session->page->command);
	fill_page(session->page, bytes, ON_FULL_GROW);
}

/*
 * Fill a page and give it the session's name, unless the session already has a page: several
 * processes may begin at the same time.
 */
static int make_page(struct session *session, int at)
{
	char name[32];
	int err;

	snprintf(name, sizeof(name), "session.%d", (int)getpid());
	unlinkat(at, name, 0); /* a killed process with the same pid may have left it */
	err = map_page(session, create_file(at, name));
	if (!err) {
		fill_own_page(session);
		err = linkat(at, name, at, "session", 0) && errno != EEXIST ? -errno : 0;
	}
	unlinkat(at, name, 0);
	session_leave(session);
	return err;
}

bool session_is_by_collector(const char *name)
{
	char prefix[32];
	size_t bytes =
		(size_t)snprintf(prefix, sizeof(prefix), "verbatim-%u-", (unsigned int)getuid());

	return !strncmp(name, prefix, bytes) && strlen(name) == bytes + strlen("XXXXXX") &&
	       strspn(name + bytes, LETTERS) == strlen("XXXXXX");
}

/*
 * Did a collector create @dir? After its session has ended, no other session is created at that
 * path.
 */
static bool was_by_collector(const char *dir)
{
	const char *slash = strrchr(dir, '/');

	return session_is_by_collector(slash ? slash + 1 : dir);
}

bool session_reserve(struct session *session, uint64_t bytes)
{
	struct session_page *page = session->page;

	if (page->on_full != ON_FULL_GROW)
		return true;
	if (atomic_fetch_add(&page->used, bytes) + bytes <= page->limit)
		return true;
	session_unreserve(session, bytes);
	return false;
}

void session_unreserve(struct session *session, uint64_t bytes)
{
	if (session->page->on_full == ON_FULL_GROW)
		atomic_fetch_sub(&session->page->used, bytes);
}

/* Make the path absolute: a program may change its working directory. */
static int resolve_path(const char *dir, char path[SESSION_PATH])
{
	char whole[PATH_MAX];

	if (!realpath(dir, whole))
		return -errno;
	if (strlen(whole) >= SESSION_PATH)
		return -ENAMETOOLONG;
	strcpy(path, whole);
	return 0;
}

/*
 * Make the first part read-only, unless pages are larger: then they include memory that a program
 * must write.
 */
static void protect_page(struct session_page *page)
{
	if (sysconf(_SC_PAGESIZE) <= SESSION_SHARED)
		mprotect(page, SESSION_SHARED, PROT_READ);
}

static int check_page(const struct session_page *page)
{
	/* pairs with the store in fill_page() */
	if (__atomic_load_n(&page->magic, __ATOMIC_ACQUIRE) != MAGIC || page->version != VERSION ||
	    page->fingerprint != verbs_fingerprint)
		return -EPROTO;
	return 0;
}

bool session_is_known(const void *binary, size_t size)
{
	return memmem(binary, size, mark, sizeof(mark)) &&
	       memmem(binary, size, &verbs_fingerprint, sizeof(verbs_fingerprint));
}

int session_join(struct session *session, const char *dir)
{
	struct session joined = { 0 };
	int at = enter_dir(&joined, dir), err;

	if (at < 0)
		return at;
	err = resolve_path(dir, joined.dir);
	if (!err)
		err = map_page(&joined, open_file(at, "session"));
	if (!err)
		err = check_page(joined.page);
	if (!err)
		err = copy_page(&joined);
	close(at);
	if (err) {
		session_leave(&joined);
		return err;
	}
	protect_page(joined.page);
	*session = joined;
	return 0;
}

int session_join_or_make(struct session *session, const char *dir)
{
	struct session made = { 0 };
	int err = session_join(session, dir), at;

	if (err != -ENOENT || was_by_collector(dir))
		return err;
	if (mkdir(dir, 0700) && errno != EEXIST)
		return -errno;
	at = enter_dir(&made, dir);
	if (at < 0)
		return at;
	err = resolve_path(dir, made.dir);
	if (!err)
		err = make_page(&made, at);
	close(at);
	return err ? err : session_join(session, dir);
}

void session_make_private(struct session *session)
{
	static struct session_page page;

	page.magic = MAGIC;
	page.rings = pack_count(0);
	page.on_full = ON_FULL_WAIT;
	page.ring_bytes = RING_MIN;
	page.max_wait = SESSION_MAX_WAIT * 1000000000ull;
	clock_init_monotonic(&page.clock);
	atomic_store_explicit(&page.state, SESSION_RUNNING, memory_order_relaxed);
	*session = (struct session){ .page = &page, .clock = page.clock };
}

void session_leave(struct session *session)
{
	if (session->page)
		munmap(session->page, sizeof(*session->page));
	session->page = NULL;
	if (session->lock > 0)
		close(session->lock);
	session->lock = 0;
}

void session_clear(int at)
{
	DIR *list = dir_list(at);

	dir_remove(at, SESSION_COUNTERS);
	for (struct dirent *d; list && (d = readdir(list));)
		if (!strncmp(d->d_name, "ring.", 5) || !strncmp(d->d_name, "session", 7))
			unlinkat(at, d->d_name, 0);
	if (list)
		closedir(list);
}

void session_remove(struct session *session)
{
	int at = session_open_dir(session);

	if (at >= 0) {
		session_clear(at);
		close(at);
		rmdir(session->dir);
	}
	session_leave(session);
}

/* N of "ring.N"; SESSION_RINGS if @name has another form. */
static uint32_t number_of_ring(const char *name)
{
	char same[SESSION_NAME];
	uint32_t n =
		strncmp(name, "ring.", 5) ? SESSION_RINGS : (uint32_t)strtoul(name + 5, NULL, 10);

	session_ring_name(n, same);
	return n < SESSION_RINGS && !strcmp(name, same) ? n : SESSION_RINGS;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Make space for one more number after @n. */
static bool grow_numbers(uint32_t **numbers, unsigned int n)
{
	uint32_t *grown = n % 64 ? *numbers : realloc(*numbers, (n + 64) * sizeof(*grown));

	if (grown)
		*numbers = grown;
	return grown;
}

int session_list_rings(int at, uint32_t **ret_numbers)
{
	uint32_t *numbers = NULL, number;
	unsigned int n = 0;
	DIR *list = dir_list(at);
	/* ENOENT: the directory was removed, so it has no rings */
	int err = list || errno == ENOENT ? 0 : -errno;

	for (struct dirent *d; list && !err && (d = readdir(list));) {
		number = number_of_ring(d->d_name);
		if (number == SESSION_RINGS)
			continue;
		if (grow_numbers(&numbers, n))
			numbers[n++] = number;
		else
			err = -ENOMEM;
	}
	if (list)
		closedir(list);
	if (err) {
		free(numbers);
		return err;
	}
	if (n)
		qsort(numbers, n, sizeof(*numbers), compare_numbers);
	*ret_numbers = numbers;
	return (int)n;
}

void session_will_sleep(struct session *session)
{
	/*
	 * Pairs with the exchange in session_wake(): the thread that comes second sees the earlier
	 * stores of the first one.
	 */
	atomic_exchange(&session->page->asleep, 1);
}

void session_sleep(struct session *session, uint64_t ns)
{
	const struct timespec timeout = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	/* returns at once if session_wake() was faster */
	syscall(SYS_futex, &session->page->asleep, FUTEX_WAIT, 1, ns ? &timeout : NULL, NULL, 0);
	atomic_store(&session->page->asleep, 0);
}

void session_wake(struct session *session)
{
	int saved = errno;

	/* pairs with the exchange in session_will_sleep() */
	if (atomic_exchange(&session->page->asleep, 0))
		syscall(SYS_futex, &session->page->asleep, FUTEX_WAKE, 1, NULL, NULL, 0);
	errno = saved;
}

void session_ring_name(uint32_t index, char name[SESSION_NAME])
{
	snprintf(name, SESSION_NAME, "ring.%u", index);
}

int session_open_ring(int at, uint32_t index, struct ring *ret_ring)
{
	char name[SESSION_NAME];

	session_ring_name(index, name);
	return ring_open_at(ret_ring, at, name);
}

int session_open_leftover(int at, uint32_t index, struct ring *ret_ring)
{
	char name[SESSION_NAME];

	session_ring_name(index, name);
	return ring_open_leftover_at(ret_ring, at, name);
}

void session_ring_path(const struct session *session, uint32_t index, char *path)
{
	snprintf(path, SESSION_PATH + 16, "%s/ring.%u", session->dir, index);
}
