# record --strict: more checks on the data path.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

record() { "$VERBATIM" record -q -o t.db "$@"; }
seen() { "$VERBATIM" sql "${1:-t.db}" "SELECT what || ' ' || coalesce(verb, field) FROM misuse"; }
valid="wr_id 7 status 5 qp_num 1 byte_len"

invalid_fields_are_overwritten() {
	record --strict -- "$apps/spoilt" >out && is "$(cat out)" "$valid 0xdeadbeef"
}
the_trace_has_what_the_device_gave() {
	is "$("$VERBATIM" sql t.db "SELECT count(*), max(byte_len) FROM wc
		WHERE status = 5")" "1|0" &&
		is "$("$VERBATIM" sql t.db "SELECT value FROM meta WHERE key = 'strict'")" yes
}
without_the_option_they_are_left_alone() {
	record -- "$apps/spoilt" >out && is "$(cat out)" "$valid 0x0" &&
		"$VERBATIM" check t.db >out &&
		says 'COMPL-001 and THREAD-001 not checked.*record --strict' out
}

a_misuse_is_an_event() {
	record --strict -- "$apps/compl_001" bad >out && is "$(seen)" "field-of-error opcode" &&
		"$VERBATIM" dump t.db >out &&
		says 'field-of-error: ibv_wc_read_opcode(cq1), status IBV_WC_WR_FLUSH_ERR' out
}
it_is_in_an_unpacked_trace_too() {
	"$VERBATIM" unpack t.db -o plain.db && is "$(seen plain.db)" "$(seen)" &&
		! "$VERBATIM" check plain.db >out && says COMPL-001 out
}
replay_does_without_it() { "$VERBATIM" replay t.db; }

found_while_it_runs() {
	record --strict --check -- "$apps/thread_001" bad >out 2>&1
	says THREAD-001 out && "$VERBATIM" check t.db >out2
	says THREAD-001 out2
}

# A jump to NULL, as without the recorder; and the trace has the unfinished batch.
a_builder_that_is_not_there_leaves_its_batch() {
	record -- "$apps/no_builder" 2>err; is $? 139 &&
		record --strict -- "$apps/no_builder" 2>err; is $? 139 &&
		is "$("$VERBATIM" sql t.db "SELECT post.verb, wr_id, opcode FROM post JOIN wr
			USING (thread, n) ORDER BY i")" "ibv_wr_abort|7|2
ibv_wr_abort|7|0" || return
	"$VERBATIM" check t.db >out
	is "$(tr -s " \n" " " <out | grep -om1 "which lack [^.]*" | head -1)" \
		"which lack IBV_WR_RDMA_WRITE, but it was built; nothing of its batch was posted"
}

# In the format before the table existed.
an_older_trace_is_read() {
	record -- "$apps/spoilt" >out && cp t.db old.db &&
		sqlite3 old.db "DROP TABLE misuse; DROP TABLE waited; PRAGMA user_version = 6" &&
		"$VERBATIM" check old.db >out &&
		"$VERBATIM" dump old.db >out && says ibv_poll_cq out &&
		"$VERBATIM" unpack -o old2.db old.db &&
		"$VERBATIM" dump old2.db >out2 && says ibv_poll_cq out2
}

for t in invalid_fields_are_overwritten the_trace_has_what_the_device_gave \
	without_the_option_they_are_left_alone a_misuse_is_an_event \
	it_is_in_an_unpacked_trace_too replay_does_without_it found_while_it_runs \
	a_builder_that_is_not_there_leaves_its_batch \
	an_older_trace_is_read; do
	try $t
done
