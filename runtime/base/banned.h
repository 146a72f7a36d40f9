/* SPDX-License-Identifier: Apache-2.0 */
/* banned: calls that have no place here do not compile.  Include it last. */
#ifndef RUNTIME_BASE_BANNED_H
#define RUNTIME_BASE_BANNED_H

#undef strcpy
#define strcpy(...)	use_memcpy_or_snprintf_instead_of_strcpy
#undef strcat
#define strcat(...)	use_struct_buf_instead_of_strcat
#undef sprintf
#define sprintf(...)	use_snprintf_instead_of_sprintf
#undef vsprintf
#define vsprintf(...)	use_vsnprintf_instead_of_vsprintf
#undef strtok
#define strtok(...)	use_strcspn_instead_of_strtok
#undef atoi
#define atoi(...)	use_num_parse_instead_of_atoi
#undef atol
#define atol(...)	use_num_parse_instead_of_atol
#undef system
#define system(...)	use_posix_spawn_instead_of_system
#undef popen
#define popen(...)	use_posix_spawn_instead_of_popen
#endif
