# SPDX-License-Identifier: Apache-2.0
# Checkpoints, trackers and profiles.
%C%_libtrain_la_SOURCES += \
	%D%/profile.c %D%/profile.h \
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

# Opened at run time, so that libaccel itself does not need libcurl.
if HAVE_CURL
pkglib_LTLIBRARIES += libaccel-mlflow.la
libaccel_mlflow_la_SOURCES = %D%/mlflow.c
libaccel_mlflow_la_CFLAGS  = $(AM_CFLAGS) $(CURL_CFLAGS) $(JANSSON_CFLAGS)
libaccel_mlflow_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-export-symbols-regex '^tracker_plugin$$'
libaccel_mlflow_la_LIBADD  = runtime/base/libbase.la $(CURL_LIBS) \
	$(JANSSON_LIBS)
endif
