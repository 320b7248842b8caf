# about reductions that only a branch needs: an index of their result is not one of their argument
C[p,q] = const([[0.9, -0.7, 0.3], [0.8, -0.8, -1.1], [-0.3, -0.9, 0.6]])
B[m] = const([0.4, -0.2, 0.7, 0.1])
axis m = 4
Prod[m] prod= abs(C[j,j])
Most[m] max= C[j,j] B[m]
Mean[m] avg= C[j,j] B[m]
Y[m] = B[m+1] > 0.3 ? B[m] : B[m] Prod[m] + Most[m] - Mean[m] Mean[m]
Loss = Y[m] Y[m]
# expect Y = [0.5240888888888889, -0.2, 0.9057222222222222, 0.13265555555555558]
# grad Loss C = [[2.371870725925926, 0.0, 0.0], [0.0, -1.0900322074074074, 0.0], [0.0, 0.0, 1.0693725925925925]]
# grad Loss B = [1.3505188345679013, -0.4, 2.2747716790123462, 0.35050545679012357]
# grad2 Loss C = [[21.033428382494186, 0.0, 0.0], [0.0, -17.07676200383953, 0.0], [0.0, 0.0, 16.410486980086365]]
