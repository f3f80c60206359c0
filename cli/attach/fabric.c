/*
 * Reads the shared memory of the software device from outside
 *
 *	/proc/PID/maps --> DIR/node.N.INSTANCE.0, the segments that it maps
 *	DIR/fabric     --> which of them is its own; which process has a queue pair number
 *	segment        --> queue pairs, CQs, SRQs, regions (shim/soft/fabric/shared.h)
 *
 * Files are read by pread(), not mapped: reading a hole through a mapping would allocate memory in
 * the file system, and a file that is truncated would raise SIGBUS. They are opened below the
 * process's own root, and refused if they are not the files that it has mapped.
 *
 * Outside of shim/soft, this and soft.c are the only files that know its layout; they use none of
 * its functions.
 */
#include "cli/attach/fabric.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/attach/target.h"
#include "core/base/proc_stat.h"
#include "core/base/read_file.h"
#include "core/base/vec.h"
#include "shim/soft/fabric/registry_file.h"
#include "shim/soft/fabric/shared.h"

enum { PAGE = 4096, AT_ONCE = 256 };

struct reader {
	const struct target *process;
	struct fabric *fabric;
	int segment, registry; /* descriptors, or -1 */
};

/* A file of the process, if it belongs to the same user; else -errno. */
static int open_file(const struct target *process, const char *path, struct stat *st)
{
	int fd = target_open(process, path, st);

	if (fd < 0 || st->st_uid == process->uid)
		return fd;
	close(fd);
	return -EPROTO;
}

static bool is_mapped_file(const struct stat *st, const struct target_map *map)
{
	return st->st_ino == map->inode && major(st->st_dev) == map->major &&
	       minor(st->st_dev) == map->minor;
}

