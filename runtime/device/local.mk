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

# A GPU's memory.  No contraction: the bits of the CPU.
EXTRA_DIST += %D%/nvcc.sh %D%/cuda_kernels.cu %D%/cuda_kernels.h
kernel_headers = %D%/cuda_kernels.h %D%/device.h %D%/mem.h \
	runtime/base/elem.h runtime/base/half.h
NVCC_LIBTOOL = $(LIBTOOL) $(AM_V_lt) --tag=CC $(AM_LIBTOOLFLAGS) \
	$(LIBTOOLFLAGS) --mode=compile \
	$(SHELL) $(top_srcdir)/%D%/nvcc.sh $(NVCC)
AM_NVCCFLAGS = -std=c++17 -fno-exceptions -fno-threadsafe-statics \
	-I$(top_srcdir) -fmad=false -prec-div=true \
	-prec-sqrt=true -ftz=false
AM_V_NVCC  = $(am__v_NVCC_@AM_V@)
am__v_NVCC_ = $(am__v_NVCC_@AM_DEFAULT_V@)
am__v_NVCC_0 = @echo "  NVCC    " $@;
am__v_NVCC_1 =
if HAVE_NVCC
pkglib_LTLIBRARIES += libaccel-cuda.la
libaccel_cuda_la_SOURCES  = %D%/cuda.c $(kernel_headers)
libaccel_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
libaccel_cuda_la_LDFLAGS  = $(AM_LDFLAGS) -module -avoid-version -shared \
	-export-symbols-regex '^mem_plugin$$'
libaccel_cuda_la_LIBADD   = %D%/cuda_kernels.lo runtime/base/libbase.la \
	$(CUDA_LIBS)
%D%/cuda_kernels.lo: %D%/cuda_kernels.cu $(kernel_headers)
	@$(MKDIR_P) %D%
	$(AM_V_NVCC)$(NVCC_LIBTOOL) $(AM_NVCCFLAGS) $(NVCCFLAGS) \
	    -Wall -Wextra -c -o $@ \
	    $(top_srcdir)/%D%/cuda_kernels.cu
# For tests/train/kernels.t.
check_DATA += %D%/cuda_kernels.ptx
CLEANFILES += %D%/cuda_kernels.ptx
%D%/cuda_kernels.ptx: %D%/cuda_kernels.lo
	$(AM_V_NVCC)$(SHELL) $(top_srcdir)/%D%/nvcc.sh $(NVCC) \
	    $(AM_NVCCFLAGS) -O3 -ptx -o $@ $(top_srcdir)/%D%/cuda_kernels.cu
endif
