#pragma once
/*
 * A process that answers HTTP requests with the last metrics.
 *
 * Memory and time are bounded whatever clients do; a request cannot change anything.
 */
#include <stdint.h>
#include <stddef.h>
#include <sys/types.h>

enum { METRICS_BYTES = 4 << 20 };

/* Two texts: the next one overwrites the older. One writer. */
struct metrics_page {
	uint64_t turn; /* number of texts so far; the last is text[turn & 1] */
	size_t n[2];
	char text[2][METRICS_BYTES];
};

/* @n is METRICS_BYTES at most. */
void metrics_page_put(struct metrics_page *page, const char *text, size_t n);

/* A copy of the last text for free(), its length in *@ret_n; NULL: without memory. */
char *metrics_page_get(struct metrics_page *page, size_t *ret_n);

/*
 * The status of the response to @request, of which @n bytes have arrived; 0: incomplete.
 * *@ret_body: are the metrics its body?
 */
int metrics_server_answer(const char *request, size_t n, int *ret_body);

/* Answer at @fd, a listening socket, until @parent has ended. Runs in a child of @parent. */
_Noreturn void metrics_server_run(int fd, struct metrics_page *page, pid_t parent);
