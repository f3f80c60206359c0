/*
 * Who takes part in the fabric, whose each number is, and what of XRC is
 * nobody's (xrc.c)
 *
 * All stand in one file that all processes map:
 *
 *	+--------+-------------------+----------------+-----+
 *	| header | nodes: pid, start | numbers: whose | XRC |
 *	+--------+-------------------+----------------+-----+
 *
 * It changes under a record lock, which the kernel undoes when a process dies
 * and no child inherits, and in this process under the mutex. It is read without: an entry of the
 * second table is good if it holds the very number that was looked for.
 *
 * A process joins with its first context and leaves with its last, or at
 * exit. Who was killed is swept by the next to join.
 *
 * A number is an index of 16 bits below a generation of 8, so a
 * number comes back only after 256 others at its index.
 *
 * Not here: our own segment (segment.c), and how a peer's is mapped (peer.c).
 */
#include "shim/soft/fabric/fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/soft/fabric/defer.h"
#include "shim/soft/fabric/directory.h"
#include "shim/soft/fabric/heap.h"
#include "shim/soft/fabric/peer.h"
#include "shim/soft/fabric/process.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/fabric/stage.h"
#include "shim/soft/transport/xrc.h"

enum {
	NODE_BITS	= 10,
	NODES		= 1 << NODE_BITS,
	NUMBERS		= 1 << 16,
	FIRST_NUMBER	= 17,	/* 0 and 1 are the management queue pairs */
};

struct node {
	uint64_t	start;
	uint64_t	instance;
	int32_t		pid;		/* 0: free */
	uint32_t	unused;
};

struct number {
	uint32_t	value;		/* 0: free */
	uint16_t	node;
	uint16_t	slot;
	uint16_t	kind;		/* enum fabric_kind */
	uint16_t	generation;
};

struct file {
	uint64_t	magic;
	uint32_t	version;
	uint32_t	made;		/* the directory too; take it away */
	uint64_t	instances;
	uint32_t	next_number;
	uint32_t	high_number;	/* none was ever used from here on */
	struct node	node[NODES];
	struct number	number[NUMBERS];
	struct fabric_members members;
	struct shm_xrc	xrc;		/* last: see fabric_back() */
};

struct shm_seg *fabric_seg;
struct fabric_id fabric_self;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct file *file;
static int fd = -1;
static bool fresh;	/* DIR/fabric was empty: it is ours alone until it is mapped */
static unsigned int joined;

static void lock(void)
{
	struct flock all = { .l_type = F_WRLCK };

	/* EDEADLK is a guess that takes two threads for one: see fcntl(2) */
	while (fcntl(fd, F_SETLKW, &all) < 0 &&
	       (errno == EINTR || errno == EDEADLK))
		sched_yield();
}

static void unlock(void)
{
	struct flock all = { .l_type = F_UNLCK };

	fcntl(fd, F_SETLK, &all);
}

static bool node_lives(const struct node *node)
{
	return node->pid && process_lives(node->pid, node->start);
}

/* What a process writes into the locks that it takes; never 0. */
static uint32_t owner_of(uint32_t node, uint64_t instance)
{
	return 1u << 31 | (instance & 0x1fffff) << NODE_BITS | node;
}

bool fabric_alive(uint32_t owner)
{
	uint32_t node = owner % NODES;

	return file && owner == owner_of(node, file->node[node].instance) &&
		node_lives(&file->node[node]);
}

/* The process itself, if it lives, or NULL. */
static const struct node *member(uint32_t node, uint64_t instance)
{
	const struct node *found;

	if (!file || node >= NODES)
		return NULL;
	found = &file->node[node];
	return found->instance == instance && node_lives(found) ? found : NULL;
}

bool fabric_has(uint32_t node, uint64_t instance)
{
	return member(node, instance);
}

