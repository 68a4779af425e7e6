"""What tests share: servers, databases, clocks, processes and strategies for random examples."""
