/*
 * XRC domains: the verbs for them
 *
 * A shared domain belongs to a file, identified by its inode, not its name. A descriptor of the
 * file stays open, so that no other file gets its inode while the domain is open.
 */

#include "shim/soft/verbs/xrcd.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/xrc.h"
#include "shim/soft/verbs/enter.h"

static struct soft_xrcd *list; /* protected by the object mutex */

static int check_attr(struct ibv_context *context, const struct ibv_xrcd_init_attr *attr)
{
	uint32_t must = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;

	int err;

	err = soft_enter(context, "open_xrcd");
	if (err)
		return -err;
	if (attr->comp_mask & ~must)
		return -EOPNOTSUPP;
	if ((attr->comp_mask & must) != must || attr->oflags & ~(O_CREAT | O_EXCL))
		return -EINVAL;
	return 0;
}

static int open_inode(struct soft_xrcd *xrcd, int fd, struct stat *st)
{
	xrcd->fd = -1;
	memset(st, 0, sizeof(*st));
	if (fd == -1)
		return 0;
	if (fstat(fd, st) < 0)
		return -errno;
	xrcd->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return xrcd->fd < 0 ? -errno : 0;
}

static int open_domain(struct soft_xrcd *xrcd, int fd, int oflags)
{
	struct shm_holder holder = {
		.instance = node_self.instance,
		.node = node_self.node,
		.serial = soft_serial(),
	};
	struct stat st;
	int err;

	err = open_inode(xrcd, fd, &st);
	if (err < 0)
		return err;
	xrcd->serial = holder.serial;
	err = xrc_open_domain(st.st_dev, st.st_ino, oflags, &holder, &xrcd->id);
	if (err < 0 && xrcd->fd >= 0)
		close(xrcd->fd);
	return err;
}

struct ibv_xrcd *soft_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	struct soft_xrcd *xrcd;
	int err;

	err = check_attr(context, attr);
	if (err < 0)
		return soft_fail(err);
	xrcd = calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return soft_fail(ENOMEM);
	xrcd->xrcd.context = context;
	err = open_domain(xrcd, attr->fd, attr->oflags);
	if (err < 0) {
		free(xrcd);
		return soft_fail(err);
	}
	pthread_mutex_lock(&soft_mutex);
	xrcd->next = list;
	list = xrcd;
	pthread_mutex_unlock(&soft_mutex);
	return &xrcd->xrcd;
}

static void unlist_xrcd(struct soft_xrcd *xrcd)
{
	struct soft_xrcd **p;

	for (p = &list; *p; p = &(*p)->next)
		if (*p == xrcd) {
			*p = xrcd->next;
			return;
		}
}

/* Callers hold the object mutex. */
static void withdraw_xrcd(struct soft_xrcd *xrcd)
{
	unlist_xrcd(xrcd);
	xrc_close_domain(xrcd->id, xrcd->serial);
	if (xrcd->fd >= 0)
		close(xrcd->fd);
}

int soft_close_xrcd(struct ibv_xrcd *ibxrcd)
{
	struct soft_xrcd *xrcd = to_xrcd(ibxrcd);
	int err;

	err = soft_enter(ibxrcd->context, "close_xrcd");
	if (err)
		return err;
	pthread_mutex_lock(&soft_mutex);
	if (xrcd->refs)
		err = EBUSY;
	else
		withdraw_xrcd(xrcd);
	pthread_mutex_unlock(&soft_mutex);
	if (!err)
		free(xrcd);
	return err;
}

void xrcd_close_all(struct ibv_context *context)
{
	struct soft_xrcd *xrcd, *next;

	pthread_mutex_lock(&soft_mutex);
	for (xrcd = list; xrcd; xrcd = next) {
		next = xrcd->next;
		if (xrcd->xrcd.context == context)
			withdraw_xrcd(xrcd);
	}
	pthread_mutex_unlock(&soft_mutex);
}

void xrcd_forget(void)
{
	list = NULL;
}
