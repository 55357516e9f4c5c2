# SPDX-License-Identifier: Apache-2.0
"""Signed records of identifications, which anybody who has the data can repeat."""

from sysid_core.certificate.content import build_content
from sysid_core.certificate.repeat import repeat_numbers
from sysid_core.certificate.repeat_command import Numbers
from sysid_core.certificate.signing import Certificate, fingerprint, load_or_make_key, public_key
from sysid_core.certificate.verify import Check, verify_certificate

__all__ = [
    "Certificate",
    "Check",
    "Numbers",
    "build_content",
    "fingerprint",
    "load_or_make_key",
    "public_key",
    "repeat_numbers",
    "verify_certificate",
]
