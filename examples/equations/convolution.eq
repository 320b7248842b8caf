# A convolution three ways: by index arithmetic, by offsets, and as a call.
X[i] = const([1, 2, 4, 8, 16])
K[k] = const([1, 10, 100])

# Only where the kernel fits: i gets the largest size for which all reads are inside of X.
Inside[i] = X[i+k] K[k]

# At all positions of X: elements outside of X are read as 0. The last element is 1·8 + 10·16 + 0.
Same[j] = X[j+k-1] K[k] + 0 X[j]

# The same by offsets.
ByOffsets[i] = K[0] X[i-1] + K[1] X[i] + K[2] X[i+1]

# The same as a call, which needs axes for the batch and the channels.
Image[n, c, i] = const([[[1, 2, 4, 8, 16]]])
Kernel[o, c, k] = const([[[1, 10, 100]]])
Called[n, o, i] = conv1d(Image[n, c, i], Kernel[o, c, k], padding=1)
ByCall[i] = Called[0, 0, i]

Loss = Same[i] Same[i]

export Inside, Same, ByOffsets, ByCall, Loss

# expect Inside = [421.0, 842.0, 1684.0]
# expect Same = [210.0, 421.0, 842.0, 1684.0, 168.0]
# expect ByOffsets = [210.0, 421.0, 842.0, 1684.0, 168.0]
# expect ByCall = [210.0, 421.0, 842.0, 1684.0, 168.0]
# expect Loss = 3794385.0
