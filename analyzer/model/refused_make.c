/*
 * Why an object could not be made
 *
 * The request is compared with the limits of the device, by the caller's own query or the
 * recorder's. A value within every limit may still be refused because of the sum of all.
 */
#include "analyzer/model/refused_make.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/device.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/pinned.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/refused_missing.h"
#include "analyzer/model/words.h"

enum { SMALLEST_PAGE = 4096, DM_WORD = 4 };

/* The limits of the device that the first argument, a PD or a context, belongs to. */
static const struct device *device_of(const struct refused *r)
{
	const struct life *context = r->object;

	if (context && context->kind != OBJECT_context)
		context = model_find(r->model, r->event->process, OBJECT_context, context->context);
	return context && context->device && context->device->known ? context->device : NULL;
}

/* @arg exceeds the device's limit called @limit. */
static bool value_exceeds(const struct refused *r, enum arg arg, int64_t most, const char *limit,
			  char *text, size_t size)
{
	int64_t value;

	if (!args_get(r->event->call->args, arg, &value) || value <= most)
		return false;
	snprintf(text, size, "%s is %" PRId64 ", the device's %s is %" PRId64, arg_name(arg), value,
		 limit, most);
	return true;
}

static bool is_handle_set(const struct refused *r, enum arg arg)
{
	return args_number(r->event->call->args, arg) != 0;
}

/* Is the CQ of one direction missing, although the type of queue pair needs both? */
static bool lacks_cq(const struct refused *r, bool ex, char *text, size_t size)
{
	bool send = !is_handle_set(r, ARG_EX(ex, qp_init_attr, send_cq));
	int64_t type;

	if (!args_get(r->event->call->args, ARG_EX(ex, qp_init_attr, qp_type), &type) ||
	    (type != ABI_QPT_RC && type != ABI_QPT_UC && type != ABI_QPT_UD) ||
	    (!send && is_handle_set(r, ARG_EX(ex, qp_init_attr, recv_cq))))
		return false;
	snprintf(text, size, "%s_cq is NULL", send ? "send" : "recv");
	return true;
}

static bool is_no_type(const struct refused *r, bool ex, char *text, size_t size)
{
	int64_t type;

	if (!args_get(r->event->call->args, ARG_EX(ex, qp_init_attr, qp_type), &type) ||
	    enum_name(enum_find("ibv_qp_type"), (int)type))
		return false;
	snprintf(text, size, "qp_type is %" PRId64 ", which is not a value of enum ibv_qp_type",
		 type);
	return true;
}

bool refused_explain_qp(const struct refused *r, char *text, size_t size)
{
	bool ex = r->event->call->verb != VERB_create_qp;
	const struct device *device = device_of(r);
	bool srq = is_handle_set(r, ARG_EX(ex, qp_init_attr, srq));
	int64_t bytes;

	if (is_no_type(r, ex, text, size) || (ex && refused_explain_extension(r, text, size)))
		return true;
	if (!is_handle_set(r, ARG_EX(ex, qp_init_attr, send_cq)) &&
	    !is_handle_set(r, ARG_EX(ex, qp_init_attr, recv_cq))) {
		snprintf(text, size, "no CQ");
		return true;
	}
	if (r->event->call->error == EINVAL && lacks_cq(r, ex, text, size))
		return true;
	if (device && (value_exceeds(r, ARG_EX(ex, qp_init_attr, cap.max_send_wr),
				     device->max_qp_wr, "max_qp_wr", text, size) ||
		       value_exceeds(r, ARG_EX(ex, qp_init_attr, cap.max_send_sge), device->max_sge,
				     "max_sge", text, size)))
		return true;
	if (device && !srq &&
	    (value_exceeds(r, ARG_EX(ex, qp_init_attr, cap.max_recv_wr), device->max_qp_wr,
			   "max_qp_wr", text, size) ||
	     value_exceeds(r, ARG_EX(ex, qp_init_attr, cap.max_recv_sge), device->max_sge,
			   "max_sge", text, size)))
		return true;
	if (!args_get(r->event->call->args, ARG_EX(ex, qp_init_attr, cap.max_inline_data),
		      &bytes) ||
	    !bytes || !device)
		return false;
	snprintf(text, size,
		 "within the device's limits, except possibly max_inline_data %" PRId64 ", which "
		 "has a limit that cannot be queried",
		 bytes);
	return true;
}

