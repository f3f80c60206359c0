# One number is one number: record, info, check, stat, top and their JSON agree (numbers.py).
. tests/e2e/lib/try.sh
kept=$PWD/tests/conformance
cd "$tmp" || exit 1
needs "$apps/loop" "$apps/first_error"
tidy() { rm -f "$tmp"/*.db "$tmp"/last "$tmp"/samples; }

agree() { python3 "$root/tests/e2e/numbers.py" "$@"; }
# The numbers of a new recording, its last line too: t.db, or the file that is named there.
agree_with_record() { # options and program
	"$VERBATIM" record -o t.db "$@" >out 2>err
	grep -E ': [0-9]+ process(es)?, [0-9,]+ events?, ' err >last || { cat err; return 1; }
	agree t.db last
}
agree_with_top() {
	mkfifo go && exec 4<>go
	"$VERBATIM" record -o t.db -- \
		bash -c "$apps/first_error bad; read -t 100 -r line <go; $both ibv_rc_pingpong" \
		>out 2>err & local recorder=$!
	await "$VERBATIM" top -b -n 1 $recorder >out2 || return
	"$VERBATIM" top -b -f json $recorder >samples & local viewer=$!
	await grep -q '"phase":"recording"' samples && echo on >&4 && wait $viewer || return
	wait $recorder
	grep -E ': [0-9]+ process(es)?, [0-9,]+ events?, ' err >last && agree t.db last samples
}
agree_when_merged() {
	record_both_sides && agree s.db && "$VERBATIM" merge s.db t.db -o all.db >out 2>err &&
		agree all.db || { cat err; return 1; }
}
# Each file has its own events; all are those of the recording.
agree_when_rotated() {
	local each sum=0 n
	agree_with_record --rotate-size 512k -- "$apps/loop" counts $(share 350000 600000) || return
	[ -e t.1.db ] || { echo "it was not rotated"; return 1; }
	for each in t.*.db; do agree $each || return; done
	for each in t*.db; do
		n=$("$VERBATIM" info -f json $each 2>/dev/null | jq .trace.events)
		sum=$((sum + n))
	done
	is "events" $sum "$("$VERBATIM" sql t.db "SELECT sum(events) FROM thread" 2>/dev/null)"
}
# The recorder is killed: `info` completes what it left.
agree_when_interrupted() {
	"$VERBATIM" record -q -o t.db "$apps/loop" counts 2>err & local pid=$!
	has_data() { [ "$(stat -c %s t.db-wal 2>/dev/null || echo 0)" -gt 300000 ]; }
	await has_data || return
	pkill -KILL -P $pid loop; kill -KILL $pid; wait $pid 2>/dev/null
	agree t.db && "$VERBATIM" info t.db >out && says ^INTERRUPTED out
}
agree_on_an_excerpt() {
	record_both_sides && "$VERBATIM" trim -o part.db --from 1:300 t.db >out 2>err &&
		agree part.db || { cat err; return 1; }
}

try_in_turn "of a pingpong" agree_with_record "$both" ibv_rc_pingpong
try_in_turn "of a client that fails" agree_with_record ibv_rc_pingpong localhost
try_in_turn "of a queue pair in error" agree_with_record "$apps/first_error" bad
try_in_turn "of a program without verbs" agree_with_record true
try_in_turn "of one-sided operations" agree_with_record "$both" ib_write_bw -F -n 200
try_in_turn "of a sample" agree_with_record --filter 1/4 "$both" ibv_rc_pingpong
try_in_turn "of a flight recorder" agree_with_record --flight 512k -- "$apps/loop" counts 200000
try_in_turn "of a recording with lost events" agree_with_record --on-full drop --ring-size 256k -- \
	"$apps/loop" counts 200000
try_in_turn "of a killed process" agree "$kept/soft/killed_peer.db"
try_in_turn "of librdmacm" agree "$kept/rxe/rping.db"
try_in_turn "of an extended CQ" agree "$kept/soft/every_verb.db"
try_in_turn "in live statistics" agree_with_top
try_in_turn agree_when_merged
try_in_turn agree_when_rotated
try_in_turn agree_when_interrupted
try_in_turn agree_on_an_excerpt
