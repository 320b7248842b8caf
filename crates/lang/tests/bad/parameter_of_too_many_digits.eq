param K = 9007199254740993
Y = cast(K, to="i64")
