# SPDX-License-Identifier: Apache-2.0
if HAVE_BLAS
noinst_PROGRAMS += %D%/adder
%C%_adder_SOURCES = %D%/adder.c
%C%_adder_CFLAGS  = $(AM_CFLAGS) -O3 $(BLAS_CFLAGS)
%C%_adder_LDADD   = libaccel.la $(BLAS_LIBS) -lm
endif

# A first program in C++: tests/train/install.t builds it from what is installed.
EXTRA_DIST += %D%/first.cc

# A program for one process, and what ten lines make of it.
noinst_PROGRAMS += %D%/chars
%C%_chars_SOURCES = %D%/chars.c
%C%_chars_CFLAGS  = $(AM_CFLAGS) -O3
%C%_chars_LDADD   = -lm
check_PROGRAMS += %D%/chars-ranks
nodist_%C%_chars_ranks_SOURCES  = %D%/chars-ranks.c
%C%_chars_ranks_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/runtime/train
# Its own optimizer is no longer called.
%C%_chars_ranks_CFLAGS   = $(AM_CFLAGS) -O3 -Wno-unused-function
%C%_chars_ranks_LDADD    = libaccel.la -lm
EXTRA_DIST += %D%/chars.patch
CLEANFILES += %D%/chars-ranks.c
%D%/chars-ranks.c: %D%/chars.c %D%/chars.patch
	$(AM_V_GEN)$(MKDIR_P) %D% && patch -s -o $@ $(srcdir)/%D%/chars.c \
		$(srcdir)/%D%/chars.patch
