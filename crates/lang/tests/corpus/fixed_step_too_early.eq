axis t = 4
S[*0] = 1
S[*t+1] = S[*t] + S[*3]
# fails: `S[*3]` does not exist yet at step 0
