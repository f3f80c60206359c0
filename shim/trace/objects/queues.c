/*
 * The buffers of outstanding requests
 *
 *	buckets by wr_id: first, last -> entry -> entry ...    oldest first
 *	entries: a request and its spans, as many as the queue holds
 *
 * A queue completes its requests in the order of its posts, so of several requests with one wr_id
 * the oldest is the completed one. But a shared receive queue completes in any order; if posts of
 * two threads overlap, the order is not known until all requests outstanding at that time are
 * complete; and if several threads poll, the order is never known. Then, if several requests have
 * one wr_id and different buffers, any of them may be the completed one: none is chosen, and all
 * are doubtful until the last of them is complete.
 */
#include "shim/trace/objects/queues.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "shim/trace/base/permit.h"
#include "shim/trace/base/spin.h"

enum {
	SEARCH_REQUESTS = 64, /* limit of the search among requests with the same wr_id */
	PLACES = 1 << 24,     /* no queue of a device has more entries: the number is wrong */
};

struct queue_place {
	uint64_t wr_id;
	uint64_t total;
	uint32_t next; /* next entry of the chain; 0: none */
	uint8_t kind, why, nspans;
	bool doubt;
	struct span spans[];
};

struct chain {
	uint32_t first, last;
};

struct place_table {
	size_t bytes;     /* size of the mapping */
	uint32_t buckets; /* a power of two */
	uint32_t size;    /* number of entries, which are counted from 1 */
	uint32_t used;    /* number of entries that were ever used */
	uint32_t count;   /* number of entries in use */
	uint32_t unused;  /* first of the chain of free entries */
	size_t place_bytes;
	struct chain chains[];
};

static struct queue_place *place_at(const struct place_table *t, uint32_t i)
{
	return (void *)((char *)t + sizeof(*t) + t->buckets * sizeof(struct chain) +
			(size_t)(i - 1) * t->place_bytes);
}

static struct chain *chain_of(struct place_table *t, uint64_t wr_id)
{
	return &t->chains[(wr_id * 0x9e3779b97f4a7c15ull >> 32) & (t->buckets - 1)];
}

static struct place_table *table_new(uint32_t max, uint32_t spans)
{
	uint32_t size = 2 * max + 64, buckets = 64;
	size_t each = sizeof(struct queue_place) + spans * sizeof(struct span), bytes;
	struct place_table *t;
	int saved = errno;

	if (max > PLACES)
		return NULL;
	while (buckets < max)
		buckets *= 2;
	bytes = sizeof(*t) + buckets * sizeof(struct chain) + size * each;
	if (!permit_has(NEED_MEMORY))
		return NULL;
	t = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	errno = saved;
	if (t == MAP_FAILED)
		return NULL;
	t->bytes = bytes;
	t->buckets = buckets;
	t->size = size;
	t->place_bytes = each;
	return t;
}

static void table_free(struct place_table *t)
{
	int saved = errno;

	if (t && permit_has(NEED_END))
		munmap(t, t->bytes);
	errno = saved;
}

/* Append an entry to its chain; NULL: the table is full. */
static struct queue_place *append_place(struct place_table *t, uint64_t wr_id)
{
	struct chain *chain = chain_of(t, wr_id);
	uint32_t i = t->unused;
	struct queue_place *p;

	if (!i && t->used == t->size)
		return NULL;
	if (i)
		t->unused = place_at(t, i)->next;
	else
		i = ++t->used;
	p = place_at(t, i);
	p->wr_id = wr_id;
	p->next = 0;
	if (chain->last)
		place_at(t, chain->last)->next = i;
	else
		chain->first = i;
	chain->last = i;
	t->count++;
	return p;
}

/* Remove entry @i from its chain. @before: the entry before it; 0: it is the first. */
static void unlink_place(struct place_table *t, struct chain *chain, uint32_t before, uint32_t i)
{
	struct queue_place *p = place_at(t, i);

	if (before)
		place_at(t, before)->next = p->next;
	else
		chain->first = p->next;
	if (chain->last == i)
		chain->last = before;
	p->next = t->unused;
	t->unused = i;
	t->count--;
}

