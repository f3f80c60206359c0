# The trace in other programs: any sqlite3, with and without the extension.
. tests/e2e/lib/try.sh
ext=$libs/libverbatim-sqlite
cd "$tmp" || exit 1

plain() { sqlite3 "$1" "$2"; }
loaded() { sqlite3 "$1" ".load $ext" "$2"; }

# a client and a server in one trace
traffic() {
	timeout 120 "$VERBATIM" record -q -o t.db -- "$both" ibv_rc_pingpong -n 500 >out
}

control_plane_needs_no_extension() {
	is "$(plain t.db "SELECT count(*) > 0 FROM call WHERE verb = 'ibv_create_qp'")" 1 &&
		is "$(plain t.db "SELECT DISTINCT json_extract(out, '$.ret.qp_type') FROM call
			WHERE verb = 'ibv_create_qp' AND failed = 0")" IBV_QPT_RC &&
		is "$(plain t.db "SELECT count(DISTINCT process) >= 2
			FROM object WHERE kind = 'qp'")" 1
}

extension_loads_in_sqlite3() {
	is "$(loaded t.db 'SELECT count(*) FROM wc WHERE status = 0')" 2000
}

every_completion_has_its_request() {
	is "$(loaded t.db 'SELECT count(*) FROM wc JOIN wr ON wr.thread = wc.wr_thread AND
		wr.n = wc.wr_n AND wr.i = wc.wr_i AND wr.wr_id = wc.wr_id')" 2000
}

event_names_an_event() { is "$(loaded t.db 'SELECT event(3, 1042)')" 3:1042; }

# those of an older format, as they were derived when the recording ended
extension_derives_the_tables_of_connections() {
	local of
	cp t.db old.db && plain old.db 'DROP TABLE connection; DROP TABLE queue;
		PRAGMA user_version = 8' || return
	for of in connection queue; do
		plain t.db "SELECT * FROM $of ORDER BY 1, 2, 6, 7" >recorded
		loaded old.db "SELECT * FROM $of ORDER BY 1, 2, 6, 7" >derived
		[ -s recorded ] && cmp recorded derived || return
	done
	loaded other.db 'SELECT * FROM connection' 2>&1 | grep -q 'not a trace of verbatim'
}

extension_refuses_what_is_no_trace() {
	plain other.db 'CREATE TABLE t(x)' &&
		loaded other.db 'SELECT * FROM wc' 2>&1 | grep -q 'not a trace of verbatim'
}

unpacked_trace_needs_no_extension() {
	"$VERBATIM" unpack -o u.db t.db &&
		is "$(plain u.db 'SELECT count(*) FROM wc WHERE wr_n IS NOT NULL')" 2000 &&
		is "$(plain u.db 'SELECT DISTINCT status_name FROM wc')" IBV_WC_SUCCESS
}

edit_of_an_unpacked_trace_counts() {
	cp u.db e.db && plain e.db 'UPDATE wc SET status = 5 WHERE wr_id = 2' &&
		is "$("$VERBATIM" sql e.db "SELECT count(*)
			FROM wc WHERE status_name = 'IBV_WC_WR_FLUSH_ERR'")" 1000
}

sqlite_finds_no_fault() {
	is "$(plain t.db 'PRAGMA integrity_check')" ok &&
		is "$(plain u.db 'PRAGMA integrity_check')" ok
}

if traffic; then
	try control_plane_needs_no_extension
	try extension_loads_in_sqlite3
	try every_completion_has_its_request
	try event_names_an_event
	try extension_refuses_what_is_no_trace
	try extension_derives_the_tables_of_connections
	try unpacked_trace_needs_no_extension
	try edit_of_an_unpacked_trace_counts
	try sqlite_finds_no_fault
else
	echo "not ok store: no traffic: ibv_rc_pingpong did not run"
fi
