"""Focused crawling: the topic classifier, hub scores, and what each link promises."""
