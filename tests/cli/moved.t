#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An installation is whole, and may be moved as a whole: programs find each
# other, and their plugins, from where they are.
. "${top_srcdir:-.}/tests/tap.sh"
unset MAKEFLAGS MAKELEVEL MFLAGS LD_LIBRARY_PATH ACCEL_AGENT ACCEL_PLUGIN_DIR
prefix=$(sed -n 's/^prefix = //p' "$top_builddir/Makefile")
ok "accel installs" make -s -C "$top_builddir" DESTDIR="$work/dest" install
mv "$work/dest$prefix" "$work/moved"
PATH=$work/moved/bin:$PATH
HF_HOME=$work/hf
export HF_HOME
cd "$work" || exit 1

is "two ranks are started" "$(accel launch --cpu --num_processes 2 \
	--no_python sh -c 'echo $RANK' | sed 's/.* //' | sort | tr '\n' ' ')" \
	"0 1 "
out=$(accel launch --hosts nowhere.invalid:1 --no_python true 2>&1)
has "the plugin for SSH is found, and names the host" "$out" nowhere.invalid
if [ -e "$top_builddir/.libs/libaccel-mpi.so" ] && [ -z "$ACCEL_SANITIZED" ]
then
	ok "accel test passes" accel test --no_accelerate
fi
out=$(accel launch --view screen --no_python true </dev/null 2>&1)
case $out in *"No such file"*) found=no ;; *) found=yes ;; esac
is "the launch screen is found" "$found" yes
done_testing
