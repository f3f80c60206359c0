/*
 * What exports of tables, of schedules and for OTF2 write, of stored traces: lake_test.txt
 *
 * 	$ export ...		and then the new files: text as it is, others by sizes and digests
 */
#include <dirent.h>
#include <sys/stat.h>
#include <zstd.h>

#include "core/base/read_file.h"
#include "tests/cli/run.h"

enum { NAMES = 256 };

static struct text files;
static char *names[NAMES];
static int nnames;

static uint64_t digest_of(const char *bytes, size_t n)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3ull;
	return hash;
}

/*
 * The pages of a Parquet file as they were before libzstd compressed them, whose versions differ:
 * each is a frame, and headers between them have their sizes.
 */
static void put_pages(const char *bytes, size_t n)
{
	static const char magic[] = { 0x28, (char)0xb5, 0x2f, (char)0xfd };
	static char page[1 << 20];
	const char *at = bytes, *end = bytes + n;

	while ((at = memmem(at, (size_t)(end - at), magic, sizeof(magic)))) {
		size_t size = ZSTD_findFrameCompressedSize(at, (size_t)(end - at));
		size_t plain = ZSTD_decompress(page, sizeof(page), at, size);

		assert_false(ZSTD_isError(plain));
		text_addf(&files, "%zu %08x\n", plain, (unsigned int)digest_of(page, plain));
		at += size;
	}
}

static bool is_text(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] < ' ' && bytes[i] != '\n' && bytes[i] != '\t')
			return false;
	return true;
}

static int note_file(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	(void)stat, (void)ftw;
	if (type != FTW_F)
		return 0;
	assert_true(nnames < NAMES);
	names[nnames++] = strdup(path);
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_file(const char *path)
{
	char *bytes;
	size_t n;

	assert_int_equal(read_file(path, &bytes, &n), 0);
	text_addf(&files, "== %s\n", path + strlen(run_folder) + 1);
	if (is_text(bytes, n))
		text_add(&files, bytes, n);
	else if (!strcmp(path + strlen(path) - 8, ".parquet"))
		put_pages(bytes, n);
	else if (!strcmp(path + strlen(path) - 5, ".otf2")) /* has a number that OTF2 draws */
		text_addf(&files, "%zu bytes\n", n);
	else
		text_addf(&files, "%zu bytes, digest %016llx\n", n,
			  (unsigned long long)digest_of(bytes, n));
	free(bytes);
}

/* All files of an export, and the folder is removed. */
static void put_files(const char *folder)
{
	char path[sizeof(run_folder) + 16];

	snprintf(path, sizeof(path), "%s/%s", run_folder, folder);
	nnames = 0;
	nftw(path, note_file, 8, FTW_PHYS);
	qsort(names, (size_t)nnames, sizeof(*names), compare_names);
	for (int i = 0; i < nnames; i++) {
		put_file(names[i]);
		free(names[i]);
	}
	nftw(path, run_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* Recordings of fixed times and hosts. */
static int begin_exports(void **state)
{
	char *traces = realpath("tests/conformance", NULL), path[sizeof(run_folder) + 16];
	int err;

	(void)state;
	snprintf(run_folder, sizeof(run_folder), "%s-XXXXXX", make_path("run"));
	if (!traces || !mkdtemp(run_folder))
		return -1;
	snprintf(path, sizeof(path), "%s/at", run_folder);
	err = symlink(traces, path);
	free(traces);
	return err;
}

GROUP(begin_exports, run_end);

TEST(files_are_those_of_the_transcript)
{
	char *wanted = transcript_read(__FILE__);

	for (char *at = strstr(wanted, "$ "); at; at = strstr(at, "\n$ ")) {
		char command[512];

		at += *at == '\n' ? 3 : 2;
		snprintf(command, sizeof(command), "%.*s", (int)strcspn(at, "\n"), at);
		text_addf(&files, "$ %s\n", command);
		run_command(&files, command);
		put_files("out");
	}
	transcript_check(__FILE__, files.at, wanted);
	text_fini(&files);
	free(wanted);
}
