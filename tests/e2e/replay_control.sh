#!/usr/bin/env bash
# Replays of control verbs, events and devices: a difference is reported at its event, nothing else
# is, and nothing impossible is waited for.
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE VERBATIM_SESSIONS # each command selects its device
export VERBATIM_QUIET=1
needs "$apps/every_verb" "$apps/late_event" "$apps/refused"
command -v sqlite3 >/dev/null || { skip all "sqlite3 is not installed"; exit 0; }

record() { # NAME PROGRAM...
	timeout 60 "$VERBATIM" record -q --device soft -o "$tmp/$1.db" -- "${@:2}" >"$tmp/log" 2>&1
}

# replay FILE [OPTION...]: its report in $tmp/out
replay() { timeout 60 "$VERBATIM" replay --device soft "$@" >"$tmp/out" 2>&1; }

# alter NAME SQL: a copy of its trace, altered, in $tmp/altered.db
alter() {
	rm -f "$tmp/altered.db"
	"$VERBATIM" unpack -o "$tmp/altered.db" "$tmp/$1.db" && sqlite3 "$tmp/altered.db" "$2"
}

# the first event T:N that a condition on table call selects
event_of() { sqlite3 "$tmp/altered.db" "SELECT thread || ':' || n FROM call WHERE $1 LIMIT 1"; }

# says_once TEXT: it is the only divergence
says_once() {
	says '^1 divergence' "$tmp/out" && says "$1" "$tmp/out"
}

VERBATIM_SOFT_LINK=roce record every_verb "$apps/every_verb" ||
	not_ok every_verb "$(tail -1 "$tmp/log")"

a_failed_query_diverges() {
	local verb
	for verb in query_device query_gid query_pkey query_port; do
		alter every_verb "UPDATE call SET ret = -1, error = 4000, failed = 1
			WHERE (thread, n) = (SELECT thread, n FROM call WHERE verb = 'ibv_$verb'
				AND NOT failed AND NOT ours AND depth = 0 LIMIT 1)" || return
		replay "$tmp/altered.db"
		is "status of $verb" $? 1 && says_once \
			"$(event_of "error = 4000") ibv_$verb: ret: recorded 4000, replayed 0" ||
			return
	done
}
try a_failed_query_diverges

# a device is known by its attributes, not by its name
another_firmware_is_another_device() {
	alter every_verb "UPDATE call SET out = replace(out, '\"fw_ver\":\"', '\"fw_ver\":\"9.')
		WHERE verb LIKE 'ibv_query_device%'" || return
	replay --allow-partial "$tmp/altered.db"
	is status $? 0 && says 'differs from the recorded [a-z0-9_]*: fw_ver 9\.' "$tmp/out" &&
		says 'x attributes of the device' "$tmp/out"
}
try another_firmware_is_another_device

a_name_alone_is_no_other_device() {
	alter every_verb "UPDATE object SET name = 'mlx5_0' WHERE kind = 'device'" || return
	replay --allow-partial "$tmp/altered.db"
	is status $? 0 || { cat "$tmp/out"; return 1; }
	! grep 'differs from the recorded\|attributes of the device' "$tmp/out"
}
try a_name_alone_is_no_other_device

record late_event "$apps/late_event" || not_ok late_event "$(tail -1 "$tmp/log")"

# the queue is armed after its completion came, which was polled before ibv_get_cq_event()
an_event_after_its_completion_is_not_waited_for() {
	alter late_event "UPDATE notify SET time = (SELECT min(p.time) FROM poll p
		WHERE p.time > notify.time AND p.ret > 0) - 1" || return
	SECONDS=0
	replay --timeout 50 "$tmp/altered.db"
	is status $? 0 || { cat "$tmp/out"; return 1; }
	says ' x a completion event for a completion that came before' "$tmp/out" &&
		[ $SECONDS -lt 25 ] || { echo "$SECONDS s"; return 1; }
}
try an_event_after_its_completion_is_not_waited_for

