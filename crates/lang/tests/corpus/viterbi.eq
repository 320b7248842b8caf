# about the most likely path of a hidden Markov model: maxima at every step
O[s,*t] = const([[-0.5, -1.2, -0.3], [-0.9, -0.4, -1.1]])
T[s,r] = const([[-0.3, -1.4], [-0.8, -0.6]])
Start[s] = const([-0.7, -0.6])
V[s,*0] = Start[s] + O[s,0]
V[r,*t+1] max= V[s,*t] + T[s,r] + O[r,*t+1]
Best max= V[s,2]
Loss = V[s,2] V[s,2]
# expect Best = -3.3
# grad Loss T = [[-13.2, -0.0], [-0.0, -16.8]]
# grad Loss O = [[-6.6, -6.6, -6.6], [-8.4, -8.4, -8.4]]
