# SPDX-License-Identifier: Apache-2.0
%C%_libtrain_la_SOURCES += \
	%D%/fp8.c %D%/fp8.h \
	%D%/group.c \
	%D%/mem_host.c %D%/mem_host.h \
	%D%/optim.h \
	%D%/optim_adafactor.c \
	%D%/optim_adam.c \
	%D%/optim_lion.c \
	%D%/optim_sgd.c \
	%D%/sched.c
%C%_libtrain_la_LIBADD += %D%/libvec.la

# The loops over arrays.  Their pragmas are OpenMP's; nothing of its library is
# used.  No contraction: the same bits with and without FMA units.
noinst_LTLIBRARIES += %D%/libvec.la
%C%_libvec_la_SOURCES = %D%/vec.c %D%/vec.h
%C%_libvec_la_CFLAGS  = $(AM_CFLAGS) -fopenmp-simd -ffp-contract=off \
	-fno-math-errno -fno-trapping-math
if SANITIZERS
%C%_libvec_la_CPPFLAGS = $(AM_CPPFLAGS) -DVEC_PLAIN
endif
