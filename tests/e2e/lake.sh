# Traces as tables for other engines: what these read is what `verbatim sql` prints.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
needs "$apps/every_verb" "$apps/ranks" "$VERBATIM"
export NODE_PACKAGES=${NODE_PACKAGES:-${XDG_CACHE_HOME:-$HOME/.cache}/verbatim-node/node_modules}
tables="requests completions calls qps mrs processes findings stacks"

"$VERBATIM" record -q --check -o every.db -- "$apps/every_verb" >out 2>&1
"$VERBATIM" record -q -o "job 7.db" -- env SLURM_JOB_ID='7/a b' "$apps/ranks" 4 missing good \
	>out 2>&1
"$VERBATIM" record -q -o both.db -- "$both" ibv_rc_pingpong -n $(share 4000 70000) -s 8 \
	>out 2>&1 || exit 1
traces=(every.db "job 7.db" both.db)
"$VERBATIM" export -f parquet -o parquet "${traces[@]}" || exit 1

compare() { # TABLE.rows of all tables
	local table
	for table in $tables; do
		python3 "$root/tests/e2e/lake/compare.py" "$VERBATIM" $table "${traces[@]}" \
			<$table.rows || return
	done
}
reads() { # reader
	node "$root/tests/e2e/lake/read.mjs" "$1" parquet $tables || return
	compare
}
for reader in $(share hyparquet "duckdb hyparquet"); do # each takes 7 s of processor
	package=$reader
	[ $reader = hyparquet ] || package=@duckdb/node-api
	if ! type node >out 2>&1; then skip "$reader" "no node"
	elif ! [ -d "$NODE_PACKAGES/$package" ]; then skip "$reader" "not installed: install-deps"
	else try_in_turn "parquet: $reader reads all rows of all tables" reads $reader; fi
done

# Requests to known peers, and control verbs, of all traces: so many events of OTF2.
count_all() { # query
	local each
	for each in every.db both.db; do "$VERBATIM" sql $each "$1"; done |
		awk '{ n += $1 } END { print n }'
}
requests="FROM requests JOIN peers USING (object) WHERE side = 'send' AND outcome <> 'refused'
	AND opcode_name"
puts="('IBV_WR_SEND', 'IBV_WR_SEND_WITH_IMM', 'IBV_WR_SEND_WITH_INV', 'IBV_WR_RDMA_WRITE',
	'IBV_WR_RDMA_WRITE_WITH_IMM', 'IBV_WR_ATOMIC_WRITE')"
gets="('IBV_WR_RDMA_READ', 'IBV_WR_ATOMIC_CMP_AND_SWP', 'IBV_WR_ATOMIC_FETCH_AND_ADD')"
otf2_has_as_many_events() {
	local each
	"$VERBATIM" export -f otf2 -o otf2 every.db both.db &&
		otf2-print otf2/traces.otf2 >printed 2>err && is messages "$(cat err)" "" || return
	while read -r each; do
		is "$each" "$(grep -c "^${each%%=*} " printed)" "${each#*=}" || return
	done <<-END
		ENTER=$(count_all 'SELECT count(*) FROM calls WHERE NOT ours')
		LEAVE=$(count_all 'SELECT count(*) FROM calls WHERE NOT ours')
		RMA_PUT=$(count_all "SELECT count(*) $requests IN $puts")
		RMA_GET=$(count_all "SELECT count(*) $requests = 'IBV_WR_RDMA_READ'")
		RMA_ATOMIC=$(count_all "SELECT count(*) $requests LIKE '%ATOMIC_%_AND_%'")
		RMA_OP_COMPLETE_REMOTE=$(count_all "SELECT count(completed) $requests IN
			$puts OR opcode_name IN $gets")
	END
}
if type otf2-print >out 2>&1; then try otf2_has_as_many_events
else skip "otf2" "no otf2-print"; fi

# Eight times as many messages take hardly more memory.
peak_of() { # format, trace
	rm -rf peak && /usr/bin/time -f %M -o kb "$VERBATIM" export -f "$1" -o peak "$2" && cat kb
}
messages_are_not_held_in_memory() {
	local each few many
	"$VERBATIM" record -q -o few.db "$both" ib_send_bw -F -n 30000 -s 64 >out || return
	"$VERBATIM" record -q -o many.db "$both" ib_send_bw -F -n 240000 -s 64 >out || return
	for each in otf2 goal; do
		few=$(peak_of $each few.db) many=$(peak_of $each many.db)
		[ "$many" -lt $((few + 6000)) ] || { echo "$each: $few and $many kB"; return 1; }
	done
}
if [ -x /usr/bin/time ] && type otf2-print >out 2>&1; then
	try_in_turn messages_are_not_held_in_memory
else skip "messages in memory" "no time or otf2-print"; fi

# A message to each peer, and two more for each READ and atomic; the schedule must come to its end.
goal_is_a_schedule_that_ends() {
	"$VERBATIM" export -f goal -o goal every.db both.db &&
		python3 "$root/tests/e2e/lake/goal.py" goal/schedule.goal >ran || return
	is "ranks, messages, bytes" "$(cat ran)" "$(wc -l <goal/ranks.txt) $(count_all "SELECT
		count(*) + sum(opcode_name IN $gets) $requests IN $puts OR opcode_name IN $gets") $(
		count_all "SELECT sum(bytes) + 16 * sum(opcode_name IN $gets) $requests IN $puts
			OR opcode_name IN $gets")"
}
try goal_is_a_schedule_that_ends

a_folder_is_whole_or_missing() {
	head -c 100000 both.db >cut.db
	local each
	for each in parquet clickhouse otf2 goal; do
		! "$VERBATIM" export -f $each -o new every.db cut.db 2>err && ! ls -d new* 2>err ||
			return
	done
}
try a_folder_is_whole_or_missing

nothing_is_replaced() {
	local before each
	before=$(sha256sum every.db)
	for each in parquet every.db; do
		! "$VERBATIM" export -f parquet -o $each every.db 2>err &&
			says "already exists" err || return
	done
	is "$(sha256sum every.db)" "$before" &&
		is "$(ls -d parquet* every.db*)" $'every.db\nparquet'
}
try nothing_is_replaced

a_part_is_refused() {
	! "$VERBATIM" export -f parquet -o new --to 1s every.db 2>err && says trim err &&
		! "$VERBATIM" export -f parquet every.db 2>err && says "-o FOLDER" err
}
try a_part_is_refused
exit $failed
