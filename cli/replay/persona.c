/*
 * The software device in place of the recorded one
 *
 * The recorder asks each device for its attributes; they are in tables device, port and gid. The
 * attributes that the software device supports are written as a profile into a file without a name,
 * which the child inherits, so that a program has the limits that it had when recorded.
 *
 * Recorded processes are one process in the replay, and limits of objects are per process, so those
 * are multiplied. P_Keys are not recorded: all are the default one. On-demand paging is left as it
 * is: without it, devices refuse a region in different ways.
 */
#include "cli/replay/persona.h"

#include <ctype.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* A number that is too large, or does not exist, is left out. */
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

static void put_members(FILE *to, sqlite3 *db, const char *sql, int64_t id, const char *prefix,
			const struct member *members, size_t n, unsigned int times)
{
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL))
		return;
	for (size_t i = 0; i < n; i++) {
		sqlite3_bind_text(stmt, 1, members[i].path, -1, SQLITE_STATIC);
		sqlite3_bind_int64(stmt, 2, id);
		if (sqlite3_step(stmt) != SQLITE_ROW)
			;
		else if (sqlite3_column_type(stmt, 0) == SQLITE_INTEGER)
			put_number(to, prefix, &members[i], sqlite3_column_int64(stmt, 0), times);
		else if (sqlite3_column_type(stmt, 0) == SQLITE_TEXT)
			put_word(to, prefix, &members[i], (void *)sqlite3_column_text(stmt, 0));
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
}

/* Text with other characters is left out: the device keeps its own. */
static void put_text(FILE *to, const char *name, const unsigned char *text, const char *also)
{
	const char *letters = (const char *)text;

	if (!letters || !*letters || strlen(letters) >= TEXT_SIZE)
		return;
	for (const char *c = letters; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr(also, *c))
			return;
	fprintf(to, "%s %s\n", name, letters);
}

/* 32 digits, as eight groups; a missing address is all zeros. */
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

static void put_gids(FILE *to, sqlite3 *db, int64_t device, unsigned int port)
{
	static const char sql[] = "SELECT idx, gid, type FROM gid WHERE device = ? AND port = ? AND"
				  " idx BETWEEN 0 AND ? AND gid IS NOT NULL AND type IS NOT NULL"
				  " ORDER BY idx";
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL))
		return;
	sqlite3_bind_int64(stmt, 1, device);
	sqlite3_bind_int64(stmt, 2, port);
	sqlite3_bind_int64(stmt, 3, GIDS_MAX - 1);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		put_gid(to, port, (unsigned int)sqlite3_column_int(stmt, 0),
			(const char *)sqlite3_column_text(stmt, 1),
			(const char *)sqlite3_column_text(stmt, 2));
	sqlite3_finalize(stmt);
}

static void put_pkeys(FILE *to, unsigned int port, int64_t n)
{
	for (unsigned int i = 0; i < n && i < PKEYS_MAX; i++)
		fprintf(to, "port.%u.pkey.%u 0xffff\n", port, i);
}

static void put_ports(FILE *to, sqlite3 *db, int64_t device)
{
	static const char ports[] = "SELECT port, coalesce(pkey_tbl_len, 1) FROM port WHERE"
				    " device = ? AND port BETWEEN 1 AND ? AND json_valid(attr)"
				    " AND gid_tbl_len > 0 AND pkey_tbl_len > 0";
	char prefix[16], sql[160];
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(db, ports, -1, &stmt, NULL))
		return;
	sqlite3_bind_int64(stmt, 1, device);
	sqlite3_bind_int64(stmt, 2, PORTS_MAX);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		unsigned int port = (unsigned int)sqlite3_column_int(stmt, 0);

		snprintf(prefix, sizeof(prefix), "port.%u.", port);
		snprintf(sql, sizeof(sql),
			 "SELECT json_extract(attr, ?1) FROM port WHERE device = ?2 AND port = %u",
			 port);
		put_members(to, db, sql, device, prefix, port_members, PORT_MEMBERS, 1);
		put_gids(to, db, device, port);
		put_pkeys(to, port, sqlite3_column_int64(stmt, 1));
	}
	sqlite3_finalize(stmt);
}

static void put_device(FILE *to, struct trace *trace, sqlite3_stmt *row)
{
	int64_t id = sqlite3_column_int64(row, 0);

	put_text(to, "name", sqlite3_column_text(row, 1), "_-");
	put_text(to, "fw_ver", sqlite3_column_text(row, 2), "._-");
	put_members(to, trace_db(trace), "SELECT json_extract(attr, ?1) FROM device WHERE id = ?2",
		    id, "", device_members, DEVICE_MEMBERS, count_processes(trace));
	put_ports(to, trace_db(trace), id);
}

/* The first device that was opened. Returns 1; 0: none is described; or -errno. */
static int write_profile(struct trace *trace, FILE *to)
{
	static const char sql[] = "SELECT d.id, d.name, d.fw_ver FROM device d JOIN object v ON"
				  " v.kind = 'device' AND v.name = d.name JOIN object c ON"
				  " c.kind = 'context' AND c.parent = v.id WHERE json_valid(d.attr)"
				  " ORDER BY c.id LIMIT 1";
	sqlite3_stmt *stmt;
	bool found;

	if (sqlite3_prepare_v2(trace_db(trace), sql, -1, &stmt, NULL))
		return 0;
	found = sqlite3_step(stmt) == SQLITE_ROW;
	if (found)
		put_device(to, trace, stmt);
	sqlite3_finalize(stmt);
	return ferror(to) || fflush(to) ? -EIO : found;
}

bool persona_is_other(struct trace *trace)
{
	const char *device = trace_meta(trace, "device");

	return !device || strcmp(device, "soft");
}

/* Did the recorded software device have a profile, too? */
static bool had_profile(struct trace *trace)
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

int persona_take(struct trace *trace)
{
	char path[32];
	FILE *to;
	int fd, err;

	if (persona_is_taken() || (!persona_is_other(trace) && !had_profile(trace)))
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
