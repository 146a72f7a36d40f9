# SPDX-License-Identifier: Apache-2.0
dist_man_MANS += %D%/accel.1
