#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel launch in a Slurm allocation: a real slurmctld here, and a real slurmd
# on each of two hosts in network namespaces.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/hosts/netns.sh"
PATH=$PATH:/usr/sbin
for program in munged slurmctld slurmd srun salloc; do
	command -v $program >/dev/null && continue
	skip "needs $program: Debian's munge and slurm-wlm"
	done_testing
done
hosts_up 2

slurm_down() {
	for slurm_pid in "$work"/slurm/*.pid "$work"/munge/pid; do
		[ -s "$slurm_pid" ] && kill -9 "$(cat "$slurm_pid")" 2>/dev/null
	done
	hosts_down
}
trap slurm_down EXIT
mkdir "$work/slurm" "$work/munge"
head -c 128 /dev/urandom >"$work/munge/key"
chown -R munge "$work/munge"
chmod 400 "$work/munge/key"
runuser -u munge -- munged --key-file="$work/munge/key" \
	--socket="$work/munge/socket" --pid-file="$work/munge/pid" \
	--log-file="$work/munge/log" --seed-file="$work/munge/seed"
export SLURM_CONF="$work/slurm/slurm.conf"
cat >"$SLURM_CONF" <<E2
ClusterName=accel
SlurmctldHost=$(hostname)($net.254)
SlurmctldPort=$((20000 + $$ % 10000))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
SlurmctldPidFile=$work/slurm/ctld.pid
SlurmdPidFile=$work/slurm/%n.pid
SlurmdSpoolDir=$work/slurm/%n
StateSaveLocation=$work/slurm/state
SlurmctldLogFile=$work/slurm/ctld.log
SlurmdLogFile=$work/slurm/%n.log
MessageTimeout=60
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
KillWait=5
NodeName=n1 NodeHostname=accel-host1 NodeAddr=$host1 CPUs=8
NodeName=n2 NodeHostname=accel-host2 NodeAddr=$host2 CPUs=8
PartitionName=all Nodes=ALL Default=YES State=UP
E2
# Not to be detected: "ip netns exec" mounts another /sys, without cgroups.
echo CgroupPlugin=cgroup/v1 >"$work/slurm/cgroup.conf"
mkdir "$work/slurm/state"
slurmctld >"$work/slurm/out" 2>&1
for k in 1 2; do
	in_host $k env SLURM_CONF="$SLURM_CONF" slurmd -N n$k \
		>>"$work/slurm/out" 2>&1
done
idle() { [ "$(sinfo -h -o '%D %t')" = "2 idle" ]; }
if ! await 90 idle; then
	tap_line 1 "two Slurm nodes are up"
	tail -n 20 "$work"/slurm/out "$work"/slurm/*.log | sed 's/^/# /'
	done_testing
fi

accel=$top_builddir/accel
# What Open MPI leaves behind where it is killed.
export OMPI_MCA_orte_tmpdir_base="$work"
rank=$top_srcdir/tests/hosts/rank.sh
alloc() { # salloc's flags -- command...; fills $out, $said, $status
	timeout 90 salloc -Q "$@" >"$work/out" 2>"$work/said" </dev/null
	status=$?
	out=$(cat "$work/out")
	said=$(cat "$work/said")
}
fresh() { # an empty folder for the ranks
	rm -rf "$work/ranks"
	mkdir -p "$work/ranks"
}
value() { # RANK NAME
	tr '\0' '\n' <"$work/ranks/$1.env" | sed -n "s/^$2=//p"
}
of_all() { echo "$(value 0 "$1") $(value 1 "$1") $(value 2 "$1")"; }
left() { # what the hosts run besides the daemons
	for k in 1 2; do
		ip netns pids "$hosts_tag$k" | while read -r pid; do
			tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null |
				grep -v -e sshd -e slurmd
		done
	done
}
none_left() { [ -z "$(left)" ] && ! squeue -h | grep -q .; }
three_up() { [ "$(ls "$work/ranks" | grep -c argv)" -eq 3 ]; }

# Hosts and slots are the job's.
fresh
alloc -N2 -n3 -- "$accel" launch --cpu --no_python "$rank" "$work/ranks" end \
	'a "b"
c' ''
is "a job of two nodes and three tasks ends well" "$status $said" "0 "
is "on its nodes" "$(cat "$work"/ranks/[0-2].host | tr '\n' ' ')" \
	"accel-host1 accel-host1 accel-host2 "
is "RANK" "$(of_all RANK)" "0 1 2"
is "LOCAL_RANK" "$(of_all LOCAL_RANK)" "0 1 0"
is "MASTER_ADDR is the first node" "$(of_all MASTER_ADDR)" \
	"$host1 $host1 $host1"
is "SLURM_PROCID is the rank" "$(of_all SLURM_PROCID)" "0 1 2"
is "SLURM_LOCALID" "$(of_all SLURM_LOCALID)" "0 1 0"
is "SLURM_NTASKS is the world" "$(of_all SLURM_NTASKS)" "3 3 3"
is "SLURM_STEP_NODELIST has all" "$(of_all SLURM_STEP_NODELIST)" \
	"n1,n2 n1,n2 n1,n2"
printf '%s\0' "$work/ranks" end 'a "b"
c' '' >"$work/want"
ok "arguments arrive byte for byte" cmp "$work/want" "$work/ranks/2.argv"
has "output says node and rank" "$out" "n2:2"
ok "nothing stays" await 20 none_left
is "no copy of the agent stays" "$(ls -d /tmp/accel-agent-* 2>/dev/null)" ""
alloc -N2 -- "$accel" launch --cpu --print --no_python true
has "one task a node: one rank a node" "$out" "   1      0  n2"
head -c 3000000 /dev/urandom >"$work/random"
alloc -N1 -n1 -- "$accel" launch --cpu --no_python cat "$work/random"
ok "three million bytes of a rank arrive as they are" \
	cmp "$work/random" "$work/out"
alloc -N2 -n3 -- "$accel" check --cpu
is "accel check looks at the nodes" "$status" 0
has "at each" "$out" "n2    1"

alloc -N2 -- "$accel" run hostname
is "accel run takes the nodes too" "$status $(sort "$work/out")" \
	"0 n1:0 accel-host1
n2:1 accel-host2"

# Who decides.
fresh
alloc -N2 -n3 -- "$accel" launch --cpu --hosts localhost:2 --no_python \
	"$rank" "$work/ranks" end
is "--hosts wins over the allocation" \
	"$status $(cat "$work"/ranks/[01].host | sort -u) $(value 1 SLURM_PROCID)" \
	"0 $(hostname) "
alloc -N2 -n3 -- "$accel" launch --cpu --transport srun --hosts n2:2 \
	--no_python hostname
is "--transport srun takes them by srun" "$status $(sort "$work/out")" "0 n2:0 accel-host2
n2:1 accel-host2"
alloc -N2 -n3 -- srun -n2 "$accel" launch --cpu --no_python true
has "several launchers are refused" "$said" "srun started 2 of these launchers"
alloc -N2 -n3 -- "$accel" launch --cpu --transport srun --hosts n3:1 \
	--no_python true
is "a node that is not ours" "$status" 1
has "is refused in Slurm's words" "$said" "srun: Unable to create step"
said=$("$accel" launch --cpu --transport srun --no_python true 2>&1)
is "srun without an allocation is refused" \
	"$? ${said%%
*}" "1 accel launch: --transport srun: this is no Slurm allocation"

# Ends.
fresh
alloc -N2 -n3 -- "$accel" launch --cpu --no_python "$rank" "$work/ranks" \
	exit 2 3
is "a rank's exit code is the launcher's" "$status" 3
has "the end names the node" "$said" "n2"
has "and its last words" "$said" "rank 2 gives up"
ok "nothing stays" await 20 none_left
job() { # starts a batch job whose ranks stay; $id
	fresh
	rm -f "$work/code"
	cat >"$work/batch.sh" <<-E3
		#!/bin/sh
		trap : USR1
		"$accel" launch --cpu --grace 2 --no_python $1 >"$work/out" 2>&1 &
		echo \$! >"$work/launcher"
		wait \$!
		echo \$? >"$work/code"
	E3
	id=$(sbatch --parsable -N2 -n3 -o "$work/batch.out" "$work/batch.sh")
	ok "a batch job's ranks run" await 30 three_up
}
job "$rank $work/ranks stay"
scancel "$id"
ok "scancel leaves nothing" await 30 none_left
job "$rank $work/ranks stay"
kill -9 "$(cat "$work/launcher")"
ok "a killed launcher leaves nothing" await 30 none_left
job "$rank $work/ranks stay"
for pid in $(pgrep -P "$(cat "$work/launcher")"); do
	tr '\0' '\n' <"/proc/$pid/cmdline" | grep -qx -e --nodelist=n2 &&
		kill -9 "$pid"
done
ok "a killed srun ends the run" await 30 test -s "$work/code"
has "which names the node" "$(cat "$work/out")" "n2"
ok "and leaves nothing" await 30 none_left
cat >"$work/usr1.sh" <<E2
#!/bin/sh
trap 'echo 1 >>"$work/ranks/\$RANK.usr1"' USR1
: >"$work/ranks/\$RANK.argv"
while [ ! -e "$work/go" ]; do sleep 0.05; done
E2
chmod +x "$work/usr1.sh"
job "$work/usr1.sh"
scancel -s USR1 "$id"
three_told() { [ "$(cat "$work"/ranks/*.usr1 | wc -l)" -eq 3 ]; }
ok "Slurm's warning signal reaches each rank, once" await 10 three_told
: >"$work/go"
ok "and ends nothing else" await 30 test -s "$work/code"
is "the job ends well" "$(cat "$work/code")" 0
ok "nothing stays" await 20 none_left

# A node that does not answer srun: ^C does not wait for it.
kill -STOP "$(cat "$work/slurm/n2.pid")"
cat >"$work/pending.sh" <<E4
#!/bin/sh
"$accel" launch --cpu --no_python true >"$work/out" 2>&1 &
echo \$! >"$work/launcher"
wait \$!
echo \$? >"$work/code"
E4
chmod +x "$work/pending.sh"
rm -f "$work/code" "$work/launcher"
salloc -Q -N2 -n2 "$work/pending.sh" >"$work/said" 2>&1 </dev/null &
salloc=$!
to_n2() {
	[ -s "$work/launcher" ] && pgrep -P "$(cat "$work/launcher")" -f \
		nodelist=n2 >/dev/null
}
ok "a node is waited for" await 30 to_n2
kill -TERM "$(cat "$work/launcher")"
ok "who is told to end does not wait for it" await 15 test -s "$work/code"
kill -CONT "$(cat "$work/slurm/n2.pid")"
wait $salloc
ok "nothing stays" await 30 none_left

if [ -x "$top_builddir/tests/hosts/mpi-sum" ]; then
	alloc -N2 -n2 -- "$accel" launch --cpu --no_python \
		"$top_builddir/tests/hosts/mpi-sum"
	is "an MPICH program sums over both nodes" \
		"$status $(sort "$work/out")" "0 n1:0 sum 3 of 2
n2:1 sum 3 of 2"
else
	skip "built without MPICH"
fi
if [ -x "$top_builddir/tests/hosts/openmpi-sum" ]; then
	alloc -N2 -n3 -- "$accel" launch --cpu --no_python \
		"$top_builddir/tests/hosts/openmpi-sum"
	is "and an Open MPI program" "$status $(sort "$work/out")" \
		"0 n1:0 sum 6 of 3
n1:1 sum 6 of 3
n2:2 sum 6 of 3"
else
	skip "built without PMIx, or no Open MPI here"
fi
done_testing