/* The limit is a member of the context: ibv_query_device() does not have it. */
static bool vector_exceeds(const struct refused *r, char *text, size_t size)
{
	enum arg arg = r->event->call->verb == VERB_create_cq_ex ? ARG(init_attr.comp_vector)
								 : ARG(comp_vector);
	const struct life *context = r->object;
	int64_t vector;

	if (!context || context->kind != OBJECT_context || !context->device ||
	    context->device->comp_vectors <= 0 || !args_get(r->event->call->args, arg, &vector) ||
	    (vector >= 0 && vector < context->device->comp_vectors))
		return false;
	snprintf(text, size, "comp_vector is %" PRId64 ", the device has %" PRId64 ", from 0 on",
		 vector, context->device->comp_vectors);
	return true;
}

/* The other reason for EINVAL of ibv_resize_cq(), if the number is within the device's limit. */
static bool is_too_full(const struct refused *r, int64_t cqe, char *text, size_t size)
{
	if (r->event->call->verb != VERB_resize_cq)
		return false;
	snprintf(text, size, "cqe is %" PRId64 ", and more completions were in the queue", cqe);
	return true;
}

bool refused_explain_cq(const struct refused *r, char *text, size_t size)
{
	enum arg arg = r->event->call->verb == VERB_create_cq_ex ? ARG(init_attr.cqe) : ARG(cqe);
	const struct device *device = device_of(r);
	int64_t cqe;

	if (args_get(r->event->call->args, arg, &cqe) && cqe < 1) {
		snprintf(text, size, "cqe is %" PRId64, cqe);
		return true;
	}
	if (vector_exceeds(r, text, size))
		return true;
	return device && (value_exceeds(r, arg, device->max_cqe, "max_cqe", text, size) ||
			  is_too_full(r, cqe, text, size));
}

static bool count_exceeds(const struct refused *r, enum arg arg, char *text, size_t size)
{
	int64_t value;

	if (!args_get(r->event->call->args, arg, &value) || value <= 7)
		return false;
	snprintf(text, size, "%s is %" PRId64 ", the maximum is 7", arg_name(arg), value);
	return true;
}

/* rdma_connect(3), rdma_accept(3): counts of 3 bits, as InfiniBand has them. */
bool refused_explain_connect(const struct refused *r, char *text, size_t size)
{
	return count_exceeds(r, ARG(conn_param.retry_count), text, size) ||
	       count_exceeds(r, ARG(conn_param.rnr_retry_count), text, size);
}

/*
 * The fields of completions beyond the standard ones: no query returns which of them a device has.
 */
static void list_fields(int64_t flags, char *text, size_t size)
{
	const struct enum_info *names = enum_find("ibv_create_cq_wc_flags");
	int used = 0;

	text[0] = '\0';
	for (int64_t bit = ABI_WC_STANDARD_FLAGS + 1; bit <= flags && used < (int)size; bit *= 2)
		if (flags & bit)
			used += snprintf(text + used, size - (size_t)used, "%s%s", used ? ", " : "",
					 enum_name(names, bit) ?: "?");
}

bool refused_explain_fields(const struct refused *r, char *text, size_t size)
{
	char names[256];
	int64_t flags;

	if (!args_get(r->event->call->args, ARG(init_attr.wc_flags), &flags) ||
	    flags <= ABI_WC_STANDARD_FLAGS || flags > UINT32_MAX)
		return false;
	list_fields(flags, names, sizeof(names));
	snprintf(text, size, "wc_flags has %s beyond IBV_WC_STANDARD_FLAGS", names);
	return true;
}

bool refused_explain_srq(const struct refused *r, char *text, size_t size)
{
	bool ex = r->event->call->verb != VERB_create_srq;
	const struct device *device = device_of(r);
	int64_t receives;

	if (args_get(r->event->call->args, ARG_EX(ex, srq_init_attr, attr.max_wr), &receives) &&
	    !receives && r->event->call->error == EINVAL) {
		snprintf(text, size, "max_wr is 0");
		return true;
	}
	return device && (value_exceeds(r, ARG_EX(ex, srq_init_attr, attr.max_wr),
					device->max_srq_wr, "max_srq_wr", text, size) ||
			  value_exceeds(r, ARG_EX(ex, srq_init_attr, attr.max_sge),
					device->max_srq_sge, "max_srq_sge", text, size));
}

