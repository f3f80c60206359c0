#!/usr/bin/env bash
# Files that other users put into shared directories do no harm. Two users: this one (root) and
# 65533.
cd "$(dirname "$0")/../.." || exit 1
. tests/e2e/lib/try.sh
export VERBATIM_SESSIONS=$tmp/shared
mkdir -m 1777 "$VERBATIM_SESSIONS" && chmod 755 "$tmp"

other() { setpriv --reuid=65533 --regid=65533 --clear-groups "$@"; }
record() { timeout 60 "$VERBATIM" record -q -o "$t" "$@" true 2>"$tmp/said"; }
tidy() { rm -rf "$tmp"/shared/* "$tmp"/elsewhere; }

# A session whose recorder was killed: $left. With "events" its program called verbs.
leave_session() {
	local program=(cat) recorder
	[ "${1-}" != events ] || program=("$apps/patient")
	mkfifo "$tmp/end"
	"$VERBATIM" record -q --device soft -o "$t" "${program[@]}" <"$tmp/end" >"$tmp/made" 2>&1 &
	recorder=$!
	exec 9>"$tmp/end"
	rm "$tmp/end"
	await processes_have "VERBATIM_DIR=$VERBATIM_SESSIONS/verbatim-0-" || return 1
	left=$(echo "$VERBATIM_SESSIONS"/verbatim-0-*)
	[ "${1-}" != events ] || await says made "$tmp/made" || return 1
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	exec 9>&-
	await no_processes_have "VERBATIM_DIR=$left"
}
processes_have() { grep -qsF "$1" /proc/[0-9]*/environ; }
no_processes_have() { ! processes_have "$1"; }

a_fifo_under_a_sessions_name_is_not_waited_for() {
	other mkfifo -m 666 "$VERBATIM_SESSIONS/verbatim-0-AAAAAA"
	other mkdir -m 755 "$VERBATIM_SESSIONS/verbatim-0-BBBBBB"
	other mkfifo -m 666 "$VERBATIM_SESSIONS/verbatim-0-BBBBBB/session"
	record || { echo "status $?: $(cat "$tmp/said")"; return 1; }
}

a_link_under_a_sessions_name_is_not_followed() {
	leave_session || return 1
	mv "$left" "$tmp/elsewhere" && touch "$tmp/elsewhere/ring.0"
	other ln -s "$tmp/elsewhere" "$VERBATIM_SESSIONS/verbatim-0-AAAAAA"
	record || return 1
	is "$(ls "$tmp/elsewhere")" $'counters\nring.0\nsession'
}

another_users_dead_session_is_left_alone() {
	leave_session || return 1
	chown -R 65533:65533 "$left" && chmod -R go+rX "$left"
	record || return 1
	is "$(ls "$left")" $'counters\nsession'
}

ones_own_dead_session_is_swept() {
	leave_session || return 1
	record || return 1
	is "$(ls "$VERBATIM_SESSIONS")" ''
}

a_directorys_name_does_not_reach_the_terminal() {
	leave_session events || return 1
	mv "$left" "$VERBATIM_SESSIONS/verbatim-0-"$'\e[31mX'
	"$VERBATIM" record -o "$t" true 2>"$tmp/said" || return 1
	! grep -q $'\e' "$tmp/said" || { cat -v "$tmp/said"; return 1; }
}

another_users_session_is_not_collected() {
	leave_session events || return 1
	chown -R 65533:65533 "$left" && chmod -R go+rX "$left"
	"$VERBATIM" collect -o "$tmp/c.db" "$left" 2>"$tmp/said"
	is $? 4 && says 'must be yours and must not be writable by others' "$tmp/said" &&
		is "$(ls "$left")" $'counters\nring.0\nsession'
}

why=
[ "$(id -u)" = 0 ] || why="another user can be had by root only"
other true 2>/dev/null || why=${why:-"setpriv cannot become another user here"}
if [ -n "$why" ]; then
	echo "skip $of: $why"
	exit
fi
try a_fifo_under_a_sessions_name_is_not_waited_for
try a_link_under_a_sessions_name_is_not_followed
try another_users_dead_session_is_left_alone
try ones_own_dead_session_is_swept
try a_directorys_name_does_not_reach_the_terminal
try another_users_session_is_not_collected
