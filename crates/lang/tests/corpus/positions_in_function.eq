# about positions inside of a function that depend on an axis of its call
fn spread(a[i], w[i], z[b]) -> y[b] {
    h[a[i]] = w[i] w[i]
    y[b] = (h[b] z[b] + z[b])
}
fn tops(a[i], w[i], z[b]) -> y[b] {
    h[a[i]] max= w[i]
    y[b] = (h[b] z[b])
}
fn pick(t[v], a[f]) -> y[f] { y[f] = t[a[f]] ** 2 }
A[n,i] = const([[0, 1, 0], [1, 1, 0]])
W[i] = const([0.5, 2, -1.5])
Z[n,b] = const([[1, 3], [2, -2]])
T[v] = const([1.5, -2])
Spread[n,b] = spread(A[n,i], W[i], Z[n,b])
Tops[n,b] = tops(A[n,i], W[i], Z[n,b])
Pick[n,f] = pick(T[v], A[n,f])
Same[n,f] = pick(Z[n,v], A[n,f])
Loss = Spread[n,b] Spread[n,b] Tops[n,b] + Pick[n,f] W[f] + Same[n,f] Pick[n,f]
# expect Spread = [[3.5, 15.0], [6.5, -10.5]]
# expect Tops = [[0.5, 6.0], [-3.0, -4.0]]
# expect Pick = [[2.25, 4.0, 2.25], [4.0, 4.0, 2.25]]
# expect Same = [[1.0, 9.0, 1.0], [4.0, 4.0, 4.0]]
# expect Loss = 882.25
# grad Loss W = [-146.0, 1950.5, 312.5]
# grad Loss Z = [[27.375, 1374.0], [-181.125, 629.5]]
# grad Loss T = [10.5, -86.0]
# grad2 Loss W = [-740980.0, 13512552.0, -410492.0]
# grad2 Loss Z = [[2504.8125, 2495184.0], [67242.65625, -812684.5]]
