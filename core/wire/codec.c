/*
 * Structures of verbs to words and back
 *
 * One traversal of the descriptors writes, another one reads; codec.h describes the layout. The
 * writer runs in the traced program and follows the application's pointers only where the verb
 * itself would: an array up to its count, a structure up to the size that the caller passed, lists
 * up to CODEC_DEPTH. The reader trusts nothing: each length is compared with the number of words
 * that are left.
 */
#include "core/wire/codec.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "core/wire/hash.h"

static void put_struct(struct codec_out *out, const struct struct_info *info, const void *base,
		       uint64_t mask, size_t limit, unsigned int dir, int depth);

static bool put_word(struct codec_out *out, uint64_t word)
{
	if (out->used == out->size) {
		out->cut = true;
		return false;
	}
	out->words[out->used++] = word;
	return true;
}

/* Append bytes as words. The caller has checked that there is space. */
static void put_raw(struct codec_out *out, const void *bytes, size_t n)
{
	size_t words = (n + 7) / 8;

	if (words)
		out->words[out->used + words - 1] = 0;
	memcpy(out->words + out->used, bytes, n);
	out->used += words;
}

static void put_bytes(struct codec_out *out, const void *bytes, size_t n)
{
	if (out->used + 1 + (n + 7) / 8 > out->size) {
		out->cut = true;
		return;
	}
	out->words[out->used++] = n;
	put_raw(out, bytes, n);
}

static uint64_t load_unsigned(const void *at, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, at, size < 8 ? size : 8); /* little endian */
	return v;
}

static int64_t load_signed(const void *at, size_t size)
{
	unsigned int unused = size < 8 ? 64 - 8 * (unsigned int)size : 0;

	return (int64_t)(load_unsigned(at, size) << unused) >> unused;
}

static uint64_t load_number(const struct field_info *field, const void *at)
{
	switch (field->kind) {
	case FIELD_INT:
	case FIELD_ENUM:
		return (uint64_t)load_signed(at, field->size);
	case FIELD_BE:
		if (field->size == 2)
			return __builtin_bswap16((uint16_t)load_unsigned(at, 2));
		if (field->size == 4)
			return __builtin_bswap32((uint32_t)load_unsigned(at, 4));
		return __builtin_bswap64(load_unsigned(at, 8));
	default:
		return load_unsigned(at, field->size);
	}
}

static uint64_t load_field(const struct struct_info *info, int index, const void *base)
{
	const struct field_info *field = &info->fields[index];

	return load_number(field, (const char *)base + field->offset);
}

/*
 * The address of a field: in the structure, or in the one to which a sibling points; NULL if that
 * pointer is NULL.
 */
static const char *find_place(const struct struct_info *info, const struct field_info *field,
			      const void *base)
{
	const char *from = base;

	if (field->through)
		from = (const char *)(uintptr_t)load_field(info, field->through - 1, base);
	return from ? from + field->offset : NULL;
}

static size_t element_count(const struct codec_out *out, const struct struct_info *info,
			    const struct field_info *field, const void *base)
{
	uint64_t n = 1;

	if (field->count == COUNT_RET)
		n = out->ret > 0 ? (uint64_t)out->ret : 0;
	else if (field->count >= 0)
		n = load_field(info, field->count, base);
	if (n > INT64_MAX)
		n = 0; /* a negative number */
	if (field->shift)
		n = n < 32 ? 1ull << n : 0;
	return n < CODEC_ELEMENTS ? n : CODEC_ELEMENTS;
}

static size_t struct_limit(const struct struct_info *info, const struct field_info *field,
			   const void *base)
{
	if (field->limit == -1)
		return SIZE_MAX;
	return field->limit < 0 ? (size_t)-field->limit : load_field(info, field->limit, base);
}

/*
 * The size of an element. _ibv_query_gid_table(): the caller's elements may have another size than
 * those of our headers.
 */
static size_t find_stride(const struct field_info *field, size_t limit)
{
	return limit == SIZE_MAX ? field->type->size : limit;
}

