"""Files of rows: readers of every format, and the table of answers that `demur score` writes."""
