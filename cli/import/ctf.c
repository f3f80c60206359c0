/*
 * CTF by babeltrace2
 *
 * 	DIR/.../metadata -> source.ctf.fs --\
 * 	DIR/.../metadata -> source.ctf.fs ---> filter.utils.muxer -> sink (ours)
 *
 * A directory with a file `metadata` is a trace; a session of LTTng has one for each user, or for
 * each process. The muxer puts all their streams in the order of time.
 *
 * Not here: the processing of the events (import.c).
 */
#include "cli/import/ctf.h"

#include <babeltrace2/babeltrace.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/import/confined.h"
#include "core/base/library.h"
#include "core/base/vec.h"
#include "core/wire/log.h"

/* clang-format off */
#define CTF_LIB(X) \
	X(bt_component_filter_borrow_input_port_by_index_const) \
	X(bt_component_filter_borrow_output_port_by_index_const) \
	X(bt_component_sink_borrow_input_port_by_index_const) \
	X(bt_component_source_borrow_output_port_by_index_const) \
	X(bt_component_source_get_output_port_count) \
	X(bt_current_thread_take_error) \
	X(bt_error_borrow_cause_by_index) \
	X(bt_error_cause_get_message) \
	X(bt_error_get_cause_count) \
	X(bt_error_release) \
	X(bt_event_borrow_class_const) \
	X(bt_event_borrow_payload_field_const) \
	X(bt_event_class_get_name) \
	X(bt_field_array_borrow_element_field_by_index_const) \
	X(bt_field_array_get_length) \
	X(bt_field_get_class_type) \
	X(bt_field_integer_unsigned_get_value) \
	X(bt_field_structure_borrow_member_field_by_name_const) \
	X(bt_graph_add_filter_component) \
	X(bt_graph_add_simple_sink_component) \
	X(bt_graph_add_source_component) \
	X(bt_graph_connect_ports) \
	X(bt_graph_create) \
	X(bt_graph_put_ref) \
	X(bt_graph_run) \
	X(bt_logging_set_global_level) \
	X(bt_message_discarded_events_get_count) \
	X(bt_message_event_borrow_event_const) \
	X(bt_message_get_type) \
	X(bt_message_iterator_next) \
	X(bt_message_put_ref) \
	X(bt_plugin_borrow_filter_component_class_by_name_const) \
	X(bt_plugin_borrow_source_component_class_by_name_const) \
	X(bt_plugin_find) \
	X(bt_plugin_put_ref) \
	X(bt_value_array_append_string_element) \
	X(bt_value_map_create) \
	X(bt_value_map_insert_empty_array_entry) \
	X(bt_value_put_ref)
/* clang-format on */

static LIBRARY(CTF_LIB) lib;

#define PREFIX "verbatim:"

struct reader {
	const struct ctf_visitor *visitor;
	bt_graph *graph;
	const bt_component_filter *muxer;
	uint64_t inputs; /* of the muxer, connected */
	int64_t open;    /* streams and packets that have begun and not ended */
	uint64_t *raw;
	size_t raw_size;   /* words */
	uint64_t messages; /* messages so far */
	int status;        /* what the visitor returned, or -ENOMEM */
};

/* For a failure that errno's text does not describe. */
#define complain(err, ...) (log_note(__VA_ARGS__), (err))

static int load_babeltrace(void)
{
	static const char *const names[] = { CTF_LIB(LIBRARY_NAME) NULL };
	const char *why = library_load("libbabeltrace2.so.0", names, lib.functions);

	return why ? complain(-ENOPKG, "install babeltrace2, which reads CTF: %s", why) : 0;
}

/* How each packet of `metadata` begins (CTF 1.8, 7.1), in LTTng's byte order: this machine's. */
struct packet {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t checksum;
	uint32_t content_bits, packet_bits;
	uint8_t compression, encryption, checksum_kind, major, minor;
} __attribute__((packed));

enum {
	PACKET_MAGIC = 0x75d11d57,
	MESSAGES = 1 << 20, /* limit of messages that are not events */
};

