#!/usr/bin/env bash
# The report of a replay: one cause for all its consequences, omissions on the first line, and a
# report however it ends.
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE VERBATIM_SESSIONS # each command selects its device
export VERBATIM_QUIET=1
for each in sqlite3 ibv_rc_pingpong xmllint; do
	command -v $each >/dev/null || { skip all "$each is not installed"; exit 0; }
done
cd "$tmp" || exit 1

timeout 60 "$VERBATIM" record -q --device soft -o rc.db -- \
	"$both" ibv_rc_pingpong -n 200 >log 2>&1 ||
	not_ok record "$(tail -1 log)"
[ $failed = 0 ] || exit 1

# alter SQL: rc.db altered, in altered.db
alter() { rm -f altered.db; "$VERBATIM" unpack -o altered.db rc.db && sqlite3 altered.db "$1"; }

replay() { timeout 60 "$VERBATIM" replay --device soft "$@" >out 2>err; }

# the key of one request, in the middle
alter_key() {
	alter "UPDATE sge SET lkey = 4242 WHERE thread = 1 AND n = (SELECT n FROM sge
		WHERE thread = 1 ORDER BY n LIMIT 1 OFFSET 100)"
}

# and its consequences are not waited for
an_altered_key_is_one_divergence() {
	alter_key && replay --timeout 1m altered.db
	is $? 1 && is "$(head -1 out)" "1 divergence (1 recorded success fails in the replay)" &&
		says '^  [12]:[0-9]* ibv_poll_cq: wc\[0\].status: .*; [0-9,]* conse.* on qp1' out
}

# The replay's own memory, not the program's.
a_limit_of_memory_is_no_divergence() {
	local each why='replay: ibv_create_cq at .* was not replayed, since its queue on '
	why+='the software device exceeds --max-memory'
	# each separate process has as much
	for each in "200k --threads serial" "400k --threads recorded" "200k --processes"; do
		replay --max-memory $each rc.db
		is "$each" $? 3 && says '^partial, .*: no divergence$' out &&
			is "$(grep -c . err)" 1 && says "$why (.00 KiB)" err || return
	done
	replay --max-memory 8M rc.db && says '^no divergence$' out
}

# The number of the refusal is enough; that of a queue leads to one that is.
a_limit_of_memory_names_the_one_to_give() {
	local size status
	alter "UPDATE call SET args = json_set(args, '$.length', 300000000) WHERE verb LIKE
		'ibv_reg_mr%' AND thread = 1" || return
	replay --max-memory 8M altered.db; is $? 3 &&
		is "$(grep -c . err)" 1 && says 'if you trust the trace, give --max-memory' err ||
		return
	size=$(grep -o '[0-9]*M$' err)
	replay --max-memory "$size" altered.db; status=$?
	[ "${size%M}" -ge 287 ] && [ $status -le 1 ] || { echo "$size: $status"; return 1; }
	size=200k
	for _ in 1 2 3 4 5 6; do
		replay --max-memory $size rc.db && return
		says 'if you trust the trace, try --max-memory [0-9]*[kM]$' err || return
		size=$(grep -o '[0-9]*[kM]$' err)
	done
	return 1
}

a_recorded_failure_that_succeeds_is_a_class() {
	alter "UPDATE call SET ret = 22, failed = 1 WHERE verb = 'ibv_dereg_mr' AND thread = 1" &&
		replay altered.db
	is $? 1 && is "$(head -1 out)" "1 divergence (1 recorded failure succeeds in the replay)"
}

an_object_that_is_not_made_explains_all_that_names_it() {
	alter "UPDATE call SET args = json_set(args, '\$.cqe', 0) WHERE verb = 'ibv_create_cq'
		AND thread = 1" && replay altered.db
	is $? 1 && is "$(head -1 out)" "1 divergence (1 recorded success fails in the replay)" &&
		says 'ibv_create_cq: ret: .*; [0-9,]* consequences' out
}

what_is_left_out_is_on_the_first_line() {
	alter "UPDATE call SET verb = 'ibv_reg_dmabuf_mr' WHERE verb = 'ibv_advise_mr'" &&
		sqlite3 altered.db "INSERT INTO coverage(thread, n, process, time, what, times)
			VALUES(1, 1, 1, 0, 'extended-qp', 3)" && replay altered.db
	is $? 1 && says '^no divergence; not in the trace, so not .*: extended-qp, 3 times' out &&
		says 'allow-partial' err && replay --allow-partial altered.db
	is $? 0
}

