/*
 * cli/lake/parquet.c: the size of a trace as Parquet.
 *
 * The times of a recorded program are as large as the machine was busy, and their bits are most of
 * what a request takes: here they are made, those of a pingpong on a machine with a processor for
 * each process.
 */
#include "cli/lake/lake.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/folder.h"
#include "cli/options.h"
#include "tests/analyzer/ends.h"
#include "tests/test.h"

enum { MESSAGES = 4000, DEPTH = 8, JITTER_NS = 512, PAUSE_NS = 20000, EACH = 97 };

static void post_one(struct story *s, int end, enum verb verb, uint64_t wr_id)
{
	const struct event_sge sge = { AT, 8, ends[end].mr.lkey };

	story_post(s, end, verb, &ends[end].qp, wr_id, verb == VERB_post_recv ? 0 : IBV_WR_SEND,
		   sge);
}

static void poll_one(struct story *s, int end, uint64_t wr_id, int opcode)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct ibv_wc *wc = (struct ibv_wc *)(event + 1);

	event->cq = W(&ends[end].cq);
	event->ret = 1;
	event->nwc = 1;
	*wc = (struct ibv_wc){
		.wr_id = wr_id, .opcode = opcode, .byte_len = 8, .qp_num = ends[end].qp.qp_num
	};
	story_event(s, end, EVENT_POLL, (sizeof(*event) + sizeof(*wc) + 7) / 8);
}

/* Some time, always the same. */
static void let_pass(struct story *s)
{
	static uint32_t random = 1;

	random = random * 1664525 + 1013904223;
	s->now += (random >> 8) % JITTER_NS + ((random >> 20) % EACH ? 0 : PAUSE_NS);
}

static void send_message(struct story *s, int from, uint64_t number)
{
	post_one(s, from, VERB_post_send, 2);
	let_pass(s);
	poll_one(s, 1 - from, 1, IBV_WC_RECV);
	let_pass(s);
	poll_one(s, from, 2, IBV_WC_SEND);
	if (number + DEPTH < MESSAGES)
		post_one(s, 1 - from, VERB_post_recv, 1);
}

static void record_pingpong(struct story *s)
{
	begin_story(s);
	for (int i = 0; i < 2 * DEPTH; i++)
		post_one(s, i & 1, VERB_post_recv, 1);
	for (uint64_t i = 0; i < MESSAGES; i++)
		for (int from = 0; from < 2; from++)
			send_message(s, from, i);
	story_exit(s, STORY_PID, 0);
	story_exit(s, PEER, 0);
	story_check(s, NULL);
}

/* The bytes of all files below a folder. */
static size_t size_below(const char *path)
{
	char each[4096];
	size_t size = 0;
	struct dirent *entry;
	struct stat stat;
	DIR *dir = opendir(path);

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(each, sizeof(each), "%s/%s", path, entry->d_name);
		assert_int_equal(lstat(each, &stat), 0);
		size += S_ISDIR(stat.st_mode) ? size_below(each) : (size_t)stat.st_size;
	}
	closedir(dir);
	return size;
}

TEST(a_request_takes_at_most_8_bytes_of_parquet)
{
	struct arguments arguments = { .n = 1 };
	char requests[PATH_MAX + 16], *path;
	struct folder to;
	struct story s;

	record_pingpong(&s);
	path = s.path;
	arguments.at = &path;
	snprintf(to.path, sizeof(to.path), "%s.parquet", s.path);
	snprintf(requests, sizeof(requests), "%s/requests", to.path);
	assert_int_equal(lake_export(&parquet_format, &arguments, to.path), 0);
	assert_in_range(size_below(requests), 4 * 4 * MESSAGES, 8 * 4 * MESSAGES);
	folder_remove(&to);
	story_end(&s);
}
