# What leaves a trace for other programs: each is read by the program that it is meant for.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
needs "$apps/depth" "$VERBATIM"
rows() { python3 "$root/tests/e2e/export_rows.py" "$1" "$VERBATIM" "$2"; }

"$VERBATIM" record -q -o t.db -- "$apps/depth" rc 11 >out || exit 1

try "rows: values that are hard to write down are read back" rows hostile t.db
try "rows: each table is read back" rows tables t.db
short_names_go_before_the_format() {
	is "$("$VERBATIM" sql --csv --format jsonl t.db 'SELECT 1, 2')" 1,2 &&
		is "$(VERBATIM_FORMAT=jsonl "$VERBATIM" sql --json t.db 'SELECT 1 AS x')" \
			'[{"x": 1}]' &&
		is "$(VERBATIM_FORMAT=jsonl "$VERBATIM" sql t.db 'SELECT 1 AS x; SELECT 2 AS x')" \
			$'{"x": 1}\n{"x": 2}'
}
try short_names_go_before_the_format
