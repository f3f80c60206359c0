/*
 * Buffers that the library allocates, and regions registered by address, descriptor or buffer
 *
 * A buffer is ordinary memory at a page boundary, so it cannot be exported as a DMA buffer.
 *
 * Source: ibv_alloc_buf(3), ibv_reg_mr(3).
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "shim/soft/verbs/mr.h"
#include "shim/soft/verbs/newer.h"

struct soft_buf {
	struct ibv_pd *pd;
	uint8_t *addr;
	size_t size;
};

void *soft_alloc_buf(struct ibv_pd *pd, size_t size, struct soft_buf **ret_buf)
{
	int err = soft_enter(pd->context, "alloc_buf");
	struct soft_buf *buf;
	void *addr;

	if (!err && !size)
		err = EINVAL;
	if (err)
		return soft_fail(err);
	addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (addr == MAP_FAILED)
		return soft_fail(ENOMEM);
	buf = malloc(sizeof(*buf));
	if (!buf) {
		munmap(addr, size);
		return soft_fail(ENOMEM);
	}
	*buf = (struct soft_buf){ pd, addr, size };
	*ret_buf = buf;
	return addr;
}

void soft_free_buf(struct soft_buf *buf)
{
	munmap(buf->addr, buf->size);
	free(buf);
}

int soft_export_buf_dmabuf_fd(struct soft_buf *buf)
{
	int err = soft_enter(buf->pd->context, "export_buf_dmabuf_fd");

	errno = err ? err : ENODATA;
	return -1;
}

int soft_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	int err = soft_enter(dm->context, "dm_export_dmabuf_fd");

	errno = err ? err : EOPNOTSUPP;
	return -1;
}

/* Check a buffer: this library has allocated it, so only the range can be wrong. */
static int check_buf(const struct ibv_pd *pd, const struct soft_mr_init_attr *attr)
{
	const struct soft_buf *buf = attr->buf;
	size_t offset;

	if (!buf || buf->pd != pd || !(attr->comp_mask & MR_ADDR) ||
	    attr->comp_mask & (MR_FD | MR_FD_OFFSET))
		return EINVAL;
	offset = (uint8_t *)attr->addr - buf->addr;
	if ((uint8_t *)attr->addr < buf->addr || offset > buf->size ||
	    attr->length > buf->size - offset)
		return EINVAL;
	return 0;
}

/* Check the attributes: a region has either an address, or a descriptor with an offset. */
static int check_attr(const struct ibv_pd *pd, const struct soft_mr_init_attr *attr)
{
	const uint64_t from_fd = MR_FD | MR_FD_OFFSET;
	uint64_t mask = attr->comp_mask;

	if (mask & MR_DMAH && (!attr->dmah || attr->dmah->context != pd->context ||
			       attr->access & IBV_ACCESS_ON_DEMAND))
		return EINVAL;
	if (mask & ~(MR_IOVA | MR_ADDR | MR_FD | MR_FD_OFFSET | MR_DMAH | MR_BUF))
		return EOPNOTSUPP;
	if (mask & MR_BUF)
		return check_buf(pd, attr);
	if (mask & from_fd)
		return mask & MR_ADDR || (mask & from_fd) != from_fd ? EINVAL : 0;
	return mask & MR_ADDR ? 0 : EINVAL;
}

static struct ibv_mr *reg_by_attr(struct ibv_pd *pd, const struct soft_mr_init_attr *attr)
{
	uint64_t offset = attr->fd_offset;

	if (attr->comp_mask & MR_FD)
		return mr_reg_dmabuf(pd, offset, attr->length,
				     attr->comp_mask & MR_IOVA ? attr->iova : offset, attr->fd,
				     attr->access);
	return mr_reg(pd, attr->addr, attr->length,
		      attr->comp_mask & MR_IOVA ? attr->iova : (uintptr_t)attr->addr, attr->access);
}

static struct ibv_mr *reg_mr_ex(struct ibv_pd *pd, const struct soft_mr_init_attr *attr)
{
	int err = check_attr(pd, attr);
	struct ibv_mr *mr;

	if (err)
		return soft_fail(err);
	mr = reg_by_attr(pd, attr);
	if (mr && attr->comp_mask & MR_DMAH) {
		to_mr(mr)->dmah = attr->dmah;
		__atomic_add_fetch(&attr->dmah->refs, 1, __ATOMIC_RELAXED);
	}
	return mr;
}

struct ibv_mr *soft_reg_mr_ex(struct ibv_pd *pd, struct soft_mr_init_attr *attr)
{
	return reg_mr_ex(pd, attr);
}

struct ibv_mr *soft_reg_buf_mr(struct ibv_pd *pd, struct soft_buf *buf, void *addr, size_t length,
			       int access)
{
	struct soft_mr_init_attr attr = {
		.length = length,
		.access = access,
		.comp_mask = MR_BUF | MR_ADDR,
		.addr = addr,
		.buf = buf,
	};

	return reg_mr_ex(pd, &attr);
}
