# verbatim stat: its numbers against independent counts.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

record() { "$VERBATIM" record -q -o "$@" >out; }
json() { "$VERBATIM" stat --format json "$@" >json; }

# the program's own count against the maximum outstanding in stat
most_of() { awk -v queue="$1" -v side="$2" '$1 == queue && $2 == side && $3 > most { most = $3 }
	END { print most + 0 }' out; }
high_of() { jq ".queues[] | select(.queue == \"$1\") | .$2" json; }
high_water_is_the_programs_own_account() {
	local seed how owner
	for seed in 1 2 3; do for how in "$@"; do
		record d.db "$apps/depth" ${how%%,*} $seed $(tr , ' ' <<<"${how#*,}") || return
		json d.db || return
		owner=qp1; [[ $how != *srq* ]] || owner=srq1
		is "$how $seed" "$(high_of qp1 sq_high) $(high_of $owner rq_high)" \
			"$(most_of qp1 send) $(most_of $owner recv)" || return
	done; done
}

# rows of the tables of the data plane, counted by SQL
count_events() {
	"$VERBATIM" sql $1 "
		WITH taken AS (SELECT *, opcode IS NOT NULL AS send, thread || ':' || n AS post
			FROM wr WHERE bad = 0)
		SELECT sum(send), sum(NOT send), count(DISTINCT iif(send, post, NULL)),
			count(DISTINCT iif(send, NULL, post)), sum(iif(send, bytes, 0)),
			(SELECT count(*) FROM wc), (SELECT count(*) FROM wc WHERE status <> 0),
			(SELECT sum(polls) FROM poll_count), (SELECT sum(empty) FROM poll_count)
		FROM taken" | tr '|' ' '
}
sums_are_those_of_the_events() {
	local db
	for db in "$@"; do
		json $db && is $db "$(jq -r '[.posting.send.requests, .posting.receive.requests,
			.posting.send.posts, .posting.receive.posts, .posting.send.bytes,
			.summary.completions, .summary.errors, .posting.polls,
			.posting.empty_polls] | join(" ")' json)" "$(count_events $db)" || return
	done
}
requests_are_those_of_the_events() {
	json $1 && is "$(jq -r '.requests[] | select(.opcode != "RECV") |
		"\(.opcode) \(.size_end) \(.posted) \(.least) \(.most) \(.inline)"' json | sort)" \
		"$("$VERBATIM" sql $1 "SELECT substr(opcode_name, 8), bytes, send_flags >> 3 & 1
			FROM wr WHERE opcode IS NOT NULL AND bad = 0" | awk -F'|' '{
			for (end = $2 > 0; end < $2; end *= 2);
			k = $1 " " end; n[k]++; inlined[k] += $3
			if (n[k] == 1 || $2 < least[k]) least[k] = $2
			if ($2 > most[k]) most[k] = $2
			} END { for (k in n)
				print k, n[k], least[k], most[k], inlined[k] }' | sort)"
}

percentiles_are_within_a_32nd() {
	local p=(50 p50_ns 90 p90_ns 99 p99_ns) i got exact
	json $1 && "$VERBATIM" sql $1 "SELECT time - posted FROM wc WHERE status = 0
		AND opcode & 128 = 0 AND posted IS NOT NULL ORDER BY 1" >times || return
	is "$(jq '[.requests[].timed] | add' json)" "$(wc -l <times)" || return
	for i in 0 2 4; do
		got=$(jq ".queues[0].${p[i + 1]}" json)
		exact=$(awk -v p=${p[i]} '{ t[NR] = $1 } END { r = p / 100 * NR; k = int(r)
			if (k < r) k++; print t[k] }' times)
		[ $got -ge $exact ] && [ $((32 * (got - exact))) -le $exact ] ||
			{ echo "${p[i + 1]}: $got, exact $exact"; return 1; }
	done
}

inline_and_signalled_are_as_posted() {
	record bad.db "$apps/perf_004" && json bad.db && is "$(jq -c '.posting.send |
		[.posts, .requests, .signalled, .fit_inline, .fit_and_inline,
		.signal_distance]' json)" '[400,12800,12800,12800,0,[[1,1,12800]]]' || return
	record good.db "$apps/perf_004" good && json good.db && is "$(jq -c '.posting.send |
		[.posts, .requests, .signalled, .fit_inline, .fit_and_inline,
		.signal_distance]' json)" '[400,12800,400,12800,12800,[[32,32,400]]]' || return
	"$VERBATIM" stat bad.db >out && says '32.00 per doorbell' out &&
		says '^inline  *0.0 % of 12,800 requests that are small enough' out
}
registrations_on_the_data_path_are_placed() {
	record r.db "$apps/perf_001" && json r.db || return
	local n
	n=$(jq '[.places[] | select(.verb == "ibv_reg_mr") | .while_posting] | max' json)
	[ "$n" -gt 100 ] || { echo "$n while posting"; return 1; }
	is "$(jq -r '[.places[] | select(.verb == "ibv_reg_mr" and .while_posting > 100) |
		.place][0]' json | grep -c 'perf_001.c:[0-9]')" 1 || return
	is "$(jq '.verbs[] | select(.verb == "ibv_reg_mr") | .while_posting' json)" $n || return
	"$VERBATIM" stat r.db >out && says "^control verbs while posting" out
}

