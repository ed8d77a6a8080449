"""What an operator does and reads on the admin page: changes, schedule, hosts, sinks, health."""
