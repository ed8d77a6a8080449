"""Licences of installed distributions, as SPDX expressions where their metadata allow it."""

import re
from importlib.metadata import Distribution

__all__ = ["licence_of", "normal_name"]

_CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "GNU Affero General Public License v3": "AGPL-3.0-only",
    "GNU General Public License v2 or later (GPLv2+)": "GPL-2.0-or-later",
    "GNU General Public License v3 (GPLv3)": "GPL-3.0-only",
    "GNU Lesser General Public License v2 or later (LGPLv2+)": "LGPL-2.0-or-later",
    "GNU Library or Lesser General Public License (LGPL)": "LGPL-2.1-or-later",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT No Attribution License (MIT-0)": "MIT-0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
_TEXTS = {
    "apache": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache2": "Apache-2.0",
    "apache license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache license v2.0": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "bsd-3-clause license": "BSD-3-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "new bsd": "BSD-3-Clause",
    "isc license": "ISC",
    "the bsd 2-clause license": "BSD-2-Clause",
    "mit license": "MIT",
    "the mit license (mit)": "MIT",
    "mozilla public license 2.0": "MPL-2.0",
    "psfl": "PSF-2.0",
}
_SPDX = re.compile(r"[A-Za-z0-9.+-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+-]+)*|\(?[A-Za-z0-9.+() -]+\)?")


def normal_name(name: str) -> str:
    """Return a name of a distribution as PEP 503 compares them."""
    return re.sub(r"[-_.]+", "-", name).lower()


def licence_of(distribution: Distribution) -> str:
    """Return the licence that the metadata of a distribution state, 'unknown' if they state none."""
    metadata = distribution.metadata
    if metadata.get("License-Expression"):
        return str(metadata["License-Expression"])
    prefix = "License :: OSI Approved :: "
    classifiers = [
        line.removeprefix(prefix) for line in metadata.get_all("Classifier") or () if line.startswith(prefix)
    ]
    from_classifiers = [_CLASSIFIERS.get(line, line) for line in classifiers]
    text = (metadata.get("License") or "").strip().split("\n")[0].strip()
    from_text = _TEXTS.get(text.lower(), text)
    if len(from_classifiers) > 1:
        return " AND ".join(sorted(set(from_classifiers)))
    if from_text and from_text != "UNKNOWN" and len(from_text) <= 40 and _SPDX.fullmatch(from_text):
        return from_text
    return from_classifiers[0] if from_classifiers else "unknown"
