/*
 * Work queues and device memory, over a provider that does nothing
 */
#include <errno.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "core/wire/codec.h"
#include "core/wire/desc.h"
#include "shim/trace/verbs/wq_dm.h"
#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

static int post_recv(struct ibv_wq *wq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)wq;
	*bad = wr->next;
	return ENOMEM;
}

static int to_dm(struct ibv_dm *dm, uint64_t offset, const void *addr, size_t length)
{
	(void)dm, (void)addr;
	return offset == 8 && length == 4 ? 0 : EINVAL;
}

static int from_dm(void *addr, struct ibv_dm *dm, uint64_t offset, size_t length)
{
	(void)addr, (void)dm, (void)offset, (void)length;
	errno = EIO;
	return EFAULT;
}

static void post_body(void)
{
	struct ibv_wq wq = { .post_recv = post_recv };
	struct ibv_sge sge = { 0x1000, 64, 7 };
	struct ibv_recv_wr second = { .wr_id = 2 };
	struct ibv_recv_wr first = { .wr_id = 1, .next = &second, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;
	const struct event_post *post;
	struct ring ring;

	session_begin(RING_MIN, ON_FULL_WAIT);
	HOLDS(wq_patch(&wq) == 0 && wq.post_recv != post_recv && wq_patch(&wq) == 0);
	HOLDS(ibv_post_wq_recv(&wq, &first, &bad) == ENOMEM && bad == &second);
	ring = session_ring(0);
	post = expect_event(&ring, EVENT_POST);
	HOLDS(post && post->verb == VERB_post_wq_recv && post->object == (uintptr_t)&wq);
	HOLDS(post->nwr == 2 && post->ret == ENOMEM && post->bad == 2);
	HOLDS(!expect_event(&ring, EVENT_POST));
}

TEST(receive_of_a_work_queue_is_a_post)
{
	in_child(post_body);
}

static void copy_body(void)
{
	struct ibv_dm dm = { .memcpy_to_dm = to_dm, .memcpy_from_dm = from_dm };
	const struct event_call *call;
	const struct event_return *ret;
	struct ring ring;
	uint32_t word = 0;

	session_begin(RING_MIN, ON_FULL_WAIT);
	HOLDS(dm_patch(&dm) == 0 && dm.memcpy_to_dm != to_dm && dm.memcpy_from_dm != from_dm);
	HOLDS(ibv_memcpy_to_dm(&dm, 8, &word, sizeof(word)) == 0);
	HOLDS(ibv_memcpy_from_dm(&word, &dm, 8, sizeof(word)) == EFAULT && errno == EIO);
	ring = session_ring(0);
	call = expect_event(&ring, EVENT_CALL);
	HOLDS(call && call->verb == VERB_memcpy_to_dm);
	ret = expect_event(&ring, EVENT_RETURN);
	HOLDS(ret && ret->ret == 0);
	call = expect_event(&ring, EVENT_CALL);
	HOLDS(call && call->verb == VERB_memcpy_from_dm);
	ret = expect_event(&ring, EVENT_RETURN);
	HOLDS(ret && ret->ret == EFAULT && ret->error == EIO);
}

TEST(copies_of_device_memory_are_calls)
{
	in_child(copy_body);
}
