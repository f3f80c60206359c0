/*
 * verbatim unbundle: the files of a bundle
 *
 * A bundle is untrusted. Its files are written into a new folder next to the final one, which is
 * renamed only if all of them match the manifest.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/bundle/archive.h"
#include "cli/folder.h"
#include "cli/bundle/manifest.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/written.h"
#include "core/base/printable.h"
#include "core/store/db/deadline.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"

struct settings {
	const char *folder;
	bool list, json;
	int64_t deadline;
};

/* clang-format off */
const struct option_row cli_unbundle_options[] = {
	{ "directory", 0, "DIR", "the folder to create, which must not exist",
	  TEXT_AT(struct settings, folder), .otherwise = "name of the bundle without .bundle",
	  .former = 'd' },
	{ "list", 'l', NULL, "only list and verify the contents",
	  FLAG_AT(struct settings, list) },
	WRITTEN_OPTION(struct settings),
	CLI_DEADLINE(struct settings),
	{ 0 },
};
/* clang-format on */

struct unbundle {
	const char *path;
	struct archive_reader *reader;
	struct manifest manifest;
	struct folder folder;
	long long done; /* bytes */
	uint64_t next;  /* CLOCK_MONOTONIC, ns: time of the next progress line */
};

enum { SHOW_SECONDS = 10 };

static int refuse_entry(const struct unbundle *u, const char *name, const char *why)
{
	return log_why(-EINVAL, "%s: entry '%s' %s; nothing was unpacked", u->path, name, why);
}

/* Read an entry of at most @most bytes into memory. */
static int read_small(struct unbundle *u, char *bytes, size_t most, size_t *ret_n)
{
	long long n;

	for (*ret_n = 0; *ret_n < most; *ret_n += (size_t)n) {
		n = archive_read(u->reader, bytes + *ret_n, most - *ret_n);
		if (n <= 0)
			return (int)n;
	}
	return 0;
}

static int read_manifest(struct unbundle *u)
{
	char json[MANIFEST_BYTES];
	struct archive_member found;
	const char *wrong;
	size_t n;
	int err = archive_next(u->reader, &found);

	if (err < 0)
		return err;
	if (!err || strcmp(found.name, MANIFEST_NAME) != 0)
		return log_why(-EINVAL,
			       "%s does not begin with a manifest; give a file written by "
			       "`verbatim bundle`",
			       u->path);
	err = read_small(u, json, sizeof(json), &n);
	if (err)
		return err;
	wrong = n == sizeof(json) ? "it is too long" : manifest_read(json, n, &u->manifest);
	return wrong ? log_why(-EINVAL, "%s has a manifest that cannot be used: %s", u->path, wrong)
		     : 0;
}

/* A bundle may claim to contain more than any disk holds. */
static int check_disk_space(const struct unbundle *u)
{
	unsigned long long room, need = (unsigned long long)u->manifest.bytes;
	struct statvfs fs;

	if (statvfs(u->folder.path, &fs))
		return 0;
	room = (unsigned long long)fs.f_bavail * fs.f_frsize;
	return need > room ? log_err(-ENOSPC, "unpack %s: it needs %llu bytes, %s has %llu free",
				     u->path, need, u->folder.path, room)
			   : 0;
}

/* @n more bytes are read: report progress now and then, and stop at the deadline. */
static int note_bytes(struct unbundle *u, long long n)
{
	uint64_t now = clock_monotonic();
	char done[FORMAT_TEXT], all[FORMAT_TEXT];

	u->done += n;
	if (deadline_is_over())
		return deadline_fail();
	if (now < u->next)
		return 0;
	if (u->next)
		log_info("unbundle: so far %s of %s", format_bytes((uint64_t)u->done, done),
			 format_bytes((uint64_t)u->manifest.bytes, all));
	u->next = now + SHOW_SECONDS * 1000000000ull;
	return 0;
}

/* @fd is -1 if the entry is only verified, not written. */
static int copy_entry(struct unbundle *u, const struct manifest_file *file, int fd)
{
	struct digest *digest = NULL;
	char bytes[1 << 16], text[DIGEST_TEXT] = "";
	long long left = file->bytes, n = 0;
	int err = digest_new(&digest);

	while (!err && (n = archive_read(u->reader, bytes, sizeof(bytes))) > 0) {
		left -= n;
		if (left < 0)
			break;
		digest_add(digest, bytes, (size_t)n);
		if (fd >= 0 && write(fd, bytes, (size_t)n) != n)
			err = log_err(errno ? -errno : -EIO, "write %s", u->folder.path);
		err = err ?: note_bytes(u, n);
	}
	digest_end(digest, text);
	if (err || n < 0)
		return err ? err : (int)n;
	if (left)
		return refuse_entry(u, file->name, "differs in length from the manifest");
	return strcmp(text, file->digest)
		       ? refuse_entry(u, file->name, "differs in digest from the manifest")
		       : 0;
}

