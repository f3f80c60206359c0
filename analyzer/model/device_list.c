/*
 * The lists of devices that processes have
 */
#include "analyzer/model/device_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/watcher.h"
#include "core/store/db/args_visit.h"

enum { FREED = 64, DEVICES = 64 };

struct device_list {
	uint32_t process;
	uint64_t address;
	struct moment got, freed; /* .freed is 0:0: not */
	size_t ndevices;
	struct {
		uint64_t handle;
		char name[LIFE_NAME];
		bool iwarp;
	} devices[DEVICES];
	struct device_list *next;
};

struct device_open {
	uint32_t process;
	uint64_t device, context;
	struct device_open *next;
};

void device_lists_fini(struct device_lists *lists)
{
	struct device_open *open;
	struct device_list *list;

	while ((list = lists->lists)) {
		lists->lists = list->next;
		free(list);
	}
	while ((open = lists->open)) {
		lists->open = open->next;
		free(open);
	}
}

void device_lists_end(struct device_lists *lists, uint32_t process)
{
	struct device_list **at = &lists->lists, *list;
	struct device_open **from = &lists->open, *open;

	while ((list = *at)) {
		if (list->process != process) {
			at = &list->next;
			continue;
		}
		lists->nfreed -= list->freed.id.thread != 0;
		*at = list->next;
		free(list);
	}
	while ((open = *from)) {
		if (open->process != process) {
			from = &open->next;
			continue;
		}
		*from = open->next;
		free(open);
	}
}

/* Lists */

static void add_device(struct device_list *list, const struct json_node *device)
{
	const struct json_node *handle = args_member(device, ARG(ret.handle));
	const struct json_node *name = args_member(device, ARG(ret.name));
	const struct json_node *transport = args_member(device, ARG(ret.transport_type));
	size_t i = list->ndevices;

	if (handle)
		list->devices[i].handle = (uint64_t)handle->number;
	if (name && name->kind == JSON_TEXT)
		snprintf(list->devices[i].name, LIFE_NAME, "%s", name->text);
	if (transport && transport->kind == JSON_TEXT)
		list->devices[i].iwarp = !strcmp(transport->text, "IBV_TRANSPORT_IWARP");
	list->ndevices += list->devices[i].handle != 0;
}

