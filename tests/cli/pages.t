#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each command names its manual page, and the page has each of its flags.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel

# Words of every command, as one is typed: "config show".
below() { # WORDS...
	# shellcheck disable=SC2068
	"$accel" __complete accel $@ '' | cut -f1 | grep -v '^:' |
	    while read -r word; do
		case "$* $word" in
		"completion "* | "help "* | "schema "* | *" "*" "*) continue ;;
		esac
		"$accel" help $@ "$word" >/dev/null 2>&1 || continue
		echo "$*${1:+ }$word"
		below $@ "$word"
	done
}
below >"$work/commands"
ok "commands are found" grep -qx 'config show' "$work/commands"

while read -r command; do
	# shellcheck disable=SC2086
	"$accel" help $command >"$work/help"
	cp "$work/help" "$work/help-$(echo "$command" | tr " " -)"
	page=$(sed -n 's/^Manual: \(.*\)(\(.\))$/\1.\2/p' "$work/help")
	file=$top_srcdir/man/$page
	ok "accel $command names a page that is there" test -f "$file"
	missing=$(sed -n '/^Flags:/,/^$/s/^  \(-., \)\?--\([a-z_-]*\).*/\2/p' \
	    "$work/help" | while read -r flag; do
		[ "$flag" = help ] ||
		    grep -qE "Fl -$(echo "$flag" | sed 's/-/\\\\?-/g')( |\$)" \
			"$file" || echo "$flag"
	done)
	is "$page has the flags of $command" "$missing" ""
	is "the help of $command fits 80 columns" \
		"$(awk 'length > 80' "$work/help")" ""
done <"$work/commands"
# The README has a row for each command, one for several words of config.
while read -r command; do
	case $command in
	help) continue ;;
	"config "*) word=${command#config } ;;
	*) word="accel $command" ;;
	esac
	ok "README.md names accel $command" grep -qE \
		"^\\| .*\`(accel config )?$word[ \`]" "$top_srcdir/README.md"
done <"$work/commands"

# accel(1) leads to all of them.
sed -n 's/^Manual: \(.*\)(\(.\))$/\1 \2/p' "$work"/help-* | sort -u >"$work/pages"
while read -r page section; do
	[ "$page" = accel ] || ok "accel.1 leads to $page" \
		grep -q "^.It Xr $page $section" "$top_srcdir/man/accel.1"
	page=$page.$section
	if command -v mandoc >/dev/null; then
		ok "mandoc has nothing to say of $page" sh -c \
		    'out=$(mandoc -Tlint -W style "$1" |
			grep -v "referenced manual not found"); echo "$out"
			[ -z "$out" ]' \
		    _ "$top_srcdir/man/$page"
	else
		skip "no mandoc"
	fi
done <"$work/pages"
done_testing