# the program let four events wait before it read them; four messages were sent at once
a_backlog_of_events_is_not_waited_for() {
	record backlog "$apps/late_event" backlog || { tail -1 "$tmp/log"; return 1; }
	alter backlog "CREATE TABLE fourth AS SELECT n, time, (row_number() OVER (ORDER BY n) - 1)
		/ 4 AS turn FROM post;
		UPDATE post SET time = (SELECT min(o.time) FROM fourth o JOIN fourth f USING (turn)
			WHERE f.n = post.n);
		UPDATE wr SET time = (SELECT p.time FROM post p WHERE p.n = wr.n);
		UPDATE sge SET time = (SELECT p.time FROM post p WHERE p.n = sge.n);
		DROP TABLE fourth;
		UPDATE call SET begin = end - 1000 WHERE verb = 'ibv_get_cq_event'" || return
	SECONDS=0
	replay --timeout 50 "$tmp/altered.db"
	is status $? 0 || { cat "$tmp/out"; return 1; }
	says '15 x a completion event for a completion that came before' "$tmp/out" &&
		[ $SECONDS -lt 25 ] || { echo "$SECONDS s"; return 1; }
}
try a_backlog_of_events_is_not_waited_for

# with 20 that never come, at 3 s for the first one
missing_events_are_not_waited_for_each_time() {
	alter late_event "DELETE FROM notify" || return
	SECONDS=0
	replay --timeout 3 "$tmp/altered.db"
	is status $? 1 && says 'ibv_get_cq_event: cq: recorded an event, replayed no event' \
		"$tmp/out" && { [ $SECONDS -lt 30 ] || { echo "$SECONDS s"; return 1; }; }
}
try missing_events_are_not_waited_for_each_time

another_context_of_an_event_diverges() {
	alter late_event "UPDATE call SET out = json_set(out, '\$.cq_context', 7)
		WHERE n = (SELECT max(n) FROM call WHERE verb = 'ibv_get_cq_event')" || return
	replay "$tmp/altered.db"
	is status $? 1 && says_once 'ibv_get_cq_event: cq_context: recorded 7, replayed 0'
}
try another_context_of_an_event_diverges

# a trace without posts: events that depend on them are left out at once, without a divergence
no_events_without_posts() {
	timeout 60 "$VERBATIM" record -q --device soft --filter plane=control -o "$tmp/control.db" \
		-- "$apps/late_event" || return
	replay --timeout 50 "$tmp/control.db"
	says '^no divergence' "$tmp/out" &&
		says '20 x ibv_get_cq_event, .*: the posts were left out of the trace by --filter' \
			"$tmp/out"
}
try no_events_without_posts

# nothing arms the queue: its events are left out as well
no_events_without_arming() {
	timeout 60 "$VERBATIM" record -q --device soft --filter verb=ibv_post_send \
		-o "$tmp/unarmed.db" -- "$apps/late_event" || return
	replay --timeout 50 "$tmp/unarmed.db"
	says '20 x ibv_get_cq_event, .*: the requests for events were left out' "$tmp/out" &&
		says 'the trace does not describe the recorded device' "$tmp/out"
}
try no_events_without_arming

record refused "$apps/refused" || not_ok refused "$(tail -1 "$tmp/log")"

# an unreachable address, a missing GRH and an invalid MTU are not corrected
refusals_stay_refusals() {
	replay "$tmp/refused.db"
	is status $? 0 || { cat "$tmp/out"; return 1; }
	is refused "$("$VERBATIM" sql "$tmp/refused.db" "SELECT count(*) FROM call WHERE failed")" 4
}
try refusals_stay_refusals

# GIDs that no port of the replay has: the LID, which means nothing on Ethernet, does not make it a
# group
a_multicast_lid_on_ethernet_is_no_group() {
	alter refused "UPDATE call SET args = replace(args, '\"fe80', '\"fe81'),
		out = replace(out, '\"fe80', '\"fe81') WHERE verb LIKE 'ibv_query_gid%'
			OR verb IN ('ibv_create_ah', 'ibv_modify_qp')" || return
	is "GIDs of addresses" "$(sqlite3 "$tmp/altered.db" "SELECT count(*) FROM call
		WHERE args LIKE '%fe81%' AND verb = 'ibv_create_ah'")" 2 || return
	replay "$tmp/altered.db"
	is status $? 0 || { cat "$tmp/out"; return 1; }
}
try a_multicast_lid_on_ethernet_is_no_group

