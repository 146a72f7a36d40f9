# SPDX-License-Identifier: Apache-2.0
# A CUDA and an NCCL that are pretended, and what of libaccel is for GPUs over
# them: so it is tested where there is neither.  Symbols of the runtime are the
# test program's, which links libruntime with -export-dynamic.
FAKE_CUDA_CPPFLAGS = -I$(top_srcdir)/tests/fake/cuda $(AM_CPPFLAGS)
FAKE_CUDA_CXXFLAGS = $(AM_CXXFLAGS) -std=c++17 -fPIC -ffp-contract=off
check_LTLIBRARIES += %D%/libruntime.la %D%/libmem.la
%C%_libruntime_la_SOURCES  = %D%/runtime.cc %D%/cuda_runtime_api.h \
	%D%/cuda_runtime.h %D%/launch.hh
%C%_libruntime_la_CPPFLAGS = $(FAKE_CUDA_CPPFLAGS)
%C%_libruntime_la_CXXFLAGS = $(FAKE_CUDA_CXXFLAGS)
%C%_libmem_la_SOURCES  = runtime/device/cuda.c %D%/kernels.cc
%C%_libmem_la_CPPFLAGS = $(FAKE_CUDA_CPPFLAGS)
%C%_libmem_la_CXXFLAGS = $(FAKE_CUDA_CXXFLAGS)

check_PROGRAMS += tests/unit/mem
TESTS += tests/unit/mem
tests_unit_mem_SOURCES  = tests/unit/mem.c tests/tap.h
tests_unit_mem_CPPFLAGS = $(FAKE_CUDA_CPPFLAGS)
tests_unit_mem_LDADD    = %D%/libmem.la %D%/libruntime.la \
	runtime/train/libtrain.la -lstdc++ -lm

# The plugins themselves.
fake_plugin_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-rpath $(abs_builddir)/%D%
check_LTLIBRARIES += %D%/libaccel-cuda.la %D%/libaccel-nccl.la
%C%_libaccel_cuda_la_SOURCES =
%C%_libaccel_cuda_la_LDFLAGS = $(fake_plugin_LDFLAGS) \
	-export-symbols-regex '^mem_plugin$$'
%C%_libaccel_cuda_la_LIBADD  = %D%/libmem.la runtime/base/libbase.la
%C%_libaccel_nccl_la_SOURCES = runtime/device/nccl.c %D%/nccl.cc %D%/nccl.h
%C%_libaccel_nccl_la_CPPFLAGS = $(FAKE_CUDA_CPPFLAGS)
%C%_libaccel_nccl_la_CXXFLAGS = $(FAKE_CUDA_CXXFLAGS)
%C%_libaccel_nccl_la_LDFLAGS = $(fake_plugin_LDFLAGS) \
	-export-symbols-regex '^device_plugin$$'
%C%_libaccel_nccl_la_LIBADD  = runtime/base/libbase.la

check_LTLIBRARIES += %D%/libcuda.la
%C%_libcuda_la_SOURCES = %D%/driver.c
%C%_libcuda_la_LDFLAGS = $(fake_plugin_LDFLAGS) -shrext .so.1

# A program of CUDA.
EXTRA_DIST += tests/train/device.cu tests/train/device_model.hh
check_PROGRAMS += tests/train/device
TESTS += tests/train/device
tests_train_device_SOURCES  = tests/train/device_fake.cc tests/train/port.h \
	tests/tap.h
tests_train_device_CPPFLAGS = $(FAKE_CUDA_CPPFLAGS)
tests_train_device_CXXFLAGS = $(FAKE_CUDA_CXXFLAGS)
tests_train_device_LDFLAGS  = $(AM_LDFLAGS) -export-dynamic
tests_train_device_LDADD    = %D%/libruntime.la libaccel.la -lm
tests_train_device_DEPENDENCIES = %D%/libruntime.la libaccel.la \
	%D%/libaccel-cuda.la %D%/libaccel-nccl.la %D%/libcuda.la

TESTS += tests/train/kernels.t
dist_check_SCRIPTS += tests/train/kernels.t

# And by CUDA's own compiler, for who has a GPU.
if HAVE_NVCC
check_PROGRAMS += tests/train/device-gpu
TESTS += tests/train/device-gpu
tests_train_device_gpu_SOURCES = tests/train/folder.h tests/train/port.h \
	tests/tap.h
tests_train_device_gpu_LDADD = tests/train/device-gpu.o libaccel.la \
	$(CUDA_LIBS) -lstdc++ -lm
tests/train/device-gpu.o: tests/train/device.cu tests/train/device_model.hh \
	tests/train/precision.h \
	runtime/train/accel.h
	@$(MKDIR_P) tests/train
	$(AM_V_NVCC)$(SHELL) $(top_srcdir)/runtime/device/nvcc.sh $(NVCC) \
	    $(AM_NVCCFLAGS) $(NVCCFLAGS) -Wall -Wextra -c -o $@ \
	    $(top_srcdir)/tests/train/device.cu
endif
