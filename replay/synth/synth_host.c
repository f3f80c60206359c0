/*
 * The hosts of synthesized ends by address, and to which of them a queue pair is connected now
 */
#include <string.h>

#include "core/base/vec.h"
#include "replay/synth/synth_pass.h"

enum { PAGE = 4096 };

/* The device of the replay on which @object will be created. */
static const struct device *device_of(const struct replay *r, uint32_t object)
{
	const struct object *o = trace_object(r->trace, object);

	/* a damaged trace may have a cycle, so follow no more links than there are kinds */
	for (int steps = 0; o && o->kind != OBJECT_device; steps++)
		o = steps < OBJECT_COUNT ? trace_object(r->trace, o->parent) : NULL;
	return devices_find_role(r->devices, o && o->name ? o->name : "");
}

/* Do two addresses belong to one host? The GIDs decide if both have one, else the LIDs. */
static bool is_on_host(const struct synth_host *host, const struct ibv_ah_attr *av)
{
	if (host->global && av->is_global)
		return !memcmp(&host->gid, &av->grh.dgid, sizeof(host->gid));
	return host->lid == av->dlid && (host->lid || host->global == (bool)av->is_global);
}

uint32_t synth_host_find(const struct pass *p, const struct synth_plan *plan,
			 const struct ibv_ah_attr *av)
{
	const struct device *device = device_of(p->r, plan->object);
	struct synthesized *far = p->far;
	struct synth_host *host;
	size_t i = 0;

	while (i < far->nhosts &&
	       !(far->hosts[i].device == device && is_on_host(&far->hosts[i], av)))
		i++;
	host = i < far->nhosts ? &far->hosts[i] : vec_push(far->hosts, far->nhosts);
	if (!host)
		return 0;
	if (!host->device)
		host->longest = PAGE;
	host->device = device;
	if (av->dlid)
		host->lid = av->dlid;
	if (av->is_global) {
		host->global = true;
		host->gid = av->grh.dgid;
	}
	return (uint32_t)i + 1;
}

/* If @av is not known, as for the sender of a datagram: the host that is known already. */
uint32_t synth_host_at(const struct pass *p, const struct synth_plan *plan,
		       const struct ibv_ah_attr *av)
{
	static const struct ibv_ah_attr anywhere;
	const struct device *device = device_of(p->r, plan->object);

	if (av && (av->is_global || av->dlid))
		return synth_host_find(p, plan, av);
	for (size_t i = 0; i < p->far->nhosts; i++)
		if (p->far->hosts[i].device == device)
			return (uint32_t)i + 1;
	return synth_host_find(p, plan, &anywhere);
}

struct synth_host *synth_host_now(const struct pass *p, const struct synth_plan *plan)
{
	const struct synth_link *link = plan->at ? &plan->links[plan->at - 1] : NULL;

	return link && link->host ? &p->far->hosts[link->host - 1] : NULL;
}

struct synth_plan *synth_plan_now(const struct pass *p, uint32_t object)
{
	struct synth_plan *plan = object < p->r->nreplicas ? p->far->plans[object] : NULL;

	if (!plan)
		return NULL;
	return plan->type == IBV_QPT_UD || synth_host_now(p, plan) ? plan : NULL;
}
