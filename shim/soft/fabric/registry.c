/*
 * The registry: the processes of the fabric, the owner of each number, multicast groups, and the
 * XRC objects that no single process owns (xrc.c)
 *
 * All of these are in one file that all processes map (registry_file.h). Changes are made under a
 * record lock, which the kernel releases when the process dies and which children do not inherit,
 * and within this process under the mutex. Numbers are read without a lock: an entry is valid if it
 * has the number that is looked up.
 *
 * A number has a generation in its upper 8 bits and an index in the lower 16, so a number is reused
 * only after 256 others with the same index.
 *
 * Not here: joining and leaving (fabric.c).
 */
#include "shim/soft/fabric/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/soft/fabric/directory.h"
#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/registry_file.h"

enum { FIRST_NUMBER = 17 }; /* 0 and 1 are the management queue pairs */

pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;

static struct registry_file *file;
static int fd = -1;
static bool fresh; /* the file was empty: no other process uses it before this one maps it */

void registry_lock_file(void)
{
	struct flock all = { .l_type = F_WRLCK };

	/* a wrong EDEADLK: the kernel takes two threads for one process, see fcntl(2) */
	while (fcntl(fd, F_SETLKW, &all) < 0 && (errno == EINTR || errno == EDEADLK))
		sched_yield();
}

void registry_unlock_file(void)
{
	struct flock all = { .l_type = F_UNLCK };

	fcntl(fd, F_SETLK, &all);
}

static void set_file(struct registry_file *mapped)
{
	file = mapped;
	node_table = mapped ? mapped->node : NULL;
}

/* Does @path still name the file of @st? */
static bool is_same_file(const char *path, const struct stat *st)
{
	struct stat there;

	return lstat(path, &there) == 0 && there.st_dev == st->st_dev && there.st_ino == st->st_ino;
}

/*
 * Open and lock DIR/fabric. In between, the last process that leaves may remove it with DIR, and
 * may die before it has unlinked it: then -EAGAIN.
 */
static int open_file(void)
{
	char path[DIRECTORY_FILE];
	struct stat st;

	snprintf(path, sizeof(path), "%s/fabric", directory_path());
	for (;;) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0 && errno == ENOENT)
			return -EAGAIN;
		if (fd < 0)
			return directory_report_error("/fabric", NULL, -errno);
		registry_lock_file();
		if (fstat(fd, &st) == 0 && is_same_file(path, &st)) {
			fresh = S_ISREG(st.st_mode) && st.st_size == 0;
			return S_ISREG(st.st_mode)
				       ? 0
				       : directory_report_error("/fabric", "not a regular file",
								-EPROTO);
		}
		close(fd);
	}
}

int registry_open(bool *ret_made)
{
	bool made = false;
	int err;

	do {
		err = directory_open(&made);
		if (!err)
			err = open_file();
	} while (err == -EAGAIN);
	*ret_made = made;
	if (err < 0) {
		if (fd >= 0)
			close(fd);
		fd = -1;
		if (made)
			directory_remove_empty();
	}
	return err;
}

/* Refuse the file: one of another version remains unchanged, garbage is removed. */
static int refuse_file(void)
{
	char path[DIRECTORY_FILE];

	snprintf(path, sizeof(path), "%s/fabric", directory_path());
	if (file->magic != SHM_MAGIC)
		unlink(path);
	munmap(file, sizeof(*file));
	set_file(NULL);
	return -EPROTO;
}

int registry_map(bool made)
{
	void *at;

	/*
	 * any number may be looked up, so allocate the table; for XRC see registry_reserve_pages()
	 */
	if (ftruncate(fd, sizeof(*file)) < 0 ||
	    (fallocate(fd, 0, 0, offsetof(struct registry_file, xrc.xrcd)) < 0 && errno == ENOSPC))
		return errno == ENOSPC ? -ENOMEM : -errno;
	at = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	set_file(at);
	madvise(file, sizeof(*file), MADV_DONTFORK);
	if (!file->magic) {
		file->version = SHM_VERSION;
		file->next_number = FIRST_NUMBER;
		file->high_number = FIRST_NUMBER;
		file->magic = SHM_MAGIC;
	}
	if (file->magic != SHM_MAGIC || file->version != SHM_VERSION)
		return refuse_file();
	file->made |= made; /* another process may use the directory before its creator */
	return 0;
}

void registry_close(void)
{
	if (file)
		munmap(file, sizeof(*file));
	set_file(NULL);
	if (fd >= 0) {
		registry_unlock_file();
		close(fd);
	}
	fd = -1;
}

/* Does the file DIR/keep exist? */
static bool is_kept(void)
{
	char path[DIRECTORY_FILE];

	snprintf(path, sizeof(path), "%s/keep", directory_path());
	return access(path, F_OK) == 0;
}

void registry_forget_processes(void)
{
	if (!is_kept())
		file->processes = 0;
}

void registry_remove(bool made)
{
	char path[DIRECTORY_FILE];

	if (is_kept())
		return;
	if (made) {
		directory_remove();
		return;
	}
	snprintf(path, sizeof(path), "%s/cm", directory_path());
	unlink(path);
	snprintf(path, sizeof(path), "%s/fabric", directory_path());
	unlink(path);
}

bool registry_is_mapped(void)
{
	return file;
}

bool registry_is_made(void)
{
	return file->made;
}

bool registry_is_fresh(void)
{
	return fd >= 0 && fresh;
}

uint64_t registry_new_instance(void)
{
	return ++file->instances;
}

uint32_t registry_new_process(void)
{
	return file->processes++;
}

