Edge(x,y) = const([[0, 1], [1, 0]])
Win(x)  = Edge(x,y) !Lose(y)
Lose(x) = Edge(x,y) Draw(y)
Draw(x) = Win(x)
