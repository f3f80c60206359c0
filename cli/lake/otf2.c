/*
 * Messages and verbs as a trace in the Open Trace Format 2
 *
 * 	location group	a process
 * 	location	a thread, with its control verbs as regions; and the queue pairs of a
 * 			process together, with their requests as operations on one window
 *
 * A request that moves bytes to or from a known peer is RmaPut, RmaGet or RmaAtomic when it was
 * posted, and RmaOpCompleteRemote when its completion, or that of a later request of its queue, was
 * polled. Requests of the same number match. The rank of an operation is the number of the
 * process, from 0.
 *
 * https://perftools.pages.jsc.fz-juelich.de/cicd/otf2/
 * Not here: which requests there are (messages.c).
 */
#include "cli/lake/otf2.h"

#include <errno.h>
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lake/messages.h"
#include "core/base/library.h"
#include "core/base/vec.h"
#include "core/model/operation.h"
#include "core/wire/log.h"

/* clang-format off */
#define OTF2_LIB(X) \
	X(OTF2_Archive_Close) \
	X(OTF2_Archive_CloseDefFiles) \
	X(OTF2_Archive_CloseDefWriter) \
	X(OTF2_Archive_CloseEvtFiles) \
	X(OTF2_Archive_CloseEvtWriter) \
	X(OTF2_Archive_GetDefWriter) \
	X(OTF2_Archive_GetEvtWriter) \
	X(OTF2_Archive_GetGlobalDefWriter) \
	X(OTF2_Archive_Open) \
	X(OTF2_Archive_OpenDefFiles) \
	X(OTF2_Archive_OpenEvtFiles) \
	X(OTF2_Archive_SetFlushCallbacks) \
	X(OTF2_Archive_SetMemoryCallbacks) \
	X(OTF2_Archive_SetSerialCollectiveCallbacks) \
	X(OTF2_EvtWriter_Enter) \
	X(OTF2_EvtWriter_GetNumberOfEvents) \
	X(OTF2_EvtWriter_Leave) \
	X(OTF2_EvtWriter_RmaAtomic) \
	X(OTF2_EvtWriter_RmaGet) \
	X(OTF2_EvtWriter_RmaOpCompleteRemote) \
	X(OTF2_EvtWriter_RmaPut) \
	X(OTF2_EvtWriter_RmaWinCreate) \
	X(OTF2_EvtWriter_RmaWinDestroy) \
	X(OTF2_GlobalDefWriter_WriteClockProperties) \
	X(OTF2_GlobalDefWriter_WriteComm) \
	X(OTF2_GlobalDefWriter_WriteGroup) \
	X(OTF2_GlobalDefWriter_WriteLocation) \
	X(OTF2_GlobalDefWriter_WriteLocationGroup) \
	X(OTF2_GlobalDefWriter_WriteParadigm) \
	X(OTF2_GlobalDefWriter_WriteRegion) \
	X(OTF2_GlobalDefWriter_WriteRmaWin) \
	X(OTF2_GlobalDefWriter_WriteString) \
	X(OTF2_GlobalDefWriter_WriteSystemTreeNode)
/* clang-format on */

static LIBRARY(OTF2_LIB) lib;
static const char *const names[] = { OTF2_LIB(LIBRARY_NAME) NULL };

enum { CHUNK = 256 << 10, PARADIGM = OTF2_PARADIGM_HARDWARE };
enum { WINDOW, GROUP_ALL = 0, GROUP_RANKS, COMM = 0 };

/* A call that has not returned. */
struct open_call {
	uint32_t thread;
	enum verb verb;
};

struct otf2 {
	struct trace *trace;
	OTF2_Archive *archive;
	OTF2_GlobalDefWriter *definitions;
	uint32_t nprocesses, nthreads;
	uint64_t last;         /* the time of the last event */
	OTF2_StringRef string; /* the next */
	struct open_call *calls;
	size_t ncalls;
	bool failed;
};

static void expect_success(struct otf2 *otf2, OTF2_ErrorCode code)
{
	otf2->failed |= code != OTF2_SUCCESS;
}

static OTF2_FlushType flush_always(void *user, OTF2_FileType type, OTF2_LocationRef location,
				   void *caller, bool final)
{
	(void)user;
	(void)type;
	(void)location;
	(void)caller;
	(void) final;
	return OTF2_FLUSH;
}

/*
 * Allocate the only chunk of a buffer (*@buffer): the library flushes a buffer only when it gets no
 * more memory, and would otherwise hold the whole trace in memory.
 */
