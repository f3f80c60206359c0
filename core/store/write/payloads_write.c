/*
 * Writing payloads into the trace, as chunks of table payload_chunk
 */
#include <errno.h>
#include <stdlib.h>

#include "core/store/write/writer_priv.h"
#include "core/wire/log.h"
#include "core/wire/payload.h"

static int store_chunk(struct writer *writer, struct thread_log *log)
{
	const struct payload_rows *ready = &log->payloads.ready;
	uint64_t first = UINT64_MAX, last = 0;
	int64_t begin = INT64_MAX, end = INT64_MIN;
	size_t size;
	uint8_t *data;

	if (payload_pack(ready, &data, &size))
		return writer_fail(writer, log_err(-ENOMEM, "pack %zu payloads", ready->nrows));
	for (size_t i = 0; i < ready->nrows; i++) {
		const struct payload_row *row = &ready->rows[i];

		first = row->n < first ? row->n : first;
		last = row->n > last ? row->n : last;
		begin = row->time < begin ? row->time : begin;
		end = row->time > end ? row->time : end;
	}
	WRITER_RUN(writer, payload, "uiiiiiib", log->id, first, last, begin, end,
		   (int64_t)ready->nrows, (int64_t)ready->used, data, size);
	free(data);
	writer->chunk_bytes += size;
	writer->kept += size;
	return writer->err;
}

int payloads_flush(struct writer *writer, struct thread_log *log)
{
	if (!log->payloads.ready.nrows || writer->err)
		return writer->err;
	if (!store_chunk(writer, log))
		payload_rows_clear(&log->payloads.ready);
	return writer->err;
}

int payloads_process_event(struct writer *writer, struct thread_log *log,
			   const struct event_head *event, uint64_t n, int64_t time)
{
	const struct payload_rows *ready = &log->payloads.ready;
	int err;

	if (event->words * 8u < sizeof(struct event_post))
		return -EBADMSG;
	err = event->type == EVENT_POST
		      ? payloads_note_post(&log->payloads, (const void *)event, n)
		      : payloads_add_piece(&log->payloads, (const void *)event, n, time);
	if (err == -ENOMEM)
		return writer_fail(writer, log_err(err, "store payload"));
	if (!err && (ready->nrows >= PAYLOAD_ROWS || ready->used >= PAYLOAD_BYTES))
		err = payloads_flush(writer, log);
	return err;
}

/* Note in `coverage` how many payloads are missing or incomplete, by reason. */
int payloads_note_missing(struct writer *writer, struct thread_log *log)
{
	if (payloads_end(&log->payloads))
		return writer_fail(writer, log_err(-ENOMEM, "store payload"));
	for (unsigned int why = 1; why < PAYLOAD_WHYS && !writer->err; why++) {
		uint64_t times = log->payloads.missed[why];

		if (times && !writer_cover(writer, log, log->n, log->last, "payload", 0,
					   payload_why_text(why)))
			WRITER_RUN(writer, coverage_times, "ii",
				   (int64_t)sqlite3_last_insert_rowid(writer->db), times);
	}
	return writer->err;
}
