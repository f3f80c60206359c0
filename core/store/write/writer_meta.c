/*
 * Writing the description of a trace: table `meta` at its beginning, tables `sample`, `counter` and
 * `counter_sample`
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/store/db/file.h"
#include "core/store/write/writer_priv.h"
#include "core/wire/session.h"

int writer_describe_run(struct writer *writer, const struct writer_info *info)
{
	sqlite3 *db = writer->db;
	struct utsname host;
	char boot[64], payload[24], seed[20] = ""; /* empty for an import */
	int err = 0;

	uname(&host);
	if (info->payload.seed)
		snprintf(seed, sizeof(seed), "%016" PRIx64, info->payload.seed);
	file_boot_id(boot);
	const struct {
		const char *key, *value;
	} texts[] = {
		{ "state", "recording" },
		{ "version", VERBATIM_VERSION },
		{ "device", info->device },
		{ "kernel", host.release },
		{ "machine", host.machine },
		{ "recorder_boot", boot },
		{ "clock", writer->clock.kind == CLOCK_KIND_TSC ? "tsc" : "monotonic" },
		{ "sqlite", sqlite3_libversion() },
		{ "filter", info->filter },
		{ "copies_on_fork", info->copies_on_fork },
		{ "memory", info->memory ? "yes" : "" },
		{ "waits", info->waits ? "yes" : "" },
		{ "strict", info->strict ? "yes" : "" },
		{ "thread_ends", "yes" },
		{ "payload_seed", seed },
		{ "payload", payload_text(info->payload.keep, payload) },
	};
	const struct {
		const char *key;
		int64_t value;
	} numbers[] = {
		{ "realtime", (int64_t)writer->clock.realtime },
		{ "clock_start", (int64_t)writer->clock.start },
		{ "clock_mult", (int64_t)writer->clock.mult },
		{ "clock_shift", writer->clock.shift },
		{ "recorder", getpid() },
		{ "recorder_start", (int64_t)session_process_start(getpid()) },
		{ "fingerprint", (int64_t)verbs_fingerprint },
		{ "one_of", info->one_of ? info->one_of : 1 },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && !err; i++)
		err = schema_set_meta(db, texts[i].key, texts[i].value ? texts[i].value : "");
	if (!err)
		err = schema_set_meta(db, "command",
				      writer_redact_text(writer, WRITER_COMMAND, info->command));
	if (!err)
		err = schema_set_meta(db, "host",
				      writer_redact_text(writer, WRITER_HOST, host.nodename));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers) && !err; i++)
		err = schema_set_meta_int(db, numbers[i].key, numbers[i].value);
	return err;
}

int writer_store_counter(struct writer *writer, const struct stored_counter *c)
{
	return WRITER_RUN(writer, counter, "tuttii", c->device, c->port, c->folder, c->name,
			  (int64_t)c->first, (int64_t)c->last);
}

int writer_store_counter_sample(struct writer *writer, const struct stored_counter_sample *s)
{
	return WRITER_RUN(writer, counter_sample, "tuttii", s->device, s->port, s->folder, s->name,
			  s->time, (int64_t)s->value);
}

int writer_store_sample(struct writer *writer, const struct stored_sample *s)
{
	return WRITER_RUN(writer, sample, "uittt", s->thread, s->time, s->doing, s->state,
			  s->wchan);
}

int writer_set_until(struct writer *writer, int64_t time)
{
	return writer_fail(writer, schema_set_meta_int(writer->db, "until", time));
}
