"""Text analysis: tokens, folding, stemming, stop words, language identification.

In: strings or UTF-8 bytes with the language of each. Out: word ids as arrays (for building) or terms (for queries).
A kernel tokenizes and folds; each distinct word is stemmed once, by the Snowball stemmer of its language. A term is the
UTF-8 form of a stem. Queries go through the same code, so that both sides always agree.
"""

from periplus.text.analyzer import Tokens, WordTable, split_text, terms_of, token_spans
from periplus.text.folding import code_point_kinds
from periplus.text.kernels.tokenizer import ANALYSIS
from periplus.text.language_id import LANGUAGES, detect_language, language_number
from periplus.text.stemmer import has_stemmer, stem
from periplus.text.stopwords import is_stop_word, stop_words

__all__ = [
    "ANALYSIS",
    "LANGUAGES",
    "Tokens",
    "WordTable",
    "code_point_kinds",
    "detect_language",
    "has_stemmer",
    "is_stop_word",
    "language_number",
    "split_text",
    "stem",
    "stop_words",
    "terms_of",
    "token_spans",
]
