# SPDX-License-Identifier: Apache-2.0
# The launcher serves PMI as well.
noinst_LTLIBRARIES += %D%/libpmi.la
%C%_libpmi_la_SOURCES = %D%/pmi.c %D%/pmi.h

noinst_LTLIBRARIES += %D%/libdevice.la
%C%_libdevice_la_SOURCES = \
	%D%/ctl.c %D%/ctl.h \
	%D%/ctl_server.c %D%/ctl_server.h \
	%D%/device.c %D%/device.h \
	%D%/guard.c %D%/guard.h \
	%D%/mem.c %D%/mem.h \
	%D%/wire.c %D%/wire.h
%C%_libdevice_la_LIBADD = %D%/libpmi.la -ldl

# Opened at run time, so that libaccel itself needs neither MPI nor CUDA.
if HAVE_MPICH
pkglib_LTLIBRARIES += libaccel-mpi.la
libaccel_mpi_la_SOURCES  = %D%/cma.c %D%/cma.h %D%/mpi.c
libaccel_mpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPICH_CFLAGS)
libaccel_mpi_la_LDFLAGS  = $(AM_LDFLAGS) -module -avoid-version -shared \
	-export-symbols-regex '^device_plugin$$'
libaccel_mpi_la_LIBADD   = runtime/base/libbase.la $(MPICH_LIBS)
endif
if HAVE_NCCL
pkglib_LTLIBRARIES += libaccel-nccl.la
libaccel_nccl_la_SOURCES  = %D%/nccl.c
libaccel_nccl_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) $(NCCL_CPPFLAGS)
libaccel_nccl_la_LDFLAGS  = $(AM_LDFLAGS) -module -avoid-version -shared \
	-export-symbols-regex '^device_plugin$$'
libaccel_nccl_la_LIBADD   = runtime/base/libbase.la $(NCCL_LIBS) $(CUDA_LIBS)
endif
