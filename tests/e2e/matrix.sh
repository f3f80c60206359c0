# Real clients on the software device: bare, recorded, checked clean, replayed, equal when
# anonymised; and required contents of the traces, counted.
. tests/e2e/lib/try.sh
. tests/e2e/lib/anonymised.sh

client() {
	timeout 60 "$VERBATIM" run --device soft -- "$both" "$@" >"$tmp/out" ||
		{ echo "bare: status $?: $(tail -2 "$tmp/out")"; return 1; }
	timeout 60 "$VERBATIM" record -q --device soft -o "$t" -- "$both" "$@" >"$tmp/out" ||
		{ echo "recorded: status $?: $(tail -2 "$tmp/out")"; return 1; }
	timeout 60 "$VERBATIM" check --format json "$t" >"$tmp/out"
	is findings "$(jq -r '.findings[] | select(.severity == "error" or .severity == "warning") |
		.rule + " " + .object' "$tmp/out")" "${finding:-}" ||
		return
	for way in "" "--threads serial" "--pace recorded"; do
		# shellcheck disable=SC2086
		timeout 60 "$VERBATIM" replay --device soft $way "$t" >"$tmp/out" ||
			{ echo "replay $way: $(cat "$tmp/out")"; return 1; }
	done
	anonymised_is_same "$t" || return
	[ "$("$VERBATIM" sql "$t" "select coalesce(sum(events), 0) from loss")" = 0 ] ||
		{ echo "events were lost"; return 1; }
}

# perftest uses the builders if it knows that the device, by its number, has them
builders() {
	printf 'vendor_id 0x02c9\nvendor_part_id 4119\n' >"$tmp/connectx"
	VERBATIM_SOFT_PERSONA=$tmp/connectx client "$@" || return
	[ "$(sql "select count(*) from post where verb = 'ibv_wr_complete'")" -gt 0 ] ||
		{ echo "nothing was built"; return 1; }
	is "posted by another way" \
		"$(sql "select count(*) from post where verb = 'ibv_post_send'")" 0 &&
		is "not seen" "$(sql 'select count(*) from coverage')" 0 &&
		is "completions without their request" \
			"$(sql 'select count(*) from wc where wr_n is null')" 0
}

single() {
	"$VERBATIM" run --device soft -- "$@" >"$tmp/bare" || { echo "bare: status $?"; return 1; }
	"$VERBATIM" record -q --device soft -o "$t" -- "$@" >"$tmp/out" ||
		{ echo "recorded: status $?"; return 1; }
	cmp "$tmp/bare" "$tmp/out" || return 1
	"$VERBATIM" check "$t" >"$tmp/out" || { echo "check: $(head -5 "$tmp/out")"; return 1; }
	"$VERBATIM" replay --device soft "$t" >"$tmp/out" ||
		{ echo "replay: $(cat "$tmp/out")"; return 1; }
}


# each side's 1000 sends and its 2000 completions, each matched with its request
pingpong_is_counted() {
	"$VERBATIM" record -q --device soft -o "$tmp/t.db" -- "$both" ibv_rc_pingpong -n \
		1000 >/dev/null || return
	is completions "$(sql 'select count(*) from wc where status = 0')" 4000 &&
	is "sends by process" "$(sql "select group_concat(n) from (select count(*) n from wr
		where verb = 'ibv_post_send' group by process)")" 1000,1000 &&
	is "completions by process" \
		"$(sql 'select group_concat(n)
			from (select count(*) n from wc group by process)')" 2000,2000 &&
	is joined "$(sql 'select count(*) from wc
		join wr on wr.thread = wc.wr_thread and wr.n = wc.wr_n and wr.i = wc.wr_i
		where wr.wr_id = wc.wr_id and wr.qp = wc.qp')" 4000 &&
	is "requests completed twice" \
		"$(sql 'select count(*) from (select 1 from wc group by wr_thread, wr_n, wr_i
			having count(*) > 1)')" 0 &&
	is "receives never completed" \
		"$(sql "select (select count(*) from wr where verb = 'ibv_post_recv') -
			(select count(*) from wc where opcode >= 128) >= 0")" 1 &&
	is "in sqlite3 itself" \
		"$(sqlite3 "$tmp/t.db" ".load $PWD/$BUILD/libverbatim-sqlite" \
			'select count(*) from wc where status = 0')" 4000 &&
	is "control verbs in sqlite3 without anything" \
		"$(sqlite3 "$tmp/t.db" "select count(*) from call where verb = 'ibv_modify_qp'")" 6
}

try "ibv_devices" single ibv_devices
try "ibv_devinfo -v" single ibv_devinfo -v
for options in "" "-e" "-t" "-n $(share 3000 20000)" "-s 65536 -n $(share 200 1000)" "-m 1024"; do
	# shellcheck disable=SC2086
	try_in_turn "ibv_rc_pingpong $options" client ibv_rc_pingpong $options
done
# perftest's sending client does leave its second completion queue to ibv_close_device()
finding="LIFE-004 cq2" try "ib_send_bw -n 1000" client ib_send_bw -n 1000 -F --use_old_post_send
for program in "ib_send_lat -n $(share 200 1000)" "ib_write_bw -n $(share 1000 5000)" \
	"ib_write_lat -n $(share 200 1000)" "ib_read_lat -n $(share 200 1000)"; do
	# shellcheck disable=SC2086
	try_in_turn "$program" client $program -F --use_old_post_send
	# shellcheck disable=SC2086
	try_in_turn "$program, builders" builders $program -F
done
try "a pingpong of 1000 is 4000 completions, each with its request" pingpong_is_counted