int fabric_pidfd(uint32_t node, uint64_t instance)
{
	const struct node *found = member(node, instance);
	int pidfd;

	if (!found)
		return -ESRCH;
	pidfd = syscall(SYS_pidfd_open, found->pid, 0);
	if (pidfd < 0)
		return -errno;
	/* the number may have been used again in between */
	if (member(node, instance))
		return pidfd;
	close(pidfd);
	return -ESRCH;
}

void fabric_path(char path[FABRIC_PATH], const char *kind, uint32_t node,
		 uint64_t instance, uint32_t id)
{
	snprintf(path, FABRIC_PATH, "%s/%s.%u.%llu.%u", directory_path(), kind,
		 node, (unsigned long long)instance, id);
}

/* Do both say the same file? */
static bool is_at(const char *path, const struct stat *st)
{
	struct stat there;

	return lstat(path, &there) == 0 && there.st_dev == st->st_dev &&
		there.st_ino == st->st_ino;
}

/*
 * Open and lock DIR/fabric; who left last may take it away in between, and
 * DIR, too, and die before it is unlinked: -EAGAIN.
 */
static int open_file(void)
{
	char path[FABRIC_PATH];
	struct stat st;

	snprintf(path, sizeof(path), "%s/fabric", directory_path());
	for (;;) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return errno == ENOENT ? -EAGAIN : -errno;
		lock();
		if (fstat(fd, &st) == 0 && is_at(path, &st)) {
			fresh = S_ISREG(st.st_mode) && st.st_size == 0;
			return S_ISREG(st.st_mode) ? 0 : -EPROTO;
		}
		close(fd);
	}
}

/* Another version's is left alone; garbage is nobody's, and goes. */
static int not_ours(void)
{
	char path[FABRIC_PATH];

	snprintf(path, sizeof(path), "%s/fabric", directory_path());
	if (file->magic != SHM_MAGIC)
		unlink(path);
	munmap(file, sizeof(*file));
	file = NULL;
	return -EPROTO;
}

static int map_file(bool made)
{
	/* any number may be looked for; of XRC, see fabric_back() */
	if (ftruncate(fd, sizeof(*file)) < 0 ||
	    (fallocate(fd, 0, 0, offsetof(struct file, xrc.xrcd)) < 0 &&
	     errno == ENOSPC))
		return errno == ENOSPC ? -ENOMEM : -errno;
	file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
	if (file == MAP_FAILED) {
		file = NULL;
		return -errno;
	}
	madvise(file, sizeof(*file), MADV_DONTFORK);
	if (!file->magic) {
		file->version = SHM_VERSION;
		file->next_number = FIRST_NUMBER;
		file->high_number = FIRST_NUMBER;
		file->magic = SHM_MAGIC;
	}
	if (file->magic != SHM_MAGIC || file->version != SHM_VERSION)
		return not_ours();
	file->made |= made; /* who made the directory need not be the first in it */
	return 0;
}

static void drop_numbers(uint32_t node)
{
	uint32_t i;

	for (i = FIRST_NUMBER; i < file->high_number && i < NUMBERS; i++)
		if (file->number[i].node == node &&
		    file->number[i].kind != FABRIC_XRC_QP)
			__atomic_store_n(&file->number[i].value, 0,
					 __ATOMIC_RELEASE);
}

static void drop_members(uint32_t node)
{
	struct fabric_members *members = &file->members;
	uint32_t i;

	for (i = 0; i < FABRIC_MEMBERS; i++)
		if (members->at[i].qpn && members->at[i].node == node) {
			members->at[i].qpn = 0;
			__atomic_add_fetch(&members->changes, 1, __ATOMIC_RELEASE);
		}
}

static bool registered(uint32_t node, uint64_t instance)
{
	return node < NODES && file->node[node].pid &&
		file->node[node].instance == instance;
}

