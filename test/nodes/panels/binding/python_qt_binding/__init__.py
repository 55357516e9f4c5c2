# SPDX-License-Identifier: Apache-2.0
"""Stands in for `python_qt_binding` where rqt is not installed, so that panels can be tested."""
