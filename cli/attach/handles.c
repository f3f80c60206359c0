/*
 * Finds objects in memory by their form
 *
 *	a word of ones: abi_compat of an extended struct ibv_context
 *		--> a context, if its descriptors, names and numbers fit
 *	a word that is the address of a context: an object begins there
 *		--> a queue pair, if its PD and CQs begin so, too, and state and type are valid
 *		--> a region, if its PD begins so, and its memory is mapped
 *		--> a CQ, if it has a channel that begins so, whose descriptor is open
 *	CQs without a channel are found by their queue pairs.
 *
 * Memory is searched twice, small mappings first, up to a limit of bytes and time; pages that were
 * never touched are left out, since reading them would allocate them.
 *
 * Not here: the queues of providers, whose layouts differ: only those of the software device
 * (soft.c) and of Soft-RoCE (rxe.c) are read.
 */
#include "cli/attach/handles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/attach/facts.h"
#include "cli/attach/rxe.h"
#include "cli/attach/soft.h"
#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/wire/clock.h"

enum {
	PAGE = 4096,
	CHUNK = 1 << 20,
	CHUNK_PAGES = CHUNK / PAGE,
	CONTEXTS_MAX = 256,
	FD_MAX = 1 << 20
};

#define SEARCH_MOST      (4ull << 30) /* bytes, for each of the two passes */
#define SEARCH_CORE_TIME 20000000000ull
#define SEARCH_TIME      600000000ull /* ns, for both */

struct memory_search {
	struct facts *facts;
	const struct memory *memory;
	struct handles *handles;
	struct map contexts; /* addresses, from lowest to highest */
	uint64_t lowest, highest;
	struct map known; /* addresses of CQs and queue pairs that are listed */
	int pagemap;      /* descriptor, or -1: a core, or no permission */
	uint64_t until, bytes;
	uint8_t *buffer;
	int err;
};

/* Reading memory */

/* Which of @n pages from @at on are in memory or swapped out; all, if that is not known. */
static void find_present(const struct memory_search *search, uint64_t at, size_t n,
			 bool present[CHUNK_PAGES])
{
	uint64_t entries[CHUNK_PAGES];
	size_t bytes = n * sizeof(*entries);
	bool known = search->pagemap >= 0 &&
		     pread(search->pagemap, entries, bytes,
			   (off_t)(at / PAGE * sizeof(*entries))) == (ssize_t)bytes;

	for (size_t i = 0; i < n; i++)
		present[i] = !known || entries[i] >> 62;
}

typedef void see_word(struct memory_search *search, uint64_t at, uint64_t word);

static void visit_words(struct memory_search *search, uint64_t at, size_t n, see_word *see,
			bool ones)
{
	const uint64_t *words = (const uint64_t *)search->buffer;
	/* nearly no word is between these */
	uint64_t low = ones ? UINT64_MAX : search->lowest;
	uint64_t range = ones ? 0 : search->highest - low, ignored;

	for (size_t i = 0; i < n / sizeof(*words); i++) {
		if (words[i] - low > range)
			continue;
		if (ones || map_get(&search->contexts, words[i], &ignored))
			see(search, at + i * sizeof(*words), words[i]);
		if (search->err)
			return;
	}
}

/* Search the present pages from @at on; consecutive pages are read at once. */
static void search_chunk(struct memory_search *search, uint64_t at, size_t n, see_word *see,
			 bool ones)
{
	bool present[CHUNK_PAGES];
	size_t pages = n / PAGE, end, got;

	find_present(search, at, pages, present);
	for (size_t i = 0; i < pages && !search->err; i = end) {
		for (end = i; end < pages && present[end] == present[i];)
			end++;
		if (!present[i])
			continue;
		got = search->memory->read(search->memory, at + i * PAGE, search->buffer,
					   (end - i) * PAGE);
		search->bytes += got;
		visit_words(search, at + i * PAGE, got, see, ones);
	}
}

