# SPDX-License-Identifier: Apache-2.0
dist_man_MANS += %D%/accel.1
dist_man_MANS += %D%/accel-setup.1
