"""Commands about queries and answers: tools for models, why a page is not found, snapshots to search again."""