parts_add_up_to_the_whole() {
	local middle time all from to
	json $1 && all=$(jq .posting.send.requests json)
	middle=$("$VERBATIM" sql $1 "SELECT event(thread, n) FROM post ORDER BY time
		LIMIT 1 OFFSET (SELECT count(*) / 2 FROM post)")
	time=$("$VERBATIM" sql $1 "SELECT time || 'ns' FROM post
		WHERE event(thread, n) = '$middle'")
	json --to $time $1 && to=$(jq .posting.send.requests json) &&
		json --from $middle $1 && from=$(jq .posting.send.requests json) || return
	[ $from -gt 0 ] && [ $to -gt 0 ] && is $((from + to)) $all || return
	json --from $middle --to $middle $1 && is "the event" $(jq .posting.send.posts json) 1
}
what_is_not_there_is_refused() {
	local ask
	for ask in "--process 7" "--phase none" "--from 9999s" "--from 1:999999999" "--from soon" \
		"--from 2s --to 1s"; do
		"$VERBATIM" stat $ask good.db >out 2>err; is "$ask" $? 2 || return
		is "$ask" "$(wc -l <err) $(wc -c <out)" "1 0" || return
	done
}

# An altered trace may have any length; without --from no time was requested.
what_was_not_asked_for_is_not_refused() {
	cp good.db altered.db && sqlite3 altered.db "UPDATE meta SET value = -5
		WHERE key = 'duration'" && "$VERBATIM" stat altered.db >out 2>err
	is "exit $?" "exit 0" && ! grep -r '(null)' out err && ! "$VERBATIM" stat --from 1s \
		altered.db >out 2>err && says "no events from 1s on" err
}

text_fits_80_columns() {
	local db
	for db in "$@"; do
		"$VERBATIM" stat $db >out && ! awk 'length($0) > 80' out | grep . || return
	done
}

# the recorder made this program wait; in a plain trace the times can be changed
waits_are_reported_on_top() {
	"$VERBATIM" unpack -o plain.db good.db && sqlite3 plain.db "DELETE FROM waited;
		INSERT INTO waited VALUES(1, 100000, 1, 5, 2000000, 3, 'full'),
		(1, 100001, 1, 6, 7000000, 1, 'longer')" && "$VERBATIM" stat plain.db >out || return
	is "$(sed -n '2,4p' out | tr -s '\n ' ' ')" "WAITED: the recorder made the program wait \
9.00 ms, in 4 waits (3 for a full ring, 1 for a longer one), the longest 7.00 ms at 1:100001 \
(6 ns). Durations that include a wait are overstated by it. " || return
	json plain.db && is "$(jq -c '.waited | [.times, .total_ns, .full_ns, .longer_ns]' json)" \
		'[4,9000000,2000000,7000000]' || return
	json --from 1s plain.db 2>/dev/null || json --from 100us plain.db &&
		is "$(jq .waited.times json)" 0
	"$VERBATIM" dump plain.db 2>&1 | grep -q 'made the program wait 9.00 ms'
}
# a check judges by 250 ms and more, and by shares of the run
check_notes_waits_that_may_change_its_verdict() {
	local ns
	for ns in 1000 99999999 100000000; do
		"$VERBATIM" unpack -o plain.db good.db && sqlite3 plain.db "DELETE FROM waited;
			INSERT INTO waited VALUES(1, 100000, 1, 5, $ns, 1, 'full');
			UPDATE meta SET value = 2000000000 WHERE key = 'duration'" || return
		is "$ns" "$("$VERBATIM" check plain.db 2>&1 | grep -c 'made the program wait')" \
			$((ns >= 100000000)) || return
	done
	sqlite3 plain.db "UPDATE meta SET value = 20000 WHERE key = 'duration';
		UPDATE process SET end = NULL; UPDATE waited SET ns = 9000"
	"$VERBATIM" check plain.db 2>&1 | grep -q 'made the program wait 9.00 us'
}
older_traces_do_not_know_of_waits() {
	"$VERBATIM" unpack -o old.db good.db && sqlite3 old.db "DROP TABLE waited;
		DELETE FROM meta WHERE key = 'waits'; PRAGMA user_version = 6" || return
	"$VERBATIM" stat old.db >out && says "waits for the recorder: not recorded" out &&
		is "$("$VERBATIM" stat --format json old.db | jq .waited)" null
}

rotated_traces_have_each_request_once() {
	local sum=0 db
	record r.db --rotate-time 50ms "$apps/loop" counts 200000 && [ -e r.1.db ] || return
	for db in r.*.db r.db; do
		json $db 2>/dev/null && sum=$((sum + $(jq .posting.send.requests json)))
	done
	is $sum 200000
}
flight_says_that_it_has_the_end_only() {
	record f.db --flight 512k "$apps/loop" counts 400000 2>/dev/null || return
	"$VERBATIM" stat f.db >out 2>err && says "^INCOMPLETE: [0-9,]* events are missing" out &&
		json f.db 2>/dev/null && is "$(jq '.summary.overwritten > 0 and .summary.lost == 0
			and .summary.whole_from_ns > 0
			and .posting.send.requests < 400000' json)" true
}
# A latency does not distinguish a lost packet, or a peer without a receive, from a slow network.
gather_without_a_cause() { # program...
	VERBATIM_SOFT_FAULTS=$tmp/faults record l.db "$@" && "$VERBATIM" stat l.db >out &&
		is "$(grep -c -e "RNR timer" -e "timeout .*: " out)" 0 && json l.db &&
		is "$(jq -c .clusters json)" "[]"
}
lost_requests_are_not_distinguished_from_slow_ones() {
	echo "opcode=SEND every=100 lose" >faults
	gather_without_a_cause "$both" ib_send_lat -F -n 500 -u 17
}
# 655.36 ms is the longest RNR timer, and the peer's.
slow_requests_have_not_waited_for_a_receive() {
	echo "opcode=SEND every=2 delay=650ms" >faults
	gather_without_a_cause "$apps/slow_way" send || return
	echo "opcode=RDMA_WRITE every=2 delay=650ms" >faults
	gather_without_a_cause "$apps/slow_way" write
}
# a helper around the verb is the same place for all of its callers
callers_tell_the_posts_of_a_helper_apart() {
	record h.db "$apps/helper" && "$VERBATIM" stat h.db >out &&
		is "$(sed -n 's/ (helper.c:[0-9]*)$//; s/^    .*send_post < //p' out | sort)" \
			"$(printf '%s\n' main "send_reply < request_arrived" \
				"send_reply < timer_fired")" &&
		json h.db && is "$(jq -r '.places[] | select(.verb == "ibv_post_send").place' json |
			sed 's/.* < \(.*\) (.*/\1/' | sort | tr '\n' ' ')" \
			"main request_arrived timer_fired "
}
messages_that_found_no_receive_gather_at_the_rnr_timer() {
	VERBATIM_SOFT_TIMERS=real record l.db "$apps/incident_21" bad &&
		"$VERBATIM" stat l.db >out &&
		says "^  [0-9]* of [0-9]* took 6.* ms to 6.* ms, of qp1/1" out &&
		says "^    1 x 655 ms, RNR timer 0: no receive was posted, [3-9] stalls (.*)" out &&
		json l.db &&
		is "$(jq '.starved | .messages >= .stalls and .total_ns >= .longest_ns' json)" \
			true &&
		is "$(jq -c '.clusters[] | select(.times == 1) | [.timer, .value, .requests >= 3,
			.requests * 2 <= .of]' json)" '["min_rnr_timer",0,true,true]'
}

