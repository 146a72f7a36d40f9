#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is installed serves C, C++ and CUDA programs, by pkg-config and by CMake.
. "${top_srcdir:-.}/tests/tap.sh"
dest=$work/dest
unset MAKEFLAGS MAKELEVEL MFLAGS LD_LIBRARY_PATH
unset PMI_FD PMI_RANK PMI_SIZE PMI_PORT RANK WORLD_SIZE
if [ -n "$ACCEL_SANITIZED" ]; then
	skip "a program of others has no sanitizer"
	done_testing
fi
setting() { # NAME: as configure has it
	sed -n "s/^$1 = //p" "$top_builddir/Makefile"
}
ok "libaccel installs" make -s -C "$top_builddir" DESTDIR="$dest" \
	install-libLTLIBRARIES install-pkglibLTLIBRARIES \
	install-includeHEADERS install-pkgconfigDATA install-cmakeDATA
pc=$(find "$dest" -name accel.pc)
lib=$(dirname "$(dirname "$pc")")
for file in libaccel.so cmake/accel/accelConfig.cmake; do
	ok "$file is there" test -e "$lib/$file"
done
cat >"$work/main.c" <<'END'
#include <accel.h>
#include <stdio.h>

int
main(void)
{
	static float w[2], g[2];
	accel_tensor t = { "w", w, g, ACCEL_F32, 0, 1, { 2 } };
	accel *a;

	if (accel_init(NULL, &a) != ACCEL_OK ||
	    accel_unit(a, "u", &t, 1, NULL) != ACCEL_OK ||
	    accel_prepare(a, 0) != ACCEL_OK || accel_fini(a) != ACCEL_OK)
		return 1;
	printf("%d\n", accel_version());
	return 0;
}
END
version=$(sed -n 's/^#define ACCEL_VERSION \([0-9]*\).*/\1/p' \
	"$top_srcdir/runtime/train/accel.h")

# The header alone is enough for strict compilers.
for std in c11 c2x; do
	ok "accel.h is C ($std), without a warning" ${CC:-cc} -std=$std \
		-Wall -Wextra -Wpedantic -Werror -I"$dest$(setting includedir |
		sed "s|\${prefix}|$(setting prefix)|")" -fsyntax-only \
		"$work/main.c"
done
cp "$work/main.c" "$work/main.cc"
ok "and C++" ${CXX:-c++} -std=c++17 -Wall -Wextra -Werror \
	-I"$(find "$dest" -name include)" -fsyntax-only "$work/main.cc"

# examples/first.cc, on one rank and on two.
first=$top_srcdir/examples/first.cc
learns() { # PROGRAM RANKS: the program's own arguments are none
	if [ "$2" = 1 ]; then
		LD_LIBRARY_PATH=$lib "$1" >"$work/out" 2>&1
	else
		LD_LIBRARY_PATH=$lib timeout 120 "$top_builddir/accel" launch \
			--cpu --num_processes "$2" --no_python "$1" \
			>"$work/out" 2>&1
	fi || { cat "$work/out"; return 1; }
	awk -v ranks="$2" '{ print } /ranks: / { sub(".*ranks: ", "")
		good = $1 + 0 == ranks && $3 < 0.001 } END { exit !good }' \
		"$work/out"
}
ok "the first program is C++ without a warning" ${CXX:-c++} -std=c++11 \
	-Wall -Wextra -Wpedantic -Werror -I"$(find "$dest" -name include)" \
	-fsyntax-only "$first"

export PKG_CONFIG_PATH="$lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$dest"
if command -v pkg-config >/dev/null; then
	flags=$(pkg-config --cflags --libs accel)
	ok "pkg-config's flags build a program" ${CC:-cc} "$work/main.c" \
		-o "$work/by-pc" $flags
	is "that runs" "$(LD_LIBRARY_PATH=$lib "$work/by-pc" 2>&1)" "$version"
	ok "and the first program" ${CXX:-c++} "$first" -o "$work/first" $flags
	ok "that learns" learns "$work/first" 1
	if [ -e "$top_builddir/.libs/libaccel-mpi.so" ]; then
		ok "on two ranks too" learns "$work/first" 2
	else
		skip "built without MPICH"
	fi
else
	skip "no pkg-config"
fi

if command -v cmake >/dev/null; then
	mkdir "$work/project"
	cp "$work/main.c" "$first" "$work/project"
	cat >"$work/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.13)
project(consumer C CXX)
find_package(accel 0.1 CONFIG REQUIRED)
add_executable(main main.c)
target_link_libraries(main accel::accel)
add_executable(first first.cc)
target_link_libraries(first accel::accel)
END
	ok "CMake finds it" cmake -S "$work/project" -B "$work/cmake" \
		-DCMAKE_PREFIX_PATH="$dest$(setting prefix)"
	ok "and builds" cmake --build "$work/cmake"
	is "a program that runs" "$("$work/cmake/main" 2>&1)" "$version"
	ok "and the first one" learns "$work/cmake/first" 1
	sed -i 's/accel 0.1/accel 0.9/' "$work/project/CMakeLists.txt"
	cmake -S "$work/project" -B "$work/cmake2" \
		-DCMAKE_PREFIX_PATH="$dest$(setting prefix)" >"$work/out" 2>&1
	is "another version is refused" $? 1
else
	skip "no cmake"
fi

nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc)
if [ -n "$nvcc" ]; then
	cat "$work/main.c" - >"$work/main.cu" <<'END'
__global__ void
scale(float *x, float by)
{
	x[threadIdx.x] *= by;
}
END
	ok "a CUDA file includes it" "$nvcc" -Xcompiler -Wall,-Werror \
		-I"$(find "$dest" -name include)" -c "$work/main.cu" \
		-o "$work/main.cu.o"
else
	skip "no nvcc"
fi
done_testing
