# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += accel
accel_SOURCES = \
	%D%/accel.c \
	%D%/advise.c \
	%D%/check.c %D%/check.h \
	%D%/cli.h \
	%D%/command.c %D%/command.h \
	%D%/complete.c %D%/complete.h \
	%D%/completion.c \
	%D%/config.c %D%/config.h \
	%D%/config_check.c \
	%D%/config_default.c \
	%D%/config_diff.c \
	%D%/config_explain.c \
	%D%/config_export.c \
	%D%/config_new.c \
	%D%/config_set.c \
	%D%/config_show.c \
	%D%/config_update.c \
	%D%/env.c %D%/env.h \
	%D%/env_print.c \
	%D%/estimate.c %D%/estimate.h \
	%D%/estimate_print.c \
	%D%/model.c %D%/model.h \
	%D%/launch.c %D%/launch.h %D%/launch_print.c \
	%D%/probe.c %D%/probe.h \
	%D%/run.c \
	%D%/json.c %D%/json.h \
	%D%/runs.c \
	%D%/schema.c \
	%D%/setup.c %D%/setup.h \
	%D%/rounds.c %D%/rounds.h \
	%D%/view.c %D%/view.h
accel_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
accel_CPPFLAGS = $(AM_CPPFLAGS)
accel_LDADD = runtime/launch/libsurvey.la runtime/launch/liblaunch.la probes/libprobes.la $(JANSSON_LIBS)

# The shells' part of completion, in accel and where the shells look.
EXTRA_DIST += %D%/completion/accel %D%/completion/_accel \
	%D%/completion/accel.fish
completion_inc = %D%/completion-bash.inc %D%/completion-zsh.inc \
	%D%/completion-fish.inc
completion_to_c = $(AM_V_GEN)$(MKDIR_P) %D%/completion && \
	sed 's/\\/&&/g; s/"/\\"/g; s/.*/"&\\n"/'
%D%/accel-completion.$(OBJEXT): $(completion_inc)
%D%/completion-bash.inc: %D%/completion/accel
	$(completion_to_c) $(srcdir)/%D%/completion/accel >$@
%D%/completion-zsh.inc: %D%/completion/_accel
	$(completion_to_c) $(srcdir)/%D%/completion/_accel >$@
%D%/completion-fish.inc: %D%/completion/accel.fish
	$(completion_to_c) $(srcdir)/%D%/completion/accel.fish >$@
# Shells load a file by the name of the command.
%D%/completion/accel-setup: %D%/completion/accel
	$(AM_V_GEN)cp $(srcdir)/%D%/completion/accel $@
%D%/completion/accel-setup.fish: %D%/completion/accel.fish
	$(AM_V_GEN)cp $(srcdir)/%D%/completion/accel.fish $@
bashcompletiondir = $(datadir)/bash-completion/completions
bashcompletion_DATA = %D%/completion/accel %D%/completion/accel-setup
zshcompletiondir = $(datadir)/zsh/site-functions
zshcompletion_DATA = %D%/completion/_accel
fishcompletiondir = $(datadir)/fish/vendor_completions.d
fishcompletion_DATA = %D%/completion/accel.fish %D%/completion/accel-setup.fish
CLEANFILES += $(completion_inc) %D%/completion/accel-setup \
	%D%/completion/accel-setup.fish
