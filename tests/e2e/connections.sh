# Tables `connection` and `queue`: all commands agree on which queue pairs are connected, and which
# queues they use.
. tests/e2e/lib/try.sh
needs "$apps/far_end"
cd "$tmp" || exit 1

rows="SELECT thread, n, process, since, until, qp, peer, known, dest_qp_num, dlid, dgid
	FROM connection ORDER BY qp, since"
queues="SELECT thread, n, process, since, until, object, side, cq, srq, asked, given
	FROM queue ORDER BY object, side, since"
mutual="SELECT DISTINCT qp, peer FROM connection WHERE known = 'both' ORDER BY 1, 2"
query() { "$VERBATIM" sql "$@"; }

# A reader computes the same tables for a file without them.
stored_is_computed() { # trace, connections
	local stored
	stored=$(query "$1" "$rows") && is "rows of $1" "$(grep -c . <<<"$stored")" "$2" || return
	rm -f older.db
	cp "$1" older.db && sqlite3 older.db "DROP TABLE connection; DROP TABLE queue;
			PRAGMA user_version = 8" &&
		is "$1" "$(query older.db "$rows")" "$stored" &&
		is "queues of $1" "$(query older.db "$queues")" "$(query "$1" "$queues")" &&
		is "queues of $1" "$(query "$1" "SELECT count(*) > 0 FROM queue")" 1
}

# Peers according to check, which decides by the states of the two at a moment; and queues.
check_agrees() { # trace
	# depths of a queue pair from ibv_open_qp() are unknown; it treats them as 0
	is "queues of $1" "$(query "$1" "SELECT s.object, s.cq, r.cq, r.srq, coalesce(s.given, 0),
			iif(r.srq IS NULL, coalesce(r.given, 0), NULL)
			FROM queue s JOIN queue r USING (object)
			WHERE s.side = 'send' AND r.side = 'recv' ORDER BY 1")" \
		"$(query "$1" "SELECT object, nullif(send_cq, 0), nullif(recv_cq, 0),
			nullif(srq, 0), max_send_wr, iif(nullif(srq, 0) IS NULL, max_recv_wr, NULL)
			FROM qps WHERE object IN (SELECT object FROM queue) ORDER BY 1")" || return
	is "$1" "$(query "$1" "$mutual")" \
		"$(query "$1" "SELECT object, peer FROM peers ORDER BY 1")"
}
check_agrees_on_recordings() {
	local each
	for each in "$root"/tests/conformance/*/*.db; do check_agrees "$each" || return; done
}

# emit names the variable of the peer.
emit_agrees() {
	"$VERBATIM" emit t.db -o t.c || return
	is "$(grep -o 'dest_qp_num = [a-z0-9_]*' t.c | sort)" \
		"$(query t.db "SELECT 'dest_qp_num = p' || o.process || '_' || o.name || '_num'
			FROM connection c JOIN object o ON o.id = c.peer" | sort)"
}

# A queue pair number at another address belongs to another queue pair.
emit_minds_the_address() {
	"$VERBATIM" unpack -o altered.db t.db && sqlite3 altered.db "UPDATE call
		SET args = json_set(args, '\$.attr.ah_attr.dlid', 999)
		WHERE verb = 'ibv_modify_qp' AND process = 1" || return
	"$VERBATIM" emit altered.db -o altered.c >out 2>&1 && { echo "emitted"; return 1; }
	says "the peer is not in the trace" out
}

record_pingpong() {
	"$VERBATIM" record -q -o t.db -- "$both" ibv_rc_pingpong -n 20 >out 2>&1 || cat out
	stored_is_computed t.db 2 && check_agrees t.db &&
		is "$(query t.db "SELECT count(*) FROM connection WHERE known = 'both'
			AND until IS NOT NULL AND dest_qp_num = (SELECT number FROM object
			WHERE id = peer)")" 2
}
a_part_has_the_connections_of_its_queue_pairs() {
	"$VERBATIM" trim --only process=2 -o part.db t.db >out 2>&1 || { cat out; return 1; }
	stored_is_computed part.db 1 &&
		is "$(query part.db "SELECT peer IS NULL, known IS NULL, dest_qp_num =
			$(query t.db "SELECT number FROM object WHERE kind = 'qp' AND process = 1")
			FROM connection")" "1|1|1"
}
an_unpacked_trace_has_them() {
	"$VERBATIM" unpack -o plain.db t.db && stored_is_computed plain.db 2 &&
		is "$(query plain.db "$rows")" "$(query t.db "$rows")"
}
an_anonymised_trace_has_them() {
	"$VERBATIM" bundle --anonymise -o t.bundle t.db >out 2>&1 &&
		"$VERBATIM" unbundle --directory unpacked t.bundle >out 2>&1 ||
			{ cat out; return 1; }
	local each
	each=$(find unpacked -name '*.db' | head -n 1)
	stored_is_computed "$each" 2 && is "$(query "$each" "$mutual")" "$(query t.db "$mutual")"
}
a_trace_whose_recorder_died_has_them() {
	cp t.db died.db && sqlite3 died.db "DELETE FROM connection; DELETE FROM queue;
		UPDATE meta SET value = 'recording' WHERE key = 'state';
		UPDATE meta SET value = '0' WHERE key = 'recorder'" &&
		query died.db "SELECT 1" >out 2>&1
	is "$(query died.db "$mutual")" "$(query t.db "$mutual")"
}

cat >apart <<'END'
#!/bin/bash
[ "${!#}" = localhost ] && t=b.db || t=a.db
exec "$VERBATIM" record -q -o $t -- "$@"
END
chmod +x apart
a_merged_trace_joins_both_ends() {
	"$both" ./apart "$apps/far_end" short >out 2>&1 || { cat out; return 1; }
	sqlite3 b.db "UPDATE meta SET value = 'another' WHERE key = 'recorder_boot'" &&
		"$VERBATIM" merge -o all.db a.db b.db >out 2>&1 || { cat out; return 1; }
	is "$(query a.db "SELECT count(peer), count(*) FROM connection")" "0|1" &&
		is "$(query all.db "SELECT count(peer), count(*) FROM connection")" "2|2" &&
		stored_is_computed all.db 2 && check_agrees all.db
}
two_traces_become_a_program() {
	"$VERBATIM" emit a.db b.db -o two.c >out 2>&1 || { cat out; return 1; }
	is "$(grep -c 'dest_qp_num = p[12]_qp1_num' two.c)" 2
}
info_counts_them() {
	"$VERBATIM" info t.db >out && says "^  connected back *2 *2" out &&
		"$VERBATIM" info part.db >out && says "^  not in the trace *1 *1" out
}

try "check agrees on recordings" check_agrees_on_recordings
try "a recording has its connections" record_pingpong
try emit_agrees
try emit_minds_the_address
try a_part_has_the_connections_of_its_queue_pairs
try an_unpacked_trace_has_them
try an_anonymised_trace_has_them
try a_trace_whose_recorder_died_has_them
try a_merged_trace_joins_both_ends
try two_traces_become_a_program
try info_counts_them
exit $failed
