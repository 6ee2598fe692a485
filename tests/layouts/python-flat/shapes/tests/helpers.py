SIDES = range(10)
