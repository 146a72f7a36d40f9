# SPDX-License-Identifier: Apache-2.0
# Checkpoints and trackers.
%C%_libtrain_la_SOURCES += \
	%D%/state.c %D%/state.h \
	%D%/state_agree.c \
	%D%/state_folder.c %D%/state_folder.h \
	%D%/state_job.c \
	%D%/state_load.c \
	%D%/state_manifest.c \
	%D%/state_model.c \
	%D%/state_object.c \
	%D%/state_own.c \
	%D%/state_read.c %D%/state_read.h \
	%D%/state_set.c %D%/state_set.h \
	%D%/state_write.c \
	%D%/track.c %D%/track.h \
	%D%/track_line.c \
	%D%/tracker_board.c \
	%D%/tracker_file.c \
	%D%/tracker_mlflow.c
%C%_libtrain_la_LIBADD += runtime/base/libtensorfile.la
