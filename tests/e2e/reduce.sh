# A mistake in much traffic becomes a trace of a few events that still shows it. By default some of
# the ten mistakes, in traces of 500 events; MESSAGES=25000 MISTAKES=10 for the figures in the docs,
# LONG=1 for some more of both.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
MESSAGES=${MESSAGES:-$(share 100 400)} MISTAKES=${MISTAKES:-$(share 2 3)} SEED=${SEED:-$RANDOM}

tidy() { rm -f "$tmp"/*.db "$tmp"/out "$tmp"/err; }
events() { "$VERBATIM" dump "$1" 2>/dev/null | wc -l; }

record_mistake() {
	"$VERBATIM" record -q -o t.db "$apps/seeded" $1 $MESSAGES $SEED ||
		{ echo "record $?"; return 1; }
}

reduce() { # WHAT
	timeout 900 "$VERBATIM" reduce -o small.db --keep "$1" t.db >out 2>err
	is "$1 $?" "$1 0" && says "^small.db: .* reproduce" out &&
		says '^[1-9][0-9]* trials in ' out || { cat err; return 1; }
	is "more than 60: $(events small.db)" "more than 60: $(events small.db | awk '$1 < 60')" &&
		is "$(ls -A "$TMPDIR"/verbatim-reduce-* 2>/dev/null)" ""
}

# It has the completion, and a replay gives its status without injected faults.
status_is_shown() { # MISTAKE
	local event status
	record_mistake $1 || return
	IFS='|' read -r event status < <("$VERBATIM" sql t.db "SELECT event(thread, n), status_name
		FROM wc WHERE status NOT IN (0, 5) ORDER BY time LIMIT 1" 2>/dev/null)
	reduce "status of $event = ${status#IBV_WC_}" &&
		is "$("$VERBATIM" sql small.db "SELECT status_name FROM wc
			WHERE event(thread, n) = '$event'" 2>/dev/null)" "$status" &&
		timeout 60 "$VERBATIM" replay --faults none small.db >out 2>&1 &&
		says "^no divergence" out && ! grep "^made" out && is_a_program "$status"
}

# A C program made from the rest does the same, also recorded and checked.
is_a_program() { # result shown by its trace: a status or a rule
	"$VERBATIM" emit small.db -o small.c &&
		${CC:-cc} -Wall -Wextra -Werror -o small small.c -libverbs &&
		timeout 60 "$VERBATIM" run -- ./small >out 2>&1 &&
		timeout 60 "$VERBATIM" record -q -o made.db ./small >out 2>&1 ||
		{ cat out; return 1; }
	case $1 in
	IBV_*) is "$("$VERBATIM" sql made.db "SELECT count(*) > 0 FROM wc
		WHERE status_name = '$1'" 2>/dev/null)" 1 ;;
	*) "$VERBATIM" check made.db >out 2>/dev/null; says "^E $1" out ;;
	esac
}

finding_is_shown() { # MISTAKE RULE
	record_mistake $1 && reduce $2 &&
		is "$("$VERBATIM" check -f json small.db 2>/dev/null |
			jq -r '[.findings[] | select(.severity == "error").rule] | unique[]')" $2 &&
		timeout 60 "$VERBATIM" replay small.db >out 2>&1 &&
		says "^no divergence" out && is_a_program $2
}

divergence_is_shown() {
	local event
	record_mistake none || return
	mv t.db whole.db && "$VERBATIM" unpack -o t.db whole.db || return
	IFS='|' read -r thread n < <("$VERBATIM" sql whole.db "SELECT thread, n FROM wc
		WHERE opcode = 128 ORDER BY time LIMIT 1 OFFSET $((MESSAGES / 2))" 2>/dev/null)
	sqlite3 t.db "UPDATE wc SET byte_len = 100 WHERE thread = $thread AND n = $n" || return
	reduce "divergence at $thread:$n wc[0].byte_len" || return
	timeout 60 "$VERBATIM" replay small.db >out 2>&1; is $? 1 &&
		says "$thread:$n .*byte_len: recorded 100, replayed 256" out || return
	# no device returns the altered value, and the program reports the returned one
	"$VERBATIM" emit small.db -o small.c &&
		${CC:-cc} -Wall -Wextra -Werror -o small small.c -libverbs || return
	timeout 60 "$VERBATIM" run -- ./small >out 2>&1; is $? 1 &&
		says "^$thread:$n completion: .* 256 bytes.*recorded: .* 100 bytes" out
}

# MISTAKE, and the rule that finds it, if no completion shows it.
mistakes() {
	shuf --random-source=<(yes $SEED) <<-X
		wrong_lkey
		gone_rkey
		out_of_bounds
		short_receive
		no_receive
		peer_reset
		gone_lkey MKEY-001
		overflow QUEUE-002
		too_early STATE-002
		altered
	X
}

what_is_not_shown_is_reported() {
	record_mistake none || return
	"$VERBATIM" reduce -o small.db --keep LIFE-001 t.db >out 2>err; is $? 1 &&
		says "does not reproduce finding LIFE-001" err && [ ! -e small.db ] || return
	"$VERBATIM" reduce -o small.db --keep divergence t.db >out 2>err; is $? 1 &&
		says "does not reproduce divergence" err && [ ! -e small.db ]
}

# A status that only the network caused: without injected faults a replay does not give it.
status_without_a_cause_is_reported() {
	record_mistake none && mv t.db whole.db && "$VERBATIM" unpack -o t.db whole.db &&
		sqlite3 t.db "UPDATE wc SET status = 10 WHERE thread = 1 AND n =
			(SELECT max(n) FROM wc WHERE thread = 1 AND opcode = 0)" || return
	event=$("$VERBATIM" sql t.db "SELECT event(thread, n) FROM wc
		WHERE status = 10" 2>/dev/null)
	"$VERBATIM" reduce -o small.db --keep "status of $event = REM_ACCESS_ERR" t.db >out 2>err
	is $? 1 && says "differs from the recording at $event: wc.*status is IBV_WC_SUCCESS" err
}

has_begun() { set -- "$tmp"/verbatim-reduce-*/source.db; [ -e "$1" ]; }
smallest_so_far_is_kept() {
	record_mistake wrong_lkey && rm -rf "$tmp"/verbatim-reduce-* || return
	"$VERBATIM" reduce -o small.db --keep MKEY-001 t.db >out 2>err & local pid=$!
	until has_begun || [ -z "$(jobs -r)" ]; do pause; done
	kill -INT $pid 2>/dev/null; wait $pid; is $? 0 || { cat err; return 1; }
	"$VERBATIM" check small.db 2>/dev/null | grep -q "^E MKEY-001"
}

