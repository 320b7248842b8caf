const[i] = [1, 2]
Y[i] = 2 const[i]
