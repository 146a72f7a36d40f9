# SPDX-License-Identifier: Apache-2.0
# Open MPI programs: libpmix is opened at run time.
if HAVE_PMIX
libexec_PROGRAMS += accel-pmix
accel_pmix_SOURCES = \
	%D%/pmix.c \
	%D%/pmix_kvs.c    %D%/pmix_kvs.h \
	%D%/pmix_server.c %D%/pmix_server.h
accel_pmix_CPPFLAGS = $(AM_CPPFLAGS) $(PMIX_CFLAGS)
accel_pmix_LDADD = runtime/base/libbase.la -ldl
endif
