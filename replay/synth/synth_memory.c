/*
 * Memory of a synthesized end: the ranges that the recorded side named
 *
 *	recorded  rkey 7:  |==read==|...|=write=|          |==write==|
 *	replayed           |=======one region===|          |==region=|
 *
 * Ranges of one key that lie close together form one region. Distances are kept, so that recorded
 * ranges that overlapped, even with another key, overlap in the replay. A request that was refused
 * uses an invalid key.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/wire/log.h"
#include "replay/synth/synth_priv.h"

#define NEAR (1u << 20) /* bytes between ranges of one region at most */

static struct synth_region *find_region(const struct synth_host *host, uint32_t rkey)
{
	uint64_t i;

	return map_get(&host->by_rkey, rkey, &i) ? &host->regions[i] : NULL;
}

static bool is_near(const struct synth_range *range, uint64_t start, uint64_t end)
{
	return start <= range->end + NEAR && range->start <= end + NEAR;
}

/* Range @i has grown: join it with others that are near now. */
static void join_ranges(struct synth_region *region, size_t i)
{
	struct synth_range *grown = &region->ranges[i];

	for (size_t k = 0; k < region->nranges; k++) {
		struct synth_range *other = &region->ranges[k];

		if (other == grown || !is_near(grown, other->start, other->end))
			continue;
		if (other->start < grown->start)
			grown->start = other->start;
		if (other->end > grown->end)
			grown->end = other->end;
		*other = region->ranges[--region->nranges];
		if (grown == &region->ranges[region->nranges])
			grown = other;
		k = SIZE_MAX; /* from the start */
	}
}

static int add_to_region(struct synth_region *region, uint64_t start, uint64_t end)
{
	struct synth_range *range;

	for (size_t i = 0; i < region->nranges; i++) {
		range = &region->ranges[i];
		if (start >= range->start && end <= range->end)
			return 0;
		if (!is_near(range, start, end))
			continue;
		range->start = start < range->start ? start : range->start;
		range->end = end > range->end ? end : range->end;
		join_ranges(region, i);
		return 0;
	}
	range = vec_push(region->ranges, region->nranges);
	if (!range)
		return -ENOMEM;
	range->start = start;
	range->end = end;
	return 0;
}

int synth_add_range(struct synth_host *host, uint32_t rkey, uint64_t addr, uint64_t length,
		    int access)
{
	struct synth_region *region = find_region(host, rkey);

	if (!length || addr + length < addr)
		return 0;
	if (!region) {
		region = vec_push(host->regions, host->nregions);
		if (!region || map_put(&host->by_rkey, rkey, host->nregions - 1))
			return -ENOMEM;
		region->rkey = rkey;
	}
	region->access |= access;
	return add_to_region(region, addr, addr + length);
}

uint64_t synth_host_bytes(const struct synth_host *host)
{
	uint64_t bytes = 2 * host->longest;

	for (size_t i = 0; i < host->nregions; i++)
		for (size_t k = 0; k < host->regions[i].nranges; k++) {
			const struct synth_range *range = &host->regions[i].ranges[k];

			if (__builtin_add_overflow(bytes, range->end - range->start, &bytes))
				return UINT64_MAX;
		}
	return bytes;
}

static int add_ranges(struct synth_host *host)
{
	int err = memory_new(&host->memory);

	for (size_t i = 0; i < host->nregions && !err; i++)
		for (size_t k = 0; k < host->regions[i].nranges && !err; k++) {
			const struct synth_range *range = &host->regions[i].ranges[k];

			err = memory_add(host->memory, range->start, range->end - range->start);
		}
	return err ? err : memory_map(host->memory);
}

static int register_region(struct synth_host *host, struct synth_region *region)
{
	int access = region->access | IBV_ACCESS_LOCAL_WRITE;

	for (size_t i = 0; i < region->nranges; i++) {
		struct synth_range *range = &region->ranges[i];
		void *at = memory_at(host->memory, range->start);

		range->mr = at ? ibv_reg_mr(host->pd, at, range->end - range->start, access) : NULL;
		if (!range->mr)
			return log_err(-errno,
				       "register memory of the synthesized peer for key 0x%x",
				       region->rkey);
	}
	return 0;
}

int synth_map_regions(struct synth_host *host)
{
	int err = add_ranges(host);

	for (size_t i = 0; i < host->nregions && !err; i++)
		err = register_region(host, &host->regions[i]);
	return err;
}

