/*
 * The devices of this machine, and which of them replaces which recorded one
 *
 * Recorded LIDs and GIDs are collected from queries of the recorded program about its ports. An
 * address of the trace is looked up among them and replaced by the address of the port that
 * replaces the recorded one.
 */
#include "replay/device/devices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/store/db/args.h"
#include "core/wire/log.h"
#include "replay/device/device_attr.h"
#include "replay/report/outcome.h"
#include "core/model/place.h"

/* A GID that a query by the program or the recorder returned. */
struct recorded_gid {
	uint8_t port;
	int64_t index;
	struct gid gid;
};

struct role {
	char name[64];
	unsigned int device;
	struct args *attr; /* NULL: not in the trace */
	enum arg in;       /* the argument of attr that has them */
	struct recorded_gid *gids;
	size_t ngids;
};

struct devices {
	struct ibv_device **list;
	struct device devices[DEVICES_MAX];
	unsigned int ndevices;
	struct role roles[DEVICES_MAX];
	unsigned int nroles;
	char iwarp[DEVICES_MAX][64]; /* names of recorded devices, opened or only listed */
	unsigned int niwarp;
	struct map lids, gids; /* recorded, to role << 8 | port */
};

static void query_port_gids(struct ibv_context *context, uint8_t number, struct port *port)
{
	struct ibv_gid_entry entry;

	for (int i = 0; i < port->gids.n; i++) {
		struct gid *gid = &port->gids.at[i];

		if (ibv_query_gid(context, number, i, &gid->raw))
			memset(&gid->raw, 0, sizeof(gid->raw));
		else if (!gid_is_zero(&gid->raw) &&
			 !ibv_query_gid_ex(context, number, (uint32_t)i, &entry, 0))
			gid->kind = gid_kind_of(entry.gid_type);
	}
	port->best_gid = gids_choose(&port->gids, -1, NULL);
}

static void query_device_port(struct ibv_context *context, uint8_t number, struct port *port)
{
	struct ibv_port_attr attr;

	if (ibv_query_port(context, number, &attr))
		return;
	port->there = true;
	port->lid = attr.lid;
	port->ethernet = attr.link_layer == IBV_LINK_LAYER_ETHERNET;
	port->mtu = attr.active_mtu;
	port->gid_table = attr.gid_tbl_len;
	port->pkey_table = attr.pkey_tbl_len;
	port->gids.n = attr.gid_tbl_len < GIDS_MAX ? attr.gid_tbl_len : GIDS_MAX;
	query_port_gids(context, number, port);
}

/*
 * Open and query a device. The error is always -EIO, since the device's own, EINVAL for example,
 * would mean that the trace is bad.
 */
static int open_and_query(struct device *d)
{
	d->name = ibv_get_device_name(d->device);
	d->context = ibv_open_device(d->device);
	if (!d->context) {
		log_err(-errno, "open device %s", d->name);
		return -EIO;
	}
	if (ibv_query_device(d->context, &d->attr))
		return log_err(-EIO, "query device %s", d->name);
	for (int i = 1; i <= d->attr.phys_port_cnt && i <= PORTS_MAX; i++)
		query_device_port(d->context, (uint8_t)i, &d->ports[i]);
	return 0;
}

static int check_all_devices(struct devices *ds, const char *only)
{
	int err;

	for (int i = 0; ds->list && ds->list[i] && ds->ndevices < DEVICES_MAX; i++) {
		if (only && strcmp(only, ibv_get_device_name(ds->list[i])))
			continue;
		ds->devices[ds->ndevices].device = ds->list[i];
		err = open_and_query(&ds->devices[ds->ndevices++]);
		if (err)
			return err;
	}
	if (!ds->ndevices)
		return log_err(-ENODEV, only ? "look for device %s" : "look for an RDMA device",
			       only);
	return 0;
}

int devices_open(const char *only, struct devices **ret_devices)
{
	struct devices *ds = calloc(1, sizeof(*ds));
	int err;

	if (!ds)
		return log_err(-ENOMEM, "open devices");
	ds->list = ibv_get_device_list(NULL);
	err = check_all_devices(ds, only);
	if (err) {
		devices_close(ds);
		return err;
	}
	*ret_devices = ds;
	return 0;
}

static void free_role(struct role *role)
{
	args_unref(role->attr);
	free(role->gids);
}

void devices_close(struct devices *ds)
{
	if (!ds)
		return;
	for (unsigned int i = 0; i < ds->ndevices; i++)
		if (ds->devices[i].context)
			ibv_close_device(ds->devices[i].context);
	for (unsigned int i = 0; i < ds->nroles; i++)
		free_role(&ds->roles[i]);
	if (ds->list)
		ibv_free_device_list(ds->list);
	map_fini(&ds->lids);
	map_fini(&ds->gids);
	free(ds);
}

