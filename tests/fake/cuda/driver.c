/* SPDX-License-Identifier: Apache-2.0 */
/* Not CUDA's driver: of libcuda.so.1 what mem_is_gpus() asks, for one piece of
 * memory that is pretended to be a GPU's, and one that is managed. */
#include <string.h>

int cuPointerGetAttribute(void *data, int attribute, unsigned long long p);

char fake_gpu[64], fake_managed[64];

int
cuPointerGetAttribute(void *data, int attribute, unsigned long long p)
{
	unsigned long long gpu = (unsigned long long)(size_t)fake_gpu;
	unsigned long long managed = (unsigned long long)(size_t)fake_managed;
	unsigned value;

	if (p - gpu >= sizeof(fake_gpu) && p - managed >= sizeof(fake_managed))
		return 1;		/* CUDA_ERROR_INVALID_VALUE */
	if (attribute == 2)		/* CU_POINTER_ATTRIBUTE_MEMORY_TYPE */
		value = 2;		/* CU_MEMORYTYPE_DEVICE */
	else
		value = p - managed < sizeof(fake_managed);
	memcpy(data, &value, attribute == 2 ? sizeof(value) : 1);
	return 0;
}
