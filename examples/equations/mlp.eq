# A perceptron with one hidden layer.
Input[b, d] = const([[0.8, 0.2, 0.5], [0.1, 0.6, 0.4]])
W1[h, d] = const([[0.3, -0.2, 0.5], [0.7, 0.1, -0.4]])
B1[h] = const([0.1, -0.2])
W2[o, h] = const([[0.2, 0.6], [-0.5, 0.3]])
B2[o] = const([0, 0.1])
Target[b, o] = const([[0.4, 0.6], [0.3, 0.7]])
BatchOnes[b] = const([1, 1])

HiddenLinear[b, h] = W1[h, d] Input[b, d]
HiddenBias[b, h] = BatchOnes[b] B1[h]
Hidden[b, h] = HiddenLinear[b, h]
Hidden[b, h] = HiddenBias[b, h]
Activation[b, h] = gelu(Hidden[b, h])
Logits[b, o] = W2[o, h] Activation[b, h]
OutputBias[b, o] = BatchOnes[b] B2[o]
Scores[b, o] = Logits[b, o]
Scores[b, o] = OutputBias[b, o]
Probs[b, o] = softmax(Scores[b, o], axis="o")
Loss = Probs[b, o] Target[b, o]

# expect Loss = 0.994097233248
