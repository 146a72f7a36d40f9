#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tree keeps its own rules.
. "${top_srcdir:-.}/tests/tap.sh"
cd "$top_srcdir" || exit 1
order="runtime/base runtime/weights runtime/config probes runtime/device
runtime/train runtime/launch runtime/cli tui"

# What a folder may include: itself and those before it.  libaccel, which other
# people's programs link, knows nothing of configuration and probes.
upward() {
	before=
	for folder in $order; do
		case $folder in
		runtime/device) allowed="runtime/base runtime/device" ;;
		runtime/train) allowed="runtime/base runtime/device runtime/train" ;;
		*) allowed="$before $folder" ;;
		esac
		find "$folder" -maxdepth 1 \( -name '*.[ch]' -o -name '*.cu' \) |
		    xargs grep -Hno '^#include "[^"]*/' | while IFS=: read -r file line include; do
			target=${include#*\"}
			target=${target%/}
			case " $(echo $allowed) " in
			*" $target "*) ;;
			*) echo "$file:$line includes $target" ;;
			esac
		done
		before="$before $folder"
	done
}
is "no include goes up the order of the folders" "$(upward)" ""

licence() {
	find runtime probes tui templates examples man tests \
	    \( -name '*.[chS]' -o -name '*.cc' -o -name '*.cu' -o -name '*.def' \
	    -o -name '*.mk' -o -name '*.t' -o -name '*.sh' -o -name '*.py' \
	    -o -name '*.[135]' -o -name '*.yaml' \) \
	    -exec sh -c 'head -n 3 "$1" | grep -q "SPDX-License-Identifier: Apache-2.0" ||
		echo "$1"' _ {} \;
}
is "each file names its licence" "$(licence)" ""

for header in $(find runtime probes tui tests -name '*.h' ! -name '*undef*' | sort); do
	ok "$header compiles alone" sh -c "echo '#include \"$header\"' |
	    ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -DPACKAGE_VERSION='\"0\"' \
	    -I. -idirafter tests/fake/cuda -Werror -Wall -Wno-unused-function -Wno-unused-variable \
	    -fsyntax-only -x c -"
done
done_testing
