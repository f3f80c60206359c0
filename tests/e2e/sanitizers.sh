# Programs that are built with a sanitizer are recorded like any other.
BUILD=${BUILD:-build}
VERBATIM=${VERBATIM:-$PWD/$BUILD/verbatim}
tmp=$(mktemp -d) || exit 1
mkdir "$tmp/sessions"
export VERBATIM_SESSIONS=$tmp/sessions VERBATIM_SOFT_FABRIC=$tmp/fabric VERBATIM_DEVICE=soft
trap 'rm -rf "$tmp"' EXIT

# 100 sends and as many receives, whole, and nothing for the sanitizer to say
is_recorded() {
	gcc -g -O1 -I. -fsanitize="$1" -o "$tmp/$1" tests/apps/loop.c -libverbs &&
		"$VERBATIM" record -q -o "$tmp/t.db" -- "$tmp/$1" "$tmp/counts" 100 >"$tmp/out" 2>&1 && [ ! -s "$tmp/out" ] &&
		[ "$("$VERBATIM" sql "$tmp/t.db" 'select count(*) from wr')" = 200 ]
}

for sanitizer in address thread undefined; do
	if is_recorded $sanitizer 2>"$tmp/why"; then echo "ok sanitizers: $sanitizer"
	else echo "not ok sanitizers: $sanitizer: $(head -c 400 "$tmp/why" "$tmp/out" | tr '\n' ';')"; fi
done
