# SPDX-License-Identifier: Apache-2.0
# Training over ranks of one program, and the loss scale.
check_PROGRAMS += tests/train/ladder tests/train/scaler
TESTS += tests/train/ladder tests/train/scaler
tests_train_ladder_SOURCES = tests/train/ladder.c tests/train/port.h \
	tests/train/precision.h tests/tap.h
tests_train_ladder_LDADD   = libaccel.la runtime/base/libbase.la -lm
tests_train_scaler_SOURCES = tests/train/scaler.c tests/tap.h
tests_train_scaler_LDADD   = libaccel.la -lm

check_PROGRAMS += tests/train/parallel
TESTS += tests/train/parallel
tests_train_parallel_SOURCES = tests/train/parallel.c tests/train/two.h tests/train/world.h tests/tap.h
tests_train_parallel_LDADD   = runtime/train/libtrain.la

check_PROGRAMS += tests/train/faults
TESTS += tests/train/faults
tests_train_faults_SOURCES = tests/train/faults.c tests/train/port.h tests/train/world.h tests/tap.h
tests_train_faults_LDADD   = runtime/train/libtrain.la

check_PROGRAMS += tests/train/signals
TESTS += tests/train/signals
tests_train_signals_SOURCES = tests/train/signals.c tests/train/folder.h tests/train/world.h tests/tap.h
tests_train_signals_LDADD   = runtime/train/libtrain.la

check_PROGRAMS += tests/train/sweep
TESTS += tests/train/sweep
tests_train_sweep_SOURCES = tests/train/sweep.c tests/train/port.h tests/train/world.h tests/tap.h
tests_train_sweep_LDADD   = runtime/train/libtrain.la -lm

check_PROGRAMS += tests/train/killed
TESTS += tests/train/killed
tests_train_killed_SOURCES = tests/train/killed.c tests/train/folder.h tests/train/port.h tests/train/world.h tests/tap.h
tests_train_killed_LDADD   = runtime/train/libtrain.la

check_PROGRAMS += tests/train/hooks
TESTS += tests/train/hooks
tests_train_hooks_SOURCES = tests/train/hooks.c tests/train/two.h tests/train/world.h tests/tap.h
tests_train_hooks_LDADD   = runtime/train/libtrain.la