static void drop_numbers(uint32_t node)
{
	uint32_t i;

	for (i = FIRST_NUMBER; i < file->high_number && i < REGISTRY_NUMBERS; i++)
		if (file->number[i].node == node && file->number[i].kind != REGISTRY_XRC_QP)
			__atomic_store_n(&file->number[i].value, 0, __ATOMIC_RELEASE);
}

static void drop_members(uint32_t node)
{
	struct registry_members *members = &file->members;
	uint32_t i;

	for (i = 0; i < REGISTRY_MEMBERS; i++)
		if (members->at[i].qpn && members->at[i].node == node) {
			members->at[i].qpn = 0;
			__atomic_add_fetch(&members->changes, 1, __ATOMIC_RELEASE);
		}
}

void registry_drop_node(uint32_t node)
{
	drop_numbers(node);
	drop_members(node);
}

/* In a child: the file is not mapped (MADV_DONTFORK). */
void registry_forget(void)
{
	pthread_mutex_init(&registry_mutex, NULL);
	if (fd >= 0)
		close(fd);
	fd = -1;
	set_file(NULL);
}

void registry_lock(void)
{
	pthread_mutex_lock(&registry_mutex);
	registry_lock_file();
}

void registry_unlock(void)
{
	registry_unlock_file();
	pthread_mutex_unlock(&registry_mutex);
}

static struct registry_number *find_free_number(uint32_t *ret_index)
{
	uint32_t n, i = file->next_number;

	for (n = 0; n < REGISTRY_NUMBERS; n++, i++) {
		if (i >= REGISTRY_NUMBERS)
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

int registry_new_number(enum registry_kind kind, uint32_t slot, uint32_t *ret)
{
	struct registry_number *number;
	uint32_t index, value;

	number = find_free_number(&index);
	if (!number)
		return -ENOMEM;
	number->node = node_self.node;
	number->slot = slot;
	number->kind = kind;
	value = (number->generation++ & 0xff) << 16 | index;
	__atomic_store_n(&number->value, value, __ATOMIC_RELEASE);
	*ret = value;
	return 0;
}

void registry_free_number(uint32_t number)
{
	__atomic_store_n(&file->number[number % REGISTRY_NUMBERS].value, 0, __ATOMIC_RELEASE);
}

int registry_reserve_pages(const void *from, size_t len)
{
	off_t off = (const char *)from - (const char *)file;

	return fallocate(fd, 0, off, len) < 0 && errno == ENOSPC ? -ENOMEM : 0;
}

struct shm_xrc *registry_xrc(void)
{
	return &file->xrc;
}

int registry_add_number(enum registry_kind kind, uint32_t slot, uint32_t *ret)
{
	int err;

	registry_lock();
	err = registry_new_number(kind, slot, ret);
	registry_unlock();
	return err;
}

void registry_del_number(uint32_t number)
{
	registry_lock();
	registry_free_number(number);
	registry_unlock();
}

void registry_repeat_number(uint32_t number)
{
	registry_lock();
	file->number[number % REGISTRY_NUMBERS].generation--;
	file->next_number = number % REGISTRY_NUMBERS;
	registry_unlock();
}

static const struct registry_number *find_number(enum registry_kind kind, uint32_t value)
{
	const struct registry_number *number = &file->number[value % REGISTRY_NUMBERS];

	/* pairs with the store_release in registry_new_number() */
	return value && __atomic_load_n(&number->value, __ATOMIC_ACQUIRE) == value &&
			       number->kind == kind
		       ? number
		       : NULL;
}

int registry_find_number(enum registry_kind kind, uint32_t value, struct peer **ret_peer,
			 uint32_t *ret_slot)
{
	uint32_t slots = kind == REGISTRY_SRQ ? SHM_SRQ_MAX : SHM_QP_MAX;
	const struct registry_number *number;
	struct node *node;
	uint32_t slot;
	int err = -ENOENT;

	pthread_mutex_lock(&registry_mutex);
	number = find_number(kind, value);
	if (number && number->node < NODE_MAX && number->slot < slots) {
		slot = number->slot;
		node = &file->node[number->node];
		err = peer_get(number->node, node->pid, node->start, node->instance, ret_peer);
		if (!err)
			*ret_slot = slot;
	}
	pthread_mutex_unlock(&registry_mutex);
	return err;
}

int registry_find_owner(enum registry_kind kind, uint32_t value, uint32_t *ret_node,
			uint64_t *ret_instance)
{
	const struct registry_number *number = find_number(kind, value);

	if (!number || number->node >= NODE_MAX)
		return -ENOENT;
	*ret_node = number->node;
	*ret_instance = file->node[number->node].instance;
	return 0;
}

int registry_find_xrc(uint32_t qpn, uint32_t *ret_slot)
{
	const struct registry_number *number = find_number(REGISTRY_XRC_QP, qpn);

	if (!number || number->slot >= SHM_XRC_QP_MAX)
		return -ENOENT;
	*ret_slot = number->slot;
	return 0;
}

struct registry_members *registry_lock_members(void)
{
	registry_lock();
	return &file->members;
}

void registry_unlock_members(void)
{
	registry_unlock();
}

/* pairs with the stores of qpn before the count: mcast.c */
uint32_t registry_member_changes(void)
{
	return __atomic_load_n(&file->members.changes, __ATOMIC_ACQUIRE);
}

void registry_put_peer(struct peer *peer)
{
	if (!peer)
		return;
	pthread_mutex_lock(&registry_mutex);
	peer_put(peer);
	pthread_mutex_unlock(&registry_mutex);
}
