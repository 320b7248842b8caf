# about all shortest paths: a minimum over nodes on the way, which the step selects
E[i,j] = const([[0, 4, 1, 9], [7, 0, 6, 5], [3, 2, 0, 8], [6, 6, 6, 0]])
axis t = 4
D[i,j,*0] = E[i,j]
D[i,j,*t+1] = minimum(D[i,j,*t], D[i,index(t),*t] + D[index(t),j,*t])
Loss = D[0,3,*-1] D[0,3,*-1] + D[2,1,*-1] ** 3
# expect D = [[0.0, 3.0, 1.0, 8.0], [7.0, 0.0, 6.0, 5.0], [3.0, 2.0, 0.0, 7.0], [6.0, 6.0, 6.0, 0.0]]
# grad Loss E = [[8.0, 0.0, 16.0, 0.0], [0.0, 6.0, 0.0, 16.0], [0.0, 28.0, 6.0, 0.0], [0.0, 0.0, 0.0, 8.0]]
