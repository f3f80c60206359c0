# The recorder's modes: without a collector, remains of a dead one, flight recorder, rotation,
# filters.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

tidy() {
	rm -rf "$tmp"/*.db "$tmp"/guest.* "$tmp"/out "$tmp"/err "$tmp"/d "$tmp"/counts \
		"$tmp"/sessions/*
}
ask() { "$VERBATIM" sql "${2:-t.db}" "$1"; }
ended() { ! kill -0 "$1"; }
collect() { "$VERBATIM" collect -q -o t.db "$@"; }
soft() { env LD_PRELOAD="$libs/libverbatim.so:$libs/libverbatim-soft.so" "$@"; }
lone() { VERBATIM_DIR=$tmp/d soft "$@"; } # without a collector
begin() { # in the background
	VERBATIM_DIR=$tmp/d exec env LD_PRELOAD="$libs/libverbatim.so:$libs/libverbatim-soft.so" \
		"$@"
}
posted() { [ "$(number 8)" -gt "$1" ]; }
number() { od -An -tu8 -j"$1" -N8 counts | tr -d ' '; }

calls_are_collected_later() {
	lone "$apps/guest" calls 7 exit 3; is $? 3 || return
	is "$(stat -c %a d d/* | sort -u | tr '\n' ' ')" "600 700 " || return
	collect d && is "$(ask "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_pd'")" 7 &&
		[ ! -e d ] &&
		is "$(ask "SELECT value FROM meta WHERE key = 'state'")" complete &&
		is "$(ask "SELECT value FROM meta WHERE key = 'command'")" \
			"$apps/guest calls 7 exit 3"
}

trace_is_as_one_of_record() {
	local q="SELECT verb, count(*), sum(failed) FROM call WHERE NOT ours GROUP BY verb"
	lone "$apps/loop" counts 5000 && collect d && mv t.db d.db || return
	"$VERBATIM" record -q -o t.db "$apps/loop" counts 5000 || return
	is "$(ask "$q" d.db)" "$(ask "$q")" || return
	q="SELECT count(*), count(DISTINCT wr_id), sum(status) FROM wc"
	is "$(ask "$q" d.db)" "$(ask "$q")" || return
	q="SELECT kind, name FROM object ORDER BY id"
	is "$(ask "$q" d.db)" "$(ask "$q")" || return
	"$VERBATIM" check d.db >c1; local one=$?
	"$VERBATIM" check t.db >c2; is $one $? || return
	"$VERBATIM" replay d.db >out || { cat out; return 1; }
}

rings_grow_and_lose_nothing() {
	VERBATIM_RING_SIZE=256k lone "$apps/loop" counts 60000 && collect d || return
	is "$(ask "SELECT count(*) FROM wc")" "$(number 16)" &&
		is "$(ask "SELECT count(*) FROM loss")" 0 || return
	[ "$(number 16)" -ge 60000 ]
}

killed_program_has_all_that_returned() {
	VERBATIM_RING_SIZE=256k begin "$apps/loop" counts >out & local pid=$!
	await posted 20000 || return
	kill -KILL $pid; wait $pid 2>/dev/null
	collect d || return
	local recs sends wcs
	recs=$(ask "SELECT count(*) FROM wr WHERE verb = 'ibv_post_recv'")
	sends=$(ask "SELECT count(*) FROM wr WHERE verb = 'ibv_post_send'")
	wcs=$(ask "SELECT count(*) FROM wc")
	[ "$recs" -ge "$(number 0)" ] && [ "$sends" -ge "$(number 8)" ] &&
		[ "$wcs" -ge "$(number 16)" ] && is "$(ask "SELECT count(*) FROM loss")" 0
}

limit_is_kept_and_loss_reported() {
	VERBATIM_RING_SIZE=256k VERBATIM_LIMIT=2M lone "$apps/loop" counts 60000 || return
	is "$(number 8)" 60000 && [ "$(du -sk d | cut -f1)" -le 2200 ] || { du -sk d; return 1; }
	collect d 2>err && says "events were lost" err && "$VERBATIM" info t.db >out &&
		says ^LOST out
}

# By its name, which exists until it is a zombie: its command line disappears before its memory.
childless() { ! pgrep -r D,R,S -x "guest.$$" >/dev/null; }

children_and_threads_are_in_one_trace() {
	cp "$apps/guest" guest.$$ && lone "$tmp/guest.$$" calls 2 child calls 5 || return
	await childless || return
	lone "$apps/guest" calls 3 || return # a second program, the same session
	collect d && is "$(ask "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_pd'")" 10 &&
		is "$(ask "SELECT count(*) FROM process")" 3 &&
		is "$(ask "SELECT count(*) FROM process WHERE parent = 1")" 1
}

session_in_use_is_left_alone() {
	begin "$apps/guest" calls 1 until >out & local pid=$!
	await grep -q ready out || return
	collect d 2>err; is $? 4 && says "still in use" err && [ -e d/session ] && [ ! -e t.db ] ||
		return
	kill -TERM $pid; wait $pid
	collect d && [ ! -e d ]
}

kept_session_can_be_collected_again() {
	lone "$apps/guest" calls 2 && collect --keep d && lone "$apps/guest" calls 3 && collect d &&
		is "$(ask "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_pd'")" 5
}

collected_without_room_is_collected_again() {
	lone "$apps/loop" counts 60000 || return
	(ulimit -f 200; collect d) 2>err; is $? 4 && says 'File too large' err &&
		says 'INCOMPLETE; the session was left in place' err || return
	! "$VERBATIM" info t.db >info 2>&1 || says ^INTERRUPTED info || return
	collect d && is "$(ask "SELECT count(*) FROM wc")" "$(number 16)"
}

bad_sessions_are_refused() {
	mkdir -m 700 d
	collect nothing 2>err; is $? 4 && is "$(wc -l <err)" 1 || return
	collect d 2>err; is $? 4 && says "has no session" err || return
	: >d/session; collect d 2>err; is $? 3 && says "another version" err || return
	head -c 8192 /dev/urandom >d/session; collect d 2>err; is $? 3 || return
	collect "$VERBATIM" 2>err; is $? 3 && says "is not the directory of a session" err || return
	chmod 777 d; collect d 2>err; is $? 4 && says "must not be writable by others" err || return
	collect 2>err; is $? 2 || return
	collect d d 2>err; is $? 2 && [ ! -e t.db ]
}

# It would record nothing, and report that the program called no verb.
library_of_another_version_is_refused() {
	mkdir other && cp "$VERBATIM" "$libs"/libverbatim*.so other/ || return
	other/verbatim record -q -o t.db --device soft -- "$apps/guest" calls 1 && rm t.db || return
	sed -i 's/verbatim session [0-9]/verbatim session x/' other/libverbatim.so
	other/verbatim record -q -o t.db --device soft -- "$apps/guest" calls 1 2>err
	is $? 4 && says "another version" err && is "$(wc -l <err)" 1 && [ ! -e t.db ]
}

empty_session_is_reported() {
	lone "$apps/guest" calls 1 && rm d/ring.* || return
	# how many there were, and its complement: core/wire/session.h
	printf '\0\0\0\0\377\377\377\377' | dd of=d/session bs=4096 seek=1 conv=notrunc 2>/dev/null
	collect d 2>err; is $? 3 && says "is empty" err
}

cut_rings_are_read_as_far_as_they_go() {
	VERBATIM_RING_SIZE=256k lone "$apps/loop" counts 20000 || return
	truncate -s 1000000 d/ring.0
	collect --keep d 2>err; is $? 0 && says damaged err && "$VERBATIM" info t.db >out &&
		says ^DAMAGED out || return
	[ "$(ask "SELECT count(*) FROM wc")" -gt 1000 ] || return
	truncate -s 100 d/ring.0; rm t.db
	collect d 2>err; is $? 0 && says "cannot be read" err &&
		is "$(ask "SELECT what FROM coverage")" thread &&
		says "d is not removed" err && [ -e d/ring.0 ]
}

stands_still() { [ "$(sed 's/.*) //; s/ .*//' "/proc/$1/stat")" = T ]; }

# the recorder is stopped before it is killed, so that some events are unread
session_of_a_dead_recorder_is_kept_for_collect() {
	"$VERBATIM" record -q -o first.db "$apps/loop" counts >out 2>/dev/null & local pid=$!
	await posted 1 || return
	local app seen; app=$(pgrep -P $pid loop)
	kill -STOP $pid; await stands_still $pid || return
	seen=$(number 8); await posted $((seen + 50)) || return
	kill -KILL $pid; await ended $pid
	kill -KILL "$app"; await ended "$app" || return
	"$VERBATIM" record -o t.db true 2>err; says "verbatim collect $tmp/sessions/" err || return
	set -- sessions/*; [ -d "$1" ] || { echo "swept"; return 1; }
	"$VERBATIM" collect -o t.db "$1" 2>err && says "first.db" err && [ ! -e "$1" ] ||
		{ cat err; return 1; }
	[ "$(ask "SELECT count(*) FROM wr WHERE verb = 'ibv_post_send'" 2>/dev/null)" -ge 50 ]
}

ended_collector_leaves_no_new_session() {
	# a descendant that starts a program long after the end of the recorder
	"$VERBATIM" record -q -o t.db true || return
	VERBATIM_DIR=$tmp/sessions/verbatim-$(id -u)-AbCdEf soft "$apps/guest" calls 2 || return
	is "$(ls sessions)" ""
}

flight_keeps_the_last_and_what_is_alive() {
	"$VERBATIM" record --flight 512k -o t.db "$apps/loop" counts 200000 2>err; is $? 0 &&
		says "older events were discarded" err || return
	local kept over
	kept=$(ask "SELECT count(*) FROM wc"); over=$(ask "SELECT sum(overwritten) FROM loss")
	[ "$kept" -gt 1000 ] && [ "$kept" -lt 200000 ] && [ "$over" -gt 0 ] ||
		{ echo "kept $kept, lost $over"; return 1; }
	# the trace has no gap, and extends to the end
	is "$(ask "SELECT max(wr_id) - min(wr_id) + 1 - count(DISTINCT wr_id) FROM wc")" 0 || return
	is "$(ask "SELECT max(wr_id) FROM wr")" "$(ask "SELECT max(wr_id) FROM wc")" &&
		is "$(ask "SELECT count(*) FROM call WHERE verb = 'ibv_create_qp'")" 1 || return
	# each completion, also the first, has its correct request
	is "$(ask "SELECT sum(wr_n IS NULL) FROM wc")" 0 || return
	is "$(ask "SELECT count(*) FROM wc JOIN wr ON wr.thread = wc.wr_thread
		AND wr.n = wc.wr_n AND wr.i = wc.wr_i WHERE wr.wr_id <> wc.wr_id")" 0 || return
	"$VERBATIM" check t.db >out 2>err
	is $? 0 && says "older than the part that was stored" out || return
	"$VERBATIM" info t.db >out && says ^OVERWRITTEN out &&
		says "^CUT: the trace begins at" out && "$VERBATIM" dump t.db >out 2>&1 &&
		"$VERBATIM" stat t.db >out 2>&1
}

begin_flight() { "$VERBATIM" record --flight 512k -o t.db "$@" >out 2>err & pid=$!; }

snapshot_is_written_when_asked() {
	local pid app name; begin_flight "$apps/loop" counts
	await posted 20000 || return; app=$(pgrep -P $pid loop)
	name=$("$VERBATIM" snapshot) && is "$name" "$tmp/t.1.db" && "$VERBATIM" info t.1.db >info &&
		says "SNAPSHOT: asked for" info || return
	is "$("$VERBATIM" snapshot $pid)" "$tmp/t.2.db" &&
		is "$("$VERBATIM" snapshot "$app")" "$tmp/t.3.db" &&
		is "$("$VERBATIM" snapshot "$(echo sessions/*)")" "$tmp/t.4.db" &&
		is "counters" "$("$VERBATIM" sql t.1.db "SELECT count(*) FROM counter")" 3 || return
	kill -USR2 $pid; await test -s t.5.db && await says "t.5.db: requested by a signal" err ||
		return
	"$VERBATIM" check t.5.db >out 2>&1; is $? 0 &&
		is "$(ask "SELECT value FROM meta WHERE key = 'state'" t.5.db)" complete || return
	kill -KILL "$app"; wait $pid; is $? 137 && "$VERBATIM" info t.db >out
}

first_error_and_crash_write_a_snapshot() {
	"$VERBATIM" record --flight 1M -o t.db "$apps/first_error" >out 2>err
	says "t.1.db: the first completion with an error" err || return
	is "$(ask "SELECT count(*) > 0 FROM wc WHERE status NOT IN (0, 5)" t.1.db)" 1 || return
	"$VERBATIM" check t.1.db >out 2>/dev/null; says "^first error" out && [ ! -e t.2.db ] ||
		return
	rm ./*.db
	"$VERBATIM" record --flight 1M -o t.db sh -c "$apps/guest calls 3 kill 11; true" 2>err
	says "t.1.db: a process was killed by a signal" err &&
		is "$(ask "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_pd'" t.1.db)" 3
}

fatal_event_writes_a_snapshot() {
	echo 'verb=query_port event=PORT_ERR' >faults
	VERBATIM_SOFT_FAULTS=$tmp/faults "$VERBATIM" record --flight 1M -o t.db \
		ibv_asyncwatch >out 2>err & local pid=$!
	await grep -q "t.1.db: the first fatal asynchronous event" err || return
	kill -TERM $pid; wait $pid
	is "$(ask "SELECT count(*) FROM call
		WHERE verb = 'ibv_get_async_event' AND out LIKE '%EVENT_PORT_ERR%'" t.1.db)" 1
}

snapshot_of_nothing_is_refused() {
	"$VERBATIM" snapshot 2>err; is $? 4 && says "no flight recorder" err || return
	"$VERBATIM" snapshot 1 2>err; is $? 4 && says "neither" err || return
	"$VERBATIM" snapshot nothing 2>err; is $? 4 || return
	"$VERBATIM" snapshot a b 2>err; is $? 2 || return
	"$VERBATIM" record -q -o t.db "$apps/guest" until >out & local pid=$!
	await grep -q ready out || return
	"$VERBATIM" snapshot $pid 2>err
	is $? 4 && says "is neither a flight recording" err || return
	kill -TERM $pid; wait $pid
	for bad in "--flight x" "--flight 0" "--flight 1M --rotate-size 1M" "--rotate-size 1k" \
		"--rotate-time 5" "--rotate-time 0s"; do
		"$VERBATIM" record $bad true 2>err; is "$? $bad" "2 $bad" || return
	done
}

snapshot_that_fails_does_not_stop_the_recording() {
	local name # too long for the name of a copy
	name=$(printf 'n%.0s' {1..244}).db
	"$VERBATIM" record --flight 1M -o $name "$apps/first_error" >out 2>err
	says "write a snapshot of" err &&
		is "$(ask "SELECT count(*) > 0 FROM wc WHERE status NOT IN (0, 5)" $name)" 1 ||
		return
	rm $name
}

# All but 64 kB of it: the recorder has room for its notes, but not for a copy.
fill_disk() {
	local left
	left=$(df --output=avail -k "$1" | tail -1)
	head -c $(((left - 64) * 1024)) /dev/zero >"$1/all"
}

snapshot_without_room_leaves_nothing() {
	mkdir -p small && mkfifo go && mount -t tmpfs -o size=4m none small || return
	"$VERBATIM" record --flight 1M -o small/t.db \
		sh -c "\"$apps/guest\" calls 100; echo ready; read x <go" >out 2>err & local pid=$!
	await grep -q ready out && "$VERBATIM" snapshot $pid >name && fill_disk small || return
	"$VERBATIM" snapshot $pid 2>said; local status=$? left
	left=$(cd small && echo t.*) && rm small/all && "$VERBATIM" snapshot $pid >>name
	echo >go; wait $pid; local end=$?
	"$VERBATIM" info small/t.2.db >info; local copy=$?
	umount small; rm go
	is "$status $end $copy $left" "4 0 0 t.1.db t.db t.db-wal" &&
		is "$(cat name)" "$tmp/small/t.1.db"$'\n'"$tmp/small/t.2.db" &&
		says 'could not write a snapshot' said && says 'free some space there' err &&
		! grep -q INCOMPLETE err
}

rotation_without_room_leaves_what_is_whole() {
	mkdir -p small && mount -t tmpfs -o size=3m none small || return
	"$VERBATIM" record --rotate-size 1M -o small/t.db "$apps/loop" counts 3000000 2>err
	local status=$?
	ls small/*.db >left && "$VERBATIM" info small/t.1.db >whole
	umount small
	is $status 3 && is "$(tail -1 left)" small/t.db && says INCOMPLETE err &&
		! grep -q INTERRUPTED whole && ! grep -q "gets larger" err &&
		[ "$(grep -c 'write a snapshot' err)" -le 3 ] || { cat err; return 1; }
}

snapshot_takes_a_number_that_is_free() {
	mkdir d; mkdir d/t.1.db; echo precious >d/t.2.db; ln -s t.2.db d/t.3.db
	"$VERBATIM" record --flight 1M -o d/t.db "$apps/first_error" >out 2>err
	says "t.1.db is not a file" err && says "t.3.db exists" err &&
		is "$(ask "SELECT count(*) > 0 FROM wc WHERE status NOT IN (0, 5)" d/t.4.db)" 1 &&
		is "$(cat d/t.2.db)" precious &&
		is "$(ask "SELECT count(*) > 0 FROM wc WHERE status NOT IN (0, 5)" d/t.db)" 1 ||
		return
	rm -r d
}

# Printing one of them takes ten times as long as checking it: LONG=1 prints them all.
rotation_leaves_whole_traces() {
	"$VERBATIM" record -q --rotate-size $(share 512k 1M) -o t.db "$apps/loop" counts \
		$(share 500000 1500000) || return
	[ -e t.1.db ] && [ -e t.2.db ] || { ls; return 1; }
	local sum=0 polled=0 calls=0 t
	for t in t.*.db t.db; do
		[ -e $t ] || continue
		"$VERBATIM" check $t >out 2>/dev/null; is "$? $t" "0 $t" || return
		if [ $t = t.2.db ] || [ "${LONG:-}" ]; then
			"$VERBATIM" dump $(share "--last 1000" "") $t >dump 2>/dev/null || return
			[ $t = t.db ] || says "ibv_post_send(qp1" dump || return
		fi
		is "$(ask "SELECT count(*) FROM object WHERE kind = 'qp'" $t)" 1 || return
		sum=$((sum + $(ask "SELECT count(*) FROM wc LEFT JOIN carried c USING (thread)
			WHERE wc.n > coalesce(c.n, 0)" $t)))
		polled=$((polled + $(ask "SELECT coalesce(sum(completions), 0)
			FROM poll_count" $t)))
		calls=$((calls + $("$VERBATIM" stat --format json $t 2>/dev/null |
			jq '[.verbs[] | select(.verb == "ibv_reg_mr") | .calls][0] // 0')))
	done
	rm dump
	"$VERBATIM" info t.2.db >info 2>&1 &&
		says "^CONTINUES: the control verbs of the first " info &&
		"$VERBATIM" info t.1.db >info 2>&1 &&
		! grep -q ^CONTINUES info || return
	is "$polled $calls" "$(number 16) 1" || return # and no event is counted twice
	is $sum "$(number 16)" # no event is lost between two of them, or is in both
}

rotation_by_time_goes_on() {
	"$VERBATIM" record -q --rotate-time 1s -o t.db "$apps/loop" counts & local pid=$!
	await test -s t.2.db || return
	pkill -KILL -P $pid loop; wait $pid 2>/dev/null
	for t in t.1.db t.2.db t.db; do
		"$VERBATIM" check -m killed-process $t >out 2>&1; is "$? $t" "0 $t" || return
	done
}

# Remains of 3000 sends and receives: requests, completions, and objects, which are never removed.
filtered() {
	rm -f t.db
	"$VERBATIM" record -q --filter "$1" -o t.db "$apps/loop" counts 3000 || return
	is "$(ask "SELECT (SELECT count(*) FROM wr) || ' ' || (SELECT count(*) FROM wc) || ' ' ||
		(SELECT count(*) FROM object WHERE kind IN ('qp', 'cq', 'mr'))" 2>/dev/null) $1" \
		"$2 3 $1"
}

filters_leave_what_was_asked_for() {
	"$VERBATIM" record -q -o t.db "$apps/loop" counts 1 || return
	local device queries; device=$(ask "SELECT name FROM device")
	queries="SELECT count(*) FROM call WHERE verb LIKE 'ibv_query%' AND NOT ours"
	filtered plane=control "0 0" && [ "$(ask "$queries")" -gt 0 ] || return
	filtered plane=data "6000 6000" && is "$(ask "$queries")" 0 || return
	filtered verb=post_send "3000 0" && filtered verb=ibv_post_recv+poll_cq "3000 6000" ||
		return
	filtered "qp=$(seq -s+ 16 47)" "6000 6000" && filtered qp=1+0xffffff "0 0" ||
		return # 16 is the first of the device
	filtered qp=qp1 "6000 6000" && filtered qp=qp2 "0 0" && filtered qp=rc "6000 6000" &&
		filtered qp=ud+qp7+99 "0 0" || return
	filtered "device=$device" "6000 6000" && filtered device=nope "0 0" || return
	filtered "1/1,verb=post_send" "3000 0" && filtered plane=control,verb=post_send "0 0" ||
		return
	filtered 1/1 "6000 6000"
}

one_of_n_is_fair_and_reported() {
	"$VERBATIM" record -q --filter 1/10 -o t.db "$apps/loop" counts 30000 2>err || return
	local sends recvs wcs
	sends=$(ask "SELECT count(*) FROM wr WHERE verb = 'ibv_post_send'" 2>/dev/null)
	recvs=$(ask "SELECT count(*) FROM wr WHERE verb = 'ibv_post_recv'" 2>/dev/null)
	wcs=$(ask "SELECT count(*) FROM wc" 2>/dev/null)
	for n in $sends $recvs $((wcs / 2)); do [ "$n" -gt 2500 ] && [ "$n" -lt 3500 ] ||
		{ echo "$sends $recvs $wcs"; return 1; }; done
	is "$(ask "SELECT sum(times) FROM coverage WHERE what = 'filtered'" 2>/dev/null)" \
		$((120000 - sends - recvs - wcs)) || return
	"$VERBATIM" info t.db >out && says "^FILTERED: 1/10" out || return
	"$VERBATIM" check t.db >out 2>/dev/null; is $? 0 &&
		says "because --filter 1/10 left verbs out" out || return
	"$VERBATIM" stat t.db 2>err >out && says "recorded with --filter 1/10" err &&
		is "$(ask "SELECT what FROM coverage" 2>/dev/null)" filtered
}

# counts are estimates of the totals, and no completion is matched with a request
one_of_n_is_scaled_and_not_paired() {
	"$VERBATIM" record -q --filter 1/20 -o t.db "$apps/loop" counts 40000 2>err || return
	is "$(ask "SELECT count(*) FROM wc WHERE wr_n IS NOT NULL" 2>/dev/null)" 0 || return
	"$VERBATIM" stat --format json t.db >out 2>err && is "$(jq .one_of out)" 20 || return
	local n
	for n in $(jq '.queues[0] | .sends, .receives, .completions / 2,
			.sent_bytes / 64, .received_bytes / 64' out) \
		$(jq '.verbs[] | select(.verb == "ibv_post_send") | .calls' out) \
		$(jq '.completion_queues[0].completions / 2' out); do
		[ "${n%.*}" -gt 34000 ] && [ "${n%.*}" -lt 46000 ] ||
			{ echo "$n"; cat out; return 1; }
	done
	is "$(jq '.queues[0].p50_ns' out)" null || return
	"$VERBATIM" stat t.db 2>err >out && says "^SAMPLED: one in 20" out
}

replay_of_one_of_n_is_refused() {
	"$VERBATIM" record -q --filter 1/20 -o t.db "$apps/loop" counts 1000 2>err || return
	"$VERBATIM" replay t.db >out 2>err; is $? 3 && is "$(wc -l <err)" 1 &&
		says "one in 20" err || return
	"$VERBATIM" record -q --filter plane=control -o t.db "$apps/loop" counts 1000 2>err ||
		return
	"$VERBATIM" replay t.db >out 2>err; is $? 1 && says "allow-partial" err || return
	"$VERBATIM" replay --allow-partial t.db >out 2>err; is $? 0 &&
		says "^no divergence; left out by --filter plane=control" out
}

errors_are_kept_by_one_of_n() {
	"$VERBATIM" record -q --filter 1/1000000 -o t.db "$apps/first_error" 2>/dev/null >out
	is "$(ask "SELECT count(*) FROM wc WHERE status NOT IN (0, 5)" 2>/dev/null)" 1
}

filter_that_is_none_is_refused() {
	for bad in x plane=x verb=foo qp=a qp= qp=qp qp=qp0 device= 1/0 1/ 1/-3 plane=control,x , \
		verb= verb=+ qp=+ plane=control,plane=data verb=poll_cq,verb=post_send \
		qp=qp1,qp=qp2 device=a,device=b 1/2,1/3 "device=$(printf %200s x)"; do
		"$VERBATIM" record --filter "$bad" -o t.db true 2>err; is "$? $bad" "2 $bad" &&
			is "$(wc -l <err)" 1 && [ ! -e t.db ] || return
	done
}

needs "$apps/guest" "$apps/loop" "$apps/first_error" "$VERBATIM"
try calls_are_collected_later
try trace_is_as_one_of_record
try rings_grow_and_lose_nothing
try killed_program_has_all_that_returned
try limit_is_kept_and_loss_reported
try children_and_threads_are_in_one_trace
try session_in_use_is_left_alone
try kept_session_can_be_collected_again
try collected_without_room_is_collected_again
try bad_sessions_are_refused
try library_of_another_version_is_refused
try empty_session_is_reported
try cut_rings_are_read_as_far_as_they_go
try_in_turn session_of_a_dead_recorder_is_kept_for_collect
try ended_collector_leaves_no_new_session
try_in_turn flight_keeps_the_last_and_what_is_alive
try snapshot_is_written_when_asked
try first_error_and_crash_write_a_snapshot
try fatal_event_writes_a_snapshot
try snapshot_of_nothing_is_refused
try snapshot_that_fails_does_not_stop_the_recording
try snapshot_takes_a_number_that_is_free
try_in_turn rotation_leaves_whole_traces
try_in_turn rotation_by_time_goes_on
try filters_leave_what_was_asked_for
try one_of_n_is_fair_and_reported
try one_of_n_is_scaled_and_not_paired
try replay_of_one_of_n_is_refused
try errors_are_kept_by_one_of_n
try filter_that_is_none_is_refused
if unshare -m true 2>/dev/null; then
	try snapshot_without_room_leaves_nothing
	try_in_turn rotation_without_room_leaves_what_is_whole
else skip "snapshots and rotation without room" "no name space of mounts"; fi
