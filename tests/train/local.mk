# SPDX-License-Identifier: Apache-2.0
train_tests = %D%/loader %D%/cxx
check_PROGRAMS += $(train_tests) %D%/rank
TESTS += $(train_tests) %D%/ranks.t
dist_check_SCRIPTS += %D%/ranks.t
%C%_loader_SOURCES = %D%/loader.c %D%/deal.h
%C%_loader_LDADD   = runtime/train/libtrain.la
%C%_cxx_SOURCES    = %D%/cxx.cc
%C%_cxx_LDADD      = libaccel.la
%C%_rank_SOURCES   = %D%/rank.c
%C%_rank_LDADD     = libaccel.la

check_PROGRAMS += %D%/alone
TESTS += %D%/alone
%C%_alone_SOURCES = %D%/alone.c
%C%_alone_LDADD   = libaccel.la -lm

# Ranks of one program.
check_PROGRAMS += %D%/loaders %D%/spawn %D%/user
TESTS += %D%/loaders %D%/spawn %D%/user
%C%_loaders_SOURCES = %D%/loaders.c %D%/world.h
%C%_loaders_LDADD   = runtime/train/libtrain.la
%C%_spawn_SOURCES = %D%/spawn.c %D%/world.h
%C%_spawn_LDADD   = runtime/train/libtrain.la
%C%_user_SOURCES  = %D%/user.c %D%/world.h
%C%_user_LDADD    = runtime/train/libtrain.la

check_PROGRAMS += %D%/source
TESTS += %D%/source
%C%_source_SOURCES = %D%/source.c
%C%_source_LDADD   = runtime/train/libtrain.la

# For tests/python/loaders.t.
check_PROGRAMS += %D%/deal
%C%_deal_SOURCES = %D%/deal.c %D%/deal.h
%C%_deal_LDADD   = runtime/train/libtrain.la

# For tests/python/powersgd.t.
check_PROGRAMS += %D%/powersgd
%C%_powersgd_SOURCES = %D%/powersgd.c
%C%_powersgd_LDADD   = runtime/train/libtrain.la -lm
