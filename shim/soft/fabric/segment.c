/*
 * This process's own segment: a sparse file in the fabric's directory
 *
 * Memory is put behind its parts as they are used (heap.c).
 */
#include "shim/soft/fabric/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shim/soft/fabric/fabric.h"
#include "shim/soft/fabric/heap.h"
#include "shim/soft/fabric/memcheck.h"
#include "shim/soft/fabric/peer.h"
#include "shim/soft/fabric/stage.h"

bool memcheck_watches;

/* Beyond the limit, the kernel would send SIGXFSZ. */
bool segment_may_be(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) < 0 ||
		limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= SHM_SIZE;
}

static int fill_header(void)
{
	int err = heap_reserve(fabric_seg, offsetof(struct shm_seg, qp));

	if (err < 0)
		return err;
	fabric_seg->version = SHM_VERSION;
	fabric_seg->node = fabric_self.node;
	fabric_seg->instance = fabric_self.instance;
	memcheck_watches = memcheck_asked();
	fabric_seg->stage.watched = memcheck_watches;
	fabric_seg->stage.forbidden = memcheck_watches || stage_needed();
	fabric_seg->magic = SHM_MAGIC;
	return 0;
}

int segment_make(void)
{
	char path[FABRIC_PATH];
	int seg_fd, err = 0;

	fabric_path(path, "node", fabric_self.node, fabric_self.instance, 0);
	seg_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (seg_fd < 0)
		return -errno;
	if (ftruncate(seg_fd, SHM_SIZE) < 0)
		err = -errno;
	else
		err = peer_map(seg_fd, &fabric_seg);
	close(seg_fd);
	return err < 0 ? err : fill_header();
}

int fabric_reserve(struct shm_seg *seg, uint64_t off, uint64_t len)
{
	char path[FABRIC_PATH];
	int seg_fd, err;

	fabric_path(path, "node", seg->node, seg->instance, 0);
	seg_fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (seg_fd < 0)
		return -ENOMEM;
	err = fallocate(seg_fd, 0, off, len) < 0 ? -ENOMEM : 0;
	close(seg_fd);
	return err;
}
