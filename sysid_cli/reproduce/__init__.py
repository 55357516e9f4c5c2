# SPDX-License-Identifier: Apache-2.0
"""`sysid reproduce`: one file a sub-command."""
