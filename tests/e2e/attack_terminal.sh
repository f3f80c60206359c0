# Names from a trace, a recorded program or a file reach the terminal as text, whatever they
# contain.
. tests/e2e/lib/try.sh
needs "$apps/hostile" "$VERBATIM"
look=$PWD/tests/e2e/terminal.py
evil=$'e\e]0;x\a\r\nFORGED\t\xc2\x9b2J\xe2\x80\xae\x9b\xff'
export PYTHONDONTWRITEBYTECODE=1
cd "$tmp" || exit 1

look() { python3 "$look" "$@"; }
# our line is unchanged, and nothing else is printed
is_clean() {
	! LC_ALL=C grep -n $'[\001-\011\013-\037\177]' "$1" && ! grep -n '^FORGED' "$1" &&
		iconv -f utf-8 -t utf-8 "$1" >/dev/null
}

recorded_under_any_name() {
	cp "$apps/hostile" "./$evil" && mkdir "d$evil" || return
	"$VERBATIM" record --payload full --check -o "$evil.db" "./$evil" "$evil" >said 2>&1
	is_clean said && says 'process 1 (e\\x1b\]0;x' said && says 'thread 2 (\\x1b\]0;x' said &&
		says 'evil\\x1b\]0;x\\x07\\x0a\\x1b\[2J.c:' said
}
# by the symbol table, if there is no debug information
functions_of_any_name() {
	objcopy --strip-debug --redefine-sym "fail_one=f$evil" "./$evil" "s$evil" || return
	"$VERBATIM" record -q -o s.db "./s$evil" && "$VERBATIM" check s.db >out
	is_clean out && says '    f*e\\x1b\]0;x.*FORGED.*+0x' out
}
commands_over_what_was_recorded() { look run "$VERBATIM" '\x1b]0;x' "$evil.db"; }
commands_over_altered() { # names, json, raw, all; expected text
	look alter "$evil.db" altered.db "$1" && look run "$VERBATIM" "$2" altered.db
}
commands_with_names_of_any_kind() { look run "$VERBATIM" "unknown command 'a\\x1b]0;x"; }
a_session_of_any_name_is_collected() {
	VERBATIM_DIR=$tmp/d$evil/s LD_PRELOAD=$libs/libverbatim.so:$libs/libverbatim-soft.so \
		"$apps/hostile" >out 2>&1
	"$VERBATIM" collect -o "c$evil.db" "d$evil/s" >said 2>&1
	is_clean said && says 'c*e\\x1b\]0;x' said
}

try recorded_under_any_name
try functions_of_any_name
try commands_over_what_was_recorded
try_in_turn commands_over_altered names 'process 1 (0a\x1b]0;x'
try_in_turn commands_over_altered json 'IBV_QPT_RC\x7f\u{009b}2J'
try_in_turn commands_over_altered raw 'arguments of some calls are unreadable'
try_in_turn commands_over_altered all 'verbatim: '
try commands_with_names_of_any_kind
try a_session_of_any_name_is_collected
