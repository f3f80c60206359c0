# Programs that are built with a sanitizer are recorded like any other.
. tests/e2e/lib/try.sh

# 100 sends and as many receives, complete, and no report of the sanitizer
is_recorded() {
	gcc -g -O1 -I. -fsanitize="$1" -o "$tmp/$1" tests/apps/loop.c -libverbs &&
		"$VERBATIM" record -q -o "$t" -- "$tmp/$1" "$tmp/counts" 100 >"$tmp/out" 2>&1 &&
		[ ! -s "$tmp/out" ] &&
		is "$(sql 'select count(*) from wr')" 200 || { cat "$tmp/out"; return 1; }
}

for sanitizer in address thread undefined; do
	try $sanitizer is_recorded $sanitizer
done
