# SPDX-License-Identifier: Apache-2.0
"""`sysid servos`."""
