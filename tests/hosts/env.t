#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What ranks on other hosts get: arguments and environment byte for byte, an
# activated environment, and secrets that nobody else sees.
. "${top_srcdir:-.}/tests/tap.sh"
. "$top_srcdir/tests/hosts/netns.sh"
hosts_up 2
HF_HOME=$work/hf
XDG_STATE_HOME=$work/state
export HF_HOME XDG_STATE_HOME

rank=$top_srcdir/tests/hosts/rank.sh
both=$host1:2,$host2:1
launch() { # flags...; fills $said, $status
	timeout 60 "$top_builddir/accel" launch --cpu --no_preflight \
		--ssh_config "$ssh_config" --hosts "$both" "$@" \
		>"$work/out" 2>"$work/said" </dev/null
	status=$?
	said=$(cat "$work/said")
}
fresh() {
	rm -rf "$work/ranks"
	mkdir -p "$work/ranks"
}
value() { # RANK NAME
	tr '\0' '\n' <"$work/ranks/$1.env" | sed -n "s/^$2=//p"
}

# A login shell that talks, before the agent does.
for k in 1 2; do
	echo "echo Welcome to $k; printf '\\001\\002\\003bell\\a'" \
		>"$(host_home $k)/.bashrc"
done
fresh
cat >"$work/bytes.py" <<'PY'
# 200 arguments and 200 values of any bytes but NUL, on every rank.
import os, random, subprocess, sys
random.seed(5)
def word():
    return bytes(random.choice(range(1, 256)) for _ in range(random.randrange(60)))
words = [word() for _ in range(200)]
values = {b"V%d" % i: word() for i in range(200)}
flags = [w for n, v in values.items() for w in (b"--env", n + b"=" + v)]
accel, config, hosts, rank, ranks = map(os.fsencode, sys.argv[1:])
subprocess.run([accel, b"launch", b"--cpu", b"--ssh_config", config, b"--hosts",
                hosts] + flags + [b"--no_python", rank, ranks, b"end"] + words,
               check=True, timeout=60, stdout=subprocess.DEVNULL)
want = b"\0".join([ranks, b"end"] + words) + b"\0"
for r in range(3):
    path = os.fsdecode(ranks) + "/%d" % r
    assert open(path + ".argv", "rb").read() == want, r
    items = open(path + ".env", "rb").read().split(b"\0")
    got = dict(i.split(b"=", 1) for i in items if b"=" in i)
    assert all(got[n] == v for n, v in values.items()), r
PY
ok "200 random arguments and values arrive on every rank, past a noisy shell" \
	python3 "$work/bytes.py" "$top_builddir/accel" "$ssh_config" "$both" \
	"$rank" "$work/ranks"

# Patterns and files.
fresh
printf '# none\nFROM_FILE="a file"\nBOTH=file\n' >"$work/vars"
WANDB_MODE=online WANDB_DIR='a b' launch --env 'WANDB_*' \
	--env_file "$work/vars" --env BOTH=flag --no_python "$rank" \
	"$work/ranks" end
is "--env takes patterns" "$(value 2 WANDB_MODE) $(value 2 WANDB_DIR)" \
	"online a b"
is "--env_file is read, and a flag wins" "$(value 1 FROM_FILE) $(value 1 BOTH)" \
	"a file flag"
printf 'A=1\nTOKEN of mine\n' >"$work/vars"
launch --env_file "$work/vars" --no_python "$rank" "$work/ranks" end
is "a bad line is a usage error" "$status" 2
has "that names it" "$said" "$work/vars:2: not NAME=VALUE"
is "and not what it says" "$(grep -c mine "$work/said")" 0

# Secrets.
secret=s3cr3t$$x$(date +%s%N)
fresh
printf 'KEY=%s\n' "$secret" >"$work/vars"
chmod 600 "$work/vars"
TOKEN=$secret "$top_builddir/accel" launch --cpu --env TOKEN \
	--env_file "$work/vars" --ssh_config "$ssh_config" --hosts "$both" \
	--no_python "$rank" "$work/ranks" stay >"$work/out" 2>"$work/said" \
	</dev/null &
held=$!
await 30 test -s "$work/ranks/2.argv"
is "a secret arrives" "$(value 2 TOKEN) $(value 0 KEY)" "$secret $secret"
# From a file: grep's own command line would have it.
echo "$secret" >"$work/pattern"
is "it is in no command line of any host" \
	"$(cat /proc/[0-9]*/cmdline 2>/dev/null | grep -acf "$work/pattern")" 0
