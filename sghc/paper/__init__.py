"""The paper's tables: the printed figures, and what the released data and predictions give for each of them."""
