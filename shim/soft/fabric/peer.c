/*
 * The segments of the processes we talk to, and whether those live
 *
 * A dead peer's segment stays mapped and looks as it did, so life is looked
 * up: at most once a tick of the coarse clock while messages flow.
 */
#include "shim/soft/fabric/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/soft/fabric/process.h"

struct entry {
	struct fabric_peer	peer;	/* first: peer_put() casts */
	struct entry		*next;
};

static struct entry *entries;

int peer_map(int fd, struct shm_seg **ret_seg)
{
	struct stat st;
	void *seg;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size != (off_t)SHM_SIZE)
		return -EPROTO;
	seg = mmap(NULL, SHM_SIZE, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (seg == MAP_FAILED)
		return -errno;
	madvise(seg, SHM_SIZE, MADV_DONTFORK);
	madvise(seg, SHM_SIZE, MADV_DONTDUMP);
	*ret_seg = seg;
	return 0;
}

static int map_node(uint32_t node, uint64_t instance, struct shm_seg **ret_seg)
{
	char path[FABRIC_PATH];
	int fd, err;

	if (fabric_self.node == node && fabric_self.instance == instance) {
		*ret_seg = fabric_seg;
		return 0;
	}
	fabric_path(path, "node", node, instance, 0);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	err = peer_map(fd, ret_seg);
	close(fd);
	if (err < 0)
		return err;
	if ((*ret_seg)->magic == SHM_MAGIC &&
	    (*ret_seg)->version == SHM_VERSION)
		return 0;
	munmap(*ret_seg, SHM_SIZE);
	return -EPROTO;
}

static void unmap(struct shm_seg *seg)
{
	if (seg != fabric_seg)
		munmap(seg, SHM_SIZE);
}

int peer_get(uint32_t node, int pid, uint64_t start, uint64_t instance,
	     struct fabric_peer **ret_peer)
{
	struct shm_seg *seg;
	struct entry *e;
	int err;

	for (e = entries; e; e = e->next)
		if (e->peer.node == node && e->peer.instance == instance)
			break;
	if (!e) {
		err = map_node(node, instance, &seg);
		if (err < 0)
			return err;
		e = calloc(1, sizeof(*e));
		if (!e) {
			unmap(seg);
			return -ENOMEM;
		}
		e->peer = (struct fabric_peer){ .seg = seg, .pid = pid,
			.start = start, .node = node, .instance = instance,
			.forbidden = fabric_seg->stage.forbidden ||
				     seg->stage.watched };
		e->next = entries;
		entries = e;
	}
	e->peer.refs++;
	*ret_peer = &e->peer;
	return 0;
}

void peer_put(struct fabric_peer *peer)
{
	struct entry **p;

	if (--peer->refs)
		return;
	for (p = &entries; *p; p = &(*p)->next)
		if (&(*p)->peer == peer) {
			*p = (*p)->next;
			break;
		}
	unmap(peer->seg);
	free(peer);
}

void peer_forget(void)
{
	struct entry *e;

	while ((e = entries)) {
		entries = e->next;
		unmap(e->peer.seg);
		free(e);
	}
}

void peer_forget_inherited(void)
{
	entries = NULL;
}

bool fabric_peer_look(struct fabric_peer *peer)
{
	bool alive;

	if (peer->seg == fabric_seg)
		return true;
	if (__atomic_load_n(&peer->dead, __ATOMIC_RELAXED))
		return false;
	alive = !__atomic_load_n(&peer->seg->gone, __ATOMIC_ACQUIRE) &&
		process_lives(peer->pid, peer->start);
	if (!alive)
		__atomic_store_n(&peer->dead, 1, __ATOMIC_RELAXED);
	return alive;
}

bool fabric_peer_alive(struct fabric_peer *peer)
{
	uint64_t now;

	if (peer->seg == fabric_seg)
		return true;
	now = process_now_coarse();
	if (__atomic_load_n(&peer->looked, __ATOMIC_RELAXED) == now)
		return !__atomic_load_n(&peer->dead, __ATOMIC_RELAXED);
	__atomic_store_n(&peer->looked, now, __ATOMIC_RELAXED);
	return fabric_peer_look(peer);
}
