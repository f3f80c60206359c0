/*
 * The rings of this process
 *
 *	thread begins --> rings_take(), else rings_make()
 *	thread ends   --> rings_give(): the ring waits, mapped, for the next thread
 *
 * So programs of many short threads make no more files than they have threads
 * at one time. What the thread before has counted stays in the head until the
 * next one has said in the ring that it has taken over (EVENT_THREAD).
 *
 * The first FULL rings have the session's size, what comes above is small.
 *
 * With a tap each thread has a ring of its own: it names threads by their rings.
 */
#include "shim/trace/rings.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/trace/process.h"
#include "shim/trace/record.h"
#include "shim/trace/tap.h"

enum {
	FULL = 64,          /* rings of full size in one process */
	WAITING = 64,       /* at most, without a thread */
	CHUNK = 256 << 10,  /* bytes of slots at a time */
};

enum use { FREE, WAITS, USED };

struct slot {
	struct ring ring; /* while it waits; in use only its head and mask */
	enum use use;
	struct slot *next;
};

static struct slot *slots; /* all there are */
static _Atomic unsigned int used;
static unsigned int waiting;

void rings_forget(void)
{
	for (struct slot *slot = slots; slot; slot = slot->next) {
		if (slot->use == WAITS)
			ring_close(&slot->ring);
		slot->use = FREE;
	}
	used = waiting = 0;
}

static struct slot *find(enum use use)
{
	for (struct slot *slot = slots; slot; slot = slot->next)
		if (slot->use == use)
			return slot;
	return NULL;
}

static struct slot *find_head(const struct ring_head *head)
{
	for (struct slot *slot = slots; slot; slot = slot->next)
		if (slot->use != FREE && slot->ring.head == head)
			return slot;
	return NULL;
}

static struct slot *new_slot(void)
{
	struct slot *slot = find(FREE);

	if (slot)
		return slot;
	slot = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (slot == MAP_FAILED)
		return NULL;
	for (size_t i = 0; i < CHUNK / sizeof(*slot); i++) {
		slot[i].next = slots;
		slots = &slot[i];
	}
	return slots;
}

bool rings_take(struct ring *ret_ring)
{
	struct slot *slot;

	record_lock();
	slot = waiting ? find(WAITS) : NULL;
	if (slot) {
		slot->use = USED;
		waiting--;
		used++;
		*ret_ring = slot->ring;
	}
	record_unlock();
	return slot;
}

static int make_sized(struct session *session, int at, uint32_t index, uint64_t bytes,
		      struct ring *ret_ring)
{
	char name[SESSION_NAME];
	int err;

	session_ring_name(index, name);
	if (session->page->on_full != ON_FULL_GROW)
		return ring_create_at(ret_ring, at, name, bytes, index, process_image());
	if (!session_take(session, RING_PAGE + 2 * bytes))
		return -EDQUOT;
	err = ring_create_growing(ret_ring, at, name, bytes, index, process_image());
	if (err)
		session_give_back(session, RING_PAGE + 2 * bytes);
	return err;
}

static int make(struct session *session, struct ring *ret_ring)
{
	uint32_t index = atomic_fetch_add(&session->page->rings, 1);
	uint64_t bytes = used < FULL ? session->page->ring_bytes : RING_MIN;
	int at, err;

	if (index >= SESSION_RINGS)
		return -EMFILE;
	if (session_is_alone(session))
		return ring_create_alone(ret_ring, bytes, index);
	at = session_open_dir(session);
	if (at < 0)
		return at;
	err = make_sized(session, at, index, bytes, ret_ring);
	if ((err == -ENOSPC || err == -EDQUOT) && bytes > RING_MIN)
		err = make_sized(session, at, index, RING_MIN, ret_ring);
	close(at);
	return err;
}

int rings_make(struct session *session, struct ring *ret_ring)
{
	struct slot *slot;
	struct ring ring;
	int err = make(session, &ring);

	if (err)
		return err;
	record_lock();
	slot = new_slot();
	if (slot) {
		slot->ring = ring;
		slot->use = USED;
		used++;
	}
	record_unlock();
	if (!slot) {
		ring_close(&ring);
		return -ENOMEM;
	}
	*ret_ring = ring;
	return 0;
}

/* Nobody takes the ring's file away when the thread has ended. */
static void trim(struct session *session, struct ring *ring)
{
	uint64_t tail = atomic_load_explicit(&ring->head->tail, memory_order_relaxed);
	uint64_t first = atomic_load_explicit(&ring->head->head, memory_order_relaxed);
	char name[SESSION_NAME];
	int at;

	if (!ring->head->grows)
		return;
	session_ring_name(ring->head->index, name);
	at = session_open_dir(session);
	if (at >= 0) {
		ring_trim(ring, at, name);
		close(at);
	}
	session_give_back(session, first + 2 * ring->head->bytes - tail);
}

void rings_give(struct session *session, struct ring *ring, uint64_t ticks, bool torn)
{
	struct slot *slot;

	record_lock();
	slot = find_head(ring->head);
	if (slot) {
		used--;
		slot->use = waiting < WAITING && !torn && !tap_get() ? WAITS : FREE;
		slot->ring = *ring;
	}
	if (slot && slot->use == WAITS) {
		waiting++;
		/* pairs with the load in find_gone_threads(): the thread is not missed */
		atomic_store_explicit(&ring->head->idle, 1, memory_order_release);
	} else {
		trim(session, ring);
		/* pairs with the load in feed_ended(): all events are committed before it */
		atomic_store_explicit(&ring->head->closed, ticks, memory_order_release);
		ring_close(ring);
	}
	record_unlock();
	*ring = (struct ring){ 0 };
}

void rings_each_locked(void (*visit)(struct ring_head *head, void *arg), void *arg)
{
	for (struct slot *slot = slots; slot; slot = slot->next)
		if (slot->use == USED)
			visit(slot->ring.head, arg);
}

void rings_each(void (*visit)(struct ring_head *head, void *arg), void *arg)
{
	record_lock();
	for (struct slot *slot = slots; slot; slot = slot->next)
		if (slot->use != FREE)
			visit(slot->ring.head, arg);
	record_unlock();
}
