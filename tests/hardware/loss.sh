#!/usr/bin/env bash
# A wire between two machines that loses packets in both directions. Retransmitted requests take a
# timeout longer, for which stat gives no reason; and both machines' traces are put on one time
# line.
. tests/hardware/lib/machine.sh
# Timeout 18 is 1.07 s. Each side waits for its gap before it sends, so two requests are twice that
# apart. perftest stores the gap in an int of cycles: more than 0.65 s would overflow on a processor
# of 3.3 GHz.
options=(-F -n 80 -u 18 --latency_gap 650000 -p 19000)

# The kernel asks for a neighbour once, for a second, when a queue pair is connected: ibv_modify_qp
# would fail if that packet were lost.
know_other() {
	local other=$((3 - host)) each
	for each in 192.168.79.$other fd79::$other; do
		ip neigh replace $each lladdr 02:00:00:00:00:0$other dev eth0 nud permanent
	done
}
lose() { tc qdisc add dev eth0 root netem loss 8%; }
server() {
	use_device rxe0
	know_other
	lose || { : >"$wire/no"; : >"$wire/tried"; return; }
	"$VERBATIM" record -q -o "$wire/server.db" -- ib_send_lat "${perftest[@]}" \
		"${options[@]}" >"$wire/server.out" 2>&1 &
	await listens 19000 && : >"$wire/tried"
	wait
	: >"$wire/ended"
}

recorded() {
	"$VERBATIM" record -q -o "$wire/client.db" -- ib_send_lat "${perftest[@]}" \
		"${options[@]}" "$peer" >"$tmp/out" 2>&1 || { cat "$tmp/out"; return 1; }
}
# The trace does not show retransmissions: a latency may have another reason.
stat_invents_no_cause() {
	"$VERBATIM" stat "$wire/client.db" >"$tmp/out" 2>/dev/null
	says "SEND" "$tmp/out" && is "$(grep -c -e "RNR timer" -e "timeout" "$tmp/out")" 0
}
both_are_on_one_time_line() {
	await_other ended &&
		"$VERBATIM" merge "$wire"/{client,server}.db -o "$tmp/all.db" >"$tmp/out" &&
		says "server.db: its clock is .*, +- .*, from [0-9]* messages of 1" "$tmp/out" &&
		is "receives before their sends" "$("$VERBATIM" sql "$tmp/all.db" "WITH
			sent AS (SELECT process, posted, row_number() OVER (PARTITION BY process
				ORDER BY wr_n, wr_i) AS i FROM wc
				WHERE status = 0 AND opcode = 0),
			got AS (SELECT process, time, row_number() OVER (PARTITION BY process
				ORDER BY n, i) AS i FROM wc WHERE status = 0 AND opcode = 128)
			SELECT sum(got.time <= sent.posted) FROM sent JOIN got USING (i)
			WHERE sent.process <> got.process")" 0
}
client() {
	use_device rxe0
	know_other
	await_other tried || { not_ok "the server" "it has not begun"; return; }
	lose && [ ! -e "$wire/no" ] || { skip "loss" "this kernel has no netem"; return; }
	try recorded
	try stat_invents_no_cause
	try both_are_on_one_time_line
}
two_hosts server client
