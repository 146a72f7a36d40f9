# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += %D%/pickle %D%/torchfile %D%/weights
TESTS += %D%/pickle %D%/torchfile %D%/weights
%C%_pickle_SOURCES = %D%/pickle.c tests/tap.h
%C%_pickle_LDADD = runtime/weights/libweights.la
%C%_torchfile_SOURCES = %D%/torchfile.c tests/tap.h
%C%_torchfile_LDADD = runtime/weights/libweights.la
%C%_weights_SOURCES = %D%/weights.c tests/tap.h
%C%_weights_LDADD = runtime/weights/libweights.la
