#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel launch takes hosts from the file beside the configuration.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
cd "$work" || exit 1
echo 'print()' >train.py
cat >run.yaml <<'END'
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_CPU
use_cpu: true
num_machines: 2
num_processes: 3
machine_rank: 0
main_process_ip: null
END
echo 'hosts: node1:2,node2:1' >run.accel.yaml
table() { # flags...
	"$accel" launch --config_file run.yaml --print "$@" train.py 2>&1 |
	    sed -n '/^ *[0-9][0-9]*  *[0-9]/p' | awk '{ print $3 }' | xargs
}
is "its hosts are the run's" "$(table)" "node1 node1 node2"
is "a flag beats it" "$(table --hosts a:2,b:1)" "a a b"
is "one machine has no use for it" \
	"$(table --num_machines 1 --num_processes 2)" "localhost localhost"
echo 'hosts: [node1, node1]' >run.accel.yaml
out=$("$accel" launch --config_file run.yaml --print train.py 2>&1)
is "a wrong one is an error" $? 1
has "that names it" "$out" "run.accel.yaml"
has "and the host" "$out" "host node1 is there twice"
done_testing
