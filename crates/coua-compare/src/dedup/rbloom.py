"""The lines of a file that a Bloom filter has not seen: IN, OUT and LINES from the environment."""

import os

import rbloom

seen = rbloom.Bloom(int(os.environ["LINES"]), 1e-6)
with open(os.environ["IN"], "rb") as lines, open(os.environ["OUT"], "wb") as out:
    for line in lines:
        if line not in seen:
            seen.add(line)
            out.write(line)
