/*
 * The GID of a port that replaces a recorded one: tables of real devices
 */
#include <arpa/inet.h>

#include "replay/device/gids.h"
#include "tests/test.h"

struct entry {
	const char *address; /* NULL: a gap */
	enum gid_kind kind;
};

#define LOCAL  "fe80::1"
#define OTHER  "fe80::2"
#define V4     "::ffff:10.0.0.1"
#define FAR_V4 "::ffff:192.168.7.9"
#define GLOBAL "2001:db8::1"

enum { ENTRIES = 8 };

/* clang-format off */
static const struct entry
	infiniband[ENTRIES] = { { LOCAL, GID_IB } },
	mlx5[ENTRIES] = { { LOCAL, GID_ROCE_V1 }, { LOCAL, GID_ROCE_V2 },
			  { V4, GID_ROCE_V1 }, { V4, GID_ROCE_V2 } },
	v6_first[ENTRIES] = { { LOCAL, GID_ROCE_V1 }, { LOCAL, GID_ROCE_V2 },
			      { GLOBAL, GID_ROCE_V1 }, { GLOBAL, GID_ROCE_V2 },
			      { V4, GID_ROCE_V1 }, { V4, GID_ROCE_V2 } },
	rxe[ENTRIES] = { { LOCAL, GID_ROCE_V2 }, { V4, GID_ROCE_V2 } },
	gaps[ENTRIES] = { { NULL, 0 }, { LOCAL, GID_ROCE_V1 }, { NULL, 0 }, { NULL, 0 },
			  { V4, GID_ROCE_V2 } },
	no_v4[ENTRIES] = { { LOCAL, GID_ROCE_V1 }, { LOCAL, GID_ROCE_V2 } },
	untyped[ENTRIES] = { { LOCAL, GID_UNTYPED }, { V4, GID_UNTYPED } },
	none[ENTRIES];

struct choice {
	const char *name;
	const struct entry *here;
	struct entry wanted; /* no address: unknown */
	int index, expected;
};

static const struct choice choices[] = {
	{ "the same device", mlx5, { FAR_V4, GID_ROCE_V2 }, 3, 3 },
	{ "v1 stays v1", mlx5, { FAR_V4, GID_ROCE_V1 }, 2, 2 },
	{ "IPv4 is elsewhere", v6_first, { FAR_V4, GID_ROCE_V2 }, 3, 5 },
	{ "and of v1", v6_first, { FAR_V4, GID_ROCE_V1 }, 2, 4 },
	{ "a shorter table", rxe, { FAR_V4, GID_ROCE_V2 }, 3, 1 },
	{ "from a shorter table", mlx5, { FAR_V4, GID_ROCE_V2 }, 1, 3 },
	{ "gaps", gaps, { FAR_V4, GID_ROCE_V2 }, 3, 4 },
	{ "the kind counts for more than the family", gaps, { OTHER, GID_ROCE_V2 }, 1, 4 },
	{ "no IPv4 here", no_v4, { FAR_V4, GID_ROCE_V2 }, 3, 1 },
	{ "no v1 here", rxe, { FAR_V4, GID_ROCE_V1 }, 2, 1 },
	{ "kind not known", v6_first, { FAR_V4, GID_UNTYPED }, 3, 5 },
	{ "kind not known, there is one at the index", v6_first, { FAR_V4, GID_UNTYPED }, 4, 4 },
	{ "kinds not known here", untyped, { FAR_V4, GID_ROCE_V2 }, 3, 1 },
	{ "nothing is known", mlx5, { NULL, 0 }, 2, 2 },
	{ "nothing is known, and the index is a gap", gaps, { NULL, 0 }, 2, 4 },
	{ "nothing is known, past the end", mlx5, { NULL, 0 }, 9, 1 },
	{ "InfiniBand on InfiniBand", infiniband, { OTHER, GID_IB }, 0, 0 },
	{ "InfiniBand on RoCE", mlx5, { OTHER, GID_IB }, 0, 1 },
	{ "RoCE on InfiniBand", infiniband, { FAR_V4, GID_ROCE_V2 }, 3, 0 },
	{ "there are none", none, { FAR_V4, GID_ROCE_V2 }, 3, 0 },
};
/* clang-format on */

static struct gid make_gid(const struct entry *e)
{
	struct gid gid = { .kind = e->kind };

	if (e->address)
		assert_int_equal(inet_pton(AF_INET6, e->address, &gid.raw), 1);
	return gid;
}

static void choose_one(void **state)
{
	const struct choice *c = *state;
	const struct gid wanted = make_gid(&c->wanted);
	struct gids here = { .n = ENTRIES };

	for (int i = 0; i < ENTRIES; i++)
		here.at[i] = make_gid(&c->here[i]);
	assert_int_equal(gids_choose(&here, c->index, c->wanted.address ? &wanted : NULL),
			 c->expected);
}

TEST_ROWS(choices, choose_one);
