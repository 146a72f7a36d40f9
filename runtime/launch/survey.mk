# SPDX-License-Identifier: Apache-2.0
# Other hosts' facts; apart from the launcher, which needs no probes.
noinst_LTLIBRARIES += %D%/libsurvey.la
%C%_libsurvey_la_SOURCES = \
	%D%/survey.c  %D%/survey.h \
	%D%/survey_network.c %D%/survey_state.h
%C%_libsurvey_la_LIBADD = runtime/launch/liblaunch.la probes/libprobes.la
