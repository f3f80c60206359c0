/*
 * The places that post, the stacks and the object files that are written about them
 *
 * The frames of this program count as the recorder's own, so the first ones of a stack are missing
 * here: stacks begin in the C library, or in cmocka.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "shim/trace/base/self.h"
#include "shim/trace/stack/site.h"
#include "shim/trace/stack/stack.h"
#include "shim/trace/verbs/data.h"
#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

enum { STEP = 16, MODULES = 32 };

static struct ibv_context context;
static struct ibv_qp qp = { .context = &context, .qp_type = IBV_QPT_RC };
static struct ring ring;

static int take_send(struct ibv_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)q, (void)wr, (void)bad;
	return 0;
}

static void begin_posts(void)
{
	session_begin(1 << 20, ON_FULL_WAIT);
	context.ops.post_send = take_send;
	HOLDS(data_patch(&context.ops) == 0);
}

static void post_one(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;

	HOLDS(ibv_post_send(&qp, &wr, &bad) == 0);
}

/* The frame of the call is @n steps further down the stack. */
__attribute__((noinline)) static void post_below(unsigned int n)
{
	char room[STEP * (n + 1)];

	__asm__ volatile("" ::"r"(room) : "memory");
	post_one();
	__asm__ volatile("" ::"r"(room) : "memory");
}

/* What a ring has of it, up to the next post. */
struct seen {
	struct event_module modules[MODULES];
	char paths[MODULES][512];
	uint8_t ids[MODULES][64];
	struct event_site site; /* 0: none */
	uint64_t frames[STACK_FRAMES];
	struct event_blind blind;
	const struct event_post *post; /* NULL: no more posts */
	int nmodules, nsites, nblind;
};

static void see_module(struct seen *seen, const struct event_module *event)
{
	const char *text = (const char *)(event + 1);
	size_t bytes = (size_t)event->path_bytes + event->build_id_bytes;

	HOLDS(seen->nmodules < MODULES);
	HOLDS(event->head.words == sizeof(*event) / 8 + (bytes + 7) / 8);
	HOLDS(event->path_bytes < sizeof(*seen->paths));
	HOLDS(event->build_id_bytes < sizeof(*seen->ids));
	memcpy(seen->paths[seen->nmodules], text, event->path_bytes);
	memcpy(seen->ids[seen->nmodules], text + event->path_bytes, event->build_id_bytes);
	seen->modules[seen->nmodules++] = *event;
}

static void see_site(struct seen *seen, const struct event_site *event)
{
	HOLDS(event->nframes <= STACK_FRAMES);
	HOLDS(event->head.words == sizeof(*event) / 8 + event->nframes);
	seen->site = *event;
	memcpy(seen->frames, event + 1, event->nframes * sizeof(*seen->frames));
	seen->nsites++;
}

/* Valid until the next one. */
static const struct seen *see_post(void)
{
	static struct seen seen;
	const struct event_head *event;
	int bytes;

	seen = (struct seen){ 0 };
	while (!seen.post && (bytes = ring_peek(&ring, &event)) > 0) {
		ring_step(&ring, (size_t)bytes);
		if (event->type == EVENT_MODULE)
			see_module(&seen, (const void *)event);
		else if (event->type == EVENT_SITE)
			see_site(&seen, (const void *)event);
		else if (event->type == EVENT_BLIND)
			seen.blind = *(const struct event_blind *)(const void *)event,
			seen.nblind++;
		else if (event->type == EVENT_POST)
			seen.post = (const void *)event;
	}
	return &seen;
}

static const struct seen *post_and_see(unsigned int n)
{
	post_below(n);
	if (!ring.head)
		ring = session_ring(0);
	return see_post();
}

static void number_places(void)
{
	begin_posts();
	for (unsigned int round = 0; round < 3; round++)
		for (unsigned int n = 0; n < 5; n++) {
			const struct seen *seen = post_and_see(n);

			HOLDS(seen->post->site == n + 1);
			HOLDS(seen->nsites == !round);
			HOLDS(round || seen->site.site == n + 1);
		}
}

TEST(places_are_numbered_and_written_once)
{
	in_child(number_places);
}

static void see_unload(void)
{
	void *lib = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);

	begin_posts();
	HOLDS(post_and_see(0)->nsites == 1 && post_and_see(1)->nsites == 1);
	if (!lib)
		return;
	dlclose(lib);
	for (int round = 0; round < 2; round++)
		for (unsigned int n = 0; n < 2; n++) {
			const struct seen *seen = post_and_see(n);

			HOLDS(!seen->nsites && !seen->nmodules && seen->post->site == n + 1);
		}
}

TEST(after_an_unload_of_another_file_places_keep_their_numbers)
{
	in_child(see_unload);
}

/* The return addresses outside of this program, without the first ones inside. */
static int list_callers(void **frames, int max)
{
	int n = backtrace(frames, max), i = 0;

	while (i < n && self_contains(frames[i]))
		i++;
	memmove(frames, frames + i, (size_t)(n - i) * sizeof(*frames));
	return n - i;
}

static const struct seen *first;

