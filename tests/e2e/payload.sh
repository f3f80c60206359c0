# Payload capture: the trace has the bytes that the program knows.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

tidy() {
	rm -rf "$tmp"/*.db "$tmp"/out "$tmp"/err "$tmp"/d "$tmp"/counts "$tmp"/hashes "$tmp"/more \
		"$tmp"/sessions/*
}
ask() { "$VERBATIM" sql "${2:-t.db}" "$1"; }
record() { "$VERBATIM" record -q -o t.db "$@"; }
compare() { python3 "$root/tests/e2e/payload.py" out "${2:-t.db}" "$1" "$VERBATIM"; }
known() { record --payload "$1" "${@:2}" "$apps/payload" --strangers >out && compare "$1"; }
sound() { record --payload "$1" "$apps/payload" >out && compare "$1"; } # without the strangers

full_is_every_byte() { known full; }
full_through_the_smallest_ring() { known full --ring-size 256k; }
first_bytes_are_the_first() { known 64 && known 1 && known 4096; }
hash_is_of_every_byte() { known hash && is "$(ask 'SELECT max(captured) FROM payload')" 0; }

# Equal bytes have equal hashes within a trace, and not across traces.
hashes_are_of_one_recording() {
	local mode sql="SELECT hash FROM payload WHERE hash IS NOT NULL ORDER BY thread, n, i"
	for mode in hash full; do
		sound $mode && ask "$sql" >hashes && mv t.db first.db && sound $mode || return
		ask "$sql" >more && is "$(wc -l <more)" "$(wc -l <hashes)" && [ -s more ] &&
			is "$(sort -u hashes more | wc -l)" \
				$(($(sort -u hashes | wc -l) + $(sort -u more | wc -l))) || return
	done
}

a_child_begins_anew() {
	record --payload full "$apps/payload" --fork >out && compare full &&
		is "$(ask 'SELECT count(DISTINCT process), count(*) FROM payload')" "2|129"
}

# A program that a filter of system calls forbids to read memory is not killed for it.
shuts_itself_in() { # when and how, rows with bytes, rows without
	record --payload "${4:-full}" "$apps/sandbox" $1 >out 2>err; is $? 0 &&
		says "all came" out &&
		is "$(ask "SELECT count(*) FILTER (WHERE why IS NULL),
			count(*) FILTER (WHERE why = 'sandboxed' AND captured = 0) FROM payload")" \
			"$2|$3" || { echo "$1"; return 1; }
}

a_filter_that_forbids_it_ends_it() {
	local -x VERBATIM_SOFT_VM=off
	shuts_itself_in "early prctl kill" 0 40 && shuts_itself_in "exec prctl kill" 0 40 &&
		shuts_itself_in "late prctl kill" 20 20 &&
		shuts_itself_in "late prctl trap" 20 20 &&
		shuts_itself_in "late seccomp kill" 20 20 &&
		shuts_itself_in "late libcs kill" 20 20 &&
		shuts_itself_in "late prctl kill" 20 20 hash &&
		is "$(ask "SELECT times, detail FROM coverage WHERE what = 'payload'")" \
			"20|sandboxed"
}

a_filter_that_allows_it_does_not() {
	shuts_itself_in "late prctl open" 40 0 && shuts_itself_in "late seccomp open" 40 0 &&
		shuts_itself_in "late libcs open" 40 0 && shuts_itself_in "late seccomp bad" 40 0
}

a_filter_for_all_threads_waits_for_who_reads() {
	local -x VERBATIM_SOFT_VM=off
	for i in 1 2 3; do
		record --payload full "$apps/sandbox" threads seccomp kill >out 2>err; is $? 0 &&
			says "all came" out || return
		is "$(ask "SELECT count(*) > 0 FROM payload WHERE why = 'sandboxed'")" 1 || return
	done
}

# A container's filter: it applies to the recorder, too, which finds out what it allows.
a_filter_around_the_recorder_is_tried() {
	local -x VERBATIM_SOFT_VM=off
	"$apps/sandbox" exec prctl open "$VERBATIM" record -q -o t.db --payload full \
		"$apps/sandbox" never prctl kill >out 2>err; is $? 0 &&
		is "$(ask "SELECT count(*) FROM payload WHERE why IS NULL")" 40 ||
		{ cat err; return 1; }
	"$apps/sandbox" exec prctl kill "$VERBATIM" record -q -o t.db --payload full \
		"$apps/sandbox" never prctl kill >out 2>err; is $? 0 &&
		is "$(ask "SELECT count(*) FROM payload WHERE why = 'sandboxed'")" 40 &&
		says "payload cannot be captured here" err
}

none_is_nothing() {
	record "$apps/payload" --strangers >out && is "$(ask 'SELECT count(*) FROM payload')" 0 &&
		is "$(ask "SELECT value FROM meta WHERE key = 'payload'")" none
}

what_is_not_captured_is_counted() {
	known full || return
	is "$(ask "SELECT times, detail
		FROM coverage WHERE what = 'payload' ORDER BY 2" | tr '\n' ';')" \
		"2|ambiguous;2|no-length;1|not-host-memory;2|unreadable;"
}

the_program_notices_nothing() {
	local off
	"$VERBATIM" run "$apps/payload" --strangers >off &&
		record --payload full "$apps/payload" --strangers >out && cmp off out
	off=$?; rm -f off; return $off
}

environment_says_it_too() {
	VERBATIM_PAYLOAD=9 record "$apps/payload" >out && compare 9
}

bad_modes_are_refused() {
	for bad in some 0 -1 65M 4X; do
		record --payload $bad true 2>err; is $? 2 &&
			says "payload takes none, hash, full" err || return
	done
}

dump_shows_them() {
	known full || return
	"$VERBATIM" dump t.db >out; says 'wr_id=0x2, .*payload={60 bytes, hash [0-9a-f]*}' out &&
		says 'payload={100 bytes, unreadable}' out &&
		is "$(grep -c '^      0' out)" 0 || return
	"$VERBATIM" dump --payload none t.db >out; is "$(grep -c payload= out)" 0 || return
	"$VERBATIM" dump --payload 20 t.db >out
	local text='|..#\*18?FMT\[bipw~|'
	says "^      00000000 15 1c 23 2a 31 38 3f 46  4d 54 5b 62 69 70 77 7e  $text$" out &&
		says '^      00000010 85 8c 93 9a                                       |....|$' \
			out &&
		is "$(grep -c '^      0000002' out)" 0 || return
	"$VERBATIM" dump --payload some t.db 2>err; is $? 2 && says "payload is none, hash" err
}

unpacked_dumps_are_the_same() {
	known full && "$VERBATIM" unpack -o plain.db t.db &&
		"$VERBATIM" dump --payload full t.db >out &&
		"$VERBATIM" dump --payload full plain.db | cmp - out &&
		is "$(grep -c '^      0' out)" \
			"$(ask 'SELECT sum((captured + 15) / 16) FROM payload')"
}

info_and_stat_say_how_much() {
	known full || return
	"$VERBATIM" info t.db >out; says '^payload   full, 590 KiB kept' out &&
		says 'payload .* 2 .*unreadable' out || return
	"$VERBATIM" stat t.db >out; says '^  atomic *1 *8 B *8 B *1 *0$' out || return
	"$VERBATIM" stat --format json t.db >out &&
		python3 -c "import json
assert [r['times'] for r in json.load(open('out'))['payloads']][2:] == [3, 1]"
}

replay() { "$VERBATIM" replay --device soft "${1:-t.db}" >out 2>err; }

replay_sends_what_was_recorded() {
	sound full || return
	replay; is $? 0 && says 'compared received contents 16 times' out &&
		says '^no divergence' out || return
	sound 16 && replay; is $? 0 && says 'compared received contents 16 times' out || return
	sound hash && replay; is $? 0 && is "$(grep -c compared out)" 0
}

other_bytes_are_a_divergence() {
	sound full && "$VERBATIM" unpack -o plain.db t.db && replay plain.db; is $? 0 ||
		{ cat out; return 1; }
	sqlite3 plain.db "UPDATE payload SET bytes =
		CAST(substr(bytes, 1, 9) || x'ee' || substr(bytes, 11) AS BLOB)
		WHERE kind = 'recv' AND length = 1000"
	local differs='wc.0..payload: recorded byte 9 of 1000 is 0xee, replayed 0x48'
	replay plain.db; is $? 1 &&
		says "$differs (request of 1:[0-9]*, sent by 1:" out && says '^1 divergence' out
}

# A changed trace changes the replay.
a_changed_message_is_sent() {
	sound full && "$VERBATIM" unpack -o plain.db t.db || return
	sqlite3 plain.db "UPDATE payload SET bytes = zeroblob(60) WHERE length = 60"
	replay plain.db; is $? 0 || { cat out; return 1; }
	sqlite3 plain.db "UPDATE payload SET bytes =
		CAST(replace(hex(zeroblob(30)), '0', 'A') AS BLOB)
		WHERE length = 60 AND kind = 'send'"
	replay plain.db; is $? 1 && says 'recorded byte 0 of 60 is 0x00, replayed 0x41' out
}

without_a_collector() {
	VERBATIM_PAYLOAD=full VERBATIM_DIR=$tmp/d \
		LD_PRELOAD="$libs/libverbatim.so:$libs/libverbatim-soft.so" "$apps/payload" \
		--strangers >out &&
		"$VERBATIM" collect -q -o t.db d && compare full &&
		is "$(ask "SELECT value FROM meta WHERE key = 'payload'")" full
}

unpacked_it_is_a_table() {
	known full && "$VERBATIM" unpack -o plain.db t.db && compare full plain.db &&
		is "$(sqlite3 plain.db 'SELECT count(*), sum(captured), sum(length(bytes))
			FROM payload')" \
			"$(ask 'SELECT count(*), sum(captured), sum(length(bytes)) FROM payload')"
}

any_sqlite3_reads_it() {
	known full || return
	is "$(sqlite3 -cmd ".load $libs/libverbatim-sqlite" t.db \
		'SELECT count(*), sum(length(bytes)) FROM payload')" \
		"$(ask 'SELECT count(*), sum(captured) FROM payload')"
}

a_condition_finds_the_rows() {
	known full || return
	is "$(ask 'SELECT count(*) FROM payload p WHERE EXISTS
		(SELECT 1 FROM payload q WHERE q.thread = p.thread AND q.n = p.n AND q.i = p.i)')" \
		"$(ask 'SELECT count(*) FROM payload')" &&
		is "$(ask 'SELECT count(*) FROM payload
			WHERE n < 0 OR n > 1000000 OR thread = 9')" 0
}

flight_keeps_the_last() {
	"$VERBATIM" record -q --flight 512k --payload full -o t.db "$apps/loop" counts 40000 \
		2>err || return
	local bytes
	bytes=$(ask 'SELECT (SELECT sum(length(data)) FROM payload_chunk) +
		(SELECT sum(length(data)) FROM chunk)')
	[ "$bytes" -lt 524288 ] || { echo "$bytes bytes kept"; return 1; }
	is "$(ask 'SELECT min(captured), max(captured), count(*) > 100 FROM payload')" "64|64|1"
}

rotation_loses_nothing() {
	local sends=0 recvs=0 n traces
	"$VERBATIM" record -q --rotate-size 1M --payload full -o t.db "$apps/loop" counts 300000 ||
		return
	traces=(t*.db)
	[ ${#traces[@]} -gt 1 ] || { echo "only ${#traces[@]} trace"; return 1; }
	for n in "${traces[@]}"; do
		sends=$((sends + $(ask "SELECT count(*)
			FROM payload WHERE kind = 'send' AND captured = 64" "$n")))
		recvs=$((recvs + $(ask "SELECT count(*)
			FROM payload WHERE kind = 'recv' AND captured = 64" "$n")))
	done
	is "$sends $recvs" "300000 300000"
}

# Pieces that did not fit: the row says so, and has the beginning.
drops_are_reported() {
	"$VERBATIM" record -q --on-full drop --ring-size 256k --payload full -o t.db "$apps/loop" \
		counts 60000 2>err || return
	is "$(ask "SELECT count(*) FROM payload WHERE captured <> length AND why IS NULL")" 0 ||
		return
	is "$(ask "SELECT count(*) FROM payload p
		LEFT JOIN post USING (thread, n) LEFT JOIN poll USING (thread, n)
		WHERE post.handle IS NULL AND poll.handle IS NULL")" 0
}

filtered_posts_have_none() {
	record --payload full --filter 1/10 "$apps/loop" counts 20000 || return
	is "$(ask "SELECT count(*) FROM payload LEFT JOIN wr USING (thread, n, i)
		WHERE kind = 'send' AND wr_id IS NULL")" 0 &&
		is "$(ask "SELECT (SELECT count(*) FROM payload WHERE kind = 'recv') -
			(SELECT count(*) FROM wc WHERE opcode = 128),
			(SELECT count(*) FROM payload WHERE kind = 'send') -
			(SELECT count(*) FROM wr WHERE opcode = 2)")" "0|0"
}

# Two processes over TCP; the program checks the data that it receives, and that data is recorded.
pingpong_gets_what_is_sent() {
	record --payload full "$both" ibv_rc_pingpong -c -n 30 -s 5000 >out 2>&1 ||
		{ cat out; return 1; }
	is "$(ask "SELECT count(*)
		FROM payload WHERE kind = 'recv' AND captured = 5000 AND why IS NULL")" 60 &&
		is "$(ask "SELECT count(DISTINCT hash), sum(kind = 'send') FROM payload")" "1|60" &&
		replay && says 'compared received contents 60 times' out &&
		says '^no divergence' out
}

# Datagrams, reads and a shared receive queue, as used by other programs.
perftest_has_its_payload() {
	record --payload hash "$both" ib_send_bw -F -n 200 -s 512 -c UD >out 2>&1 ||
		{ cat out; return 1; }
	is "$(ask "SELECT kind, length, before, count(*), count(hash)
		FROM payload GROUP BY 1, 2, 3")" "recv|552|40|200|200
send|512|0|200|200" || return
	record --payload 16 "$both" ib_read_lat -F -n 200 -s 64 >out 2>&1 || { cat out; return 1; }
	is "$(ask "SELECT DISTINCT kind, length, captured, why FROM payload")" "read|64|16|" ||
		return
	record --payload hash "$both" ib_send_bw -F -n 200 -s 64 --use-srq -q 2 >out 2>&1 ||
		{ cat out; return 1; }
	is "$(ask "SELECT (SELECT count(*) FROM payload WHERE kind = 'recv') -
		(SELECT count(*) FROM wc WHERE opcode = 128 AND status = 0)")" 0
}

try full_is_every_byte
try full_through_the_smallest_ring
try first_bytes_are_the_first
try hash_is_of_every_byte
try hashes_are_of_one_recording
try a_child_begins_anew
try a_filter_that_forbids_it_ends_it
try a_filter_that_allows_it_does_not
try a_filter_for_all_threads_waits_for_who_reads
try a_filter_around_the_recorder_is_tried
try none_is_nothing
try what_is_not_captured_is_counted
try the_program_notices_nothing
try environment_says_it_too
try bad_modes_are_refused
try dump_shows_them
try unpacked_dumps_are_the_same
try info_and_stat_say_how_much
try replay_sends_what_was_recorded
try other_bytes_are_a_divergence
try a_changed_message_is_sent
try without_a_collector
try unpacked_it_is_a_table
try any_sqlite3_reads_it
try a_condition_finds_the_rows
try flight_keeps_the_last
try_in_turn rotation_loses_nothing
try drops_are_reported
try filtered_posts_have_none
command -v ibv_rc_pingpong >/dev/null && try pingpong_gets_what_is_sent ||
	echo "skip payload: pingpong gets what is sent: no ibv_rc_pingpong"
command -v ib_send_bw >/dev/null && try perftest_has_its_payload ||
	echo "skip payload: perftest has its payload: no ib_send_bw"
