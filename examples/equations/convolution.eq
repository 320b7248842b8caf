# A convolution three ways: by offsets, with zero fill at the ends; as a call; as a product with shifted copies.
X[i] = const([1, 2, 4, 8, 16])
K[k] = const([1, 10, 100])

# By offsets: the last place is 0 + 10·16 + 1·8.
ByOffsets[i] = K[0] X[i-1] + K[1] X[i] + K[2] X[i+1]

# The same as a call, which wants a batch and channels.
Image[n, c, i] = const([[[1, 2, 4, 8, 16]]])
Kernel[o, c, k] = const([[[1, 10, 100]]])
Called[n, o, i] = conv1d(Image[n, c, i], Kernel[o, c, k], padding=1)
ByCall[i] = Called[0, 0, i]

# And as shifted copies side by side.
Shift[i, 0] = X[i-1]
Shift[i, 1] = X[i]
Shift[i, 2] = X[i+1]
ByProduct[i] = Shift[i, k] K[k]

# Pooling: the larger of each pair.
Pairs[n, c, j] = max_pool1d(Image[n, c, i], kernel=2)
Pool[j] = Pairs[0, 0, j]

Loss = ByOffsets[i] ByOffsets[i]

export ByOffsets, ByCall, ByProduct, Pool, Loss

# expect ByOffsets = [210.0, 421.0, 842.0, 1684.0, 168.0]
# expect ByCall = [210.0, 421.0, 842.0, 1684.0, 168.0]
# expect ByProduct = [210.0, 421.0, 842.0, 1684.0, 168.0]
# expect Pool = [2.0, 8.0]
# expect Loss = 3794385.0
