/*
 * Opening and closing the device
 *
 * Every function pointer of verbs_context is set, so that a program that calls an unsupported verb
 * gets EOPNOTSUPP and does not jump to NULL. Programs and tracers may replace the pointers; the
 * library never calls through them.
 *
 * A forked child has no objects: process_epoch() differs from the epoch of the inherited contexts,
 * and its first ibv_open_device() starts with an empty state.
 */
#include "shim/soft/verbs/context.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/soft/fabric/fabric.h"
#include "shim/soft/fabric/pipe.h"
#include "shim/soft/fabric/port.h"
#include "shim/soft/fabric/port_counters.h"
#include "shim/soft/fabric/profile.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/fabric/uplink.h"
#include "shim/soft/network/network.h"
#include "shim/soft/transport/fault.h"
#include "shim/soft/transport/latency.h"
#include "shim/soft/transport/retry_timeout.h"
#include "shim/soft/transport/pending.h"
#include "shim/soft/transport/window.h"
#include "shim/soft/verbs/advise.h"
#include "shim/soft/verbs/comp_cntr.h"
#include "shim/soft/verbs/counters.h"
#include "shim/soft/verbs/dead.h"
#include "shim/soft/verbs/cq.h"
#include "shim/soft/verbs/create_qp.h"
#include "shim/soft/verbs/device.h"
#include "shim/soft/verbs/dm.h"
#include "shim/soft/verbs/domain.h"
#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/flow.h"
#include "shim/soft/verbs/land.h"
#include "shim/soft/verbs/mr.h"
#include "shim/soft/verbs/mw.h"
#include "shim/soft/verbs/pd.h"
#include "shim/soft/verbs/poll.h"
#include "shim/soft/verbs/post.h"
#include "shim/soft/verbs/qp.h"
#include "shim/soft/verbs/query_port.h"
#include "shim/soft/verbs/recv.h"
#include "shim/soft/verbs/srq.h"
#include "shim/soft/verbs/unsupported.h"
#include "shim/soft/verbs/wq.h"
#include "shim/soft/verbs/xrc_qp.h"
#include "shim/soft/verbs/xrcd.h"

#define MAGIC "Verbatim's context"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned int contexts;
static struct soft_context *closed; /* closed, but other contexts have their file open */

/* In a child, before it uses the device itself: forget inherited objects. */
static void forget_inherited(void)
{
	pthread_mutex_init(&soft_mutex, NULL);
	pthread_mutex_init(&soft_contexts_mutex, NULL);
	soft_contexts = NULL;
	pending_forget();
	copy_thread_forget();
	network_forget();
	fault_unload();
	latency_unload();
	xrcd_forget();
	fabric_forget();
	flow_forget();
	comp_cntr_forget();
	dm_forget();
	pd_forget();
	closed = NULL;
	if (!contexts)
		return;
	contexts = 0;
	memset(soft_qps, 0, sizeof(soft_qps));
	memset(soft_cqs, 0, sizeof(soft_cqs));
	memset(soft_srqs, 0, sizeof(soft_srqs));
	memset(soft_mrs, 0, sizeof(soft_mrs));
	window_forget();
}

/* Let peers write to this process: by default, Yama lets only parents do this. */
static void allow_peers(void)
{
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	char scope = '0';

	if (fd < 0)
		return;
	if (read(fd, &scope, 1) == 1 && scope == '1')
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	close(fd);
}

static int begin_use(void)
{
	int err;

	if (!process_epoch()) {
		forget_inherited();
		err = process_new_epoch();
		if (err < 0)
			return err;
	}
	err = fabric_join();
	if (err < 0)
		return err;
	err = contexts ? 0 : fault_load(fabric_process());
	if (!err)
		err = latency_load();
	if (err < 0) {
		fabric_leave();
		return err;
	}
	retry_timeout_load_lag();
	if (!contexts++) {
		retry_timeout_load();
		allow_peers();
		port_publish();
		port_counters_publish();
	}
	return 0;
}

int soft_join(void)
{
	int err;

	pthread_mutex_lock(&mutex);
	err = begin_use();
	pthread_mutex_unlock(&mutex);
	return err;
}

static void end_use(void)
{
	if (!--contexts) {
		network_stop();
		copy_thread_stop();
	}
	fabric_leave();
}

void soft_leave(void)
{
	pthread_mutex_lock(&mutex);
	end_use();
	pthread_mutex_unlock(&mutex);
}

