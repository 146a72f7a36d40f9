# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += %D%/libprobes.la
%C%_libprobes_la_SOURCES = \
	%D%/advise.c %D%/advise.h \
	%D%/attribute.c %D%/attribute.h \
	%D%/child.c \
	%D%/cuda.c \
	%D%/devices.c %D%/devices.h \
	%D%/fleet.h %D%/fleet_read.c %D%/fleet_text.c %D%/fleet_write.c \
	%D%/facts.h %D%/facts_gpu.c %D%/facts_nic.c %D%/facts_system.c \
	%D%/facts_take.c \
	%D%/hwloc.c \
	%D%/machine.c %D%/machine.h \
	%D%/net.c \
	%D%/nvml.c \
	%D%/probe.c %D%/probe.h \
	%D%/relate.c \
	%D%/sysfile.c %D%/sysfile.h \
	%D%/topology.c %D%/topology.h \
	%D%/packages.c \
	%D%/python.c \
	%D%/software.c %D%/software.h \
	%D%/quick.c %D%/quick.h \
	%D%/site.c \
	%D%/smi.c %D%/smi.h \
	%D%/text.c
%C%_libprobes_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DMULTIARCH='"$(host_cpu)-linux-gnu"'
%C%_libprobes_la_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS) $(JANSSON_CFLAGS)
%C%_libprobes_la_LIBADD = runtime/config/libconfig.la runtime/base/libbase.la \
	$(HWLOC_LIBS) $(JANSSON_LIBS)
