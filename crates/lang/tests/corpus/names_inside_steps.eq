# about a name for a part of a step changes nothing, with or without time on its left
axis t = 3
W[i,j] = const([[1, 1], [0, 2]])
In[i] = const([1, -1])
Hidden[i,*0] = const([1, 1])
Pre[i] = W[i,j] Hidden[j,*t]
Sum[i] = Pre[i] + In[i]
Hidden[i,*t+1] = relu(Sum[i])
Named[i,*0] = const([1, 1])
Part[i,*t] = W[i,j] Named[j,*t]
Named[i,*t+1] = relu(Part[i,*t] + In[i])
Inline[i,*0] = const([1, 1])
Inline[i,*t+1] = relu(W[i,j] Inline[j,*t] + In[i])
# expect Hidden = [7.0, 1.0]
# expect Named = [7.0, 1.0]
# expect Inline = [7.0, 1.0]
# expect Pre = [6.0, 2.0]
