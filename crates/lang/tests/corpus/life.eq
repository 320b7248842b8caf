# about Conway's game of life: sums of neighbours by index arithmetic
axis t = 4
axis i = 5
axis j = 5
axis k = 3
axis l = 3
Start[i,j] = const([[0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]])
C[i,j,*0] = Start[i,j]
Near[i,j] = (C[i+k-1,j+l-1,*t]) - C[i,j,*t]
C[i,j,*t+1] = case { Near[i,j] == 3 -> 1, Near[i,j] == 2 -> C[i,j,*t], default -> 0 }
export C
# expect C = [[0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0]]
