/*
 * The rings of this process
 *
 *	thread begins --> rings_take(), else rings_make()
 *	thread ends   --> rings_release(): the ring stays mapped for the next thread
 *
 * So a program with many short threads creates only as many files as it has threads at the same
 * time. The counters of the previous thread stay in the head until the next thread has written
 * EVENT_THREAD, which reports the new owner.
 *
 * A ring begins narrow and is extended with use (wait.c), as long as all rings of the process
 * together stay within its budget. A part of the budget is reserved for narrow rings, so that a few
 * busy threads do not use all of it. The share of a closed ring is returned when the collector has
 * read it.
 *
 * With a tap, rings are not reused: the tap identifies threads by their rings.
 */
#include "shim/trace/ring/rings.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/wire/budget.h"
#include "shim/trace/base/permit.h"
#include "shim/trace/base/quiet.h"
#include "shim/trace/base/tap.h"
#include "shim/trace/ring/record.h"

enum {
	WAITING = 64,      /* maximum number of rings without a thread */
	CLOSED_FEW = 64,   /* fewer closed rings are not checked */
	FIRST_RINGS = 2,   /* 1/FIRST_RINGS of the budget is reserved for narrow rings */
	CHUNK = 256 << 10, /* bytes of slots that are allocated at a time */
	TRIES = 16,        /* ring numbers that are tried */
	ASIDE = 32,        /* rings for a process that changes its user */
};

/*
 * CLOSED: no thread has the ring, but the collector may not have read it yet. ASIDE_RING: never
 * used; children inherit it, and the first process that takes it owns it.
 */
enum slot_use { FREE, WAITS, USED, CLOSED, ASIDE_RING };

struct ring_slot {
	/* complete while the ring is free; while it is in use, only head and mask */
	struct ring ring;
	struct ring *live; /* the ring of the thread that uses it */
	enum slot_use use;
	struct ring_slot *next;
};

static struct ring_slot *slots; /* list of all slots */
static unsigned int waiting, closed, closed_much = CLOSED_FEW;
static uint64_t image; /* ticks when this image of the process joined */
static uint64_t budget;
static _Atomic uint64_t charged; /* bytes of the budget that are in use */

static uint64_t choose_budget(const struct session_page *page)
{
	uint64_t own;

	if (page->budget_given)
		return page->ring_budget;
	own = budget_choose_default(budget_cgroup_limit(NULL, NULL));
	return own < page->ring_budget ? own : page->ring_budget;
}

void rings_begin(const struct session *session, uint64_t begun)
{
	for (struct ring_slot *slot = slots; slot; slot = slot->next) {
		if (slot->use == WAITS || slot->use == CLOSED)
			ring_close(&slot->ring);
		slot->ring.charged = 0; /* charged to the budget of another process */
		if (slot->use != ASIDE_RING)
			slot->use = FREE;
	}
	waiting = closed = 0;
	charged = 0;
	image = begun;
	if (session->page->on_full != ON_FULL_GROW && !session_is_alone(session))
		budget = choose_budget(session->page);
}

static bool charge_budget(uint64_t bytes, uint64_t most)
{
	if (atomic_fetch_add_explicit(&charged, bytes, memory_order_relaxed) + bytes <= most)
		return true;
	atomic_fetch_sub_explicit(&charged, bytes, memory_order_relaxed);
	return false;
}

/*
 * Count a withheld ring or growth in the shared page, for the final report. The budget is written
 * only if it is smaller than the value in the page.
 */
static void report_withheld(struct session_page *page, _Atomic uint32_t *count)
{
	uint64_t least = atomic_load(&page->withheld_budget);

	while ((!least || budget < least) &&
	       !atomic_compare_exchange_weak(&page->withheld_budget, &least, budget))
		;
	atomic_fetch_add(count, 1);
}

static struct ring_slot *find_slot(enum slot_use use)
{
	for (struct ring_slot *slot = slots; slot; slot = slot->next)
		if (slot->use == use)
			return slot;
	return NULL;
}

static struct ring_slot *find_head(const struct ring_head *head)
{
	for (struct ring_slot *slot = slots; slot; slot = slot->next)
		if (slot->use == USED && slot->ring.head == head)
			return slot;
	return NULL;
}

/* Unmap the closed rings that the collector has read completely; it removes their files. */
static void forget_read(void)
{
	for (struct ring_slot *slot = slots; slot && permit_has(NEED_END); slot = slot->next) {
		if (slot->use != CLOSED || !ring_is_read(&slot->ring))
			continue;
		atomic_fetch_sub_explicit(&charged, slot->ring.charged, memory_order_relaxed);
		ring_close(&slot->ring);
		slot->use = FREE;
		closed--;
	}
	closed_much = 2 * closed + CLOSED_FEW;
}

static struct ring_slot *new_slot(void)
{
	struct ring_slot *slot = find_slot(FREE);

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
	struct ring_slot *slot;

	recording_lock();
	slot = waiting ? find_slot(WAITS) : NULL;
	if (slot) {
		slot->use = USED;
		waiting--;
		*ret_ring = slot->ring;
		slot->live = ret_ring;
	}
	recording_unlock();
	return slot;
}

