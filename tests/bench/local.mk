# SPDX-License-Identifier: Apache-2.0
# Built and run by hand: make tests/bench/vec && tests/bench/vec
EXTRA_PROGRAMS += tests/bench/vec
CLEANFILES += tests/bench/vec
EXTRA_DIST += tests/bench/adamw.py tests/bench/screens.py
tests_bench_vec_SOURCES = tests/bench/vec.c
tests_bench_vec_CFLAGS  = $(AM_CFLAGS) -fopenmp-simd -fno-math-errno \
	-fassociative-math -fno-signed-zeros -fno-trapping-math
tests_bench_vec_LDADD   = runtime/train/libtrain.la
# Checkpoints: tests/bench/save [MILLIONS [DIR]]
EXTRA_PROGRAMS += tests/bench/save
CLEANFILES += tests/bench/save
tests_bench_save_SOURCES = tests/bench/save.c
tests_bench_save_LDADD   = libaccel.la runtime/base/libbase.la
# Beside MPI itself; tests/bench/train.py runs it beside torch as well.
EXTRA_DIST += tests/bench/train.py
if HAVE_BLAS
if HAVE_MPICH
EXTRA_PROGRAMS += tests/bench/train
CLEANFILES += tests/bench/train
tests_bench_train_SOURCES  = tests/bench/train.c
tests_bench_train_CPPFLAGS = $(AM_CPPFLAGS) $(MPICH_CFLAGS)
tests_bench_train_CFLAGS   = $(AM_CFLAGS) -O3 $(BLAS_CFLAGS)
tests_bench_train_LDADD    = libaccel.la $(MPICH_LIBS) $(BLAS_LIBS)
endif
endif
