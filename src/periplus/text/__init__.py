"""Text analysis: tokens, folding, stemming, stop words, language identification.

In: strings or UTF-8 bytes with the language of each. Out: word ids as arrays (for building) or terms (for queries).
A kernel tokenizes and folds; each distinct word is stemmed once, by the Snowball stemmer of its language. A term is the
UTF-8 form of a stem. Queries go through the same code, so that both sides always agree. Languages are identified by
their script, by a model over words, and by what is declared or expected.
"""

from periplus.text.analyzer import Tokens, WordTable, split_text, terms_of, token_spans
from periplus.text.compounds import (
    ACRONYM,
    SYMBOL,
    Compound,
    content_words,
    find_acronym,
    find_compounds,
    is_clitic,
)
from periplus.text.folding import ascii_forms, code_point_kinds
from periplus.text.kernels.tokenizer import ANALYSIS
from periplus.text.language_codes import (
    LANGUAGES,
    NO_LANGUAGE,
    is_language,
    language_name,
    language_number,
    normalize_language,
)
from periplus.text.language_id import (
    LanguageEvidence,
    LanguageGuess,
    choose_languages,
    detect_language,
    detect_languages,
    measure_texts,
)
from periplus.text.spelling_rules import (
    PREFIX_LETTERS,
    SYMBOL_NAMES,
    acronym_letters,
    contraction_parts,
    group_digits,
    join_digits,
    letter_digit_parts,
    splits,
    symbol_parts,
    umlaut_spelling,
    variant_spellings,
)
from periplus.text.stemmer import has_stemmer, stem, stem_all
from periplus.text.stopwords import is_stop_word, stop_words
from periplus.text.word_memory import analyse_words

__all__ = [
    "ACRONYM",
    "ANALYSIS",
    "LANGUAGES",
    "NO_LANGUAGE",
    "PREFIX_LETTERS",
    "SYMBOL",
    "SYMBOL_NAMES",
    "Compound",
    "LanguageEvidence",
    "LanguageGuess",
    "Tokens",
    "WordTable",
    "acronym_letters",
    "analyse_words",
    "ascii_forms",
    "choose_languages",
    "code_point_kinds",
    "content_words",
    "contraction_parts",
    "detect_language",
    "detect_languages",
    "find_acronym",
    "find_compounds",
    "group_digits",
    "has_stemmer",
    "is_clitic",
    "is_language",
    "is_stop_word",
    "join_digits",
    "language_name",
    "language_number",
    "letter_digit_parts",
    "measure_texts",
    "normalize_language",
    "split_text",
    "splits",
    "stem",
    "stem_all",
    "stop_words",
    "symbol_parts",
    "terms_of",
    "token_spans",
    "umlaut_spelling",
    "variant_spellings",
]
