/* SPDX-License-Identifier: Apache-2.0 */
/* mkpage: prints accel.yaml(5); make update-man keeps it in the tree. */
#include <stdio.h>

#include "runtime/base/buf.h"
#include "runtime/config/schema.h"
#include "runtime/base/banned.h"

int
main(void)
{
	struct buf	page = BUF_INIT;
	int		rc = config_page(&page);

	if (!rc)
		rc = fputs(buf_text(&page), stdout) < 0 || fflush(stdout);
	buf_clear(&page);
	return rc != 0;
}
