# SPDX-License-Identifier: Apache-2.0
# Checkpoints and trackers.
check_PROGRAMS += %D%/checkpoint %D%/track
TESTS += %D%/checkpoint %D%/track
%C%_checkpoint_SOURCES = %D%/checkpoint.c %D%/folder.h
%C%_checkpoint_LDADD   = runtime/train/libtrain.la
%C%_track_SOURCES = %D%/track.c %D%/folder.h
%C%_track_LDADD   = runtime/train/libtrain.la

dist_check_SCRIPTS += %D%/profile.t %D%/trackers.t
TESTS += %D%/profile.t %D%/trackers.t
EXTRA_DIST += %D%/profile.py

check_PROGRAMS += %D%/resume
TESTS += %D%/resume.t
dist_check_SCRIPTS += %D%/resume.t
%C%_resume_SOURCES = %D%/resume.c
%C%_resume_LDADD   = libaccel.la runtime/base/libbase.la

check_PROGRAMS += %D%/tracker
%C%_tracker_SOURCES = %D%/tracker.c
%C%_tracker_LDADD   = libaccel.la -lm

# What is installed.
dist_check_SCRIPTS += %D%/install.t %D%/symbols.t
TESTS += %D%/install.t %D%/symbols.t

# examples/chars.c, with and without chars.patch.
dist_check_SCRIPTS += %D%/chars.t
TESTS += %D%/chars.t
