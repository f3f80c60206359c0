/*
 * Features that the recorded programs used and the devices of this machine lack
 *
 * A table: the feature, whether a device has it, and which calls of the trace need it. The trace is
 * searched only if the device lacks the feature, and only successful calls count. If several
 * devices replace recorded ones, it is enough that one of them has the feature.
 *
 * Not here: queue lengths and similar limits, which are lowered to those of the device
 * (translate_call.c).
 */
#include "replay/state/needs.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/count.h"
#include "core/base/text.h"
#include "core/store/read/requirement.h"
#include "core/wire/log.h"
#include "replay/state/state.h"

enum { WHY = 192 };

/* A device and its attributes from ibv_query_device_ex(), which are 0 if that call fails. */
struct device_ability {
	const struct device *device;
	struct ibv_device_attr_ex ex;
};

struct device_need {
	const char *what;
	bool (*lacks)(const struct device_ability *a);
	enum requirement_kind calls;
};

static bool lacks_flag(const struct device_ability *a, unsigned int flags)
{
	return !(a->device->attr.device_cap_flags & flags);
}

static bool lacks_xrc(const struct device_ability *a)
{
	return lacks_flag(a, IBV_DEVICE_XRC);
}

static bool lacks_windows(const struct device_ability *a)
{
	return !a->device->attr.max_mw || lacks_flag(a, IBV_DEVICE_MEM_WINDOW);
}

static bool lacks_windows_2(const struct device_ability *a)
{
	return !a->device->attr.max_mw ||
	       lacks_flag(a, IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B);
}

static bool is_iwarp(const struct device_ability *a)
{
	return a->device->device->transport_type == IBV_TRANSPORT_IWARP;
}

static bool is_no_iwarp(const struct device_ability *a)
{
	return !is_iwarp(a);
}

static bool lacks_ethernet(const struct device_ability *a)
{
	for (int i = 1; i <= PORTS_MAX; i++)
		if (a->device->ports[i].there && a->device->ports[i].ethernet)
			return false;
	return true;
}

static bool lacks_odp(const struct device_ability *a)
{
	return !(a->ex.odp_caps.general_caps & IBV_ODP_SUPPORT);
}

static bool lacks_device_memory(const struct device_ability *a)
{
	return !a->ex.max_dm_size;
}

static bool lacks_timestamps(const struct device_ability *a)
{
	return !a->ex.completion_timestamp_mask;
}

static bool lacks_shared_queues(const struct device_ability *a)
{
	return !a->device->attr.max_srq;
}

static bool lacks_groups(const struct device_ability *a)
{
	return !a->device->attr.max_mcast_grp;
}

static bool lacks_receive_queues(const struct device_ability *a)
{
	return !a->ex.max_wq_type_rq;
}

static bool lacks_atomics(const struct device_ability *a)
{
	return a->device->attr.atomic_cap == IBV_ATOMIC_NONE;
}

/* clang-format off */
static const struct device_need needs[] = {
	{ "XRC", lacks_xrc, NEEDING_XRC },
	{ "UD queue pairs", is_iwarp, NEEDING_UD },
	{ "UC queue pairs", is_iwarp, NEEDING_UC },
	{ "address handles", is_iwarp, NEEDING_HANDLES },
	/* the kernel connects them: the trace lacks the calls */
	{ "iWARP queue pairs, connected by librdmacm", is_no_iwarp, NEEDING_IWARP },
	{ "an Ethernet port for raw packets", lacks_ethernet, NEEDING_RAW_PACKETS },
	{ "on-demand paging", lacks_odp, NEEDING_ODP },
	{ "memory windows", lacks_windows, NEEDING_WINDOWS },
	{ "memory windows of type 2", lacks_windows_2, NEEDING_WINDOWS_2 },
	{ "device memory", lacks_device_memory, NEEDING_DEVICE_MEMORY },
	{ "timestamps of completions", lacks_timestamps, NEEDING_TIMESTAMPS },
	{ "shared receive queues", lacks_shared_queues, NEEDING_SHARED_QUEUES },
	{ "multicast", lacks_groups, NEEDING_MULTICAST },
	{ "receive work queues", lacks_receive_queues, NEEDING_WORK_QUEUES },
	{ "atomics", lacks_atomics, NEEDING_ATOMICS },
};
/* clang-format on */

/* A limit of the device for the number of objects of a kind that exist at a time. */
struct limit {
	const char *what;
	enum object_kind kind;
	size_t at; /* offset of the limit, an int, in struct ibv_device_attr */
};

static const struct limit limits[] = {
	{ "queue pairs", OBJECT_qp, offsetof(struct ibv_device_attr, max_qp) },
	{ "completion queues", OBJECT_cq, offsetof(struct ibv_device_attr, max_cq) },
	{ "regions", OBJECT_mr, offsetof(struct ibv_device_attr, max_mr) },
	{ "protection domains", OBJECT_pd, offsetof(struct ibv_device_attr, max_pd) },
	{ "shared receive queues", OBJECT_srq, offsetof(struct ibv_device_attr, max_srq) },
	{ "memory windows", OBJECT_mw, offsetof(struct ibv_device_attr, max_mw) },
	{ "address handles", OBJECT_ah, offsetof(struct ibv_device_attr, max_ah) },
};

enum { NEEDS = sizeof(needs) / sizeof(*needs), LIMITS = sizeof(limits) / sizeof(*limits) };

