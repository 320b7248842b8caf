# Pooling over windows of two by two: the largest element and the mean of each.
axis p = 2
axis q = 2
X[y, x] = const([[1, 2, 0, 4], [5, 6, 7, 8], [9, 3, 2, 1], [0, 4, 6, 5]])

Largest[y, x] max= X[2*y+p, 2*x+q]
Mean[y, x] avg= X[2*y+p, 2*x+q]

# Back to full size: every element of a window gets the mean of the window.
Spread[2*y+p, 2*x+q] = Mean[y, x]

Loss = Largest[y, x] Mean[y, x]

export Largest, Mean, Spread, Loss

# expect Largest = [[6.0, 8.0], [9.0, 6.0]]
# expect Mean = [[3.5, 4.75], [4.0, 3.5]]
# expect Spread = [[3.5, 3.5, 4.75, 4.75], [3.5, 3.5, 4.75, 4.75], [4.0, 4.0, 3.5, 3.5], [4.0, 4.0, 3.5, 3.5]]
# expect Loss = 116.0