/* babeltrace2 2.0 never stops reading metadata that is truncated. */
static bool metadata_is_whole(const char *dir)
{
	struct packet packet = { .magic = PACKET_MAGIC };
	char path[PATH_MAX];
	long at = 0, size;
	FILE *file;

	snprintf(path, sizeof(path), "%s/metadata", dir);
	file = fopen(path, "re");
	if (!file)
		return false;
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	while (at < size && packet.magic == PACKET_MAGIC) {
		if (fseek(file, at, SEEK_SET) || fread(&packet, sizeof(packet), 1, file) != 1 ||
		    packet.magic != PACKET_MAGIC || packet.packet_bits / 8 < sizeof(packet) ||
		    packet.content_bits > packet.packet_bits)
			break;
		at += packet.packet_bits / 8;
	}
	fclose(file);
	/* the parser handles plain text */
	return size > 0 && (at == size || (!at && packet.magic != PACKET_MAGIC));
}

/* a variable, since nftw() passes no argument to its function */
static char **found;
static size_t nfound;
static uint64_t nbytes; /* bytes of all files */

/* The library opens each file that it finds, and would block at a FIFO without a writer. */
static int refuse_special(const char *path, const struct stat *st, int type)
{
	struct stat there;

	if (type == FTW_SL && !stat(path, &there))
		st = &there;
	if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || S_ISLNK(st->st_mode))
		return 0;
	return complain(-EPROTO,
			"%s is neither a file nor a directory: remove it to import the rest", path);
}

static int find_metadata(const char *path, const struct stat *st, int type, struct FTW *at)
{
	int err = refuse_special(path, st, type);
	char **more;

	if (type == FTW_F)
		nbytes += (uint64_t)st->st_size;
	if (err || type != FTW_F || strcmp(path + at->base, "metadata"))
		return err;
	more = vec_push(found, nfound);
	if (!more)
		return log_err(-ENOMEM, "look for traces");
	*more = strndup(path, at->base > 1 ? (size_t)at->base - 1 : 1);
	return *more ? 0 : log_err(-ENOMEM, "look for traces");
}

static void free_found_paths(void)
{
	for (size_t i = 0; i < nfound; i++)
		free(found[i]);
	free(found);
	found = NULL;
	nfound = 0;
	nbytes = 0;
}

static int find_traces(const char *dir)
{
	struct stat st;
	int err;

	if (stat(dir, &st))
		return log_err(-errno, "open %s", dir);
	err = S_ISDIR(st.st_mode) ? nftw(dir, find_metadata, 16, FTW_PHYS) : 0;
	if (err)
		return err < -1 ? err : log_err(-errno, "look for traces in %s", dir);
	if (!nfound)
		return complain(-EPROTO,
				"%s has no CTF trace (a directory with a file 'metadata'): give "
				"the DIR of 'lttng create --output=DIR'",
				dir);
	return 0;
}

static const bt_field *find_member(const bt_field *payload, const char *name)
{
	return lib.bt_field_structure_borrow_member_field_by_name_const(payload, name);
}

