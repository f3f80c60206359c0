/*
 * Sites: the places in the program that post
 *
 * Two call paths may post with the same return address and the same stack pointer, if they differ
 * only in functions of the same frame size. So a site also stores the positions of the next return
 * addresses, found when it was unwound, and each post compares them:
 *
 *	frame + at[1]   return address of the caller's caller
 *	frame + at[0]   return address of the caller
 *	frame + 1       return address of the verb
 *	frame           the verb's frame
 *
 * Reading these words is safe: they are near the frame, which is on a live stack.
 *
 * Each thread has a hash table with open addressing, from its first post on. After an unload each
 * site is unwound once more. A thread with more than SITES sites reports this, and ignores further
 * sites.
 */
#include "shim/trace/stack/site.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "shim/trace/base/private_stack.h"
#include "shim/trace/base/permit.h"
#include "shim/trace/base/quiet.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/stack/stack.h"

enum { PLACES = 2 * SITES, TABLE = PLACES * sizeof(struct site), NEAR = 512 /* words */ };

static struct site none;
__thread struct sites sites __attribute__((tls_model("initial-exec"))) = { &none, 0, 0 };

static bool make_table(void)
{
	void *at;

	if (sites.mask)
		return true;
	at = mmap(NULL, TABLE + SITE_SPARE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0);
	if (at == MAP_FAILED)
		return false;
	sites.table = at;
	sites.mask = (PLACES - 1) * sizeof(none);
	return true;
}

void site_begin(void)
{
	if (sites.mask)
		memset(sites.table, 0, TABLE + sizeof(uint64_t));
	sites.count = 0;
}

void site_end(void)
{
	void *at = sites.table;

	if (!sites.mask)
		return;
	sites.mask = 0;
	sites.table = &none;
	if (permit_has(NEED_END))
		munmap(at, TABLE + SITE_SPARE);
}

void *site_spare_bytes(void)
{
	return sites.mask ? (char *)sites.table + TABLE : NULL;
}

static bool is_present(const struct site *site, const void *const *frame)
{
	return frame[site->at[0]] == site->above[0] && frame[site->at[1]] == site->above[1] &&
	       frame[site->at[2]] == site->above[2];
}

/* The next entry in the table, since another call path may have the same hash. */
static struct site *next_place(const struct site *site)
{
	size_t offset = (size_t)((const char *)(site + 1) - (const char *)sites.table);

	return (struct site *)(void *)((char *)sites.table + (offset & sites.mask));
}

/* The site of @frame, or the empty entry for it. */
static struct site *look_up_site(const void *const *frame)
{
	struct site *site = site_place(frame, frame[1]);

	while (site->frame &&
	       !(site->frame == frame && site->caller == frame[1] && is_present(site, frame)))
		site = next_place(site);
	return site;
}

static uint32_t hash_of(const struct stack *stack)
{
	uint64_t hash = stack->modules;

	for (uint32_t i = 0; i < stack->nframes; i++)
		hash = (hash ^ stack->frames[i]) * 0xff51afd7ed558ccdull, hash ^= hash >> 32;
	return (uint32_t)hash;
}

static bool write_site(uint16_t id, const struct stack *stack)
{
	struct event_site *event = record_reserve(sizeof(*event) + sizeof(stack->frames));

	if (!event)
		return false;
	record_head(&event->head, EVENT_SITE, record_ticks());
	event->site = id;
	event->nframes = (uint16_t)stack->nframes;
	event->modules = stack->modules;
	memcpy(event + 1, stack->frames, stack->nframes * sizeof(*stack->frames));
	record_commit(&event->head, sizeof(*event) / 8 + stack->nframes);
	return true;
}

/*
 * Fill in a site. If there are fewer than SITE_ABOVE addresses above, the verb's own return address
 * is used for the rest.
 */
static void fill_site(struct site *site, const void *const *frame, uint16_t id, uint32_t stack)
{
	const void *const *at[SITE_ABOVE];
	unsigned int n = stack_find_callers(frame, at, SITE_ABOVE);

	*site = (struct site){
		.caller = frame[1], .id = id, .stack = stack, .unloads = modules_unloads()
	};
	for (unsigned int i = 0; i < SITE_ABOVE; i++) {
		site->at[i] = (uint16_t)(i < n && at[i] - frame < NEAR ? at[i] - frame : 1);
		site->above[i] = frame[site->at[i]];
	}
	site->frame = frame;
}

static uint16_t give_up_site(const void *const *frame)
{
	if (sites.count++ == SITES)
		record_report_blind(BLIND_SITES, frame[1]);
	return 0;
}

struct unwind_request {
	const void *const *frame;
	uint16_t id;
};

static uint16_t unwind_site(const void *const *frame)
{
	struct site *site;
	struct stack stack;
	uint32_t hash, unloads = modules_unloads();

	if (sites.count >= SITES)
		return sites.count == SITES ? give_up_site(frame) : 0;
	stack_take_here(&stack);
	hash = hash_of(&stack);
	site = make_table() ? look_up_site(frame) : NULL;
	if (site && site->frame && site->stack == hash) {
		site->unloads = unloads; /* another file was unloaded */
		return site->id;
	}
	if (!stack.nframes || !write_site((uint16_t)(sites.count + 1), &stack))
		return 0;
	sites.count++;
	if (site)
		fill_site(site, frame, (uint16_t)sites.count, hash);
	return (uint16_t)sites.count;
}

static void unwind_on_private_stack(void *arg)
{
	struct unwind_request *unwound = arg;

	unwound->id = unwind_site(unwound->frame);
}

static __attribute__((noinline, cold)) uint16_t unwind_new_site(const void *const *frame)
{
	struct unwind_request unwound = { .frame = frame };
	struct quiet quiet;
	int saved = errno;

	if (recorder.writing) /* in a signal handler, whose events are lost and counted */
		return 0;
	if (!permit_has(NEED_STACK | NEED_QUIET))
		return 0;
	/* so that a signal handler finds the table before or after the change */
	quiet_begin(&quiet);
	private_stack_call(unwind_on_private_stack, &unwound);
	quiet_end(&quiet);
	errno = saved;
	return unwound.id;
}

/* Find a site. If two call paths have the same hash, this slow path always finds the second one. */
uint16_t site_find(const void *const *frame)
{
	const struct site *site = look_up_site(frame);

	return site->frame && site->unloads == modules_unloads() ? site->id
								 : unwind_new_site(frame);
}