static bool read_at(int fd, uint64_t at, void *to, size_t n)
{
	return pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

/* The part of a segment before its tables. */
static bool read_header(int fd, struct shm_seg *header)
{
	return read_at(fd, 0, header, offsetof(struct shm_seg, qp)) && header->magic == SHM_MAGIC &&
	       header->version == SHM_VERSION && header->node < NODE_MAX;
}

static bool read_node(const struct reader *reader, uint32_t node, struct node *ret)
{
	return node < NODE_MAX &&
	       read_at(reader->registry, offsetof(struct registry_file, node) + node * sizeof(*ret),
		       ret, sizeof(*ret));
}

static bool set_why(struct reader *reader, const char *why)
{
	snprintf(reader->fabric->why, sizeof(reader->fabric->why), "%s", why);
	return false;
}

static bool open_registry(struct reader *reader, const char *dir, int length)
{
	struct registry_file *header;
	char path[PATH_MAX];
	struct stat st;
	uint64_t head[2]; /* magic; version and made */

	if (reader->registry >= 0)
		return true;
	snprintf(path, sizeof(path), "%.*s/fabric", length, dir);
	reader->registry = open_file(reader->process, path, &st);
	if (reader->registry < 0)
		return set_why(reader, "the registry of its fabric cannot be opened");
	if (!read_at(reader->registry, 0, head, sizeof(head)) || head[0] != SHM_MAGIC ||
	    (uint32_t)head[1] != SHM_VERSION || (size_t)st.st_size < sizeof(*header))
		return set_why(reader, "its fabric is of another version of the software device");
	return true;
}

/* Is the segment with @header the process's own, and not that of a peer? */
static bool is_own(const struct reader *reader, const struct shm_seg *header)
{
	struct node node;

	return read_node(reader, header->node, &node) && node.instance == header->instance &&
	       node.pid == reader->process->inner_pid;
}

/* Is @path that of a segment: "DIR/node.N.INSTANCE.0"? Returns the length of DIR. */
static int match_segment(const char *path)
{
	const char *last = strrchr(path, '/');
	unsigned int node;
	uint64_t instance;
	int end = 0;

	if (!last || sscanf(last, "/node.%u.%" SCNu64 ".0%n", &node, &instance, &end) != 2 || !end)
		return 0;
	return last[end] ? 0 : (int)(last - path);
}

static bool open_segment_map(struct reader *reader, const struct target_map *map)
{
	static struct shm_seg header; /* 12 MB with its tables, of which the head is used */
	int dir = match_segment(map->path), fd;
	struct stat st;

	if (!dir || map->offset)
		return false;
	reader->fabric->joined = true;
	if (!open_registry(reader, map->path, dir))
		return false;
	fd = open_file(reader->process, map->path, &st);
	if (fd < 0)
		return set_why(reader, "its segment cannot be opened");
	if (!is_mapped_file(&st, map) || st.st_size < (off_t)sizeof(header) ||
	    !read_header(fd, &header) || !is_own(reader, &header)) {
		close(fd);
		return false;
	}
	reader->segment = fd;
	reader->fabric->node = header.node;
	reader->fabric->instance = header.instance;
	reader->fabric->mapped_at = map->start;
	snprintf(reader->fabric->path, sizeof(reader->fabric->path), "%s", map->path);
	reader->fabric->why[0] = '\0';
	return true;
}

static bool find_segment(struct reader *reader)
{
	for (size_t i = 0; i < reader->process->nmaps; i++)
		if (open_segment_map(reader, &reader->process->maps[i]))
			return true;
	if (reader->fabric->joined && !reader->fabric->why[0])
		set_why(reader, "its own segment is not mapped, only those of other processes");
	return false;
}

/* Tables */

typedef int visit_slot(struct reader *reader, uint32_t slot, const void *entry);

/* Visit the slots of a table at @at that are in memory: files are sparse. */
static int read_table(struct reader *reader, uint64_t at, size_t each, uint32_t n,
		      visit_slot *visit)
{
	uint8_t *buffer = malloc(each * AT_ONCE);
	int err = buffer ? 0 : -ENOMEM;
	uint64_t end = at + each * n;

	for (uint32_t slot = 0; !err && slot < n; slot += AT_ONCE) {
		off_t data = lseek(reader->segment, (off_t)(at + each * slot), SEEK_DATA);
		uint32_t count = n - slot < AT_ONCE ? n - slot : AT_ONCE;

		if (data < 0 || (uint64_t)data >= end)
			break;
		if ((uint64_t)data > at + each * slot)
			slot = (uint32_t)(((uint64_t)data - at) / each / AT_ONCE * AT_ONCE);
		count = n - slot < AT_ONCE ? n - slot : AT_ONCE;
		if (!read_at(reader->segment, at + each * slot, buffer, each * count))
			break;
		for (uint32_t i = 0; !err && i < count; i++)
			err = visit(reader, slot + i, buffer + each * i);
	}
	free(buffer);
	return err;
}

/* Positions only grow, and wrap around; values out of range are invalid. */
static struct fabric_rq describe_rq(const struct shm_rq *rq)
{
	uint32_t posted = rq->prod - rq->taken;

	return (struct fabric_rq){ posted <= rq->size ? posted : 0, rq->size };
}

static int add_qp(struct reader *reader, uint32_t slot, const void *entry)
{
	const struct shm_qp *shm = entry;
	struct fabric *fabric = reader->fabric;
	struct fabric_qp *qp;

	(void)slot;
	if (!shm->qpn)
		return 0;
	qp = vec_push(fabric->qps, fabric->nqps);
	if (!qp)
		return -ENOMEM;
	qp->qpn = shm->qpn;
	qp->state = shm->state;
	qp->type = shm->type;
	qp->dest_qpn = shm->dest_qpn;
	qp->pd = shm->pd;
	qp->recv_cq = shm->recv_cq;
	qp->shared = shm->srq;
	qp->rq = describe_rq(&shm->rq);
	return 0;
}

static uint32_t count_waiting(const struct shm_cq *shm)
{
	uint32_t waiting = shm->prod - shm->cons;

	return waiting <= shm->size ? waiting : 0;
}

static int add_cq(struct reader *reader, uint32_t slot, const void *entry)
{
	const struct shm_cq *shm = entry;
	struct fabric *fabric = reader->fabric;
	struct fabric_cq *cq;

	if (!shm->serial)
		return 0;
	cq = vec_push(fabric->cqs, fabric->ncqs);
	if (!cq)
		return -ENOMEM;
	*cq = (struct fabric_cq){
		.slot = slot,
		.size = shm->cqe,
		.waiting = count_waiting(shm),
		.armed = shm->armed,
		.events = shm->events,
		.channel = shm->flags & SHM_CQ_EVENTS,
		.overrun = shm->overrun,
	};
	return 0;
}

static int add_srq(struct reader *reader, uint32_t slot, const void *entry)
{
	const struct shm_srq *shm = entry;
	struct fabric *fabric = reader->fabric;
	struct fabric_srq *srq;

	if (!shm->serial)
		return 0;
	srq = vec_push(fabric->srqs, fabric->nsrqs);
	if (!srq)
		return -ENOMEM;
	*srq = (struct fabric_srq){ slot, describe_rq(&shm->rq) };
	return 0;
}

static int add_mr(struct reader *reader, uint32_t slot, const void *entry)
{
	const struct shm_mr *shm = entry;
	struct fabric *fabric = reader->fabric;
	struct fabric_mr *mr;

	(void)slot;
	if (!shm->lkey)
		return 0;
	mr = vec_push(fabric->mrs, fabric->nmrs);
	if (!mr)
		return -ENOMEM;
	*mr =
		(struct fabric_mr){ shm->lkey, shm->rkey, shm->access,
				    shm->pd,   shm->addr, shm->length };
	return 0;
}

static int read_tables(struct reader *reader)
{
	int err = read_table(reader, offsetof(struct shm_seg, qp), sizeof(struct shm_qp),
			     SHM_QP_MAX, add_qp);

	if (!err)
		err = read_table(reader, offsetof(struct shm_seg, cq), sizeof(struct shm_cq),
				 SHM_CQ_MAX, add_cq);
	if (!err)
		err = read_table(reader, offsetof(struct shm_seg, srq), sizeof(struct shm_srq),
				 SHM_SRQ_MAX, add_srq);
	if (!err)
		err = read_table(reader, offsetof(struct shm_seg, mr), sizeof(struct shm_mr),
				 SHM_MR_MAX, add_mr);
	return err;
}

/* Peers */

static bool process_lives(const struct node *node)
{
	struct proc_stat stat;

	return proc_stat_read((pid_t)node->pid, 0, &stat) && stat.state != 'Z' &&
	       stat.start == node->start;
}

/* The receive queue of @qp in the segment @fd, its own or a shared one. */
static void read_peer_rq(int fd, const struct shm_qp *qp, struct fabric_peer *peer)
{
	struct shm_srq srq;

	peer->shared = qp->srq;
	peer->rq = describe_rq(&qp->rq);
	if (qp->srq && qp->srq <= SHM_SRQ_MAX &&
	    read_at(fd, offsetof(struct shm_seg, srq) + (qp->srq - 1) * sizeof(srq), &srq,
		    sizeof(srq)))
		peer->rq = describe_rq(&srq.rq);
}

static void read_peer_qp(struct reader *reader, const struct registry_number *number,
			 const struct node *node, struct fabric_peer *peer)
{
	char path[PATH_MAX];
	const char *slash = strrchr(reader->fabric->path, '/');
	struct shm_qp qp;
	struct shm_cq cq;
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%.*s/node.%u.%" PRIu64 ".0",
		 (int)(slash - reader->fabric->path), reader->fabric->path, number->node,
		 node->instance);
	fd = open_file(reader->process, path, &st);
	if (fd < 0)
		return;
	if (number->slot < SHM_QP_MAX &&
	    read_at(fd, offsetof(struct shm_seg, qp) + number->slot * sizeof(qp), &qp,
		    sizeof(qp)) &&
	    qp.qpn == number->value) {
		peer->seen = true;
		peer->state = qp.state;
		peer->dest_qpn = qp.dest_qpn;
		read_peer_rq(fd, &qp, peer);
		if (qp.recv_cq < SHM_CQ_MAX &&
		    read_at(fd, offsetof(struct shm_seg, cq) + qp.recv_cq * sizeof(cq), &cq,
			    sizeof(cq)))
			peer->completions = count_waiting(&cq);
	}
	close(fd);
}

