#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Accelerate's own configuration files, where they are beside the project.
. "${top_srcdir:-.}/tests/tap.sh"
corpus=${ACCEL_SHARED:-$top_srcdir/../shared}/corpus/accelerate

[ -d "$corpus" ] || {
	skip "no Accelerate files at $corpus"
	done_testing
}
echo 'print("hello")' >"$work/train.py"
for file in "$corpus"/*.yaml "$corpus"/*.yml; do
	name=$(basename "$file")
	ranks=		# not in the file: a Slurm script gives it
	case $name in
	*slurm*) ranks="--num_processes 8" ;;
	esac
	# shellcheck disable=SC2086
	"$top_builddir/accel" launch --config_file "$file" $ranks \
	    --num_machines 1 --print "$work/train.py" >"$work/out" 2>"$work/err"
	status=$?
	case $name in
	*invalid_keys*)
		is "$name is refused" $status 1
		has "$name: the line is named" "$(cat "$work/err")" "$name:"
		;;
	*sagemaker*)
		has "$name is read, and its job is printed" \
			"$(cat "$work/out")" '"instance_type": "MY_TYPE"'
		;;
	*)
		tap_line $status "$name is read and launches"
		[ $status -eq 0 ] || sed 's/^/# /' "$work/err"
		;;
	esac
done
done_testing
