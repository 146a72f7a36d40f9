# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += %D%/ladder
TESTS += %D%/ladder
%C%_ladder_SOURCES = %D%/ladder.c %D%/port.h tests/tap.h
%C%_ladder_LDADD   = libaccel.la runtime/base/libbase.la -lm
