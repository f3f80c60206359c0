/*
 * Writing payload to the ring
 *
 * Payload is read in pieces directly into the ring; each piece is an event. If only the hash is
 * stored, the ring's free space is used as a buffer.
 */
#include "shim/trace/payload/payload_read.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/wire/hash.h"
#include "core/wire/payload.h"
#include "shim/trace/base/permit.h"
#include "shim/trace/interpose/sandbox.h"
#include "shim/trace/ring/record.h"

enum { PIECE = RING_EVENT_MAX - 4096 };

_Static_assert(PIECE % 32 == 0, "hashed without a rest");

/*
 * The pid. getpid() is a system call, so each thread calls it only once per process, that is per
 * generation.
 */
static pid_t own_pid(void)
{
	static __thread struct {
		uint32_t generation;
		pid_t pid;
	} own __attribute__((tls_model("initial-exec")));

	if (!own.pid || own.generation != recorder.generation) {
		own.pid = permit_getpid();
		own.generation = recorder.generation;
	}
	return own.pid;
}

/*
 * Let the kernel read the memory, which cannot fault. *@why: the reason if some of it could not be
 * read.
 */
static size_t read_memory(const struct iovec *there, unsigned int used, void *to, size_t n,
			  enum payload_why *why)
{
	const struct iovec here = { to, n };
	ssize_t got;

	*why = PAYLOAD_SANDBOX;
	if (!sandbox_enter())
		return 0;
	*why = PAYLOAD_UNREADABLE;
	got = syscall(SYS_process_vm_readv, own_pid(), &here, 1, there, used, 0);
	sandbox_leave();
	return got > 0 ? (size_t)got : 0;
}

/*
 * Read at most @n bytes of the spans, from @offset on. Returns the number of bytes that could be
 * read.
 */
static size_t read_spans(const struct span *spans, unsigned int nspans, uint64_t offset, void *to,
			 size_t n, enum payload_why *why)
{
	struct iovec there[QUEUE_SPANS + 1];
	unsigned int used = 0;
	size_t left = n;

	for (unsigned int i = 0; i < nspans && i <= QUEUE_SPANS && left; i++) {
		uint64_t length = spans[i].length;

		if (offset >= length) {
			offset -= length;
			continue;
		}
		length -= offset;
		length = length < left ? length : left;
		there[used++] = (struct iovec){ (void *)(uintptr_t)(spans[i].at + offset), length };
		left -= length;
		offset = 0;
	}
	return used ? read_memory(there, used, to, n, why) : 0;
}

static struct event_payload *reserve_payload(const struct payload_source *s, size_t bytes)
{
	struct event_payload *event = record_reserve(sizeof(*event) + bytes + 8);

	if (!event)
		return NULL;
	record_head(&event->head, EVENT_PAYLOAD, record_ticks());
	event->object = s->object;
	event->total = s->total;
	event->offset = 0;
	event->hash = 0;
	event->of = s->of;
	event->index = s->index;
	event->bytes = 0;
	event->kind = (uint8_t)s->kind;
	event->why = PAYLOAD_WHOLE;
	event->before = s->before;
	event->flags = PAYLOAD_LAST;
	return event;
}

static void commit_payload(struct event_payload *event)
{
	char *end = (char *)(event + 1) + event->bytes;
	size_t words = (sizeof(*event) + event->bytes + 7) / 8;

	while (end < (char *)event + words * 8)
		*end++ = 0;
	record_commit(&event->head, words);
}

static uint64_t count_readable(const struct payload_source *s)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < s->nspans; i++)
		bytes += s->spans[i].length;
	return bytes < s->total ? bytes : s->total;
}

/* The number of bytes below s->before: they are not part of the message, and are not hashed. */
static size_t count_skipped(const struct payload_source *s, uint64_t offset, size_t n)
{
	size_t skip = offset < s->before ? s->before - offset : 0;

	return skip < n ? skip : n;
}

static bool write_hash(const struct payload_source *s, uint64_t want, uint64_t seed)
{
	struct event_payload *event = reserve_payload(s, want < PIECE ? want : PIECE);
	enum payload_why unread = PAYLOAD_UNREADABLE;
	uint64_t offset = 0, sum = hash_of("", 0, seed);
	struct hash hash;

	if (!event)
		return false;
	if (want > PIECE)
		hash_begin(&hash, seed);
	while (offset < want) {
		const char *bytes = (const char *)(event + 1);
		size_t n = want - offset < PIECE ? want - offset : PIECE;
		size_t skip = count_skipped(s, offset, n);

		if (read_spans(s->spans, s->nspans, offset, event + 1, n, &unread) < n)
			break;
		if (want > PIECE)
			hash_add(&hash, bytes + skip, n - skip);
		else
			/* hashing at once is faster than in parts */
			sum = hash_of(bytes + skip, n - skip, seed);
		offset += n;
	}
	if (offset == s->total && s->why == PAYLOAD_WHOLE) {
		event->hash = want > PIECE ? hash_end(&hash) : sum;
		event->flags |= PAYLOAD_HASHED;
	} else {
		event->why = (uint8_t)(offset < want ? unread : s->why);
	}
	commit_payload(event);
	return true;
}

static bool write_bytes(const struct payload_source *s, uint64_t want, enum payload_why why)
{
	enum payload_why unread = PAYLOAD_UNREADABLE;
	uint64_t offset = 0;
	bool wrote = false, last;

	do {
		size_t n = want - offset < PIECE ? want - offset : PIECE, got;
		struct event_payload *event = reserve_payload(s, n);

		if (!event)
			return wrote;
		got = n ? read_spans(s->spans, s->nspans, offset, event + 1, n, &unread) : 0;
		event->offset = offset;
		event->bytes = (uint32_t)got;
		offset += got;
		last = got < n || offset == want;
		event->flags = last ? PAYLOAD_LAST : 0;
		event->why = (uint8_t)(!last ? PAYLOAD_WHOLE : got < n ? unread : why);
		commit_payload(event);
		wrote = true;
	} while (!last);
	return wrote;
}

static uint64_t lesser_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

bool payload_write(const struct payload_source *s, const struct payload_rule *rule,
		   uint64_t *budget)
{
	uint64_t keep = rule->keep, have = count_readable(s), asked = s->total, want;
	enum payload_why why = s->why;
	struct payload_source rest;
	int saved = errno;
	bool wrote;

	if (!s->total && why == PAYLOAD_WHOLE)
		return false;
	if (keep < asked) /* PAYLOAD_HASH and PAYLOAD_FULL are above any length */
		asked = lesser_of(asked, keep + s->before);
	want = lesser_of(lesser_of(asked, have), *budget);
	if (want == asked && asked)
		why = PAYLOAD_WHOLE;
	else if (want == *budget && want < have)
		why = PAYLOAD_LONG;
	*budget -= want;
	rest = *s;
	rest.why = why;
	wrote = keep == PAYLOAD_HASH ? write_hash(&rest, want, rule->seed)
				     : write_bytes(&rest, want, why);
	errno = saved;
	return wrote;
}
