/*
 * Requests and completions that a thread has in several places
 *
 * 	same("1:40", ibv_post_send(qp1, &(struct ibv_send_wr){ .wr_id = 0x2 }, &bad_send), 0);
 * 	same("1:90", ibv_post_send(qp1, &(struct ibv_send_wr){ .wr_id = 0x2 }, &bad_send), 0);
 *
 * Such a request has a macro, since its second occurrence would tell a reader nothing new. The
 * macro means the same wherever it is used, whatever has become of the objects meanwhile:
 *
 * 	#define SEND1 &(struct ibv_send_wr){ .wr_id = 0x2 }
 */
#include "cli/emit/repeated.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"

enum {
	WIDTH = 98,
	SHORTEST = 48, /* columns; a shorter one is as easy to read as its name */
	MOST = 1 << 14 /* different texts; a program with more has few that repeat */
};

static const struct {
	const char *type, *name;
} kinds[] = {
	[REPEATED_SEND] = { "&(struct ibv_send_wr){", "SEND" },
	[REPEATED_RECV] = { "&(struct ibv_recv_wr){", "RECV" },
	[REPEATED_SENT] = { "&(struct ibv_wc){", "SENT" },
	[REPEATED_RECEIVED] = { "&(struct ibv_wc){", "RECEIVED" },
};

/* in a completion of a receive */
static const char receive[] = ".opcode = IBV_WC_RECV";

static bool has_type(const char *at, enum repeated_kind kind)
{
	return !strncmp(at, kinds[kind].type, strlen(kinds[kind].type));
}

static size_t literal_length(const char *at)
{
	const char *end = strchr(at, '{');
	int depth = 0;

	do {
		depth += *end == '{' ? 1 : *end == '}' ? -1 : 0;
		end++;
	} while (depth && *end);
	return (size_t)(end - at);
}

const char *repeated_find(const char *text, size_t *ret_length)
{
	for (const char *at = strstr(text, "&(struct "); at; at = strstr(at + 1, "&(struct "))
		for (int kind = 0; kind < REPEATED_KINDS; kind++)
			if (has_type(at, (enum repeated_kind)kind)) {
				*ret_length = literal_length(at);
				return at;
			}
	return NULL;
}

/* The entry of @source, which is added if it is new; NULL: out of memory. */
static struct repeated_use *find_use(struct repeated_texts *repeated, const char *source)
{
	uint32_t text = texts_number(&repeated->texts, source);
	struct repeated_use *use;
	int kind = 0;

	if (!text)
		return NULL;
	if (text <= repeated->nuses)
		return &repeated->uses[text - 1];
	use = vec_push(repeated->uses, repeated->nuses);
	if (!use)
		return NULL;
	while (!has_type(source, (enum repeated_kind)kind))
		kind++;
	if (kind == REPEATED_SENT && strstr(source, receive))
		kind = REPEATED_RECEIVED;
	*use = (struct repeated_use){ .kind = (enum repeated_kind)kind };
	return use;
}

int repeated_count(struct repeated_texts *repeated, const char *source)
{
	struct repeated_use *use;

	if (repeated->nuses >= MOST)
		return 0;
	use = find_use(repeated, source);
	if (!use)
		return -ENOMEM;
	use->times++;
	return 0;
}

/* The length of the part up to the end of the next member, and the blanks after it. */
static size_t find_part(const char *at, size_t *ret_blanks)
{
	size_t length = strcspn(at, ",|\t\n");

	while (length && at[length] && (at[length] == ',' || at[length] == '|'))
		length++;
	*ret_blanks = strspn(at + length, " \t\n");
	return length;
}

/* Add the definition of a macro, with its lines filled anew. */
static void add_macro(struct text *text, const char *name, unsigned int number, const char *source)
{
	size_t columns = strlen("#define ") + strlen(name) + 4;

	text_addf(text, "#define %s%u", name, number);
	while (*source) {
		size_t blanks, length = find_part(source, &blanks);

		if (columns + 1 + length > WIDTH) {
			text_addf(text, " \\\n\t");
			columns = 8;
		} else {
			text_char(text, ' ');
			columns++;
		}
		text_add(text, source, length);
		columns += length;
		source += length + blanks;
	}
	text_char(text, '\n');
}

bool repeated_add(struct repeated_texts *repeated, const char *source, struct text *text)
{
	struct repeated_use *use = repeated->nuses < MOST ? find_use(repeated, source) : NULL;

	if (!use || (use->times < 2 && !use->number) || strlen(source) < SHORTEST)
		return false;
	if (!use->number) {
		use->number = ++repeated->numbers[use->kind];
		add_macro(&repeated->macros, kinds[use->kind].name, use->number, source);
	}
	text_addf(text, "%s%u", kinds[use->kind].name, use->number);
	return true;
}

void repeated_restart(struct repeated_texts *repeated)
{
	for (size_t i = 0; i < repeated->nuses; i++)
		repeated->uses[i].times = 0;
	text_cut(&repeated->macros, 0);
}

void repeated_fini(struct repeated_texts *repeated)
{
	texts_fini(&repeated->texts);
	text_fini(&repeated->macros);
	free(repeated->uses);
	*repeated = (struct repeated_texts){ 0 };
}
