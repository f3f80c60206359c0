/*
 * Texts for facts of the model
 */
#include "analyzer/model/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/key.h"
#include "analyzer/model/queue.h"

enum { GRH = 40, NEAR = 4096, HEADER = 256 }; /* bytes */

const char *words_format_span(int64_t ns, char text[32])
{
	if (ns < 10000)
		snprintf(text, 32, "%" PRId64 " ns", ns);
	else if (ns < 999950) /* 1000.0 us is 1.0 ms */
		snprintf(text, 32, "%.1f us", (double)ns / 1e3);
	else if (ns < 999950000)
		snprintf(text, 32, "%.1f ms", (double)ns / 1e6);
	else
		snprintf(text, 32, "%.2f s", (double)ns / 1e9);
	return text;
}

const char *words_format_earlier(int64_t ns, int64_t slack, char text[48])
{
	char span[32];

	if (llabs(ns) <= slack)
		return strcpy(text, "at about the same time");
	snprintf(text, 48, "%s %s", words_format_span(llabs(ns), span),
		 ns < 0 ? "later" : "earlier");
	return text;
}

const char *words_describe_key(struct trace *trace, const struct key *key, char *text, size_t size)
{
	const struct object *mr = trace_object(trace, key->object);
	const struct object *pd = mr ? trace_object(trace, mr->parent) : NULL;

	/* ibv_rereg_mr() may have changed it; a live trace knows only the last PD at an address */
	if (!pd || pd->handle != key->pd)
		pd = trace_object_at(trace, key->process, OBJECT_pd, key->pd, key->created.time);
	snprintf(text, size, "%s%s%s", mr && mr->name ? mr->name : "a region", pd ? " of " : "",
		 pd && pd->name ? pd->name : "");
	return text;
}

static bool is_address_in(const struct key *key, uint64_t addr)
{
	return addr >= key->addr && addr - key->addr < key->length;
}

/* What may explain an address far outside the region; NULL: nothing known. */
static const char *guess_address(const struct key *key, uint64_t addr)
{
	if (!addr)
		return "the address is 0";
	if (key->memory && key->memory != key->addr && addr - key->memory < key->length)
		return "it is the program's address of the region, not its iova";
	if (addr < key->length)
		return "the address looks like an offset into it";
	if (addr == key->addr + key->length)
		return "the access begins exactly at its end";
	if (addr <= UINT32_MAX && is_address_in(key, (key->addr & ~(uint64_t)UINT32_MAX) | addr))
		return "the upper 32 bits of the address are missing";
	if (is_address_in(key, __builtin_bswap64(addr)))
		return "the bytes of the address are in reverse order";
	return NULL;
}

/*
 * A request as long as the region, shifted by a header's length: the program added the length to
 * the address, and did not subtract it from the length. Or the reverse.
 */
static const char *guess_header(const struct key *key, uint64_t addr, uint64_t length)
{
	uint64_t shift = addr < key->addr ? key->addr - addr : addr - key->addr;

	if (!shift || shift > HEADER)
		return "";
	if (length == key->length)
		return ", and has its full length: was the length of a header not subtracted?";
	if (addr < key->addr && addr + length == key->addr + key->length)
		return ", and ends at its end: does a header precede it?";
	return "";
}

const char *words_describe_relation(const struct key *key, uint64_t addr, uint64_t length,
				    char text[WORDS_RELATION])
{
	uint64_t end = addr + length, top = key->addr + key->length;
	const char *guess = guess_address(key, addr);
	char n[WORDS_COUNT];

	if (is_address_in(key, addr))
		snprintf(text, WORDS_RELATION, "the access ends %s past its end%s",
			 words_format_count(end - top, "byte", n),
			 end - top == GRH ? ", the length of a GRH"
					  : guess_header(key, addr, length));
	else if (addr < key->addr && end > key->addr)
		snprintf(text, WORDS_RELATION, "the access begins %s before its start%s",
			 words_format_count(key->addr - addr, "byte", n),
			 guess_header(key, addr, length));
	else if (!guess && addr > top && end > addr && end - top == GRH)
		snprintf(text, WORDS_RELATION,
			 "the access lies past its end, by up to %d bytes, the length of a GRH",
			 GRH);
	else if (!guess && addr > top && addr - top < NEAR)
		snprintf(text, WORDS_RELATION, "the access begins %s past its end",
			 words_format_count(addr - top, "byte", n));
	else
		snprintf(text, WORDS_RELATION, "%s", guess ?: "they do not overlap");
	return text;
}

