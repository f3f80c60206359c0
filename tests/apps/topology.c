/*
 * Look for devices like communication libraries that need the nearest: by sysfs alone, then check
 * that libibverbs has the same.
 *
 * Prints a line per device: its name, its bus address, the type of its GID 1.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#define CLASS "/sys/class/infiniband"

static int is_known(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i, found = 0;

	for (i = 0; list && list[i]; i++)
		found |= !strcmp(ibv_get_device_name(list[i]), name);
	if (list)
		ibv_free_device_list(list);
	return found;
}

static int read_line(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "r");
	char *line;

	if (!file)
		return -1;
	line = fgets(text, size, file);
	fclose(file);
	if (!line)
		return -1;
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

static int show_device(const char *name)
{
	char path[PATH_MAX], type[64], numa[64], *device;

	snprintf(path, sizeof(path), CLASS "/%s/device", name);
	device = realpath(path, NULL);
	if (!device) {
		perror(path);
		return 1;
	}
	snprintf(path, sizeof(path), "%s/numa_node", device);
	if (read_line(path, numa, sizeof(numa)) < 0) {
		perror(path);
		return 1;
	}
	snprintf(path, sizeof(path), CLASS "/%s/ports/1/gid_attrs/types/1", name);
	if (read_line(path, type, sizeof(type)) < 0) {
		perror(path);
		return 1;
	}
	printf("%s %s node %s, %s\n", name, device, numa, type);
	free(device);
	return !is_known(name);
}

int main(void)
{
	DIR *dir = opendir(CLASS);
	struct dirent *entry;
	int status = 0, count = 0;

	if (!dir) {
		perror(CLASS);
		return 1;
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		status |= show_device(entry->d_name);
		count++;
	}
	closedir(dir);
	return status || !count;
}
