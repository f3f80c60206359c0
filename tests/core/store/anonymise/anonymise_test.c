/*
 * Identifying data, and its substitutes
 */
#include <sqlite3.h>
#include <stdlib.h>

#include "core/store/anonymise/addresses.h"
#include "core/store/anonymise/anonymise.h"
#include "core/store/anonymise/identity.h"
#include "core/store/anonymise/names.h"
#include "core/store/anonymise/replace.h"
#include "core/store/anonymise/substitutes.h"
#include "core/store/db/file.h"
#include "core/store/open.h"
#include "core/store/unpack.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static struct substitutes *substitutes;

static int make_substitutes(void **state)
{
	(void)state;
	return substitutes_new(&substitutes);
}

static int free_substitutes(void **state)
{
	(void)state;
	assert_int_equal(substitutes_error(substitutes), 0);
	substitutes_free(substitutes);
	substitutes = NULL;
	return 0;
}

/* Every column of a trace, packed and unpacked */

static void assert_columns(const char *path)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), 0);
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT t.name, c.name FROM sqlite_master t,"
					    " pragma_table_info(t.name) c WHERE t.type = 'table'"
					    " AND t.name NOT LIKE 'sqlite%'",
					    -1, &stmt, NULL),
			 0);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *table = (const char *)sqlite3_column_text(stmt, 0);
		const char *column = (const char *)sqlite3_column_text(stmt, 1);

		if (identity_of_column(table, column) == IDENTITY_UNKNOWN)
			fail_msg("%s.%s is not in the list", table, column);
	}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

TEST(each_column_is_in_the_list)
{
	char packed[256], plain[256];

	snprintf(packed, sizeof(packed), "%s", make_path("packed.db"));
	snprintf(plain, sizeof(plain), "%s", make_path("plain.db"));
	assert_int_equal(make_sends(packed, 1), 0);
	assert_int_equal(trace_unpack(packed, plain), 0);
	assert_columns(packed);
	assert_columns(plain);
	file_remove(packed);
	file_remove(plain);
}

static void assert_fields(const struct struct_info *type, int depth)
{
	for (int i = 0; i < type->nfields; i++) {
		const struct field_info *field = &type->fields[i];

		if (identity_is_needed(field) &&
		    identity_of_argument(field->name, strlen(field->name)) == IDENTITY_UNKNOWN)
			fail_msg("%s.%s is not in the list", type->name, field->name);
		if (field->type && depth < 8)
			assert_fields(field->type, depth + 1);
	}
}

TEST(each_text_that_a_verb_takes_is_in_the_list)
{
	for (int verb = 0; verb < VERB_COUNT; verb++)
		assert_fields(&verb_infos[verb].args, 0);
	for (int kind = 0; kind < OBJECT_COUNT; kind++)
		assert_fields(&object_infos[kind], 0);
}

TEST(each_key_of_a_trace_is_in_the_list)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	char path[256];

	snprintf(path, sizeof(path), "%s", make_path("keys.db"));
	assert_int_equal(make_sends(path, 1), 0);
	assert_int_equal(sqlite3_open(path, &db), 0);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT key FROM meta", -1, &stmt, NULL), 0);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *key = (const char *)sqlite3_column_text(stmt, 0);

		if (identity_of_meta(key) == IDENTITY_UNKNOWN)
			fail_msg("%s is not in the list", key);
	}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	file_remove(path);
	assert_int_equal(identity_of_meta("owner"), IDENTITY_UNKNOWN);
}

/* Texts. A '#' stands for a number. */

FIXTURE(make_substitutes, free_substitutes);

static void assert_like(const char *text, const char *like)
{
	for (const char *at = text;; at++, like++) {
		if (*like == '#') {
			size_t digits = strspn(at, "0123456789");

			if (!digits)
				break;
			at += digits - 1;
		} else if (*at != *like) {
			break;
		} else if (!*at) {
			return;
		}
	}
	fail_msg("'%s' is not like '%s'", text, like);
}

struct replaced {
	const char *name;
	enum identity identity;
	const char *from, *like;
};

static void assert_replaced(void **state)
{
	const struct replaced *row = *state;
	struct text text = { 0 };

	assert_int_equal(substitutes_new(&substitutes), 0);
	assert_true(replace_text(substitutes, row->identity, row->from, &text));
	assert_like(text.at ? text.at : "", row->like);
	text_fini(&text);
	free_substitutes(state);
}

