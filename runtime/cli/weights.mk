# SPDX-License-Identifier: Apache-2.0
# Commands around checkpoints, tests and clouds.
accel_SOURCES += %D%/merge_weights.c
accel_LDADD += runtime/weights/libweights.la
