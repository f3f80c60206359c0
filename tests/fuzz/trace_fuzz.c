/*
 * Traces, altered as the fuzzer's bytes determine, to all commands that read one except replay,
 * which drives a device in a separate process
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/inside.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	inside_open("trace", "check t.db");
	inside_open("plain", "check t.db");
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static mutate_fn *const ways[] = { mutate_rows,  mutate_columns, mutate_columns,
					   mutate_chunk, mutate_schema,  mutate_bytes };
	static const char *const lines[] = {
		"info t.db",
		"info --format json t.db",
		"dump t.db",
		"dump --payload full t.db",
		"stat t.db",
		"stat --format json t.db",
		"export t.db",
		"export --format folded t.db",
		"export --format perfetto -o o.trace t.db",
		"export --format pcapng -o o.pcapng t.db",
		"trim -o o.db --from 1:20 t.db",
		"trim -o o.db --only process=1 t.db",
		"merge -o o.db t.db u.db",
		"merge -o o.db u.db t.db",
		"emit --allow-partial t.db",
		"model t.db",
		"sql t.db SELECT*FROM\tmrs,failures",
		"check t.db",
		"check t.db u.db",
		"dump t.db u.db",
		"diff t.db u.db",
		"query t.db state of qp1 in process 1",
		"query t.db outstanding on cq1 in process 1",
		"query t.db registered",
		"query t.db path of wr_id 1",
		"check --format json t.db",
		"check --format sarif t.db",
		"check --format junit --save t.db",
		"unpack -o o.db t.db",
		"sql --json t.db SELECT*FROM\twr",
		"sql --csv t.db SELECT*FROM\twc",
		"sql t.db SELECT*FROM\tpayload",
		"sql t.db SELECT*FROM\trequests",
		"sql t.db SELECT*FROM\tqps",
		"sql t.db SELECT*FROM\tqueue_depth",
	};
	struct dice dice = dice_of_bytes(bytes, n);
	uint32_t line = dice_roll(&dice, sizeof(lines) / sizeof(*lines));
	mutate_fn *way = ways[dice_roll(&dice, sizeof(ways) / sizeof(*ways))];

	way(inside_copy(&dice), &dice);
	inside_run(lines[line]);
	return 0;
}
