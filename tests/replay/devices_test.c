/*
 * Devices and addresses that replace recorded ones: devices_test.txt
 *
 * The devices of this machine are made here, in place of those of libibverbs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "replay/device/devices.h"
#include "replay/report/outcome.h"
#include "tests/printed.h"
#include "tests/transcript.h"

enum { MADE = 3, MADE_PORTS = 2, MADE_GIDS = 4 };

#define LOCAL "fe80::1"
#define V4    "::ffff:10.0.0.1"
#define GUID  "2001:db8::1"

struct made_gid {
	const char *address; /* NULL: none */
	int type;            /* enum ibv_gid_type; -1: not known */
};

struct made_port {
	uint16_t lid;
	uint8_t link;
	struct made_gid gids[MADE_GIDS];
};

/* clang-format off */
static const struct made {
	const char *name;
	uint8_t ports;
	uint16_t gid_table;
	struct made_port port[MADE_PORTS];
} made[MADE] = {
	{ "ib0", 2, 1, { { 7, IBV_LINK_LAYER_INFINIBAND, { { LOCAL, IBV_GID_TYPE_IB } } },
			 { 9, IBV_LINK_LAYER_INFINIBAND, { { GUID, IBV_GID_TYPE_IB } } } } },
	{ "roce0", 1, 4, { { 0, IBV_LINK_LAYER_ETHERNET,
			     { { LOCAL, IBV_GID_TYPE_ROCE_V1 }, { LOCAL, IBV_GID_TYPE_ROCE_V2 },
			       { NULL, 0 }, { V4, IBV_GID_TYPE_ROCE_V2 } } } } },
	{ "old0", 1, 20, { { 0, IBV_LINK_LAYER_ETHERNET, { { NULL, 0 }, { V4, -1 } } } } },
};
/* clang-format on */

static struct ibv_device ibv_devices[MADE];
static struct ibv_context contexts[MADE];
static struct ibv_device *made_list[MADE + 1];
static int recorded_fault_error; /* of ibv_open_device(), or negative, of ibv_query_device() */
static int nopen, nlists;

static struct text out;

static const struct made *find_made(const struct ibv_context *context)
{
	return &made[context - contexts];
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	if (num_devices)
		*num_devices = MADE;
	nlists++;
	return made_list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	assert_ptr_equal(list, made_list);
	nlists--;
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return made[device - ibv_devices].name;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	errno = recorded_fault_error;
	if (recorded_fault_error > 0)
		return NULL;
	nopen++;
	contexts[device - ibv_devices].device = device;
	return &contexts[device - ibv_devices];
}

int ibv_close_device(struct ibv_context *context)
{
	assert_in_range(context - contexts, 0, MADE - 1);
	nopen--;
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	if (recorded_fault_error < 0)
		return -recorded_fault_error;
	*attr = (struct ibv_device_attr){ .phys_port_cnt = find_made(context)->ports,
					  .vendor_part_id = (uint32_t)(context - contexts) };
	return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t number,
		   struct _compat_ibv_port_attr *compatible)
{
	struct ibv_port_attr *attr = (void *)compatible;
	const struct made *device = find_made(context);

	attr->lid = device->port[number - 1].lid;
	attr->link_layer = device->port[number - 1].link;
	attr->active_mtu = number == 1 ? IBV_MTU_1024 : IBV_MTU_4096;
	attr->gid_tbl_len = device->gid_table;
	attr->pkey_tbl_len = 5;
	return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t number, int index, union ibv_gid *gid)
{
	const struct made_gid *gids = find_made(context)->port[number - 1].gids;

	memset(gid, index < MADE_GIDS ? 0 : 0xee, sizeof(*gid));
	if (index >= MADE_GIDS)
		return -1;
	if (gids[index].address)
		inet_pton(AF_INET6, gids[index].address, gid);
	return 0;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t number, uint32_t index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	int type = find_made(context)->port[number - 1].gids[index].type;

	assert_int_equal(flags, 0);
	assert_int_equal(size, sizeof(*entry));
	entry->gid_type = (uint32_t)type;
	return type < 0 ? EOPNOTSUPP : 0;
}

static int begin_machine(void **state)
{
	(void)state;
	for (int i = 0; i < MADE; i++)
		made_list[i] = &ibv_devices[i];
	recorded_fault_error = 0;
	return 0;
}

static int end_machine(void **state)
{
	(void)state;
	assert_int_equal(nopen, 0);
	assert_int_equal(nlists, 0);
	return 0;
}

FIXTURE(begin_machine, end_machine);

static void put_gid(const union ibv_gid *gid)
{
	char text[INET6_ADDRSTRLEN];

	text_addf(&out, "%s", inet_ntop(AF_INET6, gid, text, sizeof(text)));
}

