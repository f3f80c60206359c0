/* core/store/anonymise/names.c: which names are the same on every machine, and stay. */
#include "core/store/anonymise/names.h"

#include "tests/test.h"

static struct substitutes *substitutes;

static void put_path(const char *name, struct text *to)
{
	replace_path(substitutes, name, to);
}

static void put_command(const char *name, struct text *to)
{
	replace_command(substitutes, name, to);
}

static void put_device(const char *name, struct text *to)
{
	replace_device(substitutes, name, to);
}

static void put_value(const char *name, struct text *to)
{
	replace_value(substitutes, name, to);
}

static void put_release(const char *name, struct text *to)
{
	replace_release(name, to);
}

static void put_host(const char *name, struct text *to)
{
	replace_host(substitutes, name, to);
}

/* @to equal to @name: the name is not replaced. */
static const struct {
	const char *name;
	void (*put)(const char *name, struct text *to);
	const char *from, *to;
} names[] = {
	/* clang-format off */
	{ "empty_path", put_path, "", "" },
	{ "first_folder", put_path, "/usr/x/libc.so.6", "/usr/name1/libc.so.6" },
	{ "last_folder", put_path, "/dev/infiniband_verbs/uverbs0", "/dev/infiniband_verbs/name1" },
	{ "folders_in_any_case", put_path, "/USR/Lib64/a", "/USR/Lib64/name1" },
	{ "part_of_a_folder", put_path, "/us/usrs/a", "/name1/name2/name3" },
	{ "folder_as_a_file", put_path, "/usr/lib", "/usr/name1" },
	{ "path_that_ends_with_a_slash", put_path, "/usr/lib/", "/usr/lib/" },
	{ "relative_path", put_path, "./ann/..", "./name1/.." },
	{ "name_of_dots", put_path, "...", "..." },
	{ "name_with_a_dot", put_path, ".ann", "name1" },
	{ "first_library", put_path, "ld-linux-x86-64.so.2", "ld-linux-x86-64.so.2" },
	{ "last_library", put_path, "linux-vdso.so.1", "linux-vdso.so.1" },
	{ "library_of_a_provider", put_path, "libmlx5-rdmav34.so", "libmlx5-rdmav34.so" },
	{ "library_with_versions", put_path, "libibverbs.so.1.14.39.0", "libibverbs.so.1.14.39.0" },
	{ "library_with_a_version_before", put_path, "libc-2.36.so", "libc-2.36.so" },
	{ "library_without_a_version", put_path, "libc", "name1" },
	{ "library_with_more_than_a_version", put_path, "libc.so.6.ann", "name1" },
	{ "library_of_another_name", put_path, "libcann.so", "name1" },
	{ "the_kernel's", put_path, "[vdso]", "[vdso]" },
	{ "the_kernel's_and_more", put_path, "[vdso]x", "name1" },
	{ "deleted_library", put_path, "/tmp/libz.so.1 (deleted)", "/tmp/libz.so.1 (deleted)" },
	{ "deleted_file", put_path, "/tmp/ann (deleted)", "/tmp/name1 (deleted)" },
	{ "equal_names", put_path, "/ann/ben/ann", "/name1/name2/name1" },
	{ "command", put_command, "/usr/bin/ann -x\t-y  -x\n", "/usr/bin/name1 arg1 arg2  arg1 " },
	{ "command_after_blanks", put_command, " ./ann", " ./name1" },
	{ "empty_command", put_command, "", "" },
	{ "first_driver", put_device, "mlx4_0", "mlx4_0" },
	{ "last_driver", put_device, "verbatim12", "verbatim12" },
	{ "the_software_device", put_device, "soft", "soft" },
	{ "all_devices", put_device, "several", "several" },
	{ "device_with_three_digits", put_device, "rxe123", "rxe123" },
	{ "device_with_four_digits", put_device, "rxe1234", "device1" },
	{ "driver_without_a_number", put_device, "mlx5_", "device1" },
	{ "driver_with_a_name", put_device, "mlx5_a", "device1" },
	{ "part_of_a_name", put_device, "sof", "device1" },
	{ "named_device", put_device, "ann", "device1" },
	{ "devices", put_device, "ann,mlx5_1,ben,ann", "device1,mlx5_1,device2,device1" },
	{ "first_word", put_value, "y", "y" },
	{ "last_word", put_value, "SOFT", "SOFT" },
	{ "number", put_value, "123456789", "123456789" },
	{ "long_number", put_value, "1234567890", "value1" },
	{ "number_with_a_unit", put_value, "64K", "64K" },
	{ "number_with_two_units", put_value, "64Ms", "value1" },
	{ "number_with_a_word", put_value, "64x", "value1" },
	{ "unit_alone", put_value, "k", "value1" },
	{ "value", put_value, "ann", "value1" },
	{ "release", put_release, "6.1.0-18-amd64", "6.1.0-18" },
	{ "release_of_numbers", put_release, "5.14.0", "5.14.0" },
	{ "release_of_a_name", put_release, "ann", "" },
	{ "this_host", put_host, "localhost", "localhost" },
	{ "host", put_host, "ann.example.org", "host1" },
	/* clang-format on */
};

static void a_name_is_replaced_or_stays(void **state)
{
	const typeof(*names) *row = *state;
	struct text text = { 0 };

	assert_int_equal(substitutes_new(&substitutes), 0);
	row->put(row->from, &text);
	assert_string_equal(text.at ?: "", row->to);
	text_fini(&text);
	substitutes_free(substitutes);
}

TEST_ROWS(names, a_name_is_replaced_or_stays);