/* The abilities of the devices, and the features that are missing. */
struct needs {
	struct device_ability abilities[DEVICES_MAX];
	unsigned int nabilities;
	char why[NEEDS][WHY];
	struct map events; /* to need + 1 */
	struct text missing;
};

static void query_abilities(struct replay *r, struct needs *n)
{
	const struct device *device;

	for (unsigned int i = 0; (device = devices_nth_used(r->devices, i)); i++) {
		struct device_ability *a = &n->abilities[n->nabilities++];

		a->device = device;
		if (ibv_query_device_ex(device->context, NULL, &a->ex))
			a->ex = (struct ibv_device_attr_ex){ 0 };
	}
}

static bool do_all_lack(const struct needs *n, const struct device_need *need)
{
	for (unsigned int i = 0; i < n->nabilities; i++)
		if (!need->lacks(&n->abilities[i]))
			return false;
	return n->nabilities;
}

static const char *name_of(const struct needs *n)
{
	return n->nabilities == 1 ? n->abilities[0].device->name : "each device of this machine";
}

static void add_missing(struct needs *n, const char *between, const char *text)
{
	text_addf(&n->missing, "%s%s", n->missing.used ? between : "needs ", text);
}

struct feature_search {
	struct needs *needs;
	unsigned int i; /* of needs[] */
	bool found;
};

/* Count a call that needs the feature, and name the first. */
static int add_call(void *arg, struct event_id call)
{
	struct feature_search *search = arg;
	char text[32], line[WHY + 64];

	if (!search->found) {
		snprintf(line, sizeof(line), "%s (%s)", needs[search->i].what,
			 event_id_text(call, text));
		add_missing(search->needs, ", ", line);
	}
	search->found = true;
	return map_put(&search->needs->events, event_key(call), search->i + 1);
}

static int find_calls(struct replay *r, struct needs *n, unsigned int i)
{
	struct feature_search search = { .needs = n, .i = i };

	snprintf(n->why[i], WHY, "%s, which %s lacks", needs[i].what, name_of(n));
	return requirement_visit_calls(r->trace, needs[i].calls, add_call, &search);
}

/* Check whether more objects exist at a time than all devices together support. */
static void check_limit(struct replay *r, struct needs *n, const struct limit *limit)
{
	char line[WHY], most[COUNT_TEXT], has[COUNT_TEXT];
	int64_t here = 0, there;

	for (unsigned int i = 0; i < n->nabilities; i++) {
		int own;

		memcpy(&own, (const char *)&n->abilities[i].device->attr + limit->at, sizeof(own));
		here += own;
	}
	if (here <= 0 || requirement_count_objects(r->trace, limit->kind) <= here)
		return;
	there = requirement_most_live(r->trace, limit->kind);
	if (there <= here)
		return;
	snprintf(line, sizeof(line), "%s %s at a time, but %s has %s",
		 count_text((uint64_t)there, most), limit->what, name_of(n),
		 count_text((uint64_t)here, has));
	add_missing(n, "; ", line);
}

static void check_regions(struct replay *r, struct needs *n)
{
	char line[WHY], most[COUNT_TEXT], has[COUNT_TEXT];
	uint64_t here = 0, there;

	for (unsigned int i = 0; i < n->nabilities; i++)
		if (n->abilities[i].device->attr.max_mr_size > here)
			here = n->abilities[i].device->attr.max_mr_size;
	if (!here || here >= r->options->max_memory) /* --max-memory is checked elsewhere */
		return;
	there = requirement_largest_region(r->trace);
	if (there <= here)
		return;
	snprintf(line, sizeof(line), "a region of %s bytes, but %s supports %s",
		 count_text(there, most), name_of(n), count_text(here, has));
	add_missing(n, "; ", line);
}

/* Report missing features; calls that are left out are reported when they would be replayed. */
static int report_missing(struct replay *r, struct needs *n)
{
	if (n->missing.failed)
		return log_err(-ENOMEM, "find the requirements of the trace");
	if (!n->missing.used)
		return 0;
	if (r->options->skip_unsupported) {
		outcome_note(r->outcome, "%s", n->missing.at);
		return 0;
	}
	log_note("replay: %s; --skip-unsupported leaves that out", n->missing.at);
	return -EOPNOTSUPP;
}

int needs_check(struct replay *r)
{
	struct needs *n;
	int err = 0;

	if (devices_are_alike(r->devices))
		return 0;
	n = r->needs = calloc(1, sizeof(*n));
	if (!n)
		return log_err(-ENOMEM, "find the requirements of the trace");
	query_abilities(r, n);
	for (unsigned int i = 0; i < NEEDS && !err; i++)
		if (do_all_lack(n, &needs[i]))
			err = find_calls(r, n, i);
	if (n->missing.used)
		text_addf(&n->missing, ", which %s lacks", name_of(n));
	for (unsigned int i = 0; i < LIMITS && !err; i++)
		check_limit(r, n, &limits[i]);
	if (!err)
		check_regions(r, n);
	return err ? err : report_missing(r, n);
}

const char *needs_lacks(const struct replay *r, struct event_id event)
{
	uint64_t need;

	if (!r->needs || !map_get(&r->needs->events, event_key(event), &need))
		return NULL;
	return r->needs->why[need - 1];
}

void needs_fini(struct replay *r)
{
	if (!r->needs)
		return;
	map_fini(&r->needs->events);
	text_fini(&r->needs->missing);
	free(r->needs);
	r->needs = NULL;
}