static unsigned int sweep(void)
{
	unsigned int i, alive = 0;

	for (i = 0; i < NODES; i++) {
		if (!file->node[i].pid)
			continue;
		if (node_lives(&file->node[i])) {
			alive++;
			continue;
		}
		drop_numbers(i);
		drop_members(i);
		file->node[i].pid = 0;
	}
	xrc_sweep(&file->xrc, registered);
	directory_sweep(registered);
	return alive;
}

static int take_node(void)
{
	struct node *node;
	uint32_t i;

	for (i = 0; i < NODES && file->node[i].pid; i++)
		;
	if (i == NODES)
		return -EUSERS;
	node = &file->node[i];
	node->start = process_start(getpid());
	if (!node->start)
		return -EMFILE;
	node->instance = ++file->instances;
	node->pid = getpid();
	fabric_self = (struct fabric_id){ i, node->instance };
	lock_self = owner_of(i, node->instance);
	return segment_make();
}

/* The fabric itself: nobody is left in it. */
static void take_away(bool made)
{
	char path[FABRIC_PATH];

	if (made) {
		directory_remove();
		return;
	}
	snprintf(path, sizeof(path), "%s/cm", directory_path());
	unlink(path);
	snprintf(path, sizeof(path), "%s/fabric", directory_path());
	unlink(path);
}

/* Take away what is ours; and the fabric, if nobody is left. */
static void clean_up(void)
{
	if (lock_self) {
		file->node[fabric_self.node].pid = 0;
		drop_numbers(fabric_self.node);
		drop_members(fabric_self.node);
	}
	if (!sweep())
		take_away(file->made);
}

/* @made: of a fabric that could not be mapped, was its directory made? */
static void give_up(bool made)
{
	if (file) {
		clean_up();
		munmap(file, sizeof(*file));
	} else if (fd >= 0 && fresh) {
		take_away(made);
	}
	if (fabric_seg)
		munmap(fabric_seg, SHM_SIZE);
	if (fd >= 0) {
		unlock();
		close(fd);
	}
	file = NULL;
	fabric_seg = NULL;
	fd = -1;
}

static int join(void)
{
	bool made = false;
	int err;

	if (!segment_may_be())
		return -EFBIG;
	do {
		err = directory_open(&made);
		if (!err)
			err = open_file();
	} while (err == -EAGAIN);
	lock_self = 0;
	if (err < 0) {
		if (fd >= 0)
			close(fd);
		fd = -1;
		if (made)
			directory_give_up();
		return err;
	}
	err = map_file(made);
	if (!err) {
		sweep();
		err = take_node();
	}
	if (err < 0) {
		give_up(made);
		return err;
	}
	unlock();
	return 0;
}

int fabric_join(void)
{
	int err = 0;

	pthread_mutex_lock(&mutex);
	if (!joined)
		err = join();
	if (!err)
		joined++;
	pthread_mutex_unlock(&mutex);
	return err;
}

void fabric_leave(void)
{
	pthread_mutex_lock(&mutex);
	if (joined && --joined == 0) {
		__atomic_store_n(&fabric_seg->gone, 1, __ATOMIC_RELEASE);
		stage_stop();
		peer_forget();
		heap_forget();
		lock();
		give_up(false);
	}
	pthread_mutex_unlock(&mutex);
}

void fabric_exit(void)
{
	pthread_mutex_lock(&mutex);
	if (joined) {
		__atomic_store_n(&fabric_seg->gone, 1, __ATOMIC_RELEASE);
		lock();
		clean_up();
		unlock();
	}
	pthread_mutex_unlock(&mutex);
}

/* The segments are not mapped in a child (MADV_DONTFORK). */
void fabric_forget(void)
{
	pthread_mutex_init(&mutex, NULL);
	if (fd >= 0)
		close(fd);
	fd = -1;
	file = NULL;
	fabric_seg = NULL;
	joined = 0;
	heap_forget_inherited();
	stage_forget();
	defer_forget();
	peer_forget_inherited();
}

static struct number *free_number(uint32_t *ret_index)
{
	uint32_t n, i = file->next_number;

