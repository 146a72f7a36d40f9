# SPDX-License-Identifier: Apache-2.0
# Built as soon as runtime/config is there.
EXTRA_DIST += %D%/accel-setup.c %D%/draw.c %D%/form.c %D%/form.h \
	%D%/keys.def %D%/plain.c %D%/plain.h %D%/screen.c %D%/screen.h
