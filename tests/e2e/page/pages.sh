# The pages that are compared with pictures: of traces that never change.

# Writes the pages in looks.txt into this folder, with "$verbatim", and their names into $pages.
look_pages() {
	local name trace base
	pages=
	while read -r name trace base; do
		cp "$root/tests/conformance/soft/$trace.db" "$name.db" || return 1
		[ -z "$base" ] || cp "$root/tests/conformance/soft/$base.db" base.db || return 1
		"$verbatim" report ${base:+-c base.db} -o "$name.html" "$name.db" 2>>err || return 1
		pages+="$name.html "
	done <"$root/tests/e2e/page/looks.txt"
}
