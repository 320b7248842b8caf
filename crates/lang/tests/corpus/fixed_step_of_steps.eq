# about a fixed step that the steps compute and read
axis t = 3
I[s] = const([1, 2])
S[s,*0] = I[s]
N[s,*t] = 2 S[s,*t]
S[s,*t+1] = N[s,*t] N[s,0] + N[s,0]
Loss = N[s,-1] N[s,-1]
# expect Loss = 110288.0
# grad Loss I = [13728.0, 296512.0]
# grad2 Loss I = [1596401664.0, 404148228096.0]
