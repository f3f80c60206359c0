#!/usr/bin/env bash
# A wire between two machines that loses packets in both directions. Requests that are far enough
# apart, so that none finds a timer of rxe that runs already, gather at the timeout of their queue
# pair when they are sent again; and both machines' traces are put on one time line.
. tests/hardware/lib/machine.sh
# Timeout 18 is 1.07 s, which a kernel of 250 ticks a second makes 32 ms longer at most; others are
# made up to an eighth longer, and gather less. Each side waits for its gap before it sends, so that
# two requests are twice that apart. perftest keeps it in an int of cycles: more than 0.65 s would
# wrap on a processor of 3.3 GHz.
options=(-F -n 80 -u 18 --latency_gap 650000 -p 19000)

lose() { tc qdisc add dev eth0 root netem loss 8%; }
server() {
	use_device rxe0
	lose || { : >"$wire/no"; return; }
	timeout 280 "$VERBATIM" record -q -o "$wire/server.db" -- ib_send_lat "${perftest[@]}" \
		"${options[@]}" >"$wire/server.out" 2>&1 &
	await listens 19000 && : >"$wire/up"
	wait
	: >"$wire/ended"
}

recorded() {
	timeout 280 "$VERBATIM" record -q -o "$wire/client.db" -- ib_send_lat "${perftest[@]}" \
		"${options[@]}" "$peer" >"$tmp/out" 2>&1 || { cat "$tmp/out"; return 1; }
}
longest() {
	"$VERBATIM" sql "$wire/client.db" "SELECT group_concat(printf('%.2f', l / 1e9), ' ') FROM (
		SELECT latency AS l FROM requests WHERE side = 'send' ORDER BY l DESC LIMIT 20)"
}
# Those that were sent again when the timer was over, and not long after: a machine that is emulated
# on a busy one is too slow for that.
gathered() {
	[ "$("$VERBATIM" sql "$wire/client.db" "SELECT count(*) FROM requests WHERE side = 'send'
		AND latency BETWEEN 1065741824 AND 1116691492")" -ge 3 ]
}
stat_names_what_was_sent_again() {
	"$VERBATIM" stat "$wire/client.db" >"$tmp/out" 2>/dev/null
	says "^  [0-9]* of 80 took 1.0[67] s to 1.1[0-4] s, of qp1/1$" "$tmp/out" &&
		says "^    1 x 1.07 s, timeout 18: sent again" "$tmp/out"
}
both_are_on_one_time_line() {
	await [ -e "$wire/ended" ] &&
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
	await test -e "$wire/up" -o -e "$wire/no"
	lose && [ ! -e "$wire/no" ] || { skip "loss" "this kernel has no netem"; return; }
	try recorded
	if gathered; then try stat_names_what_was_sent_again
	else skip "stat names what was sent again" "fewer than 3 took the timeout: $(longest)"; fi
	try both_are_on_one_time_line
}
two_hosts server client
