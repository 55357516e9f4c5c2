# SPDX-License-Identifier: Apache-2.0
"""`sysid plan`: one file a sub-command."""
