/*
 * A machine's device, described in a file
 *
 * Lines of "name value"; # begins a comment, at the beginning of a line or after a blank. The names
 * are those of ibv_device_attr, ibv_device_attr_ex and, after "port.N.", ibv_port_attr;
 * other_items[] has a few more. Numbers are decimal or 0x..., or one of the words of the item.
 *
 * A limit is lowered to the limit of this device, and a capability that this device lacks is
 * removed, so that all reported values are true.
 *
 * The file is read twice: a port starts with the values of this device's own port on the same kind
 * of link, so the kinds of links must be known first.
 */
#include "shim/soft/fabric/profile.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "shim/soft/fabric/link.h"
#include "shim/soft/fabric/profile_own.h"
#include "shim/soft/fabric/text.h"

enum { FILE_MAX = 128 << 10, LINE_MAX_LEN = 512 };

enum kind {
	GIVEN, /* the value in the file */
	LIMIT, /* the value in the file, but at most the device's own */
	FLAGS, /* the flags in the file that the device also has */
	OWN,   /* the device's own value: others are not supported */
	TEXT,
	GUID,
};

struct word {
	const char *name;
	uint64_t value;
};

struct item {
	const char *name;
	enum kind kind;
	uint16_t offset;
	uint16_t size;
	const struct word *words;
};

/* clang-format off */
static const struct word atomics[] = {
	{ "none", IBV_ATOMIC_NONE }, { "hca", IBV_ATOMIC_HCA },
	{ "glob", IBV_ATOMIC_GLOB }, { NULL, 0 },
};

static const struct word states[] = {
	{ "nop", IBV_PORT_NOP }, { "down", IBV_PORT_DOWN },
	{ "init", IBV_PORT_INIT }, { "armed", IBV_PORT_ARMED },
	{ "active", IBV_PORT_ACTIVE },
	{ "active_defer", IBV_PORT_ACTIVE_DEFER }, { NULL, 0 },
};

static const struct word mtus[] = {
	{ "256", IBV_MTU_256 }, { "512", IBV_MTU_512 },
	{ "1024", IBV_MTU_1024 }, { "2048", IBV_MTU_2048 },
	{ "4096", IBV_MTU_4096 }, { NULL, 0 },
};

static const struct word links[] = {
	{ "unspecified", IBV_LINK_LAYER_UNSPECIFIED },
	{ "infiniband", IBV_LINK_LAYER_INFINIBAND },
	{ "ethernet", IBV_LINK_LAYER_ETHERNET }, { NULL, 0 },
};

static const struct word types[] = {
	{ "ib", IBV_GID_TYPE_IB }, { "rocev1", IBV_GID_TYPE_ROCE_V1 },
	{ "rocev2", IBV_GID_TYPE_ROCE_V2 }, { NULL, 0 },
};
/* clang-format on */

#define ITEM(kind, record, base, field, words)                 \
	{ #field, kind, base + offsetof(struct record, field), \
	  sizeof(((struct record *)0)->field), words },
#define DEVICE(kind, field) \
	ITEM(kind, ibv_device_attr, offsetof(struct profile, attr.orig_attr), field, NULL)
#define EXTENDED(kind, field) \
	ITEM(kind, ibv_device_attr_ex, offsetof(struct profile, attr), field, NULL)
#define OTHER(kind, field)       ITEM(kind, profile, 0, field, NULL)
#define PORT(kind, field, words) ITEM(kind, ibv_port_attr, 0, field, words)

