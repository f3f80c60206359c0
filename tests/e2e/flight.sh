# A trace stays within its limit, whatever the program calls: --flight and --rotate-size.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

# up to a tenth more is documented
size=$((512 << 10)) most=$(((512 << 10) * 11 / 10))
tidy() { rm -f "$tmp"/*.db "$tmp"/out "$tmp"/err "$tmp"/sizes; }
ask() { "$VERBATIM" sql "${2:-t.db}" "$1" 2>/dev/null; }
gcc -shared -fPIC -o libchurn.so "$root/tests/e2e/flight/churn.c" || exit 1
export CHURN_FILE=$tmp/libchurn.so

record() { # OPTIONS -- WHAT N...
	python3 "$root/tests/e2e/flight/peak.py" t.db \
		"$VERBATIM" record -q -o t.db "$@" >sizes 2>err
}

# The size of the file and its log, during the recording and at the end.
is_small() {
	local peak log rest
	read -r peak log rest <sizes
	[ "$peak" -le $most ] && [ "$log" -le $((2 * size)) ] ||
		{ echo "the file had $peak bytes, its log $log"; return 1; }
}

# The trace is as documented: it lacks nothing that it should have, and has no finding.
is_sound() {
	"$VERBATIM" check t.db >out 2>&1; is "check $?" "check 0" || { cat out; return 1; }
	"$VERBATIM" dump t.db >out 2>&1 && "$VERBATIM" stat t.db >out 2>&1 &&
		"$VERBATIM" info t.db >out 2>&1 && says ^OVERWRITTEN out || { cat out; return 1; }
	is "objects that nobody made" "$(ask "SELECT count(*) FROM object WHERE created_n IS NULL
		AND kind <> 'device'")" 0 &&
		is "rows of nobody" "$(ask "SELECT count(*) FROM frame
			WHERE stack NOT IN (SELECT id FROM stack)")" 0 &&
		is "stacks that are not there" "$(ask "SELECT count(*) FROM call WHERE stack NOT IN
			(SELECT id FROM stack)")" 0
}

# Events in the trace, and events that were reported as removed.
all_are_counted() { # least
	local n
	n=$(ask "SELECT (SELECT sum(overwritten) FROM loss) + (SELECT count(*) + count(end)
		FROM call) + (SELECT count(*) FROM mark)")
	[ "$n" -ge "$1" ] || { echo "$n events"; return 1; }
}

churn_is_bounded() { # least, WHAT N...
	record --flight 512k -- "$apps/churn" "${@:2}" || { cat err; return 1; }
	is_small && is_sound && all_are_counted "$1"
}

replays() {
	timeout 200 "$VERBATIM" replay t.db >out 2>&1; is "replay $?" "replay 0" &&
		says "^no divergence" out || { cat out; return 1; }
}

# Regions are numbered as if none had been removed.
names_stay() {
	record --flight 512k -- "$apps/churn" alive 2 regions 20000 alive 1 ||
		{ cat err; return 1; }
	is "$(ask "SELECT group_concat(name) FROM (SELECT name FROM object WHERE kind = 'mr'
		AND destroyed_at IS NULL ORDER BY id)")" mr1,mr2,mr20003 &&
		is "$(ask "SELECT max(ordinal) FROM object WHERE kind = 'mr'")" 20003 && replays
}

fetched_events_are_bounded() {
	next_port
	cat >program <<-X
		ibv_rc_pingpong -e -p $port -n 12000 >/dev/null &
		server=\$!
		. '$root/tests/e2e/lib/listens.sh'
		until listens $port; do kill -0 \$server && pause || exit 1; done
		no_pause
		ibv_rc_pingpong -e -p $port -n 12000 localhost >/dev/null && wait \$server
	X
	record --flight 512k -- bash program || { cat err; return 1; }
	is_small && is_sound && all_are_counted 48000 && replays
}

what_is_alive_stays_and_is_reported() {
	record --flight 512k -- "$apps/churn" alive 16000 || { cat err; return 1; }
	is "$(grep -c "gets larger than --flight 512 KiB: the [0-9,]* live objects" err)" 1 &&
		is "$(ask "SELECT count(*) FROM call WHERE verb = 'ibv_reg_mr'")" 16000 && replays
}

rotated_traces_are_bounded() {
	local t n=0 calls=0
	record --rotate-size 512k -- "$apps/churn" regions 20000 || { cat err; return 1; }
	is_small || return
	for t in t.*.db t.db; do
		n=$((n + 1))
		[ "$(stat -c %s $t)" -le $most ] || { ls -l $t; return 1; }
		"$VERBATIM" check $t >out 2>&1; is "$t $?" "$t 0" || { cat out; return 1; }
		calls=$((calls + $("$VERBATIM" stat --format json $t 2>/dev/null |
			jq '[.verbs[] | select(.verb == "ibv_reg_mr") | .calls][0] // 0')))
	done
	[ $n -gt 1 ] || { ls; return 1; }
	is $calls 20000
}

check_sees_all_of_it() {
	record --check --flight 512k -- "$apps/churn" regions 20000 || { cat err; return 1; }
	! grep '^[EW] ' err && is_small && is_sound &&
		is "$(ask "SELECT max(ordinal) FROM object WHERE kind = 'mr'")" 20000
}

too_small_a_size_is_refused() {
	local option
	for option in flight rotate-size; do
		"$VERBATIM" record --$option 64 true 2>err; is $? 2 && is "$(wc -l <err)" 1 &&
			says "at least 512k" err || return
	done
}

needs "$VERBATIM" "$apps/churn"
try_in_turn "regions" churn_is_bounded 80000 regions 20000
try_in_turn "queue pairs" churn_is_bounded 24000 qps 4000
try_in_turn "queries" churn_is_bounded 200000 queries 100000
try_in_turn "threads" churn_is_bounded 8000 threads 1000
try_in_turn "forks" churn_is_bounded 1500 forks 100
try_in_turn "stacks" churn_is_bounded 8000 stacks 2000
try_in_turn "marks" churn_is_bounded 30000 marks 30000
try_in_turn "object files" churn_is_bounded 4000 files 1000
try fetched_events_are_bounded
try names_stay
try what_is_alive_stays_and_is_reported
try rotated_traces_are_bounded
try check_sees_all_of_it
try too_small_a_size_is_refused
exit $failed