static int post_in_sort(const void *a, const void *b)
{
	void *frames[STACK_FRAMES + 16];
	int n = list_callers(frames, STACK_FRAMES + 16);

	(void)a, (void)b;
	first = post_and_see(0);
	HOLDS(n > 1 && first->nsites == 1);
	HOLDS(first->site.nframes == (n < STACK_FRAMES ? n : STACK_FRAMES));
	for (int i = 0; i < first->site.nframes; i++)
		HOLDS(first->frames[i] == (uintptr_t)frames[i]);
	return 0;
}

static const char *name_program(void)
{
	static char path[512];

	HOLDS(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	return path;
}

/* The build id, as its first note of that type has it; NULL: none. */
static const uint8_t *find_id(const struct dl_phdr_info *info, size_t *bytes)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + ph->p_vaddr);
		const char *end = at + ph->p_memsz;

		while (ph->p_type == PT_NOTE && at < end) {
			const ElfW(Nhdr) *note = (const void *)at;

			*bytes = note->n_descsz;
			if (note->n_type == NT_GNU_BUILD_ID)
				return (const uint8_t *)(note + 1) + 4;
			at += sizeof(*note) + (note->n_namesz + 3) / 4 * 4 +
			      (note->n_descsz + 3) / 4 * 4;
		}
	}
	return NULL;
}

/* Is that file as the loader has it? */
static int compare_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct seen *seen = first;
	int i = *(int *)arg;
	size_t bytes = 0;
	const uint8_t *id;

	(void)size;
	if (strcmp(*info->dlpi_name ? info->dlpi_name : name_program(), seen->paths[i]))
		return 0;
	id = find_id(info, &bytes);
	HOLDS(seen->modules[i].base == info->dlpi_addr);
	HOLDS(!id == !seen->modules[i].build_id_bytes);
	HOLDS(!id ||
	      (seen->modules[i].build_id_bytes == bytes && !memcmp(seen->ids[i], id, bytes)));
	return 1;
}

static bool has_module(const struct seen *seen, uint64_t frame)
{
	for (int i = 0; i < seen->nmodules; i++)
		if (frame >= seen->modules[i].start && frame < seen->modules[i].end)
			return true;
	return false;
}

static void see_stack(void)
{
	int two[2] = { 0 };

	begin_posts();
	qsort(two, 2, sizeof(*two), post_in_sort);
	HOLDS(first && first->nmodules > 1);
	for (int i = 0; i < first->nmodules; i++) {
		HOLDS(first->modules[i].serial == (uint32_t)i + 1);
		HOLDS(dl_iterate_phdr(compare_module, &i) == 1);
	}
	for (int i = 0; i < first->site.nframes; i++)
		HOLDS(has_module(first, first->frames[i]));
	HOLDS(first->site.modules > 0 && first->site.modules <= (uint32_t)first->nmodules);
}

TEST(a_place_has_its_callers_and_their_files)
{
	in_child(see_stack);
}

static void fill_table(void)
{
	const struct seen *seen;

	begin_posts();
	for (unsigned int n = 0; n < SITES; n++) {
		seen = post_and_see(n);
		HOLDS(seen->post->site == n + 1 && seen->nsites == 1 && !seen->nblind);
		ring_consume(&ring);
	}
	seen = post_and_see(SITES);
	HOLDS(!seen->post->site && !seen->nsites && seen->nblind == 1);
	HOLDS(seen->blind.what == BLIND_SITES && seen->blind.object);
	seen = post_and_see(SITES + 1);
	HOLDS(!seen->post->site && !seen->nsites && !seen->nblind);
	seen = post_and_see(SITES / 2);
	HOLDS(seen->post->site == SITES / 2 + 1 && !seen->nsites);
}

TEST(places_beyond_the_table_are_reported_once)
{
	in_child(fill_table);
}

/* Two return addresses: the frames of the callers have the same size. */
__attribute__((noinline)) static void post_by_one(void)
{
	post_below(0);
	__asm__ volatile("");
}

__attribute__((noinline)) static void post_by_other(void)
{
	post_below(0);
	__asm__ volatile("");
}

static void tell_callers(void)
{
	uint16_t one, other;

	begin_posts();
	for (int round = 0; round < 2; round++) {
		post_by_one();
		if (!ring.head)
			ring = session_ring(0);
		one = see_post()->post->site;
		post_by_other();
		other = see_post()->post->site;
		HOLDS(one == 1 && other == 2);
	}
}

TEST(places_differ_by_the_callers_above)
{
	in_child(tell_callers);
}

static void begin_again(void)
{
	uint64_t *spare;

	HOLDS(!site_spare_bytes());
	begin_posts();
	HOLDS(post_and_see(0)->post->site == 1 && post_and_see(1)->post->site == 2);
	spare = site_spare_bytes();
	HOLDS(spare && !spare[0] && !spare[SITE_SPARE / 8 - 1]);
	spare[0] = spare[1] = 7;
	site_begin();
	HOLDS(!spare[0] && spare[1] == 7);
	HOLDS(post_and_see(1)->post->site == 1 && post_and_see(0)->post->site == 2);
	site_end();
	HOLDS(!site_spare_bytes() && !sites.mask);
}

TEST(a_new_ring_has_new_numbers)
{
	in_child(begin_again);
}
