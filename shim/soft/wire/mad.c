/*
 * Writing and reading management datagrams
 */
#include "shim/soft/wire/mad.h"

#include <string.h>

#include "shim/soft/wire/field.h"

enum {
	BASE_VERSION = 1,
	CLASS_CM = 7,
	CLASS_VERSION = 2,
	METHOD_SEND = 3,
};

struct head {
	uint64_t base_version, mgmt_class, class_version, method;
};

/* clang-format off */
#define HEAD(F, G, H)								\
	H(8, base_version) H(8, mgmt_class) H(8, class_version) H(8, method)	\
	G(32) F(64, tid) F(16, attr_id) G(16) F(32, attr_mod)
/* clang-format on */

#define G(bits)       bit += (bits);
#define F(bits, name) field_put(to, &bit, bits, mad->name);
#define H(bits, name) field_put(to, &bit, bits, head.name);
#define M(name, id, own)                                             \
	static void write_##name(const struct mad *mad, uint8_t *to) \
	{                                                            \
		unsigned int bit = 0;                                \
                                                                     \
		MAD_##name(F, G)                                     \
	}
MADS(M)
#undef M

static void write_head(const struct mad *mad, uint8_t *to)
{
	const struct head head = { BASE_VERSION, CLASS_CM, CLASS_VERSION, METHOD_SEND };
	unsigned int bit = 0;

	HEAD(F, G, H)
}
#undef F
#undef H

#define F(bits, name) mad->name = field_get(from, &bit, bits);
#define H(bits, name) head.name = field_get(from, &bit, bits);
#define M(name, id, own)                                              \
	static void read_##name(struct mad *mad, const uint8_t *from) \
	{                                                             \
		unsigned int bit = 0;                                 \
                                                                      \
		MAD_##name(F, G)                                      \
	}
MADS(M)
#undef M

static bool read_head(struct mad *mad, const uint8_t *from)
{
	struct head head;
	unsigned int bit = 0;

	HEAD(F, G, H)
	return head.base_version == BASE_VERSION && head.mgmt_class == CLASS_CM &&
	       head.class_version == CLASS_VERSION && head.method == METHOD_SEND;
}
#undef F
#undef G
#undef H

struct kind {
	uint8_t attr_id, private_data;
	void (*write)(const struct mad *mad, uint8_t *to);
	void (*read)(struct mad *mad, const uint8_t *from);
};

static const struct kind kinds[] = {
#define M(name, id, private_data) { id, private_data, write_##name, read_##name },
	MADS(M)
#undef M
};

static const struct kind *find_kind(uint64_t attr_id)
{
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].attr_id == attr_id)
			return &kinds[i];
	return NULL;
}

static uint32_t private_of(const struct kind *kind)
{
	return MAD_SIZE - MAD_HEAD - kind->private_data;
}

uint32_t mad_private(uint64_t attr_id)
{
	const struct kind *kind = find_kind(attr_id);

	return kind ? private_of(kind) : 0;
}

bool mad_write(const struct mad *mad, uint8_t to[MAD_SIZE])
{
	const struct kind *kind = find_kind(mad->attr_id);

	if (!kind)
		return false;
	memset(to, 0, MAD_SIZE);
	write_head(mad, to);
	kind->write(mad, to + MAD_HEAD);
	memcpy(to + MAD_HEAD + kind->private_data, mad->private_data, private_of(kind));
	return true;
}

bool mad_read(struct mad *mad, const uint8_t from[MAD_SIZE])
{
	const struct kind *kind;

	memset(mad, 0, sizeof(*mad));
	if (!read_head(mad, from))
		return false;
	kind = find_kind(mad->attr_id);
	if (!kind)
		return false;
	kind->read(mad, from + MAD_HEAD);
	memcpy(mad->private_data, from + MAD_HEAD + kind->private_data, private_of(kind));
	return true;
}
