import "nowhere.eq" as n
Y = n::f(1)