/* clang-format off */
static const struct item device_items[] = {
	OTHER(TEXT, name)
	OTHER(TEXT, hca_type)
	OTHER(TEXT, board_id)
	OTHER(TEXT, node_desc)
	OTHER(LIMIT, max_inline_data)
	OTHER(GIVEN, num_comp_vectors)

	DEVICE(TEXT, fw_ver)
	DEVICE(GUID, node_guid)
	DEVICE(GUID, sys_image_guid)
	DEVICE(LIMIT, max_mr_size)
	DEVICE(GIVEN, page_size_cap)
	DEVICE(GIVEN, vendor_id)
	DEVICE(GIVEN, vendor_part_id)
	DEVICE(GIVEN, hw_ver)
	DEVICE(LIMIT, max_qp)
	DEVICE(LIMIT, max_qp_wr)
	DEVICE(FLAGS, device_cap_flags)
	DEVICE(LIMIT, max_sge)
	DEVICE(LIMIT, max_sge_rd)
	DEVICE(LIMIT, max_cq)
	DEVICE(LIMIT, max_cqe)
	DEVICE(LIMIT, max_mr)
	DEVICE(LIMIT, max_pd)
	DEVICE(LIMIT, max_qp_rd_atom)
	DEVICE(LIMIT, max_ee_rd_atom)
	DEVICE(LIMIT, max_res_rd_atom)
	DEVICE(LIMIT, max_qp_init_rd_atom)
	DEVICE(LIMIT, max_ee_init_rd_atom)
	ITEM(LIMIT, ibv_device_attr, offsetof(struct profile, attr.orig_attr), atomic_cap, atomics)
	DEVICE(LIMIT, max_ee)
	DEVICE(LIMIT, max_rdd)
	DEVICE(LIMIT, max_mw)
	DEVICE(LIMIT, max_raw_ipv6_qp)
	DEVICE(LIMIT, max_raw_ethy_qp)
	DEVICE(LIMIT, max_mcast_grp)
	DEVICE(LIMIT, max_mcast_qp_attach)
	DEVICE(LIMIT, max_total_mcast_qp_attach)
	DEVICE(LIMIT, max_ah)
	DEVICE(LIMIT, max_fmr)
	DEVICE(LIMIT, max_map_per_fmr)
	DEVICE(LIMIT, max_srq)
	DEVICE(LIMIT, max_srq_wr)
	DEVICE(LIMIT, max_srq_sge)
	DEVICE(GIVEN, max_pkeys)
	DEVICE(GIVEN, local_ca_ack_delay)
	DEVICE(OWN, phys_port_cnt)

	EXTENDED(FLAGS, odp_caps.general_caps)
	EXTENDED(FLAGS, odp_caps.per_transport_caps.rc_odp_caps)
	EXTENDED(FLAGS, odp_caps.per_transport_caps.uc_odp_caps)
	EXTENDED(FLAGS, odp_caps.per_transport_caps.ud_odp_caps)
	EXTENDED(OWN, completion_timestamp_mask)
	EXTENDED(OWN, hca_core_clock)
	EXTENDED(FLAGS, device_cap_flags_ex)
	EXTENDED(LIMIT, tso_caps.max_tso)
	EXTENDED(FLAGS, tso_caps.supported_qpts)
	EXTENDED(FLAGS, rss_caps.supported_qpts)
	EXTENDED(LIMIT, rss_caps.max_rwq_indirection_tables)
	EXTENDED(LIMIT, rss_caps.max_rwq_indirection_table_size)
	EXTENDED(FLAGS, rss_caps.rx_hash_fields_mask)
	EXTENDED(FLAGS, rss_caps.rx_hash_function)
	EXTENDED(LIMIT, max_wq_type_rq)
	EXTENDED(LIMIT, packet_pacing_caps.qp_rate_limit_min)
	EXTENDED(LIMIT, packet_pacing_caps.qp_rate_limit_max)
	EXTENDED(FLAGS, packet_pacing_caps.supported_qpts)
	EXTENDED(FLAGS, raw_packet_caps)
	EXTENDED(LIMIT, tm_caps.max_rndv_hdr_size)
	EXTENDED(LIMIT, tm_caps.max_num_tags)
	EXTENDED(FLAGS, tm_caps.flags)
	EXTENDED(LIMIT, tm_caps.max_ops)
	EXTENDED(LIMIT, tm_caps.max_sge)
	EXTENDED(LIMIT, cq_mod_caps.max_cq_count)
	EXTENDED(LIMIT, cq_mod_caps.max_cq_period)
	EXTENDED(LIMIT, max_dm_size)
	EXTENDED(FLAGS, pci_atomic_caps.fetch_add)
	EXTENDED(FLAGS, pci_atomic_caps.swap)
	EXTENDED(FLAGS, pci_atomic_caps.compare_swap)
	EXTENDED(FLAGS, xrc_odp_caps)
	EXTENDED(OWN, phys_port_cnt_ex)
	{ NULL, 0, 0, 0, NULL },
};