static void *allocate_chunk(void *user, OTF2_FileType type, OTF2_LocationRef location,
			    void **buffer, uint64_t size)
{
	(void)user;
	(void)type;
	(void)location;
	if (*buffer)
		return NULL;
	*buffer = malloc(size);
	return *buffer;
}

static void free_chunk(void *user, OTF2_FileType type, OTF2_LocationRef location, void **buffer,
		       bool final)
{
	(void)user;
	(void)type;
	(void)location;
	(void) final;
	free(*buffer);
	*buffer = NULL;
}

/* Numbers of locations: threads, from 1, then the queue pairs of each process. */
static OTF2_LocationRef queues_of(const struct otf2 *otf2, uint32_t process)
{
	return otf2->nthreads + process;
}

static OTF2_EvtWriter *writer_of(struct otf2 *otf2, OTF2_LocationRef location)
{
	OTF2_EvtWriter *writer = lib.OTF2_Archive_GetEvtWriter(otf2->archive, location);

	otf2->failed |= !writer;
	return writer;
}

static uint64_t time_of(struct otf2 *otf2, int64_t time)
{
	uint64_t at = time > 0 ? (uint64_t)time : 0;

	otf2->last = at > otf2->last ? at : otf2->last;
	return at;
}

static void put_call(struct otf2 *otf2, const struct trace_event *event)
{
	OTF2_EvtWriter *writer = writer_of(otf2, event->id.thread);
	uint64_t time = time_of(otf2, event->time);

	if (!writer)
		return;
	if (event->kind == TRACE_CALL)
		expect_success(otf2,
			       lib.OTF2_EvtWriter_Enter(writer, NULL, time, event->call->verb));
	else
		expect_success(otf2,
			       lib.OTF2_EvtWriter_Leave(writer, NULL, time, event->call->verb));
}

/* Note a call that begins. Calls that never return end with the trace. */
static void note_call(struct otf2 *otf2, const struct trace_event *event)
{
	struct open_call *call;

	if (event->kind != TRACE_CALL || event->call->end >= 0)
		return;
	call = vec_push(otf2->calls, otf2->ncalls);
	if (call)
		*call = (struct open_call){ event->id.thread, event->call->verb };
	otf2->failed |= !call;
}

static void write_verb_call(void *arg, const struct trace_event *event)
{
	struct otf2 *otf2 = arg;

	if ((event->kind != TRACE_CALL && event->kind != TRACE_RETURN) || event->call->ours)
		return;
	note_call(otf2, event);
	put_call(otf2, event);
}

static bool is_wanted(const struct message *message)
{
	return message->peer && message->process &&
	       (message_puts(message->opcode) || operation_reads(message->opcode));
}

static void write_rma_begin(void *arg, const struct message *message)
{
	struct otf2 *otf2 = arg;
	uint64_t time = time_of(otf2, message->time), id = message->id, bytes = message->bytes;
	uint32_t remote = message->peer - 1;
	OTF2_EvtWriter *writer;

	if (!is_wanted(message))
		return;
	writer = writer_of(otf2, queues_of(otf2, message->process));
	if (!writer)
		return;
	if (message_puts(message->opcode))
		expect_success(otf2, lib.OTF2_EvtWriter_RmaPut(writer, NULL, time, WINDOW, remote,
							       bytes, id));
	else if (message->opcode == ABI_WR_RDMA_READ)
		expect_success(otf2, lib.OTF2_EvtWriter_RmaGet(writer, NULL, time, WINDOW, remote,
							       bytes, id));
	else
		expect_success(otf2, lib.OTF2_EvtWriter_RmaAtomic(
					     writer, NULL, time, WINDOW, remote,
					     message->opcode == ABI_WR_ATOMIC_CMP_AND_SWP
						     ? OTF2_RMA_ATOMIC_TYPE_COMPARE_AND_SWAP
						     : OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ADD,
					     bytes, bytes, id));
}

static void write_rma_end(void *arg, const struct message *message)
{
	struct otf2 *otf2 = arg;
	OTF2_EvtWriter *writer;

	if (!is_wanted(message))
		return;
	writer = writer_of(otf2, queues_of(otf2, message->process));
	if (writer)
		expect_success(otf2, lib.OTF2_EvtWriter_RmaOpCompleteRemote(
					     writer, NULL, time_of(otf2, message->time), WINDOW,
					     message->id));
}

static OTF2_StringRef put_string(struct otf2 *otf2, const char *text)
{
	expect_success(otf2,
		       lib.OTF2_GlobalDefWriter_WriteString(otf2->definitions, otf2->string, text));
	return otf2->string++;
}

