/*
 * The list of data that identifies a machine, a person or a program
 *
 * Not replaced, since they reveal nothing without the machine or the program: times of day, process
 * numbers, addresses in memory, LIDs, QP numbers, keys, wr_ids, immediate data, operands of
 * atomics, build ids, versions.
 */
#include "core/store/anonymise/identity.h"

#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* In the order of core/store/db/schema.c and core/store/chunk/tables.c; without "=": unchanged. */
static const struct {
	const char *table, *columns;
} tables[] = {
	{ "meta", "key value=meta" },
	{ "process", "id pid ppid parent fork_thread fork_n fork_time start end status exe=path "
		     "cmdline=command thread n forked_from fork_seq ending memlock memlock_most "
		     "nofile nofile_most ipc_lock page_size" },
	{ "environ", "process name value=value" },
	{ "thread", "id process tid comm=name events start end" },
	{ "module", "id process base start end path=path build_id serial time" },
	{ "stack", "id process depth modules" },
	{ "frame", "stack i ip module offset" },
	{ "device", "id name=device node_type transport_type guid=guid fw_ver vendor_id "
		    "vendor_part_id hw_ver ports attr=arguments" },
	{ "port", "device port state max_mtu active_mtu lid sm_lid link_layer gid_tbl_len "
		  "pkey_tbl_len max_msg_sz attr=arguments" },
	{ "gid", "device port idx gid=gid type ndev=device" },
	{ "object", "id process kind ordinal name=object handle number rkey parent created_thread "
		    "created_n destroyed_thread destroyed_n created_at destroyed_at" },
	{ "call", "thread n process verb begin end ret=returned error failed depth ours stack "
		  "object args=arguments out=arguments handle end_n" },
	/* its calls become rows of `call` */
	{ "call_chunk", "thread=dropped first_n last_n begin end calls verbs least most data" },
	{ "row_chunk", "name=dropped i first last rows data" },
	{ "connection", "thread n process since until qp peer known dest_qp_num dlid dgid=gid" },
	{ "queue", "thread n process since until object side cq srq asked given" },
	{ "ref", "thread n path kind handle object" },
	{ "event", "thread n process time type element port object" },
	{ "fork", "thread n process time fork_seq child stack how pid error staying" },
	{ "memory", "thread n process time what addr length stack mr" },
	{ "misuse", "thread n process time what verb field status handle of other stack "
		    "other_verb" },
	{ "mark", "thread n process time kind text=mark" },
	/* findings contain names, and a check of the copy finds them again */
	{ "finding", "id=dropped rule name severity thread n time process place object message "
		     "fingerprint count" },
	{ "loss", "thread process events first last overwritten" },
	{ "carried", "thread n" },
	{ "waited", "thread n process time ns times why" },
	{ "coverage", "thread n process time what handle object detail times" },
	{ "poll_count", "thread handle life process cq polls completions empty last" },
	{ "sample", "thread time doing state wchan" },
	{ "counter", "merged device=device port folder name first last" },
	{ "counter_sample", "merged device=device port folder name time value" },
	{ "merged", "id name=name host=host path=path first_process first_thread first_object "
		    "first_stack clock offset drift error drift_error ahead pairs messages "
		    "contradicts" },
	{ "merged_meta", "merged key value=meta" },
	{ "chunk", "id thread first_n last_n begin end events data" },
	{ "payload_chunk", "id thread first_n last_n begin end events bytes data=chunk" },
	{ "post", "thread n time process object handle verb ret bad nwr inner stack" },
	{ "wr", "thread n i time process qp srq verb ret bad wr_id opcode send_flags num_sge bytes "
		"imm remote_addr rkey compare_add swap ah remote_qpn remote_qkey remote_srqn "
		"bind_mw bind_rkey bind_mr bind_addr bind_length bind_access tso_hdr tso_hdr_sz "
		"tso_mss flush_length flush_type flush_level stack" },
	{ "sge", "thread n i j time addr length lkey" },
	{ "poll", "thread n time process cq handle verb ret empty nwc inner stack filled" },
	{ "wc", "thread n i time process cq qp wr_id status opcode vendor_err byte_len imm qp_num "
		"src_qp wc_flags pkey_index slid sl dlid_path_bits timestamp wallclock cvlan "
		"flow_tag tm_tag tm_priv wr_thread wr_n wr_i posted" },
	{ "notify", "thread n time process cq handle solicited_only ret inner" },
	{ "payload", "thread n i time process kind length captured before hash=hash why "
		     "bytes=bytes" },
};

static const struct {
	const char *word;
	enum identity identity;
} words[] = {
	{ "meta", IDENTITY_META },           { "dropped", IDENTITY_DROPPED },
	{ "path", IDENTITY_PATH },           { "command", IDENTITY_COMMAND },
	{ "value", IDENTITY_VALUE },         { "name", IDENTITY_NAME },
	{ "device", IDENTITY_DEVICE },       { "guid", IDENTITY_GUID },
	{ "arguments", IDENTITY_ARGUMENTS }, { "gid", IDENTITY_GID },
	{ "object", IDENTITY_OBJECT },       { "returned", IDENTITY_RETURNED },
	{ "mark", IDENTITY_MARK },           { "host", IDENTITY_HOST },
	{ "chunk", IDENTITY_CHUNK },         { "hash", IDENTITY_HASH },
	{ "bytes", IDENTITY_BYTES },
};

struct named_identity {
	const char *name;
	enum identity identity;
};

