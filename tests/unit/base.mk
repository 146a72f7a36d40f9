# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += %D%/base
TESTS += %D%/base
%C%_base_SOURCES = %D%/base.c tests/tap.h
%C%_base_LDADD = runtime/base/libbase.la
check_PROGRAMS += %D%/safetensors
TESTS += %D%/safetensors
%C%_safetensors_SOURCES = %D%/safetensors.c tests/tap.h
%C%_safetensors_LDADD = runtime/base/libtensorfile.la runtime/base/libbase.la
check_PROGRAMS += %D%/lines
TESTS += %D%/lines
%C%_lines_SOURCES = %D%/lines.c tests/tap.h
%C%_lines_LDADD = runtime/base/libbase.la
check_PROGRAMS += %D%/half
TESTS += %D%/half
%C%_half_SOURCES = %D%/half.c tests/tap.h
%C%_half_LDADD = runtime/base/libbase.la -lm
