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
for reader in duckdb hyparquet; do
	package=$reader
	[ $reader = hyparquet ] || package=@duckdb/node-api
	if ! type node >out 2>&1; then skip "$reader" "no node"
	elif ! [ -d "$NODE_PACKAGES/$package" ]; then skip "$reader" "not installed: install-deps"
	else try "parquet: $reader reads all rows of all tables" reads $reader; fi
done

parquet_is_small() { # at most 8 bytes a request
	local size
	size=$(find parquet/requests -name part-00002.parquet -printf '%s\n')
	[ "$size" -le $((8 * $("$VERBATIM" sql both.db "SELECT count(*) FROM requests"))) ] ||
		{ echo "$size bytes"; return 1; }
}
try parquet_is_small

a_folder_is_whole_or_missing() {
	head -c 100000 both.db >cut.db
	! "$VERBATIM" export -f parquet -o new every.db cut.db 2>err && ! ls -d new* 2>err
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
