# Programs under valgrind, on the software device, recorded and not: use of delivered bytes is not
# reported, use of others still is. LONG=1 tries more of them both ways.
. tests/e2e/lib/try.sh
delivered=$apps/delivered loop=$apps/loop

command -v valgrind >/dev/null || { echo "skip valgrind: not installed"; exit 0; }

bare() { timeout 120 "$VERBATIM" run -- "$@"; }
# with all options that read the program's memory
recorded() { timeout 120 "$VERBATIM" record -q --payload=hash -o "$tmp/t.db" -- "$@"; }
memcheck=(valgrind -q --error-exitcode=99 --log-file="$tmp/log.%p")

# 0 errors in every process that runs under memcheck
finds_nothing() {
	rm -f "$tmp"/log.*
	"$@" >"$tmp/out" 2>&1 ||
		{ echo "status $?: $(tail -3 "$tmp/out") $(head -20 "$tmp"/log.*)"; return 1; }
	is "said by valgrind" "$(cat "$tmp"/log.*)" ""
}

is_whole() {
	is lost "$(sql 'select coalesce(sum(events), 0) from loss')" 0 &&
		is "not seen" "$(sql 'select count(*) from coverage')" 0 &&
		"$VERBATIM" check --mute LIFE-004 "$tmp/t.db"
}

# both ends of 5 messages each by send, write and read, and an atomic; 5 of them are received
deliveries_are_whole() {
	is_whole && is requests "$(sql "select count(*) from wr where verb = 'ibv_post_send'")" \
		16 &&
		is received "$(sql 'select count(*) from wc where opcode = 128 and status = 0')" 5
}

each_delivered_byte_is_defined() {
	finds_nothing bare "${memcheck[@]}" --trace-children="$1" "$delivered"
}

recorded_too() {
	finds_nothing recorded "${memcheck[@]}" --trace-children=yes "$delivered" &&
		deliveries_are_whole
}

# by send, write, read and atomic
bytes_behind_are_not() {
	rm -f "$tmp"/log.*
	"$1" "${memcheck[@]}" "$delivered" beyond >"$tmp/out" 2>&1
	is status $? 99 && is "places of errors" \
		"$(cat "$tmp"/log.* | grep -c 'uninitialised value')" 4 ||
		{ cat "$tmp"/log.*; return 1; }
}

undefined_bytes_stay_so() {
	rm -f "$tmp"/log.*
	"$1" "${memcheck[@]}" "$delivered" undefined >"$tmp/out" 2>&1
	is status $? 99 && is "places of errors" "$(cat "$tmp"/log.* | grep -c 'uninitialised')" \
		1 || { cat "$tmp"/log.*; return 1; }
}

pingpong() {
	finds_nothing recorded "$both" "${memcheck[@]}" ibv_rc_pingpong -c -e -n 20 "$@" &&
		is_whole &&
		is completions "$(sql 'select count(*) from wc where status = 0')" 80
}

recorder_under_memcheck() {
	finds_nothing "${memcheck[@]}" "$VERBATIM" record -q -o "$tmp/t.db" -- "$loop" \
		"$tmp/counts" 100 && is_whole &&
		is requests "$(sql 'select count(*) from wr')" 200
}

under_drd() {
	finds_nothing recorded valgrind -q --tool=drd --error-exitcode=99 --log-file="$tmp/log.%p" \
		"$loop" "$tmp/counts" 100 && is_whole &&
		is requests "$(sql 'select count(*) from wr')" 200
}

peak='import resource, subprocess, sys
done = subprocess.run(sys.argv[2:])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
sys.exit(done.returncode or peak > int(sys.argv[1]) and f"{peak} MB")'

# The program leaves the device open, and the leak check scans all readable memory.
leaks_are_looked_for() {
	rm -f "$tmp"/log.*
	bare python3 -c "$peak" 1024 \
		valgrind --leak-check=full --log-file="$tmp/log.%p" "$apps/life_004" bad \
		>"$tmp/out" 2>&1
	is "status $?, $(cat "$tmp/out")" "status 0, " &&
		is "summaries" "$(cat "$tmp"/log.* | grep -c 'LEAK SUMMARY')" 1 ||
		{ tail -5 "$tmp"/log.*; return 1; }
}

# A device whose writes memcheck cannot see, as hardware with the libraries of a distribution: uses
# of attributes, completions and received data are reported, unless they are recorded, the data on
# request. What a peer writes into memory has no completion here: that remains.
unseen() { # what records or runs it; prints the functions of the program with a report
	rm -f "$tmp"/log.*
	VERBATIM_SOFT_MEMCHECK=unseen "$@" "${memcheck[@]}" "$delivered" \
		>"$tmp/out" 2>&1
	is "status of $1" $? 99
	grep -hA4 'uninitialised value' "$tmp"/log.* | sed -n 's/.*: \(.*\) (delivered.c.*/\1/p' |
		grep -xE 'look_at_state|await_completion|receive_message|read_there|be_written' |
		sort -u | xargs
}
unseen_writes_are_defined() {
	is "recorded with data" "$(unseen recorded)" be_written && is_whole &&
		is recorded "$(unseen "$VERBATIM" record -q -o "$tmp/t.db" --)" \
			"be_written receive_message" &&
		is bare "$(unseen "$VERBATIM" run --)" \
			"await_completion be_written look_at_state read_there receive_message"
}
try_in_turn "what a device writes unseen is defined" unseen_writes_are_defined

try_in_turn "each delivered byte is defined" each_delivered_byte_is_defined yes
try_in_turn "also those of a peer that runs without" each_delivered_byte_is_defined no
try_in_turn "recorded, too" recorded_too
for how in $(share recorded "bare recorded"); do
	try_in_turn "bytes behind what was delivered are not, $how" bytes_behind_are_not $how
done
for how in $(share bare "bare recorded"); do
	try_in_turn "what was sent without a value has none, $how" undefined_bytes_stay_so $how
done
if [ -n "${LONG:-}" ]; then
	try_in_turn "ibv_rc_pingpong -c" pingpong
	try_in_turn "ibv_rc_pingpong -c, long messages" pingpong -s 100000
fi
try_in_turn "leaks are looked for in what is used" leaks_are_looked_for
if ldd "$VERBATIM" | grep -q 'lib[at]san'; then \
	echo "skip valgrind: the recorder under memcheck: it has a sanitizer already"
else try_in_turn "the recorder under memcheck" recorder_under_memcheck; fi
try_in_turn "a recorded program under drd" under_drd
