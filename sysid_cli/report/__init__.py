# SPDX-License-Identifier: Apache-2.0
"""`sysid report`: what is done with reports that exist already."""
