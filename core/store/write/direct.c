/*
 * Calls of providers' own functions, which bypass the verbs
 *
 * Each call is an event. The trace has one row of table `coverage` for each function and process,
 * with the time of the first call and the number of calls. The row is added at the first call, and
 * its number of calls is updated at each flush.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/write/writer_priv.h"

enum { NAME = 64, DIRECTS_MAX = 1 << 14 /* maximum functions, of all processes */ };

struct direct_call {
	uint32_t process;
	enum event_direct_how how;
	char name[NAME];
	int64_t row;
	uint64_t times;
	bool dirty;
};

static struct direct_call *find_direct(struct writer *writer, uint32_t process,
				       enum event_direct_how how, const char *name)
{
	for (size_t i = 0; i < writer->ndirects; i++) {
		struct direct_call *d = &writer->directs[i];

		if (d->process == process && d->how == how && !strcmp(d->name, name))
			return d;
	}
	return NULL;
}

static struct direct_call *add_direct(struct writer *writer)
{
	return vec_push(writer->directs, writer->ndirects);
}

int direct_add_call(struct writer *writer, struct thread_log *log, const struct event_direct *event,
		    uint64_t n, int64_t time)
{
	static const char *const what[DIRECT_HOWS] = {
		[DIRECT_CALLED] = "direct",
		[DIRECT_LINKED] = "direct-linked",
	};
	struct direct_call *d;
	char name[NAME];

	if (event->head.words * 8u < sizeof(*event) || event->how >= DIRECT_HOWS ||
	    event->bytes >= NAME || event->bytes > event->head.words * 8u - sizeof(*event))
		return -EBADMSG;
	memcpy(name, event + 1, event->bytes);
	name[event->bytes] = '\0';
	d = find_direct(writer, log->process, (enum event_direct_how)event->how, name);
	if (d) {
		d->times++;
		d->dirty = true;
		return 0;
	}
	if (writer->ndirects == DIRECTS_MAX)
		return -EBADMSG;
	d = add_direct(writer);
	if (!d)
		return writer_fail(writer, -ENOMEM);
	d->process = log->process;
	d->how = (enum event_direct_how)event->how;
	strcpy(d->name, name);
	d->times = 1;
	if (writer_cover(writer, log, n, time, what[event->how], 0, name))
		return writer->err;
	d->row = sqlite3_last_insert_rowid(writer->db);
	if (writer->on_direct && event->how == DIRECT_CALLED)
		writer->on_direct(writer->direct_arg, name, log->process);
	return 0;
}

void writer_on_direct(struct writer *writer,
		      void (*each)(void *arg, const char *function, uint32_t process), void *arg)
{
	writer->on_direct = each;
	writer->direct_arg = arg;
}

void direct_forget(struct writer *writer, uint32_t process)
{
	size_t left = 0;

	for (size_t i = 0; i < writer->ndirects; i++)
		if (writer->directs[i].process != process)
			writer->directs[left++] = writer->directs[i];
	writer->ndirects = left;
}

int direct_flush(struct writer *writer)
{
	for (size_t i = 0; i < writer->ndirects && !writer->err; i++) {
		struct direct_call *d = &writer->directs[i];

		if (d->dirty)
			WRITER_RUN(writer, coverage_times, "ii", d->row, d->times);
		d->dirty = false;
	}
	return writer->err;
}
