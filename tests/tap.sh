# SPDX-License-Identifier: Apache-2.0
# tap: a test in shell.  Source it; one assertion, one sentence.
#	ok "what holds" command args...
#	is "what holds" GOT WANT
#	skip "why"
#	done_testing
# "$work" is a fresh folder that goes away at the end; "$top_builddir" and
# "$top_srcdir" come from make.
tap_count=0
tap_failed=0
top_builddir=$(cd "${top_builddir:-.}" && pwd)
top_srcdir=$(cd "${top_srcdir:-.}" && pwd)
work=$(mktemp -d)
XDG_STATE_HOME=$work/state
export XDG_STATE_HOME
trap 'rm -rf "$work"' EXIT

tap_line() { # 0|1 sentence
	tap_count=$((tap_count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tap_count - $2"
	else
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_count - $2"
	fi
}
ok() {
	tap_what=$1
	shift
	if "$@" >"$work/.tap" 2>&1; then
		tap_line 0 "$tap_what"
	else
		tap_line 1 "$tap_what"
		sed 's/^/# /' "$work/.tap"
	fi
}
is() {
	if [ "$2" = "$3" ]; then
		tap_line 0 "$1"
	else
		tap_line 1 "$1"
		printf '%s\n' "$2" | sed 's/^/#   got: /'
		printf '%s\n' "$3" | sed 's/^/#  want: /'
	fi
}
has() { # sentence TEXT PART: the text contains the part
	case $2 in
	*"$3"*) tap_line 0 "$1" ;;
	*)
		tap_line 1 "$1"
		printf '%s\n' "$2" | sed 's/^/#   got: /'
		printf '%s\n' "$3" | sed 's/^/# lacks: /'
		;;
	esac
}
skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count # SKIP $1"
}
done_testing() {
	echo "1..$tap_count"
	[ "$tap_failed" -eq 0 ]
	exit
}

# A port that nobody has just now.
free_port() {
	python3 -c 'import socket
s = socket.socket()
s.bind(("", 0))
print(s.getsockname()[1])'
}
