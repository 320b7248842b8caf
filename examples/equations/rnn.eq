# A recurrent network over virtual time: the next state is computed from the current state and the current input.
axis t = 4

X[*t, d] = const([[0.5, -0.2], [0.1, 0.4], [-0.3, 0.2], [0.6, 0.1]])
WX[h, d] = const([[0.4, -0.3], [0.2, 0.5], [0.1, 0.1]])
WH[h, h'] = const([[0.3, 0.1, -0.2], [0, 0.2, 0.4], [0.5, -0.1, 0.1]])
B[h] = const([0.1, 0, -0.1])
Target[h] = const([0.2, 0.3, 0.1])

H[h, *0] = const([0, 0, 0])
H[h, *t+1] = tanh(WX[h, d] X[*t, d] + WH[h, h'] H[h', *t] + B[h])

Miss[h] = H[h, *-1] - Target[h]
Loss = Miss[h] Miss[h]

export H, Loss

# expect H = [0.308825185614, 0.173272340555, -0.068644781115]
# expect Loss = 0.05634388289
