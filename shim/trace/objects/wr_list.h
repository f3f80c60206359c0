#pragma once
/*
 * Addresses of the requests of a list that is being posted, to find *bad_wr among them.
 *
 * A posted request belongs to the provider and must not be read, so its address is stored. The
 * first is in struct wr_list; the others are too many for a caller's stack, and are stored in the
 * thread's memory (site_spare_bytes()). During the post of another list, a nested post stores only
 * the first address.
 */
#include <stdbool.h>
#include <stddef.h>

enum { WR_LIST_MAX = 256 };

/* Stored in the thread's memory. */
struct wr_list_rest {
	const void *const *frame; /* frame of the post that uses it; NULL: free */
	const void *wrs[WR_LIST_MAX];
};

struct payload_queue; /* queues.h */

struct wr_list {
	const void *const *frame; /* frame of the post: __builtin_frame_address(0) of its verb */
	unsigned int n;           /* number of requests */
	const void *first;
	struct wr_list_rest *rest; /* NULL: other addresses are not stored */
	/* queue that stores the buffers (payload.h); NULL: they are not stored */
	struct payload_queue *queue;
};

static inline void wr_list_init(struct wr_list *list, const void *const *frame)
{
	list->frame = frame;
	list->n = 0;
	list->rest = NULL;
	list->queue = NULL;
}

/* Use the thread's memory for @list, if it is free. */
void wr_list_take_rest(struct wr_list *list);

/* Store the address of the next request. */
static inline void wr_list_add(struct wr_list *list, const void *wr)
{
	if (!list->n)
		list->first = wr;
	else if (list->n == 1 && !list->rest)
		wr_list_take_rest(list);
	if (list->n && list->n < WR_LIST_MAX && list->rest)
		list->rest->wrs[list->n] = wr;
	list->n++;
}

/* 1 + the index of @wr in the list; 0 if it is not among the first WR_LIST_MAX. */
unsigned int wr_list_find(const struct wr_list *list, const void *wr);

/* The post is over: another one may use the thread's memory. */
static inline void wr_list_fini(struct wr_list *list)
{
	if (__builtin_expect(list->rest != NULL, 0))
		list->rest->frame = NULL;
}