static void define_regions(struct otf2 *otf2)
{
	OTF2_StringRef none = put_string(otf2, "");

	for (int verb = 0; verb < VERB_COUNT; verb++) {
		OTF2_StringRef name = put_string(otf2, verb_infos[verb].name);

		expect_success(otf2, lib.OTF2_GlobalDefWriter_WriteRegion(
					     otf2->definitions, (OTF2_RegionRef)verb, name, name,
					     none, OTF2_REGION_ROLE_FUNCTION, PARADIGM,
					     OTF2_REGION_FLAG_NONE, none, 0, 0));
	}
}

/* Close the writer of a location. Returns the number of events written. */
static uint64_t end_location(struct otf2 *otf2, OTF2_LocationRef location)
{
	OTF2_EvtWriter *writer = writer_of(otf2, location);
	OTF2_DefWriter *own = lib.OTF2_Archive_GetDefWriter(otf2->archive, location);
	uint64_t n = 0;

	if (writer) {
		expect_success(otf2, lib.OTF2_EvtWriter_GetNumberOfEvents(writer, &n));
		expect_success(otf2, lib.OTF2_Archive_CloseEvtWriter(otf2->archive, writer));
	}
	if (own)
		expect_success(otf2, lib.OTF2_Archive_CloseDefWriter(otf2->archive, own));
	return n;
}

static void define_location(struct otf2 *otf2, OTF2_LocationRef location, const char *name,
			    uint32_t process)
{
	expect_success(otf2, lib.OTF2_GlobalDefWriter_WriteLocation(
				     otf2->definitions, location, put_string(otf2, name),
				     OTF2_LOCATION_TYPE_CPU_THREAD, end_location(otf2, location),
				     process - 1));
}

/* A node, its processes and their threads. Each process is below a node of its own. */
static void define_process(struct otf2 *otf2, const struct process *process)
{
	char text[PROCESS_TEXT + 32];
	const char *node = *process->rank.node ? process->rank.node : "host";

	expect_success(otf2, lib.OTF2_GlobalDefWriter_WriteSystemTreeNode(
				     otf2->definitions, process->id, put_string(otf2, node),
				     put_string(otf2, "node"), 0));
	process_id_text(process->id, text);
	expect_success(otf2, lib.OTF2_GlobalDefWriter_WriteLocationGroup(
				     otf2->definitions, process->id - 1, put_string(otf2, text),
				     OTF2_LOCATION_GROUP_TYPE_PROCESS, process->id,
				     OTF2_UNDEFINED_LOCATION_GROUP));
	define_location(otf2, queues_of(otf2, process->id), "queue pairs", process->id);
}

static void define_threads(struct otf2 *otf2)
{
	char text[64];

	for (uint32_t id = 1; id <= otf2->nthreads; id++) {
		const struct thread *thread = trace_thread(otf2->trace, id);

		snprintf(text, sizeof(text), "thread %u", thread_number(id));
		define_location(otf2, id, text, thread->process);
	}
}

/* All processes are ranks of one window. */
static void define_window(struct otf2 *otf2)
{
	uint64_t *members = calloc(otf2->nprocesses + 1, sizeof(*members));
	OTF2_StringRef name = put_string(otf2, "queue pairs");

	if (!members) {
		otf2->failed = true;
		return;
	}
	for (uint32_t i = 0; i < otf2->nprocesses; i++)
		members[i] = queues_of(otf2, i + 1);
	expect_success(otf2, lib.OTF2_GlobalDefWriter_WriteGroup(otf2->definitions, GROUP_ALL, name,
								 OTF2_GROUP_TYPE_COMM_LOCATIONS,
								 PARADIGM, OTF2_GROUP_FLAG_NONE,
								 otf2->nprocesses, members));
	for (uint32_t i = 0; i < otf2->nprocesses; i++)
		members[i] = i;
	expect_success(otf2, lib.OTF2_GlobalDefWriter_WriteGroup(otf2->definitions, GROUP_RANKS,
								 name, OTF2_GROUP_TYPE_COMM_GROUP,
								 PARADIGM, OTF2_GROUP_FLAG_NONE,
								 otf2->nprocesses, members));
	expect_success(otf2, lib.OTF2_GlobalDefWriter_WriteComm(otf2->definitions, COMM, name,
								GROUP_RANKS, OTF2_UNDEFINED_COMM,
								OTF2_COMM_FLAG_NONE));
	expect_success(otf2, lib.OTF2_GlobalDefWriter_WriteRmaWin(
				     otf2->definitions, WINDOW, name, COMM,
				     OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS));
	free(members);
}