void synth_unmap(struct synth_host *host)
{
	for (size_t i = 0; i < host->nregions; i++) {
		for (size_t k = 0; k < host->regions[i].nranges; k++)
			if (host->regions[i].ranges[k].mr)
				ibv_dereg_mr(host->regions[i].ranges[k].mr);
		free(host->regions[i].ranges);
	}
	free(host->regions);
	for (size_t i = 0; i < host->nwindows; i++)
		if (host->windows[i])
			ibv_dealloc_mw(host->windows[i]);
	free(host->windows);
	map_fini(&host->by_rkey);
	memory_free(host->memory);
}

static const struct synth_range *find_range(const struct synth_host *host, uint32_t rkey,
					    uint64_t addr)
{
	const struct synth_region *region = find_region(host, rkey);

	for (size_t i = 0; region && i < region->nranges; i++)
		if (addr >= region->ranges[i].start && addr < region->ranges[i].end)
			return &region->ranges[i];
	return region && region->nranges ? &region->ranges[0] : NULL;
}

void synth_remote_address(struct replay *r, const struct trace_event *event, uint32_t index,
			  uint64_t *addr, uint32_t *rkey)
{
	const struct synth_plan *plan = synth_plan_of(r, event->post->object);
	const struct synth_host *host = plan && plan->ends ? plan->ends->host : NULL;
	const struct synth_range *range = host ? find_range(host, *rkey, *addr) : NULL;
	uint64_t status;

	if (!host)
		return;
	if (map_get(&r->far->failed, event_part_key(event->id, index), &status) &&
	    status == IBV_WC_REM_ACCESS_ERR) {
		*rkey = host->closed->rkey;
	} else if (range && range->mr) {
		*rkey = range->mr->rkey;
		*addr = *addr - range->start + (uintptr_t)range->mr->addr;
	}
}

/* Post the request that binds @mw, and wait for it. */
static int open_window(struct synth_end *end, struct ibv_mw *mw)
{
	struct synth_host *host = end->host;
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_BIND_MW };
	int ret;

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = host->buffer_mr,
		.addr = (uintptr_t)host->buffer_mr->addr,
		.length = 1,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	ret = ibv_post_send(end->qp, &wr, &bad);
	if (!ret)
		mw->rkey = wr.bind_mw.rkey;
	return -ret;
}

/* Bind the window that a message will invalidate: only windows can be invalidated remotely. */
int synth_bind(struct replay *r, struct synth_end *end, const struct trace_event *event,
	       uint32_t index)
{
	struct synth_host *host = end->host;
	struct ibv_mw **window = vec_push(host->windows, host->nwindows);
	int err;

	if (!window)
		return -ENOMEM;
	*window = ibv_alloc_mw(host->pd, IBV_MW_TYPE_2);
	err = *window ? open_window(end, *window) : -errno;
	if (err)
		return log_err(err, "create a window of the synthesized peer");
	return map_put(&r->far->closes, event_part_key(event->id, index), (*window)->rkey);
}

uint32_t synth_window_key(struct replay *r, const struct trace_event *event, uint32_t index)
{
	uint64_t rkey;

	return r->far && map_get(&r->far->closes, event_part_key(event->id, index), &rkey)
		       ? (uint32_t)rkey
		       : 0;
}

static uint64_t length_of(const struct wr *wr)
{
	uint64_t length = 0;

	for (uint32_t i = 0; i < wr->nsge; i++)
		length += wr->sge[i].length;
	return length;
}

/*
 * Before request @index of @event reads or fetches: write the recorded bytes into the memory of the
 * end.
 */
int synth_fill_message(struct replay *r, const struct synth_end *end,
		       const struct trace_event *event, uint32_t index)
{
	const struct wr *wr = &event->post->wr[index];
	const struct synth_range *range = find_range(end->host, wr->rkey, wr->remote_addr);
	const struct synth_fetch *fetch;
	struct payload payload;
	uint64_t i, n;
	char *at;
	int found;

	if (!range || !range->mr || !map_get(&r->far->reads, event_part_key(event->id, index), &i))
		return 0;
	fetch = &r->far->fetched[i - 1];
	found = trace_payload(r->trace, fetch->poll, fetch->index, &payload);
	if (found <= 0)
		return found;
	n = payload.nbytes < length_of(wr) ? payload.nbytes : length_of(wr);
	at = memory_at(end->host->memory, wr->remote_addr);
	if (at && memory_holds(end->host->memory, at, n) && memcmp(at, payload.bytes, n))
		memcpy(at, payload.bytes, n);
	return 0;
}
