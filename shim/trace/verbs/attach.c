/*
 * Bringing the recorder into a running program, and removing it
 *
 *	verbatim_attach_begin     join the session; write the objects that exist as calls that made
 *	                          them; replace pointers of contexts and of objects, import slots
 *	verbatim_attach_end       restore all of these; no thread begins an event any more
 *	verbatim_attach_release   unmap rings and session
 *
 * `verbatim attach --record` makes a thread of the program call these functions, with all signals
 * blocked. That thread holds no lock; other threads run meanwhile. Between the last two calls the
 * command finds the threads that are inside a verb: their rings stay mapped, and so does the
 * session.
 *
 * Existing objects are written between two marks, in the states that the device reports.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/wire/attach.h"
#include "shim/trace/base/private_stack.h"
#include "shim/trace/base/next.h"
#include "shim/trace/base/peek.h"
#include "shim/trace/base/undo.h"
#include "shim/trace/interpose/exports.h"
#include "shim/trace/objects/descriptors.h"
#include "shim/trace/process/join.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/ring/rings.h"
#include "shim/trace/stack/modules.h"
#include "shim/trace/verbs/call.h"
#include "shim/trace/verbs/qp_ex.h"
#include "shim/trace/verbs/wrappers.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void verbatim_attach_begin(struct attach_request *request);
EXPORTED void verbatim_attach_end(struct attach_request *request);
EXPORTED void verbatim_attach_release(struct attach_request *request);
extern void verbatim_record_mark(int kind, const char *text);

/* Writing existing objects as calls */

static void write_call(enum verb verb, const uint64_t *args, const void *result)
{
	struct call call = { .args = args };

	if (!record_ready())
		return;
	call_write_begin(&call, verb);
	errno = 0;
	call_write_end(&call, (uint64_t)(uintptr_t)result);
}

#define WRITE(verb, result, ...) write_call(verb, (const uint64_t[]){ __VA_ARGS__, 0 }, result)
#define WORD(x)                  ((uint64_t)(uintptr_t)(x))

static void write_context(struct ibv_context *context)
{
	descriptors_add(context, context->cmd_fd);
	descriptors_add(context, context->async_fd);
	WRITE(VERB_open_device, context, WORD(context->device));
}

/* Objects on which other objects depend, each once. */
struct needed_objects {
	const void **all;
	size_t n;
};

static bool note_if_first(struct needed_objects *needed, const void *object)
{
	for (size_t i = 0; i < needed->n; i++)
		if (needed->all[i] == object)
			return false;
	needed->all[needed->n++] = object;
	return true;
}

static void write_pd(struct needed_objects *needed, struct ibv_pd *pd)
{
	if (pd && note_if_first(needed, pd))
		WRITE(VERB_alloc_pd, pd, WORD(pd->context));
}

static void write_mr(struct needed_objects *needed, struct ibv_mr *mr)
{
	/*
	 * the access rights are not known: assume all, so that no use of the region is taken for an
	 * error
	 */
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	write_pd(needed, mr->pd);
	WRITE(VERB_reg_mr, mr, WORD(mr->pd), WORD(mr->addr), mr->length, (uint64_t)access);
}

static void write_cq(struct needed_objects *needed, struct ibv_cq *cq)
{
	if (!note_if_first(needed, cq))
		return;
	if (cq->channel && note_if_first(needed, cq->channel))
		WRITE(VERB_create_comp_channel, cq->channel, WORD(cq->context));
	WRITE(VERB_create_cq, cq, WORD(cq->context), (uint64_t)cq->cqe, WORD(cq->cq_context),
	      WORD(cq->channel), 0);
}

static void write_srq(struct needed_objects *needed, struct ibv_srq *srq)
{
	int (*query)(struct ibv_srq *, struct ibv_srq_attr *) = next_symbol(VERB_query_srq);
	struct ibv_srq_init_attr attr = { .srq_context = srq->srq_context };

	if (!note_if_first(needed, srq))
		return;
	write_pd(needed, srq->pd);
	if (query)
		query(srq, &attr.attr);
	WRITE(VERB_create_srq, srq, WORD(srq->pd), WORD(&attr));
}

/* Write the transitions to the queue pair's state, each with the attributes that it needs. */
static void write_state(struct ibv_qp *qp, const struct ibv_qp_attr *now)
{
	const bool rc = qp->qp_type == IBV_QPT_RC, ud = qp->qp_type == IBV_QPT_UD;
	const int masks[] = {
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			(ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS),
		IBV_QP_STATE |
			(ud ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN) |
			(rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0),
		IBV_QP_STATE | IBV_QP_SQ_PSN |
			(rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					 IBV_QP_MAX_QP_RD_ATOMIC
			    : 0),
	};
	struct ibv_qp_attr attr = *now;

	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS && state <= (int)now->qp_state;
	     state++) {
		attr.qp_state = (enum ibv_qp_state)state;
		WRITE(VERB_modify_qp, NULL, WORD(qp), WORD(&attr),
		      (uint64_t)masks[state - IBV_QPS_INIT]);
	}
	if (now->qp_state > IBV_QPS_RTS)
		WRITE(VERB_modify_qp, NULL, WORD(qp), WORD(now), IBV_QP_STATE);
}

