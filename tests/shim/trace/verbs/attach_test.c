/*
 * Recording that begins in a running program: attach_test.txt
 *
 * The session, the rings and what patches pointers are the test's, which prints each call. The
 * objects are the test's, too: some are not what the command found.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/wire/attach.h"
#include "shim/trace/base/next.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/ring/recording.h"
#include "shim/trace/verbs/call.h"
#include "tests/transcript.h"

void verbatim_attach_begin(struct attach_request *request);
void verbatim_attach_end(struct attach_request *request);
void verbatim_attach_release(struct attach_request *request);

static struct text out;
static char folder[128];

/* The results of the functions of other modules. */
static struct {
	bool undo, on, over, collector;
	int no_patch, no_watch, no_query;
	unsigned int rings;
} answers;

/* A program's objects. */
static struct verbs_context vctx;
static struct ibv_context *const context = &vctx.context;
static struct ibv_pd pd, other_pd;
static struct ibv_mr mr;
static struct ibv_comp_channel channel;
static struct ibv_cq cq, plain_cq;
static struct ibv_srq srq;
static struct ibv_qp qp;
static struct ibv_qp_ex ex;
static struct ibv_qp_attr state;
static bool has_builders;

static const struct {
	const void *at;
	const char *name;
} names[] = {
	{ &vctx.context, "context" },
	{ &pd, "pd" },
	{ &other_pd, "other_pd" },
	{ &mr, "mr" },
	{ &channel, "channel" },
	{ &cq, "cq" },
	{ &plain_cq, "plain_cq" },
	{ &srq, "srq" },
	{ &qp, "qp" },
	{ &ex, "ex" },
};

static void show_value(uint64_t value)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (value == (uintptr_t)names[i].at) {
			text_addf(&out, " %s", names[i].name);
			return;
		}
	text_addf(&out, value >> 40 ? " ?" : " %" PRIx64, value);
}

static void show_call(const char *name)
{
	text_addf(&out, "\t%s\n", name);
}

/* Instead of those of other modules */

