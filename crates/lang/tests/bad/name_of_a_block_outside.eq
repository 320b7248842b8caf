{ let t = 1; A = t }
B = t
