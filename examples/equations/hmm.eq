# The forward algorithm of a hidden Markov model: the probability of a sequence of observations.
axis t = 3

Start[s] = const([0.6, 0.4])
Trans[s, s'] = const([[0.7, 0.3], [0.4, 0.6]])
Emit[s, o] = const([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])

# The observation at each time step, one-hot: 0, then 1, then 2.
Seen[*t, o] = const([[1, 0, 0], [0, 1, 0], [0, 0, 1]])

# The probability of a state and all earlier observations: without the current observation, and with it.
Before[s, *0] = Start[s]
With[s, *t] = Before[s, *t] Emit[s, o] Seen[*t, o]
Before[s', *t+1] = With[s, *t] Trans[s, s']

Likely = With[s, *-1]
Loss = -log(Likely)

export With, Likely, Loss

# expect With = [[0.3, 0.0904, 0.007696], [0.04, 0.0342, 0.028584]]
# expect Likely = 0.03628
# expect Loss = 3.316488653735