# With threads, either end may notice it first.
a_judged_divergence_does_not_count() {
	alter_key && replay --threads serial altered.db
	local event threads
	event=$(sed -n '2s/^ *\([0-9:]*\) .*/\1/p' out)
	printf '# judged\n\nibv_poll_cq wc[0].status %s qp1/* a reboot\n' "$event" >judged
	replay --tolerate judged altered.db
	is $? 2 && says "judged:3: .*object" err || return
	printf '# judged\n\npoll_* wc[0].status %s qp? the switch was rebooted\n* * 9:* * never\n' \
		"$event" >judged
	for threads in serial recorded recorded recorded; do
		replay --threads $threads --tolerate judged altered.db
		is "--threads $threads" $? 0 && says '^no divergence$' out &&
			says '^unused: judged:4: never' out &&
			says '^tolerated by judged:3: 1 x the switch was rebooted; [0-9,]* con' \
				out || return
	done
}

# a line, expected message
a_bad_line_is_named() {
	local line what
	while IFS='|' read -r line what; do
		printf '\n%s\n' "$line" >judged
		replay --tolerate judged rc.db
		is "$line" $? 2 && says "judged:2: $what" err && is "$(wc -l <err)" 1 || return
	done <<-'END'
		ibv_poll_cq wc[0].status|a line needs a verb
		ibv_poll_cq * * *|the reason after the object is missing
		ibv_pol_cq * * * r|unknown verb
		ibv_poll_cq * 1 * r|events must be
		ibv_poll_cq * 1:5-2:9 * r|events must be
		ibv_poll_cq * 1:9-1:5 * r|events must be
		ibv_poll_cq * * qp1/x r|an object must be
	END
	replay --tolerate missing rc.db
	is $? 4 && says 'missing' err
}

fail_fast_ends_at_the_first() {
	alter_key && replay --fail-fast altered.db
	is $? 1 && says '^partial, ended at the first divergence (--fail-fast) after ' out &&
		says ' events: 1 divergence ' out
}