static int make_growing(struct session *session, int at, const char *name, uint64_t bytes,
			uint32_t index, struct ring *ret_ring)
{
	int err;

	if (!session_reserve(session, RING_PAGE + 2 * bytes))
		return -EDQUOT;
	err = ring_create_growing(ret_ring, at, name, bytes, index, image);
	if (err)
		session_unreserve(session, RING_PAGE + 2 * bytes);
	return err;
}

static int make_narrow(struct session *session, int at, const char *name, uint32_t index,
		       struct ring *ret_ring)
{
	const uint64_t bytes = RING_PAGE + RING_NARROW;
	bool may = charge_budget(bytes, budget);
	int err;

	if (!may) {
		recording_lock();
		forget_read();
		recording_unlock();
		may = charge_budget(bytes, budget);
	}
	if (!may) {
		report_withheld(session->page, &session->page->denied);
		return -EDQUOT;
	}
	err = ring_create_narrow(ret_ring, at, name, session->page->ring_bytes, index, image);
	if (err)
		atomic_fetch_sub_explicit(&charged, bytes, memory_order_relaxed);
	else
		ret_ring->charged = bytes;
	return err;
}

static int make_numbered(struct session *session, uint32_t index, struct ring *ret_ring)
{
	uint64_t bytes = session->page->ring_bytes;
	char name[SESSION_NAME];
	int at, err;

	if (index >= SESSION_RINGS)
		return -EMFILE;
	if (session_is_alone(session))
		return ring_create_alone(ret_ring, bytes, index);
	session_ring_name(index, name);
	at = session_open_dir(session);
	if (at < 0)
		return at;
	if (session->page->on_full != ON_FULL_GROW)
		err = make_narrow(session, at, name, index, ret_ring);
	else
		err = make_growing(session, at, name, bytes, index, ret_ring);
	if (session->page->on_full == ON_FULL_GROW && (err == -ENOSPC || err == -EDQUOT) &&
	    bytes > RING_MIN)
		err = make_growing(session, at, name, RING_MIN, index, ret_ring);
	close(at);
	return err;
}

/*
 * Create a ring; try further numbers if one is in use, which can happen only if the shared count
 * was overwritten.
 */
static int make_ring(struct session *session, struct ring *ret_ring)
{
	int err = -EEXIST;

	for (int i = 0; i < TRIES && err == -EEXIST; i++)
		err = make_numbered(session, session_new_ring(session), ret_ring);
	return err;
}

void rings_set_aside(struct session *session)
{
	unsigned int n = 0;

	if (session_is_alone(session) || session->page->on_full == ON_FULL_GROW ||
	    !permit_has(NEED_RING | NEED_QUIET))
		return;
	recording_lock();
	for (struct ring_slot *slot = slots; slot; slot = slot->next)
		n += slot->use == ASIDE_RING;
	recording_unlock();
	for (; n < ASIDE; n++) {
		struct ring_slot *slot = NULL;
		struct ring ring;

		if (make_ring(session, &ring))
			return;
		atomic_store(&ring.head->owner, 0);
		recording_lock();
		slot = new_slot();
		if (slot) {
			slot->ring = ring;
			slot->use = ASIDE_RING;
		}
		recording_unlock();
		if (!slot)
			ring_close(&ring);
	}
}

/*
 * Take a ring that was set aside, whose file belongs to the process's former user. False: no such
 * ring is left.
 */
static bool take_reserved_ring(struct ring *ret_ring)
{
	const uint32_t me = (uint32_t)gettid();
	bool taken = false;

	recording_lock();
	for (struct ring_slot *slot = slots; slot && !taken; slot = slot->next) {
		uint32_t nobody = 0;

		if (slot->use != ASIDE_RING)
			continue;
		/* parent and children have the ring in their lists, too: the head decides */
		taken = atomic_compare_exchange_strong(&slot->ring.head->owner, &nobody, me);
		slot->use = taken ? USED : FREE;
		slot->live = ret_ring;
		if (taken)
			*ret_ring = slot->ring;
		else
			ring_close(&slot->ring);
	}
	recording_unlock();
	if (!taken)
		return false;
	ret_ring->head->pid = (uint32_t)getpid();
	ret_ring->head->tid = me;
	ret_ring->head->image = image;
	return true;
}

/* Areas that the reader has left by now are not charged any more. */
int rings_widen(struct session *session, struct ring *ring, bool must)
{
	const uint64_t has = ring_footprint(ring), wants = has + ring_next_area_bytes(ring);
	char name[SESSION_NAME];
	struct quiet quiet;
	int at, err;

	if (!charge_budget(wants - ring->charged,
			   must ? UINT64_MAX : budget - budget / FIRST_RINGS)) {
		if (!ring->withheld)
			report_withheld(session->page, &session->page->withheld);
		ring->withheld = true;
		return -EDQUOT;
	}
	session_ring_name(ring->head->index, name);
	quiet_begin(&quiet);            /* a signal would interrupt posix_fallocate() */
	at = session_open_dir(session); /* fails after a change of the user or the root directory */
	err = ring_widen(ring, at, name);
	if (at >= 0)
		close(at);
	quiet_end(&quiet);
	ring->charged = err ? has : wants;
	if (err)
		atomic_fetch_sub_explicit(&charged, wants - has, memory_order_relaxed);
	return err;
}

