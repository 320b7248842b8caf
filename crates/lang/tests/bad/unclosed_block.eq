{
let t = 2
Y = t
