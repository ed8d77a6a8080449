"""Result pages as joins of escaped bytes: the frame of a page from its template, and what varies by Python."""