rm "$work/ranks"/*.env "$work/vars" "$work/pattern"
is "in no file that was written, nor in a log" \
	"$(grep -rl "$secret" "$work" | grep -v '/\.tap$')" ""
is "(a file with it would be found)" \
	"$(echo "$secret" >"$work/ranks/it" && grep -rl "$secret" "$work")" \
	"$work/ranks/it"
kill -INT "$held"
wait "$held"
rm -f "$work/ranks/it"

# Environments.
for k in 1 2; do
	env=$(host_home $k)/env
	mkdir -p "$env/bin"
	echo "VIRTUAL_ENV=$home/env PATH=$home/env/bin:\$PATH
export VIRTUAL_ENV PATH
hash -r" >"$env/bin/activate"
	printf '#!/bin/sh\nNAME=prog%s exec %s "$@"\n' "$k" "$rank" \
		>"$env/bin/prog"
	chmod +x "$env/bin/prog"
	# What a script may do: shout, and set what is hard to carry.
	cat >"$(host_home $k)/odd.sh" <<-'SH'
		echo shouting; echo more >&2
		export ODD=$(printf 'two\nlines \001 "q" $x `y`')
		unset LOGNAME
		sleep 300 &
	SH
	printf 'echo first\necho "module gcc: no such module" >&2\nreturn 7\n' \
		>"$(host_home $k)/fails.sh"
	echo "exit 0" >"$(host_home $k)/exits.sh"
done
fresh
launch --activate "$home/env" --no_python prog "$work/ranks" end
is "a program of a venv is found" "$status $(value 2 VIRTUAL_ENV)" \
	"0 $home/env"
fresh
launch --activate "$home/odd.sh" --no_python "$rank" "$work/ranks" end
is "what a script leaves is carried exactly" "$(value 2 ODD | head -1)" two
ok "to the byte" python3 -c 'import sys
e = open(sys.argv[1], "rb").read().split(b"\0")
sys.exit(b"ODD=two\nlines \x01 \"q\" $x `y`" not in e or
    any(i.startswith(b"LOGNAME=") or i.startswith(b"A_=") for i in e))' \
	"$work/ranks/2.env"
launch --activate "$home/fails.sh" --no_python "$rank" "$work/ranks" end
is "a script that fails is an error" "$status" 1
has "with its code and last line" "$said" \
	"--activate $home/fails.sh: exit code 7: module gcc: no such module"
launch --activate "$home/exits.sh" --no_python "$rank" "$work/ranks" end
has "so is one that ends the shell" "$said" \
	"$home/exits.sh: it ended the shell"
rm "$(host_home 2)/env/bin/activate"
fresh
launch --activate "$home/env" --no_python prog "$work/ranks" end
is "one that one host lacks too" "$status $(ls "$work/ranks")" "1 "
has "by its host" "$said" "$host2"
mkdir -p "$(host_home 1)/conda/conda-meta" "$(host_home 1)/conda/etc/conda/activate.d"
echo 'export FROM_D=$CONDA_PREFIX' \
	>"$(host_home 1)/conda/etc/conda/activate.d/a.sh"
both=$host1:2
fresh
launch --activate "$home/conda" --no_python "$rank" "$work/ranks" end
is "a conda environment, its scripts too" \
	"$(value 1 CONDA_PREFIX) $(value 1 FROM_D)" "$home/conda $home/conda"

# The agent's file: where XDG_CACHE_HOME says, and old ones go.
cache=$(host_home 1)/.cache/accel
touch -d '40 days ago' "$cache/agent-0123456789abcdef" "$cache/other"
touch -d '20 days ago' "$cache/agent-fedcba9876543210"
launch --no_python "$rank" "$work/ranks" end
is "an agent of long ago is removed, and nothing else" \
	"$(ls "$cache" | grep -c -e other -e fedc -e 0123)" 2
rm -rf "$cache"
echo "export XDG_CACHE_HOME=$home/elsewhere" >>"$(host_home 1)/.bashrc"
launch --no_python "$rank" "$work/ranks" end
is "XDG_CACHE_HOME of the host is honoured" \
	"$status $(ls "$(host_home 1)/elsewhere/accel" | grep -c '^agent-') $(
	ls -d "$cache" 2>/dev/null)" "0 1 "
done_testing