	for (n = 0; n < NUMBERS; n++, i++) {
		if (i >= NUMBERS)
			i = FIRST_NUMBER;
		if (file->number[i].value)
			continue;
		file->next_number = i + 1;
		if (i >= file->high_number)
			file->high_number = i + 1;
		*ret_index = i;
		return &file->number[i];
	}
	return NULL;
}

int fabric_new_number(enum fabric_kind kind, uint32_t slot, uint32_t *ret)
{
	struct number *number;
	uint32_t index, value;

	number = free_number(&index);
	if (!number)
		return -ENOMEM;
	number->node = fabric_self.node;
	number->slot = slot;
	number->kind = kind;
	value = (number->generation++ & 0xff) << 16 | index;
	__atomic_store_n(&number->value, value, __ATOMIC_RELEASE);
	*ret = value;
	return 0;
}

void fabric_free_number(uint32_t number)
{
	__atomic_store_n(&file->number[number % NUMBERS].value, 0,
			 __ATOMIC_RELEASE);
}

void fabric_lock(void)
{
	pthread_mutex_lock(&mutex);
	lock();
}

void fabric_unlock(void)
{
	unlock();
	pthread_mutex_unlock(&mutex);
}

int fabric_back(const void *from, size_t len)
{
	off_t off = (const char *)from - (const char *)file;

	return fallocate(fd, 0, off, len) < 0 && errno == ENOSPC ? -ENOMEM : 0;
}

struct shm_xrc *fabric_xrc(void)
{
	return &file->xrc;
}

int fabric_add_number(enum fabric_kind kind, uint32_t slot, uint32_t *ret)
{
	int err;

	fabric_lock();
	err = fabric_new_number(kind, slot, ret);
	fabric_unlock();
	return err;
}

void fabric_del_number(uint32_t number)
{
	fabric_lock();
	fabric_free_number(number);
	fabric_unlock();
}

static const struct number *find_number(enum fabric_kind kind, uint32_t value)
{
	const struct number *number = &file->number[value % NUMBERS];

	/* pairs with the store_release in fabric_new_number() */
	return value && __atomic_load_n(&number->value, __ATOMIC_ACQUIRE) ==
		value && number->kind == kind ? number : NULL;
}

int fabric_find_number(enum fabric_kind kind, uint32_t value,
		       struct fabric_peer **ret_peer, uint32_t *ret_slot)
{
	uint32_t slots = kind == FABRIC_SRQ ? SHM_SRQ_MAX : SHM_QP_MAX;
	const struct number *number;
	struct node *node;
	uint32_t slot;
	int err = -ENOENT;

	pthread_mutex_lock(&mutex);
	number = find_number(kind, value);
	if (number && number->node < NODES && number->slot < slots) {
		slot = number->slot;
		node = &file->node[number->node];
		err = peer_get(number->node, node->pid, node->start,
			       node->instance, ret_peer);
		if (!err)
			*ret_slot = slot;
	}
	pthread_mutex_unlock(&mutex);
	return err;
}

int fabric_find_xrc(uint32_t qpn, uint32_t *ret_slot)
{
	const struct number *number = find_number(FABRIC_XRC_QP, qpn);

	if (!number || number->slot >= SHM_XRC_QP_MAX)
		return -ENOENT;
	*ret_slot = number->slot;
	return 0;
}

struct fabric_members *fabric_lock_members(void)
{
	fabric_lock();
	return &file->members;
}

void fabric_unlock_members(void)
{
	fabric_unlock();
}

/* pairs with the stores of qpn before the count: mcast.c */
uint32_t fabric_member_changes(void)
{
	return __atomic_load_n(&file->members.changes, __ATOMIC_ACQUIRE);
}

void fabric_put(struct fabric_peer *peer)
{
	if (!peer)
		return;
	pthread_mutex_lock(&mutex);
	peer_put(peer);
	pthread_mutex_unlock(&mutex);
}
