# Reasoning in embedding space: facts and rules act on embeddings of objects, with a temperature.
# At temperature 0 a conclusion is a deduction; above, similar objects share conclusions.
Emb[x, d] = const([[0.95, 0.1, 0.2, -0.1], [-0.1, 0.9, 0.3, 0.2], [0.2, -0.2, 0.85, 0.3], [0.1, -0.1, -0.2, 1]])

# The facts: 0 is the parent of 1, 1 of 2, and 2 of 3.
Fact[x, y] = const([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])

# A relation is the sum of the products of the embeddings of its facts, and a rule joins relations along an axis.
Parent[d, e] = Fact[x, y] Emb[x, d] Emb[y, e]
Grandparent[d, f] = Parent[d, e] Parent[e, f]

Score[x, z] = Emb[x, d] Grandparent[d, e] Emb[z, e]
Cold[x, z] = sig(Score[x, z] - 0.5)
Warm[x, z] = sig(Score[x, z] - 0.5, 0.2)
Loss = Warm[x, z] Warm[x, z]

export Cold, Warm, Loss

# expect Cold = [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
# expect Warm = [[0.24862267639809596, 0.14242423276705454, 0.8623481688083326, 0.3380916700669442], [0.07863794326101717, 0.295987789225744, 0.2816222825636337, 0.9090094636314429], [0.11426499965754303, 0.0947629142300587, 0.32685521719442434, 0.33815209484508996], [0.07049265101844798, 0.07540445744667805, 0.06710009201784477, 0.09747152120752267]]
# expect Loss = 2.207326089574515