#define NOTED(function)               \
	void __wrap_##function(void); \
	void __wrap_##function(void)  \
	{                             \
		show_call(#function); \
	}
NOTED(undo_begin)
NOTED(undo_all)
NOTED(recording_end)
NOTED(modules_forget)
NOTED(exports_hook)
NOTED(exports_restore)
NOTED(private_stack_release)

#define ANSWERED(function, answer)     \
	bool __wrap_##function(void);  \
	bool __wrap_##function(void)   \
	{                              \
		return answers.answer; \
	}
ANSWERED(undo_is_on, undo)
ANSWERED(recording_is_on, on)
ANSWERED(recording_is_over, over)

bool __wrap_session_has_collector(const struct session_page *page);
void __wrap_private_stack_call(void (*fn)(void *arg), void *arg);
void __wrap_reset_join(const char *dir);
void __wrap_session_leave(struct session *session);
int __wrap_session_open_dir(const struct session *session);
unsigned int __wrap_rings_end(bool (*is_inside)(uint32_t tid, const void *arg), const void *arg);
void __wrap_descriptors_add(const void *object, int fd);
int __wrap_wrappers_patch(struct ibv_context *patched);
int __wrap_qp_ex_watch(struct ibv_qp *watched, struct ibv_qp_ex *of, uint64_t ops);
void __wrap_record_report_blind(enum event_blind_what what, const void *object);
void __wrap_verbatim_record_mark(int kind, const char *text);
void __wrap_call_write_begin(struct call *call, enum verb verb);
void __wrap_call_write_end(struct call *call, uint64_t ret);

bool __wrap_session_has_collector(const struct session_page *page)
{
	assert_ptr_equal(page, recording_session.page);
	return answers.collector;
}

void __wrap_private_stack_call(void (*fn)(void *arg), void *arg)
{
	errno = EBUSY; /* the program does not see it */
	fn(arg);
}

void __wrap_reset_join(const char *dir)
{
	text_addf(&out, "\treset_join %s\n", dir);
}

void __wrap_session_leave(struct session *session)
{
	assert_ptr_equal(session, &recording_session);
	show_call("session_leave");
}

int __wrap_session_open_dir(const struct session *session)
{
	assert_ptr_equal(session, &recording_session);
	return open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

unsigned int __wrap_rings_end(bool (*is_inside)(uint32_t tid, const void *arg), const void *arg)
{
	text_addf(&out, "\trings_end:");
	for (uint32_t tid = 1; tid < 6; tid++)
		text_addf(&out, " %d", is_inside(tid, arg));
	text_addf(&out, "\n");
	return answers.rings;
}

void __wrap_descriptors_add(const void *object, int fd)
{
	text_addf(&out, "\tdescriptors_add");
	show_value((uintptr_t)object);
	text_addf(&out, " %s\n", fd == context->cmd_fd ? "cmd_fd" : "async_fd");
}

int __wrap_wrappers_patch(struct ibv_context *patched)
{
	text_addf(&out, "\twrappers_patch");
	show_value((uintptr_t)patched);
	text_addf(&out, "\n");
	return answers.no_patch;
}

int __wrap_qp_ex_watch(struct ibv_qp *watched, struct ibv_qp_ex *of, uint64_t ops)
{
	text_addf(&out, "\tqp_ex_watch");
	show_value((uintptr_t)watched);
	show_value((uintptr_t)of);
	text_addf(&out, " %" PRIx64 "\n", ops);
	return answers.no_watch;
}

void __wrap_record_report_blind(enum event_blind_what what, const void *object)
{
	text_addf(&out, "\trecord_report_blind %d", what);
	show_value((uintptr_t)object);
	text_addf(&out, "\n");
}

void __wrap_verbatim_record_mark(int kind, const char *text)
{
	text_addf(&out, "\tmark %d %s\n", kind, text);
}

static void show_attributes(enum verb verb, const uint64_t *args)
{
	const struct ibv_qp_init_attr *made = (const void *)(uintptr_t)args[1];
	const struct ibv_srq_init_attr *shared = (const void *)(uintptr_t)args[1];
	const struct ibv_qp_attr *attr = (const void *)(uintptr_t)args[1];

	if (verb == VERB_create_qp) {
		text_addf(&out, " {");
		show_value((uintptr_t)made->qp_context);
		show_value((uintptr_t)made->send_cq);
		show_value((uintptr_t)made->recv_cq);
		show_value((uintptr_t)made->srq);
		text_addf(&out, " type %d sends %u }", made->qp_type, made->cap.max_send_wr);
	} else if (verb == VERB_create_srq) {
		text_addf(&out, " {");
		show_value((uintptr_t)shared->srq_context);
		text_addf(&out, " max_wr %u }", shared->attr.max_wr);
	} else if (verb == VERB_modify_qp) {
		text_addf(&out, " { state %d dest %u }", attr->qp_state, attr->dest_qp_num);
	}
}

void __wrap_call_write_begin(struct call *call, enum verb verb)
{
	text_addf(&out, "\t%s", verb_infos[verb].name);
	for (unsigned int i = 0; i < verb_infos[verb].args.nfields; i++)
		show_value(call->args[i]);
	show_attributes(verb, call->args);
	errno = EBUSY;
}

void __wrap_call_write_end(struct call *call, uint64_t ret)
{
	(void)call;
	text_addf(&out, " =");
	show_value(ret);
	text_addf(&out, errno ? " errno\n" : "\n");
}

/* The library */

static int query_qp(struct ibv_qp *of, struct ibv_qp_attr *attr, int mask,
		    struct ibv_qp_init_attr *init)
{
	assert_ptr_equal(of, &qp);
	assert_int_equal(mask, (1 << 21) - 1);
	*attr = state;
	init->cap.max_send_wr = 33;
	init->qp_type = IBV_QPT_DRIVER;
	return answers.no_query;
}

static int query_srq(struct ibv_srq *of, struct ibv_srq_attr *attr)
{
	assert_ptr_equal(of, &srq);
	attr->max_wr = 44;
	return 0;
}

static struct ibv_qp_ex *find_builders(struct ibv_qp *of)
{
	assert_ptr_equal(of, &qp);
	return has_builders ? &ex : NULL;
}

/* Objects */

static struct attach_object found[16];
static unsigned int nfound;

static void find_object(enum attach_kind kind, const void *at, uint32_t number)
{
	found[nfound++] = (struct attach_object){ (uintptr_t)at,
						  kind == ATTACH_CONTEXT ? 0 : (uintptr_t)context,
						  kind, number };
}

static void find_all(void)
{
	nfound = 0;
	find_object(ATTACH_CONTEXT, context, (uint32_t)context->cmd_fd);
	find_object(ATTACH_MR, &mr, mr.lkey);
	find_object(ATTACH_CQ, &cq, (uint32_t)cq.cqe);
	find_object(ATTACH_QP, &qp, qp.qp_num);
}

/* All functions of @from are ones. */
static void put_functions(void *from, const void *end)
{
	for (void **at = from; (const void *)at < end; at++)
		*at = (void *)query_srq;
}

static int begin_program(void **arg)
{
	(void)arg;
	memset(&answers, 0, sizeof(answers));
	memset(&vctx, 0, sizeof(vctx));
	answers.undo = true;
	context->cmd_fd = 1;
	context->async_fd = 2;
	context->abi_compat = __VERBS_ABI_IS_EXTENDED;
	vctx.sz = sizeof(vctx);
	pd = other_pd = (struct ibv_pd){ .context = context };
	channel = (struct ibv_comp_channel){ .context = context };
	mr = (struct ibv_mr){
		.context = context, .pd = &pd, .addr = (void *)0x1000, .length = 0x77, .lkey = 5
	};
	cq = (struct ibv_cq){
		.context = context, .channel = &channel, .cq_context = (void *)0x99, .cqe = 10
	};
	plain_cq = (struct ibv_cq){ .context = context, .cqe = 20 };
	srq = (struct ibv_srq){ .context = context, .pd = &other_pd, .srq_context = (void *)0x98 };
	qp = (struct ibv_qp){ .context = context,
			      .pd = &pd,
			      .send_cq = &cq,
			      .recv_cq = &plain_cq,
			      .srq = &srq,
			      .qp_context = (void *)0x97,
			      .qp_num = 17,
			      .qp_type = IBV_QPT_RC };
	state = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .dest_qp_num = 18 };
	memset(&ex, 0, sizeof(ex));
	put_functions(&ex.wr_atomic_cmp_swp, &ex + 1);
	has_builders = true;
	next_found[VERB_query_qp] = (void *)query_qp;
	next_found[VERB_query_srq] = (void *)query_srq;
	next_found[VERB_qp_to_qp_ex] = (void *)find_builders;
	recorder.generation = recording_generation();
	unsetenv(SESSION_ENV);
	find_all();
	return 0;
}

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void write_found(void)
{
	int fd = open(path_of(ATTACH_OBJECTS), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	size_t bytes = nfound * sizeof(*found);

	assert_int_equal(write(fd, found, bytes), bytes);
	close(fd);
}

static int32_t begin_recording(const char *what)
{
	struct attach_request r = { .version = ATTACH_VERSION,
				    .result = ATTACH_PENDING,
				    .dir = "the session",
				    .bytes = nfound * sizeof(*found) };

	text_addf(&out, "%s\n", what);
	write_found();
	errno = ERANGE;
	verbatim_attach_begin(&r);
	assert_int_equal(errno, ERANGE);
	text_addf(&out, "\tresult %d\n", r.result);
	unlink(path_of(ATTACH_OBJECTS));
	return r.result;
}

FIXTURE(begin_program, NULL);

static int begin_folder(void **arg)
{
	(void)arg;
	snprintf(folder, sizeof(folder), "%s/verbatim-test-XXXXXX", getenv("TMPDIR") ?: "/tmp");
	return mkdtemp(folder) ? 0 : -1;
}

static int end_folder(void **arg)
{
	(void)arg;
	return rmdir(folder);
}

GROUP(begin_folder, end_folder);

static void begin_in_states(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	char what[64];

	for (int type = 0; type < 3; type++)
		for (int at = IBV_QPS_RESET; at <= IBV_QPS_ERR; at++) {
			begin_program(NULL);
			nfound = 0;
			find_object(ATTACH_QP, &qp, qp.qp_num);
			qp.qp_type = types[type];
			state.qp_state = (enum ibv_qp_state)at;
			snprintf(what, sizeof(what), "type %d, state %d", types[type], at);
			begin_recording(what);
		}
}

static void begin_without(void)
{
	answers.no_query = EINVAL;
	answers.no_patch = answers.no_watch = -1;
	begin_recording("nothing can be queried or patched");
	begin_program(NULL);
	next_found[VERB_query_srq] = (void *)find_builders; /* not called: no SRQ */
	qp.srq = NULL;
	qp.recv_cq = qp.send_cq;
	cq.channel = NULL;
	has_builders = false;
	begin_recording("no shared receive queue, no channel, one CQ, no builders");
	begin_program(NULL);
	qp.pd = NULL;
	qp.send_cq = qp.recv_cq = NULL;
	mr.pd = NULL;
	ex.wr_start = NULL;
	begin_recording("no protection domain, no CQ, builders that do not start");
	begin_program(NULL);
	ex.wr_send = (void *)&ex;
	begin_recording("a builder that is no function");
	begin_program(NULL);
	mr.pd = &other_pd;
	plain_cq.channel = &channel;
	find_object(ATTACH_CQ, &plain_cq, (uint32_t)plain_cq.cqe);
	find_object(ATTACH_MR, &mr, mr.lkey);
	begin_recording("objects that others share");
	nfound = 0;
	begin_recording("no objects");
}

/* Each change is of one object, which is not written then. */
static void begin_with_changes(void)
{
	struct ibv_pd closed = { 0 };
	struct ibv_mr *const gone = (void *)8;

#define CHANGE(change)       \
	begin_program(NULL); \
	change;              \
	begin_recording(#change)
	CHANGE(context->cmd_fd = 0);
	CHANGE(context->cmd_fd = 999; found[0].number = 999);
	CHANGE(context->ops.poll_cq = (void *)&cq);
	CHANGE(context->ops.poll_cq = (void *)query_srq);
	CHANGE(vctx.query_device_ex = (void *)&cq);
	CHANGE(vctx._ABI_placeholder3 = (uintptr_t)&cq);
	CHANGE(vctx.sz = 0);
	CHANGE(vctx.sz = sizeof(vctx) - sizeof(void *); *(void **)&vctx = &cq);
	CHANGE(*(void **)&vctx = &cq);
	CHANGE(context->abi_compat = NULL; vctx.sz = 0; *(void **)&vctx = &cq);
	CHANGE(found[0].at = 8);
	CHANGE(mr.lkey++);
	CHANGE(mr.context = (void *)&vctx.sz);
	CHANGE(mr.pd = &closed);
	CHANGE(mr.pd = (void *)gone);
	CHANGE(found[1].at = 8);
	CHANGE(cq.cqe++; qp.send_cq = &plain_cq);
	CHANGE(channel.context = NULL; qp.send_cq = &plain_cq);
	CHANGE(found[2].at = 8);
	CHANGE(found[2].context++);
	CHANGE(qp.qp_num++);
	CHANGE(qp.context = NULL);
	CHANGE(other_pd = closed; qp.pd = &other_pd);
	CHANGE(qp.send_cq = (void *)&closed);
	CHANGE(qp.recv_cq = (void *)&closed);
	CHANGE(srq.context = NULL);
	CHANGE(found[3].at = 8);
	CHANGE(found[3].kind = 9);
#undef CHANGE
}

static void refuse_recording(void)
{
	struct attach_request r = { .version = ATTACH_VERSION + 1, .dir = "other" };

	text_addf(&out, "another version\n");
	verbatim_attach_begin(&r);
	text_addf(&out, "\tresult %d\n", r.result);
	setenv(SESSION_ENV, "x", 1);
	begin_recording("a session, and recorded before");
	answers.undo = false;
	begin_recording("a session of its own");
	setenv(SESSION_ENV, "", 1);
	begin_recording("an empty name of a session");
	unsetenv(SESSION_ENV);
	answers.on = true;
	begin_recording("recorded, and nobody reads it");
	answers.collector = true;
	begin_recording("recorded");
	answers.on = false;
	begin_recording("it was recorded");
	recorder.generation = recording_generation() + 1;
	begin_recording("no session can be joined");
	begin_program(NULL);
	write_found();
	r = (struct attach_request){ .version = ATTACH_VERSION, .bytes = sizeof(found) };
	unlink(path_of(ATTACH_OBJECTS));
	text_addf(&out, "no file of objects\n");
	verbatim_attach_begin(&r);
	text_addf(&out, "\tresult %d\n", r.result);
}

static void release_rings(const char *what, uint32_t ninside)
{
	struct attach_request r = { .result = ATTACH_PENDING,
				    .ninside = ninside,
				    .inside = { 2, 4 } };

	text_addf(&out, "%s\n", what);
	errno = ERANGE;
	verbatim_attach_release(&r);
	assert_int_equal(errno, ERANGE);
	text_addf(&out, "\tresult %d\n", r.result);
}

static void end_recording(void)
{
	struct attach_request r = { .result = ATTACH_PENDING };

	text_addf(&out, "end\n");
	errno = ERANGE;
	verbatim_attach_end(&r);
	assert_int_equal(errno, ERANGE);
	text_addf(&out, "\tresult %d\n", r.result);
	release_rings("release while it is recorded", 0);
	answers.over = true;
	answers.rings = 3;
	release_rings("release", 0);
	release_rings("two threads are inside", 2);
	release_rings("too many threads are inside", ATTACH_INSIDE + 1);
	answers.undo = false;
	release_rings("a program that was recorded from its start", 0);
}

TEST(calls_are_those_of_the_transcript)
{
	begin_recording("all objects");
	begin_in_states();
	begin_without();
	begin_with_changes();
	begin_program(NULL);
	refuse_recording();
	end_recording();
	transcript_expect(__FILE__, &out);
}
