#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# signals.sh FOLDER [WHAT]: a rank that writes each signal that it gets to
# FOLDER/RANK.  WHAT: "save" ends 2 s after SIGTERM, "deaf" never by a signal,
# "fail" is rank 1 that fails, and deaf ones.
out=$1/$RANK
note() {
	echo "$1" >>"$out"
	case $1 in
	USR1 | USR2) return ;;
	esac
	[ "$what" = deaf ] || [ "$what" = fail ] && return
	[ "$what" = save ] && sleep 2 && echo saved >>"$out"
	sleep 0.3	# so that a second one would be seen
	exit 0
}
what=$2
for name in INT TERM HUP QUIT USR1 USR2; do
	# shellcheck disable=SC2064
	trap "note $name" "$name"
done
: >"$out"
if [ "$what" = fail ] && [ "$RANK" = 1 ]; then
	until [ -e "$1/0" ]; do sleep 0.05; done
	exit 3
fi
while :; do sleep 0.1; done