# another device granted 32 unrequested bytes inline, and the program used them
granted_sizes_are_asked_for() {
	alter refused "UPDATE call SET out = replace(out, '\"fw_ver\":\"', '\"fw_ver\":\"9.')
			WHERE verb LIKE 'ibv_query_device%';
		UPDATE call SET args = json_set(args, '\$.qp_init_attr.cap.max_inline_data', 0)
			WHERE verb = 'ibv_create_qp'" || return
	replay "$tmp/altered.db"
	is status $? 0 || { cat "$tmp/out"; return 1; }
}
try granted_sizes_are_asked_for

# an index that exists in the recorded port's table, but not in this one
a_shorter_table_of_another_port() {
	alter refused "UPDATE call SET out = replace(out, '\"fw_ver\":\"', '\"fw_ver\":\"9.')
			WHERE verb LIKE 'ibv_query_device%';
		UPDATE call SET args = json_set(args, '\$.index', 1000)
			WHERE verb = 'ibv_query_gid'" || return
	replay "$tmp/altered.db"
	is status $? 0 || { cat "$tmp/out"; return 1; }
	says 'x an index beyond a table of this port' "$tmp/out"
}
try a_shorter_table_of_another_port

# more than this device can grant: then the program's own request is used
too_much_that_was_granted_is_not_insisted_on() {
	alter refused "UPDATE call SET out = replace(out, '\"fw_ver\":\"', '\"fw_ver\":\"9.')
			WHERE verb LIKE 'ibv_query_device%';
		UPDATE call SET
			args = json_set(args, '\$.qp_init_attr.cap.max_inline_data', 32),
			out = json_set(out, '\$.qp_init_attr.cap.max_inline_data', 1000000)
		WHERE verb = 'ibv_create_qp'" || return
	replay "$tmp/altered.db"
	is status $? 0 && replay --processes "$tmp/altered.db"
	is status $? 0 || { cat "$tmp/out"; return 1; }
}
try too_much_that_was_granted_is_not_insisted_on

# cause VERB FIELD SET-ARGS: an argument that the device refuses is the one divergence
fails_here() {
	alter refused "UPDATE call SET args = $2 WHERE (thread, n) = (SELECT thread, n FROM call
		WHERE verb = '$1' AND NOT failed AND $3 LIMIT 1)" || return
	SECONDS=0
	replay --timeout 30 "$tmp/altered.db"
	is "status of $1" $? 1 && says '^1 divergence' "$tmp/out" &&
		says "$1: ret: recorded .*, replayed E" "$tmp/out" ||
		{ cat "$tmp/out"; return 1; }
	[ $SECONDS -lt 15 ] || { echo "$SECONDS s"; return 1; }
}

an_object_that_fails_here_is_cut() {
	fails_here ibv_modify_qp "json_set(args, '\$.attr.path_mtu', 7)" "args LIKE '%path_mtu%'" &&
		fails_here ibv_modify_qp "json_set(args, '\$.attr.retry_cnt', 77)" \
			"args LIKE '%retry_cnt%'" &&
		fails_here ibv_reg_mr "json_set(args, '\$.access', 2)" 1 &&
		fails_here ibv_create_qp "json_set(args, '\$.qp_init_attr.qp_type', 77)" 1
}
try an_object_that_fails_here_is_cut

