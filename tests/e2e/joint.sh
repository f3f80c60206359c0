# Both ends of a job, recorded separately and checked together: the result is that of one recording
# of both, even if the clock of the second machine is wrong by seconds.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

# Each end is recorded separately: lib/both starts this for the server, and for the client.
cat >apart <<'END'
#!/bin/bash
last=${!#}
[ "$last" = localhost ] && t=b.db || t=a.db
exec "$VERBATIM" record -q -o $t -- "$@"
END
chmod +x apart

record_apart() { rm -f a.db b.db; "$both" ./apart "$@" >/dev/null 2>&1; }
record_as_one() { "$VERBATIM" record -q -o both.db -- "$both" "$@" >/dev/null 2>&1; }

# b.db as if from another machine, whose time of day is that many seconds ahead.
move_away() {
	cp b.db c.db
	sqlite3 c.db "UPDATE meta SET value = 'another' WHERE key = 'recorder_boot';
		UPDATE meta SET value = value + $1 * 1000000000 WHERE key = 'realtime'"
}

# A report without names, times and addresses.
say_alike() {
	"$VERBATIM" check --format json "$@" | jq -r '
		(.findings[] | [.rule, .where, .message]),
		(.first_errors[] | [.status, .opcode, .keys, .peer, .peer_then]),
		(.failed_verbs[] | [.what, .because]) | join(" ")' |
		sed -E 's/([a-z]\.db )?process [0-9]+/P/g; s/([a-z]\.db:)?[0-9]+:[0-9]+/E/g
			s/[0-9.]+ (ns|us|ms|s)\>/T/g; s/0x[0-9a-f]+/A/g' | sort
}

says_the_same() { # program and arguments
	record_as_one "$@" && record_apart "$@" || { echo "a program failed"; return 1; }
	say_alike both.db >one
	say_alike a.db b.db >two
	move_away -5
	say_alike a.db c.db >away
	is "apart" "$(cat two)" "$(cat one)" && is "another machine" "$(cat away)" "$(cat one)"
}

screen() { "$VERBATIM" check "$@" | head -24 | tr -s ' \n' '  '; }
is_on_screen() { # expected text; traces
	local wanted=$1
	shift
	[[ $(screen "$@") =~ $wanted ]] || { echo "no '$wanted' in: $(screen "$@")"; return 1; }
}

a_pingpong_is_silent() {
	says_the_same ibv_rc_pingpong -g 0 -n 100 && is "$(cat one)" "" &&
		is_on_screen "the same machine and clock, 1 joined queue pair" a.db b.db &&
		is_on_screen "c.db: its clock is [45].[0-9]* s behind, \+- .*, from 200 messages" \
			a.db c.db
}
# Nothing joins it, but its clock is that of another trace, which is joined.
a_clock_is_that_of_its_machine() {
	record_apart ibv_rc_pingpong -g 0 -n 100 && move_away -5 &&
		"$VERBATIM" record -q -o d.db ibv_devinfo >out 2>&1 || return
	sqlite3 d.db "UPDATE meta SET value = 'another' WHERE key = 'recorder_boot'"
	is_on_screen "d.db: its clock is .* \+- [^,]*, as in another trace of its machine" \
		a.db c.db d.db
}
perftest_is_silent() {
	says_the_same ib_write_bw -n 100 -F && grep -q . one && { cat one; return 1; }
	is_on_screen "c.db: its clock is [45].[0-9]* s behind, \+- .* joined queue pair" a.db c.db
}

a_key_that_is_gone() {
	says_the_same "$apps/far_end" gone && says "MKEY-004.*was mr1 of pd1 of P until" one &&
		is_on_screen "mr1 of pd1 of a.db process 1; its ibv_dereg_mr a.db:1:[0-9]+ began" \
			a.db c.db &&
		is_on_screen "qp1 -> a.db process 1 .far_end. qp1" a.db c.db
}
no_receive_was_posted() {
	says_the_same "$apps/far_end" late && says "STATE-006" one
}
correct_ends_are_silent() { says_the_same "$apps/far_end" good && is "$(cat one)" ""; }

# One end alone gives no finding, and has no peer.
one_end_says_less() {
	record_apart "$apps/far_end" gone || return
	is "$("$VERBATIM" check --format json b.db | jq -c '[.findings[].rule]')" "[]"
}

a_finding_is_saved_in_its_own_trace() {
	record_apart "$apps/far_end" gone || return
	move_away 5
	"$VERBATIM" check --save a.db c.db >/dev/null
	local of="FROM finding WHERE rule GLOB '*-[0-9]*'"
	is "$(sqlite3 a.db "SELECT count(*) $of")" 0 &&
		is "$(sqlite3 c.db "SELECT rule, process, thread $of")" "MKEY-004|1|1" &&
		"$VERBATIM" dump c.db "$(sqlite3 c.db "SELECT thread || ':' || n $of")" |
		grep -q "opcode=IBV_WR_RDMA_WRITE"
}
# An event of any of the traces, whose clock is another.
a_range_between_events_of_one() {
	local first last
	"$VERBATIM" dump a.db c.db >whole 2>/dev/null
	read -r first last <<<"$(awk '$2 ~ /^c.db:/ { print $2 }' whole | sed -n '3p;9p' |
		paste -sd' ')"
	"$VERBATIM" dump --from $first --to $last a.db c.db >out 2>/dev/null &&
		is "$(awk -v f=$first -v l=$last '$2 == f { on = 1 } on; $2 == l { exit }' whole)" \
			"$(cat out)" || return
	"$VERBATIM" dump --from 1:3 a.db c.db >out 2>err
	is $? 2 && says "name the trace of the event, as in a.db:1:3" err
}
# In each command an object has the name of its trace, as an event has.
an_object_of_one() {
	"$VERBATIM" dump --object qp1 a.db c.db >both 2>/dev/null
	"$VERBATIM" dump --object c.db:qp1/1 a.db c.db >out 2>/dev/null && [ -s out ] &&
		is "$(awk '$2 ~ /^c.db:/' both)" "$(cat out)" &&
		"$VERBATIM" query a.db c.db state of c.db:qp1/1 >out 2>/dev/null &&
		says "^qp1 of c.db process 1" out || return
	"$VERBATIM" query a.db c.db state of c.db:qp9/1 >out 2>err
	is $? 2 && says "has no object 'c.db:qp9/1' (did you mean 'c.db:qp1/1'?)" err
}
reports_of_several() {
	"$VERBATIM" check --format json a.db c.db >t.json
	"$VERBATIM" check --format sarif a.db c.db >t.sarif
	"$VERBATIM" check --format junit a.db c.db >t.xml
	is "$(jq -c '[.traces[].name]' t.json)" '["a.db","c.db"]' &&
		is "$(jq -c '.findings[0] | [.trace, .process]' t.json)" '["c.db",1]' &&
		is "$(jq -c '.runs[0].results[] | select(.ruleId == "MKEY-004") | .properties |
			[.trace, .process]' t.sarif)" '["c.db",1]' &&
		is "$(grep -c '<failure' t.xml)" 2
}
exit_status_is_one() {
	"$VERBATIM" check a.db c.db >/dev/null
	is $? 1 && { "$VERBATIM" check --write-baseline known a.db c.db >/dev/null
		"$VERBATIM" check --baseline known a.db b.db >/dev/null; is $? 0; }
}

