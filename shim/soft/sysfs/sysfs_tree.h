#pragma once
/*
 * The device's sysfs tree: what programs see of it below /sys and /dev.
 *
 * A tree of files and links in a directory of the process represents it, made when the first of
 * these paths is used and removed when the process ends. Any thread, and signal handlers.
 */
#include <stdbool.h>
#include <sys/types.h>

enum { SYSFS_TREE_PATH = 512 };

/* May @path, or what it matches, be one of ours? Cheap; accepts NULL. */
bool sysfs_tree_watches(const char *path);

/* The path to use for @path: in our tree, stored in @buf; or @path itself. Keeps errno. */
const char *sysfs_tree_path(const char *path, char buf[SYSFS_TREE_PATH]);

/* The same for a path relative to the directory @dir, as openat(2) has it. */
const char *sysfs_tree_path_at(int dir, const char *path, char buf[SYSFS_TREE_PATH]);

/* Turn a path in our tree into the path that it represents, in place. */
char *sysfs_tree_strip(char *path);

/* Is this path in the tree the connection manager's device? */
bool sysfs_tree_is_cm(const char *to);

/* Does this file represent a device node? Returns its number, too. */
bool sysfs_tree_node(dev_t dev, ino_t ino, dev_t *ret_rdev);

/* Might it, judging by the inode's number? */
bool sysfs_tree_is_node(ino_t ino);

/* The number of the connection manager's device. Returns true. */
bool sysfs_tree_cm_node(dev_t *ret_rdev);

/* The process ends: remove the tree. */
void sysfs_tree_exit(void);