static void write_qp(struct needed_objects *needed, struct ibv_qp *qp)
{
	int (*query)(struct ibv_qp *, struct ibv_qp_attr *, int, struct ibv_qp_init_attr *) =
		next_symbol(VERB_query_qp);
	struct ibv_qp_init_attr init = { 0 };
	struct ibv_qp_attr attr = { 0 };
	bool known = query && !query(qp, &attr, (1 << 21) - 1, &init);

	write_pd(needed, qp->pd);
	if (qp->send_cq)
		write_cq(needed, qp->send_cq);
	if (qp->recv_cq)
		write_cq(needed, qp->recv_cq);
	if (qp->srq)
		write_srq(needed, qp->srq);
	init.qp_context = qp->qp_context;
	init.send_cq = qp->send_cq;
	init.recv_cq = qp->recv_cq;
	init.srq = qp->srq;
	init.qp_type = qp->qp_type;
	WRITE(VERB_create_qp, qp, WORD(qp->pd), WORD(&init));
	if (known)
		write_state(qp, &attr);
}

/* A range of pointers, and how many of them are NULL or point to code. */
struct pointer_range {
	uintptr_t at[sizeof(struct verbs_context) / sizeof(uintptr_t)];
	size_t n, good;
};

static int count_good(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct pointer_range *p = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + part->p_vaddr;

		for (size_t k = 0; part->p_type == PT_LOAD && part->p_flags & PF_X && k < p->n; k++)
			p->good += p->at[k] - start < part->p_memsz;
	}
	return 0;
}

/*
 * Are all these pointers functions or NULL? The memory of a freed object may still look like the
 * object although the allocator has reused a part of it: writing there would destroy other data.
 */
static bool are_functions(const void *from, const void *end)
{
	struct pointer_range p = { .n = 0 };
	size_t bytes = (size_t)((const char *)end - (const char *)from);

	if (bytes > sizeof(p.at) || !peek_memory(from, p.at, bytes))
		return false;
	p.n = bytes / sizeof(*p.at);
	for (size_t i = 0; i < p.n; i++)
		p.good += !p.at[i];
	dl_iterate_phdr(count_good, &p);
	return p.good == p.n;
}

/*
 * Has the context its functions? A provider built with older headers has fewer, without the first
 * ones.
 */
static bool has_functions(struct ibv_context *context)
{
	struct verbs_context *vctx = verbs_get_ctx(context);
	const char *first;
	size_t bytes;

	if (!are_functions(&context->ops, &context->ops + 1))
		return false;
	if (!vctx || !peek_memory(&vctx->sz, &bytes, sizeof(bytes)))
		return !vctx;
	first = (const char *)vctx + (bytes < sizeof(*vctx) ? sizeof(*vctx) - bytes : 0);
	return (first >= (const char *)&vctx->priv || are_functions(first, &vctx->priv)) &&
	       are_functions(&vctx->query_device_ex, &vctx->_ABI_placeholder3);
}

/* Does an object that begins like all others still belong to @context? */
static bool is_of_context(const void *object, uint64_t context)
{
	uint64_t first;

	return !object || (peek_memory(object, &first, sizeof(first)) && first == context);
}

/*
 * Is this still the object that the command has found? The program may have destroyed it in
 * between, and freed memory may look like an object. After this check only microseconds pass until
 * the object is used.
 */
static bool is_object_unchanged(const struct attach_object *object)
{
	const void *at = (const void *)(uintptr_t)object->at;
	union {
		struct ibv_context context;
		struct ibv_mr mr;
		struct ibv_cq cq;
		struct ibv_qp qp;
	} now;

	switch (object->kind) {
	case ATTACH_CONTEXT:
		return peek_memory(at, &now.context, sizeof(now.context)) &&
		       now.context.cmd_fd == (int)object->number &&
		       fcntl(now.context.cmd_fd, F_GETFD) >= 0 && has_functions((void *)at);
	case ATTACH_MR:
		return peek_memory(at, &now.mr, sizeof(now.mr)) &&
		       WORD(now.mr.context) == object->context && now.mr.lkey == object->number &&
		       is_of_context(now.mr.pd, object->context);
	case ATTACH_CQ:
		return peek_memory(at, &now.cq, sizeof(now.cq)) &&
		       WORD(now.cq.context) == object->context &&
		       now.cq.cqe == (int)object->number &&
		       is_of_context(now.cq.channel, object->context);
	case ATTACH_QP:
		return peek_memory(at, &now.qp, sizeof(now.qp)) &&
		       WORD(now.qp.context) == object->context && now.qp.qp_num == object->number &&
		       is_of_context(now.qp.pd, object->context) &&
		       is_of_context(now.qp.send_cq, object->context) &&
		       is_of_context(now.qp.recv_cq, object->context) &&
		       is_of_context(now.qp.srq, object->context);
	}
	return false;
}

