# SPDX-License-Identifier: Apache-2.0
"""`sysid plan`: one module for each group of sub-commands."""
