# verbatim record --check: the findings of `verbatim check`, while the program runs.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

# record COMMAND: its messages to `err`
record() { "$VERBATIM" record -q --check -o t.db -- "$@" 2>err >out; }

# The first screen, which is printed last, when a program ends.
screen() { awk '/^t\.db: / { on = 1 } /^$|^verbatim: / { on = 0 } on' "$1"; }

# The rest without the program's own output; errors first, since their order varies.
sorted() {
	awk '/^t\.db: / { off = 1 } /^$/ { off = 0 } !off' "$1" |
		grep -v \
			-e '^verbatim: \|^See `verbatim explain\|^$' \
			-e '^  and .* like it$\|^  in [0-9]* processes: \|more from that place$' |
		sed '/^first error/,/^  wc/ s/; [0-9]* completions* flushed after it//' |
		awk '/^first error/ { print > "/dev/stderr"; getline; print > "/dev/stderr"
				posted = 1; next }
			posted && /^        / { next } { posted = 0; print }' 2>>"$1.errors"
}
same() {
	: >check.errors >err.errors
	"$VERBATIM" check t.db >check
	sorted check >check.rest
	sorted err >err.rest
	cmp check.errors err.errors && diff check.rest err.rest &&
		is "$(screen err)" "$(screen check)" &&
		same_as_live t.db
}

finds_what_check_finds_in() {
	record "$apps/$1" bad
	grep -q '^[EW] ' err || { echo "nothing is found"; return 1; }
	same
}

finds_what_check_finds_in_random_sequences() { record "$apps/model_run" "$1" 60; same; }

shows_the_first_error() {
	record "$apps/first_error"
	is $? 1 && says '^first error: IBV_WC_.* bytes at ' err && same
}

is_silent_about_what_is_right() {
	record "$apps/life_001" good
	is "$? $(grep -c '^[EWPI] ' err)" "0 0" &&
		is "$("$VERBATIM" sql t.db 'select count(*) from finding')" 0
}

ends_with_1_or_what_the_program_said() {
	record "$apps/life_001" bad
	is "$?" 1 || return
	record sh -c "$apps/life_001 bad; exit 7"
	is "$?" 7 || return
	"$VERBATIM" record -q -o t.db -- "$apps/life_001" bad 2>err
	is "$? $(cat err)" "0 "
}

tells_while_the_program_runs() {
	local status recorder
	rm -f in; mkfifo in; : >err
	"$VERBATIM" record -q --check -o t.db -- "$apps/patient" <in 2>err >out & recorder=$!
	exec 7>in
	await grep -q LIFE-001 err; status=$?
	is "$(cat out)" made || status=1
	kill -0 $recorder || { echo "the recording has ended"; status=1; }
	exec 7>&-
	wait $recorder
	is "$? $status" "1 0"
}

# "verbatim: process 1 is stopped (pid 123): ..."
stops_the_program_for_a_debugger() {
	local status=0 pid recorder
	rm -f in; mkfifo in; : >err
	"$VERBATIM" record -q --stop-on=finding -o t.db -- \
		"$apps/patient" <in 2>err >out & recorder=$!
	exec 7>in
	await grep -q 'is stopped' err || status=1
	pid=$(sed -n 's/.*is stopped (pid \([0-9]*\)).*/\1/p' err)
	await grep -q '^State:.T' "/proc/$pid/status" ||
		status=1 # the message says only that the stop was requested
	exec 7>&-
	kill -CONT "$pid"
	wait $recorder
	is "$? $status" "1 0" && is "$(grep -c 'is stopped' err)" 1 && same
}

found() { grep -o '^E LIFE-003 destroy-with-children  *[0-9:]*' "$@" | sed 's/.* //'; }

# Each of six mistakes is in one of the traces, the one with its event.
goes_on_over_traces_one_after_the_other() {
	"$VERBATIM" record -q --check --rotate-size 512k -o t.db "$apps/leaky" 300000 50000 2>err
	is "$? $(found err | wc -l)" "1 6" || return
	[ -e t.1.db ] || { echo "nothing was rotated"; return 1; }
	for t in t.*.db t.db; do "$VERBATIM" check "$t"; done >check 2>/dev/null
	is "$(found check)" "$(found err)" &&
		is "$(for t in t.*.db t.db; do
			"$VERBATIM" sql "$t" "select event(thread, n) from finding
				where rule = 'LIFE-003' order by time" 2>/dev/null
		done)" "$(found err)" &&
		is "$(for t in t.*.db t.db; do
			"$VERBATIM" sql "$t" "select event(thread, n) from call
				where failed and verb = 'ibv_dealloc_pd'" 2>/dev/null
		done | wc -l)" 6
	local status=$?
	rm -f t.*.db
	return $status
}