# The same command continues with the result of the first one, which it says; the state is removed
# at the minimum, and that of another goal is not taken.
a_stopped_one_is_continued() {
	"$VERBATIM" record -q -o t.db "$apps/state_002" bad || return
	"$VERBATIM" reduce --deadline 1ms -o small.db --keep STATE-002 t.db >out 2>err; is $? 0 ||
		{ cat err; return 1; }
	says "^stopped before the minimum .* from small.db.reduce" out &&
		cp small.db.reduce state &&
		local before && before=$(events small.db) || return
	"$VERBATIM" reduce -o small.db --keep STATE-002 t.db >out 2>err; is $? 0 ||
		{ cat err; return 1; }
	says "continue with small.db" err && says "events, .* reproduce finding STATE-002" out &&
		[ "$(events small.db)" -lt $before ] &&
		is "state: $(ls small.db.reduce 2>/dev/null)" "state: " || return
	sed 's/"step": [0-9]*/"step": 1/' state >small.db.reduce # it was stopped at the minimum
	"$VERBATIM" reduce -o small.db --keep STATE-002 t.db >out 2>err; is $? 0 ||
		{ cat err; return 1; }
	"$VERBATIM" reduce --deadline 1ms -o small.db --keep STATE-002 t.db >out 2>err &&
		"$VERBATIM" reduce --deadline 1ms -o small.db --keep "STATE-002 of qp1" t.db \
			>out 2>err; ! grep -q "continue with" err
}

# The replay of a part that lacks a receive would wait 10 s for its completion in each trial; a part
# that is synced would wait for the disk; and one that was tried is not tried again.
trials_do_not_wait() {
	local MESSAGES=16
	record_mistake none && mv t.db whole.db && "$VERBATIM" unpack -o t.db whole.db || return
	IFS='|' read -r thread n < <("$VERBATIM" sql whole.db "SELECT thread, n FROM wc
		WHERE opcode = 128 ORDER BY time LIMIT 1 OFFSET $((MESSAGES / 2))" 2>/dev/null)
	sqlite3 t.db "UPDATE wc SET byte_len = 100 WHERE thread = $thread AND n = $n" || return
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 strace --seccomp-bpf -f -qq -y \
		-e trace=execve,fsync,fdatasync -o trials -s 200 "$VERBATIM" reduce -o small.db \
		--keep "divergence at $thread:$n" t.db >out 2>err; is $? 0 || { cat err; return 1; }
	grep '"replay", .*/verbatim-reduce-' trials >parts
	is "$(grep -c 'sync(.*/verbatim-reduce-' trials)" 0 || return
	[ -s parts ] && ! grep -v '"--timeout", "[0-9]\{3,4\}ms".*"--fail-fast"' parts
}

deadline_keeps_the_smallest() {
	record_mistake wrong_lkey || return
	"$VERBATIM" reduce --deadline 1ms -o small.db --keep MKEY-001 t.db >out 2>err; is $? 0 ||
		{ cat err; return 1; }
	"$VERBATIM" check small.db 2>/dev/null | grep -q "^E MKEY-001"
}

wrong_use_is_refused() {
	local what
	record_mistake none || return
	for what in "" "status of 1:60" "status of 1:60 = NONE" "status of 1:1 = FLUSH_ERR" \
		"divergence at here" "1:60" "LIFE-001 of qp1 of qp2"; do
		"$VERBATIM" reduce -o x.db --keep "$what" t.db >out 2>err
		is "$what $?" "$what 2" && is "$(grep -c . err)" 1 && [ ! -e x.db ] || return
	done
	"$VERBATIM" reduce --keep LIFE-001 t.db 2>err; is $? 2 || return
	"$VERBATIM" reduce -o t.db --keep LIFE-001 t.db 2>err; is $? 2 || return
	"$VERBATIM" reduce -o x.db --keep LIFE-001 out 2>err; is $? 3
}

export TMPDIR=$tmp
needs "$VERBATIM" "$apps"/{seeded,state_002}
while read -r mistake rule; do
	if ! in_turn; then continue
	elif [ $mistake = altered ]; then try "an altered completion" divergence_is_shown
	elif [ -n "$rule" ]; then try "$mistake: $rule" finding_is_shown $mistake $rule
	else try "$mistake: status" status_is_shown $mistake; fi
done < <(mistakes | head -n $MISTAKES)
try what_is_not_shown_is_reported
try status_without_a_cause_is_reported
try smallest_so_far_is_kept
try deadline_keeps_the_smallest
try a_stopped_one_is_continued
if strace -o "$tmp/allowed" true 2>/dev/null; then try_in_turn trials_do_not_wait
else skip "trials do not wait" "strace is not installed, or not allowed"; fi
try wrong_use_is_refused
exit $failed
