"""Query rewriting: a query that matches nothing is relaxed, a misspelt one corrected, and filters are explained."""