static void put_pointer(struct codec_out *out, const struct struct_info *info,
			const struct field_info *field, const void *base, unsigned int dir,
			int depth)
{
	const char *at;
	uint64_t mask = UINT64_MAX;
	size_t n, limit;

	memcpy(&at, (const char *)base + field->offset, sizeof(at));
	if (!at || depth == CODEC_DEPTH) {
		put_word(out, CODEC_NULL);
		return;
	}
	n = element_count(out, info, field, base);
	limit = struct_limit(info, field, base);
	if (field->mask >= 0)
		mask = load_field(info, field->mask, base);
	put_word(out, n);
	for (size_t i = 0; i < n && !out->cut; i++)
		put_struct(out, field->type, at + i * find_stride(field, limit), mask, limit, dir,
			   depth + 1);
}

static void put_text(struct codec_out *out, const struct field_info *field, const char *at)
{
	const char *text;

	if (field->kind == FIELD_STR) {
		put_bytes(out, at, strnlen(at, field->size));
		return;
	}
	memcpy(&text, at, sizeof(text));
	if (text)
		put_bytes(out, text, strnlen(text, 4096));
	else
		put_word(out, CODEC_NULL);
}

/* Append an address, whose length depends on its family: ip(7), ipv6(7), struct sockaddr_ib. */
static void put_sockaddr(struct codec_out *out, const struct field_info *field, const char *at)
{
	uint64_t family;

	if (field->size == sizeof(void *))
		memcpy(&at, at, sizeof(void *));
	if (!at) {
		put_word(out, CODEC_NULL);
		return;
	}
	family = load_unsigned(at, 2);
	put_bytes(out, at,
		  family == AF_INET    ? 16
		  : family == AF_INET6 ? 28
		  : family == AF_IB    ? 48
				       : 2);
}

static void put_blob(struct codec_out *out, const struct struct_info *info,
		     const struct field_info *field, const void *base)
{
	const char *at;

	memcpy(&at, (const char *)base + field->offset, sizeof(at));
	if (at)
		put_bytes(out, at, element_count(out, info, field, base));
	else
		put_word(out, CODEC_NULL);
}

/* in the first word: position of the number of bytes; bit: a hash follows */
enum { PRIVATE_BYTES = 16, PRIVATE_HASHED = 32 };

static void put_private(struct codec_out *out, const struct struct_info *info,
			const struct field_info *field, const void *base)
{
	uint64_t keep = out->rule ? out->rule->keep : PAYLOAD_NONE;
	bool hashed = keep == PAYLOAD_HASH;
	size_t n = element_count(out, info, field, base), kept = hashed ? 0 : n < keep ? n : keep;
	const char *at;

	memcpy(&at, (const char *)base + field->offset, sizeof(at));
	if (!at) {
		put_word(out, CODEC_NULL);
		return;
	}
	if (out->used + 1 + hashed + (kept + 7) / 8 > out->size) {
		out->cut = true;
		return;
	}
	put_word(out, n | kept << PRIVATE_BYTES | (uint64_t)hashed << PRIVATE_HASHED);
	if (hashed)
		put_word(out, hash_of(at, n, out->rule->seed));
	put_raw(out, at, kept);
}

static void put_field(struct codec_out *out, const struct struct_info *info,
		      const struct field_info *field, const void *base, unsigned int dir, int depth)
{
	const char *at = find_place(info, field, base);

	switch (field->kind) {
	case FIELD_STRUCT:
		put_struct(out, field->type, at, UINT64_MAX, SIZE_MAX, dir, depth + 1);
		break;
	case FIELD_PTR:
		put_pointer(out, info, field, base, dir, depth);
		break;
	case FIELD_STR:
	case FIELD_TEXT:
		put_text(out, field, at);
		break;
	case FIELD_BYTES:
		put_bytes(out, at, field->size);
		break;
	case FIELD_SOCKADDR:
		put_sockaddr(out, field, at);
		break;
	case FIELD_BLOB:
		put_blob(out, info, field, base);
		break;
	case FIELD_PRIVATE:
		put_private(out, info, field, base);
		break;
	default:
		put_word(out, load_number(field, at));
	}
}

static bool has_value(const struct struct_info *info, int index, const void *base, int value)
{
	const struct field_info *field = &info->fields[index];
	const char *at = find_place(info, field, base);

	return at && (int64_t)load_number(field, at) == value;
}

/* Is the field recorded? @dir: only arguments of that direction; 0: all. */
static bool is_wanted(const struct codec_out *out, const struct struct_info *info,
		      const struct field_info *field, const void *base, uint64_t mask, size_t limit,
		      unsigned int dir)
{
	if (dir && !(field->dir & dir))
		return false;
	if (field->when && !(mask & field->when))
		return false;
	if (out->acknowledges && (field->through || field->only || field->unless))
		return false;
	if (field->through)
		return find_place(info, field, base);
	if (field->only && !has_value(info, field->only - 1, base, field->value))
		return false;
	if (field->unless && has_value(info, field->unless - 1, base, field->value))
		return false;
	return (size_t)field->offset + field->size <= limit;
}