static void fill_ops(struct ibv_context_ops *ops)
{
	ops->alloc_mw = soft_alloc_mw;
	ops->bind_mw = soft_bind_mw;
	ops->dealloc_mw = soft_dealloc_mw;
	ops->poll_cq = soft_poll_cq;
	ops->req_notify_cq = soft_req_notify_cq;
	ops->post_send = soft_post_send;
	ops->post_recv = soft_post_recv;
	ops->post_srq_recv = soft_post_srq_recv;
}

static void fill_verbs(struct verbs_context *verbs)
{
	verbs->sz = sizeof(*verbs);
	unsupported_init(verbs);
	verbs->query_port = soft_query_port;
	verbs->query_device_ex = soft_query_device_ex;
	verbs->query_rt_values = soft_query_rt_values;
	verbs->create_wq = soft_create_wq;
	verbs->modify_wq = soft_modify_wq;
	verbs->destroy_wq = soft_destroy_wq;
	verbs->create_rwq_ind_table = soft_create_rwq_ind_table;
	verbs->destroy_rwq_ind_table = soft_destroy_rwq_ind_table;
	verbs->ibv_create_flow = soft_create_flow;
	verbs->ibv_destroy_flow = soft_destroy_flow;
	verbs->create_counters = soft_create_counters;
	verbs->destroy_counters = soft_destroy_counters;
	verbs->attach_counters_point_flow = soft_attach_counters_point_flow;
	verbs->read_counters = soft_read_counters;
	verbs->alloc_td = soft_alloc_td;
	verbs->dealloc_td = soft_dealloc_td;
	verbs->alloc_parent_domain = soft_alloc_parent_domain;
	verbs->alloc_dm = soft_alloc_dm;
	verbs->free_dm = soft_free_dm;
	verbs->reg_dm_mr = soft_reg_dm_mr;
	verbs->alloc_null_mr = soft_alloc_null_mr;
	verbs->advise_mr = soft_advise_mr;
	verbs->create_cq_ex = soft_create_cq_ex;
	verbs->modify_cq = soft_modify_cq;
	verbs->create_qp_ex = soft_create_qp_ex;
	verbs->create_srq_ex = soft_create_srq_ex;
	verbs->get_srq_num = soft_get_srq_num;
	verbs->post_srq_ops = soft_post_srq_ops;
	verbs->open_xrcd = soft_open_xrcd;
	verbs->close_xrcd = soft_close_xrcd;
	verbs->open_qp = soft_open_qp;
	verbs->modify_qp_rate_limit = soft_modify_qp_rate_limit;
	fill_ops(&verbs->context.ops);
}

/*
 * Create the command file of a context. A program may duplicate its descriptor and import it: the
 * inode then identifies the context. By MAGIC another process recognises a file of this device.
 */
static int make_file(void)
{
	int fd = memfd_create("verbatim-context", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (write(fd, MAGIC, sizeof(MAGIC)) < 0) {
		close(fd);
		return -EIO;
	}
	return fd;
}

static bool is_file_of_ours(int fd)
{
	char have[sizeof(MAGIC)];

	return pread(fd, have, sizeof(have), 0) == sizeof(have) &&
	       !memcmp(have, MAGIC, sizeof(have));
}

/* Fill in a context. Takes ownership of @cmd_fd. */
static int fill_context(struct soft_context *context, int cmd_fd)
{
	struct ibv_context *ibv = &context->verbs.context;
	struct stat st;

	ibv->async_fd = pipe_open(&context->async);
	if (ibv->async_fd < 0)
		return ibv->async_fd;
	ibv->cmd_fd = cmd_fd;
	context->file = fstat(cmd_fd, &st) < 0 ? 0 : st.st_ino;
	ibv->device = device_soft;
	ibv->num_comp_vectors = profile_get()->num_comp_vectors;
	ibv->abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&ibv->mutex, NULL);
	context->epoch = process_epoch();
	fill_verbs(&context->verbs);
	return 0;
}

static void list_context(struct soft_context *context)
{
	pthread_mutex_lock(&soft_contexts_mutex);
	context->next = soft_contexts;
	soft_contexts = context;
	pthread_mutex_unlock(&soft_contexts_mutex);
}

static void unlist_context(struct soft_context *context)
{
	struct soft_context **p = &soft_contexts;

	pthread_mutex_lock(&soft_contexts_mutex);
	while (*p != context)
		p = &(*p)->next;
	*p = context->next;
	pthread_mutex_unlock(&soft_contexts_mutex);
}

