fn ones_like(x) -> y { y = x }
Y = ones_like(2)
