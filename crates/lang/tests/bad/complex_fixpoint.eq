Z = complex(0, 0.5) Z + 1
