/*
 * The function pointers in a work queue and in device memory
 *
 * A receive posted to a work queue is a post like any other. A copy to or from device memory is
 * recorded as a control verb: recording costs little compared with moving the bytes over a bus.
 */
#include "shim/trace/verbs/wq_dm.h"

#include "shim/trace/payload/payload.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/verbs/call.h"
#include "shim/trace/verbs/post.h"
#include "shim/trace/verbs/slots.h"

typedef int memcpy_to_dm_fn(struct ibv_dm *, uint64_t, const void *, size_t);
typedef int memcpy_from_dm_fn(void *, struct ibv_dm *, uint64_t, size_t);

#include "gen/copies_gen.h"

static void *post_recvs[SLOTS], *memcpy_to_dm[SLOTS], *memcpy_from_dm[SLOTS];

#define FUNCTIONS(i)                                                                               \
	static int post_recv_##i(struct ibv_wq *wq, struct ibv_recv_wr *wr,                        \
				 struct ibv_recv_wr **bad)                                         \
	{                                                                                          \
		return post_wq_recv(wq, wr, bad, (post_wq_recv_fn *)post_recvs[i],                 \
				    __builtin_frame_address(0));                                   \
	}                                                                                          \
	static int memcpy_to_dm_##i(struct ibv_dm *dm, uint64_t offset, const void *addr,          \
				    size_t length)                                                 \
	{                                                                                          \
		return dm_memcpy_to_dm((memcpy_to_dm_fn *)memcpy_to_dm[i], dm, offset, addr,       \
				       length);                                                    \
	}                                                                                          \
	static int memcpy_from_dm_##i(void *addr, struct ibv_dm *dm, uint64_t offset,              \
				      size_t length)                                               \
	{                                                                                          \
		return dm_memcpy_from_dm((memcpy_from_dm_fn *)memcpy_from_dm[i], addr, dm, offset, \
					 length);                                                  \
	}

EACH_SLOT(FUNCTIONS)

static void *const our_post_recv[SLOTS] = SLOT_NAMES(post_recv);
static void *const our_memcpy_to_dm[SLOTS] = SLOT_NAMES(memcpy_to_dm);
static void *const our_memcpy_from_dm[SLOTS] = SLOT_NAMES(memcpy_from_dm);

static int patch_pointer(void **pointer, void *originals[SLOTS], void *const ours[SLOTS])
{
	int err;

	recording_lock();
	err = slots_patch(pointer, originals, ours);
	recording_unlock();
	return err;
}

int wq_patch(struct ibv_wq *wq)
{
	return patch_pointer((void **)&wq->post_recv, post_recvs, our_post_recv);
}

int dm_patch(struct ibv_dm *dm)
{
	int err = patch_pointer((void **)&dm->memcpy_to_dm, memcpy_to_dm, our_memcpy_to_dm);

	return patch_pointer((void **)&dm->memcpy_from_dm, memcpy_from_dm, our_memcpy_from_dm)
		       ?: err;
}
