/*
 * Executing commands in a replayed process
 *
 *	process 0 --fork--> root process --fork--> its child
 *	                    main thread: its channel; a thread for each recorded thread
 *
 * Handles in commands are those of this process. After a command, copies of the objects that it
 * created or changed are returned. The main thread notices the end of the replaying process, and
 * then ends, too.
 */
#include "replay/process/process_agent.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "replay/device/builder.h"
#include "replay/device/dispatch.h"
#include "replay/device/fault_maker.h"

enum { SPINS = 500 /* polls before a sleep, as in process_ask.c */ };

#define SLEEP_MOST_NS 100000000 /* ns */

static struct process_wire *wire;
static struct ibv_device **devices; /* of this process */

static void *to_pointer(uint64_t value)
{
	return (void *)(uintptr_t)value;
}

static size_t size_of(enum object_kind kind, bool whole)
{
	switch (kind) {
	case OBJECT_context:
		return sizeof(struct ibv_context);
	case OBJECT_mr:
		return sizeof(struct ibv_mr);
	case OBJECT_mw:
		return sizeof(struct ibv_mw);
	case OBJECT_comp_channel:
		return sizeof(struct ibv_comp_channel);
	case OBJECT_cq:
		return whole ? sizeof(struct ibv_cq_ex) : sizeof(struct ibv_cq);
	case OBJECT_srq:
		return sizeof(struct ibv_srq);
	case OBJECT_qp:
		return whole ? BUILDER_SIZE : sizeof(struct ibv_qp);
	case OBJECT_wq:
		return sizeof(struct ibv_wq);
	case OBJECT_rwq_ind_table:
		return sizeof(struct ibv_rwq_ind_table);
	case OBJECT_ah:
		return sizeof(struct ibv_ah);
	case OBJECT_pd:
		return sizeof(struct ibv_pd);
	case OBJECT_flow:
		return sizeof(struct ibv_flow);
	default:
		return sizeof(struct ibv_context *);
	}
}

/* Copy an object. @extended: it is new and of an extended kind: copy its constant part, too. */
static void copy_object(struct process_copy *copy, enum object_kind kind, void *object,
			bool extended)
{
	_Static_assert((size_t)BUILDER_SIZE <= PROCESS_COPY, "memory for a queue pair");
	_Static_assert(sizeof(struct ibv_cq_ex) <= PROCESS_COPY, "memory for a queue");
	_Static_assert(sizeof(struct ibv_context) <= PROCESS_COPY, "memory for a context");

	copy->real = (uintptr_t)object;
	copy->kind = kind;
	copy->extended = extended;
	copy->builds = extended && kind == OBJECT_qp && ibv_qp_to_qp_ex(object);
	if (object)
		memcpy(copy->bytes, object,
		       size_of(kind, kind == OBJECT_qp ? copy->builds : extended));
}

/* Copy the created object, and objects that may have changed. */
static void copy_objects(struct channel *c, const struct verb_info *v)
{
	bool failed = verb_failed(c->verb, c->ret);
	unsigned int n = 1;

	for (unsigned int i = 0; i < PROCESS_COPIES; i++)
		c->copies[i].real = 0;
	if (v->effect == EFFECT_CREATE && !failed)
		copy_object(&c->copies[0], v->object, to_pointer((uint64_t)c->ret),
			    c->verb == VERB_create_cq_ex || c->verb == VERB_create_qp_ex);
	for (unsigned int i = 0; i < v->args.nfields && n < PROCESS_COPIES; i++) {
		const struct field_info *field = &v->args.fields[i];

		if (field->kind != FIELD_OBJ || field->object == OBJECT_device ||
		    (v->effect == EFFECT_DESTROY && !failed))
			continue;
		copy_object(&c->copies[n++], field->object, to_pointer(c->args[i]), false);
	}
}

static struct ibv_device *find_device(const char *name)
{
	if (!devices)
		devices = ibv_get_device_list(NULL);
	for (int i = 0; devices && devices[i]; i++)
		if (!strcmp(ibv_get_device_name(devices[i]), name))
			return devices[i];
	return NULL;
}

static void call_verb(struct channel *c)
{
	const struct verb_info *v = &verb_infos[c->verb];
	unsigned int refused;

	if (v->args.nfields && v->args.fields[0].object == OBJECT_device &&
	    v->args.fields[0].kind == FIELD_OBJ)
		c->args[0] = (uintptr_t)find_device(c->device);
	refused = dispatch_refused();
	c->ret = dispatch_call(c->verb, c->args);
	c->error = errno;
	c->refused = dispatch_refused() - refused;
	copy_objects(c, v);
}

/* Set the new keys of windows that posted requests bind. */
static void note_binds(const struct ibv_send_wr *wr, const struct ibv_send_wr *end)
{
	for (; wr && wr != end; wr = wr->next)
		if (wr->opcode == IBV_WR_BIND_MW)
			wr->bind_mw.mw->rkey = wr->bind_mw.rkey;
}