static void put_port(const struct device *device, int number)
{
	const struct port *port = &device->ports[number];

	text_addf(&out, "%s port %d:", device->name, number);
	if (!port->there) {
		text_addf(&out, " none\n");
		return;
	}
	text_addf(&out, " lid %u%s mtu %d tables %d and %d, %d known, best %d\n", port->lid,
		  port->ethernet ? " ethernet" : "", (int)port->mtu, port->gid_table,
		  port->pkey_table, port->gids.n, port->best_gid);
	for (int i = 0; i < port->gids.n; i++) {
		text_addf(&out, "\t%d kind %d ", i, (int)port->gids.at[i].kind);
		put_gid(&port->gids.at[i].raw);
		text_char(&out, '\n');
	}
}

static void show_devices(const char *only)
{
	struct devices *devices = NULL;
	char names[32];
	int err;

	printed_begin(true);
	err = devices_open(only, &devices);
	printed_end(&out);
	text_addf(&out, "open %s, error %d: %d\n", only ?: "all", recorded_fault_error, err);
	if (err)
		return;
	devices_names(devices, names, sizeof(names));
	text_addf(&out, "%s, first %s\n", names, devices_first(devices)->name);
	devices_names(devices, names, 9);
	text_addf(&out, "%s\n", names);
	for (int i = 0; i < MADE && !only; i++)
		for (int port = 1; port <= PORTS_MAX; port++)
			put_port(&devices_first(devices)[i], port);
	assert_ptr_equal(devices_of(devices, devices_first(devices)->context),
			 devices_first(devices));
	devices_close(devices);
}

static void show_all_devices(void)
{
	show_devices(NULL);
	show_devices("roce0");
	show_devices("none");
	recorded_fault_error = EACCES;
	show_devices(NULL);
	recorded_fault_error = -EIO;
	show_devices("ib0");
	recorded_fault_error = 0;
	made_list[0] = NULL;
	show_devices(NULL);
	made_list[0] = &ibv_devices[0];
}

static void put_address(const struct ibv_ah_attr *av)
{
	text_addf(&out, "port %u lid %u", av->port_num, av->dlid);
	if (av->is_global) {
		text_addf(&out, " index %u hops %u to ", av->grh.sgid_index, av->grh.hop_limit);
		put_gid(&av->grh.dgid);
	}
	text_char(&out, '\n');
}

/* Translate each index of each port to each port. */
static void show_translations(const struct devices *devices)
{
	const struct device *all = devices_first(devices);

	for (int from = 0; from < MADE; from++)
		for (int to = 0; to < MADE; to++)
			for (int i = 0; i < 6 * 3; i++) {
				struct ibv_ah_attr av = {
					.is_global = i % 6 != 5,
					.port_num = (uint8_t)(i / 6),
					.dlid = 77,
					.grh = { .sgid_index = (uint8_t)(i % 6), .hop_limit = 3 },
				};

				devices_translate(&all[from], &all[to], (uint8_t)(i / 6), &av);
				text_addf(&out, "%s to %s, port %d, %s %d: ", all[from].name,
					  all[to].name, i / 6, i % 6 == 5 ? "no index" : "index",
					  i % 6);
				put_address(&av);
			}
}

static struct gid make_gid(const char *address, enum gid_kind kind)
{
	struct gid gid = { .kind = kind };

	inet_pton(AF_INET6, address, &gid.raw);
	return gid;
}

static void record_addresses(struct devices *devices)
{
	const struct gid v1 = make_gid("fe80::9", GID_ROCE_V1),
			 v2 = make_gid("fe80::9", GID_ROCE_V2),
			 v4 = make_gid("::ffff:9.9.9.9", GID_ROCE_V2),
			 untyped = make_gid("::ffff:9.9.9.9", GID_UNTYPED),
			 none = make_gid("::", GID_ROCE_V1);

	assert_int_equal(devices_note_lid(devices, "ib0", 1, 21), 0);
	assert_int_equal(devices_note_lid(devices, "ib0", 2, 22), 0);
	assert_int_equal(devices_note_lid(devices, "ib0", 3, 23), 0);
	assert_int_equal(devices_note_lid(devices, "ib0", 1, 0), 0);
	assert_int_equal(devices_note_gid(devices, "roce0", 1, 0, &v1), 0);
	assert_int_equal(devices_note_gid(devices, "roce0", 1, 1, &v2), 0);
	assert_int_equal(devices_note_gid(devices, "roce0", 1, 2, &v4), 0);
	assert_int_equal(devices_note_gid(devices, "roce0", 1, 2, &untyped), 0);
	assert_int_equal(devices_note_gid(devices, "roce0", 1, 3, &none), 0);
	assert_int_equal(devices_note_gid(devices, "another", 2, 5, &v4), 0);
}

static void show_sources(struct devices *devices)
{
	static const char *const names[] = { "roce0", "another", "unknown" };

	for (int name = 0; name < 3; name++)
		for (uint8_t i = 0; i < 12; i++) {
			struct ibv_ah_attr av = { .is_global = i < 10,
						  .port_num = i / 5 + 1,
						  .grh.sgid_index = name == 1 ? 5 : i % 5 };

			devices_translate_source(devices, names[name], &devices_first(devices)[1],
						 &av);
			text_addf(&out, "source %s %u: ", names[name], i);
			put_address(&av);
		}
}

