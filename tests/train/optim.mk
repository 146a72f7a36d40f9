# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += tests/train/optim
TESTS += tests/train/optim tests/train/optims.t
dist_check_SCRIPTS += tests/train/optims.t
EXTRA_DIST += tests/data/optim.txt
tests_train_optim_SOURCES = tests/train/optim.c tests/tap.h
tests_train_optim_LDADD   = libaccel.la -lm

check_PROGRAMS += tests/train/schedule
TESTS += tests/train/schedule tests/train/schedules.t
dist_check_SCRIPTS += tests/train/schedules.t
EXTRA_DIST += tests/data/schedule.txt
tests_train_schedule_SOURCES = tests/train/schedule.c tests/tap.h
tests_train_schedule_LDADD   = libaccel.la -lm

check_PROGRAMS += tests/train/fp8
TESTS += tests/train/fp8
EXTRA_DIST += tests/data/fp8.txt
tests_train_fp8_SOURCES = tests/train/fp8.c tests/tap.h
tests_train_fp8_LDADD   = libaccel.la -lm

check_PROGRAMS += tests/train/optim_cxx
TESTS += tests/train/optim_cxx
tests_train_optim_cxx_SOURCES = tests/train/optim_cxx.cc
tests_train_optim_cxx_LDADD   = libaccel.la

# Compiled with the flags of libvec, so that nothing but the target differs.
check_PROGRAMS += tests/train/vec
TESTS += tests/train/vec
tests_train_vec_SOURCES = tests/train/vec.c tests/train/vec_plain.c \
	tests/tap.h
tests_train_vec_CFLAGS  = $(runtime_train_libvec_la_CFLAGS)
tests_train_vec_LDADD   = runtime/train/libtrain.la -lm

check_PROGRAMS += tests/train/optim_resume
TESTS += tests/train/optim_resume
tests_train_optim_resume_SOURCES = tests/train/optim_resume.c \
	tests/train/folder.h tests/tap.h
tests_train_optim_resume_LDADD   = runtime/train/libtrain.la
