/*
 * The software device in place of the recorded one
 *
 * The recorder asks each device for its attributes; they are in tables device, port and gid. The
 * attributes that the software device supports are written as a profile into a file without a name,
 * which the child inherits, so that a program has the limits that it had when recorded.
 *
 * All recorded processes are one process in the replay, so limits per process are multiplied by
 * their number. P_Keys are not recorded: all are the default one. On-demand paging remains enabled:
 * without it, devices refuse a region in different ways.
 */
#include "cli/replay/persona.h"

#include <ctype.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/store/read/described.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

#define ENV "VERBATIM_SOFT_PERSONA"

enum { PORTS_MAX = 4, GIDS_MAX = 256, PKEYS_MAX = 128, TEXT_SIZE = 64 };

struct member {
	const char *path; /* in column attr */
	const char *name; /* in the profile */
	size_t size;
	bool each; /* the limit is per process */
};

#define DEVICE(member)                                                                          \
	{                                                                                       \
		"$.orig_attr." #member, #member, sizeof(((struct ibv_device_attr *)0)->member), \
			false                                                                   \
	}
#define OBJECTS(member)                                                                         \
	{                                                                                       \
		"$.orig_attr." #member, #member, sizeof(((struct ibv_device_attr *)0)->member), \
			true                                                                    \
	}
#define EXTENDED(path, member)                                                               \
	{                                                                                    \
		"$." #path, #member, sizeof(((struct ibv_device_attr_ex *)0)->member), false \
	}
#define PORT(member)                                                                      \
	{                                                                                 \
		"$." #member, #member, sizeof(((struct ibv_port_attr *)0)->member), false \
	}
/* clang-format off */
static const struct member device_members[] = {
	DEVICE(node_guid), DEVICE(sys_image_guid), DEVICE(max_mr_size), DEVICE(page_size_cap),
	DEVICE(vendor_id), DEVICE(vendor_part_id), DEVICE(hw_ver), OBJECTS(max_qp),
	DEVICE(max_qp_wr), DEVICE(device_cap_flags), DEVICE(max_sge), DEVICE(max_sge_rd),
	OBJECTS(max_cq), DEVICE(max_cqe), OBJECTS(max_mr), OBJECTS(max_pd),
	DEVICE(max_qp_rd_atom), OBJECTS(max_res_rd_atom), DEVICE(max_qp_init_rd_atom),
	OBJECTS(max_raw_ipv6_qp), OBJECTS(max_raw_ethy_qp), OBJECTS(max_mw),
	OBJECTS(max_mcast_grp), OBJECTS(max_mcast_qp_attach),
	OBJECTS(max_total_mcast_qp_attach), OBJECTS(max_ah), OBJECTS(max_srq),
	DEVICE(max_srq_wr), DEVICE(max_srq_sge), DEVICE(local_ca_ack_delay),
	EXTENDED(device_cap_flags_ex, device_cap_flags_ex),
	EXTENDED(max_wq_type_rq, max_wq_type_rq), EXTENDED(raw_packet_caps, raw_packet_caps),
	EXTENDED(max_cq_count, cq_mod_caps.max_cq_count),
	EXTENDED(max_cq_period, cq_mod_caps.max_cq_period),
};

static const struct member port_members[] = {
	PORT(state), PORT(max_mtu), PORT(active_mtu), PORT(gid_tbl_len), PORT(port_cap_flags),
	PORT(max_msg_sz), PORT(pkey_tbl_len), PORT(lid), PORT(sm_lid), PORT(lmc),
	PORT(max_vl_num), PORT(sm_sl), PORT(subnet_timeout), PORT(init_type_reply),
	PORT(active_width), PORT(active_speed), PORT(phys_state), PORT(link_layer), PORT(flags),
	PORT(port_cap_flags2),
};
/* clang-format on */

enum {
	DEVICE_MEMBERS = sizeof(device_members) / sizeof(*device_members),
	PORT_MEMBERS = sizeof(port_members) / sizeof(*port_members)
};

static unsigned int count_processes(struct trace *trace)
{
	unsigned int n = 0;

	while (trace_process(trace, n + 1))
		n++;
	return n ? n : 1;
}

/* Write a number, unless it is unknown or too large. */
static void put_number(FILE *to, const char *prefix, const struct member *m, int64_t number,
		       unsigned int times)
{
	uint64_t most = UINT64_MAX >> (64 - 8 * m->size), value = (uint64_t)number;

	if (m->each &&
	    (number < 0 || __builtin_mul_overflow(value, times, &value) || value > INT32_MAX))
		value = INT32_MAX;
	if (value <= most && (number >= 0 || m->size == sizeof(uint64_t)))
		fprintf(to, "%s%s %" PRIu64 "\n", prefix, m->name, value);
}

/* IBV_PORT_ACTIVE is "active", IBV_MTU_4096 is "4096". */
static void put_word(FILE *to, const char *prefix, const struct member *m, const char *text)
{
	static const char *const enums[] = { "IBV_PORT_", "IBV_MTU_" };
	char word[TEXT_SIZE];

	for (size_t i = 0; i < sizeof(enums) / sizeof(*enums); i++) {
		size_t length = strlen(enums[i]);

		if (strncmp(text, enums[i], length))
			continue;
		snprintf(word, sizeof(word), "%s", text + length);
		for (char *c = word; *c; c++)
			*c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '_';
		fprintf(to, "%s%s %s\n", prefix, m->name, word);
	}
}

