# Programs that change their user while they are recorded.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
unset VERBATIM_SOFT_FABRIC # each user has a separate one

if [ "$(id -u)" != 0 ]; then skip "users" "only root may change its user"; exit 0; fi
other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

# $1 when it drops its privileges; threads and a child that begin afterwards are recorded completely
is_recorded_to_its_end() {
	"$VERBATIM" record -o "$t" "$apps/drops_user" "$1" 4 2>err || { cat err; return 1; }
	says ', 0 lost' err && ! grep 'not recorded' err &&
		is "threads of each process" "$(sql "SELECT process || ':' || count(*) FROM thread
			GROUP BY process")" $'1:5\n2:1' &&
		is "calls of each thread" "$(sql "SELECT DISTINCT count(*) FROM call
			WHERE verb = 'ibv_dereg_mr' AND depth = 0 GROUP BY thread")" 100
}
rights_are_dropped_after_the_first_verb() { is_recorded_to_its_end late; }
rights_are_dropped_before_the_first_verb() { is_recorded_to_its_end early; }

threads_beyond_the_rings_set_aside_are_reported() {
	"$VERBATIM" record -o "$t" "$apps/drops_user" late 40 2>err || { cat err; return 1; }
	says 'threads* w.* not recorded: user 65534 cannot enter the directory' err &&
		! grep -e --ring-budget -e 'loader was in use' err
}

program_that_is_begun_as_another_user_is_reported() {
	"$VERBATIM" record -o "$t" setpriv --reuid=65534 --clear-groups true 2>err
	says '1 program was not recorded: user 65534 cannot enter .*setpriv --reuid=65534' err &&
		! grep 'called a verb' err
}

recorder_of_that_user_records_it() {
	mkdir n && chmod 755 . && chown 65534 n && chmod 1777 sessions
	other env VERBATIM_SOFT_FABRIC="$tmp/n/fabric" "$VERBATIM" record -o n/t.db \
		"$apps/posts" >/dev/null 2>err || { cat err; return 1; }
	says '1 process, .* 0 lost' err && is "$(stat -c '%a %u' n/t.db)" '600 65534'
}

try rights_are_dropped_after_the_first_verb
try rights_are_dropped_before_the_first_verb
try threads_beyond_the_rings_set_aside_are_reported
try program_that_is_begun_as_another_user_is_reported
try recorder_of_that_user_records_it
exit $failed
