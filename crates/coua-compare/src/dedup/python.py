"""The distinct lines of a file, by a set: IN and OUT from the environment."""

import os

seen = set()
with open(os.environ["IN"], "rb") as lines, open(os.environ["OUT"], "wb") as out:
    for line in lines:
        if line not in seen:
            seen.add(line)
            out.write(line)