# The child of process $1 handles SIGTERM. Before exec it has its parent's handler, and the signal
# blocked: a signal then ends it before there is anything to report.
has_taken_over() {
	local child signals
	child=$(pgrep -P "$1") && signals=$(awk '/^SigBlk/ { blocked = $2 }
		/^SigCgt/ { print "0x" $2 " & ~0x" blocked }' "/proc/$child/status") &&
		[ $(((signals) >> 14 & 1)) = 1 ]
}

a_signal_leaves_a_report() { # SIGNAL
	local job pid
	rm -f report
	env --default-signal=INT timeout --foreground 60 "$VERBATIM" replay --device soft \
		--pace x0.0001 --report report rc.db >out 2>err &
	job=$!
	await pgrep -P $job verbatim >pid && pid=$(cat pid) || return
	await has_taken_over "$pid" && kill -"$1" "$pid"
	wait $job
	is $? $((128 + $(kill -l "$1"))) &&
		says "^partial, ended by SIG$1 after .* events: no div" out &&
		is "$(jq -r .partial report)" "ended by SIG$1" && is "$(jq .whole report)" false
}

fabric_of() { # PID
	tr '\0' '\n' <"/proc/$1/environ" | sed -n 's/^VERBATIM_SOFT_FABRIC=//p' | grep .
}

# It locks the directory of its software device, which the next one finds unlocked.
what_a_killed_replay_leaves_goes_with_the_next() {
	local job child folder
	(unset VERBATIM_SOFT_FABRIC
	exec "$VERBATIM" replay --device soft --pace x0.0001 rc.db >out 2>&1) &
	job=$!
	await pgrep -P $job >pid && child=$(cat pid) && await fabric_of $child >folder &&
		folder=$(cat folder) && await eval '[ "$(ls -A "$folder")" ]' || return
	kill -KILL $job $child
	await eval '! kill -0 '$child || return
	(unset VERBATIM_SOFT_FABRIC; replay rc.db) # unless that of another test was before it
	is $? 0 && [ ! -e "$folder" ] || { echo "left: $folder"; return 1; }
}

a_deadline_leaves_a_report() {
	replay --pace x0.0001 --deadline 500ms --report report rc.db
	is $? 3 && says "^partial, ended by --deadline after " out &&
		is "$(jq -r .partial report)" "ended by --deadline"
}

junit_is_valid() {
	alter_key
	for each in rc altered; do
		replay --format junit $each.db
		is $? $([ $each = rc ]; echo $?) &&
			xmllint --noout --schema "$root/tests/e2e/lib/junit.xsd" out 2>err || return
	done
	says 'failures="1"' out && says 'type="recorded-success-fails"' out
}

# on a terminal a line is rewritten; elsewhere nothing is printed
progress_is_for_a_terminal() {
	VERBATIM_QUIET= timeout 60 python3 "$root/tests/e2e/lib/on_terminal.py" 80 "$VERBATIM" \
		replay --device soft --pace x0.0001 --deadline 1200ms rc.db >out
	says 'of [0-9,]* events, [0-9,]*/s, ' out || return
	replay --pace x0.0001 --deadline 1200ms rc.db
	! grep 'events, ' err
}

# posts and completions of a trace, with the fields that must be the same in every replay
traffic() {
	"$VERBATIM" sql "$1" "SELECT count(*), sum(opcode), sum(send_flags) FROM wr" &&
		"$VERBATIM" sql "$1" "SELECT count(*), sum(status), sum(byte_len) FROM wc" &&
		"$VERBATIM" sql "$1" "SELECT count(*), sum(failed) FROM call
			WHERE verb IN ('ibv_modify_qp', 'ibv_reg_mr', 'ibv_create_qp')"
}

a_replay_can_be_recorded() {
	local threads
	for threads in recorded serial; do
		rm -f nested.db
		timeout 60 "$VERBATIM" record -q --device soft -o nested.db -- "$VERBATIM" replay \
			--device soft --threads $threads rc.db >out 2>err
		is $? 0 && is "$(traffic nested.db)" "$(traffic rc.db)" && replay nested.db
		is "replay of it" $? 0 || return
	done
}

# a device that lacks features: reported before any call
what_the_device_lacks_is_printed_first() {
	needs "$apps/every_verb"
	VERBATIM_SOFT_LINK=roce timeout 60 "$VERBATIM" record -q --device soft -o ev.db \
		"$apps/every_verb" >out 2>&1
	printf 'device_cap_flags 0\nmax_dm_size 0\nmax_qp 1\n' >less
	VERBATIM_SOFT_PERSONA=$PWD/less replay ev.db
	is $? 4 && is "lines" "$(cat out err | wc -l)" 1 &&
		says 'needs XRC (1:[0-9]*), memory windows (.*), which verbatim0 lacks; ' err &&
		says '[0-9] queue pairs at a time, but verbatim0 has 1;' err || return
	VERBATIM_SOFT_PERSONA=$PWD/less replay --skip-unsupported ev.db
	is $? 1 && says 'XRC, which verbatim0 lacks' out || return
	replay --allow-partial ev.db
	is "on the recorded one" $? 0 # which needs nothing
}

wrong_values_are_refused() {
	local each
	for each in "--format xml" "--deadline never" "--fail-fast=1" "--tolerate"; do
		replay rc.db $each
		is "$each" $? 2 && is "$(wc -l <err)" 1 || return
	done
}

for each in an_altered_key_is_one_divergence a_limit_of_memory_is_no_divergence \
	a_limit_of_memory_names_the_one_to_give \
	a_recorded_failure_that_succeeds_is_a_class \
	an_object_that_is_not_made_explains_all_that_names_it \
	what_is_left_out_is_on_the_first_line a_judged_divergence_does_not_count \
	a_bad_line_is_named fail_fast_ends_at_the_first "a_signal_leaves_a_report INT" \
	"a_signal_leaves_a_report TERM" "a_signal_leaves_a_report HUP" a_deadline_leaves_a_report \
	junit_is_valid a_replay_can_be_recorded what_the_device_lacks_is_printed_first \
	what_a_killed_replay_leaves_goes_with_the_next progress_is_for_a_terminal \
	wrong_values_are_refused; do
	try $each
done
exit $failed