static void post_send(struct channel *c)
{
	struct ibv_send_wr *list = to_pointer(c->args[1]), *bad = NULL;

	c->ret = ibv_post_send(to_pointer(c->args[0]), list, &bad);
	c->error = errno;
	c->args[2] = bad ? (uint64_t)(bad - list) + 1 : 0;
	note_binds(list, c->ret ? bad : NULL);
}

static void post_recv(struct channel *c)
{
	struct ibv_recv_wr *list = to_pointer(c->args[1]), *bad = NULL;
	void *queue = to_pointer(c->args[0]);

	if (c->verb == VERB_post_recv)
		c->ret = ibv_post_recv(queue, list, &bad);
	else if (c->verb == VERB_post_wq_recv)
		c->ret = ibv_post_wq_recv(queue, list, &bad);
	else
		c->ret = ibv_post_srq_recv(queue, list, &bad);
	c->error = errno;
	c->args[2] = bad ? (uint64_t)(bad - list) + 1 : 0;
}

static void build_requests(struct channel *c)
{
	const struct ibv_send_wr *list = to_pointer(c->args[1]);

	c->ret = builder_run(ibv_qp_to_qp_ex(to_pointer(c->args[0])), list, (uint32_t)c->args[2],
			     to_pointer(c->args[3]), c->args[4]);
	c->error = errno;
	if (!c->ret && c->args[4] && c->args[2])
		note_binds(list, NULL);
}

static void poll_queue(struct channel *c)
{
	c->ret = ibv_poll_cq(to_pointer(c->args[0]), (int)c->args[1], to_pointer(c->args[2]));
	c->error = errno;
}

/* The current completion of the iterator. */
static struct process_wc read_current(struct ibv_cq_ex *cq)
{
	struct process_wc at = { .wc = { .wr_id = cq->wr_id, .status = cq->status } };
	struct ibv_wc *wc = &at.wc;

	wc->qp_num = cq->read_qp_num(cq);
	if (cq->read_src_qp)
		wc->src_qp = cq->read_src_qp(cq);
	if (wc->status != IBV_WC_SUCCESS) {
		wc->vendor_err = cq->read_vendor_err(cq);
		return at;
	}
	wc->opcode = cq->read_opcode(cq);
	wc->wc_flags = cq->read_wc_flags(cq);
	if (cq->read_byte_len)
		wc->byte_len = cq->read_byte_len(cq);
	if (cq->read_imm_data)
		wc->imm_data = cq->read_imm_data(cq);
	if (cq->read_slid)
		wc->slid = (uint16_t)cq->read_slid(cq);
	if (cq->read_sl)
		wc->sl = cq->read_sl(cq);
	if (cq->read_dlid_path_bits)
		wc->dlid_path_bits = cq->read_dlid_path_bits(cq);
	if (cq->read_flow_tag)
		at.flow_tag = cq->read_flow_tag(cq);
	return at;
}

static void iterate_queue(struct channel *c)
{
	struct ibv_cq_ex *cq = to_pointer(c->args[0]);
	struct process_wc *wcs = to_pointer(c->args[2]);
	struct ibv_poll_cq_attr attr = { 0 };
	int err = ibv_start_poll(cq, &attr), n = 0;

	c->ret = err == ENOENT ? 0 : -1;
	if (err)
		return;
	do {
		wcs[n++] = read_current(cq);
	} while (n < (int)c->args[1] && !(err = ibv_next_poll(cq)));
	ibv_end_poll(cq);
	c->ret = n;
}

static void notify_queue(struct channel *c)
{
	c->ret = ibv_req_notify_cq(to_pointer(c->args[0]), (int)c->args[1]);
	c->error = errno;
}

static void poll_for_event(struct channel *c)
{
	const struct ibv_comp_channel *channel = to_pointer(c->args[0]);
	const struct ibv_context *context = to_pointer(c->args[0]);
	struct pollfd p = { .events = POLLIN };

	p.fd = c->args[1] == OBJECT_context ? context->async_fd : channel->fd;
	c->ret = poll(&p, 1, 0) == 1;
}

static void take_cq_event(struct channel *c)
{
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	c->ret = ibv_get_cq_event(to_pointer(c->args[0]), &cq, &context);
	c->error = errno;
	c->args[1] = (uintptr_t)cq;
	c->args[2] = (uintptr_t)context;
}

static void take_async_event(struct channel *c)
{
	c->ret = ibv_get_async_event(to_pointer(c->args[0]), to_pointer(c->args[1]));
	c->error = errno;
}

static void ack_async_event(struct channel *c)
{
	ibv_ack_async_event(to_pointer(c->args[0]));
}

static void make_fault(struct channel *c)
{
	struct fault_maker maker;

	c->ret = fault_maker_find(&maker) ? maker.fault(to_pointer(c->args[0])) : EINVAL;
}

