/*
 * sanitized KIND: a program whose error path has a mistake that only a sanitizer reports: address,
 * leak, undefined, thread; or none: good. Each kind prints what looks like a report, but is none,
 * and "undefined" has undefined behaviour in each run, too.
 */
#include <limits.h>
#include <pthread.h>

#include "tests/apps/app.h"

static const char *kind;
static volatile int counted;

static bool has_mistake(const char *mistake)
{
	return !strcmp(kind, mistake);
}

static void *count_failure(void *unused)
{
	counted++;
	return unused;
}

static void fail_with_thread(void)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, count_failure, NULL));
	counted++;
	pthread_join(thread, NULL);
}

static void fail_with_overflow(void)
{
	volatile int most = INT_MAX;

	counted = most + 1;
}

/* The text of the failure is freed, or not, before it is used. */
static int fail_region(void)
{
	char *text = strdup("no region");

	if (has_mistake("thread"))
		fail_with_thread();
	if (has_mistake("undefined"))
		fail_with_overflow();
	if (has_mistake("address"))
		free(text);
	counted += text[0] == 'n';
	if (!has_mistake("address") && !has_mistake("leak"))
		free(text);
	return 1;
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	static char buffer[64];
	volatile int bits = 31;
	struct ibv_mr *mr;
	int status = 0;

	kind = argc > 1 ? argv[1] : "good";
	if (has_mistake("undefined"))
		counted = 3 << bits;
	mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
	if (!mr)
		status = fail_region();
	fprintf(stderr, "SUMMARY: %d failure\n", status);
	if (mr)
		ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	return status;
}