static bool lock_queue(struct payload_queue *q)
{
	if (atomic_load_explicit(&q->unsure, memory_order_relaxed))
		return false;
	if (spin_lock(&q->lock))
		return true;
	queue_forget_requests(q);
	return false;
}

void queue_begin(struct payload_queue *q, uint32_t max, uint32_t spans, bool shared)
{
	bool held = spin_lock(&q->lock);

	/* the table belongs to an earlier object at this address */
	if (held && q->table)
		table_free(q->table);
	q->table = NULL;
	q->max = max;
	q->spans = spans < QUEUE_SPANS ? spans : QUEUE_SPANS;
	q->shared = shared;
	q->posting = 0;
	q->mixed = false;
	atomic_store_explicit(&q->unsure, !held || !max, memory_order_relaxed);
	if (held)
		spin_unlock(&q->lock);
}

static void copy_requests(struct place_table *to, const struct place_table *from)
{
	for (uint32_t b = 0; b < from->buckets; b++) {
		for (uint32_t i = from->chains[b].first; i;) {
			const struct queue_place *p = place_at(from, i);
			struct queue_place *copy = append_place(to, p->wr_id);
			uint32_t next;

			if (!copy)
				return;
			next = copy->next;
			memcpy(copy, p, from->place_bytes);
			copy->next = next;
			i = p->next;
		}
	}
}

void queue_resize(struct payload_queue *q, uint32_t max)
{
	struct place_table *more;

	if (!lock_queue(q))
		return;
	if (q->table && max > q->max) {
		more = table_new(max, q->spans);
		if (more) {
			copy_requests(more, q->table);
			table_free(q->table);
			q->table = more;
		}
	}
	q->max = max;
	spin_unlock(&q->lock);
}

void queue_clear(struct payload_queue *q)
{
	if (!q->max)
		return;
	if (!spin_lock(&q->lock)) {
		queue_forget_requests(q); /* the requests before RESET may still be in the table */
		return;
	}
	table_free(q->table);
	q->table = NULL;
	q->posting = 0;
	q->mixed = false;
	atomic_store_explicit(&q->unsure, false, memory_order_relaxed);
	spin_unlock(&q->lock);
}

void queue_begin_post(struct payload_queue *q)
{
	if (!lock_queue(q))
		return;
	q->mixed |= q->posting++ != 0;
	spin_unlock(&q->lock);
}

void queue_end_post(struct payload_queue *q)
{
	if (!lock_queue(q))
		return;
	q->posting -= q->posting != 0; /* not below 0: RESET may have set it to 0 in between */
	spin_unlock(&q->lock);
}

/*
 * If no request is outstanding, the order is known again, unless several posts have not returned.
 */
static void note_drained(struct payload_queue *q)
{
	if (!q->table->count)
		q->mixed = q->posting > 1;
}

void queue_add_request(struct payload_queue *q, const struct request *request)
{
	struct queue_place *p = NULL;

	if (!lock_queue(q))
		return;
	if (!q->table)
		q->table = table_new(q->max, q->spans);
	if (q->table)
		p = append_place(q->table, request->wr_id);
	if (p) {
		unsigned int n = request->nspans < q->spans ? request->nspans : q->spans;

		p->total = request->total;
		p->kind = (uint8_t)request->kind;
		p->why = (uint8_t)(n < request->nspans ? PAYLOAD_LONG : request->why);
		p->nspans = (uint8_t)n;
		p->doubt = false;
		memcpy(p->spans, request->spans, n * sizeof(*p->spans));
	}
	spin_unlock(&q->lock);
	if (!p)
		queue_forget_requests(q); /* out of memory, or its completions were not seen */
}

static bool same_buffers(const struct queue_place *a, const struct queue_place *b)
{
	return a->nspans == b->nspans && a->total == b->total && a->why == b->why &&
	       !memcmp(a->spans, b->spans, a->nspans * sizeof(*a->spans));
}

