# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += tests/train/optim
TESTS += tests/train/optim
EXTRA_DIST += tests/data/optim.txt
tests_train_optim_SOURCES = tests/train/optim.c tests/tap.h
tests_train_optim_LDADD   = libaccel.la -lm
