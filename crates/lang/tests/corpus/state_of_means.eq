# about a state that is a mean at every step, with a start
A[i] = const([1, 2, 3])
axis t = 2
R[i,*0] = A[i]
R[i,*t+1] avg= R[i,*t] A[j]
# expect R = [4.0, 8.0, 12.0]
