# Ancestors: rules over facts, run until nothing new follows.
axis x = 7

Parent(x, y) = "ancestors.tsv"
Male(x) = M[x] > 0
M[x] = const([1, 0, 1, 0, 0, 1, 1])

Anc(x, y) = Parent(x, y)
Anc(x, z) = Parent(x, y) Anc(y, z)

# Two people are of the same generation if they share a parent, or if their parents are of the same generation.
Same(x, y) = Parent(p, x) Parent(p, y)
Same(x, y) = Parent(p, x) Same(p, q) Parent(q, y)
Forefather(x, y) = Anc(x, y) Male(x)
Count[x] = Anc(x, y)

export Anc, Same, Forefather, Count

# expect Anc = [[false, true, true, true, true, true, true], [false, false, false, true, false, true, false], [false, false, false, false, true, false, true], [false, false, false, false, false, true, false], [false, false, false, false, false, false, true], [false, false, false, false, false, false, false], [false, false, false, false, false, false, false]]
# expect Same = [[false, false, false, false, false, false, false], [false, true, true, false, false, false, false], [false, true, true, false, false, false, false], [false, false, false, true, true, false, false], [false, false, false, true, true, false, false], [false, false, false, false, false, true, true], [false, false, false, false, false, true, true]]
# expect Forefather = [[false, true, true, true, true, true, true], [false, false, false, false, false, false, false], [false, false, false, false, true, false, true], [false, false, false, false, false, false, false], [false, false, false, false, false, false, false], [false, false, false, false, false, false, false], [false, false, false, false, false, false, false]]
# expect Count = [6.0, 2.0, 2.0, 1.0, 1.0, 0.0, 0.0]
