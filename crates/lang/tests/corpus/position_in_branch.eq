# about a computed position in a branch whose condition has an index that the position does not have
B[p] = const([1.2, 0.9, 0.95])
C[p] = const([0.85, 0.54, 1.3])
I[p] = const([0, 2, 1])
axis m = 3
Y[m] = B[n] > 0.98 ? C[m] : C[I[m]]
Z[m] = reduce(prod, i) (B[n] > 0.98 ? C[m] B[i] : C[I[m]])
Loss = Y[m] Y[m] Z[m]
# expect Y = [2.55, 3.14, 2.38]
# expect Z = [1.8583422499999998, 4.555558064000001, 2.5690500000000007]
# grad Loss B = [15.381934500199502, 20.509246000266, 19.429812000252003]
# grad Loss C = [71.08159106249998, 71.826127592, 198.88802049184005]
# grad2 Loss C = [47553.81259271978, 84808.507903464, 239943.77240948327]
