/*
 * Making foreign text printable on a terminal
 *
 * A terminal interprets C0 controls, DEL, and C1 controls (U+0080 to U+009F, or single bytes if it
 * does not use UTF-8). Invisible characters that reorder or join others falsify a line:
 * bidirectional controls, line separators, zero-width spaces, tags. None of them is printed raw.
 */
#include "core/base/printable.h"

#include <string.h>

struct range {
	uint32_t first, last;
};

/* The invisible characters of the general categories Cf, Zl and Zp. */
static const struct range unseen[] = {
	{ 0x0000, 0x001f }, { 0x007f, 0x009f }, { 0x00ad, 0x00ad },   { 0x061c, 0x061c },
	{ 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e },   { 0x2060, 0x206f },
	{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
};

size_t printable_utf8(const char *text, size_t n, uint32_t *ret_code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *s = (const unsigned char *)text;
	/* clang-format off */
	size_t length = s[0] < 0x80 ? 1 : s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 :
			s[0] < 0xf8 ? 4 : 0;
	/* clang-format on */
	uint32_t code;

	if (!length || length > n)
		return 0;
	code = length == 1 ? s[0] : s[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return length;
}

bool printable_code(uint32_t code)
{
	for (size_t i = 0; i < sizeof(unseen) / sizeof(*unseen) && code >= unseen[i].first; i++)
		if (code <= unseen[i].last)
			return false;
	return true;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Would a reader of the output take the backslash at @text for one of our escapes? */
static bool looks_like_escape(const char *text, size_t n)
{
	if (n >= 3 && text[1] == 'u' && text[2] == '{')
		return true;
	return n >= 4 && text[1] == 'x' && is_hex(text[2]) && is_hex(text[3]);
}

/*
 * Length of the character at @text if it is printed unchanged, 0 if it is not. @lines: ends of
 * lines are allowed.
 */
static size_t plain_char(const char *text, size_t n, bool lines)
{
	uint32_t code;
	size_t length;

	if (*text >= ' ' && *text < 0x7f)
		return lines || *text != '\\' || !looks_like_escape(text, n);
	if (*text == '\n')
		return lines;
	length = printable_utf8(text, n, &code);
	return length && printable_code(code) ? length : 0;
}

enum { WORD = sizeof(uint64_t) };

/* A word with @byte in each of its bytes. */
static inline uint64_t repeat_byte(unsigned char byte)
{
	return byte * UINT64_C(0x0101010101010101);
}

/* Are the eight characters at @text plain ASCII? False also for a few that are. */
static inline bool is_plain_word(const char *text, bool lines)
{
	uint64_t word, high = repeat_byte(0x80), slashes, bad;

	memcpy(&word, text, WORD);
	slashes = word ^ repeat_byte('\\');
	/* the highest bit of a byte is set if the byte is not ASCII, is DEL, or is below ' ' */
	bad = (word | (word + repeat_byte(1)) | (word - repeat_byte(' '))) & high;
	return !bad && (lines || !((slashes - repeat_byte(1)) & ~slashes & high));
}

static size_t plain_span(const char *text, size_t n, bool lines)
{
	size_t span = 0, length;

	while (span < n) {
		while (n - span >= WORD && is_plain_word(text + span, lines))
			span += WORD;
		length = span < n ? plain_char(text + span, n - span, lines) : 0;
		if (!length)
			break;
		span += length;
	}
	return span;
}

enum { ESCAPE = 16 };

/* The escape of the character at @text; returns how many bytes it represents. */
static size_t escape_char(char escape[ESCAPE], const char *text, size_t n)
{
	uint32_t code;
	size_t length = printable_utf8(text, n, &code);

	if (length > 1)
		snprintf(escape, ESCAPE, "\\u{%04x}", code);
	else
		snprintf(escape, ESCAPE, "\\x%02x", (unsigned char)*text);
	return length > 1 ? length : 1;
}

/* How many bytes of an escape of @span bytes fit into @room without cutting a character? */
static size_t fit_whole_chars(const char *text, size_t span, size_t room)
{
	if (span <= room)
		return span;
	while (room && ((unsigned char)text[room] & 0xc0) == 0x80)
		room--;
	return room;
}

static size_t write_printable(char *to, size_t size, const char *text, size_t n, bool lines)
{
	size_t used = 0, room = size - 1;
	char escape[ESCAPE];

	while (n) {
		size_t span = plain_span(text, n, lines),
		       fits = fit_whole_chars(text, span, room - used);

		memcpy(to + used, text, fits);
		used += fits;
		if (fits < span || span == n)
			break;
		span += escape_char(escape, text + span, n - span);
		if (strlen(escape) > room - used)
			break;
		memcpy(to + used, escape, strlen(escape));
		used += strlen(escape);
		text += span;
		n -= span;
	}
	to[used] = '\0';
	return used;
}

size_t printable_text(char *to, size_t size, const char *text, size_t n)
{
	return write_printable(to, size, text, n, false);
}

size_t printable_lines(char *to, size_t size, const char *text, size_t n)
{
	return write_printable(to, size, text, n, true);
}

void print_untrusted_bytes(FILE *out, const char *text, size_t n)
{
	char escape[ESCAPE];

	while (n) {
		size_t span = plain_span(text, n, false);

		fwrite(text, 1, span, out);
		if (span == n)
			return;
		span += escape_char(escape, text + span, n - span);
		fputs(escape, out);
		text += span;
		n -= span;
	}
}

void print_untrusted(FILE *out, const char *text)
{
	if (text)
		print_untrusted_bytes(out, text, strlen(text));
}
