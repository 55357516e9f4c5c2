# SPDX-License-Identifier: Apache-2.0
"""`sysid plan`: one file for each sub-command."""