static const struct item port_items[] = {
	PORT(GIVEN, state, states)
	PORT(LIMIT, max_mtu, mtus)
	PORT(LIMIT, active_mtu, mtus)
	PORT(GIVEN, gid_tbl_len, NULL)
	PORT(GIVEN, port_cap_flags, NULL)
	PORT(LIMIT, max_msg_sz, NULL)
	PORT(GIVEN, bad_pkey_cntr, NULL)
	PORT(GIVEN, qkey_viol_cntr, NULL)
	PORT(GIVEN, pkey_tbl_len, NULL)
	PORT(GIVEN, lid, NULL)
	PORT(GIVEN, sm_lid, NULL)
	PORT(GIVEN, lmc, NULL)
	PORT(GIVEN, max_vl_num, NULL)
	PORT(GIVEN, sm_sl, NULL)
	PORT(GIVEN, subnet_timeout, NULL)
	PORT(GIVEN, init_type_reply, NULL)
	PORT(GIVEN, active_width, NULL)
	PORT(GIVEN, active_speed, NULL)
	PORT(GIVEN, phys_state, NULL)
	PORT(GIVEN, link_layer, links)
	PORT(GIVEN, flags, NULL)
	PORT(GIVEN, port_cap_flags2, NULL)
	{ NULL, 0, 0, 0, NULL },
};
/* clang-format on */

/* State of reading a file. */
struct profile_reader {
	const char *path;
	unsigned int line;
	bool links_only;
	struct profile *out;
	struct profile own; /* the device's own values, which are upper limits */
	bool gids_given[PORT_MAX];
	char *why;
};

/* Replace unprintable characters, so that @text can be quoted. */
static void make_visible(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

__attribute__((format(printf, 2, 3))) static int complain_line(struct profile_reader *r,
							       const char *format, ...)
{
	va_list ap;
	int n = snprintf(r->why, PROFILE_WHY, "%s:%u: ", r->path, r->line);

	if (n < 0 || n >= PROFILE_WHY)
		return -EINVAL;
	va_start(ap, format);
	vsnprintf(r->why + n, PROFILE_WHY - n, format, ap);
	va_end(ap);
	make_visible(r->why + n);
	return -EINVAL;
}

/* Read a word, or a number up to @max. */
static int read_number(struct profile_reader *r, const char *name, const char *text,
		       const struct word *word, uint64_t max, uint64_t *ret)
{
	char *end;

	for (; word && word->name; word++) {
		if (!strcasecmp(word->name, text)) {
			*ret = word->value;
			return 0;
		}
	}
	errno = 0;
	*ret = strtoull(text, &end, 0);
	if (*text < '0' || *text > '9' || *end)
		return complain_line(r, "%s: \"%s\" is not a number", name, text);
	if (errno || *ret > max)
		return complain_line(r, "%s: %s is above %llu", name, text,
				     (unsigned long long)max);
	return 0;
}

static uint64_t get_value(const void *at, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, at, size); /* little-endian, as the whole device */
	return value;
}

static uint64_t lower_value(enum kind kind, uint64_t value, uint64_t own)
{
	switch (kind) {
	case LIMIT:
		return value < own ? value : own;
	case FLAGS:
		return value & own;
	case OWN:
		return own;
	default:
		return value;
	}
}

/* Read "0x0002c90300fed670", or four parts as in sysfs. */
static int put_guid(struct profile_reader *r, const struct item *item, void *to, const char *text)
{
	unsigned int a, b, c, d;
	uint64_t value;
	int n = 0;

	if (sscanf(text, "%4x:%4x:%4x:%4x%n", &a, &b, &c, &d, &n) == 4 && !text[n])
		value = (uint64_t)a << 48 | (uint64_t)b << 32 | c << 16 | d;
	else if (read_number(r, item->name, text, NULL, UINT64_MAX, &value))
		return -EINVAL;
	value = htobe64(value);
	memcpy(to, &value, sizeof(value));
	return 0;
}

