#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rank.sh FOLDER WHAT...: a rank of the tests.  It leaves its environment, its
# folder and its arguments, byte for byte, in FOLDER/RANK.*, then does WHAT:
#	end | exit RANK CODE | die RANK | stay
out=$1
what=$2
env -0 >"$out/$RANK.env"
pwd >"$out/$RANK.cwd"
hostname >"$out/$RANK.host"
printf '%s\0' "$@" >"$out/$RANK.argv"
echo "rank $RANK of $WORLD_SIZE"
case $what in
exit)
	[ "$RANK" = "$3" ] || exec sleep 300
	# The others must be there, to be stopped.
	until [ "$(ls "$out" | grep -c argv)" -eq "$WORLD_SIZE" ]; do
		sleep 0.05
	done
	echo "rank $RANK gives up" >&2
	exit "$4"
	;;
die)
	[ "$RANK" = "$3" ] || exec sleep 300
	kill -9 $$
	;;
stay)
	exec sleep 300
	;;
esac
exit 0
