#!/usr/bin/env bash
# Calls of librdmacm are replayed: events, their status, their private data and parameters are
# compared with the recorded ones. Both sides, and each alone with a synthesized peer.
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE VERBATIM_SESSIONS # each command selects its device
export VERBATIM_QUIET=1
needs "$apps/cm_ends" "$apps/cm_calls" "$apps/cm_early" "$apps/cm_queues"
cd "$tmp" || exit 1
ends=$apps/cm_ends how=(-q --payload=full --device soft)

# Both in one trace; the client is restarted until the server is ready.
record() { # server's command, client's
	rm -f t.db
	timeout 120 "$VERBATIM" record "${how[@]}" -o t.db -- bash -c "
		timeout 60 $1 >server 2>&1 & server=\$!
		until timeout 60 $2 >client 2>&1; do
			kill -0 \$server 2>/dev/null || exit 1
		done
		wait \$server" || { tail -n 3 server client; return 1; }
}

# Each in its own trace: s.db, c.db.
record_each() { # server's command, client's
	local pid turn status=1
	rm -f s.db c.db
	# the commands are words
	timeout 120 "$VERBATIM" record "${how[@]}" -o s.db -- $1 >server 2>&1 &
	pid=$!
	for ((turn = 0; status && turn < 200; turn++)); do
		kill -0 $pid 2>/dev/null || break
		timeout 120 "$VERBATIM" record "${how[@]}" -o c.db -- $2 >client 2>&1
		status=$?
	done
	wait $pid && [ $status -eq 0 ] || { tail -n 3 server client; return 1; }
}

replay() { # trace, options
	timeout 120 "$VERBATIM" replay --device soft --faults none --report report "$@" >out 2>&1
}

