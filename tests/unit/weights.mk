# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += %D%/pickle %D%/weights
TESTS += %D%/pickle %D%/weights
%C%_pickle_SOURCES = %D%/pickle.c tests/tap.h
%C%_pickle_LDADD = runtime/weights/libweights.la
%C%_weights_SOURCES = %D%/weights.c tests/tap.h
%C%_weights_LDADD = runtime/weights/libweights.la