static int add_list(struct device_lists *lists, const struct trace_event *event)
{
	const struct json_node *devices = args_find(event->call->out, ARG(ret));
	struct device_list *list;

	if (event->call->failed || !devices || devices->kind != JSON_ARRAY)
		return 0;
	list = calloc(1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	list->process = event->process;
	list->address = (uint64_t)event->call->ret;
	list->got = moment_of(event);
	for (const struct json_node *n = json_first(devices); n && list->ndevices < DEVICES;
	     n = json_next(n))
		add_device(list, n);
	list->next = lists->lists;
	lists->lists = list;
	return 0;
}

static void forget_freed(struct device_lists *lists)
{
	struct device_list **at, **last = NULL;
	struct device_list *list;

	for (at = &lists->lists; *at; at = &(*at)->next)
		if ((*at)->freed.id.thread)
			last = at;
	if (!last)
		return;
	list = *last;
	*last = list->next;
	free(list);
	lists->nfreed--;
}

static void free_list(struct device_lists *lists, const struct trace_event *event)
{
	const struct json_node *address = args_find(event->call->args, ARG(list));
	struct device_list *list = lists->lists;

	while (list && address &&
	       (list->process != event->process || list->freed.id.thread ||
		list->address != (uint64_t)address->number))
		list = list->next;
	if (!list || !address)
		return;
	list->freed = moment_of(event);
	if (++lists->nfreed > FREED)
		forget_freed(lists);
}

/* Contexts */

static int add_open(struct device_lists *lists, const struct trace_event *event)
{
	struct device_open *open;
	int64_t device;

	if (event->call->failed || !args_get(event->call->out, ARG(ret.device), &device))
		return 0;
	open = calloc(1, sizeof(*open));
	if (!open)
		return -ENOMEM;
	open->process = event->process;
	open->device = (uint64_t)device;
	open->context = event->call->handle;
	open->next = lists->open;
	lists->open = open;
	return 0;
}

static void close_device(struct device_lists *lists, const struct trace_event *event)
{
	struct device_open **at = &lists->open, *open;

	while (*at && ((*at)->process != event->process || (*at)->context != event->call->handle))
		at = &(*at)->next;
	open = *at;
	if (!open || event->call->failed)
		return;
	*at = open->next;
	free(open);
}

/* Uses */

static bool is_open(const struct device_lists *lists, uint32_t process, uint64_t device)
{
	const struct device_open *open = lists->open;

	while (open && (open->process != process || open->device != device))
		open = open->next;
	return open != NULL;
}

static int find_in(const struct device_list *list, uint64_t device)
{
	for (size_t i = 0; i < list->ndevices; i++)
		if (list->devices[i].handle == device)
			return (int)i;
	return -1;
}

/* Was the device only in lists that were all freed, and is it not open? */
static bool is_stale(const struct device_lists *lists, const struct trace_event *event,
		     struct model_device *ret_use)
{
	const struct device_list *freed = NULL;
	int64_t device;
	int found = -1;

	if (!args_get(event->call->args, ARG(device), &device) ||
	    is_open(lists, event->process, (uint64_t)device))
		return false;
	for (const struct device_list *l = lists->lists; l; l = l->next) {
		int i = l->process == event->process ? find_in(l, (uint64_t)device) : -1;

		if (i < 0)
			continue;
		if (!l->freed.id.thread)
			return false;
		if (!freed || l->freed.time > freed->freed.time) {
			freed = l;
			found = i;
		}
	}
	if (!freed)
		return false;
	*ret_use = (struct model_device){ .event = event,
					  .name = freed->devices[found].name,
					  .freed = freed->freed };
	return true;
}

bool device_lists_is_iwarp(const struct device_lists *lists, uint32_t process, uint64_t context)
{
	const struct device_open *open = lists->open;

	while (open && (open->process != process || open->context != context))
		open = open->next;
	for (const struct device_list *l = lists->lists; open && l; l = l->next) {
		int i = l->process == process ? find_in(l, open->device) : -1;

		if (i >= 0)
			return l->devices[i].iwarp;
	}
	return false;
}

size_t device_lists_count(const struct device_lists *lists, uint32_t process, int64_t since,
			  struct moment *ret_first, struct moment *ret_last)
{
	size_t n = 0;

	for (const struct device_list *list = lists->lists; list; list = list->next) {
		if (list->process != process || list->freed.id.thread || list->got.time <= since)
			continue;
		if (!n++)
			*ret_last = list->got;
		*ret_first = list->got;
	}
	return n;
}

static int on_return(struct device_lists *lists, const struct trace_event *event)
{
	const struct verb_info *info = &verb_infos[event->call->verb];

	if (event->call->verb == VERB_get_device_list)
		return add_list(lists, event);
	if (event->call->verb == VERB_close_device)
		close_device(lists, event);
	return info->effect == EFFECT_CREATE && info->object == OBJECT_context
		       ? add_open(lists, event)
		       : 0;
}

int device_lists_call(struct device_lists *lists, const struct trace_event *event,
		      struct model_device *ret_use)
{
	const struct verb_info *info = &verb_infos[event->call->verb];

	if (event->call->ours || event->call->depth)
		return 0;
	if (event->kind == TRACE_RETURN)
		return on_return(lists, event);
	if (event->call->verb == VERB_free_device_list)
		free_list(lists, event);
	else if (info->object == OBJECT_device || info->object == OBJECT_context)
		return is_stale(lists, event, ret_use);
	return 0;
}
