fn grow(a) -> x { x = 2 x + a }
axis t = 3
H[*0] = 0.1
H[*t+1] = grow(H[*t])
