/*
 * The life of requests for a page
 *
 * 	"lanes": {"requests": 800000, "kept": 12288,
 * 		"runs": [[from, to], ...],		periods in which all requests are stored
 * 		"threads": [{"id", "process", "tid", "comm"}, ...],
 * 		"queues": [{"object", "name", "process"}, ...],
 * 		"statuses": {"10": "IBV_WC_REM_ACCESS_ERR", ...},
 * 		"opcodes": {"0": "RDMA_WRITE", ...},
 * 		"rows": [[queue, posted, took, opcode, status, bytes, "wr_id",
 * 			  thread, n, index, polling thread, n, sender, message], ...]}
 *
 * A queue and a sender are indices in "queues". -1 is an unknown value; opcode -1 is a receive.
 */
#include "cli/report/page_lanes.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyzer/profile/profile.h"
#include "analyzer/report/report.h"
#include "core/base/map.h"
#include "core/base/vec.h"

enum { STATUS_MOST = 23, THREADS = 400 };

/* Objects, numbered in the order in which they are first used. */
struct named_objects {
	struct map index;
	uint32_t *objects;
	size_t n;
};

static int64_t find_index(struct named_objects *named, uint32_t object)
{
	uint64_t at;
	uint32_t *slot;

	if (!object)
		return -1;
	if (map_get(&named->index, object, &at))
		return (int64_t)at;
	slot = vec_push(named->objects, named->n);
	if (!slot || map_put(&named->index, object, named->n - 1))
		return -1;
	*slot = object;
	return (int64_t)named->n - 1;
}

static void put_request(struct json *json, struct named_objects *named,
			const struct lane_request *request)
{
	char wr_id[24];

	json_open(json, NULL, '[');
	json_put_int(json, NULL, find_index(named, request->queue));
	json_put_int(json, NULL, request->posted);
	json_put_int(json, NULL, request->ended < 0 ? -1 : request->ended - request->posted);
	json_put_int(json, NULL, request->opcode);
	json_put_int(json, NULL, request->status);
	json_put_uint(json, NULL, request->bytes);
	snprintf(wr_id, sizeof(wr_id), "0x%llx", (unsigned long long)request->wr_id);
	json_put_text(json, NULL, wr_id);
	json_put_uint(json, NULL, request->post.thread);
	json_put_uint(json, NULL, request->post.n);
	json_put_uint(json, NULL, request->index);
	json_put_uint(json, NULL, request->poll.thread);
	json_put_uint(json, NULL, request->poll.n);
	json_put_int(json, NULL, find_index(named, request->sender));
	json_put_uint(json, NULL, request->message);
	json_close(json, ']');
}

static void put_rows(struct json *json, struct named_objects *named, const struct lanes *lanes)
{
	json_open(json, "rows", '[');
	for (const struct lanes_block *block = NULL; (block = lanes_next(lanes, block));)
		for (uint32_t i = 0; i < block->used; i++)
			put_request(json, named, &block->at[i]);
	json_close(json, ']');
}

/* Add the runs: consecutive blocks are one run. */
static void put_runs(struct json *json, const struct lanes *lanes)
{
	const struct lanes_block *first = NULL, *last = NULL;

	json_open(json, "runs", '[');
	for (const struct lanes_block *block = NULL; (block = lanes_next(lanes, block));
	     last = block) {
		if (last && block->number == last->number + 1)
			continue;
		if (last) {
			json_put_int(json, NULL, last->at[last->used - 1].posted);
			json_close(json, ']');
		}
		first = block;
		json_open(json, NULL, '[');
		json_put_int(json, NULL, first->at[0].posted);
	}
	if (last) {
		json_put_int(json, NULL, last->at[last->used - 1].posted);
		json_close(json, ']');
	}
	json_close(json, ']');
}

static void put_queues(struct json *json, struct trace *trace, const struct named_objects *named)
{
	json_open(json, "queues", '[');
	for (size_t i = 0; i < named->n; i++) {
		const struct object *object = trace_object(trace, named->objects[i]);

		json_open(json, NULL, '{');
		json_put_uint(json, "object", named->objects[i]);
		json_put_text(json, "name", object ? object->name : NULL);
		json_put_uint(json, "process", object ? object->process : 0);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_threads(struct json *json, struct trace *trace)
{
	const struct thread *thread;

	json_open(json, "threads", '[');
	for (uint32_t id = 1; id <= THREADS && (thread = trace_thread(trace, id)); id++) {
		json_open(json, NULL, '{');
		json_put_uint(json, "id", id);
		json_put_uint(json, "process", thread->process);
		json_put_int(json, "tid", thread->tid);
		json_put_text(json, "comm", thread->comm);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_names(struct json *json)
{
	char number[16];

	json_open(json, "opcodes", '{');
	for (unsigned int i = 0; i < PROFILE_OPCODES; i++) {
		snprintf(number, sizeof(number), "%u", i);
		json_put_text(json, number, profile_opcode_name(i));
	}
	json_close(json, '}');
	json_open(json, "statuses", '{');
	for (int i = 0; i <= STATUS_MOST; i++) {
		char name[32];

		snprintf(number, sizeof(number), "%d", i);
		json_put_text(json, number, report_status(i, name));
	}
	json_close(json, '}');
}

void page_lanes_put(struct json *json, struct trace *trace, const struct lanes *lanes)
{
	struct named_objects named = { .n = 0 };
	uint64_t kept = 0;

	for (const struct lanes_block *block = NULL; (block = lanes_next(lanes, block));)
		kept += block->used;
	json_open(json, "lanes", '{');
	json_put_uint(json, "requests", lanes_count(lanes));
	json_put_uint(json, "kept", kept);
	put_runs(json, lanes);
	put_rows(json, &named, lanes);
	put_queues(json, trace, &named);
	put_threads(json, trace);
	put_names(json);
	json_close(json, '}');
	free(named.objects);
	map_fini(&named.index);
}
