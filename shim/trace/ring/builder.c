/*
 * The work requests that a thread is building
 *
 *	builders -> BUILDERS entries, a page -> bytes of each, allocated when used
 *
 * A queue pair's entry is found by its hash, with linear probing. When its batch is complete, the
 * queue pair still has the entry, for its next batch, until another queue pair needs the entry. A
 * batch that loses its entry before it is complete is not found, and ibv_wr_complete() reports that
 * it was not seen (qp_ex.c).
 *
 * A signal handler may interrupt at any point: an entry is taken by setting `open`, which only the
 * thread and its signal handlers do.
 */
#include "shim/trace/ring/builder.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "shim/trace/base/permit.h"

static struct builder no_builder;
__thread struct builder *builder_now __attribute__((tls_model("initial-exec"))) = &no_builder;
static __thread struct builder *builders __attribute__((tls_model("initial-exec")));

_Static_assert(BUILDERS == 64, "place() takes 6 bits");

static void *take_memory(size_t bytes)
{
	int saved = errno;
	void *at = MAP_FAILED;

	if (permit_has(NEED_MEMORY))
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved;
	return at == MAP_FAILED ? NULL : at;
}

static void set_memory(struct builder *b, char *at, uint32_t size)
{
	b->at = at;
	b->size = size;
	b->most = b->at + size - BUILDER_WR_BYTES;
}

static struct builder *nth_builder(const struct ibv_qp_ex *qp, unsigned int further)
{
	uint64_t hash = (uint64_t)(uintptr_t)qp * 0x9e3779b97f4a7c15ull >> 58;

	return &builders[(hash + further) % BUILDERS];
}

struct builder *builder_search(const struct ibv_qp_ex *qp)
{
	for (unsigned int i = 0; builders && i < BUILDERS; i++)
		if (nth_builder(qp, i)->qp == qp)
			return builder_now = nth_builder(qp, i);
	return NULL;
}

static struct builder *claim_closed_builder(const struct ibv_qp_ex *qp)
{
	for (unsigned int i = 0; i < BUILDERS; i++)
		if (!atomic_exchange_explicit(&nth_builder(qp, i)->open, true,
					      memory_order_relaxed))
			return nth_builder(qp, i);
	return NULL;
}

static bool alloc_builder_memory(struct builder *b)
{
	void *at = b->at ? b->at : take_memory(BUILDER_BYTES);

	if (!b->at && at)
		set_memory(b, at, BUILDER_BYTES);
	return at;
}

struct builder *builder_claim(const struct ibv_qp_ex *qp)
{
	struct builder *b;

	if (!builders)
		builders = take_memory(BUILDERS * sizeof(*b));
	if (!builders)
		return NULL;
	b = claim_closed_builder(qp);
	if (!b)
		b = nth_builder(qp, 0);
	if (!alloc_builder_memory(b)) {
		atomic_store_explicit(&b->open, false, memory_order_relaxed);
		return NULL;
	}
	b->qp = qp;
	b->late = 0;
	return builder_now = b;
}

bool builder_grow(struct builder *b)
{
	const size_t used = builder_bytes(b);
	int saved = errno;
	void *more = MAP_FAILED;

	if (b->cut)
		return false;
	if (b->size < BUILDER_MAX && permit_has(NEED_MEMORY))
		more = mremap(b->at, b->size, 2ul * b->size, MREMAP_MAYMOVE);
	errno = saved;
	if (more == MAP_FAILED) {
		b->cut = true;
		b->last = NULL;
		return false;
	}
	set_memory(b, more, 2 * b->size);
	b->next = b->at + used;
	return true;
}

void *builder_add_part(struct builder *b, struct event_wr *wr, enum event_wr_part part)
{
	char *at = (char *)(wr + 1) + wr_parts_bytes(wr->parts & (part - 1u));
	size_t bytes = wr_parts_bytes(part);

	if (wr->parts & part)
		return at;
	memmove(at + bytes, at, (size_t)(b->next - at));
	wr->parts |= part;
	b->next += bytes;
	return at;
}

void builder_thread_end(void)
{
	struct builder *all = builders;

	builders = NULL;
	builder_now = &no_builder;
	if (!all || !permit_has(NEED_END))
		return;
	for (int i = 0; i < BUILDERS; i++)
		if (all[i].at)
			munmap(all[i].at, all[i].size);
	munmap(all, BUILDERS * sizeof(*all));
}
