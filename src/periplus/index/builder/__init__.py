"""From fetch records to segments, in bounded memory."""