static void define_all(struct otf2 *otf2)
{
	const char *start = trace_meta(otf2->trace, "realtime");

	otf2->definitions = lib.OTF2_Archive_GetGlobalDefWriter(otf2->archive);
	if (!otf2->definitions) {
		otf2->failed = true;
		return;
	}
	expect_success(otf2, lib.OTF2_Archive_OpenDefFiles(otf2->archive));
	expect_success(otf2, lib.OTF2_GlobalDefWriter_WriteClockProperties(
				     otf2->definitions, 1000000000, 0, otf2->last + 1,
				     start ? strtoull(start, NULL, 10) : OTF2_UNDEFINED_TIMESTAMP));
	define_regions(otf2);
	expect_success(otf2, lib.OTF2_GlobalDefWriter_WriteParadigm(otf2->definitions, PARADIGM,
								    put_string(otf2, "RDMA verbs"),
								    OTF2_PARADIGM_CLASS_PROCESS));
	expect_success(otf2, lib.OTF2_GlobalDefWriter_WriteSystemTreeNode(
				     otf2->definitions, 0, put_string(otf2, "job"),
				     put_string(otf2, "machine"), OTF2_UNDEFINED_SYSTEM_TREE_NODE));
	for (uint32_t id = 1; id <= otf2->nprocesses; id++)
		define_process(otf2, trace_process(otf2->trace, id));
	define_threads(otf2);
	define_window(otf2);
	expect_success(otf2, lib.OTF2_Archive_CloseDefFiles(otf2->archive));
	expect_success(otf2, lib.OTF2_Archive_CloseEvtFiles(otf2->archive));
}

static void begin_windows(struct otf2 *otf2)
{
	for (uint32_t id = 1; id <= otf2->nprocesses && !otf2->failed; id++)
		expect_success(otf2,
			       lib.OTF2_EvtWriter_RmaWinCreate(writer_of(otf2, queues_of(otf2, id)),
							       NULL, 0, WINDOW));
}

static void end_windows(struct otf2 *otf2)
{
	for (uint32_t id = 1; id <= otf2->nprocesses && !otf2->failed; id++)
		expect_success(
			otf2, lib.OTF2_EvtWriter_RmaWinDestroy(writer_of(otf2, queues_of(otf2, id)),
							       NULL, otf2->last, WINDOW));
	while (otf2->ncalls && !otf2->failed) { /* the innermost first */
		const struct open_call *call = &otf2->calls[--otf2->ncalls];

		expect_success(otf2, lib.OTF2_EvtWriter_Leave(writer_of(otf2, call->thread), NULL,
							      otf2->last, call->verb));
	}
}

static int open_archive(struct otf2 *otf2, const char *folder)
{
	static const OTF2_FlushCallbacks callbacks = { .otf2_pre_flush = flush_always };
	static const OTF2_MemoryCallbacks memory = { allocate_chunk, free_chunk };
	const char *why = library_load("libopen-trace-format2.so.10", names, lib.functions);

	if (why)
		return log_err(-ENOENT, "load the library of OTF2: %s", why);
	while (trace_process(otf2->trace, otf2->nprocesses + 1))
		otf2->nprocesses++;
	while (trace_thread(otf2->trace, otf2->nthreads + 1))
		otf2->nthreads++;
	otf2->archive =
		lib.OTF2_Archive_Open(folder, "traces", OTF2_FILEMODE_WRITE, CHUNK, 4 * CHUNK,
				      OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	if (!otf2->archive)
		return log_err(-EIO, "write %s", folder);
	expect_success(otf2, lib.OTF2_Archive_SetFlushCallbacks(otf2->archive, &callbacks, NULL));
	expect_success(otf2, lib.OTF2_Archive_SetMemoryCallbacks(otf2->archive, &memory, NULL));
	expect_success(otf2, lib.OTF2_Archive_SetSerialCollectiveCallbacks(otf2->archive));
	expect_success(otf2, lib.OTF2_Archive_OpenEvtFiles(otf2->archive));
	return 0;
}

int otf2_write(struct trace *trace, const char *folder)
{
	struct otf2 otf2 = { .trace = trace };
	struct messages_callbacks taker = { &otf2, write_verb_call, write_rma_begin,
					    write_rma_end };
	int err = open_archive(&otf2, folder);

	if (err)
		return err;
	begin_windows(&otf2);
	err = messages_read(trace, &taker);
	end_windows(&otf2);
	define_all(&otf2);
	expect_success(&otf2, lib.OTF2_Archive_Close(otf2.archive));
	free(otf2.calls);
	return err ? err : otf2.failed ? log_err(-EIO, "write %s", folder) : 0;
}