# Events that it has not read yet are not overwritten.
goes_with_a_flight_recorder() {
	"$VERBATIM" record -q --check --flight 512k -o t.db "$apps/leaky" 600000 100000 2>err
	is "$? $(found err | wc -l)" "1 6" && grep -q ', 2,4[0-9,]\{6\} events, 0 lost' err ||
		{ tail -3 err; return 1; }
	is "$("$VERBATIM" sql t.db "select count(*) from finding where rule = 'LIFE-003'" \
		2>/dev/null)" 6
}

childless() { [ -z "$(pgrep -P "$1" -r S,R,D gap_later)" ]; }

# gap MISSING OPTIONS: to `err`. A mistake is found, then events are lost or calls bypass the
# recorder, then the mistake is repeated.
gap() {
	local recorder missing=$1
	rm -f in; mkfifo in; : >err
	"$VERBATIM" record -q --check -o t.db "${@:2}" -- "$apps/gap_later" $missing \
		<in 2>err >out &
	recorder=$!
	exec 7>in
	await grep -q '^W QUEUE-003' err || { exec 7>&-; wait $recorder; return 1; }
	if [ "$missing" = direct ]; then
		exec 7>&-
	else
		kill -STOP $recorder
		exec 7>&-
		await childless $recorder
		kill -CONT $recorder
	fi
	wait $recorder
	is "exit $?" "exit 0" &&
		says '^verbatim: retracted, .*: QUEUE-003 at 1:[0-9]*;' err &&
		is "$(grep -c '^W QUEUE-003' err)" 1
}

takes_back_what_a_gap_may_explain() {
	gap "$@" || return
	"$VERBATIM" check t.db >check 2>/dev/null
	is "exit $?" "exit 0" && is "$(screen err)" "$(screen check)" && same_as_live t.db
}

takes_back_in_one_of_several_traces() {
	gap "$@" && is "$(t=t.db sql "select count(*) from finding
		where rule = 'QUEUE-003'" 2>/dev/null)" 0
}

events_of() { sed -n "s/^$1.*, \([0-9,]*\) events.*/\1/p" err | tr -d ,; }

counts_the_events_that_record_counts() {
	"$VERBATIM" record --check -o t.db -- "$apps/leaky" 1000 500 2>err >out
	local n; n=$(events_of 'verbatim: t.db: 1 process')
	[ "${n:-0}" -gt 4000 ] && is "$(events_of 't.db: 1 process')" "$n" &&
		is "$(screen err)" "$("$VERBATIM" check t.db 2>/dev/null | screen -)" &&
		says "^events    $(sed -n 's/.*1 process, \([0-9]*,[0-9]*\) .*/\1/p' err)," \
			<("$VERBATIM" info t.db)
}

knows_what_to_stop_on() {
	"$VERBATIM" record --stop-on=warning -- true 2>err
	is "$?" 2
}

for program in life_001 life_002 life_003 life_004 compl_003 fork_003; do
	try finds_what_check_finds_in $program
done
for seed in 1 400; do
	try_in_turn finds_what_check_finds_in_random_sequences $seed
done
for each in shows_the_first_error is_silent_about_what_is_right \
	ends_with_1_or_what_the_program_said tells_while_the_program_runs \
	stops_the_program_for_a_debugger counts_the_events_that_record_counts \
	knows_what_to_stop_on; do
	try $each
done
try_in_turn goes_on_over_traces_one_after_the_other
try_in_turn goes_with_a_flight_recorder
drop="--on-full drop --ring-size 256k"
try takes_back_what_a_gap_may_explain "lost 20000" $drop
try takes_back_what_a_gap_may_explain direct
try takes_back_in_one_of_several_traces "lost 20000" $drop --rotate-size 64M
try takes_back_in_one_of_several_traces direct --flight 64M
