"""What every request passes: host check, rate limit, authentication, errors, headers, access log."""
