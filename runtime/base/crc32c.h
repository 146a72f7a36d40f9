/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c: the Castagnoli checksum (RFC 3720, B.4), as iSCSI, ext4 and
 * TensorFlow's records use it: "123456789" gives e3069283. */
#ifndef RUNTIME_BASE_CRC32C_H
#define RUNTIME_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of what "crc" was of, followed by these bytes; 0 begins. */
uint32_t crc32c(uint32_t crc, const void *data, size_t n);

/* The same without the processor's instruction, for its test. */
uint32_t crc32c_plain(uint32_t crc, const void *data, size_t n);
#endif
