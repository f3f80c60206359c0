/*
 * This process's own segment: a sparse file in the fabric's directory
 *
 * Writing to a sparse file on a full file system raises SIGBUS, so memory for each part is
 * allocated before it is published.
 *
 * Valgrind's tools scan all readable memory: memcheck's leak check would scan, and thereby
 * allocate, the 8 GiB of each segment. So under valgrind a segment is mapped without access, and
 * only its used part is made accessible.
 *
 * Not here: the rings and queues in the segment (heap.c).
 */
#include "shim/soft/fabric/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "shim/soft/fabric/directory.h"
#include "shim/soft/fabric/memcheck.h"
#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/process.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
/* Memory is allocated in whole pages. */
#define PAGE 4096

struct shm_seg *segment_own;

/* Extending a file beyond RLIMIT_FSIZE would raise SIGXFSZ. */
bool segment_is_allowed(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
	       limit.rlim_cur >= SHM_SIZE;
}

static int allocate_in_file(struct shm_seg *seg, uint64_t off, uint64_t len)
{
	char path[DIRECTORY_FILE];
	int seg_fd, err;

	directory_file(path, "node", seg->node, seg->instance, 0);
	seg_fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (seg_fd < 0)
		return -ENOMEM;
	err = fallocate(seg_fd, 0, off, len) < 0 ? -ENOMEM : 0;
	close(seg_fd);
	return err;
}

/* Kernels before 5.14 do not know MADV_POPULATE_WRITE. */
int segment_reserve_in(struct shm_seg *seg, void *at, uint64_t size)
{
	uintptr_t from = (uintptr_t)at & ~(uintptr_t)(PAGE - 1);
	uint64_t len = ((uintptr_t)at + size - from + PAGE - 1) & ~(uint64_t)(PAGE - 1);

	if (!madvise((void *)from, len, MADV_POPULATE_WRITE))
		return 0;
	if (errno != EINVAL)
		return -ENOMEM;
	return allocate_in_file(seg, from - (uintptr_t)seg, len);
}

int segment_reserve(void *at, uint64_t size)
{
	return segment_reserve_in(segment_own, at, size);
}

bool segment_has_room(uint64_t size)
{
	char path[DIRECTORY_FILE];
	struct statvfs st;

	directory_file(path, "node", node_self.node, node_self.instance, 0);
	/* a tmpfs without a limit reports no blocks */
	return statvfs(path, &st) < 0 || !st.f_blocks || st.f_bavail >= size / st.f_frsize;
}

static int fill_header(void)
{
	int err = segment_reserve(segment_own, offsetof(struct shm_seg, qp));
	const char *knob;

	if (err < 0)
		return err;
	segment_own->version = SHM_VERSION;
	segment_own->node = node_self.node;
	segment_own->instance = node_self.instance;
	knob = getenv("VERBATIM_SOFT_MEMCHECK");
	memcheck_unseen = memcheck_asked() && knob && !strcmp(knob, "unseen");
	memcheck_watches = memcheck_asked() && !memcheck_unseen;
	segment_own->stage.watched = memcheck_watches;
	segment_own->stage.forbidden = memcheck_watches || process_vm_is_refused();
	segment_own->magic = SHM_MAGIC;
	return 0;
}

/* A segment that was mapped without access; its bytes before @end have been made accessible. */
struct opened_segment {
	struct shm_seg *seg;
	uint64_t end;
	struct opened_segment *next;
};

enum { OPEN_STEP = 1 << 20 };

static pthread_mutex_t opened_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct opened_segment *opened;

static struct opened_segment **find_opened(const struct shm_seg *seg)
{
	struct opened_segment **p = &opened;

	while (*p && (*p)->seg != seg)
		p = &(*p)->next;
	return p;
}

/*
 * Note that @seg is not accessible. An existing entry for its address was inherited: the parent had
 * a segment there.
 */
static int note_closed(struct shm_seg *seg)
{
	struct opened_segment **p = find_opened(seg);

	if (!*p)
		*p = calloc(1, sizeof(**p));
	if (!*p)
		return -ENOMEM;
	(*p)->seg = seg;
	(*p)->end = 0;
	return 0;
}

static int make_accessible_to(struct opened_segment *o, uint64_t end)
{
	end = (end + OPEN_STEP - 1) & ~(uint64_t)(OPEN_STEP - 1);
	if (end <= o->end)
		return 0;
	if (mprotect((uint8_t *)o->seg + o->end, end - o->end, PROT_READ | PROT_WRITE) < 0)
		return -errno;
	o->end = end;
	return 0;
}

/*
 * Make the bytes before @end accessible. A segment that is not in the list is completely
 * accessible.
 */
static int make_end_accessible(struct shm_seg *seg, uint64_t end)
{
	struct opened_segment *o;
	int err;

	if (likely(!memcheck_valgrind()))
		return 0;
	pthread_mutex_lock(&opened_mutex);
	o = *find_opened(seg);
	err = o ? make_accessible_to(o, end) : 0;
	pthread_mutex_unlock(&opened_mutex);
	return err;
}

void *segment_at(struct shm_seg *seg, uint64_t off, uint64_t len)
{
	if (off < sizeof(*seg) || len > SHM_SIZE || off > SHM_SIZE - len ||
	    make_end_accessible(seg, off + len) < 0)
		return NULL;
	return (uint8_t *)seg + off;
}

static int open_head(struct shm_seg *seg)
{
	int err;

	pthread_mutex_lock(&opened_mutex);
	err = note_closed(seg);
	pthread_mutex_unlock(&opened_mutex);
	return err < 0 ? err : make_end_accessible(seg, sizeof(*seg));
}

void segment_unmap(struct shm_seg *seg)
{
	struct opened_segment **p, *o;

	pthread_mutex_lock(&opened_mutex);
	p = find_opened(seg);
	o = *p;
	if (o)
		*p = o->next;
	pthread_mutex_unlock(&opened_mutex);
	free(o);
	munmap(seg, SHM_SIZE);
}

int segment_map(int fd, struct shm_seg **ret_seg)
{
	int prot = memcheck_valgrind() ? PROT_NONE : PROT_READ | PROT_WRITE;
	struct stat st;
	void *seg;
	int err;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size != (off_t)SHM_SIZE)
		return -EPROTO;
	seg = mmap(NULL, SHM_SIZE, prot, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (seg == MAP_FAILED)
		return -errno;
	err = prot == PROT_NONE ? open_head(seg) : 0;
	if (err < 0) {
		segment_unmap(seg);
		return err;
	}
	madvise(seg, SHM_SIZE, MADV_DONTFORK);
	madvise(seg, SHM_SIZE, MADV_DONTDUMP);
	*ret_seg = seg;
	return 0;
}

int segment_make(void)
{
	char path[DIRECTORY_FILE];
	int seg_fd, err = 0;

	directory_file(path, "node", node_self.node, node_self.instance, 0);
	seg_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (seg_fd < 0)
		return -errno;
	if (ftruncate(seg_fd, SHM_SIZE) < 0)
		err = -errno;
	else
		err = segment_map(seg_fd, &segment_own);
	close(seg_fd);
	if (err < 0)
		return err;
	lock_set_own(&segment_own->qp[0].rq.lock, sizeof(struct shm_qp), SHM_QP_MAX,
		     segment_own->active);
	return fill_header();
}