static void show_destination(struct devices *devices, const struct ibv_ah_attr *av)
{
	const struct device *device = NULL;
	uint8_t port = 99;
	bool found = devices_find_address(devices, av, &device, &port);

	text_addf(&out, "found %d: %s port %u; asked for ", found, device ? device->name : "none",
		  port);
	put_address(av);
}

static void show_destinations(struct devices *devices)
{
	static const char *const addresses[] = { "fe80::9", "::ffff:9.9.9.9", "fe80::8", "::" };
	struct ibv_ah_attr av = { .port_num = 1 };

	for (uint16_t lid = 20; lid <= 24; lid++) {
		av.dlid = lid;
		show_destination(devices, &av);
	}
	av.dlid = 0;
	show_destination(devices, &av);
	for (int i = 0; i < 4; i++)
		for (int how = 0; how < 4; how++) {
			av.is_global = how & 1;
			av.dlid = how & 2 ? 21 : 0;
			av.grh.dgid = make_gid(addresses[i], GID_UNTYPED).raw;
			show_destination(devices, &av);
		}
}

static const char *name_player(struct devices *devices, const char *recorded)
{
	return devices_find_role(devices, recorded)->name;
}

TEST(devices_of_other_names_are_taken_in_turn)
{
	struct devices *devices;

	assert_int_equal(devices_open(NULL, &devices), 0);
	assert_true(devices_lack(devices, "mlx5_0"));
	assert_false(devices_lack(devices, "ib0"));
	assert_null(devices_nth_used(devices, 0));
	assert_string_equal(name_player(devices, "mlx5_0"), "ib0");
	assert_false(devices_lack(devices, "mlx5_0"));
	assert_string_equal(name_player(devices, "mlx5_1"), "roce0");
	assert_string_equal(name_player(devices, "ib0"), "ib0");
	assert_string_equal(name_player(devices, "mlx5_2"), "ib0");
	assert_string_equal(name_player(devices, "mlx5_1"), "roce0");
	assert_string_equal(devices_nth_used(devices, 0)->name, "ib0");
	assert_string_equal(devices_nth_used(devices, 1)->name, "roce0");
	assert_null(devices_nth_used(devices, 2));
	devices_close(devices);
}

TEST(iwarp_devices_are_known_by_their_name)
{
	struct devices *devices;
	char name[16];

	assert_int_equal(devices_open(NULL, &devices), 0);
	for (int i = 0; i < DEVICES_MAX + 1; i++) {
		snprintf(name, sizeof(name), "iw%d", i);
		devices_note_iwarp(devices, "iw0");
		assert_int_equal(devices_was_iwarp(devices, name), i == 0);
		devices_note_iwarp(devices, name);
		assert_int_equal(devices_was_iwarp(devices, name), i < DEVICES_MAX);
	}
	devices_close(devices);
}

TEST(roles_are_limited)
{
	struct devices *devices;
	char name[16];

	assert_int_equal(devices_open(NULL, &devices), 0);
	for (int i = 0; i < DEVICES_MAX; i++) {
		snprintf(name, sizeof(name), "mlx5_%d", i);
		assert_string_equal(name_player(devices, name), made[i % MADE].name);
	}
	assert_string_equal(name_player(devices, "roce0"), "ib0");
	devices_close(devices);
}

/* The notes of a comparison with recorded device @name, with the attributes @json unless NULL. */
static void show_judgement(const char *name, const char *json)
{
	struct args *attr = json ? args_new(json, strlen(json)) : NULL;
	struct devices *devices;
	struct outcome *outcome;

	assert_int_equal(devices_open("roce0", &devices), 0);
	assert_int_equal(outcome_new(&outcome), 0);
	devices_find_role(devices, name);
	if (attr)
		devices_note_attr(devices, name, attr, ARG(attr.orig_attr));
	devices_report(devices, outcome);
	printed_begin(false);
	printf("%s %s: alike %d\n", name, json ?: "-", devices_are_alike(devices));
	outcome_text(outcome, stdout);
	printed_end(&out);
	outcome_free(outcome);
	devices_close(devices);
	args_unref(attr);
}

TEST(devices_and_addresses_are_those_of_the_transcript)
{
	struct devices *devices;

	show_all_devices();
	show_judgement("roce0", NULL);
	show_judgement("mlx5_0", NULL);
	show_judgement("device1", NULL);
	show_judgement("device1x", NULL);
	show_judgement("roce0", "{\"attr\":{\"orig_attr\":{\"vendor_part_id\":1}}}");
	show_judgement("mlx5_0", "{\"attr\":{\"orig_attr\":{\"vendor_part_id\":1}}}");
	show_judgement("mlx5_0", "{\"attr\":{\"orig_attr\":{\"vendor_part_id\":2}}}");
	show_judgement("mlx5_0", "{\"attr\":{\"orig_attr\":{\"node_guid\":2}}}");
	assert_int_equal(devices_open(NULL, &devices), 0);
	show_translations(devices);
	record_addresses(devices);
	show_sources(devices);
	show_destinations(devices);
	devices_close(devices);
	transcript_expect(__FILE__, &out);
}
