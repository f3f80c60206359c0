/*
 * What a trace covers
 */
#include "cli/replay/suite_covers.h"

#include <errno.h>
#include <string.h>

#include "core/store/read/listing.h"
#include "core/store/read/lookup.h"

/* Groups of words; the common beginning of a group is removed. */
static const struct group {
	const char *prefix, *before;
	enum listing_kind list;
} groups[] = {
	{ "IBV_QPT_", "", LISTING_QP_TYPES },    { "", "", LISTING_FEATURES },
	{ "IBV_WR_", "", LISTING_OPCODES },      { "IBV_WC_", "", LISTING_STATUSES },
	{ "ibv_", "refused ", LISTING_REFUSED },
};

/* With calls of these, a replay needs the network to itself. */
static const char *const alone[] = { "rdma_*", "ibv_attach_mcast", "ibv_create_flow" };

static int add_group(struct trace *trace, const struct group *group, struct text *covers)
{
	const char *before = covers->used ? "; " : "";
	struct listing *listing;
	int err = listing_open(trace, group->list, &listing);
	size_t n = strlen(group->prefix);

	while (!err && (err = listing_next(listing)) > 0) {
		const char *word = listing_text(listing, 0);

		err = 0;
		if (!word)
			continue;
		text_addf(covers, "%s%s%s", before, *before == ',' ? "" : group->before,
			  strncmp(word, group->prefix, n) ? word : word + n);
		before = ", ";
	}
	listing_close(listing);
	return err;
}

int suite_covers(struct trace *trace, struct text *covers, bool *ret_alone)
{
	int err = 0;

	*ret_alone = false;
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups) && !err; i++)
		err = add_group(trace, &groups[i], covers);
	for (size_t i = 0; i < sizeof(alone) / sizeof(*alone) && !err && !*ret_alone; i++)
		*ret_alone = lookup_has_call(trace, alone[i]);
	return err ?: covers->failed ? -ENOMEM : 0;
}
