# Ancestors: rules over facts, run until nothing new follows.
axis x = 7

# Person x (row) is a parent of person y (column).
P[x, y] = const([[0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0]])
M[x] = const([1, 0, 1, 0, 0, 1, 1])
Parent(x, y) = P[x, y] > 0
Male(x) = M[x] > 0

Anc(x, y) = Parent(x, y)
Anc(x, z) = Parent(x, y) Anc(y, z)

# Two people are of the same generation if they share a parent, or if their parents are of the same generation.
Same(x, y) = Parent(p, x) Parent(p, y)
Same(x, y) = Parent(p, x) Same(p, q) Parent(q, y)
Forefather(x, y) = Anc(x, y) Male(x)
Count[x] = Anc(x, y)

export Anc, Same, Forefather, Count
