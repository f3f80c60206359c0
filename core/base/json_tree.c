/*
 * Parser for JSON
 *
 * One allocation holds the nodes, at most one for each comma and bracket of the text, and after
 * them the unescaped names and texts, which are never longer than the escaped ones with their
 * quotes.
 */
#include "core/base/json_tree_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"

enum { DEPTH_MAX = 2048 };

static inline void skip_blanks(struct json_parser *p)
{
	if (p->at < p->end && (unsigned char)*p->at > ' ')
		return;
	while (p->at < p->end &&
	       (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
		p->at++;
}

static bool parse_char(struct json_parser *p, char c)
{
	skip_blanks(p);
	if (p->at == p->end || *p->at != c)
		return false;
	p->at++;
	return true;
}

/* Four digits after "\u"; -1 if invalid. */
static int32_t parse_hex(struct json_parser *p)
{
	int32_t code = 0;

	if (p->end - p->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = *p->at++;
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;

		if (digit < 0)
			return -1;
		code = code << 4 | digit;
	}
	return code;
}

static void put_utf8(struct json_parser *p, uint32_t code)
{
	if (code < 0x80) {
		*p->texts++ = (char)code;
		return;
	}
	if (code < 0x800) {
		*p->texts++ = (char)(0xc0 | code >> 6);
	} else {
		if (code < 0x10000) {
			*p->texts++ = (char)(0xe0 | code >> 12);
		} else {
			*p->texts++ = (char)(0xf0 | code >> 18);
			*p->texts++ = (char)(0x80 | (code >> 12 & 0x3f));
		}
		*p->texts++ = (char)(0x80 | (code >> 6 & 0x3f));
	}
	*p->texts++ = (char)(0x80 | (code & 0x3f));
}

/* "\uD83D\uDE00" is one character; one of them alone is invalid. */
static bool parse_unicode(struct json_parser *p)
{
	int32_t code = parse_hex(p), low;

	if (code >= 0xd800 && code < 0xdc00) {
		if (p->end - p->at < 6 || p->at[0] != '\\' || p->at[1] != 'u')
			return false;
		p->at += 2;
		low = parse_hex(p);
		if (low < 0xdc00 || low > 0xdfff)
			return false;
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	} else if (code < 0 || (code >= 0xdc00 && code <= 0xdfff)) {
		return false;
	}
	put_utf8(p, (uint32_t)code);
	return true;
}

/* Read the character after a backslash. */
static bool parse_escape(struct json_parser *p)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *letter;
	char c;

	if (p->at == p->end)
		return false;
	c = *p->at++;
	if (c == 'u')
		return parse_unicode(p);
	letter = c ? strchr(letters, c) : NULL;
	if (letter)
		*p->texts++ = meant[letter - letters];
	return letter;
}

/* Nearly all characters are copied unchanged. */
static void copy_plain(struct json_parser *p)
{
	const char *at = p->at, *end = p->end;
	char *to = p->texts;

	while (at < end && (unsigned char)(*at - ' ') < 0x60 && *at != '"' && *at != '\\')
		*to++ = *at++;
	p->at = at;
	p->texts = to;
}

/* A character that copy_plain() does not copy. */
static bool parse_special(struct json_parser *p)
{
	size_t length;
	uint32_t code;

	if (*p->at == '\\') {
		p->at++;
		return parse_escape(p);
	}
	if (!(*p->at & 0x80))
		return false;
	length = printable_utf8(p->at, (size_t)(p->end - p->at), &code);
	memcpy(p->texts, p->at, length);
	p->texts += length;
	p->at += length;
	return length;
}

/* Read the rest of a text whose opening quote was read. */
static bool parse_text_value(struct json_parser *p, const char **ret_text, uint32_t *ret_length)
{
	const char *text = p->texts;

	copy_plain(p);
	while (p->at < p->end && *p->at != '"') {
		if (!parse_special(p))
			return false;
		copy_plain(p);
	}
	if (p->at == p->end)
		return false;
	p->at++;
	*ret_length = (uint32_t)(p->texts - text);
	*p->texts++ = '\0';
	*ret_text = text;
	return true;
}

static bool is_digit(const struct json_parser *p)
{
	return p->at < p->end && *p->at >= '0' && *p->at <= '9';
}

static bool skip_digits(struct json_parser *p)
{
	const char *from = p->at;

	while (is_digit(p))
		p->at++;
	return p->at > from;
}

/* Skip the fraction and exponent of a number. */
static bool parse_fraction(struct json_parser *p)
{
	if (p->at < p->end && *p->at == '.') {
		p->at++;
		if (!skip_digits(p))
			return false;
	}
	if (p->at < p->end && (*p->at | 32) == 'e') {
		p->at++;
		if (p->at < p->end && (*p->at == '+' || *p->at == '-'))
			p->at++;
		return skip_digits(p);
	}
	return true;
}

static bool parse_number_value(struct json_parser *p, struct json_node *node)
{
	bool minus = *p->at == '-';
	const char *at = p->at + minus, *digits = at;
	uint64_t n = 0;

	/* more than 19 digits are not used */
	for (; at < p->end && (unsigned char)(*at - '0') < 10; at++)
		n = n * 10 + (uint64_t)(*at - '0');
	p->at = at;
	if (at == digits || (*digits == '0' && at > digits + 1))
		return false;
	if (p->at < p->end && (*p->at == '.' || (*p->at | 32) == 'e')) {
		node->kind = JSON_REAL;
		return parse_fraction(p);
	}
	if (p->at - digits > 19)
		return false;
	if (n > (uint64_t)INT64_MAX + minus)
		return false;
	node->kind = JSON_INT;
	node->number = (int64_t)(minus ? -n : n);
	return true;
}

static bool parse_literal(struct json_parser *p, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n))
		return false;
	p->at += n;
	return true;
}

