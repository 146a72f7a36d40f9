# SPDX-License-Identifier: Apache-2.0
noinst_LTLIBRARIES += %D%/libconfig.la
%C%_libconfig_la_SOURCES = \
	%D%/choices.def %D%/fields.def %D%/launch.def %D%/megatron.def \
	%D%/retired.def %D%/rules.def %D%/rules_libraries.def \
	%D%/sagemaker.def %D%/sections.def \
	%D%/fields-undef.h %D%/intern.h \
	%D%/advice.c %D%/advice.h %D%/advice_intern.h \
	%D%/advice_config.c \
	%D%/advice_hosts.c \
	%D%/advice_print.c \
	%D%/advice_time.c \
	%D%/advice_warn.c \
	%D%/advice_words.c \
	%D%/advice_worlds.c \
	%D%/hardware.c %D%/hardware.h %D%/hardware.def \
	%D%/changes.c %D%/changes.h \
	%D%/deepspeed.c \
	%D%/environ.c %D%/environ.h \
	%D%/export.c %D%/export.h \
	%D%/export_deepspeed.c \
	%D%/flags.c \
	%D%/cloud.h %D%/sagemaker.c %D%/tpu.c \
	%D%/fsdp2.c  %D%/fsdp2.h \
	%D%/hub.c \
	%D%/memory.c %D%/memory.h \
	%D%/memory_words.c \
	%D%/model.c %D%/model.h \
	%D%/model_config.c %D%/families.def \
	%D%/model_read.c \
	%D%/page.c \
	%D%/rules.c %D%/rules.h \
	%D%/schema.c %D%/schema.h \
	%D%/shape.c %D%/shape.h \
	%D%/schema_json.c \
	%D%/settle.c \
	%D%/templates.c %D%/templates.h \
	%D%/value.c \
	%D%/words.c %D%/words.h \
	%D%/yaml_change.c %D%/yaml_change.h \
	%D%/yaml_edit.c \
	%D%/yaml_emit.c %D%/yaml_emit.h \
	%D%/yaml_in.c \
	%D%/yaml_join.c \
	%D%/yaml_keep.c \
	%D%/yaml_out.c %D%/yaml_out.h \
	%D%/yaml_pairs.c \
	%D%/yaml_save.c \
	%D%/yaml_scalar.c \
	%D%/yaml_splice.c %D%/yaml_splice.h \
	%D%/yaml_tabs.c \
	%D%/yaml_tree.c %D%/yaml_tree.h
%C%_libconfig_la_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS) $(JANSSON_CFLAGS)
%C%_libconfig_la_LIBADD = runtime/base/libbase.la \
	runtime/base/libtensorfile.la $(YAML_LIBS) $(JANSSON_LIBS) -lm

noinst_PROGRAMS += %D%/mkpage
%C%_mkpage_SOURCES = %D%/mkpage.c
%C%_mkpage_LDADD = %D%/libconfig.la

# TEMPLATE("cpu", "# ...\n" ...) for each file of templates/, as C.
BUILT_SOURCES += %D%/templates.inc
CLEANFILES += %D%/templates.inc
%D%/templates.inc: $(template_files)
	$(AM_V_GEN)$(MKDIR_P) %D% && for file in $(template_files); do \
	  echo "TEMPLATE(\"`basename $$file .yaml`\","; \
	  sed -e 's/[\\"]/\\&/g' -e 's/^/"/' -e 's/$$/\\n"/' \
	    $(srcdir)/$$file || exit; \
	  echo ")"; \
	done >$@.new && mv $@.new $@
$(%C%_libconfig_la_OBJECTS): | %D%/templates.inc
