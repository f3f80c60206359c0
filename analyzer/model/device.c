/*
 * What a device can do, and the GIDs of its ports
 */
#include "analyzer/model/device.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/abi.h"
#include "core/store/read/trace.h"

enum {
	GIDS = 4096,           /* of one context, at most */
	VENDOR_SIW = 0x626d74, /* the kernel's siw: SIW_VENDOR_ID */
};

static bool is_named(const struct json_node *node, const char *name)
{
	return node->name && !strcmp(node->name, name);
}

/* @attr: a struct ibv_device_attr; in struct ibv_device_attr_ex it is orig_attr */
static void read_device_limits(struct device *device, const struct json_node *attr)
{
	for (const struct json_node *n = json_first(attr); n; n = json_next(n)) {
		if (n->kind == JSON_OBJECT)
			read_device_limits(device, n);
		if (n->kind != JSON_INT)
			continue;
		device->known = true;
		if (is_named(n, "vendor_id"))
			device->vendor_id = n->number;
#define TAKE(field)              \
	if (is_named(n, #field)) \
		device->field = n->number;
		EACH_DEVICE_LIMIT(TAKE)
#undef TAKE
	}
}

static void read_port_attr(struct device *device, const struct call *call)
{
	const struct json_node *number = args_find(call->args, ARG(port_num));
	const struct json_node *n = json_first(args_find(call->out, ARG(port_attr)));
	struct device_port *port;

	if (!n || !number || number->number < 1 || number->number > DEVICE_PORTS)
		return;
	port = &device->ports[number->number];
	port->known = true;
	for (; n; n = json_next(n)) {
		if (is_named(n, "link_layer"))
			port->ethernet = n->number == ABI_LINK_LAYER_ETHERNET;
		else if (is_named(n, "gid_tbl_len"))
			port->gid_tbl_len = (uint32_t)n->number;
		else if (is_named(n, "pkey_tbl_len"))
			port->pkey_tbl_len = (uint32_t)n->number;
		else if (is_named(n, "max_msg_sz"))
			port->max_msg_sz = (uint32_t)n->number;
		else if (is_named(n, "lid"))
			port->lid = (uint16_t)n->number;
		else if (is_named(n, "lmc"))
			port->lmc = (uint8_t)(n->number & 7);
		else if (is_named(n, "active_mtu") && n->kind == JSON_TEXT)
			for (uint32_t mtu = 1; mtu <= 5; mtu++)
				if (atoi(n->text + strlen("IBV_MTU_")) == 128 << mtu)
					port->active_mtu = mtu;
	}
}

static struct device_gid *find_gid(const struct device *device, uint32_t port, uint32_t index)
{
	for (size_t i = 0; i < device->ngids; i++)
		if (device->gids[i].port == port && device->gids[i].index == index)
			return &device->gids[i];
	return NULL;
}

static int put_gid(struct device *device, const struct device_gid *gid)
{
	struct device_gid *at = find_gid(device, gid->port, gid->index);

	if (!at && device->ngids >= GIDS)
		return 0;
	if (!at) {
		at = realloc(device->gids, (device->ngids + 1) * sizeof(*at));
		if (!at)
			return -ENOMEM;
		device->gids = at;
		at += device->ngids++;
		at->type = -1;
	}
	*at = (struct device_gid){ .port = gid->port,
				   .index = gid->index,
				   .type = gid->type < 0 ? at->type : gid->type };
	memcpy(at->raw, gid->raw, sizeof(at->raw));
	return 0;
}

static int read_type(const struct json_node *n)
{
	if (n->kind == JSON_INT)
		return (int)n->number;
	return n->kind != JSON_TEXT                       ? -1
	       : !strcmp(n->text, "IBV_GID_TYPE_ROCE_V1") ? ABI_GID_TYPE_ROCE_V1
	       : !strcmp(n->text, "IBV_GID_TYPE_ROCE_V2") ? ABI_GID_TYPE_ROCE_V2
							  : ABI_GID_TYPE_IB;
}

static bool read_raw(const struct json_node *gid, uint8_t raw[DEVICE_GID])
{
	const struct json_node *n = json_first(gid);

	return n && n->kind == JSON_TEXT && place_parse_gid(n->text, raw);
}

/* struct ibv_gid_entry */
static int read_gid_entry(struct device *device, const struct json_node *entry)
{
	struct device_gid gid = { .type = -1 };
	bool known = false;

	for (const struct json_node *n = json_first(entry); n; n = json_next(n)) {
		if (is_named(n, "gid"))
			known = read_raw(n, gid.raw);
		else if (is_named(n, "gid_index"))
			gid.index = (uint32_t)n->number;
		else if (is_named(n, "port_num"))
			gid.port = (uint32_t)n->number;
		else if (is_named(n, "gid_type"))
			gid.type = read_type(n);
	}
	return known ? put_gid(device, &gid) : 0;
}

static int read_queried_gid(struct device *device, const struct call *call)
{
	const struct json_node *port = args_find(call->args, ARG(port_num));
	const struct json_node *index = args_find(call->args, ARG(index));
	struct device_gid gid = { .type = -1 };

	if (!port || !index || !read_raw(args_find(call->out, ARG(gid)), gid.raw))
		return 0;
	gid.port = (uint32_t)port->number;
	gid.index = (uint32_t)index->number;
	return put_gid(device, &gid);
}

static int read_gid_table(struct device *device, const struct call *call)
{
	const struct json_node *entries = args_find(call->out, ARG(entries));
	const struct json_node *most = args_find(call->args, ARG(max_entries));
	int err = 0;

	if (!entries)
		return 0;
	device->ngids = 0;
	device->all_gids = most && entries->count < (uint64_t)most->number;
	for (const struct json_node *n = json_first(entries); n && !err; n = json_next(n))
		err = read_gid_entry(device, n);
	return err;
}

static struct device *make_device(void)
{
	struct device *device = calloc(1, sizeof(*device));

	if (device)
		device->refs = 1;
	return device;
}

int device_learn(struct device **device, const struct call *call)
{
	if (!*device)
		*device = make_device();
	if (!*device)
		return -ENOMEM;
	switch (call->verb) {
	case VERB_query_device:
	case VERB_query_device_ex:
		read_device_limits(*device, args_root(call->out));
		return 0;
	case VERB_query_port:
	case VERB_query_port_compat:
		read_port_attr(*device, call);
		return 0;
	case VERB_query_gid:
		return read_queried_gid(*device, call);
	case VERB_query_gid_ex:
		return read_gid_entry(*device, args_find(call->out, ARG(entry)));
	case VERB_query_gid_table:
		return read_gid_table(*device, call);
	default:
		return 0;
	}
}

int device_note_opened(struct device **device, const struct call *call)
{
	if (!*device)
		*device = make_device();
	if (!*device)
		return -ENOMEM;
	args_get(call->out, ARG(ret.num_comp_vectors), &(*device)->comp_vectors);
	return 0;
}

bool device_lacks_gid(const struct device *device, uint32_t port, uint32_t index)
{
	static const uint8_t none[DEVICE_GID];
	const struct device_gid *gid = device_find_gid(device, port, index);

	return gid ? !memcmp(gid->raw, none, DEVICE_GID) : device && device->all_gids;
}

bool device_is_siw(const struct device *device)
{
	return device && device->vendor_id == VENDOR_SIW;
}

struct device *device_get(struct device **device)
{
	if (!*device)
		*device = make_device();
	if (*device)
		(*device)->refs++;
	return *device;
}

void device_put(struct device *device)
{
	if (!device || --device->refs)
		return;
	free(device->gids);
	free(device);
}

static enum placed compare_port(const struct device_port *port, const struct place *to)
{
	const struct place own = { .lid = port->lid, .lmc = port->lmc };

	return port->known && place_is_known(&own) ? place_compare(&own, to) : PLACED_PERHAPS;
}

static enum placed compare_gid(const struct device_gid *gid, const struct place *to)
{
	struct place own = { .is_global = true };

	memcpy(own.gid, gid->raw, sizeof(own.gid));
	return place_is_known(&own) ? place_compare(&own, to) : PLACED_PERHAPS;
}

/* PLACED_AT_PORT if @a or @b is PLACED_AT_PORT; else PLACED_ELSEWHERE if one of them is. */
static enum placed combine_placed(enum placed a, enum placed b)
{
	if (a == PLACED_AT_PORT || b == PLACED_AT_PORT)
		return PLACED_AT_PORT;
	return a == PLACED_ELSEWHERE ? a : b;
}

enum placed device_place(const struct device *device, uint32_t port, const struct place *to)
{
	enum placed found = PLACED_PERHAPS;

	if (!device || !place_is_known(to))
		return found;
	for (uint32_t i = 1; i <= DEVICE_PORTS; i++)
		if (!port || port == i)
			found = combine_placed(found, compare_port(&device->ports[i], to));
	for (size_t i = 0; i < device->ngids; i++)
		if (!port || port == device->gids[i].port)
			found = combine_placed(found, compare_gid(&device->gids[i], to));
	return found;
}

const struct device_port *device_find_port(const struct device *device, uint32_t port)
{
	if (!device || !port || port > DEVICE_PORTS || !device->ports[port].known)
		return NULL;
	return &device->ports[port];
}

const struct device_gid *device_find_gid(const struct device *device, uint32_t port, uint32_t index)
{
	return device ? find_gid(device, port, index) : NULL;
}

const struct device_gid *device_find_ipv4(const struct device *device, uint32_t port)
{
	for (size_t i = 0; device && i < device->ngids; i++)
		if (device->gids[i].port == port && gid_is_ipv4(device->gids[i].raw) &&
		    device->gids[i].type == ABI_GID_TYPE_ROCE_V2)
			return &device->gids[i];
	return NULL;
}

const char *gid_type_name(int type)
{
	return type == ABI_GID_TYPE_ROCE_V1   ? "RoCE v1"
	       : type == ABI_GID_TYPE_ROCE_V2 ? "RoCE v2"
	       : type == ABI_GID_TYPE_IB      ? "IB"
					      : "of unknown type";
}

const char *gid_text(const uint8_t gid[DEVICE_GID], char text[48])
{
	if (!inet_ntop(AF_INET6, gid, text, 48))
		text[0] = '\0';
	return text;
}

bool gid_is_ipv4(const uint8_t gid[DEVICE_GID])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid, mapped, sizeof(mapped));
}