/* Read the queue pair with number @qpn, which has a fixed place in the registry. */
static void find_peer(struct reader *reader, uint32_t qpn, struct fabric_peer *peer)
{
	struct registry_number number;
	uint64_t at = offsetof(struct registry_file, number) +
		      (uint64_t)(qpn % REGISTRY_NUMBERS) * sizeof(number);
	struct node node;

	if (!read_at(reader->registry, at, &number, sizeof(number)) || number.value != qpn ||
	    number.kind != REGISTRY_QP || !read_node(reader, number.node, &node) || node.pid <= 0)
		return;
	peer->known = true;
	peer->pid = node.pid;
	/* numbers of processes in another namespace mean nothing here */
	peer->ended = reader->process->pid == reader->process->inner_pid && !process_lives(&node);
	read_peer_qp(reader, &number, &node, peer);
}

int fabric_read(const struct target *process, struct fabric *ret_fabric)
{
	struct reader reader = { process, ret_fabric, -1, -1 };
	int err = 0;

	*ret_fabric = (struct fabric){ 0 };
	if (find_segment(&reader))
		err = read_tables(&reader);
	for (size_t i = 0; !err && i < ret_fabric->nqps; i++)
		if (ret_fabric->qps[i].dest_qpn)
			find_peer(&reader, ret_fabric->qps[i].dest_qpn, &ret_fabric->qps[i].peer);
	if (reader.segment >= 0)
		close(reader.segment);
	if (reader.registry >= 0)
		close(reader.registry);
	if (err)
		fabric_fini(ret_fabric);
	return err;
}

void fabric_fini(struct fabric *fabric)
{
	free(fabric->qps);
	free(fabric->cqs);
	free(fabric->srqs);
	free(fabric->mrs);
	*fabric = (struct fabric){ 0 };
}

const struct fabric_qp *fabric_qp_find(const struct fabric *fabric, uint32_t qpn)
{
	for (size_t i = 0; i < fabric->nqps; i++)
		if (fabric->qps[i].qpn == qpn)
			return &fabric->qps[i];
	return NULL;
}

const struct fabric_cq *fabric_cq_find(const struct fabric *fabric, uint32_t slot)
{
	for (size_t i = 0; i < fabric->ncqs; i++)
		if (fabric->cqs[i].slot == slot)
			return &fabric->cqs[i];
	return NULL;
}

uint64_t fabric_pinned(const struct fabric *fabric)
{
	uint64_t pinned = 0;

	for (size_t i = 0; i < fabric->nmrs; i++) {
		const struct fabric_mr *mr = &fabric->mrs[i];

		if (mr->length && !(mr->access & (IBV_ACCESS_ON_DEMAND | SHM_MR_NULL)))
			pinned += ((mr->addr + mr->length - 1) / PAGE - mr->addr / PAGE + 1) * PAGE;
	}
	return pinned;
}