/* Count for the final report that the directory belongs to the former user of this process. */
static void report_foreign(struct session_page *page)
{
	atomic_store(&page->stranger, (uint32_t)geteuid() + 1);
	atomic_fetch_add(&page->foreign, 1);
}

int rings_make(struct session *session, struct ring *ret_ring)
{
	struct ring_slot *slot;
	struct ring ring;
	int err = make_ring(session, &ring);

	if (err == -EACCES && take_reserved_ring(ret_ring))
		return 0;
	if (err == -EACCES)
		report_foreign(session->page);
	if (err)
		return err;
	recording_lock();
	if (closed >= closed_much)
		forget_read();
	slot = new_slot();
	if (slot) {
		slot->ring = ring;
		slot->live = ret_ring;
		slot->use = USED;
	}
	recording_unlock();
	if (!slot) {
		ring_close(&ring);
		return -ENOMEM;
	}
	*ret_ring = ring;
	return 0;
}

/* Truncate the unused part of the ring's file; the file remains for the collector. */
static void trim_ring(struct session *session, struct ring *ring)
{
	uint64_t tail = atomic_load_explicit(&ring->head->tail, memory_order_relaxed);
	uint64_t first = atomic_load_explicit(&ring->head->head, memory_order_relaxed);
	char name[SESSION_NAME];
	int at;

	if (!ring->head->grows || !permit_has(NEED_END))
		return;
	session_ring_name(ring->head->index, name);
	at = session_open_dir(session);
	if (at >= 0) {
		ring_trim(ring, at, name);
		close(at);
	}
	session_unreserve(session, first + 2 * ring->head->bytes - tail);
}

/* Close a ring: no thread will write to it again. */
static void close_ring(struct session *session, struct ring_slot *slot, struct ring *ring,
		       uint64_t ticks)
{
	trim_ring(session, ring);
	/* pairs with the load in feed_has_ended(): all events were committed before */
	atomic_store_explicit(&ring->head->closed, ticks, memory_order_release);
	if (!permit_has(NEED_END))
		return;
	if (!slot || !ring->charged) {
		ring_close(ring);
		return;
	}
	ring_close_data(ring);
	slot->ring = *ring;
	slot->use = CLOSED;
	closed++;
}

void rings_release(struct session *session, struct ring *ring, uint64_t ticks, bool torn)
{
	struct ring_slot *slot;

	atomic_store_explicit(&ring->head->ended, ticks, memory_order_relaxed);
	recording_lock();
	slot = find_head(ring->head);
	if (slot) {
		slot->use = waiting < WAITING && !torn && !tap_get() ? WAITS : FREE;
		slot->ring = *ring;
	}
	if (slot && slot->use == WAITS) {
		waiting++;
		/*
		 * pairs with the load in find_gone_threads(), which must not take the thread for a
		 * vanished one
		 */
		atomic_store_explicit(&ring->head->idle, 1, memory_order_release);
	} else {
		close_ring(session, slot, ring, ticks);
	}
	recording_unlock();
	*ring = (struct ring){ 0 };
}

void rings_drop_shared(struct ring *ring)
{
	struct ring_slot *slot;

	recording_lock();
	slot = ring->head ? find_head(ring->head) : NULL;
	if (slot && slot->live == ring) {
		slot->use = FREE;
		ring_close(ring);
	}
	recording_unlock();
}

unsigned int rings_end(bool (*is_inside)(uint32_t tid, const void *arg), const void *arg)
{
	unsigned int left = 0;

	recording_lock();
	for (struct ring_slot *slot = slots; slot; slot = slot->next) {
		struct ring *ring = slot->use == USED ? slot->live : &slot->ring;

		if (slot->use == FREE)
			continue;
		if (slot->use == USED && is_inside(ring->head->owner, arg)) {
			left++;
			continue;
		}
		ring_close(ring);
		slot->use = FREE;
	}
	waiting = closed = 0;
	recording_unlock();
	return left;
}

void rings_each_locked(void (*visit)(struct ring_head *head, void *arg), void *arg)
{
	for (struct ring_slot *slot = slots; slot; slot = slot->next)
		if (slot->use == USED)
			visit(slot->ring.head, arg);
}

void rings_each(void (*visit)(struct ring_head *head, void *arg), void *arg)
{
	recording_lock();
	for (struct ring_slot *slot = slots; slot; slot = slot->next)
		if (slot->use == WAITS || slot->use == USED)
			visit(slot->ring.head, arg);
	recording_unlock();
}

static void report_end_to_tap(struct ring_head *head, void *unused)
{
	(void)unused;
	tap_get()->end(head, &recording_session.page->clock);
}

/*
 * Does not wait for the lock: exit() in a signal handler may have interrupted the thread that holds
 * it.
 */
void verbatim_tap_end(void)
{
	if (!recording_generation() || !recording_trylock())
		return;
	rings_each_locked(report_end_to_tap, NULL);
	recording_unlock();
}