static int unpack_entry(struct unbundle *u, const struct archive_member *found, bool list)
{
	struct manifest_file *file;
	char path[PATH_MAX + 1 + MANIFEST_FILE_NAME];
	int fd = -1, err;

	if (!manifest_is_name(found->name))
		return refuse_entry(u, found->name, "would be written outside the folder");
	file = manifest_find(&u->manifest, found->name);
	if (!file || file->seen)
		return refuse_entry(u, found->name,
				    file ? "is duplicated" : "is not in the manifest");
	file->seen = true;
	if (found->bytes != file->bytes)
		return refuse_entry(u, found->name, "differs in length from the manifest");
	if (!list) {
		snprintf(path, sizeof(path), "%s/%s", u->folder.path, file->name);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			return log_err(-errno, "make %s", path);
	}
	err = copy_entry(u, file, fd);
	if (fd >= 0 && close(fd) && !err)
		err = log_err(-errno, "write %s", path);
	return err;
}

static int unpack_entries(struct unbundle *u, bool list)
{
	struct archive_member found;
	int err;

	while ((err = archive_next(u->reader, &found)) > 0) {
		err = unpack_entry(u, &found, list);
		if (err)
			return err;
	}
	for (size_t i = 0; i < u->manifest.n && !err; i++)
		if (!u->manifest.files[i].seen)
			err = log_why(-EINVAL, "%s is truncated: '%s' is missing; copy it again",
				      u->path, u->manifest.files[i].name);
	return err;
}

/* "t" for "dir/t.bundle"; NULL if that leaves nothing. */
static char *name_folder(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strlen(name);

	n -= n > 7 && !strcmp(name + n - 7, ".bundle") ? 7 : 0;
	return name[n] ? strndup(name, n) : NULL;
}

static void print_files(const struct unbundle *u, const char *where)
{
	char bytes[FORMAT_TEXT];

	if (where) {
		print_untrusted(stdout, where);
		printf(": ");
	}
	printf("%zu files, matching the manifest%s\n", u->manifest.n,
	       u->manifest.anonymised ? "; anonymised" : "");
	for (size_t i = 0; i < u->manifest.n; i++)
		printf("  %-14s %10s  %s\n", u->manifest.files[i].name,
		       format_bytes((uint64_t)u->manifest.files[i].bytes, bytes),
		       u->manifest.files[i].digest);
}

static int put_files(const struct unbundle *u, const char *where)
{
	return written_put(
		"unbundle", where,
		(const struct written_count[]){ WRITTEN_COUNT("files", u->manifest.n),
						WRITTEN_FLAG("anonymised", u->manifest.anonymised),
						{ 0 } });
}

static int unpack_bundle(struct unbundle *u, const char *where, bool list, bool json)
{
	int err = read_manifest(u);

	if (!err && !list)
		err = folder_make(&u->folder, where) ?: check_disk_space(u);
	if (!err)
		err = unpack_entries(u, list);
	if (!err && !list)
		err = folder_move_to(&u->folder, where);
	if (!err && json)
		err = put_files(u, list ? u->path : where);
	else if (!err)
		print_files(u, list ? NULL : where);
	return err;
}

int cli_unbundle(int argc, char **argv)
{
	struct unbundle u = { 0 };
	struct settings set = { 0 };
	struct arguments arguments;
	char *name = NULL;
	int err;

	cli_parse(argc, argv, &set, &arguments);
	cli_deadline(set.deadline);
	if (arguments.n != 1)
		return cli_misuse("unbundle",
				  arguments.n ? "only one bundle can be given: '%s' is another"
					      : "no bundle given",
				  arguments.n ? arguments.at[1] : "");
	u.path = arguments.at[0];
	err = cli_find_file(u.path);
	if (err)
		return cli_status(err);
	if (!set.folder && !set.list) {
		name = name_folder(u.path);
		if (!name)
			return cli_misuse("unbundle",
					  "the name of the bundle does not end in .bundle; give "
					  "the folder with --directory DIR");
		set.folder = name;
	}
	cli_show_work("unbundle");
	err = archive_open(u.path, &u.reader);
	if (!err)
		err = unpack_bundle(&u, set.folder, set.list, set.json);
	archive_close(u.reader);
	folder_remove(&u.folder);
	free(name);
	return cli_status(err);
}
