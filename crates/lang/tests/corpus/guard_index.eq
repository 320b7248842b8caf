# about conditions with an index that only they and no tensor, or not the left side, has
A[i] = const([0.5, -1.5, 2])
B[j] = const([1, 3, -2])
axis k = 4
Count[i] when A[i] < B[j] && index(j) != 1 = 1
Pick[i] when index(j) > 0 = A[i] B[j]
Times[i] when index(k) > 1 = A[i] A[i]
Most[i] when index(j) < 2 max= A[i] B[j]
Mean[i] when index(k) < 3 avg= A[i] index(k)
Chosen[i] = index(j) > index(i) ? A[i] B[j] : B[i]
Pairs when index(i) < index(j) = A[i] B[j]
Loss = Pick[i] Times[i] + Most[i] Chosen[i] Pairs + Mean[i] ** 3 + Count[i] A[i] ** 2
# expect Count = [1.0, 1.0, 0.0]
# expect Pick = [0.5, -1.5, 2.0]
# expect Times = [0.5, 4.5, 8.0]
# expect Most = [1.5, -1.5, 6.0]
# expect Mean = [0.5, -1.5, 2.0]
# expect Chosen = [1.5, 9.0, -6.0]
# expect Pairs = 3.5
# expect Loss = -148.625
# grad Loss A = [-23.0, 153.75, -27.0]
# grad Loss B = [-42.0, -61.375, 130.25]
# grad2 Loss A = [-1052.0, -28696.5, 9954.0]
# grad2 Loss B = [6988.0, 14631.75, -18241.65625]
