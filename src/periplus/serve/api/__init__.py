"""Handlers for programs: search formats, publishing, ratings, the OpenAPI document."""
