#pragma once
/*
 * A directory for the software device of one command alone. One thread.
 */

enum { FABRIC_PATH = 96 };

struct fabric {
	char path[FABRIC_PATH];
	int lock; /* the directory, locked while its maker lives */
};

/*
 * Make one in @parent, normally "/dev/shm", and remove those of commands that
 * were killed. Returns 0 or -errno.
 */
int fabric_make(const char *parent, struct fabric *ret_fabric);

/* Remove it with all that is in it. */
void fabric_remove(struct fabric *fabric);