/* ibv_reg_mr(3): remote write requires local write. */
bool refused_explain_rights(const struct refused *r, char *text, size_t size)
{
	const uint32_t writes = ABI_ACCESS_REMOTE_WRITE | ABI_ACCESS_REMOTE_ATOMIC;
	int64_t access;

	if (!args_get(r->event->call->args, ARG(access), &access) || !(access & writes) ||
	    access & ABI_ACCESS_LOCAL_WRITE)
		return false;
	snprintf(text, size, "IBV_ACCESS_REMOTE_%s without IBV_ACCESS_LOCAL_WRITE",
		 access & ABI_ACCESS_REMOTE_WRITE ? "WRITE" : "ATOMIC");
	return true;
}

bool refused_explain_access(const struct refused *r, char *text, size_t size)
{
	const struct device *device = device_of(r);
	int64_t length;

	if (refused_explain_rights(r, text, size))
		return true;
	if (!args_get(r->event->call->args, ARG(length), &length))
		return false;
	if (!length) {
		snprintf(text, size, "length is 0");
		return true;
	}
	if (!device || (uint64_t)length <= (uint64_t)device->max_mr_size)
		return false;
	snprintf(text, size, "%" PRIu64 " bytes, the device's max_mr_size is %" PRIu64,
		 (uint64_t)length, (uint64_t)device->max_mr_size);
	return true;
}

/* ibv_reg_dmabuf_mr(3): @iova must have the same offset within a page as the memory. */
bool refused_explain_dmabuf(const struct refused *r, char *text, size_t size)
{
	const int64_t mask = SMALLEST_PAGE - 1;
	int64_t offset, iova;

	if (args_get(r->event->call->args, ARG(offset), &offset) &&
	    args_get(r->event->call->args, ARG(iova), &iova) && (offset & mask) != (iova & mask)) {
		snprintf(text, size,
			 "offset is 0x%" PRIx64 " and iova 0x%" PRIx64
			 ": they differ within a page, by 0x%" PRIx64 " and 0x%" PRIx64,
			 (uint64_t)offset, (uint64_t)iova, (uint64_t)(offset & mask),
			 (uint64_t)(iova & mask));
		return true;
	}
	return refused_explain_access(r, text, size);
}

/* The host copies whole words to and from the device. */
static bool explain_partial_word(const struct refused *r, int64_t offset, int64_t length,
				 char *text, size_t size)
{
	const bool copies = r->event->call->verb == VERB_memcpy_to_dm ||
			    r->event->call->verb == VERB_memcpy_from_dm;

	if (!copies || r->event->call->ret != EINVAL || !((offset | length) % DM_WORD))
		return false;
	snprintf(text, size,
		 "dm_offset is %" PRId64 ", and length %" PRId64 ": both must be multiples of %d",
		 offset, length, DM_WORD);
	return true;
}

/* Device memory has no addresses, only offsets. */
bool refused_explain_dm(const struct refused *r, char *text, size_t size)
{
	const struct args *args = r->event->call->args;
	const struct life *dm;
	int64_t offset, length, access;

	if (args_get(args, ARG(access), &access) && !(access & ABI_ACCESS_ZERO_BASED)) {
		snprintf(text, size, "IBV_ACCESS_ZERO_BASED is missing");
		return true;
	}
	if (!args_get(args, ARG(dm_offset), &offset) || !args_get(args, ARG(length), &length))
		return false;
	dm = model_find(r->model, r->event->process, OBJECT_dm,
			(uint64_t)args_number(args, ARG(dm)));
	if (!dm || !dm->bytes)
		return false;
	if ((uint64_t)offset + (uint64_t)length <= dm->bytes)
		return explain_partial_word(r, offset, length, text, size);
	snprintf(text, size,
		 "dm_offset is %" PRId64 ", and length %" PRId64 ": beyond the end of %s, which "
		 "has %" PRIu64 " bytes",
		 offset, length, dm->name, dm->bytes);
	return true;
}

bool refused_explain_memory(const struct refused *r, char *text, size_t size)
{
	int64_t addr, length, access = 0;

	if (!args_get(r->event->call->args, ARG(addr), &addr) ||
	    !args_get(r->event->call->args, ARG(length), &length))
		return false;
	snprintf(text, size,
		 "0x%" PRIx64 " to 0x%" PRIx64 " cannot be pinned: it is not completely mapped%s, "
		 "or it is GPU memory",
		 (uint64_t)addr, (uint64_t)addr + (uint64_t)length,
		 args_get(r->event->call->args, ARG(access), &access) &&
				 access & ABI_ACCESS_LOCAL_WRITE
			 ? " and writable"
			 : "");
	return true;
}

