/*
 * Counters of flow rules
 *
 * Each rule counts its packets and bytes. A counters object determines which count is read at which
 * index; its values are sums over its rules.
 *
 * Source: ibv_create_counters(3), ibv_attach_counters_point_flow(3), ibv_read_counters(3).
 */
#include "shim/soft/verbs/counters.h"

#include <stdlib.h>

#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/flow.h"

struct ibv_counters *soft_create_counters(struct ibv_context *context,
					  struct ibv_counters_init_attr *attr)
{
	struct soft_counters *counters;
	int err;

	err = soft_enter(context, "create_counters");
	if (!err && attr->comp_mask)
		err = EOPNOTSUPP;
	if (err)
		return soft_fail(err);
	counters = calloc(1, sizeof(*counters));
	if (!counters)
		return soft_fail(ENOMEM);
	counters->counters.context = context;
	return &counters->counters;
}

int soft_destroy_counters(struct ibv_counters *ibcounters)
{
	struct soft_counters *counters = to_counters(ibcounters);
	unsigned int used;
	int err;

	err = soft_enter(ibcounters->context, "destroy_counters");
	if (err)
		return err;
	pthread_mutex_lock(&soft_mutex);
	used = counters->flows;
	pthread_mutex_unlock(&soft_mutex);
	if (used)
		return EBUSY;
	free(counters);
	return 0;
}

/* Set up a counter; it applies to rules that are created later. */
int soft_attach_counters_point_flow(struct ibv_counters *ibcounters,
				    struct ibv_counter_attach_attr *attr, struct ibv_flow *flow)
{
	struct soft_counters *counters = to_counters(ibcounters);
	int err;

	err = soft_enter(ibcounters->context, "attach_counters_point_flow");
	if (err)
		return err;
	if (flow || attr->counter_desc > IBV_COUNTER_BYTES)
		return ENOTSUP;
	if (attr->comp_mask || attr->index >= COUNTERS_MAX)
		return EINVAL;
	pthread_mutex_lock(&soft_mutex);
	if (counters->flows)
		err = EBUSY;
	else
		counters->reads[attr->index] |= 1 << attr->counter_desc;
	pthread_mutex_unlock(&soft_mutex);
	return err;
}

int soft_read_counters(struct ibv_counters *ibcounters, uint64_t *values, uint32_t num,
		       uint32_t flags)
{
	struct soft_counters *counters = to_counters(ibcounters);
	uint64_t packets, bytes;
	uint32_t i;
	int err;

	err = soft_enter(ibcounters->context, "read_counters");
	if (err)
		return err;
	if (flags & ~IBV_READ_COUNTERS_ATTR_PREFER_CACHED || num > COUNTERS_MAX)
		return EINVAL;
	pthread_mutex_lock(&soft_mutex);
	flow_count(counters, &packets, &bytes);
	for (i = 0; i < num; i++)
		values[i] = (counters->reads[i] & 1 << IBV_COUNTER_PACKETS ? packets : 0) +
			    (counters->reads[i] & 1 << IBV_COUNTER_BYTES ? bytes : 0);
	pthread_mutex_unlock(&soft_mutex);
	return 0;
}
