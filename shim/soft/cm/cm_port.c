/*
 * Ports and their owners
 *
 * One file that all processes map, DIR/cm:
 *
 *	+------+---------+---------+- - -
 *	| high | entry 0 | entry 1 |
 *	+------+---------+---------+- - -
 *
 * It changes under a record lock of fcntl(2), which the kernel drops when the process ends, even if
 * a child of it lives. Entries of a killed process remain; they are ignored if they would conflict.
 * The file is removed with the fabric (registry.c).
 *
 * Conflicts are the same as in the kernel's rdma_cm: two owners of one port must have different
 * addresses, or both must have requested reuse; a listener must be the only owner in any case.
 */
#include "shim/soft/cm/cm_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/soft/fabric/directory.h"
#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/registry.h"

enum {
	PORTS = 16384,
	FIRST_PORT = 32768, /* the first port that is chosen automatically */
	LAST_PORT = 60999,
};

struct port_table {
	uint32_t high; /* entries from this index on were never used */
	struct cm_port port[PORTS];
};

/* needed since the lock of the file is per process */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct port_table *table;
static int fd = -1;

static int map_table(void)
{
	char path[DIRECTORY_FILE];
	int err;

	if (table)
		return 0;
	snprintf(path, sizeof(path), "%s/cm", directory_path());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, sizeof(*table)) < 0)
		goto fail;
	table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (table == MAP_FAILED) {
		table = NULL;
		goto fail;
	}
	madvise(table, sizeof(*table), MADV_DONTFORK);
	return 0;

fail:
	err = -errno;
	close(fd);
	fd = -1;
	return err;
}

static int lock_file(void)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int err = map_table();

	if (err < 0)
		return err;
	while (fcntl(fd, F_SETLKW, &whole) < 0) {
		/* a wrong EDEADLK: see registry.c */
		if (errno != EINTR && errno != EDEADLK)
			return -errno;
		sched_yield();
	}
	return 0;
}

static int lock_table(void)
{
	int err;

	pthread_mutex_lock(&mutex);
	err = lock_file();
	if (err < 0)
		pthread_mutex_unlock(&mutex);
	return err;
}

static void unlock_table(void)
{
	struct flock whole = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	fcntl(fd, F_SETLK, &whole);
	pthread_mutex_unlock(&mutex);
}

static uint32_t first_unused(void)
{
	return table->high < PORTS ? table->high : PORTS;
}

static bool owner_lives(const struct cm_port *port)
{
	return node_has(port->owner.node, port->owner.instance);
}

static bool do_overlap(const struct cm_port *a, const struct cm_port *b)
{
	if (a->addr.family != b->addr.family)
		return (cm_addr_is_any(&a->addr) && !a->afonly) ||
		       (cm_addr_is_any(&b->addr) && !b->afonly);
	return cm_addr_is_any(&a->addr) || cm_addr_is_any(&b->addr) ||
	       cm_addr_has_same_ip(&a->addr, &b->addr);
}

/* Does another owner conflict with @want? With @reuse, owners that reuse the port do not. */
static bool do_conflict(const struct cm_port *want, bool reuse)
{
	struct cm_port *have;

	for (have = table->port; have < table->port + first_unused(); have++) {
		if (have == want || have->ps != want->ps || have->addr.port != want->addr.port ||
		    (reuse && have->reuse) || !do_overlap(have, want))
			continue;
		if (owner_lives(have))
			return true;
		have->ps = 0;
	}
	return false;
}

static int choose_port(struct cm_port *want)
{
	uint32_t span = LAST_PORT - FIRST_PORT + 1, start = 0, n;

	if (getrandom(&start, sizeof(start), 0) < 0)
		start = want->owner.serial;
	for (n = 0; n < span; n++) {
		want->addr.port = htons(FIRST_PORT + (start + n) % span);
		if (!do_conflict(want, false))
			return 0;
	}
	return -EADDRNOTAVAIL;
}

static struct cm_port *free_entry(void)
{
	uint32_t i;

	for (i = 0; i < first_unused(); i++)
		if (!table->port[i].ps)
			return &table->port[i];
	if (i < PORTS) {
		table->high = i + 1;
		return &table->port[i];
	}
	for (i = 0; i < PORTS; i++)
		if (!owner_lives(&table->port[i]))
			return &table->port[i];
	return NULL;
}

