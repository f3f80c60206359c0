# Every verb of the list, called by a program through the software device, lies
# in the trace with the arguments that it had; docs/COVERAGE.md is the table.
# COVERAGE=write makes that anew.
. tests/e2e/lib/try.sh
export VERBATIM_SOFT_LINK=roce

recorded() {
	"$VERBATIM" record -q --device soft -o "$tmp/t.db" -- \
		"$BUILD/tests/apps/every_verb" >"$tmp/said" &&
		"$VERBATIM" unpack -o "$tmp/plain.db" "$tmp/t.db"
}

as_called() {
	PYTHONDONTWRITEBYTECODE=1 python3 tests/e2e/coverage.py "$BUILD/gen/names.txt" \
		core/wire/verbs.list \
		"$tmp/said" "$tmp/plain.db" >"$tmp/out" ||
		{ sed '/^== table/,$d' "$tmp/out"; return 1; }
}

nothing_missed() {
	[ -z "$("$VERBATIM" sql "$tmp/t.db" 'select * from coverage' | tee "$tmp/gaps")" ] ||
		{ cat "$tmp/gaps"; return 1; }
	"$VERBATIM" check --format json "$tmp/t.db" >"$tmp/checked" # some of its calls fail: facts
	[ "$(jq '.errors + .warnings' "$tmp/checked")" = 0 ] || { cat "$tmp/checked"; return 1; }
}

dump_tells_what_was_asked_for() {
	local told='completion_ts=[0-9]+, completion_wallclock_ns=[0-9]+, flow_tag=0x0'
	"$VERBATIM" dump "$tmp/t.db" >"$tmp/dump" &&
		grep -qE "ibv_next_poll\(cq2\) = 0 \[\{.*$told" "$tmp/dump" ||
		{ grep ibv_next_poll "$tmp/dump"; return 1; }
	[ "$("$VERBATIM" sql "$tmp/t.db" 'select count(timestamp), count(cvlan), count(tm_tag)
		from wc where status = 0')" = \
		"$("$VERBATIM" sql "$tmp/plain.db" 'select count(timestamp), 0, 0
			from wc where status = 0')" ]
}

# as they are in the tables
dump_tells_what_requests_have() {
	"$VERBATIM" dump "$tmp/t.db" >"$tmp/named" &&
		sed 's/<[a-z][^<>]*>//g' "$tmp/named" >"$tmp/dump" && # without names of keys
		"$VERBATIM" sql "$tmp/t.db" "
		select printf('wr_id=0x%x, opcode=%s', wr_id, opcode_name) from wr
			where verb like '%send' or verb = 'ibv_wr_complete'
		union select printf('remote_addr=0x%x, rkey=0x%x', remote_addr, rkey)
			from wr where rkey
		union select printf('compare_add=%d, swap=%d', compare_add, swap)
			from wr where compare_add or swap
		union select printf('remote_qpn=0x%x, remote_qkey=0x%x', remote_qpn, remote_qkey)
			from wr where remote_qpn
		union select printf('rkey=0x%x, mr=mr', bind_rkey) from wr where bind_mw
		union select
			printf('addr=0x%x, length=%d, mw_access_flags=', bind_addr, bind_length)
			from wr where bind_mw
		union select iif(opcode_name in ('IBV_WR_LOCAL_INV', 'IBV_WR_SEND_WITH_INV'),
			printf('invalidate_rkey=0x%x', imm), printf('imm_data=0x%x', imm))
			from wr where imm
		union select printf('{addr=0x%x, length=%d, lkey=0x%x}', addr, length, lkey)
			from sge" >"$tmp/texts" || return
	[ "$(wc -l <"$tmp/texts")" -gt 30 ] || { cat "$tmp/texts"; return 1; }
	while read -r text; do grep -qF -- "$text" "$tmp/dump" || { echo "no '$text'"; return 1; }
	done <"$tmp/texts"
}

dump_of_failures_has_each() {
	[ "$("$VERBATIM" dump --failed "$tmp/t.db" | awk '{ print $2 }' | sort -u)" = \
		"$("$VERBATIM" sql "$tmp/t.db" "
		select thread || ':' || n from call where failed or end is null
		union select thread || ':' || n from post where ret
		union select thread || ':' || n from wc where status
		union select thread || ':' || n from notify where ret" | sort)" ] ||
		{ "$VERBATIM" dump --failed "$tmp/t.db"; return 1; }
}

# windows bound and keys invalidated in the batch are, here, too: its completions say so
built_is_replayed() {
	"$VERBATIM" replay --device soft "$tmp/t.db" >"$tmp/replayed"
	! grep -E \
		'(ibv_wr_|ibv_post_send|ibv_post_wq|ibv_poll_cq|ibv_(start|next)_poll|ibv_memcpy)' \
		"$tmp/replayed"
}

table_is_current() {
	{
		echo "# What is recorded, verb by verb"
		echo
		echo "Made by \`COVERAGE=write bash tests/e2e/coverage.sh\`:" \
			"tests/apps/every_verb.c calls each verb on the"
		echo "software device and prints the arguments; the table has" \
			"the number of values that the trace"
		echo "has, equal."
		echo
		sed '0,/^== table/d' "$tmp/out"
	} >"$tmp/COVERAGE.md"
	[ "${COVERAGE:-}" != write ] || cp "$tmp/COVERAGE.md" docs/COVERAGE.md
	diff docs/COVERAGE.md "$tmp/COVERAGE.md"
}

try "a program calls every verb under recording" recorded
try "each is in the trace with the arguments that it had" as_called
try "nothing went by unseen, and the check finds nothing" nothing_missed
try "dump and SQL have what an extended CQ told" dump_tells_what_was_asked_for
try "dump has each field of a request" dump_tells_what_requests_have
try "dump of what failed has that and no more" dump_of_failures_has_each
try "what was built, polled and copied is replayed without a difference" built_is_replayed
try "docs/COVERAGE.md is what was found" table_is_current
