/* SPDX-License-Identifier: Apache-2.0 */
/* state_agree: all ranks succeed, or all of them fail with one message. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/train/state.h"

#include "runtime/base/banned.h"

accel_status
state_agree(accel *a, accel_status mine)
{
	int32_t status = (int32_t)mine, *all;
	struct err said = *accel__err();
	accel_status st;
	int who = 0;

	/* Who cannot reach the others has nobody to agree with. */
	if (a->world == 1 || mine == ACCEL_EPEER || mine == ACCEL_EBACKEND)
		return mine;
	all = calloc((size_t)a->world, sizeof(*all));
	if (all == NULL) {
		accel_abort(a, "out of memory");
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	}
	st = accel_all_gather(a, &status, all, sizeof(status));
	if (st == ACCEL_OK) {
		while (who < a->world && all[who] >= 0)
			who++;
		if (who < a->world)
			status = all[who];
	}
	free(all);
	if (st != ACCEL_OK || who == a->world)
		return st != ACCEL_OK ? st : mine;
	st = accel_broadcast(a, &said, sizeof(said), who);
	if (st != ACCEL_OK)
		return st;
	said.text[sizeof(said.text) - 1] = '\0';
	said.hint[sizeof(said.hint) - 1] = '\0';
	*accel__err() = said;
	if (a->rank != who)
		err_at(accel__err(), "rank %d", who);
	return (accel_status)status;
}

accel_status
state_share(accel *a, struct buf *bytes, int root)
{
	uint64_t n = bytes->len;
	accel_status st = accel_broadcast(a, &n, sizeof(n), root);

	if (st == ACCEL_OK && a->rank != root) {
		buf_clear(bytes);
		bytes->data = malloc(n + 1);
		bytes->room = bytes->len = 0;
		if (bytes->data == NULL) {
			st = accel__fail(ACCEL_ENOMEM, "no memory for %llu "
			    "bytes of rank %d", (unsigned long long)n, root);
		} else {
			bytes->room = n + 1;
			bytes->len = n;
			bytes->data[n] = '\0';
		}
	}
	/* All or nobody: a rank that stayed away would leave the others
	 * waiting. */
	st = state_agree(a, st);
	if (st != ACCEL_OK || n == 0)
		return st;
	return accel_broadcast(a, bytes->data, n, root);
}
