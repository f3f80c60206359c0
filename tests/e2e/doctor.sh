# verbatim doctor: this machine, and programs of each kind.
. tests/e2e/lib/try.sh
unset VERBATIM_SESSIONS VERBATIM_DEVICE # as on a machine without settings
chmod 755 "$tmp"

# doctor of $1 ends with status $2 and prints $3 (a pattern of grep)
says() {
	local status
	"$VERBATIM" doctor -- "$1" >"$tmp/out" 2>&1
	status=$?
	[ $status = "$2" ] && grep -q -- "$3" "$tmp/out" ||
		{ echo "status $status"; cat "$tmp/out"; return 1; }
}

compile() {
	echo "#include <stdio.h>
int main(void) { FILE *f = fopen(\"$tmp/was_run\", \"w\"); return f ? fclose(f) : 0; }" >"$tmp/a.c"
	gcc "$@" "$tmp/a.c"
}

# the problems depend on the machine; but there must be a line for each check
each_line_has_a_verdict() {
	"$VERBATIM" doctor >"$tmp/out" 2>"$tmp/err"
	local status=$?
	! grep -vE '^(ok|note|problem) +[a-z]+ +.' "$tmp/out" && [ ! -s "$tmp/err" ] &&
		for check in device memlock library kernel fork ptrace shm guest lttng clock; do
			grep -qE "^[a-z]+ +$check " "$tmp/out" ||
				{ echo "nothing of $check"; return 1; }
		done &&
		[ $status = "$(grep -q ^problem "$tmp/out" && echo 1 || echo 0)" ]
}

json_says_the_same() {
	"$VERBATIM" doctor >"$tmp/text"
	"$VERBATIM" doctor --format json |
		jq -r '.findings[] | .verdict + " " + .check' >"$tmp/json" || return 1
	awk '{ print $1, $2 }' "$tmp/text" | diff - "$tmp/json"
}

software_device_has_a_port() {
	"$VERBATIM" run --device soft -- "$VERBATIM" doctor >"$tmp/out" 2>&1
	grep -q '^ok .*port .*port 1: .*, active, .* GID' "$tmp/out" &&
		grep -q '^ok .*the software device' "$tmp/out" ||
		{ cat "$tmp/out"; return 1; }
}

lack_of_memlock_is_reported() {
	[ "$(id -u)" = 0 ] || { (ulimit -l 64 && says /bin/true 0 'only 64 KiB'); return; }
	setpriv --reuid=65534 --clear-groups --inh-caps=-all bash -c \
		"ulimit -l 64; '$VERBATIM' doctor" >"$tmp/out" 2>&1
	grep -q 'can register only 64 KiB.*ulimit -l' "$tmp/out" ||
		{ cat "$tmp/out"; return 1; }
}

session_folder_that_lacks_is_a_problem() {
	VERBATIM_SESSIONS=$tmp/none says /bin/true 1 "VERBATIM_SESSIONS=$tmp/none cannot be used"
}

fabric_that_others_may_enter_is_a_problem() {
	mkdir -m 755 "$tmp/open" &&
		VERBATIM_SOFT_FABRIC=$tmp/open says /bin/true 1 \
		"problem *fabric.*$tmp/open.*chmod 700" || return
	"$VERBATIM" run --device soft env VERBATIM_SOFT_FABRIC="$tmp/open" \
		ibv_devinfo >"$tmp/out" 2>&1
	[ "$(grep -c "^verbatim-soft: $tmp/open: .*chmod 700" "$tmp/out")" = 1 ] ||
		{ cat "$tmp/out"; return 1; }
	chmod 700 "$tmp/open" &&
		VERBATIM_SOFT_FABRIC=$tmp/open says /bin/true 0 "ok *fabric.*$tmp/open"
}

# another kind of file in place of the fabric's
fabric_that_is_not_a_file_is_reported() {
	local kind
	for kind in "mkfifo @" "mkdir @" "mknod @ c 1 3"; do
		rm -rf "$tmp/odd" && mkdir -m 700 "$tmp/odd" &&
			{ ${kind/@/$tmp/odd/fabric} 2>/dev/null || continue; } &&
			"$VERBATIM" run --device soft env VERBATIM_SOFT_FABRIC="$tmp/odd" \
				ibv_devinfo >"$tmp/out" 2>&1
		[ "$(grep -c "^verbatim-soft: $tmp/odd/fabric: .*FABRIC" "$tmp/out")" = 1 ] ||
			{ echo "$kind"; cat "$tmp/out"; return 1; }
	done
}

client_is_fine() { says ibv_rc_pingpong 0 'linked with libibverbs'; }
other_program_is_told_apart() { says /bin/true 0 'neither it nor its libraries'; }
absent_program_is_a_problem() { says no-such-program 1 "'no-such-program' cannot be started"; }
static_program_is_a_problem() {
	compile -static -o "$tmp/static" && says "$tmp/static" 1 'statically linked'
}
static_pie_is_a_problem() {
	compile -static-pie -o "$tmp/spie" && says "$tmp/spie" 1 'statically linked'
}
# the program, not its starter in the PATH of lists
direct_verbs_are_reported() {
	says "$(type -ap ib_write_bw | grep -v /quick/ | head -1)" 0 'linked with libmlx5.so.1'
}

setuid_program_is_a_problem() {
	[ "$(id -u)" = 0 ] || { echo skipped; return 0; }
	compile -o "$tmp/setuid" && chown 65534 "$tmp/setuid" && chmod 4755 "$tmp/setuid" &&
		says "$tmp/setuid" 1 'set-user-ID.*LD_PRELOAD'
}

dlopen_is_reported() {
	compile -o "$tmp/plain" -DNAME='"x"' && printf 'libibverbs.so.1\0' >>"$tmp/plain" &&
		says "$tmp/plain" 0 'plain contains the name libibverbs'
}

script_is_followed() {
	printf '#!/usr/bin/env python3\n' >"$tmp/script" && chmod +x "$tmp/script" &&
		says "$tmp/script" 0 'python3 is checked'
}

library_of_a_library_counts() {
	echo 'extern void *ibv_get_device_list(int *); void *f(void);
		void *f(void) { return ibv_get_device_list(0); }' >"$tmp/l.c"
	gcc -shared -fPIC -o "$tmp/libl.so" "$tmp/l.c" -libverbs &&
		compile -Wl,--no-as-needed -o "$tmp/over" -L"$tmp" -ll -Wl,-rpath,'$ORIGIN' &&
		says "$tmp/over" 0 'linked with libibverbs'
}

program_is_not_run() {
	compile -o "$tmp/run" && "$VERBATIM" doctor -- "$tmp/run" >/dev/null
	[ ! -e "$tmp/was_run" ]
}

bad_options_are_usage() {
	"$VERBATIM" doctor --format xml >"$tmp/out" 2>&1
	[ $? = 2 ] && "$VERBATIM" doctor --nonsense >"$tmp/out" 2>&1
	[ $? = 2 ]
}

for each in each_line_has_a_verdict json_says_the_same software_device_has_a_port \
	lack_of_memlock_is_reported \
	session_folder_that_lacks_is_a_problem fabric_that_others_may_enter_is_a_problem \
	fabric_that_is_not_a_file_is_reported \
		client_is_fine other_program_is_told_apart \
	absent_program_is_a_problem static_program_is_a_problem static_pie_is_a_problem \
		direct_verbs_are_reported \
	setuid_program_is_a_problem dlopen_is_reported script_is_followed \
	library_of_a_library_counts \
	program_is_not_run bad_options_are_usage; do
	try $each
done