complains() { # exit status, text; traces
	local status=$1 what=$2
	shift 2
	"$VERBATIM" check "$@" >out 2>err
	is "exit $?" "exit $status" && is "$(wc -l <err)" 1 && says "$what" err
}
what_cannot_be_joined() {
	cp a.db copy.db
	head -c 20000 b.db >short.db
	cp b.db old.db && sqlite3 old.db "PRAGMA user_version = 1"
	complains 3 "a.db is given twice" a.db a.db &&
		complains 3 "are from the same recording" a.db copy.db &&
		complains 3 "short.db is truncated" a.db short.db &&
		complains 3 "old.db" a.db old.db && complains 4 "none.db" a.db none.db
}
# A recorder may have the process id, the start or the clock of another.
recordings_differ_in_one_thing() {
	local key
	for key in recorder_boot recorder recorder_start clock_start realtime; do
		cp a.db copy.db && sqlite3 copy.db "UPDATE meta SET value =
			CASE key WHEN 'recorder_boot' THEN 'other' ELSE value + 1 END
			WHERE key = '$key'" || return
		"$VERBATIM" check a.db copy.db >out 2>err
		is "$key $(cat err)" "$key " || return
	done
}
what_one_has_lost() {
	cp b.db lost.db
	sqlite3 lost.db "INSERT INTO loss(thread, process, events) VALUES(1, 1, 3)"
	"$VERBATIM" check a.db lost.db >out
	says "not checked, because in lost.db 3 events were lost" out
}

try a_pingpong_is_silent
try a_clock_is_that_of_its_machine
try perftest_is_silent
# the soft limit of descriptors is no limit, the hard one is
many_traces_are_open_at_once() {
	(ulimit -Sn 24; "$VERBATIM" check "$root"/tests/conformance/*/*.db >out 2>err)
	is "exit $?" "exit 1" || { cat err; return 1; }
	tr -s ' \n' '  ' <out >flat
	says "^[^ ]*, [^ ]*, [^ ]* and [0-9]* more traces: [0-9]* processes" flat || return
	(ulimit -n 24; "$VERBATIM" check "$root"/tests/conformance/*/*.db >out 2>err)
	is "exit $?" "exit 4" && says "traces need [0-9]* file descriptors: raise .ulimit -n." err
}

try many_traces_are_open_at_once
try a_key_that_is_gone
try no_receive_was_posted
try correct_ends_are_silent
try one_end_says_less
try a_finding_is_saved_in_its_own_trace
try a_range_between_events_of_one
try an_object_of_one
try reports_of_several
try exit_status_is_one
try what_cannot_be_joined
try recordings_differ_in_one_thing
try what_one_has_lost
