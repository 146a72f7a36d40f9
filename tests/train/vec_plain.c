/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of runtime/train/vec.c once more, for any x86-64: plain_... */
#define VEC_PLAIN
#define vec_adam		plain_adam
#define vec_sgd			plain_sgd
#define vec_sgd_momentum	plain_sgd_momentum
#define vec_lion		plain_lion
#define vec_add			plain_add
#define vec_scale		plain_scale
#define vec_clamp		plain_clamp
#define vec_sumsq		plain_sumsq
#define vec_scale_sumsq		plain_scale_sumsq
#define vec_fp8			plain_fp8
#define vec_add_squares		plain_add_squares
#define vec_lerp_squares	plain_lerp_squares
#define vec_factored_sumsq	plain_factored_sumsq
#define vec_factored		plain_factored
#include "runtime/train/vec.c"
