# SPDX-License-Identifier: Apache-2.0

check_PROGRAMS += %D%/table %D%/yaml
TESTS += %D%/table %D%/yaml
%C%_table_SOURCES = %D%/table.c
%C%_table_LDADD = runtime/config/libconfig.la
%C%_yaml_SOURCES = %D%/yaml.c
%C%_yaml_LDADD = runtime/config/libconfig.la