static int put_text(struct profile_reader *r, const struct item *item, char *to, const char *text)
{
	if (strlen(text) >= item->size)
		return complain_line(r, "%s: longer than %u characters", item->name,
				     item->size - 1);
	if (!strcmp(item->name, "name") &&
	    text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")])
		return complain_line(r, "name: \"%s\" is not a valid name of a device", text);
	memset(to, 0, item->size);
	strcpy(to, text);
	return 0;
}

static uint64_t greatest_value(const struct item *item)
{
	return UINT64_MAX >> (64 - 8 * item->size);
}

static int put_item(struct profile_reader *r, const struct item *item, void *base, const void *own,
		    const char *text)
{
	void *to = (char *)base + item->offset;
	uint64_t value;
	int err;

	if (item->kind == TEXT)
		return put_text(r, item, to, text);
	if (item->kind == GUID)
		return put_guid(r, item, to, text);
	err = read_number(r, item->name, text, item->words, greatest_value(item), &value);
	if (err)
		return err;
	value = lower_value(item->kind, value,
			    get_value((const char *)own + item->offset, item->size));
	memcpy(to, &value, item->size);
	return 0;
}

static const struct item *find_item(const struct item *item, const char *name)
{
	for (; item->name; item++)
		if (!strcmp(item->name, name))
			return item;
	return NULL;
}

static int put_gid(struct profile_reader *r, struct port *port, uint64_t index, char *text)
{
	struct port_gid *gid = &port->gid[index];
	char *type = strpbrk(text, " \t");
	uint64_t value = port->attr.link_layer == IBV_LINK_LAYER_ETHERNET ? IBV_GID_TYPE_ROCE_V2
									  : IBV_GID_TYPE_IB;
	bool *given = &r->gids_given[port - r->out->port];

	if (type) {
		*type++ = '\0';
		type += strspn(type, " \t");
		if (read_number(r, "gid", type, types, IBV_GID_TYPE_ROCE_V2, &value))
			return -EINVAL;
	}
	if (!*given)
		memset(port->gid, 0, sizeof(port->gid));
	*given = true;
	if (inet_pton(AF_INET6, text, &gid->gid) != 1)
		return complain_line(r, "gid: \"%s\" is not an address", text);
	gid->type = value;
	if (port->attr.gid_tbl_len <= (int)index)
		port->attr.gid_tbl_len = index + 1;
	return 0;
}

static int put_pkey(struct profile_reader *r, struct port *port, uint64_t index, const char *text)
{
	uint64_t value;

	if (read_number(r, "pkey", text, NULL, 0xffff, &value))
		return -EINVAL;
	port->pkey[index] = value;
	if (port->attr.pkey_tbl_len <= index)
		port->attr.pkey_tbl_len = index + 1;
	return 0;
}

/* Add port @num, and all ports with lower numbers, when its first line is read. */
static void add_ports(struct profile *out, uint32_t num)
{
	bool roce = link_wants_roce();

	while (out->num_ports < num) {
		out->num_ports++;
		link_fill_port(out->num_ports, roce, &out->port[out->num_ports - 1]);
	}
}

static int put_link(struct profile_reader *r, uint32_t num, const char *text)
{
	uint64_t value;

	if (read_number(r, "link_layer", text, links, IBV_LINK_LAYER_ETHERNET, &value))
		return -EINVAL;
	link_fill_port(num, value == IBV_LINK_LAYER_ETHERNET, &r->out->port[num - 1]);
	return 0;
}

/* Read a line of a port, such as "1.lid". */
static int put_port(struct profile_reader *r, const char *name, char *text)
{
	const struct item *item;
	struct port *port, own;
	uint64_t num, index;
	char *rest;

	num = strtoull(name, &rest, 10);
	if (rest == name || *rest != '.' || !num || num > PORT_MAX)
		return complain_line(r, "port: a number from 1 to %d must follow", PORT_MAX);
	rest++;
	add_ports(r->out, num);
	port = &r->out->port[num - 1];
	if (r->links_only)
		return strcmp(rest, "link_layer") ? 0 : put_link(r, num, text);
	if (!strncmp(rest, "gid.", 4))
		return read_number(r, "gid", rest + 4, NULL, PORT_GIDS - 1, &index)
			       ?: put_gid(r, port, index, text);
	if (!strncmp(rest, "pkey.", 5))
		return read_number(r, "pkey", rest + 5, NULL, PORT_PKEYS - 1, &index)
			       ?: put_pkey(r, port, index, text);
	item = find_item(port_items, rest);
	if (!item)
		return complain_line(r, "port.%s: there is no such item", name);
	link_fill_port(num, port->attr.link_layer == IBV_LINK_LAYER_ETHERNET, &own);
	return put_item(r, item, &port->attr, &own.attr, text);
}

static int put_line(struct profile_reader *r, char *name)
{
	const struct item *item;
	char *text;

	name += strspn(name, " \t");
	if (!*name || *name == '#')
		return 0;
	for (text = name + 1; *text; text++)
		if (*text == '#' && strchr(" \t", text[-1]))
			break;
	*text = '\0';
	for (text--; text > name && strchr(" \t\r", *text); text--)
		*text = '\0';
	text = name + strcspn(name, " \t");
	if (!*text)
		return complain_line(r, "%s: the value is missing", name);
	*text++ = '\0';
	text += strspn(text, " \t");
	if (!strncmp(name, "port.", 5))
		return put_port(r, name + 5, text);
	if (r->links_only)
		return 0;
	item = find_item(device_items, name);
	if (!item)
		return complain_line(r, "%s: there is no such item", name);
	return put_item(r, item, r->out, &r->own, text);
}

static int put_lines(struct profile_reader *r, const char *text)
{
	char line[LINE_MAX_LEN];
	size_t len;

	for (r->line = 1; *text; r->line++) {
		len = strcspn(text, "\n");
		if (len >= sizeof(line))
			return complain_line(r, "the line is too long");
		memcpy(line, text, len);
		line[len] = '\0';
		text += len + (text[len] == '\n');
		if (put_line(r, line))
			return -EINVAL;
	}
	return 0;
}

/* Set derived values, and check for contradictions. */
static int finish_reading(struct profile_reader *r)
{
	struct ibv_device_attr_ex *attr = &r->out->attr;
	struct port *port = r->out->port;
	uint32_t n;

	for (n = 1; n <= r->out->num_ports; n++, port++) {
		if (port->attr.gid_tbl_len > PORT_GIDS)
			port->attr.gid_tbl_len = PORT_GIDS;
		if (port->attr.pkey_tbl_len > PORT_PKEYS)
			port->attr.pkey_tbl_len = PORT_PKEYS;
		if (port->attr.gid_tbl_len < 1 || port->attr.pkey_tbl_len < 1)
			return complain_line(r, "port.%u: its tables must not be empty", n);
	}
	if (r->out->num_ports) {
		attr->orig_attr.phys_port_cnt = r->out->num_ports;
		attr->phys_port_cnt_ex = r->out->num_ports;
		attr->orig_attr.max_pkeys = r->out->port->attr.pkey_tbl_len;
	}
	attr->device_cap_flags_ex &= ~(uint64_t)UINT32_MAX;
	attr->device_cap_flags_ex |= attr->orig_attr.device_cap_flags;
	if (!r->out->num_comp_vectors)
		return complain_line(r, "num_comp_vectors: must be at least 1");
	return 0;
}

static int read_file(const char *path, char *buf, size_t size, const char **ret_why)
{
	int fd = text_open(path, ret_why);
	size_t len = 0;
	ssize_t n = 1;

	if (fd < 0)
		return fd;
	while (n > 0 && len < size - 1) {
		n = read(fd, buf + len, size - 1 - len);
		if (n > 0)
			len += n;
	}
	if (n < 0)
		n = -errno;
	else if (n > 0)
		n = -EFBIG;
	close(fd);
	buf[len] = '\0';
	*ret_why = strerror(-n);
	return n;
}

int profile_read(const char *path, struct profile *out, char why[PROFILE_WHY])
{
	static char text[FILE_MAX]; /* too large for a stack */
	struct profile read = { .num_ports = 0 };
	struct profile_reader r = { .path = path, .out = &read, .why = why };
	const char *unread;
	int err = read_file(path, text, sizeof(text), &unread);

	if (err) {
		snprintf(why, PROFILE_WHY, "%s: %s", path, unread);
		return err;
	}
	profile_fill_own(&r.own);
	read = r.own;
	r.links_only = true;
	err = put_lines(&r, text);
	r.links_only = false;
	if (!err)
		err = put_lines(&r, text);
	if (!err)
		err = finish_reading(&r);
	if (!err)
		*out = read;
	return err;
}

static struct profile profile;
static char why[PROFILE_WHY];
static int error;
static bool loaded;

static void load_file(void)
{
	const char *path = getenv("VERBATIM_SOFT_PERSONA");

	profile_fill_own(&profile);
	if (path && *path)
		error = profile_read(path, &profile, why);
	loaded = true;
}

__attribute__((constructor)) static void init_profile(void)
{
	if (!loaded)
		load_file();
}

const struct profile *profile_get(void)
{
	if (__builtin_expect(!loaded, 0))
		load_file(); /* before the library's constructor, so there is only one thread */
	return &profile;
}

int profile_check(void)
{
	static char said;
	char line[PROFILE_WHY + 32];
	int n;

	profile_get();
	if (error && !__atomic_test_and_set(&said, __ATOMIC_RELAXED)) {
		n = snprintf(line, sizeof(line), "verbatim-soft: %s\n", why);
		if (write(STDERR_FILENO, line, n) < 0)
			return error;
	}
	return error;
}