static int add_port_entry(struct cm_port *want, uint32_t *ret_slot)
{
	struct cm_port *entry;
	int err = 0;

	if (!want->addr.port)
		err = choose_port(want);
	else if (do_conflict(want, want->reuse))
		err = -EADDRINUSE;
	if (err < 0)
		return err;
	entry = free_entry();
	if (!entry)
		return -EADDRNOTAVAIL;
	*entry = *want;
	*ret_slot = entry - table->port;
	return 0;
}

int cm_port_bind(struct cm_port *want, uint32_t *ret_slot)
{
	int err = lock_table();

	if (err < 0)
		return err;
	err = add_port_entry(want, ret_slot);
	unlock_table();
	return err;
}

static struct cm_port *find_own(uint32_t slot, const struct cm_name *owner)
{
	struct cm_port *port = &table->port[slot % PORTS];

	return port->ps && port->owner.serial == owner->serial && port->owner.node == owner->node &&
			       port->owner.instance == owner->instance
		       ? port
		       : NULL;
}

void cm_port_release(uint32_t slot, const struct cm_name *owner)
{
	struct cm_port *port;

	if (lock_table() < 0)
		return;
	port = find_own(slot, owner);
	if (port)
		port->ps = 0;
	unlock_table();
}

void cm_port_share(uint32_t slot, const struct cm_name *owner, bool reuse, bool afonly)
{
	struct cm_port *port;

	if (lock_table() < 0)
		return;
	port = find_own(slot, owner);
	if (port) {
		port->reuse = reuse;
		port->afonly = afonly;
	}
	unlock_table();
}

int cm_port_listen(uint32_t slot, const struct cm_name *owner, uint32_t backlog)
{
	struct cm_port *port;
	int err = lock_table();

	if (err < 0)
		return err;
	port = find_own(slot, owner);
	if (!port)
		err = -EINVAL;
	else if (do_conflict(port, false))
		err = -EADDRINUSE;
	else
		port->backlog = backlog;
	unlock_table();
	return err;
}

static bool is_listener_for(const struct cm_port *port, const struct cm_addr *addr)
{

	return port->backlog && port->addr.port == addr->port &&
	       (cm_addr_has_same_ip(&port->addr, addr) ||
		(cm_addr_is_any(&port->addr) &&
		 (!port->afonly || port->addr.family == addr->family)));
}

/* Find the listener: preferably one at this exact address, else one at all addresses. */
static struct cm_port *find_listener(uint16_t ps, const struct cm_addr *addr)
{
	struct cm_port *port, *found = NULL;

	for (port = table->port; port < table->port + first_unused(); port++)
		if (port->ps == ps && is_listener_for(port, addr) && owner_lives(port) &&
		    (!found || !cm_addr_is_any(&port->addr)))
			found = port;
	return found;
}

int cm_port_request(uint16_t ps, const struct cm_addr *addr,
		    int (*send)(const struct cm_name *to, void *arg), void *arg)
{
	struct cm_port *port;
	int err = lock_table();

	if (err < 0)
		return err;
	port = find_listener(ps, addr);
	if (!port)
		err = -ENOENT;
	else if (port->waiting >= port->backlog)
		err = -ENOSPC;
	else
		err = send(&port->owner, arg);
	if (!err)
		port->waiting++;
	unlock_table();
	return err;
}

void cm_port_note_accepted(uint32_t slot, const struct cm_name *owner)
{
	struct cm_port *port;

	if (lock_table() < 0)
		return;
	port = find_own(slot, owner);
	if (port && port->waiting)
		port->waiting--;
	unlock_table();
}

void cm_port_close(void)
{
	pthread_mutex_lock(&mutex);
	if (table)
		munmap(table, sizeof(*table));
	if (fd >= 0)
		close(fd);
	table = NULL;
	fd = -1;
	pthread_mutex_unlock(&mutex);
}

/* In a child: forget the table, which is not mapped there (MADV_DONTFORK). */
void cm_port_forget(void)
{
	pthread_mutex_init(&mutex, NULL);
	table = NULL;
	fd = -1;
}
