/*
 * The counters of devices
 *
 * 	/sys/class/infiniband/mlx5_0/hw_counters/NAME			of the device
 * 	/sys/class/infiniband/mlx5_0/ports/1/counters/NAME		of a port
 * 	/sys/class/infiniband/mlx5_0/ports/1/hw_counters/NAME
 *
 * Any user may read them. They are those of the whole device, whose other users count, too; only
 * the software device counts for the processes of one recording alone.
 */
#include "cli/record/device_counters.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/record/device.h"
#include "core/base/read_file.h"
#include "core/base/vec.h"
#include "core/store/db/counter_names.h"
#include "core/store/write/writer.h"
#include "core/wire/log.h"
#include "core/wire/session.h"

#define SOFT_COUNTERS "VERBATIM_SOFT_COUNTERS"

static const char *const folders[] = { "counters", "hw_counters" };

enum {
	FOLDERS = sizeof(folders) / sizeof(*folders),
	ROOT = sizeof(((struct device_counters *)0)->root),
	EACH = 1000000000, /* ns between two samples */
};

/* Is @name a setting of the device, not a counter? */
static bool is_setting(const char *name)
{
	return !strcmp(name, "lifespan");
}

/* "67", with blanks around it. */
static bool parse_value(const char *text, uint64_t *ret_value)
{
	char *end;

	errno = 0;
	*ret_value = strtoull(text, &end, 10);
	return !errno && end != text && !end[strspn(end, " \n")] && !strchr(text, '-');
}

/* 0 or -errno, without a message; -EINVAL: not a number. */
static int read_value(const char *path, uint64_t *ret_value)
{
	char *text = NULL;
	size_t size;
	int err = read_file(path, &text, &size);

	if (!err && !parse_value(text, ret_value))
		err = -EINVAL;
	free(text);
	return err;
}

static void count_refused(struct device_counters *counters, const struct device_counter *in,
			  const char *name)
{
	if (counters->refused++)
		return;
	snprintf(counters->refused_name, sizeof(counters->refused_name), "%s of %s", name,
		 in->device);
}

static int add_counter(struct device_counters *counters, const struct device_counter *in,
		       const char *name, const char *path)
{
	struct device_counter *counter;
	uint64_t value;
	int err;

	if (strchr(name, '.') || is_setting(name) || strlen(name) >= sizeof(counter->name))
		return 0;
	err = read_value(path, &value);
	if (err == -EACCES || err == -EPERM)
		count_refused(counters, in, name);
	if (err)
		return 0;
	counter = vec_push(counters->all, counters->n);
	if (!counter)
		return log_err(-ENOMEM, "read the counters of devices");
	*counter = *in;
	snprintf(counter->name, sizeof(counter->name), "%s", name);
	counter->value = counter->seen = value;
	return 0;
}

static int read_folder(struct device_counters *counters, const struct device_counter *in,
		       const char *at)
{
	char path[PATH_MAX];
	DIR *dir = opendir(at);
	int err = 0;

	for (struct dirent *d; dir && !err && (d = readdir(dir));)
		if (snprintf(path, sizeof(path), "%s/%s", at, d->d_name) < (int)sizeof(path))
			err = add_counter(counters, in, d->d_name, path);
	if (dir)
		closedir(dir);
	return err;
}

/* The folders of a device or of one of its ports. */
static int read_folders(struct device_counters *counters, struct device_counter *in, const char *at)
{
	char path[PATH_MAX];
	int err = 0;

	for (int i = 0; i < FOLDERS && !err; i++) {
		in->folder = folders[i];
		if (snprintf(path, sizeof(path), "%s/%s", at, folders[i]) < (int)sizeof(path))
			err = read_folder(counters, in, path);
	}
	return err;
}

static int read_ports(struct device_counters *counters, struct device_counter *in, const char *at)
{
	char path[PATH_MAX];
	DIR *dir;
	int err = 0;

	if (snprintf(path, sizeof(path), "%s/ports", at) >= (int)sizeof(path))
		return 0;
	dir = opendir(path);
	for (struct dirent *d; dir && !err && (d = readdir(dir));) {
		in->port = (uint32_t)strtoul(d->d_name, NULL, 10);
		if (in->port &&
		    snprintf(path, sizeof(path), "%s/ports/%u", at, in->port) < (int)sizeof(path))
			err = read_folders(counters, in, path);
	}
	if (dir)
		closedir(dir);
	return err;
}

static int read_device(struct device_counters *counters, const char *name)
{
	struct device_counter in = { .port = 0 };
	char path[PATH_MAX];

	if (name[0] == '.' || strlen(name) >= sizeof(in.device) ||
	    snprintf(path, sizeof(path), "%s/%s", counters->root, name) >= (int)sizeof(path))
		return 0;
	snprintf(in.device, sizeof(in.device), "%s", name);
	return read_folders(counters, &in, path) ?: read_ports(counters, &in, path);
}

static int compare_counters(const void *a, const void *b)
{
	const struct device_counter *x = a, *y = b;
	int order = strcmp(x->device, y->device);

	if (!order)
		order = x->port < y->port ? -1 : x->port > y->port;
	if (!order)
		order = strcmp(x->folder, y->folder);
	return order ? order : strcmp(x->name, y->name);
}

