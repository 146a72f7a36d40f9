# SPDX-License-Identifier: Apache-2.0
# Commands around checkpoints, tests and clouds.
accel_SOURCES += \
	%D%/child.c %D%/child.h \
	%D%/cloud.c %D%/cloud.h \
	%D%/merge_weights.c \
	%D%/test.c \
	%D%/to_fsdp2.c \
	%D%/tpu_config.c
accel_LDADD += runtime/weights/libweights.la

# A rank of "accel test".
libexec_PROGRAMS += accel-selftest
accel_selftest_SOURCES = %D%/selftest.c
accel_selftest_LDADD = libaccel.la
# libtool leaves out what ldconfig may not have heard of yet.
accel_selftest_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,'$$ORIGIN/../lib'