/* The process, if its limits are known; else NULL. */
static const struct process *process_of(const struct refused *r)
{
	const struct process *process =
		r->model->trace ? trace_process(r->model->trace, r->event->process) : NULL;

	return process && process->page_size ? process : NULL;
}

/* Queues pin memory, too; how much is not known, nor which other objects did not fit. */
bool refused_explain_memlock(const struct refused *r, char *text, size_t size)
{
	const struct process *process = process_of(r);
	const struct pinned *pinned = model_pinned(r->model, r->event->process);
	const char *limiter = pinned_limiter(r->model, r->event->process, device_of(r));
	char have[32], limit[32], regions[WORDS_COUNT];

	if (!process || !limiter)
		return false;
	snprintf(text, size, "%s pinned by %s, RLIMIT_MEMLOCK %s, %s%s%s",
		 words_format_bytes(pinned->bytes, have),
		 words_format_count(pinned->regions, "region", regions),
		 words_format_bytes(process->memlock, limit), *limiter ? "which " : "",
		 *limiter ? limiter : "no CAP_IPC_LOCK", *limiter ? " applies to all users" : "");
	return true;
}

/* Comes last: the request is within all limits, including RLIMIT_MEMLOCK. */
bool refused_explain_other(const struct refused *r, char *text, size_t size)
{
	const struct process *process = process_of(r);
	const struct pinned *pinned = model_pinned(r->model, r->event->process);
	bool held = process && process->ipc_lock == 1;
	bool is_queue = verb_infos[r->event->call->verb].object != OBJECT_mr;
	char have[32], regions[WORDS_COUNT];

	if (!process || (!held && process->memlock != PROCESS_UNLIMITED) ||
	    pinned_limiter(r->model, r->event->process, device_of(r)))
		return false;
	snprintf(text, size,
		 "not because of RLIMIT_MEMLOCK, which %s (%s pinned by %s)%s: the device or the "
		 "kernel had no resources",
		 held ? "CAP_IPC_LOCK lifts" : "was unlimited",
		 words_format_bytes(pinned->bytes, have),
		 words_format_count(pinned->regions, "region", regions),
		 device_of(r) && is_queue ? ", and within the device's limits" : "");
	return true;
}

bool refused_explain_full_queue(const struct refused *r, char *text, size_t size)
{
	const struct life *object = r->object;
	const struct queue *queue;

	if (r->event->kind != TRACE_POST || !object)
		return false;
	queue = post_is_send(r->event->post) ? object->sq : object->rq;
	if (!queue || queue->owner != object || queue->doubt || !queue->limits.given ||
	    queue->outstanding + r->event->post->nwr > queue->limits.given)
		return false;
	snprintf(text, size,
		 "not a full queue: %u of %u %ss of %s were outstanding; the device or its "
		 "library had no resources",
		 queue->outstanding, queue->limits.given, queue->send ? "send" : "receive",
		 object->name);
	return true;
}

static bool is_same_request(const struct wr *a, const struct wr *b)
{
	return a->wr_id == b->wr_id && a->opcode == b->opcode && a->nsge == b->nsge &&
	       (!a->nsge || a->sge[0].addr == b->sge[0].addr);
}

/* After how many requests does the list repeat itself, up to its end? 0: it does not. */
static uint32_t find_period(const struct post *post)
{
	enum { PERIOD_MAX = 256, TIMES = 3 };

	for (uint32_t period = 1; period <= PERIOD_MAX && period <= post->nwr / TIMES; period++) {
		uint32_t i = period;

		while (i < post->nwr && is_same_request(&post->wr[i], &post->wr[i - period]))
			i++;
		if (i == post->nwr)
			return period;
	}
	return 0;
}

bool refused_explain_list(const struct refused *r, char *text, size_t size)
{
	const struct post *post = r->event->kind == TRACE_POST ? r->event->post : NULL;
	const struct queue *queue = NULL;
	char n[WORDS_COUNT];
	uint32_t period;

	if (post && r->object)
		queue = post_is_send(post) ? r->object->sq : r->object->rq;
	if (!queue || !queue->limits.given || post->nwr <= queue->limits.given)
		return false;
	period = find_period(post);
	if (!period)
		return false;
	snprintf(text, size,
		 "the list has no end: after %s it begins again, since the next of the last one is "
		 "not NULL",
		 words_format_count(period, "request", n));
	return true;
}
