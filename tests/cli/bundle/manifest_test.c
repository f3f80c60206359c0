/*
 * The manifest of a bundle, which is untrusted
 */
#include "cli/bundle/manifest.h"
#include "tests/test.h"

#define DIGEST       "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FILES(files) "{\"format\":\"verbatim bundle\",\"version\":1,\"files\":[" files "]}"
#define ENTRY(name)  "{\"name\":\"" name "\",\"bytes\":1,\"sha256\":\"" DIGEST "\"}"

#define BYTES(name, bytes) "{\"name\":\"" name "\",\"bytes\":" bytes ",\"sha256\":\"" DIGEST "\"}"
#define NO_DIGEST          "it lists a file without its name, length or digest"

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
	assert_string_equal(text.at, "{\"format\":\"verbatim bundle\",\"version\":1,\"verbatim\":"
				     "\"" VERBATIM_VERSION "\",\"anonymised\":true,\"files\":["
				     "{\"name\":\"trace.db\",\"bytes\":1099511627776,\"sha256\":"
				     "\"" DIGEST "\"}]}\n");
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
	char name[MANIFEST_FILE_NAME + 1];

	for (int i = 0; bad[i]; i++)
		assert_false(manifest_is_name(bad[i]));
	assert_true(manifest_is_name("trace.db"));
	assert_true(manifest_is_name("0_a-b.txt"));
	memset(name, 'x', sizeof(name));
	name[MANIFEST_FILE_NAME] = '\0';
	assert_false(manifest_is_name(name));
	name[MANIFEST_FILE_NAME - 1] = '\0';
	assert_true(manifest_is_name(name));
}

TEST(what_no_bundle_has_is_refused)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "it is not JSON" },
		{ "{", "it is not JSON" },
		{ "{}", "it is not the manifest of a bundle" },
		{ "[]", "it is not the manifest of a bundle" },
		{ "{\"format\":7,\"version\":1,\"files\":[]}",
		  "it is not the manifest of a bundle" },
		{ "{\"format\":\"verbatim bundle\",\"version\":\"1\",\"files\":[]}",
		  "it is not the manifest of a bundle" },
		{ "{\"format\":\"another\",\"version\":1,\"files\":[]}",
		  "it is not the manifest of a bundle" },
		{ "{\"format\":\"verbatim bundle\",\"version\":2,\"files\":[]}",
		  "it is of another version; unpack it with the verbatim that wrote it" },
		{ "{\"format\":\"verbatim bundle\",\"version\":0,\"files\":[]}",
		  "it is of another version; unpack it with the verbatim that wrote it" },
		{ "{\"format\":\"verbatim bundle\",\"version\":1}", "it lists no files" },
		{ "{\"format\":\"verbatim bundle\",\"version\":1,\"files\":{}}",
		  "it lists no files" },
		{ FILES("7"), "it lists an entry that is not a file" },
		{ FILES(ENTRY("../x")), "it lists a file with an unexpected name" },
		{ FILES(ENTRY("manifest.json")), "it lists a file with an unexpected name" },
		{ FILES(ENTRY("a\\u0000b")), "it lists a file with an unexpected name" },
		{ FILES(ENTRY("a") "," ENTRY("a")), "it lists a file twice" },
		{ FILES(ENTRY("b") "," ENTRY("a") "," ENTRY("b")), "it lists a file twice" },
		{ FILES("{\"name\":\"a\",\"bytes\":-1,\"sha256\":\"" DIGEST "\"}"), NO_DIGEST },
		{ FILES("{\"name\":\"a\",\"bytes\":\"1\",\"sha256\":\"" DIGEST "\"}"), NO_DIGEST },
		{ FILES("{\"name\":\"a\",\"bytes\":1,\"sha256\":\"0\"}"), NO_DIGEST },
		{ FILES("{\"name\":\"a\",\"bytes\":1,\"sha256\":\"" DIGEST "0\"}"), NO_DIGEST },
		{ FILES("{\"name\":\"a\",\"bytes\":1}"), NO_DIGEST },
		{ FILES("{\"bytes\":1,\"sha256\":\"" DIGEST "\"}"), NO_DIGEST },
		{ FILES(BYTES("a", "9223372036854775807") "," ENTRY("b")),
		  "it lists more bytes than possible" },
	};
	struct manifest manifest;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_string_equal(read_text(bad[i].text, &manifest) ?: "taken", bad[i].why);
	assert_null(read_text(FILES(BYTES("a", "0") "," BYTES("b", "7")), &manifest));
	assert_true(manifest.bytes == 7);
	assert_false(manifest.anonymised);
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
	assert_string_equal(manifest_read(text.at, text.used, &manifest),
			    "it lists too many files");
	text_fini(&text);
}