/* Members of arguments, by their names in core/wire/verbs.list and structs.list. */
static const struct named_identity arguments[] = {
	{ "name", IDENTITY_DEVICE },
	{ "dev_name", IDENTITY_NONE }, /* uverbs0: numbered by the kernel */
	{ "dev_path", IDENTITY_NONE },
	{ "ibdev_path", IDENTITY_FOLDER },
	{ "fw_ver", IDENTITY_NONE },
	{ "raw", IDENTITY_GID },
	{ "node_guid", IDENTITY_GUID },
	{ "sys_image_guid", IDENTITY_GUID },
	{ "addr", IDENTITY_ADDRESS },
	{ "src_addr", IDENTITY_ADDRESS },
	{ "dst_addr", IDENTITY_ADDRESS },
	{ "ai_src_addr", IDENTITY_ADDRESS },
	{ "ai_dst_addr", IDENTITY_ADDRESS },
	{ "node", IDENTITY_HOST },
	{ "service", IDENTITY_SERVICE },
	{ "ai_src_canonname", IDENTITY_HOST },
	{ "ai_dst_canonname", IDENTITY_HOST },
	{ "private_data", IDENTITY_PRIVATE },
	{ "ai_connect", IDENTITY_PRIVATE },
	{ "optval", IDENTITY_OPTION },
};

static const struct named_identity metas[] = {
	{ "state", IDENTITY_NONE },
	{ "version", IDENTITY_NONE },
	{ "command", IDENTITY_COMMAND },
	{ "device", IDENTITY_DEVICE },
	{ "clock", IDENTITY_NONE },
	{ "realtime", IDENTITY_NONE },
	{ "clock_start", IDENTITY_NONE },
	{ "clock_mult", IDENTITY_NONE },
	{ "clock_shift", IDENTITY_NONE },
	{ "duration", IDENTITY_NONE },
	{ "until", IDENTITY_NONE },
	{ "damaged", IDENTITY_NONE },
	{ "kernel", IDENTITY_RELEASE },
	{ "host", IDENTITY_HOST },
	{ "machine", IDENTITY_NONE },
	{ "sqlite", IDENTITY_NONE },
	{ "cut", IDENTITY_NONE },
	{ "carried", IDENTITY_NONE },
	{ "excerpt", IDENTITY_TEXT }, /* contains the name of the original trace */
	{ "snapshot", IDENTITY_TEXT },
	{ "copies_on_fork", IDENTITY_NONE },
	{ "memory", IDENTITY_NONE },
	{ "waits", IDENTITY_NONE },
	{ "strict", IDENTITY_NONE },
	{ "thread_ends", IDENTITY_NONE },
	{ "fingerprint", IDENTITY_NONE },
	{ "recorder", IDENTITY_NONE },
	{ "recorder_start", IDENTITY_NONE },
	{ "recorder_boot", IDENTITY_BOOT },
	{ "payload", IDENTITY_NONE },
	{ "payload_seed", IDENTITY_HASH },
	{ "filter", IDENTITY_FILTER },
	{ "one_of", IDENTITY_NONE },
	{ "ring_budget", IDENTITY_NONE },
	{ "withheld_rings", IDENTITY_NONE },
	{ "withheld_threads", IDENTITY_NONE },
	{ "waits_given_up", IDENTITY_NONE },
	{ "gone_thread", IDENTITY_NONE },
	{ "gone_process", IDENTITY_NONE },
	{ "gone_stack", IDENTITY_NONE },
	{ "anonymised", IDENTITY_NONE },
};

static enum identity read_word(const char *word, size_t n)
{
	for (size_t i = 0; i < COUNT(words); i++)
		if (strlen(words[i].word) == n && !strncmp(words[i].word, word, n))
			return words[i].identity;
	return IDENTITY_UNKNOWN;
}

static enum identity find_column(const char *columns, const char *column)
{
	size_t n = strlen(column);

	for (const char *at = columns; *at; at += strspn(at, " ")) {
		size_t name = strcspn(at, " ="), all = strcspn(at, " ");

		if (name == n && !strncmp(at, column, n))
			return name == all ? IDENTITY_NONE
					   : read_word(at + name + 1, all - name - 1);
		at += all;
	}
	return IDENTITY_UNKNOWN;
}

enum identity identity_of_column(const char *table, const char *column)
{
	for (size_t i = 0; i < COUNT(tables); i++)
		if (!strcmp(tables[i].table, table))
			return find_column(tables[i].columns, column);
	return IDENTITY_UNKNOWN;
}

enum identity identity_of_argument(const char *name, size_t length)
{
	for (size_t i = 0; i < COUNT(arguments); i++)
		if (strlen(arguments[i].name) == length &&
		    !strncmp(arguments[i].name, name, length))
			return arguments[i].identity;
	return IDENTITY_UNKNOWN;
}

bool identity_is_needed(const struct field_info *field)
{
	switch (field->kind) {
	case FIELD_INT:
	case FIELD_UINT:
	case FIELD_ENUM:
	case FIELD_FLAGS:
	case FIELD_ADDR:
	case FIELD_OBJ:
	case FIELD_STRUCT: /* this and the next two: their members are looked up */
	case FIELD_PTR:
	case FIELD_OBJS:
		return false;
	case FIELD_BE:
		return field->size == 8; /* smaller ones are ports, P_Keys, immediate data */
	case FIELD_STR:
	case FIELD_TEXT:
	case FIELD_BYTES:
	case FIELD_SOCKADDR:
	case FIELD_BLOB:
	case FIELD_PRIVATE:
		return true;
	}
	return true;
}

enum identity identity_of_meta(const char *key)
{
	for (size_t i = 0; i < COUNT(metas); i++)
		if (!strcmp(metas[i].name, key))
			return metas[i].identity;
	return IDENTITY_UNKNOWN;
}
