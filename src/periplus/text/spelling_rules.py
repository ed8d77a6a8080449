"""Rules for the ways in which people write one word: pure functions over folded words, without an index.

Each returns forms that the index must confirm: a rule may produce what nobody writes. A form is one word, or several
that must stand next to each other.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Final

__all__ = [
    "PREFIX_LETTERS",
    "SYMBOL_NAMES",
    "acronym_letters",
    "contraction_parts",
    "group_digits",
    "join_digits",
    "letter_digit_parts",
    "splits",
    "symbol_parts",
    "umlaut_spelling",
    "variant_spellings",
]

Form = tuple[str, ...]

SYMBOL_NAMES: Final[dict[Form, str]] = {
    ("c", "#"): "csharp",
    ("f", "#"): "fsharp",
    ("c", "++"): "cpp",
    (".", "net"): "dotnet",
}
"""Words with a symbol that also have a name in letters."""
_SYMBOLS_BY_NAME: Final = {name: parts for parts, name in SYMBOL_NAMES.items()}
_DOTTED: Final = "us usa uk eu ussr uae dc nyc bc ad fbi cia nasa nato"
_ACRONYMS: Final = frozenset(_DOTTED.split())
"""Acronyms that are written with dots, too, and that people type in lower case."""
_NEGATED: Final = "ain aren can couldn didn doesn don hadn hasn haven isn mustn needn shouldn wasn weren won wouldn"
_CONTRACTIONS: Final[dict[str, Form]] = {
    **{f"{verb}t": (verb, "t") for verb in _NEGATED.split()},
    **{f"{word}s": (word, "s") for word in ("that", "what", "let", "here", "there", "who")},
    **{"im": ("i", "m"), "ive": ("i", "ve"), "youre": ("you", "re"), "theyre": ("they", "re"), "yall": ("y", "all")},
}
_LETTERS_DIGITS: Final = re.compile(r"[a-z]+|[0-9]+")
_MAX_SPLIT_LETTERS: Final = 24
PREFIX_LETTERS: Final = frozenset("deghijklopqtuvxy")
"""Letters that words are written to, with a mark or without: e-mail, O'Brien, T-shirt, x-ray, L'Oréal."""
_YEARS: Final = range(1400, 2100)
"""Numbers of four digits that are years, most of the time: nobody writes '2,024' for them."""
_AFTER_R: Final = {"s": "s", "d": "ed"}


_METRES: Final = "metre|litre|centre|theatre|fibre|calibre|sabre|sombre|spectre|lustre|meagre|sceptre|goitre|manoeuvre"
_METERS: Final = "meter|liter|center|theater|fiber|caliber|saber|somber|specter|luster|meager|scepter|goiter|maneuver"
_LONG_FORM_LIST: Final = (
    "haem paed anaem anaesth aesthet archaeo gynaec caesar caesium faec leukaem mediaev palaeo primaev ischaem foet "
    "oestr oesoph diarrhoea oedem manoeuv homoeo coeliac amoeb"
)
_LONG_E: Final = re.compile("|".join(_LONG_FORM_LIST.split()))
_LONG_FORMS: Final = {long.replace("ae", "e").replace("oe", "e"): long for long in _LONG_FORM_LIST.split()}
_SHORT_E: Final = re.compile("|".join(sorted(_LONG_FORMS, key=len, reverse=True)))
_BRITISH_AMERICAN: Final = """
    grey/gray plough/plow programme/program aluminium/aluminum moustache/mustache pyjamas/pajamas sceptic/skeptic
    sceptical/skeptical sceptics/skeptics whisky/whiskey yoghurt/yogurt doughnut/donut doughnuts/donuts cosy/cozy
    judgement/judgment ageing/aging aeroplane/airplane aeroplanes/airplanes jewellery/jewelry tyre/tire tyres/tires
    enrol/enroll fulfil/fulfill skilful/skillful wilful/willful instalment/installment enrolment/enrollment
    mould/mold moulds/molds sulphur/sulfur sulphate/sulfate sulphide/sulfide sulphuric/sulfuric axe/ax
    programmes/programs defence/defense defences/defenses offence/offense offences/offenses licence/license
    licences/licenses pretence/pretense practise/practice catalogue/catalog catalogues/catalogs dialogue/dialog
    dialogues/dialogs analogue/analog monologue/monolog prologue/prolog cheque/check cheques/checks
