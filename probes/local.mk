# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += %D%/libprobes.la
%C%_libprobes_la_SOURCES = \
	%D%/child.c \
	%D%/cuda.c \
	%D%/devices.c %D%/devices.h \
	%D%/machine.c \
	%D%/net.c \
	%D%/probe.h \
	%D%/packages.c \
	%D%/python.c \
	%D%/software.c %D%/software.h \
	%D%/quick.c %D%/quick.h \
	%D%/site.c \
	%D%/text.c
%C%_libprobes_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DMULTIARCH='"$(host_cpu)-linux-gnu"'
%C%_libprobes_la_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS)
%C%_libprobes_la_LIBADD = runtime/base/libbase.la $(HWLOC_LIBS)
