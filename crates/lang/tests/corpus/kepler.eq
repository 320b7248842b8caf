# about one planet: a symplectic step, and a sum of energies over time
axis t = 6
X[d,*0] = const([1, 0])
V[d,*0] = const([0, 0.9])
R2 = X[d,*t] X[d,*t]
V[d,*t+1] = V[d,*t] - 0.1 X[d,*t] / R2 ** 1.5
X[d,*t+1] = X[d,*t] + 0.1 V[d,*t+1]
Start[d] = V[d,0]
E sum= V[d,*t+1] V[d,*t+1]
# expect X = [0.7890975011436313, 0.5065943861122728]
# expect V = [-0.6009899157998655, 0.754712670718875]
# expect E = 5.210431251502041