const struct device *devices_first(const struct devices *ds)
{
	return &ds->devices[0];
}

static const struct role *search_role(const struct devices *ds, const char *name)
{
	for (unsigned int i = 0; i < ds->nroles; i++)
		if (!strcmp(ds->roles[i].name, name))
			return &ds->roles[i];
	return NULL;
}

/* The role of recorded device @name; it is created if there is none. */
static unsigned int find_role(struct devices *ds, const char *name)
{
	const struct role *known = search_role(ds, name);
	struct role *role;
	unsigned int i = ds->nroles;

	if (known)
		return (unsigned int)(known - ds->roles);
	if (i == DEVICES_MAX)
		return 0;
	role = &ds->roles[ds->nroles++];
	snprintf(role->name, sizeof(role->name), "%s", name);
	role->device = i % ds->ndevices;
	for (unsigned int d = 0; d < ds->ndevices; d++)
		if (!strcmp(ds->devices[d].name, name))
			role->device = d;
	return i;
}

const struct device *devices_find_role(struct devices *ds, const char *name)
{
	return &ds->devices[ds->roles[find_role(ds, name)].device];
}

void devices_note_attr(struct devices *ds, const char *name, struct args *out, enum arg in)
{
	struct role *role = &ds->roles[find_role(ds, name)];

	args_unref(role->attr);
	role->attr = args_ref(out);
	role->in = in;
}

void devices_note_iwarp(struct devices *ds, const char *name)
{
	if (ds->niwarp < DEVICES_MAX && !devices_was_iwarp(ds, name))
		snprintf(ds->iwarp[ds->niwarp++], sizeof(ds->iwarp[0]), "%s", name);
}

bool devices_was_iwarp(const struct devices *ds, const char *name)
{
	for (unsigned int i = 0; i < ds->niwarp; i++)
		if (!strcmp(ds->iwarp[i], name))
			return true;
	return false;
}

bool devices_lack(const struct devices *ds, const char *name)
{
	for (unsigned int i = 0; i < ds->ndevices; i++)
		if (!strcmp(ds->devices[i].name, name))
			return false;
	return !search_role(ds, name);
}

/* Compare a role with its device. @text: the differences, if the trace has the attributes. */
static enum device_likeness compare_role(const struct role *role, const struct device *device,
					 char *text, size_t size)
{
	*text = '\0';
	if (role->attr)
		return device_attr_compare(role->attr, role->in, &device->attr, text, size);
	return strcmp(role->name, device->name) ? DEVICE_OTHER : DEVICE_SAME;
}

/* Is the device's name known? If no call in the trace returned it, it is "device" and a number. */
static bool is_named(const struct role *role)
{
	size_t kind = strlen("device");

	return strncmp(role->name, "device", kind) ||
	       strspn(role->name + kind, "0123456789") != strlen(role->name + kind);
}

static void report_role(const struct role *role, const struct device *device,
			struct outcome *outcome)
{
	char text[1024];
	enum device_likeness likeness = compare_role(role, device, text, sizeof(text));

	if (likeness == DEVICE_OTHER)
		outcome_set_other_device(outcome);
	if (!role->attr && !is_named(role))
		outcome_note(outcome, "the trace does not describe the recorded device");
	else if (likeness != DEVICE_SAME)
		outcome_note(outcome, "%s differs from the recorded %s%s%s%s", device->name,
			     role->name, likeness == DEVICE_TWIN ? ", but is of the same kind" : "",
			     *text ? ": " : "", text);
}

bool devices_are_alike(const struct devices *ds)
{
	char text[1024];

	for (unsigned int i = 0; i < ds->nroles; i++)
		if (compare_role(&ds->roles[i], &ds->devices[ds->roles[i].device], text,
				 sizeof(text)) == DEVICE_OTHER)
			return false;
	return true;
}

static bool has_role(const struct devices *ds, unsigned int device)
{
	for (unsigned int i = 0; i < ds->nroles; i++)
		if (ds->roles[i].device == device)
			return true;
	return false;
}

const struct device *devices_nth_used(const struct devices *ds, unsigned int i)
{
	for (unsigned int d = 0; d < ds->ndevices; d++)
		if (has_role(ds, d) && !i--)
			return &ds->devices[d];
	return NULL;
}

