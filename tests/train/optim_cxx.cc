/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers, groups, schedules and 8-bit floats, from C++. */
#include "runtime/train/accel.h"

#include <cstdio>
#include <vector>

static int count;

static void
ok(bool fine, const char *what)
{
	std::printf("%sok %d - %s\n", fine ? "" : "not ", ++count, what);
}

int
main()
{
	std::vector<float> w(4, 1.0f), g(4), history(8);
	accel_tensor t = { "w.bias", w.data(), g.data(), ACCEL_F32, 0, 1,
	    { 4 } };
	accel_group group[] = { { "*.bias", 1, 0 } };
	accel_adamw_args adamw = ACCEL_ADAMW_INIT;
	accel_schedule how = ACCEL_SCHEDULE_INIT;
	accel_scheduler *s = nullptr;
	accel_fp8 fp8;
	accel *a = nullptr;

	ok(accel_init(nullptr, &a) == ACCEL_OK &&
	    accel_unit(a, "w", &t, 1, nullptr) == ACCEL_OK &&
	    accel_groups(a, group, 1) == ACCEL_OK &&
	    accel_prepare(a, 2) == ACCEL_OK, "a model with a group");
	how.kind = ACCEL_LR_FN;
	how.fn = [](void *, int64_t c) { return c == 0 ? 1.0 : 0.5; };
	ok(accel_scheduler_new(a, &adamw.lr, &how, &s) == ACCEL_OK,
	    "a lambda is a schedule");
	auto backward = [](void *user) {
		for (float &x : *static_cast<std::vector<float> *>(user))
			x += 1;
		return ACCEL_OK;
	};
	ok(accel_backward(a, backward, &g) == ACCEL_OK &&
	    accel_step(a, accel_adamw, &adamw) == ACCEL_OK &&
	    accel_scheduler_step(s) == ACCEL_OK && adamw.lr == 0.5e-3,
	    "a step, and the next rate");
	/* Adam's first step is lr, whatever the gradient. */
	ok(w[0] > 0.99899f && w[0] < 0.99901f, "without decay");
	ok(accel_fp8_init(&fp8, ACCEL_E5M2, history.data(), 8) == ACCEL_OK &&
	    accel_fp8_value(ACCEL_E5M2, 0x7b) == 57344, "8-bit floats");
	accel_scheduler_free(s);
	accel_fini(a);
	std::printf("1..%d\n", count);
	return 0;
}