static int open_context_locked(const char *verb, struct soft_context *context, int cmd_fd)
{
	int err = profile_check();

	if (!err)
		err = uplink_check();
	if (!err)
		err = begin_use();
	if (err < 0)
		return err;
	err = fault_is_any() ? -enter_apply_fault(verb) : 0;
	if (!err)
		err = fill_context(context, cmd_fd);
	if (err < 0) {
		end_use();
		return err;
	}
	list_context(context);
	return 0;
}

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct soft_context *context;
	int cmd_fd, err;

	if (device != device_soft)
		return soft_fail(ENODEV);
	context = calloc(1, sizeof(*context));
	if (!context)
		return soft_fail(ENOMEM);
	cmd_fd = err = make_file();
	if (cmd_fd >= 0) {
		pthread_mutex_lock(&mutex);
		err = open_context_locked("open_device", context, cmd_fd);
		pthread_mutex_unlock(&mutex);
		if (err < 0)
			close(cmd_fd);
	}
	if (err < 0) {
		free(context);
		return soft_fail(err);
	}
	return &context->verbs.context;
}

/* Has this process itself opened a context of that file that is still open? */
static bool is_open(uint64_t file)
{
	struct soft_context *c;

	pthread_mutex_lock(&soft_contexts_mutex);
	for (c = soft_contexts; c; c = c->next)
		if (c->file == file && soft_ours(&c->verbs.context))
			break;
	pthread_mutex_unlock(&soft_contexts_mutex);
	return c;
}

static int import_context_locked(int cmd_fd, struct soft_context *context)
{
	struct stat st;

	if (fstat(cmd_fd, &st) < 0)
		return -EINVAL;
	if (!is_file_of_ours(cmd_fd))
		return S_ISCHR(st.st_mode) ? -ENODEV : -EINVAL;
	if (!is_open(st.st_ino))
		return -EOPNOTSUPP; /* it belongs to another process: see import.c */
	return open_context_locked("import_device", context, cmd_fd);
}

EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct soft_context *context = calloc(1, sizeof(*context));
	int err;

	if (!context)
		return soft_fail(ENOMEM);
	pthread_mutex_lock(&mutex);
	err = import_context_locked(cmd_fd, context);
	pthread_mutex_unlock(&mutex);
	if (err < 0) {
		free(context);
		return soft_fail(err);
	}
	return &context->verbs.context;
}

/* Destroy the objects that the program has left, but do not free their structures. */
static void close_objects(struct ibv_context *context)
{
	flow_close_all(context);
	qp_close_all(context);
	comp_cntr_close_all(context);
	srq_close_all(context);
	window_close_all(context);
	xrcd_close_all(context);
	mr_close_all(context);
	cq_close_all(context);
	dm_close_all(context);
	pd_close_all(context);
}

/* The last context of a file is closed: destroy the objects of all contexts of this file. */
static void close_file(uint64_t file)
{
	struct soft_context **p = &closed, *c;

	for (c = closed; c; c = c->next)
		if (c->file == file)
			close_objects(&c->verbs.context);
	while ((c = *p)) {
		if (c->file != file) {
			p = &c->next;
			continue;
		}
		*p = c->next;
		pthread_mutex_destroy(&c->verbs.context.mutex);
		dead_retain_context(c);
	}
}

EXPORT int ibv_close_device(struct ibv_context *context)
{
	struct soft_context *soft = to_context(context);
	int err;

	err = soft_enter(context, "close_device");
	if (err)
		return err;
	pthread_mutex_lock(&mutex);
	unlist_context(soft);
	soft->next = closed;
	closed = soft;
	pipe_close(context->async_fd, soft->async);
	close(context->cmd_fd);
	if (!is_open(soft->file))
		close_file(soft->file);
	end_use();
	pthread_mutex_unlock(&mutex);
	return 0;
}

static void fork_prepare(void)
{
	pthread_mutex_lock(&mutex);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&mutex);
}

static void fork_child(void)
{
	pthread_mutex_init(&mutex, NULL);
}

__attribute__((constructor)) static void init_fork(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

/* At exit with open contexts: remove this process's files, but unmap nothing. */
__attribute__((destructor)) static void leave_at_exit(void)
{
	if (contexts && process_epoch())
		fabric_exit();
}
