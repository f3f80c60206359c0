/*
 * Reports what was inferred about the other ends
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#include "core/base/vec.h"
#include "replay/report/inferred.h"
#include "replay/synth/synth_priv.h"

static int report_ranges(const struct synth_host *host, struct inferred *to)
{
	to->regions = host->nregions;
	for (size_t i = 0; i < host->nregions; i++)
		for (size_t k = 0; k < host->regions[i].nranges; k++) {
			const struct synth_region *region = &host->regions[i];
			struct inferred_range *range = vec_push(to->ranges, to->nranges);

			if (!range)
				return -ENOMEM;
			*range = (struct inferred_range){ region->rkey, region->access,
							  region->ranges[k].start,
							  region->ranges[k].end -
								  region->ranges[k].start };
		}
	return 0;
}

static int report_host(const struct synth_host *host, struct inferred_list *list)
{
	struct inferred *to = vec_push(list->at, list->n);

	if (!to)
		return -ENOMEM;
	to->queue_pairs = host->nends;
	to->receives = host->receives;
	to->messages = host->messages;
	to->placed = host->placed;
	if (host->lid || !host->global)
		snprintf(to->address, sizeof(to->address), "LID %u", host->lid);
	else if (!inet_ntop(AF_INET6, &host->gid, to->address, sizeof(to->address)))
		to->address[0] = '\0';
	return report_ranges(host, to);
}

/* Count the program's regions that the other end of a queue pair could write or read. */
static uint64_t count_open(const struct replay *r)
{
	uint64_t access, n = 0;

	for (uint32_t i = 0; i < r->nmade; i++) {
		const struct object *o = trace_object(r->trace, r->made[i]);

		if (o->kind == OBJECT_mr && map_get(&r->far->access, o->id, &access) &&
		    access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			      IBV_ACCESS_REMOTE_ATOMIC))
			n++;
	}
	return n;
}

int synth_report(struct replay *r)
{
	struct inferred_list list = { 0 };
	int err = 0;

	for (size_t i = 0; r->far && i < r->far->nhosts && !err; i++)
		if (r->far->hosts[i].nends)
			err = report_host(&r->far->hosts[i], &list);
	if (list.n)
		list.open = count_open(r);
	outcome_set_inferred(r->outcome, &list);
	return err;
}
