/*
 * What the device's faces below /sys and /dev show
 */
#include "shim/soft/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const sysfs_paths[SYSFS_PATHS] = {
	"/sys/class/infiniband",
	"/sys/class/infiniband_verbs",
	"/sys/class/misc/rdma_cm",
	"/dev/infiniband",
};

/* As the kernel numbers them: IB_UVERBS_MAJOR, a dynamic misc device. */
const struct sysfs_node sysfs_nodes[SYSFS_NODES] = {
	[SYSFS_UVERBS]	= { "/dev/infiniband/uverbs0", 231, 192 },
	[SYSFS_CM]	= { "/dev/infiniband/rdma_cm", 10, 58 },
};

/* What is being made; the first error stays. */
struct tree {
	int	root;
	int	err;
};

static int make_parents(int root, const char *path)
{
	char dir[256];
	size_t i;

	for (i = 1; path[i] && i < sizeof(dir); i++) {
		if (path[i] != '/')
			continue;
		memcpy(dir, path, i);
		dir[i] = '\0';
		if (mkdirat(root, dir, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

int sysfs_put(int root, const char *path, const char *text, size_t len)
{
	int err = make_parents(root, path);
	int fd;

	if (err)
		return err;
	fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len)
		err = errno ? -errno : -ENOSPC;
	close(fd);
	return err;
}

__attribute__((format(printf, 3, 4)))
static void put(struct tree *tree, const char *path, const char *format, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (!tree->err)
		tree->err = sysfs_put(tree->root, path, text, n);
}

static void put_dev(struct tree *tree, const char *path,
		    const struct sysfs_node *node)
{
	put(tree, path, "%u:%u\n", node->major, node->minor);
}

static void put_cm(struct tree *tree)
{
	put_dev(tree, "sys/class/misc/rdma_cm/dev", &sysfs_nodes[SYSFS_CM]);
	put(tree, "sys/class/misc/rdma_cm/abi_version", "4\n");
}

int sysfs_make(int root)
{
	struct tree tree = { .root = root };
	unsigned int i;

	for (i = 0; i < SYSFS_NODES; i++)
		put(&tree, sysfs_nodes[i].path + 1, "%s", "");
	put_cm(&tree);
	return tree.err;
}
