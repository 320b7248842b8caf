# The heat equation on a rod with cold ends, by explicit steps: a stencil as a kernel.
axis t = 4
param rate = 0.25
Start[i] = const([0, 0, 8, 0, 0])
Stencil[k] = const([1, -2, 1])

U[i, *0] = Start[i]
U[i, *t+1] = U[i, *t] + rate Stencil[k] U[i+k-1, *t]

Warm[i] = U[i, *-1]
Loss = Warm[i] Warm[i]

export Warm, Loss

# expect Warm = [0.84375, 1.75, 2.1875, 1.75, 0.84375]
# expect Loss = 12.333984375