static uint64_t member_number(const bt_field *payload, const char *name)
{
	const bt_field *field = find_member(payload, name);

	if (!field || !bt_field_class_type_is(lib.bt_field_get_class_type(field),
					      BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		return 0;
	return lib.bt_field_integer_unsigned_get_value(field);
}

static int read_raw_field(struct reader *reader, const bt_field *payload, struct ctf_event *event)
{
	const bt_field *field = find_member(payload, "raw");

	if (!field ||
	    !bt_field_class_type_is(lib.bt_field_get_class_type(field), BT_FIELD_CLASS_TYPE_ARRAY))
		return 0;
	event->words = lib.bt_field_array_get_length(field);
	if (event->words > reader->raw_size) {
		uint64_t *more = realloc(reader->raw, event->words * 8);

		if (!more)
			return -ENOMEM;
		reader->raw = more;
		reader->raw_size = event->words;
	}
	for (size_t i = 0; i < event->words; i++) {
		const bt_field *word =
			lib.bt_field_array_borrow_element_field_by_index_const(field, i);

		if (!bt_field_class_type_is(lib.bt_field_get_class_type(word),
					    BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
			return 0;
		reader->raw[i] = lib.bt_field_integer_unsigned_get_value(word);
	}
	event->raw = reader->raw;
	return 0;
}

static int read_ctf_event(struct reader *reader, const bt_message *message)
{
	const bt_event *from = lib.bt_message_event_borrow_event_const(message);
	const char *name = lib.bt_event_class_get_name(lib.bt_event_borrow_class_const(from));
	const bt_field *payload = lib.bt_event_borrow_payload_field_const(from);
	struct ctf_event event = { 0 };
	int err;

	if (!name || !payload || strncmp(name, PREFIX, strlen(PREFIX)))
		return 0;
	event.name = name + strlen(PREFIX);
	event.pid = (uint32_t)member_number(payload, "pid");
	event.tid = (uint32_t)member_number(payload, "tid");
	event.seq = (uint32_t)member_number(payload, "seq");
	event.since = member_number(payload, "since");
	event.time = member_number(payload, "time");
	event.start = member_number(payload, "start");
	event.realtime = member_number(payload, "realtime");
	event.fingerprint = member_number(payload, "fingerprint");
	event.fork_time = member_number(payload, "fork_time");
	err = read_raw_field(reader, payload, &event);
	return err ? err : reader->visitor->event(reader->visitor->arg, &event);
}

static int read_ctf_message(struct reader *reader, const bt_message *message)
{
	uint64_t n;

	switch (lib.bt_message_get_type(message)) {
	case BT_MESSAGE_TYPE_EVENT:
		return read_ctf_event(reader, message);
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		if (lib.bt_message_discarded_events_get_count(message, &n) !=
		    BT_PROPERTY_AVAILABILITY_AVAILABLE)
			n = 1;
		return reader->visitor->discarded(reader->visitor->arg, n);
	case BT_MESSAGE_TYPE_STREAM_BEGINNING:
	case BT_MESSAGE_TYPE_PACKET_BEGINNING:
		reader->open++;
		return 0;
	case BT_MESSAGE_TYPE_STREAM_END:
	case BT_MESSAGE_TYPE_PACKET_END:
		reader->open--;
		return 0;
	default:
		return 0;
	}
}

static bt_graph_simple_sink_component_consume_func_status
consume_messages(bt_message_iterator *messages, void *arg)
{
	struct reader *reader = arg;
	bt_message_array_const batch;
	uint64_t n;
	bt_message_iterator_next_status status = lib.bt_message_iterator_next(messages, &batch, &n);

	if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
		return (bt_graph_simple_sink_component_consume_func_status)status;
	confined_note_progress();
	reader->messages += n;
	/* damaged metadata may declare events of 0 bits: these never end */
	if (!reader->status && reader->messages > MESSAGES + 8 * nbytes)
		reader->status = complain(-EBADMSG, "the CTF is damaged: it has more events than "
						    "bits");
	for (uint64_t i = 0; i < n; i++) {
		if (!reader->status)
			reader->status = read_ctf_message(reader, batch[i]);
		lib.bt_message_put_ref(batch[i]);
	}
	return reader->status ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END
			      : BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

/* The plugin's component class lives as long as the plugin: forever. */
static const bt_plugin *find_plugin(const char *name)
{
	const bt_plugin *found_plugin = NULL;

	if (lib.bt_plugin_find(name, BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE,
			       &found_plugin) != BT_PLUGIN_FIND_STATUS_OK)
		return NULL;
	return found_plugin;
}

static bool connect_ports(struct reader *reader, const bt_component_source *source)
{
	uint64_t n = lib.bt_component_source_get_output_port_count(source);

	for (uint64_t i = 0; i < n; i++) {
		const bt_port_output *out =
			lib.bt_component_source_borrow_output_port_by_index_const(source, i);
		const bt_port_input *in = lib.bt_component_filter_borrow_input_port_by_index_const(
			reader->muxer, reader->inputs++);

		if (lib.bt_graph_connect_ports(reader->graph, out, in, NULL) !=
		    BT_GRAPH_CONNECT_PORTS_STATUS_OK)
			return false;
	}
	return true;
}

static bool add_trace(struct reader *reader, const bt_component_class_source *class,
		      const char *dir)
{
	const bt_component_source *source = NULL;
	bt_value *params = lib.bt_value_map_create(), *dirs = NULL;
	bool ok = params && !lib.bt_value_map_insert_empty_array_entry(params, "inputs", &dirs) &&
		  !lib.bt_value_array_append_string_element(dirs, dir) &&
		  !lib.bt_graph_add_source_component(reader->graph, class, dir, params,
						     BT_LOGGING_LEVEL_NONE, &source) &&
		  connect_ports(reader, source);

	lib.bt_value_put_ref(params);
	return ok;
}

static bool add_muxer(struct reader *reader, const bt_plugin *utils)
{
	const bt_component_class_filter *class =
		utils ? lib.bt_plugin_borrow_filter_component_class_by_name_const(utils, "muxer")
		      : NULL;

	return class && !lib.bt_graph_add_filter_component(reader->graph, class, "muxer", NULL,
							   BT_LOGGING_LEVEL_NONE, &reader->muxer);
}

static bool add_sink(struct reader *reader)
{
	const bt_component_sink *sink;

	return !lib.bt_graph_add_simple_sink_component(reader->graph, "events", NULL,
						       consume_messages, NULL, reader, &sink) &&
	       !lib.bt_graph_connect_ports(
		       reader->graph,
		       lib.bt_component_filter_borrow_output_port_by_index_const(reader->muxer, 0),
		       lib.bt_component_sink_borrow_input_port_by_index_const(sink, 0), NULL);
}

/* Report the first cause that babeltrace2 names, in one line. */
static int report_failure(const char *what)
{
	const bt_error *error = lib.bt_current_thread_take_error();
	const char *cause = error && lib.bt_error_get_cause_count(error)
				    ? lib.bt_error_cause_get_message(
					      lib.bt_error_borrow_cause_by_index(error, 0))
				    : "damaged";

	log_note("%s is truncated or damaged: %s", what, cause);
	if (error)
		lib.bt_error_release(error);
	return -EBADMSG;
}

static int run_graph(struct reader *reader, const char *dir)
{
	bt_graph_run_status status;

	do
		status = lib.bt_graph_run(reader->graph);
	while (status == BT_GRAPH_RUN_STATUS_AGAIN);
	if (reader->status)
		return reader->status;
	/* 2.0 ends the stream without an error on some damage */
	return status == BT_GRAPH_RUN_STATUS_OK && !reader->open ? 0 : report_failure(dir);
}

static int read_found_traces(struct reader *reader, const char *dir)
{
	const bt_plugin *ctf = find_plugin("ctf"), *utils = find_plugin("utils");
	const bt_component_class_source *class =
		ctf ? lib.bt_plugin_borrow_source_component_class_by_name_const(ctf, "fs") : NULL;
	int err = 0;

	if (!class || !add_muxer(reader, utils))
		err = complain(-ENOENT, "babeltrace2's plugins 'ctf' and 'utils' are not found; "
					"they come with the package libbabeltrace2-0");
	for (size_t i = 0; i < nfound && !err; i++) {
		if (!metadata_is_whole(found[i]))
			err = complain(-EBADMSG, "%s/metadata is truncated or damaged", found[i]);
		else if (!add_trace(reader, class, found[i]))
			err = report_failure(found[i]);
		confined_note_progress();
	}
	if (!err && reader->inputs && !add_sink(reader))
		err = report_failure(dir);
	if (!err && reader->inputs)
		err = run_graph(reader, dir);
	lib.bt_plugin_put_ref(ctf);
	lib.bt_plugin_put_ref(utils);
	return err;
}

int ctf_read(const char *dir, const struct ctf_visitor *visitor)
{
	struct reader reader = { .visitor = visitor };
	int err = find_traces(dir) ?: load_babeltrace();

	if (err) {
		free_found_paths();
		return err;
	}
	lib.bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
	reader.graph = lib.bt_graph_create(0);
	err = reader.graph ? read_found_traces(&reader, dir) : log_err(-ENOMEM, "read %s", dir);
	lib.bt_graph_put_ref(reader.graph);
	free(reader.raw);
	free_found_paths();
	return err;
}
