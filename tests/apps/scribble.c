/*
 * A program whose memory is corrupted: a thread overwrites its own rings and the writable part of
 * the session's page, while another calls verbs.
 *
 * 	scribble SECONDS [SEED]
 */
#include "tests/apps/app.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { AREAS = 64, PAGE = 4096, NEAR = 64 << 10 };

/* A mapped part of the session. */
static struct area {
	uint64_t *at;
	size_t words;
	int is_ring;
} areas[AREAS];

static uint64_t seed = 1;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static unsigned int find_areas(void)
{
	const char *dir = getenv("VERBATIM_DIR");
	FILE *maps = NEED(fopen("/proc/self/maps", "r"));
	unsigned long from, to;
	char line[512], may[5];
	unsigned int n = 0;

	while (dir && n < AREAS && fgets(line, sizeof(line), maps))
		if (strstr(line, dir) && sscanf(line, "%lx-%lx %4s", &from, &to, may) == 3 &&
		    may[1] == 'w')
			areas[n++] = (struct area){ (void *)from, (to - from) / 8,
						    strstr(line, "/ring.") != NULL };
	fclose(maps);
	return n;
}

static uint64_t odd_value(uint64_t now)
{
	switch (next_random() % 6) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return now + next_random() % 64 * 8;
	case 3:
		return now ^ 1ull << next_random() % 64;
	case 4:
		return next_random() % 4096;
	default:
		return next_random();
	}
}

static void scribble_word(void)
{
	unsigned int n = find_areas();
	struct area *a = n ? &areas[next_random() % n] : NULL;
	uint64_t *word;

	if (!a)
		return;
	/* half of it in the first page, where the heads are */
	word = &a->at[next_random() % (next_random() % 2 ? PAGE / 8 : a->words)];
	__atomic_store_n(word, odd_value(*word), __ATOMIC_RELAXED);
	if (a->is_ring && !(next_random() % 4)) /* and consecutively, over recently written data */
		for (int i = 0; i < 100; i++)
			a->at[(next_random() % NEAR) % a->words] = next_random();
}

static void *call_verbs(void *arg)
{
	struct ibv_context *context = arg;

	for (;;) {
		struct ibv_pd *pd = ibv_alloc_pd(context);

		if (pd)
			ibv_dealloc_pd(pd);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	time_t end = time(NULL) + (argc > 1 ? atol(argv[1]) : 1);
	pthread_t thread;

	if (argc > 2)
		seed = strtoull(argv[2], NULL, 0) | 1;
	MUST(pthread_create(&thread, NULL, call_verbs, context));
	while (time(NULL) < end)
		scribble_word();
	_exit(0); /* the other may wait forever for space */
}
