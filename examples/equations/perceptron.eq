# A perceptron: a weighted sum and a threshold. With a temperature the threshold is smooth and can be trained.
X[b, i] = const([[0.5, -1], [1, 2], [-0.3, 0.4], [2, -0.1]])
W[i] = const([0.7, 0.4])
B = const(-0.2)
Target[b] = const([0, 1, 0, 1])

Y[b] = step(W[i] X[b, i] + B)

Smooth[b] = sig(W[i] X[b, i] + B, 0.5)
Miss[b] = Smooth[b] - Target[b]
Loss = Miss[b] Miss[b]

export Y, Smooth, Loss

# expect Y = [0.0, 1.0, 0.0, 1.0]
# expect Smooth = [0.3775406687981454, 0.9308615796566533, 0.3775406687981454, 0.9105199406664386]
# expect Loss = 0.2978607153790128
