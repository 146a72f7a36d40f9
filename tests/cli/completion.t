#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Completion: what is offered, and that real shells put it in place.
. "${top_srcdir:-.}/tests/tap.sh"
accel=$top_builddir/accel
HOME=$work
export HOME
cd "$work" || exit 1
mkdir -p .ssh bin
printf 'Host gpu-1 gpu-2 *.lab\n\tUser me\nhost=login\nMatch all\n' >.ssh/config

# The words that fit, one line: [WORD ...].  The last is what is completed.
fit() {
	echo "[$("$accel" __complete accel "$@" | cut -f1 | tr '\n' ' ')]"
}

# What is offered.
is "commands" "$(fit co | tr -d '[]')" "config completion "
is "commands below" "$(fit config s)" "[show set ]"
is "what is hidden is not offered" "$(fit __)" "[]"
is "help has commands, not flags" "$(fit help config di)" "[diff ]"
is "flags of a command" "$(fit config show --or)" "[--origin ]"
is "flags of fields" "$(fit launch --fsdp_v)" "[--fsdp_version ]"
is "with hyphens for who likes them" "$(fit launch --fsdp-v)" \
	"[--fsdp-version ]"
is "choices" "$(fit launch --mixed_precision f)" "[fp16 fp8 ]"
is "behind an equals sign too" "$(fit launch --mixed-precision=b)" \
	"[--mixed-precision=bf16 ]"
is "files" "$(fit config show --config_file '')" "[:file ]"
is "a script is a file" "$(fit launch --debug '')" "[:file ]"
is "its arguments are not accel's" "$(fit launch x.py --fsdp)" "[:file ]"
is "folders" "$(fit launch --log_dir '')" "[:folder ]"
is "a number has nothing to offer" "$(fit launch --num_processes '')" "[]"
is "hosts, without patterns" "$(fit launch --hosts gpu-1,)" \
	"[:nospace gpu-1,localhost gpu-1,gpu-1 gpu-1,gpu-2 gpu-1,login ]"
echo 'Host other' >ssh
is "of the file that was named" \
	"$(fit launch --ssh_config ssh --hosts o)" "[:nospace other ]"
is "keys" "$(fit config explain mixed)" "[mixed_precision ]"
is "keys to set" "$(fit config set mixed)" "[:nospace mixed_precision= ]"
is "in a section" "$(fit config set fsdp.fsdp_vers)" \
	"[:nospace fsdp.fsdp_version= ]"
is "and their values" "$(fit config set debug=1 mixed_precision=b)" \
	"[mixed_precision=bf16 ]"
is "no more words than a command takes" "$(fit config explain debug m)" "[]"
is "templates, each by its name" "$(fit config new deepspeed)" \
	"[$("$accel" config new | cut -d' ' -f1 | grep ^deepspeed- | tr '\n' ' ')]"
is "then a file" "$(fit config new fsdp '')" "[:file ]"
is "shells" "$(fit completion '')" "[bash zsh fish ]"
is "nothing for nonsense" "$(fit config show --none=)" "[]"
"$top_builddir/accel-setup" --help | grep -o -e '--[a-z][a-z_-]*' | sort -u \
	>listed
"$accel" __complete accel-setup -- | cut -f1 | sort -u >offered
ok "accel-setup's flags are those of its --help" diff listed offered
"$accel" __complete accel launch -- | cut -f1 | sort -u >offered
"$accel" launch --help | grep -o '^ *\(-., \)\?--[a-z0-9_]*' |
	grep -o -e '--.*' | sort -u >listed
ok "launch's as well" diff listed offered
for shell in bash:accel zsh:_accel fish:accel.fish; do
	"$accel" completion "${shell%:*}" >printed
	ok "the file for ${shell%:*} is printed" \
		cmp printed "$top_srcdir/runtime/cli/completion/${shell#*:}"
done
"$accel" completion ksh 2>err
is "another shell is wrong usage" $? 2

# Real shells.  This accel answers as the real one does, and else notes its
# words.
cat >bin/accel <<-END
	#!/bin/sh
	[ "\$1" != __complete ] || exec "$accel" "\$@"
	{
		printf '[%s]' "\$@"
		echo
	} >>"$work/args"
END
chmod +x bin/accel
ln -s accel bin/accel-setup
PATH=$work/bin:$PATH
export PATH
touch 'my file.yaml'
# A tab where a person would press it.
typed() {
	printf '%s\t\n' 'accel config sh' 'accel config show --config_file my' \
		'accel config show --config_file=my' \
		'accel launch --mixed-precision=bf' \
		'accel config set mixed_precision=bf'
	# No blank behind these: what comes next belongs to the word.
	printf 'accel config set fsdp_vers\t2\n'
	printf 'accel launch --hosts logi\t,gpu-1\n'
	printf 'accel-setup --no-c\t\nexit\n'
}
want="[config][show]
[config][show][--config_file][my file.yaml]
[config][show][--config_file=my file.yaml]
[launch][--mixed-precision=bf16]
[config][set][mixed_precision=bf16]
[config][set][fsdp_version=2]
[launch][--hosts][login,gpu-1]
[--no-color]"
"$accel" completion bash >rc
mkdir -p z
{
	echo 'autoload -U compinit; compinit -u -D; unsetopt prompt_sp'
	"$accel" completion zsh
} >z/.zshrc
interactive() { # SHELL COMMAND
	if ! command -v "$1" >/dev/null || ! command -v script >/dev/null; then
		skip "no $1, or no script(1)"
		return
	fi
	: >args
	typed | TERM=dumb ZDOTDIR=$work/z timeout 60 script -qec "$2" /dev/null \
		>session
	is "$1 completes" "$(cat args)" "$want"
}
interactive bash "bash --noprofile --rcfile rc -i"
interactive zsh "zsh -i"
if command -v fish >/dev/null; then
	"$accel" completion fish >accel.fish
	offers() { # SENTENCE LINE WANT
		is "fish completes $1" "$(fish --no-config -c \
		    'source accel.fish; complete -C $argv[1]' "$2" |
		    cut -f1)" "$3"
	}
	offers "a command" 'accel config sh' show
	offers "a file" 'accel config show --config_file my' 'my file.yaml'
	offers "behind an equals sign" 'accel config show --config_file=my' \
		'--config_file=my file.yaml'
	offers "a value" 'accel config set mixed_precision=bf' \
		mixed_precision=bf16
	offers "accel-setup" 'accel-setup --no-c' --no-color
else
	skip "no fish"
fi
done_testing