/* clang-format off */
static const struct replaced replaced[] = {
	{ "a_path_is_as_deep", IDENTITY_PATH, "/home/ann/x/prog", "/home/name#/name#/name#" },
	{ "a_library_stays", IDENTITY_PATH, "/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0",
	  "/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0" },
	{ "a_library_of_somebody_does_not", IDENTITY_PATH, "/opt/acme/libibverbs-acme.so",
	  "/opt/name#/name#" },
	{ "a_provider_stays", IDENTITY_PATH, "/usr/lib/libibverbs/libmlx5-rdmav34.so",
	  "/usr/lib/libibverbs/libmlx5-rdmav34.so" },
	{ "a_deleted_file", IDENTITY_PATH, "/tmp/prog (deleted)", "/tmp/name# (deleted)" },
	{ "a_relative_path", IDENTITY_PATH, "../prog", "../name#" },
	{ "no_path", IDENTITY_PATH, "", "" },
	{ "a_command_has_as_many_words", IDENTITY_COMMAND, "/usr/bin/prog -h db1.acme.com  7",
	  "/usr/bin/name# arg# arg#  arg#" },
	{ "a_device_of_the_kernel_stays", IDENTITY_DEVICE, "mlx5_0,rxe12", "mlx5_0,rxe12" },
	{ "the_software_device_stays", IDENTITY_DEVICE, "soft", "soft" },
	{ "several_devices_stay", IDENTITY_DEVICE, "several,soft", "several,soft" },
	{ "a_device_of_nearly_that_name", IDENTITY_DEVICE, "sofa,severed", "device#,device#" },
	{ "a_device_whose_name_goes_on", IDENTITY_DEVICE, "soft9,severals", "device#,device#" },
	{ "a_device_of_three_digits_stays", IDENTITY_DEVICE, "rxe123", "rxe123" },
	{ "a_device_of_four_digits", IDENTITY_DEVICE, "rxe1234", "device#" },
	{ "a_device_without_a_number", IDENTITY_DEVICE, "rxe", "device#" },
	{ "a_device_with_a_word_for_a_number", IDENTITY_DEVICE, "rxeab", "device#" },
	{ "a_renamed_device", IDENTITY_DEVICE, "storage-a", "device#" },
	{ "a_device_with_a_long_number", IDENTITY_DEVICE, "rxe20240131", "device#" },
	{ "a_folder_of_a_device", IDENTITY_FOLDER, "/sys/class/infiniband/storage-a",
	  "/sys/class/infiniband/device#" },
	{ "a_number_of_a_variable_stays", IDENTITY_VALUE, "128M", "128M" },
	{ "a_word_of_a_variable_stays", IDENTITY_VALUE, "auto", "auto" },
	{ "a_value_of_a_variable", IDENTITY_VALUE, "acme:1", "value#" },
	{ "a_release", IDENTITY_RELEASE, "6.1.0-18-acme-amd64", "6.1.0-18" },
	{ "this_host", IDENTITY_HOST, "localhost", "localhost" },
	{ "another_host", IDENTITY_HOST, "db1.acme.com", "host#" },
	{ "a_host_by_address", IDENTITY_HOST, "192.168.7.3", "10.#.#.#" },
	{ "an_address_with_its_port", IDENTITY_ADDRESS, "192.168.7.3:4711", "10.#.#.#:4711" },
	{ "a_loopback_address_stays", IDENTITY_ADDRESS, "127.0.0.1:7", "127.0.0.1:7" },
	{ "no_address", IDENTITY_ADDRESS, "none", "none" },
	{ "what_is_no_address", IDENTITY_ADDRESS, "acme", "text#" },
	{ "a_port_stays", IDENTITY_SERVICE, "4711", "4711" },
	{ "a_service", IDENTITY_SERVICE, "acme-db", "text#" },
	{ "private_data_is_as_long", IDENTITY_PRIVATE, "61636d65", "00000000" },
	{ "a_number_as_an_option_stays", IDENTITY_OPTION, "01000000", "01000000" },
	{ "what_is_no_json", IDENTITY_ARGUMENTS, "{acme", "{}" },
	{ "arguments", IDENTITY_ARGUMENTS,
	  "{\"cqe\":16,\"a\":\"acme\",\"qp_type\":\"IBV_QPT_RC\",\"node\":\"acme\",\"x\":[null,1.5]}",
	  "{\"cqe\":16,\"a\":\"text#\",\"qp_type\":\"IBV_QPT_RC\",\"node\":\"host#\","
	  "\"x\":[null,1.5]}" },
	{ "an_enumerator_with_a_name_in_it", IDENTITY_ARGUMENTS, "{\"a\":\"IBV_acme\"}",
	  "{\"a\":\"text#\"}" },
	{ "what_is_known_of_private_data", IDENTITY_ARGUMENTS,
	  "{\"private_data\":{\"length\":4,\"first\":\"61636d65\"}}",
	  "{\"private_data\":{\"length\":4,\"first\":\"00000000\"}}" },
};
/* clang-format on */

TEST_ROWS(replaced, assert_replaced);

