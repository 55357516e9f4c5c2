# SPDX-License-Identifier: Apache-2.0
"""`sysid plan` plans motions; each group of its sub-commands has a module."""
