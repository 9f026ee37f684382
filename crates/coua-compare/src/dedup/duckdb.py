"""The distinct lines of a file, by DuckDB: IN, OUT and the number of threads from the environment."""

import os

import duckdb

# A separator and a quote that no line has: every line is one text column.
duckdb.execute("SET threads = 2")
duckdb.execute("SET preserve_insertion_order = false")
duckdb.execute(
    f"""
    COPY (
        SELECT DISTINCT line FROM read_csv(
            '{os.environ["IN"]}', header = false, auto_detect = false,
            columns = {{'line': 'VARCHAR'}}, delim = '\x01', quote = '', escape = ''
        )
    ) TO '{os.environ["OUT"]}' (FORMAT csv, HEADER false, DELIMITER '\x01', QUOTE '')
    """
)
