Y = lib::K