static void raise_event(struct channel *c)
{
	struct fault_maker maker;

	c->ret = fault_maker_find(&maker)
			 ? maker.event(to_pointer(c->args[0]), to_pointer(c->args[1]))
			 : EINVAL;
}

static void count_struck(struct channel *c)
{
	struct fault_maker maker;

	c->ret = fault_maker_find(&maker) ? maker.struck() : 0;
}

/* Map memory at the given address; processes forked later inherit the mapping. */
static void map_memory(struct channel *c)
{
	void *at = mmap(to_pointer(c->args[0]), c->args[1], (int)c->args[2],
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	c->ret = at == to_pointer(c->args[0]) ? 0 : -1;
	c->error = errno;
}

static void set_variable(struct channel *c)
{
	c->ret = setenv(to_pointer(c->args[0]), to_pointer(c->args[1]), 1);
	c->error = errno;
}

static void write_memory(struct channel *c)
{
	memcpy(to_pointer(c->args[0]), to_pointer(c->args[2]), c->args[1]);
}

static void read_memory(struct channel *c)
{
	memcpy(to_pointer(c->args[2]), to_pointer(c->args[0]), c->args[1]);
}

static void reap_child(struct channel *c)
{
	int status;

	c->ret = waitpid((pid_t)c->args[0], &status, 0) < 0 ? -1 : status;
}

static void fork_process(struct channel *c)
{
	uint32_t process = (uint32_t)c->args[0];
	pid_t pid = fork();

	if (!pid)
		process_agent_run(wire, process);
	c->ret = pid;
	c->error = errno;
}

static void *run_thread(void *arg);

static void start_thread(struct channel *c)
{
	pthread_t thread;

	c->ret = pthread_create(&thread, NULL, run_thread, &wire->channels[c->args[0]]);
	if (!c->ret)
		pthread_detach(thread);
}

static void (*const commands[PROCESS_COMMANDS])(struct channel *) = {
	[PROCESS_START] = start_thread,     [PROCESS_FORK] = fork_process,
	[PROCESS_REAP] = reap_child,        [PROCESS_MAP] = map_memory,
	[PROCESS_SETENV] = set_variable,    [PROCESS_WRITE] = write_memory,
	[PROCESS_READ] = read_memory,       [PROCESS_CALL] = call_verb,
	[PROCESS_POST_SEND] = post_send,    [PROCESS_POST_RECV] = post_recv,
	[PROCESS_BUILD] = build_requests,   [PROCESS_POLL] = poll_queue,
	[PROCESS_ITERATE] = iterate_queue,  [PROCESS_NOTIFY] = notify_queue,
	[PROCESS_LOOK] = poll_for_event,    [PROCESS_CQ_EVENT] = take_cq_event,
	[PROCESS_ASYNC] = take_async_event, [PROCESS_ACK_ASYNC] = ack_async_event,
	[PROCESS_FAULT] = make_fault,       [PROCESS_RAISE] = raise_event,
	[PROCESS_STRUCK] = count_struck,
};

static void send_answer(struct channel *c, uint32_t number)
{
	process_store(c->answered, number);
	if (process_load(c->we_sleep))
		process_wake(&c->answered);
}

/* End in the same way as the recorded process. */
static void end_process(struct channel *c, uint32_t number)
{
	enum process_ending ending = (enum process_ending)c->args[0];

	send_answer(c, number);
	if (ending == PROCESS_KILLED)
		kill(getpid(), SIGKILL);
	if (ending == PROCESS_EXIT)
		exit(EXIT_SUCCESS);
	_exit(EXIT_SUCCESS);
}

/* Wait for the command after number @seen. */
static uint32_t await_command(struct channel *c, uint32_t seen, bool watches)
{
	struct pollfd alive = { .fd = wire->alive, .events = POLLIN };

	for (unsigned int turn = 0; process_load(c->asked) == seen; turn++) {
		if (turn < SPINS) {
			__builtin_ia32_pause();
			continue;
		}
		process_store(c->agent_sleeps, 1);
		if (process_load(c->asked) == seen)
			process_sleep(&c->asked, seen, SLEEP_MOST_NS);
		process_store(c->agent_sleeps, 0);
		if (watches && poll(&alive, 1, 0) == 1)
			_exit(EXIT_SUCCESS);
	}
	return seen + 1;
}

static void serve_channel(struct channel *c, bool watches)
{
	uint32_t number = process_load(c->answered);

	for (;;) {
		number = await_command(c, number, watches);
		errno = 0;
		if (c->command == PROCESS_END)
			end_process(c, number);
		else
			commands[c->command](c);
		send_answer(c, number);
	}
}

static void *run_thread(void *arg)
{
	serve_channel(arg, false);
	return NULL;
}

_Noreturn void process_agent_run(struct process_wire *shared, uint32_t process)
{
	wire = shared;
	serve_channel(&wire->channels[process], true);
	abort(); /* serve_channel() does not return */
}
