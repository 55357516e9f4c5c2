# SPDX-License-Identifier: Apache-2.0
"""Commands about many recordings, and what makes results repeatable."""