static void put_struct(struct codec_out *out, const struct struct_info *info, const void *base,
		       uint64_t mask, size_t limit, unsigned int dir, int depth)
{
	uint64_t there = 0;

	if (info->mask >= 0)
		mask = load_field(info, info->mask, base);
	if (info->select)
		mask = mask < 64 ? 1ull << mask : 0;
	for (unsigned int i = 0; i < info->nfields; i++)
		if (is_wanted(out, info, &info->fields[i], base, mask, limit, dir))
			there |= 1ull << i;
	if (!put_word(out, there))
		return;
	for (unsigned int i = 0; i < info->nfields && !out->cut; i++) {
		const struct field_info *field = &info->fields[i];

		if (!(there & (1ull << i)))
			continue;
		if (out->reads && field->kind != FIELD_STRUCT)
			out->reads((const char *)base + field->offset, field->size);
		put_field(out, info, field, base, 0, depth);
	}
}

/*
 * The event of a connection request may be acknowledged after its identifier was destroyed, and a
 * wrong program acknowledges an event twice: then its identifier is not read.
 */
void codec_put_args(struct codec_out *out, enum verb verb, const uint64_t *args, enum field_dir dir)
{
	out->acknowledges = verb_infos[verb].effect == EFFECT_ACK;
	put_struct(out, &verb_infos[verb].args, args, UINT64_MAX, SIZE_MAX, dir, 0);
}

static void put_object(struct codec_out *out, enum object_kind kind, const void *handle)
{
	put_struct(out, &object_infos[kind], handle, UINT64_MAX, SIZE_MAX, 0, 0);
}

static void put_objects(struct codec_out *out, enum object_kind kind, void *const *handles)
{
	size_t n = 0;

	while (handles && handles[n] && n < CODEC_ELEMENTS)
		n++;
	put_word(out, handles ? n : CODEC_NULL);
	for (size_t i = 0; handles && i < n && !out->cut; i++) {
		put_word(out, (uint64_t)(uintptr_t)handles[i]);
		put_object(out, kind, handles[i]);
	}
}

void codec_put_outputs(struct codec_out *out, enum verb verb, const uint64_t *args)
{
	const struct field_info *made = &verb_infos[verb].ret;
	const struct struct_info *info = &verb_infos[verb].args;

	codec_put_args(out, verb, args, DIR_OUT);
	for (unsigned int i = 0; i < info->nfields; i++)
		if (info->fields[i].after)
			put_object(out, info->fields[i].object, (const void *)(uintptr_t)args[i]);
	if (made->kind == FIELD_OBJ)
		put_object(out, made->object, (const void *)(uintptr_t)out->ret);
	else if (made->kind == FIELD_OBJS)
		put_objects(out, made->object, (void *const *)(uintptr_t)out->ret);
}

/* The reader. */
struct codec_input {
	const uint64_t *words;
	size_t left;
	const struct codec_visitor *visitor;
};

#define CALL_VISITOR(in, what, ...)                                           \
	do {                                                                  \
		if ((in)->visitor->what)                                      \
			(in)->visitor->what((in)->visitor->arg, __VA_ARGS__); \
	} while (0)

static int get_struct(struct codec_input *in, const struct struct_info *info, int depth);

static int get_word(struct codec_input *in, uint64_t *ret_word)
{
	if (!in->left)
		return -EBADMSG;
	*ret_word = *in->words++;
	in->left--;
	return 0;
}

static int get_text(struct codec_input *in, const struct field_info *field)
{
	uint64_t n;
	int err = get_word(in, &n);

	if (err)
		return err;
	if (n == CODEC_NULL) {
		CALL_VISITOR(in, null, field);
		return 0;
	}
	if (n > in->left * 8)
		return -EBADMSG;
	CALL_VISITOR(in, text, field, (const char *)in->words, n);
	in->words += (n + 7) / 8;
	in->left -= (n + 7) / 8;
	return 0;
}