const char *words_describe_holder(struct trace *trace, const struct keys *keys,
				  const struct key *key, uint64_t addr, uint64_t length,
				  char letter, char text[WORDS_HOLDER])
{
	const struct key *other = keys_find_holder(keys, key, addr, length);
	char name[WORDS_HOLDER / 2];

	text[0] = '\0';
	if (other)
		snprintf(text, WORDS_HOLDER, "; it is in %s, with %ckey 0x%x",
			 words_describe_key(trace, other, name, sizeof(name)), letter,
			 letter == 'l' ? other->lkey : other->rkey);
	return text;
}

const char *words_describe_renamed(struct trace *trace, const struct keys *keys, uint32_t process,
				   char letter, uint32_t number, int64_t time,
				   char text[WORDS_HOLDER])
{
	const struct key *key = keys_find_renamed(keys, process, letter, number);
	char name[WORDS_HOLDER / 3], id[32], when[32];

	text[0] = '\0';
	if (key && key->changed.time <= time)
		snprintf(text, WORDS_HOLDER,
			 ", but was the %ckey of %s until ibv_rereg_mr() at %s, %s earlier", letter,
			 words_describe_key(trace, key, name, sizeof(name)),
			 event_id_text(key->changed.id, id),
			 words_format_span(time - key->changed.time, when));
	return text;
}

const char *words_describe_other_key(struct trace *trace, const struct key *key,
				     const struct key *own, char text[WORDS_HOLDER])
{
	const char *fate = key->state != KEY_DEAD     ? ""
			   : key->destroyed.id.thread ? ", which was deregistered"
						      : ", which has ended";
	char name[WORDS_HOLDER / 4], process[PROCESS_TEXT];
	int n;

	n = snprintf(text, WORDS_HOLDER, ", but of %s of %s%s",
		     words_describe_key(trace, key, name, sizeof(name)),
		     process_id_text(key->process, process), fate);
	if (own && n < WORDS_HOLDER)
		snprintf(text + n, WORDS_HOLDER - (size_t)n, ", or of %s of the sender itself",
			 words_describe_key(trace, own, name, sizeof(name)));
	return text;
}

const char *words_name_process(struct trace *trace, uint32_t id, char *text, size_t size)
{
	const struct process *process = trace_process(trace, id);
	const char *exe = process && process->exe ? process->exe : "";
	const char *slash = strrchr(exe, '/');
	char name[PROCESS_TEXT];

	process_id_text(id, name);
	if (*exe)
		snprintf(text, size, "%s (%s)", name, slash ? slash + 1 : exe);
	else
		snprintf(text, size, "%s", name);
	return text;
}

const char *words_name_access(uint32_t access)
{
	return enum_name(enum_find("ibv_access_flags"), access & -access) ?: "an access flag";
}

const char *words_format_count(uint64_t n, const char *what, char text[WORDS_COUNT])
{
	size_t length = strlen(what);
	bool y = length > 1 && what[length - 1] == 'y' && !strchr("aeou", what[length - 2]);

	snprintf(text, WORDS_COUNT, "%" PRIu64 " %.*s%s", n, (int)(length - (n != 1 && y)), what,
		 n == 1 ? ""
		 : y    ? "ies"
			: "s");
	return text;
}

const char *words_format_bytes(uint64_t bytes, char text[32])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	double n = (double)bytes / 1024;
	int unit = 0;

	if (bytes < 1024) {
		snprintf(text, 32, "%" PRIu64 " byte%s", bytes, bytes == 1 ? "" : "s");
		return text;
	}
	for (; n >= 1024 && unit < 3; n /= 1024)
		unit++;
	snprintf(text, 32, "%.*f %s", n != (double)(uint64_t)n, n, units[unit]);
	return text;
}

const char *words_explain_doubt(unsigned int doubt)
{
	static const char *const texts[] = {
		"it was created before the recording, or imported",
		"events are missing",
		"posts or polls bypass the verbs",
		"a completion had no request",
		"a completion in error may belong to several requests",
	};

	for (unsigned int i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (doubt & 1u << i)
			return texts[i];
	return "it is";
}
