# SPDX-License-Identifier: Apache-2.0
"""Ed25519 signatures (RFC 8032) over a certificate's canonical text."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from sysid_core.errors import SysIdError
from sysid_core.files import FileKind, parse_json, read_bytes, read_text

_KIND = FileKind("certificate", "Give the certificate.json that `sysid certify` wrote.", SysIdError)
_KEY = FileKind("key", "Give a PEM file with an Ed25519 key.", SysIdError)


@dataclass(frozen=True)
class Certificate:
    """A statement with a signature.

    Attributes:
        content: The statement, plain data.
        key: Public key that it was signed with, 32 bytes.
        signature: 64 bytes.
        unaltered: Whether its file reads as `save` writes it, blanks apart: a last digit can change
            without changing the number that is read.
    """

    content: Mapping[str, Any]
    key: bytes
    signature: bytes
    unaltered: bool = True

    @classmethod
    def signed(cls, content: Mapping[str, Any], key: Ed25519PrivateKey) -> Certificate:
        """Sign a statement."""
        return cls(content, public_key(key), key.sign(canonical(content)))

    @property
    def valid(self) -> bool:
        """Whether the signature belongs to the statement and the key."""
        try:
            Ed25519PublicKey.from_public_bytes(self.key).verify(
                self.signature, canonical(self.content)
            )
        except (InvalidSignature, ValueError):
            return False
        return self.unaltered

    def save(self, path: Path) -> None:
        """Write JSON."""
        signature = {
            "algorithm": "Ed25519",
            "public_key": base64.b64encode(self.key).decode(),
            "value": base64.b64encode(self.signature).decode(),
        }
        text = json.dumps({"content": self.content, "signature": signature}, indent=2)
        path.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Certificate:
        """Read what `save` wrote.

        Raises:
            SysIdError: It is no certificate.
        """
        text = read_text(path, _KIND)
        raw = parse_json(text, _KIND, path)
        unaltered = text.split() == json.dumps(raw, indent=2).split()
        try:
            signature = raw["signature"]
            key, value = (
                base64.b64decode(signature[name], validate=True) for name in ("public_key", "value")
            )
            if signature["algorithm"] != "Ed25519" or not isinstance(raw["content"], dict):
                raise ValueError("another algorithm")
        except (KeyError, TypeError, ValueError) as err:
            raise _KIND.refusal(path, f"holds no Ed25519 signature ({err})") from err
        return cls(raw["content"], key, value, unaltered)


def canonical(content: Mapping[str, Any]) -> bytes:
    """The bytes that are signed: JSON with sorted keys, no spaces, no NaN."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode()


def fingerprint(key: bytes) -> str:
    """The first 16 hex digits of a public key's sha256, to compare by eye."""
    return hashlib.sha256(key).hexdigest()[:16]


def load_or_make_key(path: Path) -> tuple[Ed25519PrivateKey, bool]:
    """The private key in a PEM file, and whether it was made now, readable by its owner only.

    Raises:
        SysIdError: The file holds no Ed25519 key.
    """
    if not path.exists():
        made = Ed25519PrivateKey.generate()
        pem = made.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pem)
        public = path.with_suffix(".pub")
        public.write_bytes(
            made.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )
        return made, True
    try:
        key = serialization.load_pem_private_key(read_bytes(path, _KEY), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as err:
        raise _KEY.refusal(path, f"holds no private key ({err})") from err
    if not isinstance(key, Ed25519PrivateKey):
        raise _KEY.refusal(path, "holds another kind of key")
    return key, False


def public_key(source: Ed25519PrivateKey | Path) -> bytes:
    """The 32 bytes of a public key, of a private one or in a PEM file.

    Raises:
        SysIdError: The file holds no Ed25519 public key.
    """
    raw = (serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    if isinstance(source, Ed25519PrivateKey):
        return source.public_key().public_bytes(*raw)
    try:
        key = serialization.load_pem_public_key(read_bytes(source, _KEY))
    except (ValueError, UnsupportedAlgorithm) as err:
        raise _KEY.refusal(source, f"holds no public key ({err})") from err
    if not isinstance(key, Ed25519PublicKey):
        raise _KEY.refusal(source, "holds another kind of key")
    return key.public_bytes(*raw)
