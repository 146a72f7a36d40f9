# SPDX-License-Identifier: Apache-2.0
if HAVE_BLAS
noinst_PROGRAMS += %D%/adder
%C%_adder_SOURCES = %D%/adder.c
%C%_adder_CFLAGS  = $(AM_CFLAGS) -O3 $(BLAS_CFLAGS)
%C%_adder_LDADD   = libaccel.la $(BLAS_LIBS) -lm
endif
