/*
 * Regions of memory that a file descriptor refers to
 *
 * A DMA buffer (of a GPU, of udmabuf) is mapped while it is registered. A memory file works as
 * well: a memfd, or a file of a tmpfs or hugetlbfs, so that programs with such code can run without
 * the hardware. All other files give EINVAL, as with the kernel.
 *
 * Source: ibv_reg_mr(3).
 */
#include "shim/soft/verbs/mr.h"

#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "shim/soft/verbs/enter.h"

enum {
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_RELAXED_ORDERING,
};

/* Values of linux/magic.h: some versions of it lack some of them. */
enum { DMABUF = 0x444d4142, TMPFS = 0x01021994, HUGETLBFS = 0x958458f6u };

/* The size of the buffer to which @fd refers, or -errno. */
static off_t size_of(int fd)
{
	struct statfs fs;
	off_t at, end;

	if (fstatfs(fd, &fs) < 0)
		return -errno;
	if (fs.f_type != DMABUF && fs.f_type != TMPFS && fs.f_type != (typeof(fs.f_type))HUGETLBFS)
		return -EINVAL;
	at = lseek(fd, 0, SEEK_CUR);
	end = lseek(fd, 0, SEEK_END);
	if (end < 0)
		return -EINVAL;
	/* restore the position of a memory file; a DMA buffer has none */
	if (at >= 0)
		lseek(fd, at, SEEK_SET);
	return end;
}

static int check_range(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
		       int access)
{
	uint64_t in_page = sysconf(_SC_PAGESIZE) - 1;
	off_t size;
	int err;

	err = soft_enter(pd->context, "reg_dmabuf_mr");
	if (!err)
		err = mr_check_access(access);
	if (err)
		return err;
	if (access & ~ACCESS || !length || (offset & in_page) != (iova & in_page))
		return EINVAL;
	size = size_of(fd);
	if (size < 0)
		return -size;
	return offset > (uint64_t)size || length > size - offset ? EINVAL : 0;
}

struct ibv_mr *mr_reg_dmabuf(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
			     int fd, int access)
{
	uint64_t in_page = offset & (sysconf(_SC_PAGESIZE) - 1);
	int prot = PROT_READ | (access & IBV_ACCESS_LOCAL_WRITE ? PROT_WRITE : 0);
	struct mr_range range = {
		.addr = (void *)offset, .length = length, .iova = iova, .access = access
	};
	struct soft_mr *mr;
	uint8_t *mapping;
	int err;

	err = check_range(pd, offset, length, iova, fd, access);
	if (err)
		return soft_fail(err);
	mapping = mmap(NULL, in_page + length, prot, MAP_SHARED, fd, offset - in_page);
	if (mapping == MAP_FAILED)
		return NULL;
	madvise(mapping, in_page + length, MADV_DONTFORK);
	range.memory = mapping + in_page;
	mr = mr_new(pd, &range);
	if (!mr) {
		munmap(mapping, in_page + length);
		return soft_fail(ENOMEM);
	}
	mr->mapping = mapping;
	mr->mapped = in_page + length;
	return &mr->mr;
}

EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					uint64_t iova, int fd, int access)
{
	return mr_reg_dmabuf(pd, offset, length, iova, fd, access);
}