static bool is_request(const struct queue_place *p, const struct request *request)
{
	return p->wr_id == request->wr_id && p->kind == request->kind &&
	       p->total == request->total &&
	       (!p->nspans || !memcmp(p->spans, request->spans, p->nspans * sizeof(*p->spans)));
}

void queue_take_back(struct payload_queue *q, const struct request *request)
{
	uint32_t before = 0, found = 0, found_before = 0;
	struct chain *chain;

	if (!lock_queue(q))
		return;
	if (q->table) {
		chain = chain_of(q->table, request->wr_id);
		for (uint32_t i = chain->first; i; before = i, i = place_at(q->table, i)->next) {
			if (is_request(place_at(q->table, i), request)) {
				found = i;
				found_before = before;
			}
		}
		if (found)
			unlink_place(q->table, chain, found_before, found);
		note_drained(q);
	}
	spin_unlock(&q->lock);
}

/*
 * May another request with the same wr_id be the completed one? Then all requests with this wr_id
 * are doubtful.
 */
static bool is_doubtful(struct place_table *t, struct queue_place *p, unsigned int kinds)
{
	bool doubt = p->doubt;
	int looks = 0;

	for (uint32_t i = p->next; i && !doubt; i = place_at(t, i)->next)
		if (place_at(t, i)->wr_id == p->wr_id && kinds >> place_at(t, i)->kind & 1)
			doubt = ++looks > SEARCH_REQUESTS || !same_buffers(p, place_at(t, i));
	for (uint32_t i = p->next; i && doubt; i = place_at(t, i)->next)
		if (place_at(t, i)->wr_id == p->wr_id)
			place_at(t, i)->doubt = true;
	return doubt;
}

static void copy_request(const struct queue_place *p, struct request *request)
{
	request->wr_id = p->wr_id;
	request->kind = (enum payload_kind)p->kind;
	request->why = (enum payload_why)p->why;
	request->total = p->total;
	request->nspans = p->nspans;
	memcpy(request->spans, p->spans, p->nspans * sizeof(*p->spans));
}

enum payload_why queue_take_request(struct payload_queue *q, uint64_t wr_id, unsigned int kinds,
				    bool in_order, struct request *ret_request)
{
	enum payload_why why = PAYLOAD_REQUEST;
	uint32_t before = 0, i;
	struct chain *chain;

	if (!lock_queue(q))
		return why;
	chain = q->table ? chain_of(q->table, wr_id) : NULL;
	for (i = chain ? chain->first : 0; i; before = i, i = place_at(q->table, i)->next) {
		struct queue_place *p = place_at(q->table, i);

		if (p->wr_id != wr_id || !(kinds >> p->kind & 1))
			continue;
		in_order = in_order && !q->shared && !q->mixed;
		if (!in_order && is_doubtful(q->table, p, kinds))
			why = PAYLOAD_AMBIGUOUS;
		else
			why = p->doubt ? PAYLOAD_AMBIGUOUS : PAYLOAD_WHOLE;
		copy_request(p, ret_request);
		unlink_place(q->table, chain, before, i);
		note_drained(q);
		break;
	}
	spin_unlock(&q->lock);
	return why;
}

int queue_has(struct payload_queue *q, uint64_t wr_id)
{
	uint32_t i = 0;

	if (!q->max)
		return 0;
	if (!lock_queue(q))
		return -1;
	if (q->table)
		i = chain_of(q->table, wr_id)->first;
	while (i && place_at(q->table, i)->wr_id != wr_id)
		i = place_at(q->table, i)->next;
	spin_unlock(&q->lock);
	return i != 0;
}

void queue_abandon(struct payload_queue *q)
{
	q->table = NULL; /* the table belongs to the parent, and may be in the middle of a change */
	atomic_store_explicit(&q->lock, 0, memory_order_relaxed);
	queue_forget_requests(q);
}
