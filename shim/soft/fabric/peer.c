/*
 * The segments of peer processes, and whether the processes are alive
 *
 * A dead peer's segment stays mapped and unchanged, so while messages flow, the process is checked
 * once per tick of the coarse clock.
 */
#include "shim/soft/fabric/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/soft/fabric/directory.h"
#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/process.h"
#include "shim/soft/fabric/segment.h"

struct peer_entry {
	struct peer peer; /* must be the first member: peer_put() casts */
	struct peer_entry *next;
};

static struct peer_entry *entries;

static int map_node(uint32_t node, uint64_t instance, struct shm_seg **ret_seg)
{
	char path[DIRECTORY_FILE];
	int fd, err;

	if (node_self.node == node && node_self.instance == instance) {
		*ret_seg = segment_own;
		return 0;
	}
	directory_file(path, "node", node, instance, 0);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	err = segment_map(fd, ret_seg);
	close(fd);
	if (err < 0)
		return err;
	if ((*ret_seg)->magic == SHM_MAGIC && (*ret_seg)->version == SHM_VERSION)
		return 0;
	segment_unmap(*ret_seg);
	return -EPROTO;
}

static void unmap_segment(struct shm_seg *seg)
{
	if (seg != segment_own)
		segment_unmap(seg);
}

int peer_get(uint32_t node, int pid, uint64_t start, uint64_t instance, struct peer **ret_peer)
{
	struct shm_seg *seg;
	struct peer_entry *e;
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
			unmap_segment(seg);
			return -ENOMEM;
		}
		e->peer = (struct peer){ .seg = seg,
					 .pid = pid,
					 .start = start,
					 .node = node,
					 .instance = instance,
					 .forbidden = segment_own->stage.forbidden ||
						      seg->stage.watched };
		e->next = entries;
		entries = e;
	}
	e->peer.refs++;
	*ret_peer = &e->peer;
	return 0;
}

void peer_put(struct peer *peer)
{
	struct peer_entry **p;

	if (--peer->refs)
		return;
	for (p = &entries; *p; p = &(*p)->next)
		if (&(*p)->peer == peer) {
			*p = (*p)->next;
			break;
		}
	unmap_segment(peer->seg);
	free(peer);
}

void peer_forget(void)
{
	struct peer_entry *e;

	while ((e = entries)) {
		entries = e->next;
		unmap_segment(e->peer.seg);
		free(e);
	}
}

void peer_forget_inherited(void)
{
	entries = NULL;
}

bool peer_check_alive(struct peer *peer)
{
	bool alive;

	if (peer->seg == segment_own)
		return true;
	if (__atomic_load_n(&peer->dead, __ATOMIC_RELAXED))
		return false;
	alive = !__atomic_load_n(&peer->seg->gone, __ATOMIC_ACQUIRE) &&
		process_lives(peer->pid, peer->start);
	if (!alive)
		__atomic_store_n(&peer->dead, 1, __ATOMIC_RELAXED);
	return alive;
}

bool peer_is_alive(struct peer *peer)
{
	uint64_t now;

	if (peer->seg == segment_own)
		return true;
	now = process_now_coarse();
	if (__atomic_load_n(&peer->looked, __ATOMIC_RELAXED) == now)
		return !__atomic_load_n(&peer->dead, __ATOMIC_RELAXED);
	__atomic_store_n(&peer->looked, now, __ATOMIC_RELAXED);
	return peer_check_alive(peer);
}
