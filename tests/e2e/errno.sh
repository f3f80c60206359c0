# The recorder leaves errno as the original verb left it.
#
# A function of the recorder that may change errno saves it first, and restores it. It hardly ever
# changes in a test, so a restoration that is missing would not show. Here the recorder is built
# from sources that spoil errno wherever they save it: `int saved = errno;` also sets it to
# ENOTRECOVERABLE. Programs print the errno after each verb, which must be as without the recorder.
. tests/e2e/lib/try.sh
needs "$apps/model_run" "$apps/every_verb" "$apps/errno_kept"
spoilt=$tmp/spoilt.d

spoil() { # source
	printf '%s\n' '#include <errno.h>' '#include "tests/e2e/lib/spoil.h"' "#line 1 \"$1\""
	awk '/^\t+int (saved|error) = errno;$/ { name = $2; sub(/errno;/, "spoil_errno();") }
		/^}/ { name = "" }
		# before errno can have changed
		name && /^\t\t+return.*;$/ { sub(/return.*/, "{ errno = " name "; & }") }
		{ print }' "$1"
}

# Like libverbatim.so in the Makefile; the recorder itself is never built with sanitizers.
build_spoilt() {
	local sources source link object BUILD=${BUILD%%-*}
	mkdir -p "$spoilt" && cp "$VERBATIM" "$libs"/*.so "$spoilt/" || return
	link=$(env -u MAKEFLAGS make -n -B V=1 BUILD="$BUILD" "$BUILD/libverbatim.so" |
		sed 's/\\$//' | tr '\n' ' ' | sed "s|.* -o $BUILD/libverbatim.so||" |
		grep -o "$BUILD/obj/[^ ]*\.o" | sort -u | tr '\n' ' ')
	mapfile -t sources < <(grep -rlE '^\s+int (saved|error) = errno;' shim/trace --include=*.c)
	[ ${#sources[@]} -gt 20 ] || { echo "only ${#sources[@]} sources"; return 1; }
	for source in "${sources[@]}"; do
		object=$spoilt/${source//\//_}.o
		spoil "$source" | ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -fPIC -fvisibility=hidden \
			-fno-omit-frame-pointer -I. "-I$BUILD" -O0 -w -c -x c -o "$object" - ||
			return
		link=${link/"$BUILD/obj/${source%.c}.o"/"$object"}
	done
	# shellcheck disable=SC2086  # objects are words
	${CC:-cc} -shared -Wl,-z,nodelete -Wl,-z,now -Wl,-soname,libverbatim.so \
		-Wl,--version-script="$BUILD/gen/trace.map" -o "$spoilt/libverbatim.so" $link
}

run_bare() { LD_PRELOAD=$libs/libverbatim-soft.so "$@"; }

# What a program prints on stderr about errno, with the spoilt recorder and without one.
is_the_same() { # "OPTIONS of record" PROGRAM...
	local options
	read -ra options <<<"$1"
	shift
	run_bare "$@" >"$tmp/bare" 2>&1
	"$spoilt/verbatim" record -q "${options[@]}" -o "$t" -- "$@" >"$tmp/recorded" 2>&1
	[ -s "$tmp/bare" ] && [ -s "$t" ] || { echo "nothing was recorded"; return 1; }
	diff <(grep errno "$tmp/bare") <(grep errno "$tmp/recorded") | grep '^[<>]' | head -20
	[ "${PIPESTATUS[0]}" = 0 ]
}

in_turn || { skip "the recorder leaves errno alone" "in one of four runs"; exit; } # 8 s
try "the recorder is built so that it spoils errno" build_spoilt
[ $failed = 0 ] || exit
for options in "" "--payload full" "--memory --strict" "--flight 1M" "--filter qp=1"; do
	try "errno of verbs with '$options'" is_the_same "$options" "$apps/every_verb"
done
for options in "" "--memory" "--ring-size 256k"; do
	try "errno of other functions with '$options'" is_the_same "$options" "$apps/errno_kept"
done
try "errno of random verbs" is_the_same "" "$apps/model_run" 1 20
exit $failed