/* The profile of a device that is being written. */
struct profile {
	FILE *to;
	struct trace *trace;
	int64_t device;
	unsigned int times; /* for limits that are per process */
	unsigned int port;
	char prefix[16];
	const struct member *member;
};

static void put_value(void *arg, int64_t number, const char *text)
{
	const struct profile *profile = arg;

	if (text)
		put_word(profile->to, profile->prefix, profile->member, text);
	else
		put_number(profile->to, profile->prefix, profile->member, number, profile->times);
}

/* Write the members of the device, or of @port. */
static void put_members(struct profile *profile, unsigned int port, const struct member *members,
			size_t n)
{
	for (size_t i = 0; i < n; i++) {
		profile->member = &members[i];
		described_attribute(profile->trace, profile->device, port, members[i].path,
				    put_value, profile);
	}
}

/*
 * Write a text; a text with unexpected characters is not written, so that the device's own remains.
 */
static void put_text(FILE *to, const char *name, const char *letters, const char *also)
{
	if (!letters || !*letters || strlen(letters) >= TEXT_SIZE)
		return;
	for (const char *c = letters; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr(also, *c))
			return;
	fprintf(to, "%s %s\n", name, letters);
}

/* Write a GID of 32 digits as eight groups; a missing one is all zeros. */
static void put_gid(FILE *to, unsigned int port, unsigned int index, const char *gid,
		    const char *type)
{
	if (strlen(gid) != 32 || strspn(gid, "0123456789abcdef") != 32 || strspn(gid, "0") == 32)
		return;
	fprintf(to, "port.%u.gid.%u ", port, index);
	for (unsigned int i = 0; i < 8; i++)
		fprintf(to, "%.4s%s", gid + i * 4, i < 7 ? ":" : "");
	fprintf(to, "%s\n",
		!strcmp(type, "IBV_GID_TYPE_ROCE_V1")   ? " rocev1"
		: !strcmp(type, "IBV_GID_TYPE_ROCE_V2") ? " rocev2"
							: "");
}

static void put_described_gid(void *arg, const struct described_gid *gid)
{
	const struct profile *profile = arg;

	put_gid(profile->to, profile->port, gid->index, gid->gid, gid->type);
}

static void put_pkeys(FILE *to, unsigned int port, int64_t n)
{
	for (unsigned int i = 0; i < n && i < PKEYS_MAX; i++)
		fprintf(to, "port.%u.pkey.%u 0xffff\n", port, i);
}

static void put_port(void *arg, const struct described_port *port)
{
	struct profile *profile = arg;

	profile->port = port->port;
	profile->times = 1;
	snprintf(profile->prefix, sizeof(profile->prefix), "port.%u.", port->port);
	put_members(profile, port->port, port_members, PORT_MEMBERS);
	described_gids(profile->trace, profile->device, port->port, GIDS_MAX, put_described_gid,
		       profile);
	put_pkeys(profile->to, port->port, port->npkeys);
}

static void put_device(void *arg, const struct described_device *device)
{
	struct profile *profile = arg;

	profile->device = device->id;
	put_text(profile->to, "name", device->name, "_-");
	put_text(profile->to, "fw_ver", device->fw_ver, "._-");
	put_members(profile, 0, device_members, DEVICE_MEMBERS);
	described_ports(profile->trace, profile->device, PORTS_MAX, put_port, profile);
}

/* Write the profile of the first device opened. Returns 1; 0: none is described; or -errno. */
static int write_profile(struct trace *trace, FILE *to)
{
	struct profile profile = { .to = to, .trace = trace, .times = count_processes(trace) };
	bool found = described_visit_opened(trace, put_device, &profile);

	return ferror(to) || fflush(to) ? -EIO : found;
}

bool persona_is_other_device(struct trace *trace)
{
	const char *device = trace_meta(trace, "device");

	return !device || strcmp(device, "soft");
}

/* Did the recorded software device have a profile, too? */
static bool was_profile_given(struct trace *trace)
{
	char value[8];

	for (unsigned int i = 1; trace_process(trace, i); i++)
		if (trace_environ(trace, i, ENV, value, sizeof(value)) && *value)
			return true;
	return false;
}

bool persona_is_taken(void)
{
	const char *given = getenv(ENV);

	return given && *given;
}

int persona_write_profile(struct trace *trace)
{
	char path[32];
	FILE *to;
	int fd, err;

	if (persona_is_taken() || (!persona_is_other_device(trace) && !was_profile_given(trace)))
		return 0;
	fd = memfd_create("persona", 0); /* the child inherits it */
	to = fd < 0 ? NULL : fdopen(dup(fd), "w");
	err = to ? write_profile(trace, to) : -errno;
	if (to)
		fclose(to);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (err > 0 && setenv(ENV, path, 1))
		err = -ENOMEM;
	return err < 0 ? log_err(err, "describe the recorded device") : 0;
}
