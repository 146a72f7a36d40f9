/* SPDX-License-Identifier: Apache-2.0 */
/* Ends a pass over fields.def; included after each, so without a guard. */
#undef GROUP
#undef BOOL
#undef INT
#undef REAL
#undef TEXT
#undef LIST
#undef CHOOSE
#undef END_GROUP