# a move to RTR that names a queue pair before its creation: it is called nevertheless, and fails
a_change_that_is_too_early_diverges() {
	alter pingpong "UPDATE call SET args = (SELECT r.args FROM call r WHERE r.verb = call.verb
			AND r.object = call.object AND r.args LIKE '%QPS_RTR%')
		WHERE verb = 'ibv_modify_qp' AND thread = 1 AND args LIKE '%QPS_INIT%'" || return
	replay --timeout 30 "$tmp/altered.db"
	is status $? 1 && says '^1 divergence' "$tmp/out" &&
		says "^  1:.* ibv_modify_qp: ret: recorded 0, replayed EINVAL" "$tmp/out"
}
if command -v ibv_rc_pingpong >/dev/null; then
	record pingpong "$both" ibv_rc_pingpong -n 10
	try a_change_that_is_too_early_diverges
else
	skip a_change_that_is_too_early_diverges "ibv_rc_pingpong is not installed"
fi

# each kind of object, with its creation removed from the trace
a_missing_creation_diverges() {
	local verb
	for verb in open_device alloc_pd create_cq create_qp create_ah reg_mr; do
		alter refused "DELETE FROM call WHERE verb = 'ibv_$verb' AND NOT failed" || return
		replay --timeout 30 "$tmp/altered.db"
		is "status without $verb" $? 1 && says '^1 divergence' "$tmp/out" &&
			says 'replayed the call that created its object is not in the trace' \
				"$tmp/out" || { cat "$tmp/out"; return 1; }
	done
}
try a_missing_creation_diverges

a_missing_destruction_diverges() {
	local verb event
	for verb in destroy_qp destroy_cq dereg_mr dealloc_pd destroy_ah close_device; do
		event=$(sqlite3 "$tmp/refused.u.db" "SELECT thread || ':' || n FROM call
			WHERE verb = 'ibv_$verb'")
		alter refused "DELETE FROM call WHERE verb = 'ibv_$verb'" || return
		replay "$tmp/altered.db"
		is "status without $verb" $? 1 && says '^1 divergence' "$tmp/out" &&
			says "$event ibv_$verb: .*, replayed the call is not in the trace" \
				"$tmp/out" || { cat "$tmp/out"; return 1; }
	done
}
"$VERBATIM" unpack -o "$tmp/refused.u.db" "$tmp/refused.db"
try a_missing_destruction_diverges

# everything that depends on a missing call: one cause
a_missing_call_is_one_cause() {
	local verb
	for verb in alloc_pd create_comp_channel create_cq reg_mr alloc_mw create_srq modify_qp \
		detach_mcast free_dm open_xrcd; do
		alter every_verb "DELETE FROM call WHERE (thread, n) = (SELECT thread, n FROM call
			WHERE verb = 'ibv_$verb' AND NOT failed AND depth = 0 LIMIT 1)" || return
		SECONDS=0
		replay --faults none --timeout 30 "$tmp/altered.db"
		is "status without $verb" $? 1 && says '^1 divergence' "$tmp/out" ||
			{ cat "$tmp/out"; return 1; }
		[ $SECONDS -lt 15 ] || { echo "without $verb: $SECONDS s"; return 1; }
	done
}
try a_missing_call_is_one_cause

# if events were lost or filtered, it is not a divergence
a_creation_that_was_filtered_is_no_divergence() {
	alter refused "DELETE FROM call WHERE verb = 'ibv_reg_mr'" || return
	sqlite3 "$tmp/altered.db" "INSERT OR REPLACE INTO meta VALUES ('filter', 'plane=data')"
	replay --timeout 30 "$tmp/altered.db"
	says '^no divergence' "$tmp/out"
}
try a_creation_that_was_filtered_is_no_divergence

# its queue pairs were connected within the kernel: the replay reports that at once and drives
# nothing
iwarp_is_reported() {
	alter late_event "UPDATE call SET out =
			replace(out, 'IBV_TRANSPORT_IB', 'IBV_TRANSPORT_IWARP')
		WHERE verb = 'ibv_get_device_list'" || return
	replay --timeout 30 "$tmp/altered.db"
	says 'no divergence' "$tmp/out" && says 'connected only by librdmacm' "$tmp/out" &&
		says '20 x ibv_post_send' "$tmp/out"
}
try iwarp_is_reported
exit $failed
