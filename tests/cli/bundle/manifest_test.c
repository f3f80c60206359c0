/*
 * The manifest of a bundle, which is untrusted
 */
#include "cli/bundle/manifest.h"
#include "tests/test.h"

#define DIGEST       "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FILES(files) "{\"format\":\"verbatim bundle\",\"version\":1,\"files\":[" files "]}"
#define ENTRY(name)  "{\"name\":\"" name "\",\"bytes\":1,\"sha256\":\"" DIGEST "\"}"

static const char *read_text(const char *json, struct manifest *manifest)
{
	return manifest_read(json, strlen(json), manifest);
}

TEST(what_is_written_is_read)
{
	struct manifest manifest = { .anonymised = true }, read;
	struct manifest_file *file = manifest_add(&manifest, "trace.db", "the trace");
	struct text text = { 0 };

	file->bytes = 1ll << 40;
	memcpy(file->digest, DIGEST, sizeof(DIGEST));
	manifest_write(&manifest, &text);
	assert_null(manifest_read(text.at, text.used, &read));
	assert_true(read.anonymised);
	assert_int_equal(read.n, 1);
	assert_true(read.files[0].bytes == 1ll << 40);
	assert_string_equal(read.files[0].digest, DIGEST);
	assert_ptr_equal(manifest_find(&read, "trace.db"), &read.files[0]);
	assert_null(manifest_find(&read, "trace"));
	text_fini(&text);
}

TEST(names_lead_nowhere_else)
{
	static const char *const bad[] = { "",   ".",   "..",  "../x",     "/x",   "a/b", ".x",
					   "-x", "a b", "a\n", "\xc3\xbc", "a\\b", NULL };

	for (int i = 0; bad[i]; i++)
		assert_false(manifest_is_name(bad[i]));
	assert_true(manifest_is_name("trace.db"));
	assert_true(manifest_is_name("0_a-b.txt"));
}

TEST(what_no_bundle_has_is_refused)
{
	static const char *const bad[] = {
		"",
		"{}",
		"[]",
		"{\"format\":\"verbatim bundle\",\"version\":2,\"files\":[]}",
		"{\"format\":\"another\",\"version\":1,\"files\":[]}",
		"{\"format\":\"verbatim bundle\",\"version\":1}",
		FILES("7"),
		FILES(ENTRY("../x")),
		FILES(ENTRY("manifest.json")),
		FILES(ENTRY("a") "," ENTRY("a")),
		FILES(ENTRY("a\\u0000b")),
		FILES("{\"name\":\"a\",\"bytes\":-1,\"sha256\":\"" DIGEST "\"}"),
		FILES("{\"name\":\"a\",\"bytes\":1,\"sha256\":\"0\"}"),
		FILES("{\"name\":\"a\",\"bytes\":1}"),
		NULL,
	};
	struct manifest manifest;

	for (int i = 0; bad[i]; i++)
		if (!read_text(bad[i], &manifest))
			fail_msg("taken: %s", bad[i]);
	assert_null(read_text(FILES(ENTRY("a") "," ENTRY("b")), &manifest));
	assert_int_equal(manifest.n, 2);
}

TEST(there_are_no_more_files_than_a_bundle_may_have)
{
	struct manifest manifest;
	struct text text = { 0 };

	text_addf(&text, "{\"format\":\"verbatim bundle\",\"version\":1,\"files\":[");
	for (int i = 0; i <= MANIFEST_FILES; i++)
		text_addf(&text, "%s{\"name\":\"f%d\",\"bytes\":1,\"sha256\":\"" DIGEST "\"}",
			  i ? "," : "", i);
	text_addf(&text, "]}");
	assert_non_null(manifest_read(text.at, text.used, &manifest));
	text_fini(&text);
}
