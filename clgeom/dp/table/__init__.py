"""A filled table: its values, the decisions behind them, tracebacks."""
