#!/usr/bin/env bash
# Make C programs from recordings: they build without a warning and do again what was recorded.
. tests/e2e/lib/try.sh
export VERBATIM_QUIET=1
cd "$tmp" || exit 1

# record NAME PROGRAM...: its two ends
record() {
	local name=$1
	shift
	timeout 120 "$VERBATIM" record -o "$name.db" -- "$both" "$@" >"$name.log" 2>&1 ||
		{ echo "recording: $(tail -1 "$name.log")"; return 1; }
}

# emit NAME: its trace becomes a source, and that a program
emit() {
	"$VERBATIM" emit "$1.db" -o "$1.c" && builds "$1"
}

builds() {
	${CC:-cc} -Wall -Wextra -Werror -o "$1" "$1.c" -libverbs -lpthread
}

# runs NAME: ends with 0, on the software device
runs() { timeout 120 "$VERBATIM" run -- "./$1"; }

# NAME LINES PROGRAM...: at most so many lines
becomes_a_program() {
	local name=$1 most=$2
	shift 2
	command -v "$1" >/dev/null || { echo "$1 is not installed"; return 1; }
	record "$name" "$@" && emit "$name" && runs "$name" || return
	local lines
	lines=$(wc -l <"$name.c")
	[ "$lines" -le "$most" ] || { echo "$lines lines"; return 1; }
}

# what the program is recorded to do has no finding that the original has not
is_checked_as() { # name
	timeout 120 "$VERBATIM" record -o again.db -- "./$1" >again.log 2>&1 || return
	local new
	new=$(comm -13 <(findings "$1.db") <(findings again.db))
	[ -z "$new" ] || { echo "new findings: $new"; return 1; }
}
findings() {
	"$VERBATIM" check --format sarif "$1" | jq -r '.runs[0].results[].ruleId' | sort -u
}

# alter NAME SQL: NAME.db altered becomes program altered, which ends with 1 and names the event
altered_is_told() { # name, table, where, set
	rm -f plain.db
	"$VERBATIM" unpack -o altered.db "$1.db" || return
	local event
	event=$(sqlite3 altered.db "SELECT thread || ':' || n FROM $2 WHERE $3 LIMIT 1 OFFSET 7")
	[ -n "$event" ] || { echo "no such row"; return 1; }
	sqlite3 altered.db "UPDATE $2 SET $4 WHERE thread = ${event%:*} AND n = ${event#*:}" &&
		emit altered || return
	runs altered >altered.out 2>&1
	is "exit status" $? 1 && says "^$event " altered.out
	rm -f altered.db
}

try "rc_pingpong" becomes_a_program rc_pingpong 700 ibv_rc_pingpong
try "rc_pingpong is checked" is_checked_as rc_pingpong
try "uc_pingpong" becomes_a_program uc_pingpong 700 ibv_uc_pingpong
try "ud_pingpong" becomes_a_program ud_pingpong 800 ibv_ud_pingpong
try "xsrq_pingpong" becomes_a_program xsrq_pingpong 800 ibv_xsrq_pingpong
try "an altered length" altered_is_told rc_pingpong wc "opcode = 128" "byte_len = 5"
try "an altered wr_id" altered_is_told rc_pingpong wc "opcode = 0" "wr_id = 5"
try "an altered status" altered_is_told rc_pingpong wc "opcode = 0" "status = 12"
