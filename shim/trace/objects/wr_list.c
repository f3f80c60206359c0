/*
 * Addresses of the requests of a list that is being posted
 *
 * A signal handler may post while its thread is posting. The stack grows down: a post whose frame
 * is above this one is an outer post. A post that never returned, because of a longjmp() out of it,
 * usually has a frame below all later posts.
 */
#include "shim/trace/objects/wr_list.h"

#include "shim/trace/stack/site.h"

_Static_assert(sizeof(struct wr_list_rest) <= SITE_SPARE && !offsetof(struct wr_list_rest, frame),
	       "fits the spare memory, whose first word is zero at first");

__attribute__((noinline, cold)) void wr_list_take_rest(struct wr_list *list)
{
	struct wr_list_rest *rest = site_spare_bytes();

	if (!rest || (rest->frame && rest->frame > list->frame))
		return;
	rest->frame = list->frame;
	list->rest = rest;
}

unsigned int wr_list_find(const struct wr_list *list, const void *wr)
{
	if (list->n && list->first == wr)
		return 1;
	if (!list->rest || list->rest->frame != list->frame) /* another post is using it now */
		return 0;
	for (unsigned int i = 1; i < list->n && i < WR_LIST_MAX; i++)
		if (list->rest->wrs[i] == wr)
			return i + 1;
	return 0;
}