/* Read an element of an object or an array; in an object its name comes first. */
static bool parse_element(struct json_parser *p, bool named)
{
	const char *name = NULL;
	uint32_t length = 0, at;

	if (named &&
	    (!parse_char(p, '"') || !parse_text_value(p, &name, &length) || !parse_char(p, ':')))
		return false;
	at = p->nnodes;
	if (!json_parse_value(p))
		return false;
	p->nodes[at].name = name;
	p->nodes[at].name_length = length;
	return true;
}

static bool parse_elements(struct json_parser *p, struct json_node *node, char close)
{
	struct json_node *last = NULL;

	if (parse_char(p, close))
		return true;
	if (++p->depth > DEPTH_MAX)
		return false;
	do {
		struct json_node *now = &p->nodes[p->nnodes];

		if (!parse_element(p, close == '}'))
			return false;
		if (last)
			last->next = (uint32_t)(now - last);
		last = now;
		node->count++;
	} while (parse_char(p, ','));
	p->depth--;
	return parse_char(p, close);
}

bool json_parse_value(struct json_parser *p)
{
	struct json_node *node = &p->nodes[p->nnodes];
	bool sound = false;

	skip_blanks(p);
	if (p->at == p->end)
		return false;
	p->nnodes++;
	*node = (struct json_node){ .raw = p->at };
	switch (*p->at) {
	case '{':
	case '[':
		node->kind = *p->at == '{' ? JSON_OBJECT : JSON_ARRAY;
		p->at++;
		sound = parse_elements(p, node, node->kind == JSON_OBJECT ? '}' : ']');
		break;
	case '"':
		node->kind = JSON_TEXT;
		p->at++;
		sound = parse_text_value(p, &node->text, &node->length);
		break;
	case 'n':
		sound = parse_literal(p, "null");
		break;
	case 't':
	case 'f':
		node->kind = JSON_BOOL;
		node->number = *p->at == 't';
		sound = parse_literal(p, node->number ? "true" : "false");
		break;
	default:
		sound = parse_number_value(p, node);
	}
	node->raw_length = (uint32_t)(p->at - node->raw);
	return sound;
}

#define EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/* 1 in each byte of @word that is @c, 0 in the others. */
static uint64_t mark_bytes(uint64_t word, char c)
{
	uint64_t other = word ^ EACH_BYTE((uint64_t)c);

	return ~((((other & EACH_BYTE(0x7f)) + EACH_BYTE(0x7f)) | other) | EACH_BYTE(0x7f)) >> 7;
}

/* An upper bound for the nodes: one, plus one for each comma and opening bracket. */
static size_t count_nodes(const char *json, size_t n)
{
	size_t count = 1, i = 0;
	uint64_t word, marks;

	for (; n - i >= sizeof(word); i += sizeof(word)) {
		memcpy(&word, json + i, sizeof(word));
		/* '[' and '{' differ in one bit */
		marks = mark_bytes(word, ',') + mark_bytes(word | EACH_BYTE(0x20), '{');
		count += EACH_BYTE(marks) >> 56; /* their sum */
	}
	for (; i < n; i++)
		count += json[i] == ',' || json[i] == '{' || json[i] == '[';
	return count;
}

int json_parse(const char *json, size_t n, struct json_node **ret_root)
{
	size_t nodes = count_nodes(json, n);
	struct json_parser p = { .at = json, .end = json + n };

	if (n > UINT32_MAX / 2)
		return -EBADMSG;
	p.nodes = malloc(nodes * sizeof(*p.nodes) + n + 1);
	if (!p.nodes)
		return -ENOMEM;
	p.texts = (char *)(p.nodes + nodes);
	skip_blanks(&p);
	if (p.at < p.end && (*p.at == '{' || *p.at == '[') && json_parse_value(&p)) {
		skip_blanks(&p);
		if (p.at == p.end) {
			*ret_root = p.nodes;
			return 0;
		}
	}
	free(p.nodes);
	return -EBADMSG;
}

const struct json_node *json_find_member(const struct json_node *node, const char *name,
					 size_t length)
{
	const struct json_node *found = NULL, *at;

	if (!node || node->kind != JSON_OBJECT)
		return NULL;
	for (at = json_first(node); at; at = json_next(at))
		if (at->name_length == length && (!length || *at->name == *name) &&
		    !memcmp(at->name, name, length))
			found = at;
	return found;
}

const struct json_node *json_find_element(const struct json_node *node, size_t index)
{
	const struct json_node *at;

	if (!node || node->kind != JSON_ARRAY || index >= node->count)
		return NULL;
	for (at = json_first(node); index; index--)
		at = json_next(at);
	return at;
}