"""
_PAIRS: Final = dict(pair.split("/") for pair in _BRITISH_AMERICAN.split())
_PAIRS_BACK: Final = {american: british for british, american in _PAIRS.items() if american not in ("check", "checks")}
_VERB: Final = r"(e|ed|es|er|ers|ing|ation|ations|ational|able)$"
_ENDINGS: Final = tuple(
    (hint, re.compile(pattern), new)
    for hint, pattern, new in (
        ("our", r"^(.{3,}|od)our(?!.*our)", r"\1or"),
        ("or", r"^(.{3,}|od)or(?!.*or)(?!l)", r"\1our"),
        ("is", rf"(?<=.{{3}})is{_VERB}", r"iz\1"),
        ("iz", rf"(?<=.{{3}})iz{_VERB}", r"is\1"),
        ("lys", r"lys(e|ed|es|er|ers|ing)$", r"lyz\1"),
        ("lyz", r"lyz(e|ed|es|er|ers|ing)$", r"lys\1"),
        ("ll", r"(?<=.{2})([aeiou])ll(ed|ing|er|ers|or|ors|ous)$", r"\1l\2"),
        ("l", r"(?<=.{2})([aeiou])l(ed|ing|er|ers|or|ors|ous)$", r"\1ll\2"),
    )
)
"""Endings that differ: letters that a word must have, the pattern and what it is replaced by."""
_BRITISH_ENDS: Final = re.compile(f"({_METRES})(s|d)?$")
_AMERICAN_ENDS: Final = re.compile(f"({_METERS})(s|ed)?$")
_BY_END: Final = dict(zip(_METRES.split("|"), _METERS.split("|"), strict=True))
_BY_END_BACK: Final = {american: british for british, american in _BY_END.items()}
_MIN_UMLAUT_LETTERS: Final = 5
_UMLAUT: Final = re.compile(r"(?<![aeq])(ae|oe|ue)")


@functools.lru_cache(maxsize=1 << 14)
def variant_spellings(word: str) -> tuple[str, ...]:
    """Return a word as it is written on the other side of the Atlantic."""
    if not (word.isascii() and word.isalpha()) or len(word) < 3:
        return ()
    variants = [_PAIRS[word]] if word in _PAIRS else [_PAIRS_BACK[word]] if word in _PAIRS_BACK else []
    if len(word) >= 5:
        variants += [pattern.sub(new, word, count=1) for hint, pattern, new in _ENDINGS if hint in word]
        if "re" in word[-3:] or "red" in word[-3:]:
            variants.append(_BRITISH_ENDS.sub(lambda match: _BY_END[match[1]] + _AFTER_R.get(match[2], ""), word))
        if "er" in word[-4:]:
            variants.append(_AMERICAN_ENDS.sub(lambda match: _BY_END_BACK[match[1]] + (match[2] or "")[-1:], word))
        if "ae" in word or "oe" in word:
            variants.append(_LONG_E.sub(lambda match: match[0].replace("ae", "e").replace("oe", "e"), word))
        elif "e" in word:
            variants.append(_SHORT_E.sub(lambda match: _LONG_FORMS[match[0]], word))
    return tuple(variant for variant in dict.fromkeys(variants) if variant != word)


def umlaut_spelling(word: str) -> str:
    """Return a word without the e that stands for the dots of an umlaut: 'muenchen' as 'munchen'; '' for another."""
    if len(word) < _MIN_UMLAUT_LETTERS or not word.isascii() or not _UMLAUT.search(word):
        return ""
    return _UMLAUT.sub(lambda match: match[1][0], word)


def splits(word: str) -> Iterator[Form]:
    """Yield the two parts of a word that may also be written apart, and 'rock n roll' for 'rocknroll'."""
    if not word.isalpha() or not 4 <= len(word) <= _MAX_SPLIT_LETTERS:
        return
    for at in range(1, len(word) - 1):
        if at > 1 or word[0] in PREFIX_LETTERS or not word.isascii():
            yield word[:at], word[at:]
    for at in range(3, len(word) - 3):
        if word[at] == "n":
            yield word[:at], "n", word[at + 1 :]


def contraction_parts(word: str) -> Form:
    """Return the words of an English contraction that lacks its apostrophe: "dont" as 'don t'; () for another word."""
    return _CONTRACTIONS.get(word, ())


def acronym_letters(word: str, *, capitals: bool = False) -> Form:
    """Return the letters of an acronym, () for another word; capitals: whether it is written in capitals."""
    is_acronym = word in _ACRONYMS or (capitals and 2 <= len(word) <= 5)
    return tuple(word) if is_acronym and word.isalpha() else ()


def letter_digit_parts(word: str) -> Form:
    """Return letters and digits apart: 'iphone5' as 'iphone 5'; () for a word that is not both."""
    if not word.isascii() or word.isalpha() or word.isdigit():
        return ()
    parts = tuple(_LETTERS_DIGITS.findall(word))
    return parts if 2 <= len(parts) <= 4 else ()


def symbol_parts(word: str) -> Form:
    """Return the word with a symbol that a name stands for: 'csharp' as 'c #'; () for another word."""
    return _SYMBOLS_BY_NAME.get(word, ())


def group_digits(word: str) -> Form:
    """Return the groups of thousands of a number: '1000000' as '1 000 000'; () where nobody groups it."""
    if not (word.isascii() and word.isdigit()) or not 4 <= len(word) <= 18 or word[0] == "0":
        return ()
    if len(word) == 4 and int(word) in _YEARS:
        return ()
    first = len(word) % 3 or 3
    return (word[:first], *(word[at : at + 3] for at in range(first, len(word), 3)))


def join_digits(groups: Sequence[str]) -> str:
    """Return a number that is written in groups of thousands, in one; '' if these are none."""
    if len(groups) < 2 or not 1 <= len(groups[0]) <= 3 or groups[0][0] == "0":
        return ""
    if not all(group.isascii() and group.isdigit() for group in groups):
        return ""
    return "".join(groups) if all(len(group) == 3 for group in groups[1:]) else ""
