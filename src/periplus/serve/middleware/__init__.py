"""What every request passes: host check, rate limit, authentication, error handlers, headers, access log."""
