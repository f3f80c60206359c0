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

# Debian's python3 has the packages that install-deps installs.
metrics() { # trace, command
	/usr/bin/python3 "$root/tests/e2e/export_metrics.py" "$VERBATIM" "$1" \
		"$root/docs/man/verbatim-stat.1" "$2" >counted ||
		return
	[[ $(cat counted) =~ ^[1-9][0-9]*\ [1-9].*\ [1-9] ]] || { cat counted; return 1; }
}
metrics_are_those_of_json() { metrics t.db "$apps/depth rc 11"; }
try metrics_are_those_of_json
labels_are_whatever_a_program_is_called() {
	local odd=$'a"b\\c\nd{e="f"} 1\e'
	cp t.db odd.db && sqlite3 odd.db "UPDATE meta SET value = '$odd' WHERE key = 'command'" &&
		metrics odd.db "$odd"
}
try labels_are_whatever_a_program_is_called
metrics_of_a_part_are_of_that() {
	"$VERBATIM" stat -f openmetrics --to 1:20 t.db >part &&
		is "$(grep -c '^verbatim_events_total [1-9]' part)" 1 &&
		! "$VERBATIM" stat -f openmetrics --process 7 t.db >part 2>err && ! [ -s part ]
}
try metrics_of_a_part_are_of_that
