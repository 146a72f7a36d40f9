# SPDX-License-Identifier: Apache-2.0
"""Not Amazon's package: a fake for tests.  It reaches nothing."""
