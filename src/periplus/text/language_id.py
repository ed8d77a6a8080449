"""Language identification: by script, then by stop words."""

import re
from collections import Counter
from typing import Final

from periplus.text.stopwords import STOP_WORDS

__all__ = ["LANGUAGES", "detect_language", "language_number"]

LANGUAGES: Final = (
    "",
    *("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "fi", "ru", "ro", "hu", "tr", "ar", "el"),
    *("zh", "ja", "ko", "th", "he", "hi", "fa", "uk", "pl", "cs"),
)
"""Languages by number, as segments store them; 0 is unknown. New ones are appended, never inserted."""

_NUMBERS: Final = {code: number for number, code in enumerate(LANGUAGES)}
_SAMPLE: Final = 2_000
_WORD: Final = re.compile(r"[^\W\d_]+")
_SCRIPTS: Final = (
    ("ja", re.compile("[\u3041-\u30ff]"), 0.08),
    ("ko", re.compile("[\uac00-\ud7a3]"), 0.2),
    ("zh", re.compile("[\u4e00-\u9fff]"), 0.2),
    ("th", re.compile("[\u0e00-\u0e7f]"), 0.3),
    ("he", re.compile("[\u0590-\u05ff]"), 0.3),
    ("ar", re.compile("[\u0600-\u06ff]"), 0.3),
    ("hi", re.compile("[\u0900-\u097f]"), 0.3),
    ("el", re.compile("[\u0370-\u03ff]"), 0.3),
    ("ru", re.compile("[\u0400-\u04ff]"), 0.3),
)
_UNACCENTED: Final = str.maketrans("äöüáàâãåéèêëíìîïóòôõúùûçñşğăâîșț", "aouaaaaaeeeeiiiioooouuucnsgaaist")
_BY_WORD: Final[dict[str, tuple[str, ...]]] = {}
for _code, _words in STOP_WORDS.items():
    for _word in _words:
        _BY_WORD[_word] = (*_BY_WORD.get(_word, ()), _code)


def language_number(code: str) -> int:
    """Return the number under which segments store a language, 0 for an unknown one."""
    return _NUMBERS.get(code[:2].lower(), 0)


def detect_language(text: str) -> str:
    """Return the two-letter code of the language of a text, judged by its beginning; '' if there is no evidence."""
    sample = text[:_SAMPLE]
    for code, script, share in _SCRIPTS:
        if len(script.findall(sample)) > share * len(sample):
            return code
    votes: Counter[str] = Counter()
    for word in _WORD.findall(sample.lower().translate(_UNACCENTED)):
        codes = _BY_WORD.get(word, ())
        for code in codes:
            votes[code] += 1
    return votes.most_common(1)[0][0] if votes else ""
