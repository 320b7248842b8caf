Y[i] = "facts.tsv
