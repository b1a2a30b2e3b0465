"""A filled table: its values, the choices behind them, tracebacks."""
