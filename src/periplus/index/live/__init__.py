"""The live index: documents are added, replaced and deleted while it is searched."""