static void write_object(struct needed_objects *needed, const struct attach_object *object)
{
	void *at = (void *)(uintptr_t)object->at;

	switch (object->kind) {
	case ATTACH_CONTEXT:
		write_context(at);
		break;
	case ATTACH_MR:
		write_mr(needed, at);
		break;
	case ATTACH_CQ:
		write_cq(needed, at);
		break;
	case ATTACH_QP:
		write_qp(needed, at);
		break;
	}
}

/* Pointers */

static void patch_object(const struct attach_object *object)
{
	struct ibv_qp_ex *(*find)(struct ibv_qp *) = next_symbol(VERB_qp_to_qp_ex);
	void *at = (void *)(uintptr_t)object->at;
	struct ibv_qp_ex *ex = NULL;

	if (object->kind == ATTACH_CONTEXT && wrappers_patch(at))
		record_report_blind(BLIND_PROVIDERS, at);
	if (object->kind == ATTACH_QP && find)
		ex = find(at);
	if (ex && are_functions(&ex->wr_atomic_cmp_swp, ex + 1) && ex->wr_start &&
	    qp_ex_watch(at, ex, QP_EX_UNKNOWN))
		record_report_blind(BLIND_EXTENDED_QP, at);
}

static int read_objects(const struct attach_request *request, const struct attach_object **ret)
{
	int dir = session_open_dir(&recording_session), fd;
	void *at = MAP_FAILED;

	if (dir < 0)
		return dir;
	fd = openat(dir, ATTACH_OBJECTS, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	close(dir);
	if (fd < 0)
		return -errno;
	at = mmap(NULL, request->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	*ret = at;
	return at == MAP_FAILED ? -ENOMEM : 0;
}

static int write_objects(const struct attach_request *request)
{
	const size_t n = request->bytes / sizeof(struct attach_object);
	const struct attach_object *objects = NULL;
	struct needed_objects needed = { .all = calloc(5 * n + 1, sizeof(*needed.all)) };
	int err = needed.all && n ? read_objects(request, &objects) : n ? -ENOMEM : 0;

	if (!err && n) {
		verbatim_record_mark(MARK_BEGIN, ATTACH_MARK);
		for (size_t i = 0; i < n; i++)
			if (is_object_unchanged(&objects[i]))
				write_object(&needed, &objects[i]);
		verbatim_record_mark(MARK_END, ATTACH_MARK);
		record_report_blind(BLIND_BEFORE, NULL);
		for (size_t i = 0; i < n; i++)
			if (is_object_unchanged(&objects[i]))
				patch_object(&objects[i]);
		munmap((void *)(uintptr_t)objects, request->bytes);
	}
	free(needed.all);
	return err;
}

/* The three functions that the command calls */

static int begin_recording(const struct attach_request *request)
{
	const char *dir = getenv(SESSION_ENV);
	int err;

	if (request->version != ATTACH_VERSION)
		return -EPROTO;
	if (!undo_is_on() && dir && *dir)
		return -EALREADY;
	if (recording_is_on() && session_has_collector(recording_session.page))
		return -EALREADY;
	undo_begin();
	recording_end();
	modules_forget();
	reset_join(request->dir);
	if (!record_ready())
		return -EACCES;
	err = write_objects(request);
	exports_hook();
	return err;
}

static void begin_on_private_stack(void *arg)
{
	struct attach_request *request = arg;

	request->result = begin_recording(request);
}

void verbatim_attach_begin(struct attach_request *request)
{
	int saved = errno;

	private_stack_call(begin_on_private_stack, request);
	errno = saved;
}

static void end_on_private_stack(void *arg)
{
	struct attach_request *request = arg;

	exports_restore();
	undo_all();
	recording_end();
	request->result = 0;
}

void verbatim_attach_end(struct attach_request *request)
{
	int saved = errno;

	private_stack_call(end_on_private_stack, request);
	errno = saved;
}

static bool is_inside(uint32_t tid, const void *arg)
{
	const struct attach_request *request = arg;

	for (uint32_t i = 0; i < request->ninside && i < ATTACH_INSIDE; i++)
		if (request->inside[i] == tid)
			return true;
	return request->ninside > ATTACH_INSIDE;
}

/* Unmap rings and session, unless a thread inside a verb may still read the session's page. */
void verbatim_attach_release(struct attach_request *request)
{
	int saved = errno;

	if (undo_is_on() && recording_is_over()) {
		request->result = (int)rings_end(is_inside, request);
		if (!request->ninside) {
			session_leave(&recording_session);
			private_stack_release();
		}
	} else {
		request->result = 0;
	}
	errno = saved;
}
