Parent("ann", "bob")
Parent("bob", "cid")
Of(x) = Parent(x, y) (y == "cid")
