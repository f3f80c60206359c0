/*
 * The device that a program runs on, and the environment that it needs for that
 *
 * 	LD_PRELOAD       libverbatim.so, libverbatim-soft.so, its former value
 * 	LD_LIBRARY_PATH  the drop-in libibverbs, where there is no rdma-core
 * 	VERBATIM_DIR     the session
 *
 * The libraries are beside the command (as built), or in ../lib/verbatim (as installed).
 */
#include "cli/record/device.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/read_file.h"
#include "core/faults/file.h"
#include "core/wire/log.h"
#include "core/wire/session.h"

/* List the names in @sysfs as one text, maybe "". Returns whether @asked is among them. */
static bool list_devices(const char *sysfs, const char *asked, char *text, size_t size)
{
	DIR *dir = opendir(sysfs);
	size_t used = 0;
	bool found = false;

	text[0] = '\0';
	for (struct dirent *d; dir && (d = readdir(dir));) {
		if (d->d_name[0] == '.')
			continue;
		found = found || (asked && !strcmp(asked, d->d_name));
		if (used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 d->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

int device_choose(const char *asked, const char *sysfs, bool *ret_soft)
{
	char names[512];
	bool found = list_devices(sysfs, asked, names, sizeof(names));

	if (asked && strcmp(asked, "soft") && !found) {
		log_note("unknown RDMA device '%s'; available: %s%ssoft", asked, names,
			 *names ? ", " : "");
		return -ENODEV;
	}
	*ret_soft = asked ? !strcmp(asked, "soft") : !*names;
	return 0;
}

const char *device_set_wire(const char *asked)
{
	static const char prefix[] = "soft:";
	const size_t len = sizeof(prefix) - 1;

	if (!asked || strncmp(asked, prefix, len) || !asked[len])
		return asked;
	setenv("VERBATIM_SOFT_WIRE", asked + len, 1);
	return "soft";
}

void device_report_soft(void)
{
	log_info("this machine has no RDMA device: using the software device");
}

/* @node: "uverbs0", a directory of @root/sys/class/infiniband_verbs. */
static void report_if_closed(const char *node, const char *asked, const char *root)
{
	char path[PATH_MAX], *name = NULL;
	struct stat st;
	size_t size;

	snprintf(path, sizeof(path), "%s/sys/class/infiniband_verbs/%s/ibdev", root, node);
	if (read_file(path, &name, &size))
		return;
	name[strcspn(name, "\n")] = '\0';
	snprintf(path, sizeof(path), "%s/dev/infiniband/%s", root, node);
	if ((!asked || !strcmp(asked, name)) && !stat(path, &st) &&
	    faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS))
		log_note("%s cannot be opened by this user: %s has mode %04o, owner %u:%u; set it "
			 "to 0666, or join its group (see 'verbatim doctor')",
			 name, path, (unsigned int)(st.st_mode & 07777), (unsigned int)st.st_uid,
			 (unsigned int)st.st_gid);
	free(name);
}

void device_report_closed(const char *asked, const char *root)
{
	char path[PATH_MAX];
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/class/infiniband_verbs", root);
	dir = opendir(path);
	for (struct dirent *d; dir && (d = readdir(dir));)
		if (d->d_name[0] != '.')
			report_if_closed(d->d_name, asked, root);
	if (dir)
		closedir(dir);
}

int device_find_library(const char *name, char path[PATH_MAX])
{
	static const char *const places[] = { "", "../lib/verbatim/" };
	char self[PATH_MAX], tried[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return log_err(-errno, "readlink /proc/self/exe");
	self[n] = '\0';
	*(strrchr(self, '/') + 1) = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(tried, sizeof(tried), "%s%s%s", self, places[i], name);
		if (realpath(tried, path))
			return strpbrk(path, ": \t")
				       ? log_why(-EINVAL,
						 "'%s' cannot be preloaded: its path contains a "
						 "space or colon",
						 path)
				       : 0;
	}
	return log_err(-ENOENT, "look for %s in %s and %s../lib/verbatim", name, self, self);
}

/* Environment variable @name becomes @first, a colon and @last, or the one that is not empty. */
static int join_variable(const char *name, const char *first, const char *last)
{
	bool both = first && *first && last && *last;
	char *text;
	int err;

	if (asprintf(&text, "%s%s%s", first ? first : "", both ? ":" : "", last ? last : "") < 0)
		return log_err(-ENOMEM, "set %s", name);
	err = setenv(name, text, 1) ? log_err(-errno, "set %s", name) : 0;
	free(text);
	return err;
}

static int prepend_variable(const char *name, const char *value)
{
	return join_variable(name, value, getenv(name));
}

static int preload_library(const char *library)
{
	char path[PATH_MAX];
	int err = device_find_library(library, path);

	return err ? err : prepend_variable("LD_PRELOAD", path);
}

/* Is the library at @path of this version? 1, 0, or -errno. Mapped, since it has 3 MB. */
static int is_of_this_version(const char *path)
{
	struct stat stat;
	int fd = open(path, O_RDONLY | O_CLOEXEC), known;
	void *bytes = MAP_FAILED;

	if (fd >= 0 && !fstat(fd, &stat))
		bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED) {
		known = -errno;
	} else {
		known = session_is_known(bytes, (size_t)stat.st_size);
		munmap(bytes, (size_t)stat.st_size);
	}
	if (fd >= 0)
		close(fd);
	return known;
}

/* Preload the library that records. A library of another version would record nothing, silently. */
static int preload_recorder(void)
{
	char path[PATH_MAX];
	int err = device_find_library("libverbatim.so", path);

	if (err)
		return err;
	err = is_of_this_version(path);
	if (err < 0)
		return log_err(err, "read '%s'", path);
	if (err)
		return prepend_variable("LD_PRELOAD", path);
	log_note("'%s' is of another version than this command: install both from one build", path);
	return -EPROTO;
}

/* Preload the software device; after the recorder, if this command is itself recorded. */
static int preload_device(void)
{
	const char *before = getenv("LD_PRELOAD");
	char path[PATH_MAX];
	int err = device_find_library("libverbatim-soft.so", path);

	if (err || (before && strstr(before, path)))
		return err;
	if (getenv(SESSION_ENV))
		return join_variable("LD_PRELOAD", before, path);
	return prepend_variable("LD_PRELOAD", path);
}

/* Is there a libibverbs that is not our drop-in? */
static bool has_rdma_core(void)
{
	void *library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map = NULL;
	bool ours;

	if (!library)
		return false;
	ours = !dlinfo(library, RTLD_DI_LINKMAP, &map) && strstr(map->l_name, "/dropin/");
	dlclose(library);
	return !ours;
}

static int use_drop_in(void)
{
	char path[PATH_MAX];
	int err = device_find_library("dropin/libibverbs.so.1", path);

	if (err)
		return err;
	*strrchr(path, '/') = '\0';
	return prepend_variable("LD_LIBRARY_PATH", path);
}

/*
 * AddressSanitizer's library refuses to run after preloaded ones. Ours define nothing that it must
 * precede.
 */
static int allow_order(void)
{
	const char *before = getenv("ASAN_OPTIONS");
	char *text;
	int err;

	if (asprintf(&text, "%s%sverify_asan_link_order=0", before ? before : "",
		     before && *before ? ":" : "") < 0)
		return log_err(-ENOMEM, "set ASAN_OPTIONS");
	err = setenv("ASAN_OPTIONS", text, 1) ? log_err(-errno, "set ASAN_OPTIONS") : 0;
	free(text);
	return err;
}

int device_watch_memory(void)
{
	return preload_library("libverbatim-memory.so");
}

int device_set_environment(const char *dir, bool soft)
{
	int err = 0;

	if (soft)
		err = has_rdma_core() ? preload_device() : use_drop_in();
	if (!err && (dir || getenv(FAULTS_ENV) || getenv(FAULTS_GIVEN_ENV)))
		err = preload_recorder();
	if (!err && (soft || dir))
		err = allow_order();
	if (!err && dir && setenv(SESSION_ENV, dir, 1))
		err = log_err(-errno, "set " SESSION_ENV);
	return err;
}
