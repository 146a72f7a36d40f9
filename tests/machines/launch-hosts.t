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

# From a file of machines to a run: nobody is asked.
setup=$top_builddir/accel-setup
machines=$top_srcdir/tests/machines
HOME=$work
export HOME
{
	cat "$machines/dgx-h100.yaml"
	sed '1,/^machines:/d' "$machines/container.yaml"
} >both.yaml
ok "a file of two machines gives a configuration" "$setup" \
	--machine both.yaml --config_file both-run.yaml --defaults
is "with the ranks of each beside it" "$(grep -v '^#' both-run.accel.yaml)" \
	"hosts: dgx-h100:8,container:1"
is "which are those of the launch" "$("$accel" launch --config_file \
	both-run.yaml --print train.py | sed -n '/^ *[0-9][0-9]*  *[0-9]/p' |
	awk '{ print $3 }' | uniq -c | xargs)" "8 dgx-h100 1 container"
ok "nothing is wrong with it" "$setup" --machine both.yaml \
	--config_file both-run.yaml --check
out=$("$setup" --machine both.yaml --config_file both-run.yaml \
	--set num_processes=20 --check)
is "but with more ranks than GPUs" $? 1
has "the hosts are named" "$out" "the hosts have 9 slots"
out=$("$setup" --machine run.yaml --config_file n.yaml --print 2>&1)
is "a file of no machines is an error" $? 1

# A conversation: hosts by name, and what each has.
out=$(printf '%s\n' far1,far2 w '' | ACCEL_TEST_TRANSPORT=exec "$setup" \
	--plain --config_file talk.yaml 2>&1)
has "a host is found" "$out" "Found far1: "
has "and the other" "$out" "Found far2: "
has "the file follows" "$(cat talk.yaml)" "num_machines: 2"
has "and what is beside it" "$(cat talk.accel.yaml)" "hosts: far1:"
printf 'far7 slots=3\n# no more\n' >hostfile
out=$(printf '%s\n' @hostfile w '' | ACCEL_TEST_TRANSPORT=exec "$setup" \
	--plain --config_file talk.yaml 2>&1)
has "a host file adds to them" "$(cat talk.accel.yaml)" ",far7:3"
out=$(printf '%s\n' none w '' | "$setup" --plain --config_file talk.yaml 2>&1)
ok "none is this machine alone" test ! -e talk.accel.yaml
has "again" "$(cat talk.yaml)" "num_machines: 1"
out=$(printf '%s\n' '-x' q | "$setup" --plain --config_file n.yaml 2>&1)
has "what is no name is told" "$out" '"-x" is not a host'
done_testing