static bool is_search_over(const struct memory_search *search)
{
	return search->err || search->bytes >= SEARCH_MOST || clock_monotonic() > search->until;
}

static void search_range(struct memory_search *search, const struct memory_range *range,
			 see_word *see, bool ones)
{
	uint64_t at = range->start, n, before;

	for (; at < range->end && !is_search_over(search); at += n) {
		before = search->bytes;
		n = range->end - at < CHUNK ? range->end - at : CHUNK;
		search_chunk(search, at, n / PAGE * PAGE, see, ones);
		/* a core has only the beginning of a range, or nothing */
		if (n < PAGE || (search->facts->is_core && search->bytes == before))
			return;
	}
	if (at < range->end)
		search->handles->skipped += range->end - at;
}

static int compare_sizes(const void *a, const void *b)
{
	const struct memory_range *one = a, *other = b;
	uint64_t n = one->end - one->start, m = other->end - other->start;

	return n < m ? -1 : n > m;
}

static void search_all(struct memory_search *search, const struct memory_range *sorted,
		       see_word *see, bool ones)
{
	search->bytes = 0;
	search->handles->skipped = 0;
	for (size_t i = 0; i < search->memory->nranges; i++)
		if (sorted[i].writable && !sorted[i].shared)
			search_range(search, &sorted[i], see, ones);
	search->handles->searched = search->bytes;
}

/* Contexts */

static bool is_open(const struct memory_search *search, int fd)
{
	const struct target *process = &search->facts->process;

	if (fd < 0 || fd >= FD_MAX)
		return false;
	/* a core has no list of descriptors */
	return search->facts->is_core || target_fd_find(process, fd);
}