static int get_private(struct codec_input *in, const struct field_info *field)
{
	struct codec_private p = { 0 };
	uint64_t word = 0;
	int err = get_word(in, &word);

	if (!err && word == CODEC_NULL) {
		CALL_VISITOR(in, null, field);
		return 0;
	}
	p.length = word & 0xffff;
	p.nbytes = word >> PRIVATE_BYTES & 0xffff;
	p.hashed = word >> PRIVATE_HASHED;
	if (!err && (word >> PRIVATE_HASHED > 1 || p.nbytes > p.length))
		err = -EBADMSG;
	if (!err && p.hashed)
		err = get_word(in, &p.hash);
	if (err || p.nbytes > in->left * 8)
		return err ? err : -EBADMSG;
	p.bytes = (const char *)in->words;
	CALL_VISITOR(in, private, field, &p);
	in->words += (p.nbytes + 7) / 8;
	in->left -= (p.nbytes + 7) / 8;
	return 0;
}

static int get_pointer(struct codec_input *in, const struct field_info *field, int depth)
{
	uint64_t n;
	int err = get_word(in, &n);

	if (err)
		return err;
	if (n == CODEC_NULL) {
		CALL_VISITOR(in, null, field);
		return 0;
	}
	if (n > in->left || depth > CODEC_DEPTH || (field->count == COUNT_ONE && n != 1))
		return -EBADMSG;
	CALL_VISITOR(in, begin, field, n);
	for (uint64_t i = 0; i < n && !err; i++) {
		CALL_VISITOR(in, element, field, i);
		err = get_struct(in, field->type, depth + 1);
		CALL_VISITOR(in, element_end, field);
	}
	CALL_VISITOR(in, end, field);
	return err;
}

static int get_field(struct codec_input *in, const struct field_info *field, int depth)
{
	uint64_t word;
	int err;

	switch (field->kind) {
	case FIELD_STRUCT:
		CALL_VISITOR(in, begin, field, (size_t)1);
		CALL_VISITOR(in, element, field, (size_t)0);
		err = get_struct(in, field->type, depth + 1);
		CALL_VISITOR(in, element_end, field);
		CALL_VISITOR(in, end, field);
		return err;
	case FIELD_PTR:
		return get_pointer(in, field, depth);
	case FIELD_STR:
	case FIELD_TEXT:
	case FIELD_BYTES:
	case FIELD_SOCKADDR:
	case FIELD_BLOB:
		return get_text(in, field);
	case FIELD_PRIVATE:
		return get_private(in, field);
	default:
		err = get_word(in, &word);
		if (!err)
			CALL_VISITOR(in, number, field, (int64_t)word);
		return err;
	}
}

static int get_struct(struct codec_input *in, const struct struct_info *info, int depth)
{
	uint64_t there;
	int err = get_word(in, &there);

	if (!err &&
	    ((info->nfields < 64 && there >> info->nfields) || (info->scalar && there != 1)))
		err = -EBADMSG;
	for (unsigned int i = 0; i < info->nfields && !err; i++)
		if (there & (1ull << i))
			err = get_field(in, &info->fields[i], depth);
	return err;
}

ssize_t codec_visit(const uint64_t *words, size_t nwords, const struct struct_info *info,
		    const struct codec_visitor *visitor)
{
	struct codec_input in = { words, nwords, visitor };
	int err = get_struct(&in, info, 0);

	return err ? err : (ssize_t)(nwords - in.left);
}

static const struct field_info handle_field = { .name = "handle", .kind = FIELD_ADDR, .size = 8 };

ssize_t codec_visit_objects(const uint64_t *words, size_t nwords, const struct field_info *field,
			    const struct codec_visitor *visitor)
{
	struct codec_input in = { words, nwords, visitor };
	uint64_t n, handle;
	int err = get_word(&in, &n);

	if (!err && n == CODEC_NULL)
		return 1;
	if (!err && n > in.left)
		err = -EBADMSG;
	if (err)
		return err;
	CALL_VISITOR(&in, begin, field, n);
	for (uint64_t i = 0; i < n && !err; i++) {
		CALL_VISITOR(&in, element, field, i);
		err = get_word(&in, &handle);
		if (!err) {
			CALL_VISITOR(&in, number, &handle_field, (int64_t)handle);
			err = get_struct(&in, &object_infos[field->object], 0);
		}
		CALL_VISITOR(&in, element_end, field);
	}
	CALL_VISITOR(&in, end, field);
	return err ? err : (ssize_t)(nwords - in.left);
}