TEST(the_same_is_replaced_by_the_same)
{
	struct text a = { 0 }, b = { 0 }, c = { 0 };

	replace_path(substitutes, "/home/ann/prog", &a);
	replace_path(substitutes, "/home/ann/prog", &b);
	replace_path(substitutes, "/home/ben/prog", &c);
	assert_string_equal(a.at, b.at);
	assert_string_not_equal(a.at, c.at);
	assert_string_equal(strrchr(a.at, '/'), strrchr(c.at, '/'));
	text_fini(&a);
	text_fini(&b);
	text_fini(&c);
}

/* Addresses */

static void parse_gid(const char *text, uint8_t gid[16])
{
	unsigned int byte;

	for (int i = 0; i < 16; i++) {
		assert_int_equal(sscanf(text + 2 * i, "%2x", &byte), 1);
		gid[i] = (uint8_t)byte;
	}
}

static void assert_gid(const char *from, size_t kept, bool changed)
{
	uint8_t was[16], is[16];

	parse_gid(from, was);
	memcpy(is, was, 16);
	replace_gid(substitutes, is);
	assert_memory_equal(is, was, kept);
	assert_int_equal(memcmp(is, was, 16) != 0, changed);
}

TEST(a_gid_stays_of_its_kind)
{
	assert_gid("00000000000000000000000000000000", 16, false);
	assert_gid("00000000000000000000000000000001", 16, false);
	assert_gid("fe800000000000000002c90300a0b0c1", 8, true);
	assert_gid("00000000000000000000ffffc0a80703", 12, true);
	assert_gid("00000000000000000000ffff7f000001", 16, false);
	assert_gid("fd12345678900001abcdef0123456789", 1, true);
	assert_gid("00000000000000000000000000000002", 8, true);
	assert_gid("00000000000000000000ffffe0000001", 16, false); /* 224.0.0.1 */
	assert_gid("00000000000000000000ffffdf000001", 12, true);
	assert_gid("00000000000000000000ffffa9fe0001", 14, true); /* 169.254.0.1 */
	assert_gid("fec000000000000002c90300a0b0c1d2", 8, true);
	assert_gid("fed000000000000002c90300a0b0c1d2", 2, true);
	assert_gid("20010000000000010000000000000001", 0, true);
}

/* The groups of RFC 3306 (ff3x) contain the prefix of a network. */
TEST(a_group_that_names_no_network_stays)
{
	assert_gid("ff12401bffff00000000000000000001", 16, false);
	assert_gid("ff0e0000000000000000000000000101", 16, false);
	assert_gid("ff2e0000000000000000000000000101", 16, false);
	assert_gid("ff3e0030fd1234567890000100000001", 2, true);
	assert_gid("ff4e0000000000000000000000000101", 16, false);
}

TEST(broadcast_and_no_mac_address_stay)
{
	assert_true(replace_guid(substitutes, 0x020000fffe000000) == 0x020000fffe000000);
	assert_true(replace_guid(substitutes, 0xfdfffffffeffffff) == 0xfdfffffffeffffff);
	assert_true(replace_guid(substitutes, 0x020000fffe000001) != 0x020000fffe000001);
}

/* RoCE GIDs are made from it: they must stay related. */
TEST(a_mac_address_is_the_same_in_a_guid_and_a_gid)
{
	uint64_t guid = 0x0202c9fffea0b0c1, replaced = replace_guid(substitutes, guid);
	uint8_t gid[16];
	uint64_t lower;

	parse_gid("fe800000000000000202c9fffea0b0c1", gid);
	replace_gid(substitutes, gid);
	memcpy(&lower, gid + 8, 8);
	assert_true(__builtin_bswap64(lower) == replaced);
	assert_true(replaced != guid);
	assert_int_equal(replaced >> 24 & 0xffff, 0xfffe);
}

TEST(hosts_of_a_network_stay_in_one)
{
	struct text a = { 0 }, b = { 0 }, c = { 0 };

	assert_true(replace_address(substitutes, "192.168.7.3", &a));
	assert_true(replace_address(substitutes, "192.168.7.4", &b));
	assert_true(replace_address(substitutes, "192.168.8.3", &c));
	assert_memory_equal(a.at, b.at, (size_t)(strrchr(a.at, '.') - a.at) + 1);
	assert_string_not_equal(a.at, b.at);
	assert_true(strncmp(a.at, c.at, (size_t)(strrchr(a.at, '.') - a.at) + 1) != 0);
	text_fini(&a);
	text_fini(&b);
	text_fini(&c);
}

TEST(no_two_numbers_have_one_substitute)
{
	bool seen[1 << 12] = { false };

	for (uint64_t i = 1; i < 2000; i++) {
		uint64_t number = substitute_number(substitutes, SUBSTITUTE_NET, i, 12);

		assert_in_range(number, 1, (1 << 12) - 1);
		assert_false(seen[number]);
		seen[number] = true;
		assert_true(substitute_number(substitutes, SUBSTITUTE_NET, i, 12) == number);
	}
	assert_true(substitute_number(substitutes, SUBSTITUTE_NET, 0, 12) == 0);
}
