# Sourced by tests that wait for a server. No program is started to look: that would take the
# processor from the server.
#
#	listens PORT			does anybody, by TCP?
#	until listens $port; do kill -0 $server && pause || exit; done
#	no_pause			before a program begins, which would inherit a descriptor
listens() {
	local table hex sockets
	printf -v hex %04X "$1"
	for table in /proc/net/tcp /proc/net/tcp6; do
		[ -r $table ] || continue
		# at once: `read` seeks back after each line, and a new socket shifts all lines
		mapfile sockets <$table
		[[ "${sockets[*]}" =~ :\ [0-9A-F]+:$hex\ [0-9A-F]+:[0-9A-F]+\ 0A\  ]] && return
	done
	return 1
}

pause() { # 10 ms; bash then has another process in $!
	[ "${idle:-}" ] || exec {idle}<> <(:)
	read -rt 0.01 -u $idle
	return 0
}

no_pause() {
	[ -z "${idle:-}" ] || exec {idle}>&-
	idle=
}