void devices_report(const struct devices *ds, struct outcome *outcome)
{
	for (unsigned int i = 0; i < ds->nroles; i++)
		report_role(&ds->roles[i], &ds->devices[ds->roles[i].device], outcome);
}

const struct device *devices_of(const struct devices *ds, const struct ibv_context *context)
{
	for (unsigned int i = 0; i < ds->ndevices; i++)
		if (ds->devices[i].device == context->device)
			return &ds->devices[i];
	return &ds->devices[0];
}

uint8_t device_port(const struct device *device, uint8_t port)
{
	return port <= PORTS_MAX && device->ports[port].there ? port : 1;
}

void devices_names(const struct devices *ds, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (unsigned int i = 0; i < ds->ndevices && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
					 ds->devices[i].name);
}

static uint64_t gid_key(const union ibv_gid *gid)
{
	return gid->global.subnet_prefix * 31 + gid->global.interface_id;
}

int devices_note_lid(struct devices *ds, const char *name, uint8_t port, uint16_t lid)
{
	return lid ? map_put(&ds->lids, lid, find_role(ds, name) << 8 | port) : 0;
}

static struct recorded_gid *find_recorded(const struct role *role, uint8_t port, int64_t index)
{
	for (size_t i = 0; i < role->ngids; i++)
		if (role->gids[i].port == port && role->gids[i].index == index)
			return &role->gids[i];
	return NULL;
}

/* ibv_query_gid() does not return the type, which the recorder has queried at the beginning. */
static int store_gid(struct role *role, uint8_t port, int64_t index, const struct gid *gid)
{
	struct recorded_gid *kept = find_recorded(role, port, index);

	if (!kept) {
		kept = vec_push(role->gids, role->ngids);
		if (!kept)
			return -ENOMEM;
		*kept = (struct recorded_gid){ .port = port, .index = index };
	}
	if (gid->kind != GID_UNTYPED || memcmp(&kept->gid.raw, &gid->raw, sizeof(gid->raw)))
		kept->gid = *gid;
	return 0;
}

int devices_note_gid(struct devices *ds, const char *name, uint8_t port, int64_t index,
		     const struct gid *gid)
{
	unsigned int role = find_role(ds, name);

	if (gid_is_zero(&gid->raw))
		return 0;
	return map_put(&ds->gids, gid_key(&gid->raw), role << 8 | port)
		       ?: store_gid(&ds->roles[role], port, index, gid);
}

bool devices_find_address(struct devices *ds, const struct ibv_ah_attr *av,
			  const struct device **ret_device, uint8_t *ret_port)
{
	uint64_t place;
	bool found = av->is_global && map_get(&ds->gids, gid_key(&av->grh.dgid), &place);

	if (!found && !map_get(&ds->lids, av->dlid, &place))
		return false;
	*ret_device = &ds->devices[ds->roles[place >> 8].device];
	*ret_port = device_port(*ret_device, (uint8_t)place);
	return true;
}

void devices_translate_source(const struct devices *ds, const char *name, const struct device *from,
			      struct ibv_ah_attr *av)
{
	const struct role *role = search_role(ds, name);
	uint8_t index = av->grh.sgid_index;
	const struct recorded_gid *recorded =
		role && av->is_global ? find_recorded(role, av->port_num, index) : NULL;
	const struct gids *gids;

	av->port_num = device_port(from, av->port_num);
	gids = &from->ports[av->port_num].gids;
	if (av->is_global)
		av->grh.sgid_index =
			(uint8_t)gids_choose(gids, index, recorded ? &recorded->gid : NULL);
}

void devices_translate(const struct device *from, const struct device *to, uint8_t to_port,
		       struct ibv_ah_attr *av)
{
	uint8_t from_port = device_port(from, av->port_num);
	const struct port *source = &from->ports[from_port];
	const struct port *target = &to->ports[device_port(to, to_port)];
	int index = av->is_global ? av->grh.sgid_index : source->best_gid, its;

	av->port_num = from_port;
	av->dlid = target->lid;
	if (!av->is_global && !source->ethernet)
		return;
	if (!gids_has(&source->gids, index))
		index = source->best_gid;
	its = gids_choose(&target->gids, index, &source->gids.at[index]);
	if (!place_is_same_family(source->gids.at[index].raw.raw, target->gids.at[its].raw.raw)) {
		index = source->best_gid;
		its = gids_choose(&target->gids, index, &source->gids.at[index]);
	}
	if (!av->is_global)
		av->grh.hop_limit = 64;
	av->is_global = 1;
	av->grh.sgid_index = (uint8_t)index;
	av->grh.dgid = target->gids.at[its].raw;
}
