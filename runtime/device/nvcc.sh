#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nvcc.sh NVCC ARGUMENTS: nvcc, called as libtool calls a compiler: hands on what
# only the host's compiler under it knows.
nvcc=$1
shift
for arg; do
	shift
	case $arg in
	-fPIC | -fpic | -fPIE | -fpie | -fno-* | -W[a-z]*) set -- "$@" -Xcompiler "$arg" ;;
	*) set -- "$@" "$arg" ;;
	esac
done
exec "$nvcc" "$@"