events() { "$VERBATIM" sql "$1" "SELECT count(*) FROM call
	WHERE verb = 'rdma_get_cm_event' AND NOT failed"; }

# No divergence, nothing left out, and each recorded event has come.
goes_as_recorded() { # trace
	local threads
	for threads in serial recorded; do
		replay "$1" --threads $threads || { head -5 out; return 1; }
		! grep 'not replayed:' out && says '^no divergence' out &&
			is events "$(jq '.calls.rdma_get_cm_event // 0' report)" \
				"$(events "$1")" || return
	done
}

both_sides() { # server's command, client's
	command -v ${1%% *} >/dev/null || { echo "${1%% *} is not installed"; return 1; }
	record "$@" && goes_as_recorded t.db
}

each_side() { # server's command, client's
	command -v ${1%% *} >/dev/null || { echo "${1%% *} is not installed"; return 1; }
	record_each "$@" && goes_as_recorded s.db && says 'synthesized the peer' out &&
		goes_as_recorded c.db && says 'synthesized the peer' out
}

# Identifiers whose queue pairs, partners or listener were destroyed before the trace begins.
begins_within_teardown() { # server's command, client's
	local id n=0
	record "$@" || return
	for id in $("$VERBATIM" sql t.db "SELECT event(thread, n) FROM call WHERE begin >=
		(SELECT begin FROM call WHERE verb = 'rdma_get_cm_event' AND
			out LIKE '%_DISCONNECTED%' ORDER BY begin LIMIT 1)"); do
		((n++ % 3)) || replay t.db --from "$id" ||
			{ echo "from $id"; head -5 out; return 1; }
	done
	[ $n -ge 20 ] || { echo "only $n calls"; return 1; }
}

a=127.0.0.1
next_port
try_in_turn "a trace begins within a teardown" begins_within_teardown "ucmatose -c 2 -p $port" \
	"ucmatose -s $a -c 2 -p $port"
while read -r server; do
	read -r client
	next_port
	name=${server/ -p PORT/}
	for each in both_sides each_side; do
		try_in_turn "${each/_/ } of $(basename "${name% PORT}")" $each \
			"${server//PORT/$port}" "${client//PORT/$port}"
	done
done <<-END
	rping -s -C 3 -a $a -p PORT
	rping -c -C 3 -a $a -p PORT
	ucmatose -c 20 -p PORT
	ucmatose -s $a -c 20 -p PORT
	udaddy -c 2
	udaddy -s $a -c 2
	rstream -b $a -S 100 -C 10 -p PORT
	rstream -s $a -S 100 -C 10 -p PORT
	rdma_server -p PORT
	rdma_client -s $a -p PORT
	ib_send_bw -R -F -n 100 -p PORT --use_old_post_send
	ib_send_bw -R -F -n 100 -p PORT --use_old_post_send $a
	$ends listen PORT
	$ends connect PORT
END

# queue pairs with a shared receive queue, made by verbs, made on another identifier; a port that is
# taken, and both ends disconnect at the same time
for each in usual shared attached moved; do
	next_port
	queues=("$apps/cm_queues listen $port $each" "$apps/cm_queues connect $port $each")
	try_in_turn "both sides of $each queues" both_sides "${queues[@]}"
	next_port
	queues=("$apps/cm_queues listen $port $each" "$apps/cm_queues connect $port $each")
	try_in_turn "each side of $each queues" each_side "${queues[@]}"
done

# The server's disconnect comes while the client's identifier is being destroyed.
events_during_a_destroy() {
	local how=("${how[@]}" --faults slow)
	printf '%s\n' 'verb=rdma_disconnect delay=40ms' 'verb=rdma_destroy_id delay=120ms' >slow
	next_port
	both_sides "rping -s -C 1 -a $a -p $port" "rping -c -C 1 -a $a -p $port"
}
try events_during_a_destroy

members_of_a_group() {
	command -v mckey >/dev/null || { echo "mckey is not installed"; return 1; }
	"$VERBATIM" record -q --device soft -o t.db -- "$root/tests/e2e/replay/members" fifo \
		>log 2>&1 && goes_as_recorded t.db &&
		is "joined" "$(jq '.calls.rdma_join_multicast_ex' report)" 2
}
try_in_turn members_of_a_group

calls_that_fail() {
	"$VERBATIM" record -q --device soft -o t.db -- "$apps/cm_calls" >log &&
		goes_as_recorded t.db
}
try calls_that_fail

a_port_that_the_system_chose_is_resolved_before_it_listens() {
	"$VERBATIM" record -q --device soft -o t.db -- "$apps/cm_early" && goes_as_recorded t.db
}
try a_port_that_the_system_chose_is_resolved_before_it_listens

# A server that is killed: its clients are notified.
a_killed_server() {
	rm -f t.db
	next_port
	"$VERBATIM" record -q --device soft -o t.db -- bash -c "
		rping -s -C 100000000 -a $a -p $port >server 2>&1 & server=\$!
		again='rping -c -v -C 100000000 -a $a -p $port'
		\$again >client 2>&1 & client=\$!
		until grep -q ping client; do
			kill -0 \$server || exit 1
			kill -0 \$client 2>/dev/null || { \$again >client 2>&1 & client=\$!; }
			read -rt 0.01 <> <(:)
		done
		kill -KILL \$server; wait \$client; exit 0" >log 2>&1
	replay t.db --allow-partial || { head -5 out; return 1; }
	says '^no divergence' out &&
		[ "$(jq .calls.rdma_get_cm_event report)" -gt 3 ]
}
try a_killed_server

# A client's last message was flushed in the recording, since its receiver was killed; in the replay
# it may arrive.
a_message_that_a_killed_server_did_not_take() {
	zstd -qdf "$root/tests/e2e/replay/killed_receiver.db.zst" -o killed.db &&
		replay killed.db --allow-partial && says '^no divergence' out &&
		says 'killed before it received it' out
}
try a_message_that_a_killed_server_did_not_take

# without recorded private data none can be sent, and only its length is compared
nothing_kept() {
	next_port
	"$VERBATIM" record -q --payload none --device soft -o t.db -- bash -c "
		$ends listen $port & $ends connect $port; wait" >log && goes_as_recorded t.db
}
try nothing_kept

only_the_verbs() {
	record "$ends listen $port" "$ends connect $port" && replay t.db --cm verbs &&
		says 'not repeated, and neither are .* data; the verbs inside are replayed' out &&
		is "$(jq '[.calls | keys[] | select(startswith("rdma"))] | length' report)" 0 &&
		"$VERBATIM" replay --cm no t.db 2>log; is "$?" 2 && says "recorded" log
}
try only_the_verbs

# An altered trace: WHERE selects the call, SET changes it; the first divergence is at an event of
# verb VERB (that call, or the event of the other side that shows it), and there is one cause.
altered() { # where, set, verb, field
	rm -f altered.db
	"$VERBATIM" unpack -o altered.db ends.db >log 2>&1 &&
		sqlite3 altered.db "UPDATE call SET $2 WHERE $1; SELECT changes()" >log 2>&1 &&
		is "changed" "$(cat log)" 1 || { cat log; return 1; }
	replay altered.db --timeout 2
	is "status" $? 1 && is "causes" "$(jq .divergences report)" 1 || { head -5 out; return 1; }
	is "$(jq -r '.divergence[0] | "\(.verb) \(.field)"' report)" "$3 $4"
}

an_event() { # its type, and of which process
	echo "verb = 'rdma_get_cm_event' AND out LIKE '%RDMA_CM_EVENT_$1%' AND process =
		(SELECT id FROM process WHERE cmdline LIKE '$ends $2%')"
}
bytes() { printf %s "$1" | od -An -v -tx1 | tr -d ' \n'; }
swap() { echo "$1 = replace($1, '$2', '$3')"; }

next_port
if record "$ends listen $port" "$ends connect $port" && cp t.db ends.db; then
	got=rdma_get_cm_event
	try "altered: the private data of an event" altered \
		"$(an_event CONNECT_RESPONSE connect)" \
		"$(swap out "$(bytes welcome)" "$(bytes welcoMe)")" $got event.conn.private_data
	try "altered: that of a rejection" altered "$(an_event REJECTED connect) AND out LIKE
		'%\"status\":28,%'" "$(swap out "$(bytes full)" "$(bytes fill)")" $got \
		event.conn.private_data
	try "altered: that of a request" altered "$(an_event CONNECT_REQUEST listen) AND out LIKE
		'%$(bytes second)%'" "$(swap out "$(bytes second)" "$(bytes secund)")" $got \
		event.conn.private_data
	try "altered: what was accepted with" altered "verb = 'rdma_accept'" \
		"$(swap args "$(bytes welcome)" "$(bytes welcoMe)")" $got event.conn.private_data
	try "altered: what was rejected with" altered "verb = 'rdma_reject'" \
		"$(swap args "$(bytes full)" "$(bytes fill)")" $got event.conn.private_data
	try "altered: the reason of a rejection" altered "$(an_event REJECTED connect) AND out LIKE
		'%\"status\":28,%'" "$(swap out '"status":28' '"status":24')" $got event.status
	try "altered: the kind of an event" altered "$(an_event ESTABLISHED listen)" \
		"$(swap out EVENT_ESTABLISHED EVENT_CONNECT_ERROR)" $got event.event
	try "altered: a parameter of an event" altered "$(an_event CONNECT_RESPONSE connect)" \
		"$(swap out '"responder_resources":2' '"responder_resources":9')" $got \
		event.conn.responder_resources
	try "altered: the number of a queue pair" altered "$(an_event CONNECT_RESPONSE connect)" \
		"$(swap out '"qp_num":1911' '"qp_num":1912')" $got event.conn.qp_num
	try "altered: a parameter of a call" altered "verb = 'rdma_accept'" \
		"$(swap args '"initiator_depth":2' '"initiator_depth":1')" $got \
		event.conn.responder_resources
	try "altered: the result of a call" altered "verb = 'rdma_listen'" \
		"ret = -1, failed = 1, error = 98" rdma_listen ret
	try "altered: the errno of a call" altered "verb = 'rdma_bind_addr' AND NOT failed" \
		"ret = -1, failed = 1, error = 13" rdma_bind_addr ret
else
	not_ok "altered" "record"
fi

# One call is removed: its missing effect is the first difference.
without() { # where, verb
	rm -f altered.db
	"$VERBATIM" unpack -o altered.db ends.db >log 2>&1 &&
		sqlite3 altered.db "DELETE FROM call WHERE $1; SELECT changes()" >log 2>&1 &&
		is "deleted" "$(cat log)" 1 || { cat log; return 1; }
	replay altered.db --timeout 1
	is "status" $? 1 && is "$(jq -r '.divergence[0].verb' report)" "$2" ||
		{ head -5 out; return 1; }
}
for each in rdma_accept rdma_listen rdma_reject; do
	try "missing: $each" without "verb = '$each'" rdma_get_cm_event
done
try "missing: an event" without "$(an_event ESTABLISHED listen)" rdma_get_cm_event

exit $failed