record good.db "$apps/perf_004" good
record rc.db "$apps/depth" rc 5
record every.db "$apps/every_verb"
record cm.db "$apps/cm_calls"
record ud.db "$apps/depth" ud 5 srq
try_in_turn "high water is the program's own account, rc" \
	high_water_is_the_programs_own_account rc rc,all rc,srq
try_in_turn "high water is the program's own account, uc" \
	high_water_is_the_programs_own_account uc uc,all
try_in_turn "high water is the program's own account, ud" \
	high_water_is_the_programs_own_account ud ud,srq
try sums_are_those_of_the_events good.db rc.db ud.db
try requests_are_those_of_the_events rc.db
try percentiles_are_within_a_32nd rc.db
try inline_and_signalled_are_as_posted
try registrations_on_the_data_path_are_placed
try parts_add_up_to_the_whole good.db
try what_is_not_there_is_refused
try what_was_not_asked_for_is_not_refused
try text_fits_80_columns good.db rc.db ud.db r.db every.db cm.db
try waits_are_reported_on_top
try_in_turn check_notes_waits_that_may_change_its_verdict
try older_traces_do_not_know_of_waits
try_in_turn rotated_traces_have_each_request_once
try_in_turn flight_says_that_it_has_the_end_only
try_in_turn lost_requests_are_not_distinguished_from_slow_ones
try_in_turn slow_requests_have_not_waited_for_a_receive
try callers_tell_the_posts_of_a_helper_apart
try_in_turn messages_that_found_no_receive_gather_at_the_rnr_timer