int device_counters_begin(struct device_counters *counters, const char *root)
{
	DIR *dir;
	int err = 0;

	*counters = (struct device_counters){ 0 };
	if (snprintf(counters->root, sizeof(counters->root), "%s", root) >=
	    (int)sizeof(counters->root))
		return 0;
	dir = opendir(root);
	for (struct dirent *d; dir && !err && (d = readdir(dir));)
		err = read_device(counters, d->d_name);
	if (dir)
		closedir(dir);
	if (counters->n)
		qsort(counters->all, counters->n, sizeof(*counters->all), compare_counters);
	return err;
}

static uint64_t first_of(const struct device_counters *counters, const struct device_counter *now)
{
	const struct device_counter *first =
		counters->n ? bsearch(now, counters->all, counters->n, sizeof(*counters->all),
				      compare_counters)
			    : NULL;

	return first ? first->value : 0;
}

static bool is_present(const struct device_counters *counters, const char *device)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", counters->root, device) >= (int)sizeof(path) ||
	       !access(path, F_OK);
}

/* Store which devices were removed: their counters are gone, and no event need have reported it. */
static int store_removed(const struct device_counters *counters, struct writer *writer)
{
	const char *before = "";
	int err = 0;

	for (size_t i = 0; i < counters->n && !err; i++) {
		const char *device = counters->all[i].device;

		if (strcmp(device, before) != 0 && !is_present(counters, device))
			err = writer_store_counter(writer, &(struct stored_counter){
								   .device = device,
								   .folder = COUNTER_OF_DEVICE,
								   .name = COUNTER_REMOVED,
								   .last = 1,
							   });
		before = device;
	}
	return err;
}

int device_counters_store(const struct device_counters *counters, struct writer *writer)
{
	struct device_counters now = { 0 };
	int err = counters->root[0] ? device_counters_begin(&now, counters->root) : 0;

	for (size_t i = 0; i < now.n && !err; i++) {
		const struct device_counter *c = &now.all[i];

		err = writer_store_counter(writer, &(struct stored_counter){
							   .device = c->device,
							   .port = c->port,
							   .folder = c->folder,
							   .name = c->name,
							   .first = first_of(counters, c),
							   .last = c->value,
						   });
	}
	if (!err)
		err = store_removed(counters, writer);
	device_counters_end(&now);
	return err;
}

/* The path of the file that add_counter() has read. */
static bool name_file(const struct device_counters *counters, const struct device_counter *c,
		      char path[PATH_MAX])
{
	int n = c->port ? snprintf(path, PATH_MAX, "%s/%s/ports/%u/%s/%s", counters->root,
				   c->device, c->port, c->folder, c->name)
			: snprintf(path, PATH_MAX, "%s/%s/%s/%s", counters->root, c->device,
				   c->folder, c->name);

	return n < PATH_MAX;
}

static int sample_counter(struct device_counters *counters, struct device_counter *c,
			  struct writer *writer, int64_t now)
{
	char path[PATH_MAX];
	uint64_t value;

	if (!name_file(counters, c, path) || read_value(path, &value) || value == c->seen)
		return 0;
	c->seen = value;
	return writer_store_counter_sample(writer, &(struct stored_counter_sample){
							   .device = c->device,
							   .port = c->port,
							   .folder = c->folder,
							   .name = c->name,
							   .time = now,
							   .value = value,
						   });
}

int device_counters_sample(struct device_counters *counters, struct writer *writer, int64_t now)
{
	enum { PART = 600 }; /* one sample a second, later one each 1/PART of the recorded time */
	int64_t pause = (now - counters->begun) / PART;
	int err = 0;

	if (now < counters->next)
		return 0;
	if (!counters->begun) {
		counters->begun = now;
		pause = 0;
	}
	counters->next = now + (pause > EACH ? pause : EACH);
	for (size_t i = 0; i < counters->n && !err; i++)
		err = sample_counter(counters, &counters->all[i], writer, now);
	return err;
}

int device_counters_restart(struct device_counters *counters)
{
	struct device_counters now = { 0 };
	int err = counters->root[0] ? device_counters_begin(&now, counters->root) : 0;

	if (err) {
		device_counters_end(&now);
		return err;
	}
	device_counters_end(counters);
	*counters = now;
	return 0;
}

void device_counters_end(struct device_counters *counters)
{
	free(counters->all);
	*counters = (struct device_counters){ 0 };
}

static int make_soft(const char *dir, char root[ROOT])
{
	const char *given = getenv(SOFT_COUNTERS);

	if (given && *given)
		return snprintf(root, ROOT, "%s", given) < ROOT ? 0 : -ENAMETOOLONG;
	if (snprintf(root, ROOT, "%s/" SESSION_COUNTERS, dir) >= ROOT)
		return log_err(-ENAMETOOLONG, "create %s/" SESSION_COUNTERS, dir);
	if (mkdir(root, 0700))
		return log_err(-errno, "create %s", root);
	return setenv(SOFT_COUNTERS, root, 1) ? log_err(-errno, "set " SOFT_COUNTERS) : 0;
}

int device_counters_start(struct device_counters *counters, bool soft, const char *session_dir)
{
	char root[ROOT] = DEVICE_SYSFS;
	int err = soft ? make_soft(session_dir, root) : 0;

	if (!err)
		err = device_counters_begin(counters, root);
	if (counters->refused)
		log_note("%zu counters of devices cannot be read by this user: the first is %s",
			 counters->refused, counters->refused_name);
	return err;
}