/* A name of a device: not empty, printable, terminated. */
static bool is_name(const char *name)
{
	size_t n = strnlen(name, HANDLES_NAME);

	for (size_t i = 0; i < n; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	return n && n < HANDLES_NAME;
}

static void visit_ones(struct memory_search *search, uint64_t at, uint64_t word)
{
	struct ibv_context context;
	struct ibv_device device;
	struct handle_context *added;
	uint64_t start = at - offsetof(struct ibv_context, abi_compat);

	(void)word;
	if (at < sizeof(context) || search->handles->ncontexts >= CONTEXTS_MAX ||
	    !memory_get(search->memory, start, &context, sizeof(context)) ||
	    !is_open(search, context.cmd_fd) || !is_open(search, context.async_fd) ||
	    context.num_comp_vectors < 1 || context.num_comp_vectors > 1 << 16 ||
	    !memory_get(search->memory, (uintptr_t)context.device, &device, sizeof(device)) ||
	    !is_name(device.name) || !is_name(device.dev_name))
		return;
	added = vec_push(search->handles->contexts, search->handles->ncontexts);
	if (!added || map_put(&search->contexts, start, 1)) {
		search->err = -ENOMEM;
		return;
	}
	search->lowest = search->lowest < start ? search->lowest : start;
	search->highest = search->highest > start ? search->highest : start;
	added->at = start;
	added->cmd_fd = context.cmd_fd;
	added->async_fd = context.async_fd;
	added->vectors = context.num_comp_vectors;
	memcpy(added->name, device.name, sizeof(added->name));
	memcpy(added->dev_name, device.dev_name, sizeof(added->dev_name));
}

/* Objects of a context */

/* Does @object, an address in the program, begin with the address @context? */
static bool is_of_context(const struct memory_search *search, const void *object, uint64_t context)
{
	uint64_t first;

	return memory_get(search->memory, (uintptr_t)object, &first, sizeof(first)) &&
	       first == context;
}

static bool is_known(struct memory_search *search, uint64_t at)
{
	uint64_t ignored;

	if (map_get(&search->known, at, &ignored))
		return true;
	if (map_put(&search->known, at, 1))
		search->err = -ENOMEM;
	return false;
}

static bool is_qp_type(unsigned int type)
{
	return (type >= IBV_QPT_RC && type <= IBV_QPT_UD) ||
	       (type >= IBV_QPT_RAW_PACKET && type <= IBV_QPT_XRC_RECV) || type == IBV_QPT_DRIVER;
}

/* A channel of @context, with an open descriptor for events, in *@ret. */
static bool read_channel(const struct memory_search *search, uint64_t at, uint64_t context,
			 struct ibv_comp_channel *ret)
{
	const struct target *process = &search->facts->process;
	const struct target_fd *fd;

	if (!memory_get(search->memory, at, ret, sizeof(*ret)) ||
	    (uintptr_t)ret->context != context || !is_open(search, ret->fd) || ret->refcnt < 1 ||
	    ret->refcnt > HANDLES_MAX)
		return false;
	fd = target_fd_find(process, ret->fd);
	return search->facts->is_core || fd->kind == TARGET_FD_COMP_EVENT ||
	       fd->kind == TARGET_FD_SOFT_PIPE;
}

/* glibc's plain mutex: the lock word is 0, 1 or 2, and the kind 0. */
static bool is_mutex(const pthread_mutex_t *mutex)
{
	return mutex->__data.__lock >= 0 && mutex->__data.__lock <= 2 && !mutex->__data.__kind;
}

/* Add the object at @at, if it is a CQ and not known yet. With @sure it need not have a channel. */
static void add_cq(struct memory_search *search, uint64_t at, uint64_t context, bool sure)
{
	struct handles *handles = search->handles;
	struct ibv_comp_channel channel = { .fd = -1 };
	struct handle_cq *added;
	struct ibv_cq cq;

	if (!memory_get(search->memory, at, &cq, sizeof(cq)) || cq.cqe < 1 || cq.cqe > 1 << 28 ||
	    (!cq.channel && !sure) || !is_mutex(&cq.mutex))
		return;
	if (cq.channel && !read_channel(search, (uintptr_t)cq.channel, context, &channel))
		return;
	if (is_known(search, at) || handles->ncqs >= HANDLES_MAX)
		return;
	added = vec_push(handles->cqs, handles->ncqs);
	if (!added) {
		search->err = -ENOMEM;
		return;
	}
	*added = (struct handle_cq){
		.at = at,
		.context = context,
		.channel = (uintptr_t)cq.channel,
		.fd = channel.fd,
		.cqe = cq.cqe,
		.events_acked = cq.comp_events_completed,
		.slot = -1,
	};
	soft_read_cq(search->facts, added);
	rxe_read_cq(search->facts, added);
}

/* Is the queue pair alive? Checked on a device whose queue pairs are known from elsewhere. */
static bool is_alive(const struct memory_search *search, uint32_t qpn)
{
	const struct facts *facts = search->facts;

	if (facts->fabric.instance)
		return fabric_qp_find(&facts->fabric, qpn);
	for (size_t i = 0; i < facts->kernel.n; i++)
		if (facts->kernel.objects[i].kind == KERNEL_QP &&
		    facts->kernel.objects[i].number == qpn)
			return true;
	return !facts->kernel.n;
}

static bool add_qp(struct memory_search *search, uint64_t at, uint64_t context)
{
	struct handles *handles = search->handles;
	struct handle_qp *added;
	struct ibv_qp qp;

	if (!memory_get(search->memory, at, &qp, sizeof(qp)) ||
	    !is_qp_type((unsigned int)qp.qp_type) || (unsigned int)qp.state > IBV_QPS_ERR ||
	    qp.qp_num >> 24 || !is_of_context(search, qp.pd, context) ||
	    (qp.send_cq && !is_of_context(search, qp.send_cq, context)) ||
	    (qp.recv_cq && !is_of_context(search, qp.recv_cq, context)) ||
	    (qp.srq && !is_of_context(search, qp.srq, context)))
		return false;
	if (is_known(search, at) || handles->nqps >= HANDLES_MAX)
		return true;
	added = vec_push(handles->qps, handles->nqps);
	if (!added) {
		search->err = -ENOMEM;
		return true;
	}
	*added = (struct handle_qp){
		.at = at,
		.context = context,
		.pd = (uintptr_t)qp.pd,
		.send_cq = (uintptr_t)qp.send_cq,
		.recv_cq = (uintptr_t)qp.recv_cq,
		.srq = (uintptr_t)qp.srq,
		.qpn = qp.qp_num,
		.state = qp.state,
		.type = qp.qp_type,
		.events_completed = qp.events_completed,
		.gone = !is_alive(search, qp.qp_num),
	};
	if (!added->gone) {
		soft_read_sq(search->facts, added);
		rxe_read_qp(search->facts, added);
	}
	if (qp.send_cq)
		add_cq(search, (uintptr_t)qp.send_cq, context, true);
	if (qp.recv_cq)
		add_cq(search, (uintptr_t)qp.recv_cq, context, true);
	return true;
}

static bool is_mapped(const struct memory_search *search, uint64_t at, uint64_t n)
{
	const struct memory_range *range = memory_range_at(search->memory, at);

	return range && n <= range->end - at;
}

static bool add_mr(struct memory_search *search, uint64_t at, uint64_t context)
{
	struct handles *handles = search->handles;
	struct handle_mr *added;
	struct ibv_mr mr;

	if (!memory_get(search->memory, at, &mr, sizeof(mr)) || !mr.length || !mr.lkey ||
	    !is_of_context(search, mr.pd, context) ||
	    !is_mapped(search, (uintptr_t)mr.addr, mr.length) || handles->nmrs >= HANDLES_MAX)
		return false;
	added = vec_push(handles->mrs, handles->nmrs);
	if (added)
		*added = (struct handle_mr){ at,        context, (uintptr_t)mr.addr,
					     mr.length, mr.lkey, mr.rkey };
	else
		search->err = -ENOMEM;
	return true;
}

static void visit_context(struct memory_search *search, uint64_t at, uint64_t context)
{
	if (!add_qp(search, at, context) && !add_mr(search, at, context))
		add_cq(search, at, context, false);
}

static int open_pagemap(const struct facts *facts)
{
	char path[64];

	if (facts->is_core)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)facts->process.pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int handles_find(struct facts *facts, struct handles *ret_handles)
{
	const struct memory *memory = &facts->memory;
	struct memory_range *sorted = calloc(memory->nranges + 1, sizeof(*sorted));
	struct memory_search search = {
		.facts = facts,
		.memory = memory,
		.handles = ret_handles,
		.pagemap = open_pagemap(facts),
		.until = clock_monotonic() + (facts->is_core ? SEARCH_CORE_TIME : SEARCH_TIME),
		.lowest = UINT64_MAX,
		.buffer = malloc(CHUNK),
	};

	*ret_handles = (struct handles){ 0 };
	search.err = sorted && search.buffer ? 0 : -ENOMEM;
	if (!search.err) {
		memcpy(sorted, memory->ranges, memory->nranges * sizeof(*sorted));
		qsort(sorted, memory->nranges, sizeof(*sorted), compare_sizes);
		search_all(&search, sorted, visit_ones, true);
	}
	if (!search.err && ret_handles->ncontexts)
		search_all(&search, sorted, visit_context, false);
	free(sorted);
	free(search.buffer);
	map_fini(&search.contexts);
	map_fini(&search.known);
	if (search.pagemap >= 0)
		close(search.pagemap);
	if (search.err)
		handles_fini(ret_handles);
	return search.err;
}

void handles_fini(struct handles *handles)
{
	free(handles->contexts);
	free(handles->qps);
	free(handles->cqs);
	free(handles->mrs);
	*handles = (struct handles){ 0 };
}

const struct handle_qp *handles_qp(const struct handles *handles, uint32_t qpn)
{
	for (size_t i = 0; i < handles->nqps; i++)
		if (handles->qps[i].qpn == qpn && !handles->qps[i].gone)
			return &handles->qps[i];
	return NULL;
}
